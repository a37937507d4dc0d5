"""thresholds.toml and ``--gate`` expressions to checks. Pure but for ``load_thresholds``.

Every fault of the file is reported at once, each with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.judged import CORRECTED
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.project.threshold_keys import (
    ANY_NAMES,
    CASES,
    DEFAULTS,
    LIMIT,
    LIMIT_TEXT,
    LIMITS,
    PLACES,
    TABLES,
    TOP,
    KnownNames,
    is_metric_prefix,
    is_of_groups,
    may_be_own,
    off_scale,
    resolve_gate_key,
    short_limit,
    unknown_group,
    unknown_metric,
)
from pytest_rageval.support.reading import Keys, hint
from pytest_rageval.support.text import part, shown
from pytest_rageval.support.toml_text import KeyPath, TomlSource, read_text, read_toml
from pytest_rageval.values.errors import ConfigError, Fault
from pytest_rageval.values.gate import (
    CHANGE_WORDS,
    Check,
    CheckKind,
    CheckTable,
    Thresholds,
    needs_baseline,
)
from pytest_rageval.values.settings import JUDGED_ON, Settings

_GATE: Final = re.compile(
    r"\s*(?P<metric>[^\s\[\]<>=]+)\s*"
    r"(?:\[\s*(?P<tag>tag\s+)?(?P<group>[^\[\]\s]+)\s*\])?"
    rf"(?P<limit>{LIMIT_TEXT})"
)


def load_thresholds(
    path: Path, *, known: KnownNames = ANY_NAMES, gates: Sequence[str] = ()
) -> Thresholds:
    """Read thresholds.toml; without the file, the ``gates`` apply and every miss fails.

    Args:
        path: the file; faults show its name.
        known: names that limits may use.
        gates: ``--gate`` expressions.

    Raises:
        ConfigError: the file cannot be read, or holds faults.
    """
    if not path.exists():
        return add_gates(Thresholds(on_miss="fail"), gates, known=known)
    text = read_text(path, path.name)
    return parse_thresholds(text, display=path.name, known=known, gates=gates)


def parse_thresholds(
    text: str, *, display: str, known: KnownNames = ANY_NAMES, gates: Sequence[str] = ()
) -> Thresholds:
    """Parse the text of thresholds.toml.

    Args:
        text: the content.
        display: the path as shown to the user.
        known: names that limits may use.
        gates: ``--gate`` expressions, to which ``[defaults]`` of the file apply, too.

    Raises:
        ConfigError: all faults at once, each ``file:line: message``.
    """
    source = read_toml(text, display=display)
    reader = _Reader(source, known)
    thresholds = reader.read()
    source.raise_faults()
    return add_gates(thresholds, gates, known=known, defaults=reader.defaults)


# --- gate expressions ------------------------------------------------------------------------


def parse_gate_expression(text: str, known: Registry = BUILT_IN, *, more: bool = False) -> Check:
    """Parse an expression such as ``recall_at_k[multi_hop]>=0.9`` or ``mrr[tag work]>=0.7``.

    Args:
        text: the expression.
        known: the metrics.
        more: whether any other name with a dot may be that of a metric of the project.

    Raises:
        ConfigError: it is not an expression, or limits an unknown metric.
    """
    match, place = _GATE.fullmatch(text), f"got {shown(text)}"
    limit = short_limit(match["limit"]) if match else None
    if match is None or limit is None:
        raise ConfigError.of("", "no_gate", found=shown(text))
    table: CheckTable = "overall"
    if match["group"] is not None:
        table = "tag" if match["tag"] else "category"
    name = match["metric"]
    key = resolve_gate_key(name, known)
    if key is None and not (more and may_be_own(name)):
        raise ConfigError.of_faults([unknown_metric(name, table, known)]).within(place)
    if key and table != "overall" and not is_of_groups(key, known):
        raise ConfigError.of(place, "figure_of_run", key=key)
    name = key or name
    if fault := off_scale(known.info(name), *limit):
        raise ConfigError.of_faults([fault]).within(place)
    return Check(metric=name, kind=limit[0], limit=limit[1], table=table, group=match["group"])


def add_gates(
    thresholds: Thresholds,
    gates: Iterable[str],
    *,
    known: KnownNames = ANY_NAMES,
    defaults: Mapping[str, Any] | None = None,
) -> Thresholds:
    """Add checks from the command line; one replaces a check of the same metric and kind.

    Raises:
        ConfigError: all faulty expressions at once.
    """
    checks = {_identity(check): check for check in thresholds.checks}
    faults: list[Fault] = []
    for gate in gates:
        try:
            check = parse_gate_expression(gate, known.registry, more=known.more)
        except ConfigError as error:
            faults += error.within("--gate").faults
            continue
        groups = known.of(check.table)
        if check.group is not None and groups is not None and check.group not in groups:
            unknown = unknown_group(check.table, check.group, groups)
            faults.append(replace(unknown, field=f"--gate: got {shown(gate)}"))
        else:
            checks[_identity(check)] = replace(check, **(defaults or {}))
    if faults:
        raise ConfigError.of_faults(faults)
    return replace(thresholds, checks=_name_apart(checks.values()))


def _identity(check: Check) -> tuple[str, str | None, str, str]:
    return check.table, check.group, check.metric, check.kind


def _name_apart(checks: Iterable[Check]) -> tuple[Check, ...]:
    """Mark each max with a min of the same metric, which would have the same id."""
    listed = list(checks)
    taken = {_identity(check) for check in listed}
    return tuple(
        replace(check, beside_min=check.kind == "max" and (*_identity(check)[:3], "min") in taken)
        for check in listed
    )


# --- the file --------------------------------------------------------------------------------


class _Reader:
    """One pass over the values of a file; faults are collected in ``source``."""

    def __init__(self, source: TomlSource, known: KnownNames) -> None:
        self.source = source
        self.known = known
        self.registry = known.registry
        self.defaults: dict[str, Any] = {}
        self.checks: list[Check] = []
        self.limited: dict[tuple[str, str | None, str], KeyPath] = {}

    def read(self) -> Thresholds:
        values = self.source.values
        for name, value in values.items():
            if name in TOP or name in TABLES or self._misplaced((name,), value):
                continue
            if isinstance(value, (dict, list)):
                facts = {"what": f"table [{name}]", **hint(name, TABLES)}
                self.source.fault((name,), "unknown", **facts)
            else:
                self.source.unknown((name,), PLACES)
        top = self.source.plain((), TOP, {k: v for k, v in values.items() if k in TOP})
        top.pop("version", None)
        self.defaults = self._plain("defaults", DEFAULTS)
        cases = self._plain("cases", CASES)
        if "judged_on" in cases:
            cases["judged_on"] = tuple(one for one in JUDGED_ON if one in cases["judged_on"])
        self._metrics(("overall",), self.source.table(("overall",)), "overall", None)
        for table in ("category", "tag"):
            self._grouped(table, self.source.table((table,)))
        few = {key: value for key, value in self.defaults.items() if key == "min_n"}
        return Thresholds(
            checks=_name_apart(self.checks), path=self.source.display, **few, **top, **cases
        )

    def _plain(self, table: str, keys: Keys) -> dict[str, Any]:
        """Return the valid values of a table of plain keys."""
        values = self.source.table((table,))
        here = {k: v for k, v in values.items() if k in keys or not self._misplaced((table, k), v)}
        return self.source.plain((table,), keys, here)

    def _misplaced(self, path: KeyPath, value: object) -> bool:
        """Note a key that belongs elsewhere in the file, and where; False: it belongs nowhere."""
        *table, name = path
        place = None if isinstance(value, dict) else PLACES.get(name)
        if resolve_gate_key(name, self.registry) or is_metric_prefix(name, self.registry):
            place = "in [overall]"
        if place:
            here = part("[{}]", ".".join(table)) or "no table"
            self.source.fault(path, "misplaced", key=name, here=here, place=place)
        return place is not None

    def _grouped(self, table: CheckTable, groups: Mapping[str, Any]) -> None:
        known = self.known.of(table)
        for name in groups:
            path = (table, name)
            if known is not None and name not in known:
                meant = {f"{name}.{key}" for key in self.source.table(path)}.intersection(known)
                write = f'[{table}."{min(meant)}"]' if meant else ""
                self.source.take(path, unknown_group(table, name, known, write))
            self._metrics(path, self.source.table(path), table, name)

    def _metrics(
        self, path: KeyPath, values: Mapping[str, Any], table: CheckTable, group: str | None
    ) -> None:
        """Read the limits of one table; a dotted metric key nests tables in it."""
        depth = 1 if group is None else 2
        for key, value in values.items():
            here = (*path, key)
            name = ".".join(here[depth:])
            metric = resolve_gate_key(name, self.registry)
            prefix = is_metric_prefix(name, self.registry)
            if metric is None and isinstance(value, dict) and (prefix or _holds_limits(value)):
                self._metrics(here, value, table, group)
                continue
            if metric is None and name in PLACES and self._misplaced(here, value):
                continue
            if metric is None and not (self.known.more and may_be_own(name)):
                place = f" in [{'.'.join(here[:depth])}]"
                self.source.take(here, unknown_metric(name, table, self.registry, place))
            elif metric and table != "overall" and not is_of_groups(metric, self.registry):
                self.source.fault(here, "of_the_run", key=name)
            else:
                self._note_once(here, name, (table, group, metric or name))
            blank = Check(metric=metric or name, kind="min", limit=0.0, table=table, group=group)
            self._limits(here, value, blank)

    def _note_once(self, path: KeyPath, name: str, identity: tuple[str, str | None, str]) -> None:
        first = self.limited.setdefault(identity, path)
        if first != path:
            line = self.source.line(first)
            self.source.fault(path, "limited_twice", key=name, metric=identity[2], first=line)

    def _limits(self, path: KeyPath, value: object, blank: Check) -> None:
        """Turn the value of a metric into one check per limit."""
        blank = replace(blank, line=self.source.line(path), **self.defaults)
        if isinstance(value, str) and (limit := short_limit(value)):
            if self._fits(path, blank.metric, limit):
                self.checks.append(replace(blank, kind=limit[0], limit=limit[1]))
        elif isinstance(value, dict):
            self._limit_table(path, value, blank)
        else:
            such_as = '">= 0.85", "<= 0.05" or { min = 0.85 }'
            self.source.unfit(path, value, f"a limit such as {such_as}")

    def _limit_table(self, path: KeyPath, value: Mapping[str, Any], blank: Check) -> None:
        good = self.source.plain(path, LIMIT, value)
        limits = [kind for kind in LIMITS if kind in value]
        if not limits:
            expected = f"one of {', '.join(LIMITS)}"
            self.source.fault(path, "no_limit", name=path[-1], expected=expected)
        if "min" in good and "max" in good and good["min"] > good["max"]:
            found, most = str(good["min"]), str(good["max"])
            self.source.fault((*path, "min"), "above_max", name="min", found=found, most=most)
        if good.get("use") == "corrected" and not self._is_corrected(limits, blank):
            expected = "plain, unless it is min or max of groundedness or correctness in [overall]"
            self.source.unfit((*path, "use"), "corrected", expected)
        extras = {key: item for key, item in good.items() if key not in LIMITS}
        for kind in limits:
            here = (*path, kind)
            if kind in good and self._fits(here, blank.metric, (kind, good[kind])):
                line, limit = self.source.line(here), float(good[kind])
                self.checks.append(replace(blank, kind=kind, limit=limit, line=line, **extras))

    def _is_corrected(self, limits: Iterable[str], blank: Check) -> bool:
        """Say whether labels of people correct the limited figures."""
        plain = CHANGE_WORDS.keys().isdisjoint(limits) and blank.table == "overall"
        return plain and blank.metric in CORRECTED

    def _fits(self, path: KeyPath, metric: str, limit: tuple[CheckKind, float]) -> bool:
        """Say whether a limit is on the scale of its metric; otherwise it is a fault."""
        if fault := off_scale(self.registry.info(metric), limit[0], float(limit[1])):
            self.source.take(path, replace(fault, field=path[-1]))
        return fault is None


def _holds_limits(table: Mapping[str, Any]) -> bool:
    """Say whether names in a table have limits, as below the dotted key of an unknown metric."""
    others = (value for key, value in table.items() if key not in LIMIT)
    return any(isinstance(value, dict) or short_limit(str(value)) for value in others)


def project_thresholds(
    project: Settings, *, gates: tuple[str, ...], judge_configured: bool, known: KnownNames
) -> Thresholds:
    """Read the gate of a project, whose settings may let checks against a baseline only warn.

    Args:
        project: its root is the folder of thresholds.toml, if there is one.
        gates: ``--gate`` expressions.
        judge_configured: whether answers are judged.
        known: names that limits may use.

    Raises:
        ConfigError: with every fault.
    """
    found = load_thresholds(Path(project.rootdir) / project.thresholds, known=known, gates=gates)
    if project.allow_regressions:
        checks = [replace(c, severity="warn") if needs_baseline(c) else c for c in found.checks]
        found = replace(found, checks=tuple(checks))
    return with_implicit_checks(found, judge_configured=judge_configured)


def with_implicit_checks(thresholds: Thresholds, *, judge_configured: bool) -> Thresholds:
    """Add the default checks, unless the file sets their limits.

    ``error_rate <= 0`` always, ``judge_error_rate <= 0.05`` where a judge is configured.
    """
    limits = {"error_rate": 0.0}
    if judge_configured:
        limits["judge_error_rate"] = 0.05
    written = {c.metric for c in thresholds.checks if c.table == "overall" and c.kind == "max"}
    added = tuple(
        Check(metric=metric, kind="max", limit=limit, implicit=True)
        for metric, limit in limits.items()
        if metric not in written
    )
    return replace(thresholds, checks=thresholds.checks + added)
