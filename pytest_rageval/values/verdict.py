"""The values of judging: the request to a judge, its judgement, and the admission of judges.

A judge gives a valid verdict or a failure with a kind; a failure is never a score.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from pytest_rageval.values.diagnoses.judge import JUDGE, judge_sentence
from pytest_rageval.values.diagnoses.table import Facts, JudgeErrorKind, known
from pytest_rageval.values.reply import Citation
from pytest_rageval.values.settings import ADMIT_AT

OutputLevel = Literal["json_schema", "json_object", "text", "offline"]
"""Form in which the reply's structure was requested; ``offline``: no model was asked."""

RUBRICS: Final = (
    "groundedness",
    "correctness",
    "abstention",
    "claims",
    "quality",
    "five_dimensions",
)
"""Names of the rubrics that come with the package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One retrieved passage as a judge sees it; untrusted text."""

    text: str
    rel_path: str = ""
    heading_path: str | None = None
    chunk_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest:
    """One answer to judge, with its context and expectations; all texts are untrusted."""

    question: str
    answer: str
    context: tuple[Passage, ...] = ()
    """Passages given to the generator, best rank first; ``[1]`` in an answer is the first."""
    history: tuple[str, ...] = ()
    """Messages of the conversation before the question, each after its role: ``user: Hello``."""
    expected_key_facts: tuple[str, ...] = ()
    expected_answer: str | None = None
    citations: tuple[Citation, ...] = ()
    """From references and answer text, distinct."""
    asks_conflict: bool = False
    """Whether the judge should also decide if the answer states that its sources differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One statement of an answer, and whether the context supports it."""

    text: str
    """As the judge gave it."""
    supported: bool
    """Whether the context supports it."""
    passage: int | None = None
    """1-based position of the passage that supports it best; None: none does."""
    reason: str = ""
    """A few words for people: the support found, or the fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Scores and reasoning of a judge on one answer under one rubric; every score is valid."""

    scores: Mapping[str, float] = field(default_factory=dict)
    """Metric key (``groundedness``, ``quality.overall``) to a score within its scale."""
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    """Metric key to the reason why it does not apply, such as an answer without claims."""
    unsure: tuple[str, ...] = ()
    """Those keys of ``not_applicable`` that apply, but of which the judge is not sure."""
    reasoning: str = ""
    """Reason for the scores, in the judge's words."""
    claims: tuple[Claim, ...] = ()
    """Under ``groundedness`` and ``claims``."""
    key_facts_found: tuple[bool, ...] | None = None
    """One per expected key fact, under ``correctness``; None: none were expected."""
    abstained: bool | None = None
    """Under ``abstention``: whether the answer declines to answer."""
    acknowledges_conflict: bool | None = None
    """Whether the answer states that its sources differ; None: not asked."""
    coerced: tuple[str, ...] = ()
    """Fields whose string was read as the decimal number that it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFailure:
    """Reason for a missing verdict."""

    kind: JudgeErrorKind
    """Cause, such as ``rate_limited``."""
    message: str
    """One line, without secrets."""
    raw: str | None = None
    """The reply as it came, cut at 2,000 characters; None: there was none."""
    code: str = ""
    """Row of ``values.diagnoses.judge``; empty: of other code, or of an older run."""
    facts: Facts = field(default_factory=dict, hash=False)
    """Values that the message names, without secrets, such as ``status``."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" if self.message else self.kind


def judge_failure(code: str, /, raw: str | None = None, **facts: Any) -> JudgeFailure:
    """Return a failure of a code; facts that are None or empty are left out."""
    there = known(facts)
    return JudgeFailure(
        kind=JUDGE[code].kind,
        message=judge_sentence(code, there),
        raw=raw,
        code=code,
        facts=there,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeUsage:
    """Tokens and money of the calls behind one judgement, repair turns included."""

    prompt_tokens: int = 0
    """Sum over all calls."""
    completion_tokens: int = 0
    """Sum over all calls."""
    calls: int = 0
    """Requests sent for it now; 0 for a cached one."""
    cached: bool = False
    """Whether the verdict came from the cache."""
    cost_usd: float | None = 0.0
    """Cost of the requests sent now: 0 for a cached one; None, never 0: the price is unknown."""
    cost_usd_uncached: float | None = 0.0
    """Cost when it was first asked."""
    tokens_reported: bool = True
    """False: the server gave no ``usage``, and the tokens are unknown."""

    @property
    def tokens(self) -> int:
        """Tokens of prompts and replies."""
        return self.prompt_tokens + self.completion_tokens


def sum_known(values: Sequence[float | None]) -> float | None:
    """Return the sum of some numbers; None: one of them is not known."""
    known = [value for value in values if value is not None]
    return math.fsum(known) if len(known) == len(values) else None


def sum_usage(usages: Iterable[JudgeUsage]) -> JudgeUsage:
    """Return what some judgements used together: tokens and calls without those of cached ones."""
    every = list(usages)
    sent = [one for one in every if not one.cached]
    return JudgeUsage(
        prompt_tokens=sum(one.prompt_tokens for one in sent),
        completion_tokens=sum(one.completion_tokens for one in sent),
        calls=sum(one.calls for one in sent),
        cached=not sent and bool(every),
        cost_usd=sum_known([one.cost_usd for one in every]),
        cost_usd_uncached=sum_known([one.cost_usd_uncached for one in every]),
        tokens_reported=all(one.tokens_reported for one in every),
    )


def usage_of(judgements: Iterable[Judgement]) -> JudgeUsage | None:
    """Return what the judgements by a model used together; None if absent."""
    usages = [one.usage for one in judgements if one.level != "offline"]
    return sum_usage(usages) if usages else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One answer judged under one rubric: a verdict or a failure, with its circumstances."""

    rubric: str
    """Name of a rubric of the package, or path of the user's."""
    rubric_version: str
    """Name + first 12 hex digits of the sha256 of template and schema; empty: the judge raised."""
    judge: str
    """Identity of the judge: ``offline/11``, or the model and its endpoint."""
    verdict: Verdict | None = None
    failure: JudgeFailure | None = None
    """Exactly one of ``verdict`` and ``failure`` is set."""
    usage: JudgeUsage = JudgeUsage()
    """Of all calls behind it."""
    level: OutputLevel = "offline"
    """Form in which the structure of the reply was requested."""
    prompt_hash: str = ""
    """sha256 of the rendered prompt, 64 hex digits; empty: there was none."""
    truncated_chunk_ids: tuple[str | None, ...] = ()
    """Passages that did not fit into the prompt, and were left out."""
    model: str | None = None
    """As the server named it."""
    system_fingerprint: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters sent besides the prompt: temperature, seed, …; dropped ones are left out."""
    dropped_parameters: tuple[str, ...] = ()
    """Parameters that the server refused."""
    repaired: bool = False
    """Whether a repair turn was needed."""
    duration_ms: float | None = None


class Judge(Protocol):
    """Anything that judges answers."""

    @property
    def identity(self) -> str:
        """Name of the judge, an invariant of a run."""

    def judge(self, rubric: str, request: JudgeRequest, *, repeat: int = 0) -> Judgement:
        """Judge one answer; failures are data.

        Args:
            rubric: a name of ``RUBRICS`` or the path of a user's rubric.
            request: the answer with its context and expectations.
            repeat: index of the sampling repeat, so that a cache keeps repeats apart.
        """


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
