"""The cases that pull the value of a check the wrong way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.values.json_documents import items, number, text, texts
from pytest_rageval.values.record import CaseRecord

_LATENCY: Final = "latency_ms."


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRule:
    """Decides of which cases a check is made worse."""

    name: str
    metric: str
    table: str
    group: str
    limit: float | None
    info: MetricInfo | None
    listed: frozenset[str]
    """Cases that the gate names itself, by id or node id."""

    def lowered_by(self, record: CaseRecord) -> bool:
        """Whether a case of the check's group scores below the best value of its metric."""
        if not self._concerns(record):
            return False
        listed = bool(self.listed & {record.name, record.nodeid})
        if listed or not record.counted:
            return listed
        if self.metric == "error_rate":
            return record.error is not None
        if self.metric.startswith(_LATENCY):
            spent = record.latency.get("total_ms")
            return spent is not None and self.limit is not None and spent > self.limit
        value = record.metrics.get(self.metric)
        if value is None or self.info is None or self.info.direction == "neutral":
            return False
        low, high = self.info.bounds
        return value > low if self.info.direction == "lower" else value < high

    def _concerns(self, record: CaseRecord) -> bool:
        if self.table == "category":
            return record.category == self.group
        return self.table != "tag" or self.group in record.tags


def check_rules(gate: Mapping[str, Any], registry: Registry) -> tuple[CheckRule, ...]:
    """Return a rule for every check that did not pass."""
    return tuple(
        CheckRule(
            name=text(result, "name"),
            metric=text(result, "check", "metric"),
            table=text(result, "check", "table"),
            group=text(result, "check", "group"),
            limit=number(result, "check", "limit"),
            info=registry.info(text(result, "check", "metric")),
            listed=frozenset(texts(result, "missed_cases")),
        )
        for result in items(gate, "checks")
        if text(result, "status") in {"fail", "warn"}
    )


def checks_of(record: CaseRecord, rules: Sequence[CheckRule]) -> tuple[str, ...]:
    """Return the names of the checks that a case lowers, each once."""
    return tuple(dict.fromkeys(rule.name for rule in rules if rule.lowered_by(record)))
