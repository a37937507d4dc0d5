from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.values.reply import AskResponse, FolderSelection
from tests.build.scores import TIMEOUT, case, response, score, status

KEYS = ("scope_miss_rate", "scope_selection_miss_rate", "scope_any_excluded_rate")
TWO_FOLDERS = case("notes/a.md | # A", "docs/b.md | # B")


def selecting(*folders: str, fallback: bool | None = None, **fields: Any) -> AskResponse:
    selection = FolderSelection(selected_folders=folders, fallback_used=fallback)
    return response(folder_selection=selection, **fields)


@pytest.mark.parametrize(
    ("folders", "fallback", "expected"),
    [
        (("notes", "docs"), None, (0, 0, 0)),
        (("notes",), None, (0, 0, 1)),
        (("note", "notes-archive", "docs/b"), None, (1, 1, 1)),
        ((), None, (1, 1, 1)),
        ((), True, (0, 1, 0)),
        (("x",), True, (0, 1, 0)),
        (("x",), False, (1, 1, 1)),
        (("notes",), True, (0, 0, 0)),
        (("",), None, (0, 0, 0)),
        (("*", "x"), None, (0, 0, 0)),
    ],
)
def test_scope_is_judged_before_and_after_the_fallback(
    folders: tuple[str, ...], fallback: bool | None, expected: tuple[float, ...]
) -> None:
    metrics = score(TWO_FOLDERS, selecting(*folders, fallback=fallback)).metrics
    assert tuple(metrics[key] for key in KEYS) == expected


@pytest.mark.parametrize(("fallback", "rate"), [(True, 1.0), (False, 0.0), (None, None)])
def test_the_fallback_is_counted_where_it_is_reported(
    fallback: bool | None, rate: float | None
) -> None:
    for of in (TWO_FOLDERS, case(answerable=False)):
        scores = score(of, selecting("x", fallback=fallback))
        assert scores.metrics["fallback_rate"] == rate
    assert (status(scores, "fallback_rate") == "scored") == (rate is not None)


@pytest.mark.parametrize(
    ("of", "reply", "settings"),
    [
        (TWO_FOLDERS, response(), {}),
        (TWO_FOLDERS, response(folder_selection=FolderSelection()), {"folder_mode": "on"}),
        (TWO_FOLDERS, selecting("notes"), {"folder_mode": "off"}),
        (case(), selecting("notes"), {}),
        (case(answerable=False), selecting("notes"), {}),
        (TWO_FOLDERS, None, {}),
        (TWO_FOLDERS, None, {"folder_mode": "off"}),
        (case(answerable=False), None, {"folder_mode": "on"}),
    ],
)
def test_scope_does_not_apply(of: Any, reply: Any, settings: dict[str, Any]) -> None:
    scores = score(of, reply, error=None if reply else TIMEOUT, **settings)
    assert {status(scores, key) for key in KEYS} == {"not_applicable"}


@pytest.mark.parametrize(
    ("mode", "scope", "fallback"),
    [
        ("on", "error", "not_applicable"),
        ("on_with_fallback", "error", "error"),
        ("off", "not_applicable", "not_applicable"),
        (None, "not_applicable", "not_applicable"),
    ],
)
def test_a_failed_case_is_an_error_only_where_selection_was_asked_for(
    mode: str | None, scope: str, fallback: str
) -> None:
    scores = score(TWO_FOLDERS, None, error=TIMEOUT, folder_mode=mode)
    assert {status(scores, key) for key in KEYS} == {scope}
    assert status(scores, "fallback_rate") == fallback


def test_an_empty_answer_still_has_a_scope() -> None:
    scores = score(TWO_FOLDERS, selecting("notes", answer=" "), folder_mode="on")
    assert scores.metrics["scope_miss_rate"] == 0


def test_path_case_holds_for_folders_too() -> None:
    reply = selecting("NOTES", "Docs")
    assert score(TWO_FOLDERS, reply).metrics["scope_miss_rate"] == 1
    assert score(TWO_FOLDERS, reply, path_case="insensitive").metrics["scope_miss_rate"] == 0
