from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.project.case_variables import case_variables, sent_fields
from pytest_rageval.project.settings import config_hash, stored_settings
from pytest_rageval.values.case import Case
from pytest_rageval.values.settings import Settings, TargetSettings

CASE = Case(
    id="a", question="q", category="hr", tags=("acl",), metadata={"user": "ann"}, language="de"
)
ALL = {"category", "difficulty", "tags", "metadata"}


def test_the_facts_of_a_case_are_none_that_give_the_answer_away() -> None:
    assert case_variables(CASE) == {
        "id": "a",
        "category": "hr",
        "difficulty": None,
        "tags": ["acl"],
        "language": "de",
        "metadata": {"user": "ann"},
    }


@pytest.mark.parametrize(
    ("target", "fields"),
    [
        ({}, set()),
        ({"request": {"q": "question", "user": "case.metadata.user"}}, {"metadata"}),
        ({"request": "{q: question, about: case.[tags, category]}"}, {"tags", "category"}),
        ({"request": {"about": "case"}}, ALL),
        ({"request": {"id": "case.id", "lang": "case.language"}}, set()),
        ({"request": {"tags": "params.tags"}}, set()),
        ({"headers": {"X-User": "{case.metadata.user}", "X-Id": "{case.id}"}}, {"metadata"}),
        ({"headers": {"X-Text": "{{case.metadata.user}} case.tags"}}, set()),
        ({"path": "/{case.category}/ask"}, {"category"}),
    ],
)
def test_the_fields_that_the_settings_send_are_known(
    target: dict[str, Any], fields: set[str]
) -> None:
    assert sent_fields(TargetSettings(**target)) == fields


def test_a_header_of_a_case_is_stored_and_compared_unless_its_name_is_secret() -> None:
    headers = {"X-User": "{case.metadata.user}", "X-Api-Key": "{case.id}", "X-Own": "s3cret"}
    settings = Settings(rootdir="/", target=TargetSettings(headers=headers))
    stored = stored_settings(settings).target.headers
    assert stored == {
        "X-User": "{case.metadata.user}", "X-Api-Key": "(hidden)", "X-Own": "(hidden)"
    }  # fmt: skip
    changed = {**headers, "X-User": "{case.metadata.tenant}"}
    other = Settings(rootdir="/", target=TargetSettings(headers=changed))
    assert config_hash(settings) != config_hash(other)
