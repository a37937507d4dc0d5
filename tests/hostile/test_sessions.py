"""Sessions of pytest over damaged files of a project: they end by a code and lines of ours."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import pytest

from tests.build.files import write_lines
from tests.build.mutations import mutated
from tests.hostile import attack
from tests.hostile.project import contents
from tests.hostile.readers import CASE, THRESHOLDS
from tests.plugin.conftest import project as project
from tests.plugin.scratch import Project

RESULTS = "evals/results/one/"
ATTACKED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "evals/eval_set.jsonl": ((), ("--collect-only",), ("--lf",)),
    "thresholds.toml": ((), ("-k", "ok-1")),
    RESULTS + "results.jsonl": (
        ("--rageval-resume", "one"), ("--rageval-failed-from", "one"),
        ("--rageval-baseline", "one"),
    ),
    RESULTS + "config.json": (("--rageval-resume", "one"), ("--rageval-baseline", "one")),
    RESULTS + "metrics.json": (("--rageval-baseline", "one"),),
    "evals/results/tags/main": (("--rageval-baseline", "main"),),
}  # fmt: skip
"""By file: options of the sessions that read it."""


@pytest.fixture
def stored(project: Project) -> Mapping[str, bytes]:
    """Content of the files of a project with a run."""
    write_lines(project.path / "evals" / "more.jsonl", {**CASE, "id": "more", "question": "hit x"})
    project.write("thresholds.toml", THRESHOLDS.replace("general", "factual"))
    project.run("--rageval-run-id", "one", "-p", "no:cacheprovider")
    project.write("evals/results/tags/main", "one\n")
    return contents(project.path)


@pytest.mark.parametrize(
    "seeds", [range(2), pytest.param(range(1000, 1006), marks=pytest.mark.slow)]
)
def test_no_session_ends_in_a_traceback_over_a_damaged_file(
    project: Project, stored: Mapping[str, bytes], seeds: range
) -> None:
    found = []
    for (name, choices), seed in product(ATTACKED.items(), seeds):
        for path, data in stored.items():
            project.path.joinpath(path).write_bytes(data)
        (project.path / name).write_bytes(mutated(stored[name], seed))
        options = choices[seed % len(choices)]
        result = project.run(*options, "-p", "no:cacheprovider", "evals")
        text = result.stdout.str() + result.stderr.str()
        # A case may be named by a text that pytest shows itself.
        fault = attack.of_output("\n".join(result.outlines + result.errlines))
        if fault or result.ret not in {0, 1, 2, 4, 5}:
            code = f"exit code {result.ret}"
            found.append(f"{name} {seed} {options}: {code}, {fault or text[-500:]}")
    assert found == []
