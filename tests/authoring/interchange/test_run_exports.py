"""Spans as the OTLP specification demands them, with the events of the GenAI conventions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.authoring.interchange.run_exports import Level, OtlpExport, TrecRun, write_run
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.scoring import score_case
from pytest_rageval.metrics.view import view_case
from pytest_rageval.project.case_reader import load_cases
from pytest_rageval.target.contract import parse_ask_response
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from pytest_rageval.values.reply import ErrorInfo, RetrievedChunk
from pytest_rageval.values.run import StoredRun
from tests.build.records import record
from tests.build.runs import config_from
from tests.build.shared_data import shared_path
from tests.build.verdicts import judged_by
from tests.properties.scenes import make_case, make_payload, seeded

TRACE, SPAN = "a2f04230788775544abf3378861853e5", "f1bf4d9afb03cef9"
ASKED: dict[str, Any] = {
    "trace_id": TRACE,
    "span_id": SPAN,
    "asked_at": "2026-11-22T10:00:00.000250+00:00",
    "latency": {"total_ms": 12.5, "ttft_ms": 250.0},
}
CONFIG = {
    "timestamp": "2026-11-22T09:00:00+00:00",
    "dataset_hash": "d" * 16,
    "versions": {"pytest-rageval": "0.1.0"},
}
VALUES: Final = {"stringValue": str, "intValue": str, "doubleValue": float, "arrayValue": dict}
FIELDS: Final = {
    "traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes",
    "events", "status",
}  # fmt: skip


@dataclass
class Exported:
    document: dict[str, Any]
    n_spans: int
    n_scores: int
    n_untimed: int


def exported(*records: CaseRecord, content: bool = False, **config: Any) -> Exported:
    run = StoredRun(folder=Path("one"), records=records, config=config_from(**{**CONFIG, **config}))
    export = OtlpExport(run, BUILT_IN, content=content)
    document = json.loads("".join(export.pieces()))
    found = Exported(document, export.n_spans, export.n_scores, export.n_untimed)
    check_structure(found)
    return found


def spans(found: Exported) -> list[dict[str, Any]]:
    return [
        span
        for resource in found.document["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def values(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    assert len({one["key"] for one in attributes}) == len(attributes)
    return {one["key"]: next(iter(one["value"].values())) for one in attributes}


def scores(span: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = [values(event["attributes"]) for event in span["events"]]
    prefix = "gen_ai.evaluation."
    return {
        one[f"{prefix}name"]: {
            key.removeprefix(prefix): value for key, value in one.items() if key != f"{prefix}name"
        }
        for one in found
    }


def check_attributes(attributes: list[dict[str, Any]]) -> None:
    for one in attributes:
        assert one.keys() == {"key", "value"}
        ((kind, value),) = one["value"].items()
        assert isinstance(value, VALUES[kind]), one
        if kind == "intValue":
            assert re.fullmatch(r"-?\d{1,19}", str(value))


def check_structure(found: Exported) -> None:
    """Names, numbers of enums, ids in hex and 64-bit integers as texts."""
    text = json.dumps(found.document, allow_nan=False, ensure_ascii=False)
    text.encode("utf-8")  # no lone surrogate
    for span in spans(found):
        assert span.keys() <= FIELDS
        assert re.fullmatch(r"(?!0+$)[0-9a-f]{32}", span["traceId"])
        assert re.fullmatch(r"(?!0+$)[0-9a-f]{16}", span["spanId"])
        assert span["kind"] == 3
        check_attributes(span["attributes"])
        times = [span[name] for name in ("startTimeUnixNano", "endTimeUnixNano") if name in span]
        assert all(re.fullmatch(r"\d{1,19}", one) for one in times)
        assert times == sorted(times, key=int)
        for event in span["events"]:
            assert event.keys() == {"name", "attributes", *(["timeUnixNano"] if times else [])}
            assert event["name"] == "gen_ai.evaluation.result"
            check_attributes(event["attributes"])


def test_spans_are_written_one_by_one_and_texts_read_only_for_the_one_in_hand() -> None:
    read: list[str] = []

    def whole(slim: CaseRecord) -> CaseRecord:
        read.append(slim.case.id)
        return slim

    records = (record("c-1"), record("c-2"), record("c-3"))
    run = StoredRun(folder=Path("one"), records=records, config=config_from(**CONFIG), whole=whole)
    pieces = OtlpExport(run, BUILT_IN, content=True).pieces()

    written = ""
    while "rageval case" not in written:
        written += next(pieces)
    assert read == ["c-1"]
    assert len(json.loads(written + "".join(pieces))["resourceSpans"]) == 1
    assert read == ["c-1", "c-2", "c-3"]


def test_a_case_is_the_span_that_it_was_asked_in() -> None:
    found = exported(
        record("c-1", {"hit_at_k": 1.0}, tags=("work",), usage={"input_tokens": 70.0}, **ASKED)
    )
    (span,) = spans(found)
    assert (span["traceId"], span["spanId"]) == (TRACE, SPAN)
    begin = 1795341600000250000
    assert span["startTimeUnixNano"] == str(begin)
    assert span["endTimeUnixNano"] == str(begin + 12_500_000)
    assert "status" not in span
    facts = values(span["attributes"])
    assert facts["test.case.name"] == "evals/set.jsonl::c-1"
    assert facts["test.case.result.status"] == "pass"
    assert facts["rageval.tags"] == {"values": [{"stringValue": "work"}]}
    assert (facts["gen_ai.usage.input_tokens"], facts["rageval.repeat"]) == ("70", "0")
    assert facts["gen_ai.response.time_to_first_chunk"] == 0.25
    (resource,) = found.document["resourceSpans"]
    facts = values(resource["resource"]["attributes"])
    assert (facts["service.name"], facts["rageval.run_id"]) == ("pytest-rageval", "one")
    assert resource["scopeSpans"][0]["scope"] == {"name": "pytest-rageval", "version": "0.1.0"}


def test_a_score_is_an_event_and_one_that_does_not_apply_is_none() -> None:
    scored = record(
        "c-1",
        {"hit_at_k": 1.0, "recall_at_k": 0.5, "mrr": None, "groundedness": None, "leak_rate": 1.0},
        not_applicable={"mrr": "no golds"},
        outcome="missed",
        failure_stage="not_retrieved",
    )
    (span,) = spans(exported(scored))
    assert scores(span) == {
        "outcome": {"score.label": "missed"},
        "hit_at_k": {"score.value": 1.0, "score.label": "pass"},
        "recall_at_k": {"score.value": 0.5},
        "groundedness": {"error.type": "judge"},
        "leak_rate": {"score.value": 1.0, "score.label": "fail"},
    }
    assert values(span["attributes"])["rageval.failure_stage"] == "not_retrieved"


TEXTS = ("the question", "the answer", "the passage", "the reason", "the fact", "the message")
MARKED = record(
    "c-1",
    {"correctness": 4.0, "hit_at_k": 1.0},
    case=Case(
        id="c-1",
        question="the question",
        expected_answer="the fact",
        expected_key_facts=("the fact",),
        gold_supports=(Anchor(rel_path="a.md", snippets=("the passage",)),),
    ),
    answer="the answer",
    abstain_reason="the reason",
    retrieved_chunks=(RetrievedChunk(rel_path="a.md", text="the passage", score_final=0.5),),
    judgements=judged_by("correctness", {"correctness": 4.0}, reasoning="the reason"),
    error=ErrorInfo(kind="empty", message="the message"),
    status="error",
)


def test_by_default_no_text_of_a_case_leaves() -> None:
    text = json.dumps(exported(MARKED).document)
    assert [one for one in TEXTS if one in text] == []


def test_content_is_written_as_the_conventions_say() -> None:
    (span,) = spans(exported(MARKED, content=True))
    facts = values(span["attributes"])
    part = {"type": "text", "content": "the question"}
    assert json.loads(facts["gen_ai.input.messages"]) == [{"role": "user", "parts": [part]}]
    (reply,) = json.loads(facts["gen_ai.output.messages"])
    assert (reply["role"], reply["finish_reason"]) == ("assistant", "stop")
    assert reply["parts"] == [{"type": "text", "content": "the answer"}]
    assert json.loads(facts["gen_ai.retrieval.documents"]) == [
        {"id": "a.md", "score": 0.5, "rel_path": "a.md", "content": "the passage"}
    ]
    assert span["status"]["message"] == "the message"
    assert scores(span)["correctness"]["explanation"] == "the reason"
    assert "explanation" not in scores(span)["hit_at_k"]


# --- A run that goes out to trec_eval comes back with our numbers

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
