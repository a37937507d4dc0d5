"""Files of reviewers: append-only, on the disk at once, whole after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rageval.project.discovery import is_case_file
from pytest_rageval.runs.list import runs_to_prune
from pytest_rageval.runs.reviews import (
    append_review,
    join_reviews,
    read_reviews,
    readable_reviews,
    reviews_folder,
)
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.run import AnswerReview, CategoryChange
from tests.build.runs import scored, write_run

REVIEW = AnswerReview(file="f", case_id="a", answer_hash="h", verdict="fail", note="\u202e x\ny")


def test_what_is_written_is_read_by_reviewer(tmp_path: Path) -> None:
    change = CategoryChange(before="a", after="b")
    append_review(tmp_path, "ann", REVIEW)
    append_review(tmp_path, "ann", change)
    append_review(tmp_path, "ben", REVIEW)
    found = read_reviews(tmp_path)
    assert [(line.review, line.category) for line in found["ann"]] == [
        (REVIEW, None),
        (None, change),
    ]
    assert [line.review for line in found["ben"]] == [REVIEW]


def test_reviews_of_a_file_are_beside_it_and_no_case_file(tmp_path: Path) -> None:
    file = tmp_path / "evals" / "inbox" / "prod.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("{}\n")
    append_review(file, "ann", REVIEW)
    kept = file.parent / "reviews" / "prod" / "ann.jsonl"
    assert kept.is_file()
    assert reviews_folder(file) == kept.parent
    assert not is_case_file(kept, rootdir=tmp_path, testpaths=["evals"])


def test_nothing_is_read_where_nobody_has_written(tmp_path: Path) -> None:
    assert read_reviews(tmp_path) == {}


def test_a_line_cut_short_is_left_out_and_overwritten(tmp_path: Path) -> None:
    append_review(tmp_path, "ann", REVIEW)
    path = reviews_folder(tmp_path) / "ann.jsonl"
    path.write_bytes(path.read_bytes() + b'{"at": "2026')
    assert len(read_reviews(tmp_path)["ann"]) == 1
    append_review(tmp_path, "ann", REVIEW)
    assert len(read_reviews(tmp_path)["ann"]) == 2


def test_every_broken_line_is_named(tmp_path: Path) -> None:
    append_review(tmp_path, "ann", REVIEW)
    path = reviews_folder(tmp_path) / "ann.jsonl"
    path.write_bytes(b"[]\n" + path.read_bytes() + b'{"at": 5}\n')
    with pytest.raises(StorageError) as raised:
        read_reviews(tmp_path)
    assert [f"ann.jsonl:{n}:" in str(raised.value) for n in (1, 2, 3)] == [True, False, True]
    assert {fault.code for fault in raised.value.faults} == {"broken_review"}
    assert readable_reviews(tmp_path) == {}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that cannot be caught")
def test_a_kill_loses_no_verdict_that_was_given(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from pytest_rageval.runs.reviews import append_review\n"
        "from pytest_rageval.values.run import AnswerReview\n"
        "for i in range(1000):\n"
        "    one = AnswerReview(file='f', case_id=str(i), answer_hash='h', verdict='pass')\n"
        "    append_review(Path(sys.argv[1]), 'ann', one)\n"
        "    print(i, flush=True)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(20):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        given = 20 + len(process.stdout.read().split())
    kept = [line.review.case_id for line in read_reviews(tmp_path)["ann"] if line.review]
    assert kept[:given] == [str(i) for i in range(given)]
    append_review(tmp_path, "ann", REVIEW)  # the lock of the killed one locks nothing


def test_runs_that_people_reviewed_are_never_pruned_by_age(tmp_path: Path) -> None:
    for n in range(3):
        write_run(tmp_path, f"r{n}", [scored("a", 1.0)], day=n + 1)
    append_review(tmp_path / "r0", "ann", REVIEW)
    assert [path.name for path in runs_to_prune(tmp_path, keep=1)] == ["r1"]


def test_reviews_of_the_parts_of_a_run_are_joined(tmp_path: Path) -> None:
    for name in ("one", "two", "whole"):
        (tmp_path / name).mkdir()
    append_review(tmp_path / "one", "ann", REVIEW)
    append_review(tmp_path / "two", "ann", replace(REVIEW, case_id="b"))
    append_review(tmp_path / "two", "ben", REVIEW)
    join_reviews(tmp_path / "whole", [tmp_path / "one", tmp_path / "two"])
    found = read_reviews(tmp_path / "whole")
    assert {
        name: [line.review.case_id for line in lines if line.review]
        for name, lines in found.items()
    } == {"ann": ["a", "b"], "ben": ["a"]}
