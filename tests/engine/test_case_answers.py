"""Answers as chatbots write them, on their way from a reply to the record and its explanation."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.engine.case import CaseRepeat
from pytest_rageval.judges.asking import Judges
from pytest_rageval.judges.offline.judge import OfflineJudge
from pytest_rageval.metrics.scoring import reported_by, score_settings, settle
from pytest_rageval.project.case_reader import LocatedCase
from pytest_rageval.report.explain.case import explain_record
from pytest_rageval.report.faces.terminal import draw, show
from pytest_rageval.report.view.explanation import view_of_case
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.settings import Settings
from tests.build.records import measure

CHUNKS = (
    {
        "rel_path": "cafe.md",
        "text": "The cafe closes at six in the evening.",
        "chunk_id": "5d1f0ac2-7c3e-5b19-a6d2-90b1c7e2f431",
    },
    {
        "rel_path": "dogs.md",
        "text": "Dogs wait outside.",
        "chunk_id": "b07c44e9-2f6a-5c80-9d13-6e5a1f0d8c72",
    },
)
STATED = "The cafe closes at six in the evening"
SETTINGS = Settings(rootdir="root")


def ask(
    answer: str,
    *,
    judge: Any = None,
    settings: Settings = SETTINGS,
    chunks: tuple[Any, ...] = CHUNKS,
    **fields: Any,
) -> CaseRecord:
    golds = (Anchor(rel_path="cafe.md", heading_path=""),)
    given: dict[str, Any] = {"answerable": True, "gold_supports": golds}
    case = Case(id="c", question="When does the cafe close?", **(given | fields))
    trial = CaseRepeat(
        LocatedCase(case=case, lineno=1),
        "evals/s.jsonl",
        settings,
        judges=None if settings.judge == "none" else Judges(judge or OfflineJudge()),
    )
    reply = {"answer": answer, "debug": {"retrieved_chunks": list(chunks)}}
    return measure(trial, lambda _: reply, clock=lambda: 0.0)


def explained(record: CaseRecord, settings: Settings = SETTINGS) -> str:
    found = explain_record(record, score_settings(settings, reported_by([record])))
    view = view_of_case(found, run_id="one")
    return "\n".join(draw(show(view, verbose=True), width=400))


@pytest.mark.parametrize(
    "answer",
    [
        f"<think>The notes say nothing. I cannot answer. Ten [2]?</think>{STATED} [1].",
        f"Perhaps at ten [2].</think>\n{STATED} [1].",
        f"{STATED} [5d1f0ac].",
        f"{STATED} [citation:5d1f0ac2-7c3e-5b19-a6d2-90b1c7e2f431].",
        f"{STATED} [1].\n\n### References\n\n- [1] cafe.md\n- [2] dogs.md",
        f"{STATED}.\n\nSources:\n- cafe.md",
        f"{STATED}.\n\nQuelle: cafe.md",
        f"Hello! {STATED} [1]. Let me know if you need more.",
        f"Certainly. {STATED} [1].",
    ],
)
def test_an_answer_is_scored_without_its_other_parts(answer: str) -> None:
    record = ask(answer)
    assert record.answer == answer
    wanted = {"attribution_precision": 1, "claim_support_rate": 1, "over_abstention_rate": 0}
    assert {key: record.scores.metrics[key] for key in wanted} == wanted
    assert (record.scores.metrics["groundedness"] or 0) >= 4.9
    assert record.scores.outcome == "passed"


@pytest.mark.parametrize(
    "answer",
    ["<think>Six?</think>\n\nI don't know.", "Empty response", "NOT_FOUND", "Das weiß ich nicht."],
)
def test_what_declines_abstains(answer: str) -> None:
    record = ask(answer, answerable=False, gold_supports=())
    assert (record.scores.metrics["abstention_accuracy"], record.scores.outcome) == (1, "passed")


def test_the_explanation_shows_what_was_left_out_and_why() -> None:
    record = ask(f"<think>Ten?</think>Hello! {STATED} [1].\n\nSources:\n- dogs.md")
    text = explained(record)
    assert 'thought "<think>Ten?</think>": a thought is no part of the answer' in text
    assert 'greeting "Hello!": a courtesy claims nothing' in text
    assert 'sources "Sources: - dogs.md": a list of sources claims nothing, and adds no' in text
    only = explained(ask(f"{STATED}.\n\nSources:\n- cafe.md"))
    assert "its entries are the citations of the answer" in only
    assert "left out" not in explained(ask(f"{STATED} [1]."))


def test_a_project_names_the_words_with_which_its_target_declines() -> None:
    judged = Settings(rootdir="root", abstention_texts=("KEIN TREFFER",))
    alone = Settings(rootdir="root", abstention_texts=("KEIN TREFFER",), judge="none")
    for settings in (judged, alone):
        for answer, abstained in (("**Kein  Treffer!**\nTicket 4", 1), (f"{STATED}.", 0)):
            record = ask(answer, settings=settings)
            assert record.scores.metrics["over_abstention_rate"] == abstained
            settled = settle(record, record.case, settings, reported_by([record]))
            assert settled.scores.metrics["over_abstention_rate"] == abstained
    by_text = ask("KEIN TREFFER", settings=alone)
    assert "by abstention_texts it abstained" in explained(by_text, alone)
    assert by_text.reply.abstained is None
