from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from pytest_rageval.server.answer import Versions, find_versions, note_date
from pytest_rageval.server.chunking import chunk_note
from tests.server.builders import ask, make_engine, write_vault

OLD = "# On-call guide 2025\n\nLast updated: 2025-01-20\n\n## Acknowledge\n\n"
NEW = "# On-call guide 2026\n\nLast updated: 2026-02-03\n\n## Acknowledge\n\n"
QUESTION = "Within how many minutes is a page acknowledged?"


@pytest.mark.parametrize(
    ("rel_path", "text", "day"),
    [
        ("a.md", "# A\n\nLast updated: 2026-02-03\n", date(2026, 2, 3)),
        ("a.md", "---\ndate: 2026-02-03\n---\n# A\n", date(2026, 2, 3)),
        ("a.md", "# A\n\n**Updated:** 2026-02-03\n", date(2026, 2, 3)),
        ("weekly/2026-02-11.md", "# Weekly\n", date(2026, 2, 11)),
        ("2026-02-11.md", "Date: 2026-02-12\n", date(2026, 2, 12)),
        ("a.md", "# A\n\nOn 2026-02-03 we met.\n", None),
        ("a.md", "Date: 2026-13-03\n", None),
        ("a.md", "", None),
    ],
)
def test_a_note_states_its_date_or_carries_it_in_its_name(
    rel_path: str, text: str, day: date | None
) -> None:
    assert note_date(rel_path, text.encode()) == day


def test_versions_are_dated_notes_with_one_title_and_section_whatever_their_numbers() -> None:
    texts = {
        "a.md": OLD + "Within 15 minutes.\n",
        "b.md": NEW + "Within 5 minutes.\n",
        "c.md": NEW + "Undated, so left out.\n",
        "d.md": "# Garden\n\n## Acknowledge\n\nNo version.\n",
    }
    chunks = [
        next(
            one
            for one in chunk_note(
                vault="v", rel_path=path, data=text.encode(), max_tokens=99, overlap=0
            )
            if one.heading_path.endswith("## Acknowledge")
        )
        for path, text in texts.items()
    ]
    dates = {"a.md": date(2025, 1, 20), "b.md": date(2026, 2, 3), "d.md": date(2026, 9, 9)}
    assert list(find_versions(chunks, dates)) == [Versions(newer=1, older=0)]
    assert list(find_versions(chunks, dict.fromkeys(texts, date(2026, 1, 1)))) == []


def test_an_answer_names_two_versions_that_differ_the_newer_first(tmp_path: Path) -> None:
    notes = {
        "old.md": OLD + "A page is acknowledged within 15 minutes.\n",
        "new.md": NEW + "A page is acknowledged within 5 minutes.\n",
        "garden.md": "# Garden\n\nTomatoes are planted in May.\n",
    }
    response = ask(make_engine(write_vault(tmp_path / "v", notes)), QUESTION)
    places = {
        chunk["rel_path"]: chunk["rank"]
        for chunk in response["debug"]["retrieved_chunks"]
        if chunk["heading_path"].endswith("Acknowledge")
    }
    assert response["answer"] == (
        f"A page is acknowledged within 5 minutes. [{places['new.md']}] "
        f"A page is acknowledged within 15 minutes. [{places['old.md']}] "
        "The two notes differ: the first is of 2026-02-03, the second of 2025-01-20."
    )
    assert [one["rel_path"] for one in response["references"]] == ["new.md", "old.md"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (OLD + "A page is acknowledged within 5 minutes.\n", NEW),  # they agree
        (OLD.replace("Last updated", "Once was") + "Within 15 minutes a page is.\n", NEW),
        (OLD + "Somebody brings the coffee.\n", NEW),
    ],
)
def test_versions_that_agree_or_are_undated_or_off_the_question_are_no_conflict(
    old: str, new: str, tmp_path: Path
) -> None:
    notes = {"old.md": old, "new.md": new + "A page is acknowledged within 5 minutes.\n"}
    response = ask(make_engine(write_vault(tmp_path / "v", notes)), QUESTION)
    assert "differ" not in response["answer"]
    assert response["answer"].startswith("A page is acknowledged within 5 minutes.")
