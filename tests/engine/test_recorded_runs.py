"""Recorded retrievals of real pipelines give the scores that others computed for them."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache
from typing import Any

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.project.case_reader import parse_case
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import CaseScores, ScoreSettings
from pytest_rageval.values.reply import AskResponse, ErrorInfo, RetrievedChunk
from tests.build.scores import score_reply
from tests.build.shared_data import shared_path

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
