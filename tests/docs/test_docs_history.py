"""The page on history: its questions have answers in both databases, and its columns exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.build.postgres import execute
from tests.build.runs import write_run
from tests.docs.examples import DOCS
from tests.runs.history.builders import RESULTS, cases, rows, sync

PAGE = (DOCS / "history.md").read_text(encoding="utf-8")


def questions() -> list[str]:
    return re.findall(r"```sql\n(.*?);\n```", PAGE, flags=re.DOTALL)


def ask(url: str, question: str) -> list[tuple[Any, ...]]:
    if url.startswith("postgresql"):
        return execute(url, question)
    return rows(url, f"({question})")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    if request.param == "sqlite":
        return str(tmp_path / "history.sqlite")
    found: str = request.getfixturevalue("postgres")
    return found


def test_the_questions_of_the_page_have_answers(url: str) -> None:
    for day in (1, 2, 3):
        write_run(RESULTS, f"r{day}", cases(missed=(1, 2) if day < 3 else (1,)), day=day)
    sync(url)
    trend, failed, flaky = (ask(url, question) for question in questions())
    assert [(row[1], row[6]) for row in trend] == [("r1", 3), ("r2", 3), ("r3", 3)]
    assert [row[3] for row in trend] == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    assert [tuple(row)[1:] for row in failed] == [
        ("c-001", 3, 3, "not_retrieved"),
        ("c-005", 3, 3, None),
        ("c-002", 3, 2, "not_retrieved"),
    ]
    assert [tuple(row) for row in flaky] == [("evals/set.jsonl", "c-002", "", 3, 1)]
