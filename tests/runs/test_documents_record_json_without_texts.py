"""Records without their texts give the figures of those with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.analysis.compare.metrics import compare_records
from pytest_rageval.analysis.trust.reliability import judge_reliability
from pytest_rageval.metrics.scoring import reported_by
from pytest_rageval.report.wording import chunk_sentences
from pytest_rageval.runs.documents import without_texts
from pytest_rageval.values.record import CaseRecord, CheckedClaim, CitationCheck, Evidence
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.verdict import Claim
from tests.build.records import changed, failed
from tests.build.runs import run_of
from tests.build.verdicts import judged_by
from tests.report.html.builders import chunk, hostile_record

TEXT = "a text of nobody else"
SPOT_CHECK = judged_by(scores={"groundedness": 5.0}, judge="other", reasoning=TEXT)


def records() -> list[CaseRecord]:
    claim = CheckedClaim(text=TEXT, citations=(CitationCheck(ranks=(1,)),))
    hostile = changed(hostile_record(TEXT, 0), evidence=Evidence(claims=(claim,)))
    checked = changed(hostile, case_id="checked", spot_check=SPOT_CHECK)
    unsure_of = judged_by("correctness", unsure=("correctness",))
    unsure = changed(hostile, case_id="unsure", judgements=unsure_of, unchecked=True)
    bare = changed(hostile, case_id="bare", retrieved_chunks=(chunk(1, text=None),), evidence=None)
    answered = [*run_of(20, missed=(1, 2)), hostile, checked, unsure, bare]
    return [*answered, failed("gone", "timeout"), replace(hostile, repeat=1)]


def slimmed(given: Sequence[CaseRecord]) -> list[CaseRecord]:
    return [*map(without_texts, given)]


def test_figures_are_those_of_the_whole_records() -> None:
    whole, slim = records(), slimmed(records())
    assert aggregate(slim) == aggregate(whole)
    assert judge_reliability(slim) == judge_reliability(whole)
    assert reported_by(slim) == reported_by(whole)
    settings = Settings(rootdir=".")
    assert [*chunk_sentences(slim, settings)] == [*chunk_sentences(whole, settings)]


def test_a_comparison_is_that_of_the_whole_records() -> None:
    base, new = records(), [*records()[:-5], *map(_moved, records()[-5:])]
    found, expected = compare_records(slimmed(base), slimmed(new)), compare_records(base, new)
    assert expected.flips
    assert (found.metrics, found.flips, found.latency) == (
        expected.metrics,
        expected.flips,
        expected.latency,
    )
    assert (found.newly_missed, found.stages) == (expected.newly_missed, expected.stages)


def _moved(record: CaseRecord) -> CaseRecord:
    metrics = {**record.scores.metrics, "recall_at_k": 1.0}
    return changed(record, metrics=metrics, retrieved_chunks=(chunk(1, matched_golds=(1,)),))


@pytest.mark.parametrize("fields", [{}, {"spot_check": SPOT_CHECK}])
def test_no_text_of_a_reply_or_a_judge_is_kept(fields: dict[str, object]) -> None:
    judged = judged_by(reasoning=TEXT, claims=(Claim(text=TEXT, supported=True),))
    given = changed(hostile_record("x", 0), answer=TEXT, judgements=judged, **fields)
    (slim,) = slimmed([changed(given, retrieved_chunks=(chunk(1, text=TEXT),))])
    assert TEXT not in repr(slim)


def test_what_records_have_in_common_is_one_object() -> None:
    one, other = slimmed(run_of(2))
    assert one.scores.not_applicable is other.scores.not_applicable
