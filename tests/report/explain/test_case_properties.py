from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.report.explain.case import explain_record
from pytest_rageval.report.explain.chunks import LIES_THERE
from pytest_rageval.runs.record_json import record_line, record_of_line
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from tests.build.records import cut_to_begins
from tests.report.explain.builders import metric, runs

FEWER = settings(max_examples=20)


@given(runs())
def test_every_metric_is_explained_in_order_with_its_recorded_value(
    run: tuple[CaseRecord, ScoreSettings],
) -> None:
    record, scoring = run
    found = explain_record(record, scoring)
    assert [one.key for one in found.metrics] == list(BUILT_IN.cases)
    for one in found.metrics:
        assert one.value == record.scores.metrics[one.key]


@FEWER
@given(runs())
def test_what_is_not_scored_names_its_rule_or_its_failure(
    run: tuple[CaseRecord, ScoreSettings],
) -> None:
    record, scoring = run
    for one in explain_record(record, scoring).metrics:
        if one.key in record.scores.not_applicable:
            assert (one.status, one.reason) == (
                "not_applicable",
                record.scores.not_applicable[one.key],
            )
        elif one.value is None:
            assert one.status == "error"
            assert (
                record.error is None or one.reason == f"{record.error.kind}: {record.error.message}"
            )
        else:
            assert one.status == "scored"
            assert one.reason


@FEWER
@given(runs())
def test_metrics_have_their_values_before_reranking(
    run: tuple[CaseRecord, ScoreSettings],
) -> None:
    record, scoring = run
    before = record.scores.metrics_before_rerank or {}
    for one in explain_record(record, scoring).metrics:
        assert one.before_rerank == before.get(one.key)


@FEWER
@given(runs())
def test_storage_changes_no_explanation_of_a_match(
    run: tuple[CaseRecord, ScoreSettings],
) -> None:
    record, scoring = run
    stored = record_of_line(record_line(cut_to_begins(record)))
    before, after = explain_record(record, scoring), explain_record(stored, scoring)
    assert [(c.golds, c.role) for c in after.chunks or ()] == [
        (c.golds, c.role) for c in before.chunks or ()
    ]
    assert [gold.ranks for gold in after.golds] == [gold.ranks for gold in before.golds]
    assert after.citations == before.citations
    assert [m.value for m in after.metrics] == [m.value for m in before.metrics]


@FEWER
@given(runs())
def test_a_case_passes_exactly_when_every_expectation_holds(
    run: tuple[CaseRecord, ScoreSettings],
) -> None:
    record, scoring = run
    found = explain_record(record, scoring)
    met = [one.met for one in found.expectations if one.met is not None]
    if record.scores.outcome != "error":
        # A target without chunks can report no folder or an empty index with nothing else known.
        unscored = record.scores.failure_stage in {"out_of_scope", "not_indexed"}
        assert unscored or all(met) == (record.scores.outcome == "passed")
        assert record.scores.unchecked == (not met and record.scores.outcome == "passed")
    assert bool(found.next_steps) >= (
        record.scores.outcome == "error" or record.scores.failure_stage is not None
    )


@FEWER
@given(runs())
def test_golds_chunks_and_groups_tell_one_story(run: tuple[CaseRecord, ScoreSettings]) -> None:
    record, scoring = run
    found = explain_record(record, scoring)
    for one in found.golds:
        matching = tuple(c.rank for c in found.chunks or () if one.index in c.golds)
        assert one.ranks == matching
        assert one.found == any(rank <= record.k for rank in matching)
    for one_chunk in found.chunks or ():
        assert (one_chunk.role == "relevant") == bool(one_chunk.golds)
        assert one_chunk.in_cut == (one_chunk.rank <= record.k)
        if one_chunk.role == "other":
            assert one_chunk.rule not in LIES_THERE
    if found.groups and record.scores.metrics["recall_all_at_k"] is not None:
        whole = any(not group.lacks for group in found.groups)
        assert record.scores.metrics["recall_all_at_k"] == float(whole)


@FEWER
@given(runs())
def test_the_rules_of_whole_texts_are_those_that_decided(
    run: tuple[CaseRecord, ScoreSettings],
) -> None:
    """With full texts at hand no chunk falls back to "as decided when it was scored"."""
    record, scoring = run
    for one in explain_record(record, scoring).chunks or ():
        assert one.rule != "decided_at_capture"
        if one.role == "relevant":
            assert one.rule in LIES_THERE
        if one.role == "irrelevant":
            assert one.irrelevant


def _ratio(text: str) -> float:
    match = re.match(r"(\d+) (?:\w+ )?of (?:k = )?(\d+)", text)
    assert match, text
    return int(match[1]) / int(match[2])


def _reciprocal(text: str) -> float:
    match = re.match(r"1 / (?:document )?rank (\d+)", text)
    return 1 / int(match[1]) if match else 0.0


def _ndcg(text: str) -> float:
    match = re.match(r"DCG ([\d.]+) / ideal ([\d.]+)", text)
    assert match, text
    return float(match[1]) / float(match[2])


def _average(text: str) -> float:
    match = re.match(r"\(?([\d/ +]+?)\)? / (\d+) gold", text)
    if not match:
        assert text.startswith("no ")
        return 0.0
    terms = [term.split("/") for term in match[1].split(" + ")]
    return sum(int(top) / int(bottom) for top, bottom in terms) / int(match[2])


SENTENCES: dict[str, Callable[[str], float]] = {
    "recall_at_k": _ratio,
    "group_recall_at_k": _ratio,
    "precision_at_k": _ratio,
    "mrr": _reciprocal,
    "ndcg_at_k": _ndcg,
    "map": _average,
    "doc_recall_at_k": _ratio,
    "doc_precision_at_k": _ratio,
    "doc_mrr": _reciprocal,
    "doc_ndcg_at_k": _ndcg,
    "doc_map": _average,
    "attribution_recall": _ratio,
    "attribution_precision": _ratio,
    "citation_in_context_rate": _ratio,
}


@given(runs())
def test_the_arithmetic_in_a_sentence_gives_the_value(
    run: tuple[CaseRecord, ScoreSettings],
) -> None:
    record, scoring = run
    found = explain_record(record, scoring)
    for key, read in SENTENCES.items():
        one = metric(found, key)
        if one.value is not None:
            assert read(one.reason) == pytest.approx(one.value, abs=2e-3), one
