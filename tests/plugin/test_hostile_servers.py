"""A run whose server breaks HTTP in eighty ways: each is an error of its case, and it goes on."""

from __future__ import annotations

import json

import pytest

from tests.build.hostile_server import BEHAVIOURS, GOOD, hostile_server
from tests.build.targets import http_reply
from tests.plugin.scratch import SERIAL_AND_PARALLEL, Project, case, outcomes

GOOD_CASES = 20


@pytest.mark.slow
@SERIAL_AND_PARALLEL
def test_every_case_has_the_error_of_its_fault_and_the_others_are_answered(
    project: Project, workers: tuple[str, ...]
) -> None:
    named = {f"h-{name}": behaviour for name, behaviour in BEHAVIOURS.items()}
    cases = [case(name, f"hostile {name.removeprefix('h-')}") for name in named]
    cases += [case(f"g-{n}", f"a good one {n}") for n in range(GOOD_CASES)]
    project.cases(cases)
    project.write("conftest.py", "")
    with hostile_server(lambda _: http_reply(GOOD)) as server:
        project.write(
            "pyproject.toml",
            '[tool.rageval]\njudge = "none"\nmax_errors = 1000\n[tool.rageval.target]\n'
            # A server that breaks a connection late breaks the next request on it, too.
            f"url = {json.dumps(server.url)}\ntimeout = 3\nretries = 1\n",
        )
        result = project.run_apart("--rageval-run-id", "one", *workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    records = project.records()
    assert set(records) == {one["id"] for one in cases}
    for name, record in records.items():
        behaviour = named.get(name)
        # Which one, tests/properties/test_hostile_servers.py says.
        fails = behaviour is not None and bool(behaviour.kinds)
        assert (record["error"] is not None) == fails, name
    errored = sum(record["error"] is not None for record in records.values())
    assert outcomes(result)["errored"] == errored
    assert "Traceback" not in result.stdout.str()
