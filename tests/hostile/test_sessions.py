"""Sessions of pytest over damaged files of a project: they end by a code and lines of ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from tests.build.files import write_lines
from tests.build.mutations import mutated
from tests.hostile import attack
from tests.hostile.project import contents
from tests.hostile.readers import CASE, THRESHOLDS
from tests.plugin.conftest import project as project
from tests.plugin.scratch import Project

MANY = 20
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


def faults(
    project: Project, stored: Mapping[str, bytes], name: str, seeds: Iterable[int]
) -> list[str]:
    found = []
    for seed in seeds:
        for path, data in stored.items():
            project.path.joinpath(path).write_bytes(data)
        (project.path / name).write_bytes(mutated(stored[name], seed))
        options = ATTACKED[name][seed % len(ATTACKED[name])]
        result = project.run(*options, "-p", "no:cacheprovider", "evals")
        text = result.stdout.str() + result.stderr.str()
        # A case may be named by a text that pytest shows itself.
        fault = attack.of_output("\n".join(result.outlines + result.errlines))
        if fault or result.ret not in {0, 1, 2, 4, 5}:
            found.append(f"{seed} {options}: exit code {result.ret}, {fault or text[-500:]}")
    return found


@pytest.mark.parametrize("name", ATTACKED)
def test_no_session_ends_in_a_traceback_over_a_damaged_file(
    project: Project, stored: Mapping[str, bytes], name: str
) -> None:
    assert faults(project, stored, name, range(2)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKED)
def test_no_session_ends_in_a_traceback_in_many_tries(
    project: Project, stored: Mapping[str, bytes], name: str
) -> None:
    assert faults(project, stored, name, range(1000, 1000 + MANY)) == []
