"""A JSON Schema of thresholds.toml for editors (``#:schema`` of taplo and tombi). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_rageval.metrics.registry import ALIASES, METRICS, RUN_METRICS, metric_info
from pytest_rageval.project.threshold_words import (
    DECIDE,
    LIMIT_TEXT,
    LIMITS,
    ON_MISS,
    ON_SMALL_N,
    SEVERITY,
)


def thresholds_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of thresholds.toml.

    A dotted key such as ``latency_ms.p95`` is an object in it, as TOML reads it.
    """
    case_keys = [*METRICS, *(alias for alias, key in ALIASES.items() if key in METRICS)]
    group = _metrics_table(case_keys)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "thresholds.toml of pytest-rageval",
        **_object(
            {
                "version": {"const": 1},
                "baseline": {
                    "type": "string",
                    "minLength": 1,
                    "description": 'Run id, unique prefix, "last", "last~1" or a path to a run.',
                },
                "require_baseline": {
                    "type": "boolean",
                    "default": False,
                    "description": "Fail checks against a baseline that is missing.",
                },
                "confidence": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "exclusiveMaximum": 1,
                    "default": 0.95,
                },
                "cases": _object({"on_miss": {"enum": list(ON_MISS), "default": "report"}}),
                "overall": {"$ref": "#/$defs/overall"},
                "category": _groups("Limits for the cases of one category."),
                "tag": _groups("Limits for the cases that have a tag."),
                "defaults": _object(_decision_keys()),
            }
        ),
        "$defs": {
            "limit": _limit(),
            "group": group,
            "overall": _metrics_table([*case_keys, *RUN_METRICS], phases=True),
        },
    }


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _groups(description: str) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "additionalProperties": {"$ref": "#/$defs/group"},
    }


def _decision_keys() -> dict[str, Any]:
    return {
        "decide": {
            "enum": list(DECIDE),
            "default": "estimate",
            "description": "estimate: the value itself; prove_pass: the whole interval must "
            "pass; prove_fail: fails only if the whole interval fails.",
        },
        "min_n": {"type": "integer", "minimum": 0, "default": 20},
        "on_small_n": {"enum": list(ON_SMALL_N), "default": "warn"},
    }


def _limit() -> dict[str, Any]:
    distance = {"type": "number", "minimum": 0, "description": "Against the baseline."}
    table = _object(
        {
            "min": {"type": "number"},
            "max": {"type": "number"},
            "max_drop": distance,
            "max_rise": distance,
            "severity": {"enum": list(SEVERITY), "default": "fail"},
            **_decision_keys(),
        }
    )
    short = {"type": "string", "pattern": f"^{LIMIT_TEXT}$", "examples": [">= 0.85", "<= 0.05"]}
    return {"anyOf": [short, {**table, "anyOf": [{"required": [kind]} for kind in LIMITS]}]}


def _metrics_table(keys: Iterable[str], *, phases: bool = False) -> dict[str, Any]:
    """Return the object schema that holds a limit for each key, dotted ones nested."""
    root = _object({})
    for key in keys:
        *parents, leaf = key.split(".")
        table = root
        for parent in parents:
            table = table["properties"].setdefault(parent, _object({}))
        info = metric_info(key)
        title = {"description": info.title} if info else {}
        table["properties"][leaf] = {"$ref": "#/$defs/limit", **title}
    if phases:
        limit = {"$ref": "#/$defs/limit"}
        phase = _object({"p50": limit, "p95": limit})
        root["properties"]["latency_ms"]["additionalProperties"] = phase
    return root
