from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import __version__
from pytest_rageval.authoring.labelling.desk import (
    AdjudicationDesk,
    AnnotatorDesk,
    Target,
)
from pytest_rageval.authoring.labelling.session import LabelSession
from pytest_rageval.authoring.labelling.store import labels_path, read_labels
from pytest_rageval.authoring.labelling.view import view_of
from pytest_rageval.project.case_edit import load_editable
from pytest_rageval.values.errors import DatasetError
from pytest_rageval.values.record import ScoreSettings
from tests.authoring.labelling.builders import CASES, ask, file_session, press, write_cases

TARGET = Target(ask=ask, k=20)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_cases(tmp_path / "cases.jsonl")


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# --- the case file -------------------------------------------------------------------------------


def test_a_decision_changes_the_line_of_its_case_and_nothing_else(path: Path) -> None:
    before = path.read_bytes().split(b"\r\n")
    press(file_session(path), "3", "enter", "Q")
    after = path.read_bytes().split(b"\r\n")
    assert after[1:] == before[1:]
    gold = {"gold_supports": [{"rel_path": "ops/mail.md", "heading_path": "# Mail"}]}
    assert json.loads(after[0]) == json.loads(before[0]) | gold


def test_a_case_is_removed_unless_another_program_changed_its_line(path: Path) -> None:
    session = file_session(path, review=True)
    path.write_bytes(path.read_bytes().replace(b"retry?", b"RETRY?"))
    press(session, "d", "y")
    assert session.notice.startswith("not removed: ")
    assert len(lines_of(path)) == len(CASES)
    press(session, "R")
    assert session.marking.item.case.question.endswith("RETRY?")
    press(session, "d", "y")
    assert [line["id"] for line in lines_of(path)] == ["marked", "other"]
    assert press(session, "n", "1", "w").notice.startswith("saved other")


def test_the_command_that_edits_a_case_is_quoted_for_the_shell(tmp_path: Path) -> None:
    path = write_cases(tmp_path / "my cases.jsonl", [{"id": "-$(x)", "question": "q"}])
    notice = press(file_session(path, review=True), "e").notice
    command = shlex.split(notice.partition("R:\n")[2])
    assert command == [
        "rageval", "case", "edit", "-f", str(path), "--question", "TEXT", "--", "-$(x)",
    ]  # fmt: skip


def test_a_gold_that_stays_keeps_its_spelling_and_its_unknown_keys(path: Path) -> None:
    press(file_session(path), "n", "5", "w", "Q")
    assert b'"mine": 1.5}]' in path.read_bytes()


def test_unknown_keys_are_warned_about_and_faults_are_refused(path: Path) -> None:
    assert load_editable(path, display="c.jsonl").warnings == (
        "c.jsonl:1: unknown field 'unknown', left as it is",
        "c.jsonl:2: unknown field 'gold_supports[].mine', left as it is",
    )
    path.write_text(
        '{"id": "a", "question": ""}\n{"id": 1}\nx\n{"id": "a", "id": "b", "question": "q"}\n'
        '{"id": "c", "question": "q"}\n{"id": "c", "question": "q"}\n[]\n',
        encoding="utf-8",
    )
    with pytest.raises(DatasetError) as caught:
        load_editable(path, display="c.jsonl")
    lines = str(caught.value).splitlines()
    assert [line.split(":")[1] for line in lines] == ["1", "2", "2", "3", "4", "6", "7"]


def test_a_change_of_the_same_line_meanwhile_is_shown_and_never_overwritten_unseen(
    path: Path,
) -> None:
    session = file_session(path)
    theirs = path.read_bytes().replace(b"How often", b"HOW OFTEN")
    path.write_bytes(theirs)
    press(session, "3", "enter")
    assert "HOW OFTEN" in view_of(session).conflict
    assert path.read_bytes() == theirs
    press(session, "t")
    assert path.read_bytes() == theirs
    assert view_of(session).case.question == "HOW OFTEN does the queue retry?"
    assert press(session, "3", "enter").index == 1
    assert lines_of(path)[0] | {"gold_supports": 0, "unknown": 0} == {
        "id": "retries", "question": "HOW OFTEN does the queue retry?", "gold_supports": 0,
        "unknown": 0,
    }  # fmt: skip


def test_mine_over_theirs_changes_only_what_i_decided(path: Path) -> None:
    session = file_session(path)
    path.write_bytes(path.read_bytes().replace(b'"old"', b'"newer"'))
    press(session, "n", "a", "w", "m")
    line = lines_of(path)[1]
    assert (line["notes"], line["answerable"], line["gold_supports"]) == ("newer", False, [])


# --- annotators ----------------------------------------------------------------------------------


def annotator(path: Path, name: str, *, blind: bool = True, at: str = "2026-01-01") -> LabelSession:
    times = iter(range(0, 10_000, 7))
    loaded = load_editable(path)
    desk = AnnotatorDesk(
        loaded=loaded, target=TARGET, annotator=name, labels=read_labels(path),
        settings=ScoreSettings(), blind=blind, clock=lambda: float(next(times)),
        now=lambda: at,
    )  # fmt: skip
    return LabelSession(desk.queue([one.case.id for one in loaded.cases]), desk)


def row_of(session: LabelSession, text: str) -> str:
    return next(str(row.number) for row in view_of(session).rows if text in row.place + row.text)


def test_a_label_is_added_to_the_annotators_file_and_the_case_file_stays(path: Path) -> None:
    before = path.read_bytes()
    session = annotator(path, "ann")
    press(session, row_of(session, "ops/mail.md"), "enter", "p", "u", "enter", "Q")
    assert path.read_bytes() == before
    first, second = lines_of(labels_path(path, "ann"))
    assert first["gold_supports"] == [{"rel_path": "ops/mail.md", "heading_path": "# Mail"}]
    assert (first["id"], first["file"], first["answerable"]) == ("retries", "cases.jsonl", True)
    assert (first["seconds"], first["at"]) == (7.0, "2026-01-01")
    assert first["tool_version"] == __version__
    assert [c["rel_path"] for c in first["chunks"] if c["marked"]] == ["ops/mail.md"]
    assert {len(c["text_hash"]) for c in first["chunks"]} == {16}
    assert (second["id"], second["gold_supports"]) == ("retries", [])


def test_an_annotator_sees_neither_golds_nor_scores_nor_ranks_nor_other_labels(path: Path) -> None:
    other = annotator(path, "bob")
    press(other, "1", "enter", "1", "enter", "Q")
    session = press(annotator(path, "ann"), "n")
    view = view_of(session)
    assert [row.marked for row in view.rows] == [False] * 4
    assert [row.scores for row in view.rows] == [()] * 4
    assert (view.draft.notes, view.groups, view.remarks) == ("", "", ())
    again = press(annotator(path, "bob"), "n")
    assert [row.place for row in view_of(again).rows] == [row.place for row in view.rows]
    open_ = view_of(press(annotator(path, "ann", blind=False), "n"))
    assert [row.marked for row in open_.rows] == [False, False, True, False, True]
    assert open_.rows[0].scores


# --- between annotators --------------------------------------------------------------------------


def adjudicator(path: Path, at: str = "2026-01-02") -> tuple[AdjudicationDesk, Sequence[str]]:
    loaded = load_editable(path)
    desk = AdjudicationDesk(loaded, TARGET, read_labels(path), now=lambda: at)
    return desk, desk.undecided([one.case.id for one in loaded.cases])


@pytest.fixture
def labelled(path: Path) -> Path:
    """Ann and Bob differ on ``retries`` and agree on ``other``, against the case file."""
    for name, marks in {"ann": ["ops/mail.md"], "bob": ["ops/mail.md", "plain.txt"]}.items():
        session = annotator(path, name)
        for text in marks:
            press(session, row_of(session, text))
        press(session, "enter", "n", "enter", "Q")
    return path


def test_cases_that_annotators_differ_on_come_first(labelled: Path) -> None:
    desk, ids = adjudicator(labelled)
    assert ids == ["retries", "other"]
    item = desk.queue(ids)[0]
    assert item.remarks[0] == "1 of 2 sections named by all of ann, bob"
    assert desk.queue(ids)[1].remarks == ("ann, bob agree", "the file says: unanswerable")


def test_the_decision_goes_to_the_case_file_and_is_asked_for_once(labelled: Path) -> None:
    desk, ids = adjudicator(labelled)
    session = LabelSession(desk.queue(ids), desk)
    rows = {row.place.split("  ")[0]: row for row in view_of(session).rows}
    assert rows["ops/mail.md"].marked
    assert rows["ops/mail.md"].tags == ("ann", "bob")
    assert not rows["plain.txt"].marked
    assert rows["plain.txt"].tags == ("bob",)
    press(session, str(rows["plain.txt"].number), "enter", "enter")
    assert "nothing is marked as its evidence; enter again" in session.notice
    press(session, "enter", "Q")
    found = lines_of(labelled)
    assert [gold["rel_path"] for gold in found[0]["gold_supports"]] == ["ops/mail.md", "plain.txt"]
    assert found[2]["answerable"] is True
    assert adjudicator(labelled)[1] == []
    again = annotator(labelled, "bob", at="2026-01-03")
    press(again, "u", "enter", "Q")
    assert adjudicator(labelled)[1] == ["retries"]


def marked_apart(path: Path) -> LabelSession:
    """Ann and Bob name different sections for ``marked``, which has golds in its file."""
    for name, text in (("ann", "plain.txt"), ("bob", "retries five times")):
        session = press(annotator(path, name), "n")
        press(session, row_of(session, text), "enter", "Q")
    desk, ids = adjudicator(path)
    assert ids == ["marked"]
    return LabelSession(desk.queue(ids), desk)


def test_where_nothing_is_agreed_the_file_stays_and_a_second_enter_keeps_it(path: Path) -> None:
    before = path.read_bytes()
    session = marked_apart(path)
    assert [row.place for row in view_of(session).rows if row.marked] == [
        "ops/mail.md  # Mail", "gone.md  # Gone",
    ]  # fmt: skip
    press(session, "enter")
    assert session.notice.startswith("annotators agree on no evidence, this is what the file says")
    assert not labels_path(path, "adjudicated").exists()
    press(session, "enter")
    assert labels_path(path, "adjudicated").exists()
    assert path.read_bytes() == before
