"""A run on disk is opened the same way for every command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.case import CaseRepeat, record_of
from pytest_rageval.project.case_reader import LocatedCase
from pytest_rageval.runs.read import decided_run, failed_cases, open_run, read_documents
from pytest_rageval.runs.store import RunWriter, write_document, write_text_document
from pytest_rageval.support.threads import at_once
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import AskResponse, AskResult
from pytest_rageval.values.run import NO_CONFIG, StoredRun
from pytest_rageval.values.settings import Settings
from tests.build.projects import work_in
from tests.build.records import changed
from tests.build.runs import config_from, write_run
from tests.build.scores import chunk, gold

SECTION = "a.md | # S"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return work_in(tmp_path, monkeypatch)


def record(case_id: str, *chunks: str, **fields: Any) -> CaseRecord:
    of = Case(id=case_id, question="Where is it?", gold_supports=(gold(SECTION),))
    response = AskResponse(answer="There.", retrieved_chunks=tuple(map(chunk, chunks)))
    result = AskResult(response=response, error=None, total_ms=1.0)
    scored = at_once(
        record_of(
            CaseRepeat(LocatedCase(case=of, lineno=3), "set.jsonl", Settings(rootdir=".")), result
        )
    )
    return changed(scored, **fields)


def opened(
    records: Sequence[CaseRecord], config: object = None, results: str = "evals/results"
) -> StoredRun:
    with RunWriter(Path(results), "one") as writer:
        for one in records:
            writer.append(one)
        if config is not None:
            stored = config_from(settings=config) if isinstance(config, dict) else config
            write_document(writer.path, "config.json", stored)
    return open_run("last", {})


def test_the_last_record_of_each_case_and_repeat_counts() -> None:
    run = opened(
        [
            record("b", SECTION, lineno=9),
            record("a", "x.md | # X"),
            record("a", SECTION, repeat=1),
            record("a", SECTION),
        ]
    )
    assert run.run_id == "one"
    found = [(r.case.id, r.repeat, r.scores.outcome) for r in run.records]
    assert found == [("a", 0, "passed"), ("a", 1, "passed"), ("b", 0, "passed")]


def test_two_records_of_a_case_in_a_run_that_has_ended_are_refused() -> None:
    again = [record("a", SECTION), record("a", "x.md | # X")]
    assert len(opened(again).records) == 1
    write_text_document(Path("evals/results/one"), "metrics.json", "{}")
    with pytest.raises(StorageError) as raised:
        open_run("last", {})
    [fault] = raised.value.faults
    assert (fault.code, Path(fault.file).name) == ("repeated_records", "results.jsonl")


def test_an_item_failed_that_did_not_pass_in_every_repeat() -> None:
    run = opened(
        [
            record("c", SECTION, outcome="flawed", failure_stage="not_cited"),
            record("a", SECTION),
            record("a", "x.md | # X", repeat=1),
            record("a", "x.md | # X", repeat=2),
            record("b", SECTION),
        ]
    )
    assert failed_cases(run) == [("set.jsonl", "c"), ("set.jsonl", "a")]


def test_settings_of_the_run_are_read() -> None:
    stored = {"k": 3, "path_case": "insensitive", "folder_mode": "on", "judge": "offline"}
    run = opened([record("a", SECTION)], stored)
    scoring = run.scoring
    assert (scoring.k, scoring.path_case, scoring.folder_mode) == (3, "insensitive", "on")
    assert scoring.judge_configured
    assert run.notes == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [("k", 0), ("k", 2**60), ("citation_pattern", "(?P<n>"), ("citation_first", -1)],
)
def test_settings_that_no_file_can_have_are_not_read(name: str, value: object) -> None:
    run = opened([record("a", SECTION)], {name: value})
    assert f"settings.{name}: " in run.unreadable["config.json"]
    assert run.config == NO_CONFIG


@pytest.mark.parametrize("config", [None, [], 7, "k"])
def test_a_run_without_settings_says_what_is_assumed(config: object) -> None:
    run = opened([record("a", SECTION)], config)
    (note,) = run.notes
    assert "no readable config.json" in note
    assert run.settings == Settings(rootdir=".", judge="none", matching_mode="heading")
    assert not run.scoring.judge_configured


def test_headings_are_judged_by_the_whole_run() -> None:
    """A line alone cannot tell whether the target reports headings."""
    guessed = record("a", "a.md")
    assert guessed.scores.metrics["hit_at_k"] is None
    run = opened([guessed, record("b", SECTION)], {})
    assert run.scoring.headings_reported
    assert [one.scores.metrics["hit_at_k"] for one in run.records] == [0.0, 1.0]


def test_without_texts_the_figures_are_the_same_and_the_texts_are_read_when_asked_for() -> None:
    whole = opened([record("a", "a.md"), record("b", SECTION)], {})
    slim = open_run("last", {}, texts=False)
    # Also of a case that only the whole run shows to be scored by headings.
    assert [one.scores for one in slim.records] == [one.scores for one in whole.records]
    assert slim.scoring == whole.scoring
    assert [one.answer for one in slim.records] == ["", ""]
    assert "There." in {one.answer for one in whole.records}
    assert [*map(slim.whole, slim.records)] == [*whole.records]
    assert [*map(whole.whole, whole.records)] == [*whole.records]


def test_the_whole_record_is_the_last_of_its_case_by_the_rule_of_today() -> None:
    opened([record("a", "x.md | # X"), record("a", SECTION, failure_stage="incorrect")])
    slim = decided_run(open_run("last", {}, texts=False), ("retrieval",))
    (found,) = slim.records
    assert found.scores.outcome == "passed"
    assert slim.whole(found).scores.outcome == "passed"
    assert slim.whole(found).answer == "There."


def test_a_damaged_document_is_named_with_the_path_of_its_fault() -> None:
    folder = Path("evals/results/one")
    with RunWriter(folder.parent, folder.name) as writer:
        write_document(writer.path, "config.json", {"settings": {"rootdir": ".", "k": "many"}})
        write_text_document(writer.path, "gate.json", "[]")
    run = read_documents(folder)
    assert (run.aggregate, run.gate, run.config) == (None, None, NO_CONFIG)
    assert run.unreadable == {
        "config.json": "Expected `int`, got `str` - at `$.settings.k`",
        "gate.json": "Expected `object`, got `array`",
    }
    assert run.notes


UNCITED = {"outcome": "passed", "failure_stage": "not_cited"}


def test_a_run_is_read_by_its_own_rule() -> None:
    run = opened([record("a", SECTION, **UNCITED)], {"judged_on": ["retrieval"]})
    assert [r.scores.outcome for r in run.records] == ["passed"]
    again = decided_run(run, ("retrieval", "answer"))
    assert [r.scores.outcome for r in again.records] == ["flawed"]
    assert again.settings.judged_on == again.scoring.judged_on == ("retrieval", "answer")


def test_breakdowns_are_read_from_their_file() -> None:
    results = Path("evals/results")
    write_run(results, "new", [record("a", SECTION)])
    whole = read_documents(results / "new").aggregate
    small = read_documents(results / "new", groups=False).aggregate
    assert whole is not None
    assert small is not None
    assert whole.by_category["general"]["hit_at_k"].n == 1
    assert (small.metrics, small.by_category) == (whole.metrics, {})

    (results / "new" / "groups.json").write_text("[", encoding="utf-8")
    torn = read_documents(results / "new")
    assert (torn.aggregate, list(torn.unreadable)) == (small, ["groups.json"])
