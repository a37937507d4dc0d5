"""The offline judge: verdicts from words alone, without a model or the network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from pytest_rageval.judges.offline.abstention import read_abstention
from pytest_rageval.judges.offline.correctness import judge_correctness
from pytest_rageval.judges.offline.grounding import judge_grounding
from pytest_rageval.judges.offline.parameters import Layer, Parameters, load_parameters
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.verdict import Judgement, JudgeRequest, Verdict

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
