"""JSON Schemas of the documents of a run, made from the types that they are written from.

Imported only for schemas, since pydantic is slow to import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import GenericAlias
from typing import Annotated, Any, Final, get_type_hints

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from pytest_rageval.runs.metrics_document import BREAKDOWNS, STATISTICS
from pytest_rageval.values.gate import BaselineInfo, CheckResult, GateResult
from pytest_rageval.values.numbers import (
    Aggregate,
    LatencySummary,
    MetricSummary,
    RepeatSummary,
    RerankSummary,
    UsageSummary,
)

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
    return Annotated[type_, Field(description=description)]


_VERSION: Final = {"schema_version": _said(int, "1 until now: see the policy of stored files")}
_RUN: Final = {
    **_VERSION,
    "run_id": _said(str, "name of the run and of its folder"),
    "timestamp": _said(str, "when it began: ISO 8601 with an offset"),
    "config_hash": _said(str | None, "16 hex digits over the settings that change an answer"),
    "dataset_hash": _said(str | None, "16 hex digits over the cases that have a record"),
}


def config_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of ``config.json``."""
    judge = _object(
        "Judge",
        {
            "judge": _said(str | None, "identity: `offline/...`, or the model and its address"),
            "model": _said(str | None, "as the server names it"),
            "system_fingerprint": str | None,
            "level": _said(str | None, "how the format of a verdict was requested"),
            "rubrics": _said(Mapping[str, str | None], "version by rubric"),
            "parameters": _said(_Object, "of the requests, such as temperature"),
            "dropped_parameters": _said(list[str], "those that the server refused"),
        },
    )
    git = _object(
        "Git",
        {
            "commit": str | None,
            "branch": str | None,
            "eval_set_commit": _said(str | None, "the last one that changed the case files"),
            "dirty": _said(bool | None, "whether tracked files had changes"),
        },
    )
    whole = _object(
        "Set",
        {
            "hash": _said(str, "over all cases of the test paths"),
            "n_cases": _Count,
            "files": list[str],
            "n_asked": _said(_Count, "cases of the files that the command line named"),
            "by_category": Mapping[str, _Count],
            "by_tag": Mapping[str, _Count],
        },
    )
    fields = {
        **_RUN,
        "metric_definitions_version": _said(int, "of the package's metrics"),
        "metric_definitions": _said(_Object, "of the project's own metrics, by key"),
        "judge": _said(str | None, "from the settings; null: none"),
        "judges": _said(_list(judge), "each judge that gave a verdict"),
        "second_judges": _said(_list(judge), "those of the spot check"),
        "settings": _said(_Object, "all of them, without secrets; `origins` says where from"),
        "dataset_version": str | None,
        "index_build_version": str | float | None,
        "retriever_version": str | None,
        "answerer_version": str | None,
        "target_models": _said(Mapping[str, str], "as the target reports them, by role"),
        "versions": _said(Mapping[str, str], "of Python and the packages that affect figures"),
        "hardware": _said(_Object, "`system`, `machine`, `cpus`"),
        "git": git,
        "asked": _said(list[str], "targets that were asked"),
        "set": _said(whole, "the cases from which the run selects"),
        "skipped": _said(list[str], "node ids of cases that a mark or a fixture skipped"),
        "sessions": _said(list[str], "when each session that wrote the run began"),
        "concurrency": _said(int | None, "most requests in flight; null: unknown, or several"),
        "cores_needed": _said(float | None, "CPU time / wall time of asking; near 1: saturated"),
        "wall_s": _said(float | None, "seconds of all sessions"),
        "merged_from": _said(list[str], "runs of which a merged one consists"),
    }
    return _schema(_object("Config", fields), "run_id", "timestamp", "settings")


def metrics_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of ``metrics.json``."""
    summary = _summary()
    latency = _hints(LatencySummary, total_ms=_said(float, "sum of all durations"))
    del latency["sum_ms"]
    duration = _object("LatencySummary", latency)
    whole = _object("Latency", {**latency, "concurrency": int | None, "by_phase": _named(duration)})
    cost = _object(
        "Cost",
        {
            "total_usd": _said(float | None, "of the judge; null: a price is unknown"),
            "uncached_usd": _said(float | None, "the same had no verdict come from the cache"),
            "judge_tokens": int,
            "target": Mapping[str, UsageSummary],
        },
    )
    means = _object(
        "AggregateMetrics",
        {
            "pass_rate": float | None,
            "cross_lingual_consistency": float | None,
            "judge_reliability": _said(_Object | None, "of the spot check; null: there was none"),
            "latency": _said(whole, "of the replies, in milliseconds"),
            "cost": cost,
            "indexing_coverage": _said(_Object | None, "as the target reports it"),
            "operational_metrics": _said(_Object, "rates of errors, timeouts and empty replies"),
        },
    )
    repeats = _hints(
        RepeatSummary,
        pass_at_k=Mapping[str, float],
        pass_hat_k=Mapping[str, float],
        flaky_cases=_list(_object("FlakyCase", {"file": str, "case_id": str, "passes": int})),
    )
    known = get_type_hints(Aggregate)
    counts = ("passed", "flawed", "missed", "errored", "unchecked", "stages")
    fields = {
        **_RUN,
        "eval_set_commit_hash": _said(str | None, "for information; the hashes decide"),
        "dirty": _said(bool | None, "whether tracked files had changes"),
        "total_tests": _said(_Count, "cases with a record"),
        "answerable_tests": _Count,
        "unanswerable_tests": _Count,
        **{name: known[name] for name in counts},
        "matching": _said(Mapping[str, int], "anchors of the evidence by how they were matched"),
        "aggregate_metrics": _said(means, "the mean of each metric by name, and what is below"),
        "statistics": _said(_named(summary), "each mean with counts and interval, by metric"),
        "abstention": known["abstention"],
        "rerank": Mapping[str, RerankSummary] | None,
        "repeats": _object("RepeatSummary", repeats) | None,
        "cross_lingual_consistency": known["cross_lingual"] | None,
        "correctness_by_reference": _named(summary) | None,
        "warnings": list[str],
    }
    named = ("schema_version", "run_id", "timestamp", "total_tests", "statistics")
    return _schema(_object("Metrics", fields), *named)


def groups_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of ``groups.json``."""
    more = {"total_tests": _Count, "statistics": _named(_summary())}
    group = _object("Group", more)
    fields = {**_VERSION, "run_id": str, **{name: _named(group) for name in BREAKDOWNS}}
    return _schema(_object("Groups", fields), "schema_version", "run_id")


def gate_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of ``gate.json``."""
    check = _object("CheckResult", {"name": str, **get_type_hints(CheckResult)})
    changed = {"checks": _list(check), "baseline": BaselineInfo | None}
    fields = {**_VERSION, "run_id": str, **_hints(GateResult, **changed)}
    return _schema(_object("GateResult", fields), "run_id", "verdict", "checks")


def _summary() -> Any:
    known = get_type_hints(MetricSummary)
    reason = _said(str, "why there is no mean")
    return _object("MetricSummary", {name: known[name] for name in STATISTICS} | {"reason": reason})


def _schema(type_: Any, *required: str) -> dict[str, Any]:
    schema = TypeAdapter(type_).json_schema()
    schema["required"] = list(required)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


DOCUMENT_SCHEMAS: Final[Mapping[str, Callable[[], dict[str, Any]]]] = {
    "config": config_json_schema,
    "metrics": metrics_json_schema,
    "groups": groups_json_schema,
    "gate": gate_json_schema,
}
"""By the name of the document."""
