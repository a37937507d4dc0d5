"""Findings of the linter about a case. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pytest_rageval.metrics.matching import norm_heading
from pytest_rageval.support.text import nearest, part
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
