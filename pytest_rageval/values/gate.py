"""Checks, thresholds and the result of a gate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Final, Literal

from pytest_rageval.values.baseline import BaselineChoice
from pytest_rageval.values.case import Case
from pytest_rageval.values.declared import Described, Flag, Natural
from pytest_rageval.values.diagnoses.table import WORDS
from pytest_rageval.values.headline import Headline
from pytest_rageval.values.limits import Limits, Read
from pytest_rageval.values.record import SCHEMA_VERSION
from pytest_rageval.values.settings import JUDGED_ON, Aspect

CheckTable = Literal["overall", "category", "tag"]
CheckKind = Literal["min", "max", "max_drop", "max_rise"]
CheckStatus = Literal["pass", "fail", "warn", "skip"]
Proof = Literal["proven_pass", "proven_fail", "unproven"]
Decide = Literal["estimate", "prove_pass", "prove_fail"]
Verdict = Literal["pass", "fail", "not_evaluated"]


_ASPECTS: Final = [[*JUDGED_ON], [*JUDGED_ON[::-1]], ["retrieval"]]


def _read_judged_on(found: object) -> tuple[Aspect, ...]:
    if not isinstance(found, list | tuple) or [*found] not in _ASPECTS:
        raise ValueError
    return tuple(one for one in JUDGED_ON if one in found)


_DECIDE: Final = (
    "estimate: the value itself; prove_pass: the whole interval must pass; prove_fail: fails only "
    "if the whole interval fails."
)
_Baseline = Annotated[
    str,
    Limits('the name or path of a run, such as "last"', strict=True, pattern=r"\S"),
    Described(
        description='"auto", a run id, unique prefix, tag, "last", "last~1" or a path to a run.'
    ),
]
_JudgedOn = Annotated[
    tuple[Aspect, ...],
    Read(_read_judged_on, '["retrieval", "answer"] or ["retrieval"]'),
    Described(
        enum=_ASPECTS,
        description="What a case must get right to pass; without answer, an uncited, ungrounded "
        "or incorrect answer is shown and no flaw.",
    ),
]

NOT_COMPARABLE: Final = 3
"""Exit code of commands and sessions whose runs are not comparable."""
MOST_CASES: Final = 10
"""Cases that the result of a check names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One limit of thresholds.toml on a metric of a table."""

    metric: str
    """Key of the metric."""
    kind: CheckKind
    """The limited figure: the value, or its change since the baseline."""
    limit: float
    """In the unit of the metric."""
    table: CheckTable = "overall"
    """Cases that it is about."""
    group: str | None = None
    """The category or tag."""
    severity: Literal["fail", "warn"] = "fail"
    """Whether a breach fails the run or only warns."""
    use: Annotated[
        Literal["plain", "corrected"],
        Described(description="corrected: the mean that labels of people correct (PPI++)."),
    ] = "plain"
    """Mean that is limited: the judge's, or the one that labels of people correct."""
    decide: Annotated[Decide, Described(description=_DECIDE)] = "estimate"
    """By the estimate, or by an end of its interval."""
    min_n: Natural = 20
    """Number of cases below which the evidence counts as weak."""
    on_small_n: Literal["warn", "skip", "fail"] = "warn"
    """Consequence of fewer cases."""
    require_admitted: Annotated[
        Flag,
        Described(description="A judge that is not admitted shows its figure and decides nothing."),
    ] = False
    """Whether the check only warns where the judge behind its figure is not admitted."""
    line: int = 0
    """Line in thresholds.toml from 1; 0 for a check that is not in a file."""
    implicit: bool = False
    """True for checks that apply without being in the file."""
    beside_min: bool = False
    """True for a ``max`` next to a ``min`` of the same metric, so that their ids differ."""

    @property
    def name(self) -> str:
        """The part of the node id after ``thresholds.toml::``."""
        named = self.beside_min or self.kind in {"max_drop", "max_rise"}
        kind = f" {self.kind}" if named else ""
        return f"{self.metric}{kind}{self.where}"

    @property
    def where(self) -> str:
        """The group in brackets, after a blank: `` [tag work]``; empty: all cases."""
        if self.table == "overall":
            return ""
        return f" [tag {self.group}]" if self.table == "tag" else f" [{self.group}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """A parsed thresholds.toml."""

    checks: tuple[Check, ...] = ()
    confidence: Annotated[
        float, Limits("a number between 0.5 and 1, such as 0.95", strict=True, gt=0.5, lt=1)
    ] = 0.95
    baseline: _Baseline | None = None
    require_baseline: Annotated[
        Flag, Described(description="Fail checks against a baseline that is missing.")
    ] = False
    on_miss: Annotated[
        Literal["report", "fail"],
        Described(description="fail: a case that does not pass, missed or flawed, fails the run."),
    ] = "report"
    judged_on: _JudgedOn = JUDGED_ON
    """Aspects that the outcome of a case depends on."""
    min_n: int = 20
    """Number of cases below which a mean is weak evidence, from ``[defaults]``."""
    path: str | None = None
    """Path as shown to the user; None: there is no file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """Result of one check."""

    check: Check
    """The limit."""
    status: CheckStatus
    """``skip``: it could not be decided."""
    message: str
    """One plain-ASCII sentence such as ``0.700 is below min 0.750``."""
    estimate: float | None = None
    """Value, or its change since the baseline."""
    low: float | None = None
    """Lower end of its interval, of a change its one-sided bound; None: none can be given."""
    high: float | None = None
    """The upper end."""
    p: float | None = None
    """One-sided p of a change beyond the limit, after Holm's method; None: not tested."""
    n: int | None = None
    """Cases that the value is of."""
    n_documents: int | None = None
    """Documents that they are about; None: unknown, or no comparison."""
    proof: Proof | None = None
    """Whether the interval lies on one side of the limit."""
    mde: float | None = None
    """Smallest difference that this check detects with 80 % power; None: none on its scale."""
    small_n: bool = False
    """Whether there are fewer cases than ``min_n``."""
    judge_admitted: bool | None = None
    """Whether the judge behind the value is admitted; None: no verdict is behind it."""
    missed_cases: tuple[str, ...] = ()
    """Up to ``MOST_CASES`` cases that made the value worse, worst first, by their shortest name."""
    name: str = ""
    """Name of the check, as in its node id."""

    def __post_init__(self) -> None:
        """Name it by its check."""
        object.__setattr__(self, "name", self.check.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineInfo:
    """Baseline that a gate compared with, or the reason why it could not."""

    name: str | None = None
    """As the user named it; None: no baseline was named."""
    run_id: str | None = None
    """None: it was not found."""
    problem: str | None = None
    """Reason why checks against it are skipped; None: they are decided."""
    comparable: bool = True
    """False: the runs were made under different conditions, which the problem names."""
    n_paired: int = 0
    """Cases of the same content and cutoff in both runs."""
    n_changed: int = 0
    """Cases left out because their content or cutoff differs."""
    n_only_base: int = 0
    """Cases that only the baseline has."""
    n_only_new: int = 0
    """Cases that only the new run has."""
    n_documents: int | None = None
    """Documents that the paired cases are about; None: unknown."""
    choice: BaselineChoice | None = None
    """Reason for which it was found; None: it was named."""

    @property
    def sentence(self) -> str:
        """The comparison in one plain-ASCII sentence."""
        if self.problem is not None:
            named = self.run_id is None and self.name is not None
            return f"none: {self.problem}" if named else self.problem
        other = "" if self.run_id in {None, self.name} else f" ({self.run_id})"
        pairs = paired_text(self.n_paired, self.n_documents)
        left_out = [
            *([f"{self.n_changed} changed"] if self.n_changed else []),
            *([f"{self.n_only_base} only in the baseline"] if self.n_only_base else []),
            *([f"{self.n_only_new} new"] if self.n_only_new else []),
        ]
        rest = f"; left out: {', '.join(left_out)}" if left_out else ""
        return f"{self.name}{other}: {pairs}{rest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """The decision about a run, and the content of its ``gate.json``."""

    schema_version: int = SCHEMA_VERSION
    """Of the format: docs/stability.md says when it changes."""
    verdict: Verdict
    """``not_evaluated``: the run was cut short."""
    sentence: str
    """One plain-ASCII sentence."""
    reason: str = ""
    """Its text after the verdict, with the number of failed checks instead of their messages."""
    checks: tuple[CheckResult, ...] = ()
    """In the order of thresholds.toml."""
    complete: bool = True
    """False: fewer cases were reported than expected, which fails."""
    checked: bool = True
    """False: nothing could be checked of any case, which fails."""
    n_expected: int | None = None
    """Cases that were selected, with their repeats."""
    n_reported: int | None = None
    """Those that have a record."""
    baseline: BaselineInfo | None = None
    """None: no comparison was requested."""
    headline: Headline = field(default_factory=Headline)
    """News since the baseline or else the last full run, and what the failing cases
    share."""
    confidence: float = 0.95
    """Of the intervals of the run, and of proofs."""

    @property
    def word(self) -> str:
        """The verdict alone, with its reason where that is not a check."""
        if self.verdict != "fail":
            return "PASS" if self.verdict == "pass" else "NOT EVALUATED"
        if not self.complete:
            return "INCOMPLETE"
        return "FAIL" if self.checked else "NOTHING CHECKED"

    @property
    def exit_code(self) -> int:
        """Of a process that decides a run: 1: it fails; 3: else, if it is not comparable."""
        if self.verdict == "fail":
            return 1
        comparable = self.baseline is None or self.baseline.comparable
        return 0 if comparable else NOT_COMPARABLE

    @property
    def brief(self) -> str:
        """The sentence, or of a complete run with failed checks their number alone."""
        failed = any(one.status == "fail" for one in self.checks)
        return f"FAIL {self.reason}" if failed and self.complete else self.sentence


def paired_text(n: int, documents: int | None) -> str:
    """Return the number of paired cases, and of the documents that they are about, if known."""
    text = WORDS.format("{:paired case}", n)
    if not documents or not n:
        return text
    return WORDS.format("{} about {:document}", text, documents)


WHOLE_SET: Final = "needs the whole set"
"""Beginning of the reason why a check over a part of a set is skipped."""
CHANGE_WORDS: Final = {"max_drop": "drop", "max_rise": "rise"}


def needs_baseline(check: Check) -> bool:
    """Whether a check compares with a baseline."""
    return check.kind in CHANGE_WORDS or check.metric == "newly_missed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Numbers of cases that a run selected of its set; pairs are (selected, in the set)."""

    n_selected: int
    n_total: int
    by_category: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    by_tag: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, selected: Iterable[Case], everything: Iterable[Case]) -> Selection:
        """Count the cases selected among all cases of the test paths."""
        chosen, whole = list(selected), list(everything)

        def counts(groups_of: Callable[[Case], Iterable[str]]) -> dict[str, tuple[int, int]]:
            part = Counter(group for case in chosen for group in groups_of(case))
            total = Counter(group for case in whole for group in groups_of(case))
            return {group: (part[group], total[group]) for group in sorted({*part, *total})}

        return cls(
            n_selected=len(chosen),
            n_total=len(whole),
            by_category=counts(lambda case: (case.category,)),
            by_tag=counts(lambda case: set(case.tags)),
        )

    def of_files(self, n_asked: int) -> Selection:
        """Count case files as the set if all of their cases were selected.

        Groups without a case in them keep their number, so that no check of these is decided.

        Args:
            n_asked: number of cases of the files that were asked for.
        """
        if not 0 < n_asked <= self.n_selected:
            return self

        def whole(counts: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
            return {group: (part, part or total) for group, (part, total) in counts.items()}

        by_category, by_tag = whole(self.by_category), whole(self.by_tag)
        return replace(self, n_total=self.n_selected, by_category=by_category, by_tag=by_tag)

    def missing_for(self, check: Check) -> str | None:
        """Explain why the selection cannot decide a check; None: it holds the whole group."""
        if check.table == "overall":
            selected, total, of = self.n_selected, self.n_total, "cases"
        else:
            counts = self.by_category if check.table == "category" else self.by_tag
            selected, total = counts.get(check.group or "", (0, 0))
            of = f"cases of {check.table} {check.group}"
        if selected >= total and (total or self.n_selected >= self.n_total):
            return None
        return f"{WHOLE_SET} ({selected} of {total} {of} selected)"
