"""The words of thresholds.toml: which keys there are, what each may hold, what was meant. Pure.

The parser and the JSON Schema both read them, so that neither accepts what the other refuses.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from pytest_rageval.metrics.registry import METRICS, RUN_METRICS, resolve_metric_key
from pytest_rageval.support.text import nearest
from pytest_rageval.values.gate import CheckKind, CheckTable, Decide

GATEABLE_RUN_KEYS: Final = frozenset(RUN_METRICS)
"""Keys of the whole run that ``[overall]`` can limit, next to every metric of a case; and
``latency_ms.<phase>.p50`` and ``.p95`` for each phase that the target reports."""

LIMITS: Final[tuple[CheckKind, ...]] = get_args(CheckKind)
DECIDE: Final[tuple[Decide, ...]] = get_args(Decide)
SEVERITY: Final = ("fail", "warn")
ON_SMALL_N: Final = ("warn", "skip", "fail")
ON_MISS: Final = ("report", "fail")
LIMIT_TEXT: Final = r"\s*(>=|<=)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*"
"""The short form, such as ``>= 0.85``."""

_PHASE: Final = re.compile(r"latency_ms\.([A-Za-z][A-Za-z0-9_-]*?)(?:_ms)?\.(p50|p95)")
_PHASE_PREFIX: Final = re.compile(r"latency_ms(\.[A-Za-z][A-Za-z0-9_-]*)?")


def resolve_gate_key(name: str) -> str | None:
    """Return the key that a threshold's name or alias stands for; None if unknown."""
    key = resolve_metric_key(name)
    if key is not None:
        return key
    phase = _PHASE.fullmatch(name)
    return f"latency_ms.{phase[1]}.{phase[2]}" if phase else None


def is_metric_prefix(name: str) -> bool:
    """Say whether a dotted metric key begins with this name, as ``latency_ms.p95`` does."""
    keys = (*METRICS, *RUN_METRICS)
    return any(key.startswith(f"{name}.") for key in keys) or bool(_PHASE_PREFIX.fullmatch(name))


def short_limit(text: str) -> tuple[CheckKind, float] | None:
    """Read the short form of a limit; None if it is none."""
    match = re.fullmatch(LIMIT_TEXT, text)
    if match is None or not math.isfinite(float(match[2])):
        return None
    return ("min" if match[1] == ">=" else "max"), float(match[2])


# --- did you mean ----------------------------------------------------------------------------


def suggest(name: str, known: Iterable[str]) -> str:
    """Ask whether the closest known name was meant; empty where none is close."""
    close = nearest(name, known)
    return f'did you mean "{close}"?' if close else ""


def joined(message: str, hint: str) -> str:
    """Put a message and its hint on one line."""
    return f"{message}, {hint}" if hint else message


def unknown_metric(name: str, table: CheckTable, place: str = "") -> tuple[str, str]:
    """Return message and hint for a metric that does not exist."""
    known = list(METRICS) if table != "overall" else [*METRICS, *RUN_METRICS]
    return f'unknown metric "{name}"{place}', suggest(name, known)


def unknown_group(table: str, name: str, known: Collection[str]) -> tuple[str, str]:
    """Return message and hint for a category or tag that no case has."""
    hint = suggest(name, known) or (
        f"the case files hold {', '.join(sorted(known)[:8])}" if known else ""
    )
    return f'unknown {table} "{name}" (no case has it)', hint


# --- plain keys ------------------------------------------------------------------------------


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False


@dataclass(frozen=True, slots=True)
class Rule:
    """What a plain key may hold."""

    accepts: Callable[[Any], bool]
    expected: str


def _one_of(words: Sequence[str]) -> Rule:
    quoted = ", ".join(f'"{word}"' for word in words)
    return Rule(lambda value: isinstance(value, str) and value in words, f"one of {quoted}")


_NUMBER = Rule(_is_number, "a finite number")
_DISTANCE = Rule(lambda value: _is_number(value) and value >= 0, "a finite number of at least 0")
_FLAG = Rule(lambda value: isinstance(value, bool), "true or false")
_COUNT = Rule(
    lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
    "an integer of at least 0",
)

DEFAULTS_RULES: Final[Mapping[str, Rule]] = {
    "decide": _one_of(DECIDE),
    "min_n": _COUNT,
    "on_small_n": _one_of(ON_SMALL_N),
}
CASES_RULES: Final[Mapping[str, Rule]] = {"on_miss": _one_of(ON_MISS)}
LIMIT_RULES: Final[Mapping[str, Rule]] = {
    "min": _NUMBER,
    "max": _NUMBER,
    "max_drop": _DISTANCE,
    "max_rise": _DISTANCE,
    "severity": _one_of(SEVERITY),
    **DEFAULTS_RULES,
}
TOP_RULES: Final[Mapping[str, Rule]] = {
    "version": Rule(lambda value: type(value) is int and value == 1, "1"),
    "baseline": Rule(
        lambda value: isinstance(value, str) and bool(value.strip()),
        'the name or path of a run, such as "last"',
    ),
    "confidence": Rule(
        lambda value: _is_number(value) and 0 < value < 1, "a number between 0 and 1, such as 0.95"
    ),
    "require_baseline": _FLAG,
}
TABLES: Final = ("cases", "overall", "category", "tag", "defaults")
