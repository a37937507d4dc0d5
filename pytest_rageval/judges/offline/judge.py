"""The offline judge: verdicts from words alone, without a model or the network.

Each accepted answer and each key fact is looked up in the answer (``comparison``). Several accepted
answers, one per line, are alternatives; all key facts are required. Without either, only support by
the context and overlap with the question are used, which cannot detect that the wrong passage was
retrieved.

A passage states a key fact if the look-up for the correctness of an answer finds it there, and the
one for claims agrees: the former is fitted on answers of a few sentences, and alone finds one fact
in thirty-six in a passage of another document, and both together one in a hundred and fifty. A
passage supports a claim by the rule for groundedness, with that passage as the only context.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pytest_rageval.judges.offline.abstention import read_abstention
from pytest_rageval.judges.offline.claims import LIMIT, plain_text
from pytest_rageval.judges.offline.comparison import look_up
from pytest_rageval.judges.offline.facts import (
    IDEAL,
    Expected,
    Stated,
    StatedText,
    read_question,
    stated_passage,
)
from pytest_rageval.judges.offline.grounding import (
    FAULTY,
    PASS,
    judge_grounding,
    scale,
    statements,
    support_odds,
)
from pytest_rageval.judges.offline.lexicon import language_of, read_words
from pytest_rageval.judges.offline.parameters import Layer, Parameters, load_parameters
from pytest_rageval.judges.offline.support import (
    ReadClaim,
    find_support,
    question_keys,
    read_passage,
)
from pytest_rageval.metrics.matching import PathCase, cited_ranks
from pytest_rageval.metrics.view import located_citations
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.record import CheckedClaim, CitationCheck
from pytest_rageval.values.reply import RetrievedChunk
from pytest_rageval.values.verdict import Judgement, JudgeRequest, Verdict

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


def find_facts(
    question: str, facts: Sequence[str], chunks: Sequence[RetrievedChunk]
) -> tuple[tuple[int, ...], ...]:
    """Return for each key fact the ranks, from 1, of the chunks whose text states it."""
    language = language_of(" ".join(facts), *[chunk.text or "" for chunk in chunks[:1]], question)
    asked, layer = read_question(question, language), load_parameters().correct
    passages = [stated_passage(chunk.text or "", chunk.heading_path, language) for chunk in chunks]

    def ranks(fact: Expected) -> tuple[int, ...]:
        found = [look_up(fact, text, layer).state for text in passages]
        return tuple(rank for rank, state in enumerate(found, 1) if state == "stated")

    return tuple(ranks(Expected(fact, asked)) for fact in facts)


def check_claims(
    question: str,
    answer: str,
    chunks: Sequence[RetrievedChunk],
    k: int,
    path_case: PathCase = "sensitive",
) -> tuple[CheckedClaim, ...]:
    """Look every citation in the text of an answer up in the chunks that it points at.

    Args:
        question: its words need not be supported.
        answer: whole text of the answer.
        chunks: retrieved chunks in rank order.
        k: cutoff below which ``CheckedClaim.stated_at`` is looked for.
        path_case: comparison of paths.
    """
    language = language_of(answer, question, *[chunk.text or "" for chunk in chunks[:1]])
    keys, found = question_keys(question, language), []
    for raw in statements(answer, question):
        claim = ReadClaim(read_words(raw.text, language), keys, language)
        if claim.weights:
            checks = tuple(
                CitationCheck(ranks=ranks, supports=_any_supports(ranks, chunks, claim))
                for ranks in _cited_ranks(raw.written, chunks, path_case)
            )
            lost = bool(checks) and not any(check.supports for check in checks)
            cut = enumerate(chunks[:k] if lost else (), 1)
            stated_at = next((rank for rank, chunk in cut if _supports(chunk, claim)), None)
            found.append(CheckedClaim(text=raw.text, citations=checks, stated_at=stated_at))
    return tuple(found)


def _cited_ranks(
    written: str, chunks: Sequence[RetrievedChunk], path_case: PathCase
) -> list[tuple[int, ...]]:
    """Return the ranks of each distinct citation in a sentence; empty: of nothing retrieved."""
    found: dict[object, tuple[int, ...]] = {}
    for rank, citation in located_citations(written, chunks, path_case):
        if rank is not None:
            found[rank] = (rank,) if 1 <= rank <= len(chunks) else ()
        else:
            found[citation] = tuple(cited_ranks(citation, chunks, path_case))
    return list(found.values())


def _any_supports(
    ranks: Iterable[int], chunks: Sequence[RetrievedChunk], claim: ReadClaim
) -> bool | None:
    """Whether any of some chunks supports a claim; None: no, and one has no whole text."""
    found = [_supports(chunks[rank - 1], claim) for rank in ranks]
    return True if True in found else None if None in found else False


def _supports(chunk: RetrievedChunk, claim: ReadClaim) -> bool | None:
    if chunk.text is None or chunk.text_truncated:
        return None
    support = find_support(claim, read_passage(chunk.text, chunk.heading_path, claim.language))
    return support is not None and support_odds(support, load_parameters().grounded) >= 0


VERSION: Final = "11"
"""Version of rules and fitted weights; verdicts of different versions are not compared."""


class OfflineJudge:
    """Judges groundedness, correctness, abstention and claims; deterministic and fast.

    Agreement with people and known weaknesses: ``docs/judges.md``.

    Args:
        parameters: weights other than the bundled ones, for fitting.
    """

    takes_slots = True
    """It sends no requests."""
    identity: Final = f"offline/{VERSION}"
    """Name of the judge, an invariant of a run."""

    def __init__(self, parameters: Parameters | None = None) -> None:
        self._parameters = load_parameters() if parameters is None else parameters

    def judge(self, rubric: str, request: JudgeRequest, *, repeat: int = 0) -> Judgement:
        """Judge one answer; it never fails, and repeats give the same verdict.

        Raises:
            ConfigError: the rubric is not supported offline.
        """
        check_rubrics([rubric])
        return Judgement(
            rubric=rubric,
            rubric_version=f"{rubric}-{self.identity}",
            judge=self.identity,
            verdict=_RUBRICS[rubric](request, self._parameters),
        )


def check_rubrics(rubrics: Iterable[str]) -> None:
    """Refuse rubrics that the offline judge does not have.

    Raises:
        ConfigError: names the first of them.
    """
    for rubric in rubrics:
        if rubric not in _RUBRICS:
            ", ".join(_RUBRICS)
            raise ConfigError.of(
                "judge offline", "no_rubric", found=repr(rubric[:200]), names=", ".join(_RUBRICS)
            )


def has_rubric(rubric: str) -> bool:
    """Return whether the offline judge has a rubric."""
    return rubric in _RUBRICS


def _claims(request: JudgeRequest, layer: Layer) -> Verdict:
    found = judge_grounding(request, layer)
    scores = {key: score for key, score in found.scores.items() if key == "claim_support_rate"}
    return replace(found, scores=scores)


_RUBRICS: Final[Mapping[str, Callable[[JudgeRequest, Parameters], Verdict]]] = {
    "groundedness": lambda request, layers: judge_grounding(request, layers.grounded),
    "correctness": judge_correctness,
    "abstention": lambda request, _: read_abstention(request.answer),
    "claims": lambda request, layers: _claims(request, layers.grounded),
}
