"""thresholds.toml and ``--gate`` expressions to checks. Pure but for ``load_thresholds``.

Every fault of the file is reported at once, with line and column.
"""

from __future__ import annotations

import difflib
import math
import pathlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

from pytest_rageval.errors import ConfigError
from pytest_rageval.metrics.registry import METRICS, RUN_METRICS, resolve_metric_key
from pytest_rageval.models import Check, CheckKind, CheckTable, Decide, Thresholds
from pytest_rageval.option_values import shorten
from pytest_rageval.toml_places import Path, TomlSource, read_toml

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
_GATE: Final = re.compile(
    r"\s*(?P<metric>[^\s\[\]<>=]+)\s*"
    r"(?:\[\s*(?P<tag>tag\s+)?(?P<group>[^\[\]\s]+)\s*\])?"
    rf"(?P<limit>{LIMIT_TEXT})"
)


def resolve_gate_key(name: str) -> str | None:
    """Return the key that a threshold's name or alias stands for; None if unknown."""
    key = resolve_metric_key(name)
    if key is not None:
        return key
    phase = _PHASE.fullmatch(name)
    return f"latency_ms.{phase[1]}.{phase[2]}" if phase else None


def load_thresholds(
    path: pathlib.Path,
    *,
    display: str | None = None,
    categories: Collection[str] | None = None,
    tags: Collection[str] | None = None,
    gates: Sequence[str] = (),
) -> Thresholds:
    """Read thresholds.toml; without the file, only the ``gates`` apply.

    Args:
        path: the file.
        display: the path as shown to the user; ``path`` itself when None.
        categories: those that the case files hold; None: any name goes.
        tags: those that the case files hold; None: any name goes.
        gates: ``--gate`` expressions.

    Raises:
        ConfigError: the file cannot be read, or holds faults.
    """
    display = str(path) if display is None else display
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return add_gates(Thresholds(), gates, categories=categories, tags=tags)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{display}: not UTF-8 at byte {error.start}") from None
    except OSError as error:
        raise ConfigError(f"{display}: cannot be read: {error.strerror}") from error
    return parse_thresholds(text, display=display, categories=categories, tags=tags, gates=gates)


def parse_thresholds(
    text: str,
    *,
    display: str,
    categories: Collection[str] | None,
    tags: Collection[str] | None,
    gates: Sequence[str] = (),
) -> Thresholds:
    """Parse the text of thresholds.toml.

    Args:
        text: the content.
        display: the path as shown to the user.
        categories: those that the case files hold; None: any name goes.
        tags: those that the case files hold; None: any name goes.
        gates: ``--gate`` expressions, which take the ``[defaults]`` of the file too.

    Raises:
        ConfigError: all faults at once, each ``file:line:col: message``.
    """
    source = read_toml(text, display=display)
    reader = _Reader(source, {"category": categories, "tag": tags})
    thresholds = reader.read()
    source.raise_faults()
    return add_gates(thresholds, gates, categories=categories, tags=tags, defaults=reader.defaults)


# --- gate expressions ------------------------------------------------------------------------


def parse_gate_expression(text: str) -> Check:
    """Parse an expression such as ``recall_at_k[multi_hop]>=0.9`` or ``mrr[tag work]>=0.7``.

    Raises:
        ConfigError: it is no expression, or limits an unknown metric.
    """
    match = _GATE.fullmatch(text)
    limit = _short_limit(match["limit"]) if match else None
    if match is None or limit is None:
        raise ConfigError(
            f"got {shorten(text)}, expected METRIC>=NUMBER or METRIC<=NUMBER, such as "
            "recall_at_k>=0.9, recall_all_at_k[multi_hop]>=0.7 or recall_at_k[tag work]>=0.8"
        )
    table: CheckTable = "overall"
    if match["group"] is not None:
        table = "tag" if match["tag"] else "category"
    key = resolve_gate_key(match["metric"])
    if key is None:
        raise ConfigError(
            f"got {shorten(text)}: " + _joined(*_unknown_metric(match["metric"], table))
        )
    if table != "overall" and key not in METRICS:
        raise ConfigError(f"got {shorten(text)}: {key} is a figure of the whole run")
    return Check(metric=key, kind=limit[0], limit=limit[1], table=table, group=match["group"])


def add_gates(
    thresholds: Thresholds,
    gates: Iterable[str],
    *,
    categories: Collection[str] | None = None,
    tags: Collection[str] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Thresholds:
    """Add checks from the command line; one replaces a check of the same metric and kind.

    Raises:
        ConfigError: all faulty expressions at once.
    """
    checks = {_identity(check): check for check in thresholds.checks}
    faults = []
    for gate in gates:
        try:
            check = parse_gate_expression(gate)
            _check_group(gate, check, categories if check.table == "category" else tags)
        except ConfigError as error:
            faults.append(f"--gate: {error}")
        else:
            checks[_identity(check)] = replace(check, **(defaults or {}))
    if faults:
        raise ConfigError("\n".join(faults))
    return replace(thresholds, checks=_name_apart(checks.values()))


def _check_group(gate: str, check: Check, known: Collection[str] | None) -> None:
    if check.group is not None and known is not None and check.group not in known:
        unknown = _unknown_group(check.table, check.group, known)
        raise ConfigError(f"got {shorten(gate)}: {_joined(*unknown)}")


def _identity(check: Check) -> tuple[str, str | None, str, str]:
    return check.table, check.group, check.metric, check.kind


def _name_apart(checks: Iterable[Check]) -> tuple[Check, ...]:
    """Mark each max that stands beside a min of the same metric, whose id it would share."""
    listed = list(checks)
    taken = {_identity(check) for check in listed}
    return tuple(
        replace(check, beside_min=check.kind == "max" and (*_identity(check)[:3], "min") in taken)
        for check in listed
    )


def _short_limit(text: str) -> tuple[CheckKind, float] | None:
    match = re.fullmatch(LIMIT_TEXT, text)
    if match is None or not math.isfinite(float(match[2])):
        return None
    return ("min" if match[1] == ">=" else "max"), float(match[2])


# --- did you mean ----------------------------------------------------------------------------


def _suggest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f'did you mean "{close[0]}"?' if close else ""


def _joined(message: str, hint: str) -> str:
    return f"{message}, {hint}" if hint else message


def _unknown_metric(name: str, table: CheckTable, place: str = "") -> tuple[str, str]:
    known = list(METRICS) if table != "overall" else [*METRICS, *RUN_METRICS]
    return f'unknown metric "{name}"{place}', _suggest(name, known)


def _unknown_group(table: str, name: str, known: Collection[str]) -> tuple[str, str]:
    hint = _suggest(name, known) or (
        f"the case files hold {', '.join(sorted(known)[:8])}" if known else ""
    )
    return f'unknown {table} "{name}" (no case has it)', hint


# --- the file --------------------------------------------------------------------------------


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True, slots=True)
class _Rule:
    """What a plain key may hold."""

    accepts: Callable[[Any], bool]
    expected: str


def _one_of(words: Sequence[str]) -> _Rule:
    quoted = ", ".join(f'"{word}"' for word in words)
    return _Rule(lambda value: isinstance(value, str) and value in words, f"one of {quoted}")


_NUMBER = _Rule(_is_number, "a finite number")
_DISTANCE = _Rule(lambda value: _is_number(value) and value >= 0, "a finite number of at least 0")
_FLAG = _Rule(lambda value: isinstance(value, bool), "true or false")
_COUNT = _Rule(
    lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
    "an integer of at least 0",
)

_DEFAULTS: Final[Mapping[str, _Rule]] = {
    "decide": _one_of(DECIDE),
    "min_n": _COUNT,
    "on_small_n": _one_of(ON_SMALL_N),
}
_CASES: Final[Mapping[str, _Rule]] = {"on_miss": _one_of(ON_MISS)}
_LIMITS: Final[Mapping[str, _Rule]] = {
    "min": _NUMBER,
    "max": _NUMBER,
    "max_drop": _DISTANCE,
    "max_rise": _DISTANCE,
    "severity": _one_of(SEVERITY),
    **_DEFAULTS,
}
_TOP: Final[Mapping[str, _Rule]] = {
    "version": _Rule(lambda value: type(value) is int and value == 1, "1"),
    "baseline": _Rule(
        lambda value: isinstance(value, str) and bool(value.strip()),
        'the name or path of a run, such as "last"',
    ),
    "confidence": _Rule(
        lambda value: _is_number(value) and 0 < value < 1, "a number between 0 and 1, such as 0.95"
    ),
    "require_baseline": _FLAG,
}
_TABLES: Final = ("cases", "overall", "category", "tag", "defaults")


class _Reader:
    """One pass over the values of a file; faults gather in ``source``."""

    def __init__(
        self, source: TomlSource, groups: Mapping[CheckTable, Collection[str] | None]
    ) -> None:
        self.source = source
        self.groups = groups
        self.defaults: dict[str, Any] = {}
        self.checks: list[Check] = []
        self.limited: dict[tuple[str, str | None, str], Path] = {}

    def read(self) -> Thresholds:
        values = self.source.values
        for name in values:
            if name not in _TOP and name not in _TABLES:
                self._unknown_top(name)
        top = self._plain((), {key: values[key] for key in values if key in _TOP}, _TOP)
        top.pop("version", None)
        self.defaults = self._plain(("defaults",), self._table(("defaults",)), _DEFAULTS)
        cases = self._plain(("cases",), self._table(("cases",)), _CASES)
        self._metrics(("overall",), self._table(("overall",)), "overall", None)
        for table in ("category", "tag"):
            self._grouped(table, self._table((table,)))
        return Thresholds(checks=_name_apart(self.checks), path=self.source.display, **top, **cases)

    def _unknown_top(self, name: str) -> None:
        table = isinstance(self.source.values[name], (dict, list))
        if resolve_gate_key(name) is not None or _is_prefix(name):
            self.source.key_fault((name,), f'"{name}" stands in no table', "put it in [overall]")
        elif table:
            self.source.key_fault((name,), f"unknown table [{name}]", _suggest(name, _TABLES))
        else:
            known = [*_TOP, *_DEFAULTS, *_CASES]
            self.source.key_fault((name,), f'unknown key "{name}"', _suggest(name, known))

    def _table(self, path: Path) -> Mapping[str, Any]:
        value: Any = self.source.values
        for key in path:
            value = value.get(key, {})
        if isinstance(value, dict):
            return value
        self.source.value_fault(path, f"{path[-1]}: got {shorten(value)}, expected a table")
        return {}

    def _plain(
        self, path: Path, values: Mapping[str, Any], rules: Mapping[str, _Rule]
    ) -> dict[str, Any]:
        """Check a table of plain keys and return those that hold what they should."""
        good = {}
        for key, value in values.items():
            rule = rules.get(key)
            if rule is None:
                self.source.key_fault((*path, key), f'unknown key "{key}"', _suggest(key, rules))
            elif not rule.accepts(value):
                message = f"{key}: got {shorten(value)}, expected {rule.expected}"
                self.source.value_fault((*path, key), message)
            else:
                good[key] = value
        return good

    def _grouped(self, table: CheckTable, groups: Mapping[str, Any]) -> None:
        known = self.groups[table]
        for name in groups:
            path = (table, name)
            if known is not None and name not in known:
                self.source.key_fault(path, *_unknown_group(table, name, known))
            self._metrics(path, self._table(path), table, name)

    def _metrics(
        self, path: Path, values: Mapping[str, Any], table: CheckTable, group: str | None
    ) -> None:
        """Read the limits of one table; a dotted metric key nests tables in it."""
        depth = 1 if group is None else 2
        for key, value in values.items():
            here = (*path, key)
            name = ".".join(here[depth:])
            metric = resolve_gate_key(name)
            if metric is None and isinstance(value, dict) and _is_prefix(name):
                self._metrics(here, value, table, group)
                continue
            if metric is None:
                place = f" in [{'.'.join(here[:depth])}]"
                self.source.key_fault(here, *_unknown_metric(name, table, place))
            elif table != "overall" and metric not in METRICS:
                message = f"{name} is a figure of the whole run"
                self.source.key_fault(here, message, "put it in [overall]")
            else:
                self._note_once(here, name, (table, group, metric))
            self._limits(here, value, Check(
                metric=metric or name, kind="min", limit=0.0, table=table, group=group
            ))  # fmt: skip

    def _note_once(self, path: Path, name: str, identity: tuple[str, str | None, str]) -> None:
        first = self.limited.setdefault(identity, path)
        if first != path:
            line = self.source.line(first)
            message = f'"{name}" is "{identity[2]}", which line {line} limits already'
            self.source.key_fault(path, message)

    def _limits(self, path: Path, value: object, blank: Check) -> None:
        """Turn the value of a metric into one check per limit."""
        blank = replace(blank, line=self.source.line(path), **self.defaults)
        if isinstance(value, str) and (limit := _short_limit(value)):
            self.checks.append(replace(blank, kind=limit[0], limit=limit[1]))
        elif isinstance(value, dict):
            self._limit_table(path, value, blank)
        else:
            self.source.value_fault(
                path,
                f"{path[-1]}: got {shorten(value)}, expected a limit such as "
                '">= 0.85", "<= 0.05" or { min = 0.85 }',
            )

    def _limit_table(self, path: Path, value: Mapping[str, Any], blank: Check) -> None:
        good = self._plain(path, value, _LIMITS)
        limits = [kind for kind in LIMITS if kind in value]
        if not limits:
            self.source.key_fault(
                path, f"{path[-1]}: no limit, expected one of {', '.join(LIMITS)}"
            )
        if "min" in good and "max" in good and good["min"] > good["max"]:
            message = f"min: got {good['min']}, which is above max {good['max']}"
            self.source.value_fault((*path, "min"), message)
        extras = {key: item for key, item in good.items() if key not in LIMITS}
        self.checks += [
            replace(
                blank,
                kind=kind,
                limit=float(good[kind]),
                line=self.source.line((*path, kind)),
                **extras,
            )
            for kind in limits
            if kind in good
        ]


def _is_prefix(name: str) -> bool:
    keys = (*METRICS, *RUN_METRICS)
    return any(key.startswith(f"{name}.") for key in keys) or bool(_PHASE_PREFIX.fullmatch(name))
