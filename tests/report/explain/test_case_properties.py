from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.report.explain.case import explain_record
from pytest_rageval.report.explain.chunks import LIES_THERE
from pytest_rageval.runs.documents import record_line, record_of_line
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from tests.build.records import cut_to_begins
from tests.report.explain.builders import runs


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


Run = tuple[CaseRecord, ScoreSettings]


@given(runs())
def test_every_metric_is_explained_by_its_value_its_rule_or_its_failure(run: Run) -> None:
    record, scoring = run
    found, scores = explain_record(record, scoring), record.scores
    before = scores.metrics_before_rerank or {}
    assert [one.key for one in found.metrics] == list(BUILT_IN.cases)
    for one in found.metrics:
        assert one.value == scores.metrics[one.key]
        assert one.before_rerank == before.get(one.key)
        if one.key in scores.not_applicable:
            reason = scores.not_applicable[one.key]
            assert (one.status, one.reason) == ("not_applicable", reason)
        elif one.value is None:
            assert one.status == "error"
            error = record.error
            assert error is None or one.reason == f"{error.kind}: {error.message}"
        else:
            assert one.status == "scored"
            assert one.reason
            if read := SENTENCES.get(one.key):
                assert read(one.reason) == pytest.approx(one.value, abs=2e-3), one


@settings(max_examples=20)
@given(runs())
def test_storage_changes_no_explanation_of_a_match(run: Run) -> None:
    record, scoring = run
    stored = record_of_line(record_line(cut_to_begins(record)))
    before, after = explain_record(record, scoring), explain_record(stored, scoring)
    assert [(c.golds, c.role) for c in after.chunks or ()] == [
        (c.golds, c.role) for c in before.chunks or ()
    ]
    assert [gold.ranks for gold in after.golds] == [gold.ranks for gold in before.golds]
    assert after.citations == before.citations
    assert [m.value for m in after.metrics] == [m.value for m in before.metrics]


@given(runs())
def test_expectations_golds_chunks_and_groups_tell_one_story(run: Run) -> None:
    record, scoring = run
    found, scores = explain_record(record, scoring), record.scores
    met = [one.met for one in found.expectations if one.met is not None]
    if scores.outcome != "error":
        # A target without chunks can report no folder or an empty index with nothing else known.
        unscored = scores.failure_stage in {"out_of_scope", "not_indexed"}
        assert unscored or all(met) == (scores.outcome == "passed")
        assert scores.unchecked == (not met and scores.outcome == "passed")
    assert bool(found.next_steps) >= (scores.outcome == "error" or scores.failure_stage is not None)
    for gold in found.golds:
        matching = tuple(c.rank for c in found.chunks or () if gold.index in c.golds)
        assert gold.ranks == matching
        assert gold.found == any(rank <= record.k for rank in matching)
    for chunk in found.chunks or ():
        assert (chunk.role == "relevant") == bool(chunk.golds)
        assert chunk.in_cut == (chunk.rank <= record.k)
        # With full texts at hand no chunk falls back to "as decided when it was scored".
        assert chunk.rule != "decided_at_capture"
        assert chunk.role == "irrelevant" or (chunk.rule in LIES_THERE) == bool(chunk.golds)
        assert chunk.role != "irrelevant" or chunk.irrelevant
    if found.groups and scores.metrics["recall_all_at_k"] is not None:
        whole = any(not group.lacks for group in found.groups)
        assert scores.metrics["recall_all_at_k"] == float(whole)
