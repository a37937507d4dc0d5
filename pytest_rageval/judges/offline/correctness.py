"""Correctness of an answer, compared with its expected content.

Each accepted answer and each key fact is looked up in the answer (``comparison``). Several accepted
answers, one per line, are alternatives; all key facts are required. Without either, only support by
the context and overlap with the question are used, which cannot detect that the wrong passage was
retrieved.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

from pytest_rageval.judges.offline.abstention import read_abstention
from pytest_rageval.judges.offline.claims import LIMIT, plain_text
from pytest_rageval.judges.offline.comparison import look_up
from pytest_rageval.judges.offline.facts import IDEAL, Expected, Stated, StatedText, read_question
from pytest_rageval.judges.offline.grounding import FAULTY, PASS, judge_grounding, scale
from pytest_rageval.judges.offline.lexicon import language_of, read_words
from pytest_rageval.judges.offline.parameters import Layer, Parameters
from pytest_rageval.judges.offline.support import question_keys
from pytest_rageval.values.verdict import JudgeRequest, Verdict

_NAMES: Final = {"absent": "Not found", "unsure": "Perhaps in other words"}
_DECLINES: Final = "The answer is empty or declines."
_NO_FACTS: Final = "The case has no expected_key_facts."
_ALTERNATIVES: Final = re.compile(r"\n+|\s\|\s")
_CONFLICT: Final = re.compile(
    r"\b(?:conflict|contradict|disagree|discrepan|inconsisten|diverg|differs?\b|differing"
    r"|vary\b|varies\b|at odds|do(?:es)? not (?:agree|match)|don't (?:agree|match)|superse"
    r"|outdated|no longer (?:valid|current)"
    r"|different (?:figures|numbers|values|dates|answers|information|limits|periods|policies)"
    r"|(?:older|newer|earlier|previous|updated|more recent) (?:version|document|policy"
    r"|source|guide|page)"
    r"|(?:one|another|the other) (?:source|document|passage|page) (?:says|states|gives|lists"
    r"|claims)"
    r"|(?:while|whereas)\b.{0,120}\b(?:says?|states?|gives?|lists?|claims?|according to))",
    re.IGNORECASE,
)


def judge_correctness(request: JudgeRequest, parameters: Parameters) -> Verdict:
    """Judge an answer by its key facts and expected answer; their scores are averaged.

    ``correctness`` is 0 to 5, below 4 if one of them is absent. It is not applicable if nothing is
    expected and there is no context, or if words cannot tell whether one of them is stated.
    """
    facts = [fact for fact in request.expected_key_facts if fact.strip()]
    if not request.answer.strip() or read_abstention(request.answer).abstained:
        return _verdict(request, [Stated("absent", 0.0, "")] * len(facts), 0.0, _DECLINES)
    found, either = _look_up_all(request, facts, parameters.correct)
    best = max(either, key=rank) if either else None
    if best is None and not found:
        return _verdict(request, [], *_without_reference(request, parameters.grounded))
    parts = [*found, *([] if best is None else [best])]
    # Key facts say what an answer must state; an expected answer beside them may say more.
    decides = [one for one in parts if one is not best or not found or one.contradicted]
    states = {one.state for one in decides}
    score = math.fsum(one.score for one in parts) / len(parts)
    if "absent" in states:
        score = min(score, scale(FAULTY, parameters.correct, IDEAL))
    elif "unsure" not in states:
        score = max(score, PASS)
    unsure = "unsure" in states and "absent" not in states
    reason = _explain(request, facts, found, decides)
    return _verdict(request, found, None if unsure else score, reason, unsure=unsure)


def _look_up_all(
    request: JudgeRequest, facts: Sequence[str], layer: Layer
) -> tuple[list[Stated], list[Stated]]:
    """Look each key fact and each accepted answer up."""
    wanted = request.expected_answer or ""
    texts = split_alternatives(wanted) if wanted.strip() else []
    language = language_of(" ".join((request.answer, wanted, *facts)), request.question)
    question = read_question(request.question, language)
    answer = StatedText.of_answer(request.answer, language)
    found = [look_up(Expected(text, question), answer, layer) for text in (*facts, *texts)]
    return found[: len(facts)], found[len(facts) :]


def rank(found: Stated) -> tuple[int, float]:
    """Return what puts the better one of two alternatives higher."""
    return ("absent", "unsure", "stated").index(found.state), found.score


def _verdict(
    request: JudgeRequest, facts: Sequence[Stated], score: float | None, reasoning: str,
    *, unsure: bool = False,
) -> Verdict:  # fmt: skip
    known = "unsure" not in {fact.state for fact in facts}
    found = tuple(fact.state == "stated" for fact in facts) if facts and known else None
    scores = {"correctness": score, "key_fact_recall": sum(found) / len(found) if found else None}
    absent = {"correctness": reasoning, "key_fact_recall": reasoning if facts else _NO_FACTS}
    lacking = [key for key in scores if scores[key] is None]
    return Verdict(
        scores={key: value for key, value in scores.items() if value is not None},
        not_applicable={key: absent[key] for key in lacking},
        unsure=tuple(key for key in lacking if unsure and absent[key] is not _NO_FACTS),
        reasoning=reasoning,
        key_facts_found=found,
        acknowledges_conflict=(
            acknowledges_conflict(request.answer) if request.asks_conflict else None
        ),
    )


def split_alternatives(expected: str) -> list[str]:
    """Return the accepted answers, separated by lines or bars; most texts have one."""
    return [part for part in _ALTERNATIVES.split(expected) if part.strip()] or [expected]


def acknowledges_conflict(answer: str) -> bool:
    """Whether an answer says that its sources differ."""
    return bool(_CONFLICT.search(answer[:LIMIT].replace("’", "'")))


def _without_reference(request: JudgeRequest, layer: Layer) -> tuple[float | None, str]:
    if not request.context:
        return None, "Nothing was expected, and there is no context to compare with."
    asked = question_keys(request.question)
    answer = {word.key for word in read_words(plain_text(request.answer))}
    touched = len(asked & answer) / len(asked) if asked else 1.0
    score = judge_grounding(request, layer).scores["groundedness"] * (1 + touched) / 2
    return score, "Judged without a reference, by support and the words of the question alone."


def _explain(
    request: JudgeRequest, facts: Sequence[str], found: Sequence[Stated], parts: Sequence[Stated]
) -> str:
    said = []
    if facts:
        stated = sum(one.state == "stated" for one in found)
        said.append(f"{stated} of {len(facts)} key facts found.")
        lost = [
            (fact, one) for fact, one in zip(facts, found, strict=True) if one.state != "stated"
        ]
        said += [f'{_NAMES[one.state]}: "{fact[:120]}".' for fact, one in lost[:1]]
    if request.expected_answer:
        said.append("Compared with the expected answer.")
    reason = next((one.reason for one in parts if one.state != "stated" and one.reason), "")
    if reason:
        said.append(f"The answer {reason}.")
    return " ".join(said)
