"""Recorded responses, line by line: any order, repeats, faults and pipes."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.engine.recorded import RecordedRun
from pytest_rageval.project.case_reader import parse_case
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.errors import DatasetError
from pytest_rageval.values.record import CaseRecord, CaseScores, ScoreSettings
from pytest_rageval.values.reply import AskResponse, ErrorInfo, RetrievedChunk
from pytest_rageval.values.settings import Settings
from tests.build.files import write_lines
from tests.build.scores import score_reply
from tests.build.shared_data import shared_path

SETTINGS = Settings(rootdir=".", k=2)


def case_line(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "question": f"{name}?",
        "gold_supports": [{"rel_path": f"{name}.md", "heading_path": "# A"}],
    }


def response_line(name: str, *paths: str, **more: Any) -> dict[str, Any]:
    chunks = [{"rel_path": path, "heading_path": "# A > ## B"} for path in paths]
    return {"id": name, "response": {"answer": "a", "debug": {"retrieved_chunks": chunks}}, **more}


def scored(tmp_path: Path, cases: list[Any], responses: list[Any]) -> list[CaseRecord]:
    run = RecordedRun(
        write_lines(tmp_path / "c.jsonl", *cases),
        write_lines(tmp_path / "r.jsonl", *responses),
        SETTINGS,
    )
    return list(run.records())


NAMES = [f"c{i:02}" for i in range(30)]


def test_a_record_does_not_depend_on_the_cases_around_it(tmp_path: Path) -> None:
    cases = [case_line(name) for name in NAMES]
    found = [["x.md", f"{name}.md"][: i % 3] for i, name in enumerate(NAMES)]
    responses = [
        response_line(name, *paths) for name, paths in zip(NAMES, found, strict=True) if paths
    ]
    records = scored(tmp_path, cases, responses)
    assert [record.case.id for record in records] == NAMES
    for case, record in zip(cases, records, strict=True):
        alone = [one for one in responses if one["id"] == case["id"]]
        [expected] = scored(tmp_path, [case], alone)
        assert replace(record, lineno=1) == expected


def test_the_order_of_responses_does_not_matter(tmp_path: Path) -> None:
    cases = [case_line(name) for name in NAMES]
    responses = [response_line(name, "x.md", f"{name}.md") for name in NAMES]
    expected = scored(tmp_path, cases, responses)
    assert [record.scores.metrics["mrr"] for record in expected] == [0.5] * len(NAMES)
    for seed in range(5):
        mixed = random.Random(seed).sample(responses, len(responses))
        assert scored(tmp_path, cases, mixed) == expected


def test_further_responses_of_a_case_are_repeats(tmp_path: Path) -> None:
    responses = [
        response_line("a", "x.md", repeat=2),
        response_line("a", "a.md"),
        response_line("b", "b.md"),
        response_line("a", "x.md", "a.md", repeat=1),
    ]
    found = scored(tmp_path, [case_line("a"), case_line("b")], responses)
    assert [(r.case.id, r.repeat, r.scores.metrics["mrr"]) for r in found] == [
        ("a", 0, 1.0),
        ("b", 0, 1.0),
        ("a", 1, 0.5),
        ("a", 2, 0.0),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (response_line("a", repeat=-1), "repeat: got -1, expected an integer of at least 0"),
        (response_line("a", repeat=True), "repeat: got True, expected an integer of at least 0"),
        (response_line("b", repeat=1), "id: 'b' is already that of the response on line 2"),
    ],
)
def test_a_repeat_that_is_none_is_named(line: dict[str, Any], message: str, tmp_path: Path) -> None:
    lines = [response_line("b"), response_line("b", repeat=1), line]
    with pytest.raises(DatasetError) as caught:
        scored(tmp_path, [case_line("a"), case_line("b")], lines)
    assert str(caught.value).endswith(f"r.jsonl:3: {message}")


@pytest.mark.parametrize("listed", [False, True])
def test_responses_over_several_lines_are_one_fault(tmp_path: Path, listed: bool) -> None:
    cases = write_lines(tmp_path / "c.jsonl", case_line("a"), case_line("b"))
    responses = [response_line("a", "a.md"), response_line("b", "b.md")]
    path = tmp_path / "r.jsonl"
    values = [responses] if listed else responses
    path.write_text("\n".join(json.dumps(one, indent=1) for one in values), encoding="utf-8")
    with pytest.raises(DatasetError) as caught:
        list(RecordedRun(cases, path, SETTINGS).records())
    message = r"r.jsonl:1: one JSON value is on lines 1 to \d+(, and 1 more such)?; "
    assert re.search(message + "write each object on one line$", str(caught.value))
    assert len(caught.value.faults) == 1


def test_a_recorded_failure_is_the_target_s_failure(tmp_path: Path) -> None:
    responses = [
        {"id": "a", "error": {"kind": "timeout", "message": "no reply within 60 s"}},
        {"id": "b", "response": None, "error": {"kind": "http"}},
    ]
    found = scored(tmp_path, [case_line("a"), case_line("b")], responses)
    assert [(r.error.kind, r.error.message) for r in found if r.error] == [
        ("timeout", "no reply within 60 s"),
        ("http", "recorded as failed"),
    ]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("late", "error: got 'late', expected {"),
        ({"kind": "slow"}, "error.kind: got 'slow', expected one of timeout, "),
        ({"kind": "http", "message": 5}, "error.message: got 5, expected a string"),
    ],
)
def test_a_recorded_failure_of_no_kind_is_named(
    error: object, message: str, tmp_path: Path
) -> None:
    with pytest.raises(DatasetError) as caught:
        scored(tmp_path, [case_line("a")], [{"id": "a", "error": error}])
    assert message in str(caught.value)


def test_cases_without_a_response_are_counted(tmp_path: Path) -> None:
    run = RecordedRun(
        write_lines(tmp_path / "c.jsonl", *[case_line(name) for name in NAMES]),
        write_lines(tmp_path / "r.jsonl", response_line("c00")),
        SETTINGS,
    )
    list(run.records())
    assert run.findings.warnings == ("29 of 30 cases have no recorded response",)


# --- recorded retrievals of real pipelines give the scores that others computed for them

PIPELINES = ("base", "level_two", "level_three")
PUBLISHED = {"precision": "precision_returned_at_k", "recall": "recall_at_k", "mrr": "mrr"}


@cache
def _cases() -> dict[str, Case]:
    lines = shared_path("data", "rag", "eval_full.jsonl").read_text(encoding="utf-8").splitlines()
    cases = (parse_case(json.loads(line)) for line in lines if '"claude-docs"' in line)
    return {case.id: case for case in cases}


def _recorded(pipeline: str) -> list[dict[str, Any]]:
    path = shared_path("data", "runs", f"claude_docs_{pipeline}.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _score(row: dict[str, Any]) -> CaseScores:
    case, settings = _cases()[row["test_case_id"]], ScoreSettings(k=3)
    if row.get("error"):
        error = ErrorInfo(kind="http", message=row["error"])
        return score_reply(case, None, settings, error=error)
    chunks = tuple(RetrievedChunk(**chunk) for chunk in row["retrieved_chunks"])
    return score_reply(case, AskResponse(answer="…", retrieved_chunks=chunks), settings)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_every_published_score_of_every_question_is_reproduced(pipeline: str) -> None:
    expected = json.loads(
        shared_path("data", "runs", f"claude_docs_{pipeline}.expected.json").read_text("utf-8")
    )
    scores = {row["test_case_id"]: _score(row).metrics for row in _recorded(pipeline)}
    scored = {case_id for case_id, metrics in scores.items() if metrics["mrr"] is not None}
    assert scored == expected["per_case"].keys()
    for case_id, published in expected["per_case"].items():
        ours = {name: scores[case_id][key] for name, key in PUBLISHED.items()}
        assert ours == {name: published[name] for name in PUBLISHED}, case_id
    for name, key in PUBLISHED.items():
        values = [value for case_id in scored if (value := scores[case_id][key]) is not None]
        assert sum(values) / len(values) == pytest.approx(expected["mean"][name], abs=1e-12)


# --- trec_eval -----------------------------------------------------------------------------

MEASURES = {
    "recall_at_k": "recall_{k}",
    "precision_at_k": "P_{k}",
    "ndcg_at_k": "ndcg_cut_{k}",
    "map": "map_cut_{k}",
    "mrr": "recip_rank",
    "hit_at_k": "success_{k}",
    "precision_returned_at_k": "set_P",
}


def _trec_eval(qrels: dict[str, int], ranked: list[str], k: int) -> dict[str, float]:
    """Ask trec_eval about one run that is cut at k, best first."""
    measures = {"recall", "P", "ndcg_cut", "map_cut", "success"}
    names = {f"{measure}.{k}" for measure in measures} | {"recip_rank", "set_P"}
    run = {document: float(len(ranked) - i) for i, document in enumerate(ranked[:k])}
    found = pytrec_eval.RelevanceEvaluator({"q": qrels}, names).evaluate({"q": run})["q"]
    return {ours: found[theirs.format(k=k)] for ours, theirs in MEASURES.items()}


def _same(theirs: dict[str, float]) -> Any:
    return pytest.approx(theirs, abs=1e-9)


def _ours(scores: CaseScores, theirs: dict[str, float]) -> dict[str, float | None]:
    return {key: scores.metrics[key] for key in theirs}


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_trec_eval_agrees_on_the_recorded_runs(pipeline: str) -> None:
    qrels: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for line in (
        shared_path("data", "ir", "claude_docs", "qrels.txt").read_text("utf-8").split("\n")
    ):
        if line:
            query, _, document, grade = line.split()
            qrels[query][document] = int(grade)
    runs: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    run_file = shared_path("data", "ir", "claude_docs", f"{pipeline}.run")
    for line in run_file.read_text("utf-8").splitlines():
        query, _, document, rank, *_ = line.split()
        runs[query].append((int(rank), document))
    compared = 0
    for row in _recorded(pipeline):
        query = row["test_case_id"]
        ranked = [document for _, document in sorted(runs[query])]
        if ranked:
            theirs = _trec_eval(qrels[query], ranked, 3)
            assert _ours(_score(row), theirs) == _same(theirs), query
            compared += 1
    assert compared >= 99


@given(
    grades=st.dictionaries(st.integers(0, 14), st.integers(1, 4), min_size=1, max_size=8),
    ranked=st.lists(st.integers(0, 14), unique=True, min_size=1, max_size=15),
    k=st.integers(1, 16),
)
def test_trec_eval_agrees_where_each_gold_is_one_chunk(
    grades: dict[int, int], ranked: list[int], k: int
) -> None:
    case = Case(
        id="x",
        question="?",
        gold_supports=tuple(
            Anchor(rel_path=f"{number}.md", heading_path="# S", grade=grade)
            for number, grade in grades.items()
        ),
    )
    chunks = tuple(RetrievedChunk(rel_path=f"{n}.md", heading_path="# S") for n in ranked)
    response = AskResponse(answer="…", retrieved_chunks=chunks)
    scores = score_reply(case, response, ScoreSettings(k=k))
    qrels = {f"{number}.md": grade for number, grade in grades.items()}
    theirs = _trec_eval(qrels, [f"{number}.md" for number in ranked], k)
    assert theirs.keys() == MEASURES.keys()
    assert _ours(scores, theirs) == _same(theirs)
    of_documents = {f"doc_{key}": value for key, value in theirs.items()}
    assert _ours(scores, of_documents) == _same(of_documents)
