"""Findings of the linter about a case, and the composition of a set. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pytest_rageval.analysis.stats.paired import minimum_detectable_effect, required_n
from pytest_rageval.metrics.matching import norm_heading, norm_path
from pytest_rageval.support.text import counted, nearest, part, plural
from pytest_rageval.values.case import Anchor, Case

NEAR: Final = 0.6
"""Minimum similarity, 0 to 1, of a suggested text."""
Severity = Literal["error", "warning"]
Rule = Literal[
    "unknown-document",
    "unknown-section",
    "unknown-snippet",
    "not-in-index",
    "duplicate",
    "near-duplicate",
    "contradiction",
    "leakage",
    "balance",
    "unread-field",
    "suspect-gold",
    "unwinnable",
    "never-passes",
    "inverted",
    "unstable",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedCase:
    """A case with its file and line."""

    case: Case
    file: str
    lineno: int
    """Line, from 1."""

    @property
    def place(self) -> str:
        """File and line, as editors read them."""
        return f"{self.file}:{self.lineno}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """One error or warning; its text is one line."""

    severity: Severity
    rule: Rule
    file: str
    line: int
    """0: the file as a whole."""
    case_id: str | None = None
    field: str = ""
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        parts = (where, self.severity, self.case_id or "", self.field, self.message)
        return f"{': '.join(part for part in parts if part)} [{self.rule}]"


def finding(
    placed: PlacedCase, severity: Severity, rule: Rule, message: str, *, field: str = ""
) -> LintFinding:
    """Make a finding about one case."""
    return LintFinding(
        severity=severity,
        rule=rule,
        file=placed.file,
        line=placed.lineno,
        case_id=placed.case.id,
        field=field,
        message=message,
    )


def anchors_of(placed: PlacedCase) -> Iterator[tuple[str, Anchor]]:
    """Yield field and anchor of each support of a case."""
    for kind in ("gold_supports", "irrelevant_supports"):
        for index, anchor in enumerate(getattr(placed.case, kind)):
            yield f"{kind}[{index}]", anchor


def did_you_mean_heading(wanted: Sequence[str], paths: Iterable[str]) -> str:
    """Ask whether the heading path was meant that ends with the wanted one, or is most similar.

    Where there is neither, it asks about one with the same last heading.

    Args:
        wanted: segments of a heading path in normal form.
        paths: existing heading paths.
    """
    known = {norm_heading(path) or (): path for path in paths}
    by_text = {" > ".join(segments): path for segments, path in known.items()}
    near = nearest(" > ".join(wanted), by_text, cutoff=NEAR)
    ends = [
        next((path for segments, path in known.items() if segments[-n:] == tuple(wanted[-n:])), "")
        for n in (len(wanted), 1)
    ]
    found = ends[0] or by_text.get(near or "") or ends[1]
    return part(", did you mean {!r}?", found)


def in_order(findings: Sequence[LintFinding], files: Sequence[str]) -> list[LintFinding]:
    """Sort findings by file, in the order of the command line, and by line."""
    place = {file: number for number, file in enumerate(files)}
    return sorted(findings, key=lambda one: (place.get(one.file, len(place)), one.line))


SD: Final = 0.35
"""Standard deviation of the difference of one case's recall between two versions of a system, as
assumed without measurements (docs/statistics.md#how-many-cases)."""
SMALL_DROP: Final = 0.05
_LARGE_SET: Final = 20
"""Number of cases from which a set is expected to be balanced."""
_SMALL_GROUP: Final = 5
_DOMINANT: Final = 0.8
_ONE_DOCUMENT: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """Smallest drop of recall that a set can detect, at 95 % confidence and 80 % power."""

    n: int
    """Number of cases with recall: reviewed, answerable, with evidence."""
    n_documents: int
    """Number of documents of their first golds, without those of conversations."""
    n_conversations: int
    drop: float | None
    """Smallest drop, 0 to 1, with independent cases; None: no cases."""
    drop_clustered: float | None
    """The same if the cases of a document, and the turns of a conversation, are fully
    correlated."""
    n_for_small_drop: int
    """Number of cases needed to detect ``SMALL_DROP``."""

    @property
    def sentence(self) -> str:
        """Return the result as one line."""
        if self.drop is None:
            return "with no reviewed case that has evidence, no change of recall can be seen"
        cases = f"{plural(self.n, 'this', 'these')} {counted(self.n, 'case')}"
        text = f"with {cases} a drop of {_shown(self.drop)} in recall can be seen"
        if self.drop_clustered is not None and self.n_documents + self.n_conversations < self.n:
            counts = {"document": self.n_documents, "conversation": self.n_conversations}
            groups = " and ".join(counted(n, noun) for noun, n in counts.items() if n)
            text += (
                f" ({_shown(self.drop_clustered)} if the cases of each of their {groups} stand "
                "or fall together)"
            )
        if self.drop > SMALL_DROP:
            text += f"; {SMALL_DROP:.2f} takes about {self.n_for_small_drop} cases"
        return text


def _shown(drop: float) -> str:
    return "more than 1" if drop > 1 else f"{math.ceil(drop * 100 - 1e-9) / 100:.2f}"


def compute_power(cases: Sequence[PlacedCase]) -> Power:
    """Compute the smallest drop of recall that a set can detect."""
    measured = [one.case for one in cases if one.case.answerable and one.case.gold_supports]
    measured = [case for case in measured if case.review != "generated"]
    n = len(measured)
    sizes = Counter(
        (norm_path(case.gold_supports[0].rel_path), "")
        if case.talk is None
        else ("", case.talk.conversation)
        for case in measured
    )
    n_conversations = sum(path == "" for path, _ in sizes)
    squares = sum(size * size for size in sizes.values())
    return Power(
        n=n,
        n_documents=len(sizes) - n_conversations,
        n_conversations=n_conversations,
        drop=minimum_detectable_effect(SD / math.sqrt(n)) if n else None,
        drop_clustered=minimum_detectable_effect(SD * math.sqrt(squares) / n) if n else None,
        n_for_small_drop=required_n(SD, SMALL_DROP) or 0,
    )


def find_imbalance(cases: Sequence[PlacedCase]) -> Iterator[LintFinding]:
    """Yield findings about an unbalanced set; none for a set below 20 cases."""
    if len(cases) < _LARGE_SET:
        return
    file = cases[0].file
    answerable = [one.case for one in cases if one.case.answerable]
    if len(answerable) == len(cases):
        yield _odd(file, "no unanswerable case: whether the system invents answers is not measured")
    if not answerable:
        yield _odd(file, "no answerable case: retrieval is not measured")
    yield from _categories(file, cases)
    documents = Counter(
        norm_path(case.gold_supports[0].rel_path) for case in answerable if case.gold_supports
    )
    if documents:
        [(path, count)] = documents.most_common(1)
        if count > _ONE_DOCUMENT * documents.total() and count >= _LARGE_SET:
            share = count / documents.total()
            yield _odd(file, f"{share:.0%} of the evidence lies in {path!r}: one document decides")


def _categories(file: str, cases: Sequence[PlacedCase]) -> Iterator[LintFinding]:
    counts = Counter(one.case.category for one in cases)
    if len(counts) < 2:
        return
    [(largest, count)] = counts.most_common(1)
    if count > _DOMINANT * len(cases):
        share = f"{count / len(cases):.0%}"
        yield _odd(file, f"category {largest!r} holds {share} of the cases: its mean is the whole")
    small = [f"{name} {count}" for name, count in counts.items() if count < _SMALL_GROUP]
    if small:
        yield _odd(
            file,
            f"categories with fewer than {_SMALL_GROUP} cases, whose means say little: "
            f"{', '.join(sorted(small))}",
        )


def _odd(file: str, message: str) -> LintFinding:
    return LintFinding(severity="warning", rule="balance", file=file, line=0, message=message)
