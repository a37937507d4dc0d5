"""Facts and citations on their way from a reply to the record, its stage and its explanation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.engine.case import CaseRepeat
from pytest_rageval.engine.judging import rejudge
from pytest_rageval.judges.asking import Judges
from pytest_rageval.judges.offline.judge import OfflineJudge
from pytest_rageval.metrics.scoring import reported_by, score_settings, settle
from pytest_rageval.project.case_reader import LocatedCase
from pytest_rageval.report.explain.case import explain_record
from pytest_rageval.report.faces.terminal import draw, show
from pytest_rageval.report.view.explanation import view_of_case
from pytest_rageval.runs.documents import record_line, record_of_line, redact
from pytest_rageval.support.threads import at_once
from pytest_rageval.values.case import Case, KeyFact
from pytest_rageval.values.record import CaseRecord, Evidence
from pytest_rageval.values.settings import Settings
from tests.build.records import measure

SETTINGS = Settings(rootdir="root", k=2)
CHUNKS = (
    {"rel_path": "refunds.md", "text": "Unworn shoes can be returned within 30 days."},
    {"rel_path": "fees.md", "text": "Opened boxes cost a fee of 5 euros."},
    {"rel_path": "rota.md", "text": "The rota is renewed every spring. " * 20},
)
USED = "Unworn shoes can be returned within 30 days [1]."
UNUSED = "Opened boxes cost a fee of 5 euros [2]."


def ask(
    answer: str,
    *,
    facts: Sequence[str | KeyFact] = ("unworn shoes", "30 days"),
    chunks: Sequence[Any] | None = CHUNKS,
    settings: Settings = SETTINGS,
    **fields: Any,
) -> CaseRecord:
    """Measure one case with the offline judge."""
    case = Case(
        id="c", question="How long can I return shoes?", expected_key_facts=tuple(facts), **fields
    )
    trial = CaseRepeat(
        LocatedCase(case=case, lineno=1),
        "evals/s.jsonl",
        settings,
        judges=None if settings.judge == "none" else Judges(OfflineJudge()),
    )
    debug = {} if chunks is None else {"retrieved_chunks": list(chunks)}
    reply = {"answer": answer, "abstained": False, "debug": debug}
    return measure(trial, lambda _: reply, clock=lambda: 0.0)


def explained(record: CaseRecord) -> str:
    """Return the explanation as printed, on one line."""
    scoring = score_settings(SETTINGS, reported_by([record]))
    found = explain_record(record, scoring)
    lines = draw(show(view_of_case(found, run_id="one"), verbose=True), width=400)
    return " ".join(" ".join(line.split()) for line in lines)


def test_an_answer_that_lacks_facts_of_its_context_is_not_used() -> None:
    record = ask(UNUSED)
    assert record.scores.metrics["fact_recall_in_context"] == 1
    assert record.scores.metrics["context_utilization"] == 0
    assert (record.scores.outcome, record.scores.failure_stage) == ("flawed", "not_used")
    text = explained(record)
    assert 'In the context and not in the answer: "unworn shoes" (rank 1)' in text
    assert 'key fact "30 days" (at rank 1)' in text


def test_a_fact_that_is_good_to_have_counts_half_in_answer_and_context() -> None:
    okay = KeyFact(text="a receipt is needed", vital=False)
    record = record_of_line(record_line(ask(USED, facts=("unworn shoes", "30 days", okay))))
    metrics = record.scores.metrics
    assert metrics["key_fact_recall"] == pytest.approx(2 / 2.5)
    assert metrics["fact_recall_in_context"] == pytest.approx(2 / 2.5)
    assert metrics["sufficient_context"] == 1
    assert metrics["context_utilization"] == 1
    assert record.case.expected_key_facts[2] == okay
    assert "not vital counts half" in explained(record)


@pytest.mark.parametrize(
    ("facts", "chunks", "stage"),
    [
        (("unworn shoes", "30 days"), CHUNKS, "not_used"),
        (("unworn shoes", "a receipt is needed"), CHUNKS, "incorrect"),
        (("a receipt is needed",), CHUNKS, "incorrect"),
        (("unworn shoes",), [{**one, "text_truncated": True} for one in CHUNKS], "incorrect"),
        (("unworn shoes",), CHUNKS[2:], "ungrounded"),
    ],
)
def test_not_used_only_splits_what_is_incorrect_and_known(
    facts: Sequence[str], chunks: Sequence[Any], stage: str
) -> None:
    assert ask(UNUSED, facts=facts, chunks=chunks).scores.failure_stage == stage


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"facts": ()}, "The case has no expected_key_facts."),
        ({"facts": (" ",)}, "The case has no expected_key_facts."),
        ({"chunks": None}, "The target reports no retrieved_chunks."),
        ({"chunks": [{"rel_path": "a.md"}]}, "A chunk in the cut came without its whole text."),
        ({"answerable": False}, "The case is unanswerable."),
    ],
)
def test_what_cannot_be_known_is_not_applicable_with_its_reason(
    fields: dict[str, Any], reason: str
) -> None:
    assert ask(USED, **fields).scores.not_applicable["fact_recall_in_context"] == reason


@pytest.mark.parametrize(
    ("preset", "right", "wrong"),
    [
        ("doc", "[doc1]", "[doc2]"),
        ("id", "[ID:0]", "[ID:1]"),
        ("footnote", "[^1]", "[^2]"),
        ("path", "[refunds.md]", "[fees.md]"),
    ],
)
def test_citations_in_the_form_of_another_system_are_looked_up(
    preset: str, right: str, wrong: str
) -> None:
    settings = replace(SETTINGS, citation_presets=(preset,))
    text = "Unworn shoes can be returned within 30 days"
    good = ask(f"{text} {right}.", settings=settings)
    bad = ask(f"{text}. {wrong}", settings=settings)
    for record, value in ((good, 1), (bad, 0)):
        assert record.scores.metrics["citation_support_precision"] == value
        assert record.scores.metrics["citation_support_recall"] == value


def test_an_uncited_answer_scores_0_once_the_run_is_known_to_cite() -> None:
    bare, cited = ask("Unworn shoes can be returned within 30 days."), ask(USED)
    assert "citation_support_recall" in bare.scores.not_applicable
    alone = settle(bare, bare.case, SETTINGS, reported_by([bare]))
    assert "citation_support_recall" in alone.scores.not_applicable
    settled = settle(bare, bare.case, SETTINGS, reported_by([bare, cited]))
    assert settled.scores.metrics["citation_support_recall"] == 0
    assert "citation_support_precision" in settled.scores.not_applicable
    assert settled.scores.metrics["fact_recall_in_context"] == 1
    again = settle(settled, bare.case, SETTINGS, reported_by([bare, cited]), settled_before=True)
    assert again.scores.metrics == settled.scores.metrics


def test_a_record_keeps_what_was_looked_up_and_is_judged_again_alike() -> None:
    record = ask(UNUSED)
    stored = record_of_line(record_line(redact(record, full_text=False)))
    assert isinstance(stored.verdicts.evidence, Evidence)
    assert stored.verdicts.evidence == record.verdicts.evidence
    again = at_once(
        rejudge(
            stored,
            Judges(OfflineJudge()),
            rubrics=("groundedness", "correctness"),
            scoring=score_settings(SETTINGS),
        )
    )
    assert again.record.scores.failure_stage == "not_used"
    assert again.record.scores.metrics == record.scores.metrics
