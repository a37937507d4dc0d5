"""Notes of people on the cases of a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rageval.report.html.run.page import report_page
from pytest_rageval.report.html.run.values import ReportOptions
from pytest_rageval.runs.read import read_run
from pytest_rageval.runs.reviews import NOTES, put_note, put_notes, read_notes
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.run import CaseNote
from tests.build.runs import run_of, write_run
from tests.report.html.builders import HOSTILE

NOTE = CaseNote(
    file="evals/set.jsonl", case_id="c-001", text="The gold moved.", author="ana", time="2026-11-20"
)
KILLED = """
import sys
from pathlib import Path
from pytest_rageval.runs.reviews import put_note
from pytest_rageval.values.run import CaseNote
number = 0
while True:
    number += 1
    put_note(Path(sys.argv[1]), CaseNote(file="f", case_id=f"c{number}", text="x" * 2000))
    print(number, flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_run(tmp_path / "results", "r1", run_of(3), day=1)


def test_each_author_has_one_note_on_a_case_and_repeat(folder: Path) -> None:
    put_note(folder, NOTE)
    others = [replace(NOTE, author="bo"), replace(NOTE, repeat=1), replace(NOTE, case_id="c-002")]
    for other in others:
        put_note(folder, other)
    newer = replace(NOTE, text="It did not.")
    assert put_note(folder, newer) == (newer, *others)
    assert read_notes(folder) == (newer, *others)
    assert put_note(folder, replace(NOTE, text=" ")) == tuple(others)


@pytest.mark.parametrize("text", [*HOSTILE[:11], "a\nb", "\u202e"])
def test_a_note_comes_back_as_it_was(folder: Path, text: str) -> None:
    note = replace(NOTE, text=text, author=text[:100])
    put_note(folder, note)
    assert read_notes(folder) == (note,)


@pytest.mark.parametrize("content", ["{", "[]", '{"notes": 1}', '{"notes": [{"id": "a"}]}'])
def test_a_damaged_file_is_named_and_hides_no_run(folder: Path, content: str) -> None:
    (folder / NOTES).write_text(content, encoding="utf-8")
    with pytest.raises(StorageError, match=r"notes\.json: "):
        put_note(folder, NOTE)
    assert (folder / NOTES).read_text(encoding="utf-8") == content  # what people wrote stays
    assert "c-001" in "".join(report_page(read_run(folder)))


def test_several_writers_lose_nothing(folder: Path) -> None:
    notes = [replace(NOTE, case_id=f"c-{i}") for i in range(30)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda note: put_note(folder, note), notes))
    assert {note.case_id for note in read_notes(folder)} == {note.case_id for note in notes}
    assert sorted(path.name for path in folder.glob(".*")) == []


@pytest.mark.posix
def test_a_killed_writer_leaves_every_note_that_it_had_finished(folder: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(folder)], stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stdout is not None
        done = [int(process.stdout.readline()) for _ in range(20)][-1]
        os.kill(process.pid, signal.SIGKILL)
    assert len(read_notes(folder)) >= done
    put_note(folder, NOTE)
    assert not list(folder.glob("*.tmp"))
    assert not list(folder.glob(".*.tmp"))


def test_notes_are_on_the_page_and_not_on_a_redacted_one(folder: Path) -> None:
    put_note(folder, replace(NOTE, text="<img src=x> & more"))
    run = read_run(folder)
    html = "".join(report_page(run))
    assert '<p class="text" dir="auto">&lt;img src=x&gt; &amp; more</p><small>ana, 2026' in html
    assert "\\u003cimg src=x\\u003e" in html  # for the script
    assert '<a href="#case-c-001" class="key">c-001</a> <span class="text">&lt;img' in html
    assert 'case-shown", ({' in html
    redacted = "".join(report_page(run, options=ReportOptions(redact=True)))
    assert "img src=x" not in redacted
    assert "take-note" not in redacted.split("<script>")[1]


def test_notes_of_parts_are_put_together(tmp_path: Path) -> None:
    target = tmp_path / "merged"
    target.mkdir()
    put_notes(target, [])
    assert not (target / NOTES).exists()
    put_notes(target, [NOTE, replace(NOTE, case_id="b"), replace(NOTE, text="later")])
    assert [note.text for note in read_notes(target)] == ["later", "The gold moved."]
