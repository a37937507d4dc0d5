from __future__ import annotations

import pytest

from pytest_rageval.authoring.doctor.project import check_packages, judge_versions

GOOD = {"pytest": "9.0.0", "openai": "3.1.0", "vcrpy": "8.2.0"}


def troubles(installed: dict[str, str], *required: str) -> list[tuple[str, str]]:
    return [
        (one.level, one.message)
        for one in judge_versions(installed, list(required))
        if one.level != "ok"
    ]


def test_the_packages_of_this_environment_fit() -> None:
    assert [one.level for one in check_packages()] == ["ok"]


def test_versions_that_fit_are_listed_in_one_line() -> None:
    [found] = judge_versions(GOOD, ["pytest>=8", "psycopg>=3; extra == 'postgres'"])
    assert "pytest 9.0.0, vcrpy 8.2.0, openai 3.1.0" in found.message


def test_a_vcrpy_that_does_not_see_openai_fails() -> None:
    assert troubles(GOOD | {"vcrpy": "7.0"})[0][0] == "FAIL"
    assert troubles(GOOD | {"vcrpy": "8.1.9", "openai": "3.0.0b1"})[0][0] == "FAIL"
    assert troubles(GOOD | {"vcrpy": "7.0", "openai": "2.9"}) == []


@pytest.mark.parametrize("installed", [GOOD | {"pytest": "8.2.2"}, GOOD | {"pytest-vcr": "1.0"}])
def test_what_works_with_a_loss_warns(installed: dict[str, str]) -> None:
    assert [level for level, _ in troubles(installed)] == ["warn"]


def test_a_requirement_that_is_not_met_fails() -> None:
    found = troubles(GOOD, "openai>=4", "click>=8.1", "tomli>=2; python_version < '3'")
    assert found == [("FAIL", "openai 3.1.0, expected >=4"), ("FAIL", "click is missing")]
