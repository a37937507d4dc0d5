"""The offline judge: verdicts from words alone, without a model or the network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from pytest_rageval.judges.offline.abstention import read_abstention
from pytest_rageval.judges.offline.correctness import judge_correctness
from pytest_rageval.judges.offline.grounding import Grounding, judge_grounding
from pytest_rageval.judges.offline.parameters import Parameters, load_parameters
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.verdict import Judgement, JudgeRequest, Verdict

VERSION: Final = "8"
"""Version of rules and fitted weights; verdicts of different versions are not compared."""


class OfflineJudge:
    """Judges groundedness, correctness, abstention and claims; deterministic and fast.

    Agreement with people and known weaknesses: ``docs/judges.md``.

    Args:
        parameters: weights other than the bundled ones, for fitting.
    """

    takes_slots = True
    """It sends no requests."""

    def __init__(self, parameters: Parameters | None = None) -> None:
        self._parameters = load_parameters() if parameters is None else parameters

    @property
    def identity(self) -> str:
        """Name of the judge, an invariant of a run."""
        return f"offline/{VERSION}"

    def judge(self, rubric: str, request: JudgeRequest, *, repeat: int = 0) -> Judgement:
        """Judge one answer; it never fails, and repeats give the same verdict.

        Raises:
            ConfigError: the rubric is not supported offline.
        """
        check_rubrics([rubric])
        decide = _RUBRICS[rubric]
        return Judgement(
            rubric=rubric,
            rubric_version=f"{rubric}-{self.identity}",
            judge=self.identity,
            verdict=decide(request, self._parameters),
        )


def check_rubrics(rubrics: Iterable[str]) -> None:
    """Refuse rubrics that the offline judge does not have.

    Raises:
        ConfigError: names the first of them.
    """
    for rubric in rubrics:
        if rubric not in _RUBRICS:
            known = ", ".join(_RUBRICS)
            raise ConfigError(
                f"the offline judge has no rubric {rubric[:200]!r}, expected one of {known}; "
                "others need a model: --judge MODEL"
            )


def _groundedness(request: JudgeRequest, parameters: Parameters) -> Verdict:
    found = judge_grounding(request, parameters.grounded)
    return _grounded_verdict(found, {"groundedness": found.score})


def _claims(request: JudgeRequest, parameters: Parameters) -> Verdict:
    return _grounded_verdict(judge_grounding(request, parameters.grounded), {})


def _grounded_verdict(found: Grounding, scores: Mapping[str, float]) -> Verdict:
    rate = found.claim_support_rate
    if rate is None:
        reason = {"claim_support_rate": "The answer makes no claim."}
        return Verdict(scores=scores, not_applicable=reason, reasoning=found.reasoning)
    scores = {**scores, "claim_support_rate": rate}
    return Verdict(scores=scores, reasoning=found.reasoning, claims=found.claims)


def _correctness(request: JudgeRequest, parameters: Parameters) -> Verdict:
    found = judge_correctness(request, parameters)
    keys = {"correctness": found.score, "key_fact_recall": found.key_fact_recall}
    reasons = {
        "correctness": found.reasoning,
        "key_fact_recall": "The case has no expected_key_facts.",
    }
    return Verdict(
        scores={key: score for key, score in keys.items() if score is not None},
        not_applicable={key: reasons[key] for key, score in keys.items() if score is None},
        reasoning=found.reasoning,
        key_facts_found=found.key_facts_found,
        acknowledges_conflict=found.acknowledges_conflict,
    )


def _abstention(request: JudgeRequest, _parameters: Parameters) -> Verdict:
    found = read_abstention(request.answer)
    return Verdict(abstained=found.abstained, reasoning=found.reason)


_RUBRICS: Final[Mapping[str, Callable[[JudgeRequest, Parameters], Verdict]]] = {
    "groundedness": _groundedness,
    "correctness": _correctness,
    "abstention": _abstention,
    "claims": _claims,
}
