"""Every way in which xdist hands out items measures the same."""

from __future__ import annotations

import pytest

from tests.plugin.long_runs import ask_server, document, figures, lines_of, numbered_cases
from tests.plugin.rag_server import rag_server
from tests.plugin.scratch import Project

pytestmark = pytest.mark.slow

MODES = ("loadgroup", "worksteal", "each")  # all other tests with workers have "load"


def test_every_mode_measures_what_one_process_measures(project: Project) -> None:
    project.cases(numbered_cases(30))
    results = project.path / "evals" / "results"
    with rag_server() as server:
        ask_server(project, server.url)
        assert project.run("--rageval-run-id", "serial").ret == 0
        for mode in MODES:
            result = project.run("-n", "2", "--dist", mode, "--rageval-run-id", mode)
            assert result.ret == 0, mode
    for mode in MODES:
        assert figures(document(results / mode)) == figures(document(results / "serial")), mode
        assert len(lines_of(results / mode)) == 30, mode
