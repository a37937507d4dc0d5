"""Admission of judges: their error rates on labels of people, and which of them may decide."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from pytest_rageval.values.settings import ADMIT_AT
from pytest_rageval.values.verdict import Judgement

NOT_ADMITTED: Final = "judge not admitted"
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRates:
    """Rates at which a judge says what people say, by class; None: no such answer."""

    n_bad: int = 0
    """Answers that people put into the positive class: the bad ones, or those that abstain."""
    tpr: float | None = None
    """True-positive rate: the share of those that the judge finds."""
    tpr_low: float | None = None
    """Lower end of its two-sided 95 % interval."""
    tpr_high: float | None = None
    """The upper end."""
    n_good: int = 0
    """The other answers."""
    tnr: float | None = None
    """True-negative rate: the share of those that the judge lets pass."""
    tnr_low: float | None = None
    """Lower end of its interval."""
    tnr_high: float | None = None
    """The upper end."""

    def reach(self, bar: float) -> bool:
        """Return whether both lower bounds reach a bar."""
        return all(
            low is not None and low >= bar - _ROUNDING for low in (self.tpr_low, self.tnr_low)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBias:
    """Bias of a judge on the answers of one group."""

    n: int
    """Answers."""
    bias: float
    """Share that the judge lets pass - share that people do, -1 to 1."""
    low: float | None = None
    """Lower end of its interval, at 95 % for all groups together; None: too few answers."""
    high: float | None = None
    """The upper end."""


def turned(groups: Mapping[str, GroupBias]) -> tuple[str, str] | None:
    """Return a group that the judge is too strict with and one it is too lenient with.

    None: no two groups have biases that surely differ in sign.
    """
    strict = [name for name, one in groups.items() if one.high is not None and one.high < 0]
    lenient = [name for name, one in groups.items() if one.low is not None and one.low > 0]
    if not strict or not lenient:
        return None
    by_bias = {name: one.bias for name, one in groups.items()}
    return min(strict, key=by_bias.__getitem__), max(lenient, key=by_bias.__getitem__)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCalibration:
    """Part of a stored calibration that later commands read."""

    schema_version: Literal[1]
    judge: str
    """Identity of the judge."""
    rubric: str
    """A rubric of the package, or the key of a metric of a user's rubric."""
    rubric_version: str = ""
    test: Mapping[str, JudgeRates] = field(default_factory=dict)
    """Rates by language, on labels of the part ``test`` alone."""
    bias: Mapping[str, Mapping[str, GroupBias]] = field(default_factory=dict)
    """By language and source."""
    strict: bool = False
    """Whether a bias that changes its sign between sources refuses admission."""
    bundled: bool = False
    """Whether it comes with the package, from public labels."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """By hash of the answer."""

    def admits(self, language: str, bar: float) -> bool:
        """Return whether the judge may decide on answers in a language."""
        rates = self.test.get(language)
        refused = self.strict and turned(self.bias.get(language, {})) is not None
        return rates is not None and rates.reach(bar) and not refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Admissions:
    """The calibrations that a project knows; a later one takes the place of an earlier one."""

    stored: tuple[StoredCalibration, ...] = ()
    bar: float = ADMIT_AT
    """Value that the lower bounds of both rates reach, 0.5 to 1."""
    problems: tuple[str, ...] = ()
    """Files that cannot be read, one sentence each."""

    def find(
        self, judge: str, names: Collection[str], version: str | None = None
    ) -> StoredCalibration | None:
        """Return the calibration of a judge under a rubric.

        Args:
            judge: identity of the judge.
            names: of the rubric, and of the metric.
            version: of the rubric; None: any.
        """
        for one in reversed(self.stored):
            known = one.judge == judge and one.rubric in names
            if known and version in {None, one.rubric_version}:
                return one
        return None

    def admit(self, judgement: Judgement, metric: str, language: str) -> bool:
        """Return whether the judge of a verdict may decide by a metric in a language."""
        names = {judgement.rubric, metric}
        found = self.find(judgement.judge, names, judgement.rubric_version)
        return found is not None and found.admits(language, self.bar)
