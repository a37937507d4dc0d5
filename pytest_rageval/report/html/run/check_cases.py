"""The cases that pull the value of a check the wrong way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.values.gate import CheckResult
from pytest_rageval.values.record import CaseRecord

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
