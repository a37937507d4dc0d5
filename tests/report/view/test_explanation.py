from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from pytest_rageval.report.explain.case import explain_record
from pytest_rageval.report.explain.values import Explanation
from pytest_rageval.report.faces.terminal import draw, show
from pytest_rageval.report.view.explanation import view_of_case
from pytest_rageval.values.case import Case, Message, Talk
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from pytest_rageval.values.reply import AskResponse, Citation, FolderSelection
from pytest_rageval.values.verdict import Claim
from tests.build.records import changed
from tests.build.scores import TIMEOUT, case, chunk, gold, response
from tests.build.verdicts import judged_by
from tests.report.explain.builders import S, T, U, explained, recorded, runs

HOSTILE = "a\x1b[31mb\x1b]0;title\x07\u202ec\u200b\nd"


def shown(explanation: Explanation, *, width: int = 80, every: bool = True, **options: Any) -> str:
    view = view_of_case(explanation, **{"run_id": "r", **options})
    return "\n".join(draw(show(view, verbose=every), width=width))


def brief(explanation: Explanation, **options: Any) -> str:
    return shown(explanation, every=False, **options)


def block(text: str, title: str) -> str:
    """The lines below a heading, up to the next empty line."""
    return text.split(f"\n{title}\n", 1)[1].split("\n\n", 1)[0]


@pytest.mark.parametrize("word", ["w ", "\u65e5\u672c", "long" * 17 + " "])
def test_long_texts_are_cut_to_one_screen_that_is_shown_whole_on_demand(word: str) -> None:
    text = word * 900
    place = f"{text}.md | # {text}"
    of = Case(
        id="x",
        question=text,
        expected_answer=text,
        gold_supports=(gold(place, snippets=(text,)), gold("b.md | # B")),
        category=text,
    )
    reply = AskResponse(
        answer=f"{text} end", retrieved_chunks=(chunk(f"{place}{text}", text=text),)
    )
    found = replace(
        explained(of, reply), notes=(text, text), next_steps=(text, text), stage_meaning=text
    )
    assert len(brief(found, run_id=text, repeats=text).splitlines()) <= 25
    said = tuple(Message(role=role, content=text) for role in ("user", "assistant") * 3)
    later = replace(found, record=replace(found.record, history=said))
    assert len(brief(later, run_id=text, repeats=text).splitlines()) <= 27
    assert "end" not in brief(found)
    assert "end" in shown(found)


@settings(max_examples=20)
@given(runs())
def test_every_metric_is_shown_once_with_its_state(
    run: tuple[CaseRecord, ScoreSettings],
) -> None:
    record, scoring = run
    text = shown(explain_record(record, scoring), width=200)
    titles = ("metrics in error", "not applicable")
    unscored = "".join(block(text, title) for title in titles if f"\n{title}\n" in text)
    for key, value in record.scores.metrics.items():
        rows = re.findall(rf"^  {re.escape(key)} +[-\d.]+  ?= \S", text, re.MULTILINE)
        assert len(rows) == (value is not None)
        if value is None:
            assert re.search(rf"(?<![\w.]){re.escape(key)}(?![\w.])", unscored)


def test_a_miss_is_told_by_its_question_passages_reason_and_commands() -> None:
    of = case(
        gold_supports=(gold(S, snippets=("Thirty days.",)),), expected_answer="After thirty days."
    )
    reply = response(retrieved_chunks=(chunk(U, text="By post."),), answer="Never.")
    lines = brief(explained(of, reply)).splitlines()
    assert lines[0] == "x  MISSED  at not_retrieved"
    assert lines[1].split() == "evals/set.jsonl:1 | general | run r | k 5".split()
    label, found = "", dict[str, list[str]]()
    for line in lines[2:]:
        label = line[:9].strip() or label
        found.setdefault(label, []).append(line[9:])
    assert [*found] == "question expected in answered first why failed try again".split()
    assert found["expected"] == ["After thirty days."]
    assert found["in"][:2] == ["a.md | # S", '"Thirty days."']
    assert found["answered"] == ["Never."]
    assert found["first"] == ["a.md | # U", '"By post."']
    assert found["again"] == ["pytest evals/set.jsonl::x   (--all shows more)"]


def test_the_reason_quotes_what_is_unsupported_or_missing() -> None:
    claims = (Claim(text="Ten.", supported=True), Claim(text="On Mars.", supported=False))
    record = changed(recorded(case(S), response(S)), failure_stage="ungrounded")
    found = changed(record, judgements=judged_by("groundedness", claims=claims))
    text = brief(explain_record(found, ScoreSettings()), width=200)
    assert ' Unsupported: "On Mars."' in text
    of = case(S, expected_key_facts=("ten", "days"))
    said = judged_by("correctness", key_facts_found=(True, False))
    found = changed(recorded(of, response(S)), failure_stage="incorrect", judgements=said)
    assert ' Missing: "days"' in brief(explain_record(found, ScoreSettings()), width=200)


def test_an_answer_that_asks_back_is_no_failure_of_retrieval() -> None:
    of = Case(
        id="x",
        question="And how long?",
        standalone="How long does a refund take?",
        expected_behavior=("answer", "clarify"),
        gold_supports=(gold(S),),
    )
    text = brief(explained(of, response(answer="Which refund do you mean?", retrieved_chunks=())))
    starts = [line.split()[0] for line in text.splitlines() if not line.startswith(" ")]
    assert "in full  How long does a refund take?" in text
    assert "answered (asks back) Which refund" in text
    assert ("why" in starts, "failed" in starts) == (True, False)


def test_a_chunk_shows_its_match_its_place_and_its_reason() -> None:
    chunks = (
        chunk(U, start_line=3, end_line=9),
        chunk(T, start_line=10, rank_before_rerank=None),
        chunk("b.md | # B"),
    )
    of = case(S, irrelevant_supports=(gold("b.md"),))
    text = shown(explained(of, response(retrieved_chunks=chunks), k=2))
    lines = block(text, "chunks: rank, gold matched, passage").splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "1 - a.md | # U",
        'document of gold [0]; heading 1 is "u", not "s"; lines 3-9',
        "2 [0] a.md | # S > ## T",
        "below the section of gold [0]; lines 10-10",
        "---- cut at k = 2: nothing below counts ----",
        "3 BAD b.md | # B",
        "irrelevant [0] is the whole document",
    ]


def test_nothing_of_others_reaches_the_terminal_raw() -> None:
    """Every text that a case, a document, a target or a model writes is made safe."""
    of = Case(
        id="x",
        question=HOSTILE,
        gold_supports=(gold(f"{HOSTILE}.md | {HOSTILE}", vault=HOSTILE), gold("b.md | # B")),
        irrelevant_supports=(gold(f"i{HOSTILE}"),),
        category=HOSTILE,
    )
    reply = AskResponse(
        answer=HOSTILE,
        references=(Citation(rel_path=HOSTILE, heading_path=HOSTILE),),
        abstained=True,
        abstain_reason=HOSTILE,
        retrieved_chunks=(
            chunk(f"{HOSTILE}.md | # {HOSTILE}", text=HOSTILE, vault="v"),
            chunk(f"b.md | # {HOSTILE}", text=HOSTILE),
        ),
        folder_selection=FolderSelection(selected_folders=(HOSTILE,), reasoning=HOSTILE),
    )
    found = explained(of, reply)
    record = changed(
        found.record,
        case_id=HOSTILE,
        file=HOSTILE,
        error=TIMEOUT,
        standalone=HOSTILE,
        talk=Talk(conversation=HOSTILE, turn=2, turns=2),
        history=(Message(role="user", content=HOSTILE),),
    )
    found = replace(found, record=record, notes=(HOSTILE,), next_steps=(HOSTILE,))
    lines = shown(found, run_id=HOSTILE).split("\n")
    for line in lines:
        assert line.isprintable(), line
        assert "\u202e" not in line
    assert max(map(len, lines)) <= 80


# --- verdicts --------------------------------------------------------------------------------


def judged(*claims: Claim, **verdict: Any) -> Explanation:
    reply = response(retrieved_chunks=(chunk(S, text="Thirty days.", chunk_id="c"),))
    record = changed(
        recorded(case(S), reply),
        judgements=judged_by(**{"judge": "offline/7", "claims": claims, **verdict}),
        context_chunk_ids=("c",),
    )
    return explain_record(record, ScoreSettings())


def test_claims_come_with_the_passage_that_decides_and_the_unsupported_ones_first() -> None:
    found = judged(
        Claim(text="Thirty days.", supported=True, passage=1, reason="said there"),
        Claim(text="Forty.", supported=False, passage=1, reason="not found: forty"),
        Claim(text="On Mars.", supported=False),
        scores={"groundedness": 2.0},
        reasoning="1 of 3.",
    )
    assert block(shown(found), "judge: groundedness by offline/7").splitlines() == [
        "  groundedness 2.000 of 5",
        "  1 of 3.",
        '  UNSUPPORTED  "Forty."',
        "               nearest is rank 1, a.md | # S: not found: forty",
        '  UNSUPPORTED  "On Mars."',
        "               no passage",
        '  supported    "Thirty days."',
        "               rank 1, a.md | # S: said there",
    ]


def test_a_verdict_reaches_no_terminal_raw() -> None:
    claims = (
        Claim(text=HOSTILE, reason=HOSTILE, supported=supported, passage=1)
        for supported in (False, True)
    )
    found = judged(*claims, reasoning=HOSTILE, judge=HOSTILE, scores={HOSTILE: 1.0})
    text = shown(found)
    assert "UNSUPPORTED" in text
    assert set(text) & set("\x1b\x07\u202e\u200b") == set()
    assert max(map(len, text.splitlines())) <= 80
