"""Sessions that replay damaged cassettes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import vcr.stubs.httpx_stubs  # type: ignore[import-untyped]  # noqa: F401

from tests.build.mutations import mutated
from tests.build.targets import fake_target, json_reply
from tests.hostile import attack
from tests.hostile.readers import REPLY
from tests.plugin.conftest import project as project
from tests.plugin.scratch import Project, case

REPLAY = ("--record-mode=none", "--block-network", "-p", "no:cacheprovider")


@pytest.fixture
def recorded(project: Project) -> Mapping[str, bytes]:
    """Content of the cassettes of a recorded session."""
    project.write("conftest.py", "")
    project.cases([case("a", "How many?"), case("b", "How much?")])
    with fake_target(*[json_reply(REPLY)] * 2) as target:
        settings = (
            f'[tool.rageval]\nno_report = true\n[tool.rageval.target]\nurl = "{target.url}"\n'
        )
        project.write("pyproject.toml", f"[tool.pytest.ini_options]\n{settings}retries = 0\n")
        assert project.run("--record-mode=once").ret == 0
    folder = project.path / "evals" / "cassettes"
    return {str(path): path.read_bytes() for path in folder.rglob("*.yaml")}


@pytest.mark.parametrize(
    "seeds", [range(3), pytest.param(range(1000, 1010), marks=pytest.mark.slow)]
)
def test_a_damaged_cassette_is_an_error_of_its_case(
    project: Project, recorded: Mapping[str, bytes], seeds: range
) -> None:
    found = []
    for seed in seeds:
        path = sorted(recorded)[seed % len(recorded)]
        for name, data in recorded.items():
            project.path.joinpath(name).write_bytes(data)
        project.path.joinpath(path).write_bytes(mutated(recorded[path], seed))
        result = project.run(*REPLAY, "evals")
        fault = attack.of_output("\n".join(result.outlines + result.errlines))
        if fault or result.ret not in {0, 1, 2, 4}:
            found.append(f"{seed}: exit code {result.ret}, {fault}")
    assert found == []
