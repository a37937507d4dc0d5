"""JSON Schemas of the files of a run, made from the types that they are written from.

Imported only for schemas, since pydantic is slow to import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import GenericAlias
from typing import Annotated, Any, Final, get_type_hints

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from pytest_rageval.runs.metrics_document import BREAKDOWNS, STATISTICS
from pytest_rageval.values.config import RunConfig
from pytest_rageval.values.gate import GateResult
from pytest_rageval.values.numbers import (
    Aggregate,
    LatencySummary,
    MetricSummary,
    RepeatSummary,
    RerankSummary,
    UsageSummary,
)
from pytest_rageval.values.record import CaseRecord

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_Count = Annotated[int, Field(ge=0)]
_Object = Mapping[str, Any]


def _object(name: str, hints: Mapping[str, Any]) -> Any:
    """Return the type of a JSON object; fields beyond those named are allowed."""
    return TypedDict(name, dict(hints), total=False)  # type: ignore[operator]


def _hints(of: type, **changed: Any) -> dict[str, Any]:
    """Return the types of the fields of a dataclass, some of them changed."""
    return {**get_type_hints(of), **changed}


def _list(of: Any) -> Any:
    return GenericAlias(list, of)


def _named(of: Any) -> Any:
    return GenericAlias(dict, (str, of))


def _said(type_: Any, description: str) -> Any:
    # A sentence, as the docstrings that describe other fields.
    text = f"{description[0].upper()}{description[1:]}."
    return Annotated[type_, Field(description=text)]


_VERSION: Final = {
    "schema_version": _said(int, "of the format: docs/stability.md says when it changes")
}
_RUN: Final = {
    **_VERSION,
    "run_id": _said(str, "name of the run and of its folder"),
    "timestamp": _said(str, "when it began: ISO 8601 with an offset"),
    "config_hash": _said(str | None, "16 hex digits over the settings that change an answer"),
    "dataset_hash": _said(str | None, "16 hex digits over the cases that have a record"),
}


def config_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of ``config.json``."""
    return _schema(RunConfig)


def metrics_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of ``metrics.json``."""
    summary = _summary()
    repeats = _hints(
        RepeatSummary,
        pass_at_k=Mapping[str, float],
        pass_hat_k=Mapping[str, float],
        flaky_cases=_list(
            _object(
                "FlakyCase",
                {"file": str, "case_id": str, "passes": _said(int, "repeats that passed")},
            )
        ),
    )
    means = _aggregate_metrics()
    known = get_type_hints(Aggregate)
    counts = ("passed", "flawed", "missed", "errored", "unchecked", "stages")
    fields = {
        **_RUN,
        "eval_set_commit_hash": _said(str | None, "for information; the hashes decide"),
        "dirty": _said(bool | None, "whether tracked files had changes"),
        "total_tests": _said(_Count, "cases with a record"),
        "answerable_tests": _said(_Count, "of those, the ones that the documents answer"),
        "unanswerable_tests": _said(_Count, "the others"),
        **{name: known[name] for name in counts},
        "matching": known["matching"],
        "aggregate_metrics": _said(means, "mean by metric, mostly named KEY_avg; and as below"),
        "statistics": _said(_named(summary), "each mean with counts and interval, by metric"),
        "abstention": _said(known["abstention"], "cases by what was answered and what should be"),
        "rerank": Mapping[str, RerankSummary] | None,
        "repeats": _object("RepeatSummary", repeats) | None,
        "cross_lingual_consistency": known["cross_lingual"] | None,
        "correctness_by_reference": _named(summary) | None,
        "warnings": _said(list[str], "remarks on the figures"),
    }
    named = ("schema_version", "run_id", "timestamp", "total_tests", "statistics")
    return _with_means(_schema(_object("Metrics", fields), *named), "AggregateMetrics")


def _aggregate_metrics() -> Any:
    latency = _hints(LatencySummary, total_ms=_said(float, "sum of all durations"))
    del latency["sum_ms"]
    duration = _object("LatencySummary", latency)
    more = {
        "concurrency": _said(int | None, "most requests in flight"),
        "by_phase": _said(_named(duration), "of the phases that the target reports"),
    }
    whole = _object("Latency", latency | more)
    cost = _object(
        "Cost",
        {
            "total_usd": _said(float | None, "of the judge; null: a price is unknown"),
            "uncached_usd": _said(float | None, "the same had no verdict come from the cache"),
            "judge_tokens": _said(int, "of the verdicts that were asked for"),
            "target": _said(Mapping[str, UsageSummary], "tokens and money that it reports"),
        },
    )
    return _object(
        "AggregateMetrics",
        {
            "pass_rate": _said(float | None, "passed cases / cases"),
            "cross_lingual_consistency": _said(float | None, "mean over the pairs"),
            "judge_reliability": _said(_Object | None, "of the spot check; null: there was none"),
            "latency": _said(whole, "of the replies, in milliseconds"),
            "cost": _said(cost, "of the judge, and of the target as far as it reports it"),
            "indexing_coverage": _said(_Object | None, "as the target reports it"),
            "operational_metrics": _said(_Object, "rates of errors, timeouts and empty replies"),
        },
    )


def groups_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of ``groups.json``."""
    more = {
        "total_tests": _said(_Count, "cases of the group"),
        "statistics": _said(_named(_summary()), "each mean with counts and interval, by metric"),
    }
    group = _said(_named(_object("Group", more)), "by group: means by name, and as below")
    fields = {**_VERSION, "run_id": _RUN["run_id"], **dict.fromkeys(BREAKDOWNS, group)}
    return _with_means(_schema(_object("Groups", fields), "schema_version", "run_id"), "Group")


def gate_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of ``gate.json``."""
    return _schema(GateResult)


def record_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of one line of ``results.jsonl``."""
    return {"$schema": _DIALECT, **TypeAdapter(CaseRecord).json_schema()}


def _summary() -> Any:
    known = get_type_hints(MetricSummary)
    reason = _said(str, "why there is no mean")
    return _object("MetricSummary", {name: known[name] for name in STATISTICS} | {"reason": reason})


def _with_means(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """Let all further fields of an object be means."""
    schema["$defs"][name]["additionalProperties"] = {"type": ["number", "null"]}
    return schema


def _schema(type_: Any, *required: str) -> dict[str, Any]:
    schema = TypeAdapter(type_).json_schema()
    if required:
        schema["required"] = list(required)
    return {"$schema": _DIALECT, **schema}


DOCUMENT_SCHEMAS: Final[Mapping[str, Callable[[], dict[str, Any]]]] = {
    "config": config_json_schema,
    "metrics": metrics_json_schema,
    "groups": groups_json_schema,
    "gate": gate_json_schema,
}
"""By the name of the document."""
