"""Cases to read first: newly worse ones, the worst of each kind, and uncertain ones. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import BADNESS, group_repeats
from pytest_rageval.analysis.compare.flips import CaseFlip
from pytest_rageval.judges.spot_check import second_scores
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.metrics.scoring import pass_line
from pytest_rageval.report.html.run.values import CaseRow
from pytest_rageval.report.view.comparison import flip_value
from pytest_rageval.runs.read import case_key
from pytest_rageval.support.text import counted, format_value, part, plural
from pytest_rageval.values.gate import CheckResult
from pytest_rageval.values.record import CaseRecord

_SHOWN: Final = 5
_FLIPS: Final = 2
_WORST: Final = 2
_NEAR: Final = 0.1
"""Share of a scale within which a judged score is close to the line of passing."""
_SCORES: Final = ("recall_at_k", "mrr", "groundedness", "correctness")
_JUDGED: Final = ("groundedness", "correctness")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseToRead:
    """One case to read first."""

    anchor: str
    case_id: str
    kind: str
    """``newly worse``, ``error``, ``worst``, ``uncertain`` or ``lowest``."""
    why: str


def worth_reading(
    rows: Sequence[CaseRow], flips: Iterable[CaseFlip] = (), *, redact: bool = False
) -> tuple[CaseToRead, ...]:
    """Choose at most five cases, each once, with the reason to read it.

    Args:
        rows: all cases, what did not pass first and the worst of it before the rest.
        flips: changes since the baseline.
        redact: leave out the reasons of flips, which name paths and headings.
    """
    cases = {row.anchor: row.record.nodeid for row in rows}
    deciding = {case_key(case.deciding) for case in group_repeats(row.record for row in rows)}
    first = [row for row in rows if case_key(row.record) in deciding]
    groups = (
        (_FLIPS, [*_flipped(rows, flips, redact=redact)]),
        (_WORST, [*islice(_worst(first), 2 * _SHOWN)]),
        (1, [*_uncertain(rows)]),
    )
    chosen: dict[str, CaseToRead] = {}
    for one in (
        *(one for quota, found in groups for one in found[:quota]),
        *(one for quota, found in groups for one in found[quota:]),
    ):
        chosen.setdefault(cases.get(one.anchor, one.anchor), one)
    order = {"newly worse": 0, "error": 1, "worst": 2, "uncertain": 3, "lowest": 4}
    return tuple(sorted(islice(chosen.values(), _SHOWN), key=lambda one: order[one.kind]))


def _flipped(
    rows: Sequence[CaseRow], flips: Iterable[CaseFlip], *, redact: bool
) -> Iterator[CaseToRead]:
    """Yield the cases that are worse, the largest fall of the outcome first."""
    anchors = {(row.record.file, row.record.name): row.anchor for row in reversed(rows)}
    worse = [flip for flip in flips if flip.direction == "worse"]
    for flip in sorted(worse, key=_rise):
        if anchor := anchors.get((flip.file, flip.case_id)):
            reason = flip.brief_reason if redact else flip.reason
            why = ": ".join(filter(None, (flip_value(flip), reason)))
            yield CaseToRead(anchor=anchor, case_id=flip.case_id, kind="newly worse", why=why)


def _rise(flip: CaseFlip) -> int:
    return BADNESS.get(flip.base_outcome, 1) - BADNESS.get(flip.new_outcome, 1)


def _worst(rows: Sequence[CaseRow]) -> Iterator[CaseToRead]:
    """Yield the worst case of each kind of failure, then the rest.

    The most frequent kind comes first, and cases that were not asked last.
    """
    kinds = Counter((row.outcomes, row.stage) for row in rows if _failed(row))
    first: dict[tuple[tuple[str, ...], str], CaseRow] = {}
    for row in rows:
        first.setdefault((row.outcomes, row.stage), row)
    by_number = sorted(
        kinds.most_common(), key=lambda kind: (kind[0][1] == "not_attempted", len(kind[0][0]))
    )
    for (outcomes, stage), n in by_number:
        row = first[outcomes, stage]
        if (error := row.record.error) is not None:
            why = f"{error.kind}, one of {counted(n, 'error')}"
            yield _reading(row, "error", why)
            continue
        words = _words(row)
        scores = _scores(row.record)
        others = plural(n, "the only case", f"{'lowest' if scores else 'one'} of {n} cases")
        yield _reading(row, "worst", f"{words}, {others}{scores}")
    if not kinds:
        yield from _lowest(rows)
    for row in sorted(filter(_failed, rows), key=lambda row: row.flaky):
        words = _words(row)
        kind = "worst" if row.record.error is None else "error"
        yield _reading(row, kind, f"{words}{_scores(row.record)}")


def _words(row: CaseRow) -> str:
    return f"{'flaky, ' if row.flaky else ''}{row.stage.replace('_', ' ') or row.outcome}"


def _failed(row: CaseRow) -> bool:
    return row.outcome not in {"passed", "unchecked"}


def _lowest(rows: Sequence[CaseRow]) -> Iterator[CaseToRead]:
    scored = [
        (value, row) for row in rows if (value := row.record.scores.metrics.get("mrr")) is not None
    ]
    for value, row in sorted(scored, key=lambda one: one[0])[:_WORST]:
        if value < 1:
            yield _reading(row, "lowest", f"passed, with the lowest mrr: {format_value(value)}")


def _reading(row: CaseRow, kind: str, why: str) -> CaseToRead:
    return CaseToRead(anchor=row.anchor, case_id=row.case_id, kind=kind, why=why)


def _scores(record: CaseRecord) -> str:
    """Name the first two scores that are not perfect."""
    shown = [
        f"{key} {format_value(value)}"
        for key in _SCORES
        if (value := record.scores.metrics.get(key)) is not None
        and value < BUILT_IN.cases[key].bounds[1]
    ]
    return part(": {}", shown[:2])


def _uncertain(rows: Sequence[CaseRow]) -> Iterator[CaseToRead]:
    """Yield cases whose judged score may as well be another: judges disagree, or a close score."""
    found = ((-doubt, place, why) for place, row in enumerate(rows)
             for doubt, why in _doubts(row.record))  # fmt: skip
    for _, place, why in nsmallest(_SHOWN * 2, found):
        yield _reading(rows[place], "uncertain", why)


def _doubts(record: CaseRecord) -> Iterator[tuple[float, str]]:
    """Yield how doubtful a judged score is, above 1 where two judges disagree, and the reason."""
    for key in _JUDGED:
        if (value := record.scores.metrics.get(key)) is None:
            continue
        distance = abs(value - pass_line(key)) / BUILT_IN.cases[key].width
        if 0 < distance <= _NEAR:
            line = format_value(pass_line(key))
            yield 1 - distance, f"{key} {format_value(value)} is close to {line}, which passes"
    for key, other in second_scores(record.verdicts).items():
        if (one := record.scores.metrics.get(key)) is not None and one != other:
            gap = abs(one - other) / BUILT_IN.cases[key].width
            yield 1 + gap, f"two judges: {key} {format_value(one)} and {format_value(other)}"


_LATENCY: Final = "latency_ms."


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRule:
    """Decides of which cases a check is made worse."""

    result: CheckResult
    info: MetricInfo | None

    def lowered_by(self, record: CaseRecord) -> bool:
        """Whether a case of the check's group scores below the best value of its metric."""
        if not self._concerns(record):
            return False
        # The gate names cases by id or node id.
        listed = not {record.name, record.nodeid}.isdisjoint(self.result.missed_cases)
        if listed or not record.counted:
            return listed
        metric = self.result.check.metric
        if metric == "error_rate":
            return record.error is not None
        if metric.startswith(_LATENCY):
            spent = record.latency.get("total_ms")
            return spent is not None and spent > self.result.check.limit
        value = record.scores.metrics.get(metric)
        if value is None or self.info is None or self.info.direction == "neutral":
            return False
        low, high = self.info.bounds
        return value > low if self.info.direction == "lower" else value < high

    def left_out(self, record: CaseRecord) -> bool:
        """Whether the figure of the check lacks a case because it ended in an error."""
        metric, scores = self.result.check.metric, record.scores
        if record.error is None or not record.counted or not self._concerns(record):
            return False
        return scores.metrics.get(metric, 0.0) is None and metric not in scores.not_applicable

    def _concerns(self, record: CaseRecord) -> bool:
        check = self.result.check
        if check.table == "category":
            return record.case.category == check.group
        return check.table != "tag" or check.group in record.case.tags


def check_rules(checks: Iterable[CheckResult], registry: Registry) -> tuple[CheckRule, ...]:
    """Return a rule for every check that did not pass."""
    return tuple(
        CheckRule(result=result, info=registry.info(result.check.metric))
        for result in checks
        if result.status in {"fail", "warn"}
    )


def erred_cases(rules: Iterable[CheckRule], records: Sequence[CaseRecord]) -> dict[str, int]:
    """Count, by name of a check, the cases that its figure lacks because of an error."""
    return {
        rule.result.name: len({record.nodeid for record in records if rule.left_out(record)})
        for rule in rules
    }


def checks_of(record: CaseRecord, rules: Sequence[CheckRule]) -> tuple[str, ...]:
    """Return the names of the checks that a case lowers, each once."""
    return tuple(dict.fromkeys(rule.result.name for rule in rules if rule.lowered_by(record)))
