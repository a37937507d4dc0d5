from __future__ import annotations

import pytest

from pytest_rageval.authoring.doctor.project import judge_versions

GOOD = {"pytest": "9.0.0", "httpx": "0.28.1", "vcrpy": "8.2.0"}


def troubles(installed: dict[str, str], *required: str) -> list[tuple[str, str]]:
    return [
        (one.level, one.message)
        for one in judge_versions(installed, list(required))
        if one.level != "ok"
    ]


@pytest.mark.parametrize("installed", [GOOD | {"pytest": "8.2.2"}, GOOD | {"pytest-vcr": "1.0"}])
def test_what_works_with_a_loss_warns(installed: dict[str, str]) -> None:
    assert [level for level, _ in troubles(installed)] == ["warn"]


def test_a_requirement_that_is_not_met_fails() -> None:
    found = troubles(GOOD, "httpx>=4", "click>=8.1", "tomli>=2; python_version < '3'")
    assert found == [("FAIL", "httpx 0.28.1, expected >=4"), ("FAIL", "click is missing")]
