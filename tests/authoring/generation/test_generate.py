from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.authoring.generation.generate import (
    NAMES,
    Generated,
    Wish,
    case_file,
    generate,
)
from pytest_rageval.authoring.linting.anchors import AnchorIndex
from pytest_rageval.authoring.linting.findings import PlacedCase
from pytest_rageval.authoring.notes import NoteFile, parse_note, read_notes
from pytest_rageval.metrics.deciding import decide_chunks
from pytest_rageval.metrics.matching import norm_text
from pytest_rageval.project.case_reader import load_cases, parse_case
from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.server import start_in_thread
from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import AskRequest
from pytest_rageval.values.settings import TargetSettings
from tests.build.asking import ask_client

ROOT = Path(__file__).resolve().parents[3]
FAQ = """# Lending

## How many days may a hand tool be kept?

A hand tool may be kept for 14 days.

## How much does a late power tool cost?

A late power tool costs 3 euros a day.

**Keyholder**: a member who opens the desk.

## Which bits fit the rotary hammer?

SDS-plus bits.
"""
BIKE = """# Cargo bike

**How far does a full battery last?** For about 45 kilometres.

Q: Who may ride the cargo bike on Sundays?
A: Whoever has paid the deposit of 100 euros.

The cargo bike is a bicycle with a box in front.
"""


def notes(**texts: str) -> list[NoteFile]:
    return [parse_note(f"{name}.md", text.encode()) for name, text in sorted(texts.items())]


VAULT = notes(bike=BIKE, lending=FAQ)


def questions(made: Generated, *, answerable: bool = True) -> list[str]:
    return [case.question for case in made.cases if case.answerable == answerable]


# --- what is made ----------------------------------------------------------------------------


def test_every_form_of_question_becomes_a_case_to_be_reviewed() -> None:
    made = generate(VAULT, Wish())
    assert questions(made) == [
        "How far does a full battery last?",
        "Who may ride the cargo bike on Sundays?",
        "What is the cargo bike?",
        "How many days may a hand tool be kept?",
        "How much does a late power tool cost?",
        "What is Keyholder?",
        "Which bits fit the rotary hammer?",
    ]
    assert {case.review for case in made.cases} == {"generated"}
    assert (made.n_notes, made.n_used, made.dropped) == (2, 2, {})


def test_cases_are_valid_lines_of_a_case_file(tmp_path: Path) -> None:
    made = generate(VAULT, Wish(unanswerable=3))
    path = tmp_path / "g.jsonl"
    path.write_text(case_file(made.cases), encoding="utf-8")
    loaded = load_cases(path)
    assert loaded.warnings == ()
    assert [one.case for one in loaded.cases] == list(made.cases)


def test_the_same_notes_give_the_same_bytes_and_another_seed_another_choice() -> None:
    def made(seed: int) -> str:
        return case_file(generate(VAULT, Wish(seed=seed, limit=4)).cases)

    assert made(1) == made(1)
    assert len({made(seed) for seed in range(8)}) > 1


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 50])
def test_a_limit_is_kept_and_both_notes_have_their_share(limit: int) -> None:
    made = generate(VAULT, Wish(limit=limit))
    assert 0 < len(made.cases) <= limit
    if limit >= 2:
        assert made.n_used == 2


# --- what is dropped -------------------------------------------------------------------------


def test_near_duplicates_are_dropped() -> None:
    again = "# Lending\n\n## How many days may a hand tool be kept now?\n\nFor 14 days.\n"
    text = f"{FAQ}\n{again.partition(chr(10))[2]}"
    made = generate(notes(lending=text), Wish(unanswerable=0))
    assert len(made.cases) == 5
    same_place = "# A\n\n**How long may a hand tool be kept at home?** Long.\n\n" + (
        "**How long may a hand tool be kept at home then?** Long.\n"
    )
    made = generate(notes(a=same_place), Wish(unanswerable=0))
    assert len(made.cases) == 1
    assert made.dropped == {"duplicate": 1}


def test_questions_of_known_cases_are_not_made_again() -> None:
    known = [Case(id="x", question="how many days may a hand tool be kept")]
    made = generate(VAULT, Wish(), known=known)
    assert "How many days may a hand tool be kept?" not in questions(made)
    assert made.dropped == {"duplicate": 1}


# --- questions without an answer -------------------------------------------------------------


def test_a_name_that_no_note_holds_takes_the_place_of_a_subject() -> None:
    made = generate(VAULT, Wish(unanswerable=3))
    found = [case for case in made.cases if not case.answerable]
    held = " ".join(note.normal_text for note in VAULT)
    assert found
    for case in found:
        names = [name for name in NAMES if name in case.question]
        assert names
        assert not any(norm_text(name) in held for name in names)
        assert norm_text(case.question) not in held
        assert "no note holds" in case.notes
        assert case.gold_supports == ()


# --- the anchors fit -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "folder", ["evals/vault", "pytest_rageval/authoring/scaffold/files/vault", "docs"]
)
def test_anchors_of_real_notes_are_sound(folder: str) -> None:
    read = read_notes(ROOT / folder)
    index = AnchorIndex(read.notes)
    cases = generate(read.notes, Wish()).cases
    assert cases
    for case in cases:
        parse_case({"id": case.id, "question": case.question})
        assert list(index.check(PlacedCase(case=case, file="g.jsonl", lineno=1))) == []


def test_the_embedded_server_retrieves_the_gold_of_every_case(tmp_path: Path) -> None:
    for note in VAULT:
        (tmp_path / note.rel_path).write_text("\n".join(note.lines), encoding="utf-8")
    settings = ScoreSettings(snippets="all")
    with start_in_thread(ReferenceConfig(vault=tmp_path)) as handle:
        client = HttpRagClient(TargetSettings(url=handle.url), environ={})
        cases = generate(VAULT, Wish(unanswerable=0)).cases
        assert cases
        for case in cases:
            response = ask_client(client, AskRequest(question=case.question, k=5)).response
            assert response is not None
            decided = decide_chunks(case, response.retrieved_chunks or (), settings)
            assert any(chunk.matched_golds for chunk in decided), case.question
        client.close()
