"""A run that goes out to trec_eval comes back with our numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.authoring.interchange.run_exports import (
    Level,
    TrecRun,
    write_run,
)
from pytest_rageval.metrics.scoring import score_case
from pytest_rageval.metrics.view import view_case
from pytest_rageval.project.case_reader import load_cases
from pytest_rageval.target.contract import parse_ask_response
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from pytest_rageval.values.reply import RetrievedChunk
from tests.build.records import record
from tests.build.shared_data import shared_path
from tests.properties.scenes import make_case, make_payload, seeded

K = 5
SETTINGS = ScoreSettings(k=K)
TREC_KEYS: Mapping[str, str] = {
    "success_{k}": "hit_at_k",
    "recall_{k}": "recall_at_k",
    "P_{k}": "precision_at_k",
    "ndcg_cut_{k}": "ndcg_at_k",
    "map_cut_{k}": "map",
    "recip_rank": "mrr",
    "set_P": "precision_returned_at_k",
}
"""Measure of trec_eval to our metric, ``doc_`` before it at the level of documents."""


def scored(case: Case, payload: Mapping[str, object], k: int = K) -> CaseRecord:
    """Record of a case and the chunks that it got, as a run stores it."""
    case = replace(case, k=None)
    view = view_case(case, parse_ask_response(payload), ScoreSettings(k=k))
    scores = score_case(view)
    return record(
        case.id,
        dict(scores.metrics),
        case=case,
        k=k,
        not_applicable=dict(scores.not_applicable),
        retrieved_chunks=view.chunks,
    )


def trec_eval(found: TrecRun, k: int = K) -> dict[str, dict[str, float]]:
    """Let trec_eval score the files as they were written; -c: a topic without lines is 0."""
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for line in found.qrels.splitlines():
        topic, _, document, grade = line.split(" ")
        qrels.setdefault(topic, {})[document] = int(grade)
        run.setdefault(topic, {})
    for line in found.run.splitlines():
        topic, _, document, _, score, _ = line.split(" ")
        assert document not in run[topic], "a document stands twice"
        run[topic][document] = float(score)
    names = {"success", "recall", "P", "ndcg_cut", "map_cut"}
    measures = {*(f"{name}.{k}" for name in names), "recip_rank", "set_P"}
    values = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    zero = dict.fromkeys((name.format(k=k) for name in TREC_KEYS), 0.0)
    return {topic: values.get(topic, zero) for topic in qrels}


def assert_equal_figures(
    records: Sequence[CaseRecord], found: TrecRun, level: Level, k: int = K
) -> int:
    theirs = trec_eval(found, k)
    prefix = "doc_" if level == "document" else ""
    compared = 0
    for one in records:
        if one.case.id in theirs and one.case.id not in found.differing:
            values = {name.format(k=k): key for name, key in TREC_KEYS.items()}
            ours = {name: one.scores.metrics[prefix + key] for name, key in values.items()}
            expected = {name: theirs[one.case.id][name] for name in values}
            assert ours == pytest.approx(expected, abs=1e-9), one.case.id
            compared += 1
    return compared


@settings(deadline=None, max_examples=25)
@given(scene=seeded(lambda dice: dice), level=st.sampled_from(["anchor", "document"]))
def test_any_run_gives_our_numbers(scene: Random, level: Level) -> None:
    records = [
        scored(make_case(scene, case_id=f"c{i}", golds=True), make_payload(scene)) for i in range(4)
    ]
    found = write_run(records, SETTINGS, tag="run", level=level)
    assert_equal_figures(records, found, level)
    assert found.n_cases == len(trec_eval(found))


@pytest.mark.parametrize("level", ["anchor", "document"])
def test_a_real_run_gives_our_numbers(level: Level) -> None:
    cases = shared_path("data", "rag", "eval_set.jsonl")
    recorded = responses(shared_path("data", "runs", "bm25_eval_set.jsonl"))
    records = [
        scored(located.case, recorded[located.case.id], k=10) for located in load_cases(cases).cases
    ]
    found = write_run(records, ScoreSettings(k=10), tag="bm25", level=level)
    assert found.n_cases > 100
    assert assert_equal_figures(records, found, level, k=10) == found.n_cases - len(found.differing)
    if level == "document":
        assert found.differing == ()


def responses(path: Path) -> dict[str, dict[str, object]]:
    """Read a recorded run of the shared data."""
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {
        line["test_case_id"]: {
            "answer": "?",
            "debug": {"retrieved_chunks": line["retrieved_chunks"]},
        }
        for line in lines
    }


GOLDS = (Anchor(rel_path="a.md", heading_path="# A"), Anchor(rel_path="b.md", grade=3))


def run_of(*chunks: RetrievedChunk, golds: tuple[Anchor, ...] = GOLDS) -> list[CaseRecord]:
    case = Case(id="c", question="q", gold_supports=golds)
    entries = [{"rel_path": one.rel_path, "heading_path": one.heading_path} for one in chunks]
    return [scored(case, {"answer": "x", "debug": {"retrieved_chunks": entries}})]


def test_the_files_are_those_of_trec() -> None:
    chunks = (
        RetrievedChunk(rel_path="x y.md", heading_path=""),
        RetrievedChunk(rel_path="a.md", heading_path="# A > ## B"),
        RetrievedChunk(rel_path="x y.md", heading_path=""),
    )
    found = write_run(run_of(*chunks), SETTINGS, tag="run-1")
    assert found.run.splitlines() == [
        "c Q0 x%20y.md 1 3 run-1",
        "c Q0 a.md###%20A 2 2 run-1",
        "c Q0 x%20y.md~2 3 1 run-1",
    ]
    assert found.qrels.splitlines() == ["c 0 a.md###%20A 1", "c 0 b.md 3"]


@pytest.mark.parametrize(
    ("golds", "paths"),
    [
        (GOLDS, ["b.md", "b.md"]),
        ((Anchor(rel_path="b.md"), Anchor(rel_path="b.md", heading_path="# B")), ["b.md"]),
    ],
    ids=["a gold found again", "two golds at once"],
)
def test_what_trec_eval_cannot_count_is_named(golds: tuple[Anchor, ...], paths: list[str]) -> None:
    chunks = [
        RetrievedChunk(rel_path=path, heading_path=f"# B > ## {i}") for i, path in enumerate(paths)
    ]
    found = write_run(run_of(*chunks, golds=golds), SETTINGS, tag="t")
    assert found.differing == ("c",)
