"""The keys of thresholds.toml: their names, their values, and hints for misspelled ones. Pure.

The parser and the JSON Schema for editors (``#:schema`` of taplo and tombi) both come from one
table, so that both accept the same files; only the parser knows the scales of the metrics.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, get_args

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import STAGE_PREFIX, MetricInfo, Registry
from pytest_rageval.support.reading import Keys, hint, keys_of, schema_at
from pytest_rageval.support.text import nearest
from pytest_rageval.values.declared import Described, Distance, Finite
from pytest_rageval.values.errors import Fault
from pytest_rageval.values.gate import CHANGE_WORDS, Check, CheckKind, CheckTable, Thresholds
from pytest_rageval.values.limits import Limits
from pytest_rageval.values.record import STAGES

LIMITS: Final[tuple[CheckKind, ...]] = get_args(CheckKind)
LIMIT_TEXT: Final = r"\s*(>=|<=)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*"
"""The short form, such as ``>= 0.85``."""

_PHASE: Final = re.compile(r"latency_ms\.([A-Za-z][A-Za-z0-9_-]*?)(?:_ms)?\.(p50|p95)")
_PHASE_PREFIX: Final = re.compile(r"latency_ms(\.[A-Za-z][A-Za-z0-9_-]*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownNames:
    """Names that limits may use."""

    registry: Registry = BUILT_IN
    more: bool = False
    """Whether any other name with a dot may be that of a metric, which a conftest.py registers."""
    categories: Collection[str] | None = None
    """Those of the case files; None: any name is valid."""
    tags: Collection[str] | None = None
    """Those of the case files; None: any name is valid."""

    def of(self, table: CheckTable) -> Collection[str] | None:
        """Return the names of a table's groups; None: any name is valid."""
        return self.categories if table == "category" else self.tags


ANY_NAMES: Final = KnownNames()
"""The built-in metrics, and groups of any name."""


def resolve_gate_key(name: str, registry: Registry = BUILT_IN) -> str | None:
    """Return the key of a threshold's name or alias; None if unknown."""
    key = registry.resolve(name)
    if key is not None:
        return key
    phase = _PHASE.fullmatch(name)
    return f"latency_ms.{phase[1]}.{phase[2]}" if phase else None


def may_be_own(name: str) -> bool:
    """Say whether a name could be that of a metric of a project."""
    word, dot, _ = name.partition(".")
    return bool(dot) and not is_metric_prefix(word)


def is_of_groups(key: str, registry: Registry = BUILT_IN) -> bool:
    """Say whether a figure can be limited for a category or tag, not only for the whole run."""
    return registry.resolve(key) in registry.cases or key.startswith(STAGE_PREFIX)


def is_metric_prefix(name: str, registry: Registry = BUILT_IN) -> bool:
    """Whether a dotted metric key, such as ``latency_ms.p95``, begins with this name."""
    keys = (*registry.cases, *registry.runs)
    return any(key.startswith(f"{name}.") for key in keys) or bool(_PHASE_PREFIX.fullmatch(name))


def short_limit(text: str) -> tuple[CheckKind, float] | None:
    """Read the short form of a limit; None for any other text."""
    match = re.fullmatch(LIMIT_TEXT, text)
    if match is None or not math.isfinite(float(match[2])):
        return None
    return ("min" if match[1] == ">=" else "max"), float(match[2])


def off_scale(info: MetricInfo | None, kind: CheckKind, limit: float) -> Fault | None:
    """Return the fault of a limit outside the scale of its metric; None: it is within."""
    if info is None:
        return None
    low, high = info.scale
    if kind in CHANGE_WORDS:
        low, high = 0.0, None if high is None else high - low
    if low <= limit and (high is None or limit <= high):
        return None
    scale = f"of at least {low:g}" if high is None else f"from {low:g} to {high:g}"
    percent = (low, high) == (0.0, 1.0) and 1 < limit <= 100
    advice = f", write {limit / 100:g} for {limit:g} %" if percent else ""
    expected = f"a number {scale}, the scale of {info.key}"
    facts = {"found": f"{limit:g}", "expected": expected, "advice": advice}
    return Fault(code="bound", facts=facts)


# --- hints -----------------------------------------------------------------------------------


def unknown_metric(name: str, table: CheckTable, registry: Registry, place: str = "") -> Fault:
    """Return the fault that a metric does not exist, with the one that was probably meant."""
    facts = {"what": f'metric "{name}"{place}'}
    keys = [*registry.cases, *registry.runs]
    known = keys if table == "overall" else [key for key in keys if is_of_groups(key, registry)]
    if name.startswith(STAGE_PREFIX):
        # Compared without the prefix, which makes every stage look near.
        close = nearest(name.removeprefix(STAGE_PREFIX), STAGES)
        facts |= {"nearest": f"{STAGE_PREFIX}{close}"} if close else {}
        facts["advice"] = f", the stages are {', '.join(STAGES)}"
    elif figures := [f'"{key}"' for key in known if key.startswith(f"{name}.")]:
        facts["advice"] = f", write one of its figures: {', '.join(figures)}"
    elif near := hint(name, known):
        facts |= near
    elif may_be_own(name):
        facts["advice"] = ", no rubric, and no module of plugins in [tool.rageval], defines it"
    return Fault(code="unknown", facts=facts)


def unknown_group(table: str, name: str, known: Collection[str], write: str = "") -> Fault:
    """Return the fault that no case has a category or tag, with what to ``write``."""
    facts = {"what": f'{table} "{name}" (no case has it)'}
    if write:
        facts["advice"] = f", write {write}"
    elif near := hint(name, known):
        facts |= near
    elif known:
        facts["advice"] = f", the case files hold {', '.join(sorted(known)[:8])}"
    return Fault(code="unknown", facts=facts)


# --- plain keys ------------------------------------------------------------------------------

DEFAULTS: Final = keys_of(Check, "decide", "min_n", "on_small_n", "require_admitted")
CASES: Final = keys_of(Thresholds, "on_miss", "judged_on")
TOP: Final[Keys] = {
    "version": Annotated[int, Limits(strict=True, ge=1, le=1), Described(const=1)],
    **keys_of(Thresholds, "baseline", "require_baseline", "confidence"),
}
_CHANGE: Final = Annotated[Distance, Described(description="Against the baseline.")]
LIMIT: Final[Keys] = {
    **dict.fromkeys(("min", "max"), Finite),
    **dict.fromkeys(("max_drop", "max_rise"), _CHANGE),
    **keys_of(Check, "severity", "use"),
    **DEFAULTS,
}
TABLES: Final = ("cases", "overall", "category", "tag", "defaults")
PLACES: Final[Mapping[str, str]] = {
    # TOML has no way back out of a table, so a key of the file appended to it is in the last one.
    **dict.fromkeys(TOP, "above the first [table]"),
    **dict.fromkeys(DEFAULTS, "in [defaults]"),
    **dict.fromkeys(CASES, "in [cases]"),
}
"""Place of each plain key, in words."""


# --- JSON Schema -----------------------------------------------------------------------------


def thresholds_json_schema(registry: Registry = BUILT_IN) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of thresholds.toml.

    A dotted key such as ``latency_ms.p95`` is an object in it, as TOML reads it, or one key, as it
    is in quotes.
    """
    keys = [*registry.cases, *registry.aliases, *registry.runs]
    of_groups = [key for key in keys if is_of_groups(key, registry)]
    short = {"type": "string", "pattern": f"^{LIMIT_TEXT}$", "examples": [">= 0.85", "<= 0.05"]}
    limit = {**_table(LIMIT), "anyOf": [{"required": [kind]} for kind in LIMITS]}
    overall = _metrics_table(keys, registry)
    phase = {name: {"$ref": "#/$defs/limit"} for name in ("p50", "p95")}
    overall["properties"]["latency_ms"]["additionalProperties"] = _object(phase)
    top = _table(TOP)
    top["properties"] |= {
        "cases": _table(CASES),
        "overall": {"$ref": "#/$defs/overall"},
        "category": _groups("Limits for the cases of one category."),
        "tag": _groups("Limits for the cases that have a tag."),
        "defaults": _table(DEFAULTS),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "thresholds.toml of pytest-rageval",
        **top,
        "$defs": {
            "limit": {"anyOf": [short, limit]},
            "group": _metrics_table(of_groups, registry),
            "overall": overall,
        },
    }


def _table(keys: Keys) -> dict[str, Any]:
    return _object({key: dict(schema_at(kind)) for key, kind in keys.items()})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _groups(description: str) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "additionalProperties": {"$ref": "#/$defs/group"},
    }


def _metrics_table(keys: Iterable[str], registry: Registry) -> dict[str, Any]:
    """Return the object schema that holds a limit for each key, dotted ones also nested."""
    root = _object({})
    for key in keys:
        *parents, leaf = key.split(".")
        table = root
        for parent in parents:
            table = table["properties"].setdefault(parent, _object({}))
        info = registry.info(key)
        title = {"description": info.title} if info else {}
        table["properties"][leaf] = {"$ref": "#/$defs/limit", **title}
        root["properties"][key] = table["properties"][leaf]  # in quotes, a dotted key is one
    return root
