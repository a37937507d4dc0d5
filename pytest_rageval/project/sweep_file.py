"""sweep.toml: the parameters that a sweep varies, and its goal.

Every fault of the file is reported at once, each with its line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.project.threshold_keys import resolve_gate_key, unknown_metric
from pytest_rageval.project.thresholds import parse_gate_expression
from pytest_rageval.support.reading import Keys, keys_of
from pytest_rageval.support.text import shown
from pytest_rageval.support.toml_text import KeyPath, TomlSource, read_text, read_toml
from pytest_rageval.values.declared import Text
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.gate import Check
from pytest_rageval.values.lenient import number
from pytest_rageval.values.sweep import SWEEP_SCORE, Axis, Range, SweepFile, Value

SWEEP_FILE: Final = "sweep.toml"


def read_sweep(path: Path, *, registry: Registry = BUILT_IN) -> SweepFile:
    """Read a sweep.

    Args:
        path: the file.
        registry: the metrics.

    Raises:
        ConfigError: the file cannot be read, or holds faults: all of them at once.
    """
    display = path.as_posix()
    text = read_text(path, display)
    return parse_sweep(text, display=display, registry=registry)


def parse_sweep(text: str, *, display: str, registry: Registry = BUILT_IN) -> SweepFile:
    """Parse the text of a sweep; see ``read_sweep``."""
    source = read_toml(text, display=display)
    source.examples = _EXAMPLES
    found = _Reader(source, registry).read()
    source.raise_faults()
    return SweepFile(path=display, **found)


_SEARCH: Final = keys_of(SweepFile, "method", "budget", "holdout", "seed")
_RANGE: Final = keys_of(Range, "min", "max", "step", "log")
_BUILD: Final[Keys] = {"embedded": Literal[True], **dict.fromkeys(("command", "fixture"), Text)}
_TOP: Final = ("objective", "weights", "constraints", "baseline", "query", "index", "search")


_EXAMPLES: Final[Mapping[KeyPath, str]] = {
    ("query",): "[query] with k = [3, 5] below it",
    ("index",): "[index] with chunk_tokens = [200, 400] below it",
    ("index", "build"): "[index.build] with embedded = true below it",
    ("search",): '[search] with method = "grid" below it',
    ("baseline",): "baseline = { k = 5 }",
    ("weights",): "weights = { recall_at_k = 0.7, mrr = 0.3 }",
}


class _Reader:
    """One pass over the values of a file; faults are collected in ``source``."""

    def __init__(self, source: TomlSource, registry: Registry) -> None:
        self.source = source
        self.registry = registry

    def read(self) -> dict[str, Any]:
        """Return the fields of the sweep that are valid."""
        for name in self.source.values:
            if name not in _TOP:
                self.source.unknown((name,), _TOP)
        found = self.source.plain(("search",), _SEARCH)
        if objectives := self._objectives():
            found["objectives"] = objectives
        found["weights"] = self._weights(objectives)
        found["constraints"] = self._constraints()
        found["query"] = self._axes(("query",))
        found["index"] = self._axes(("index",), without="build")
        for name in found["query"].keys() & found["index"].keys():
            self.source.fault(("index", name), "in_query", key=name)
        if not found["query"] and not found["index"] and not self.source.faults:
            raise ConfigError.of(f"{self.source.display}:1", "no_parameter")
        found |= self._build(found["index"])
        found["baseline"] = self._baseline({**found["query"], **found["index"]})
        continuous = any(
            isinstance(a, Range) for t in ("query", "index") for a in found[t].values()
        )
        if continuous and found.get("method", "auto") not in {"auto", "optuna"}:
            path, method = ("search", "method"), found["method"]
            self.source.fault(path, "not_range", name="method", found=method)
        return found

    # --- objectives and constraints ----------------------------------------------------------

    def _objectives(self) -> tuple[str, ...]:
        given = self.source.values.get("objective")
        if given is None:
            return ()
        names = [given] if isinstance(given, str) else given
        path = ("objective",)
        if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
            self.source.unfit(path, given, "a metric or a list of metrics")
            return ()
        found = []
        for place, name in enumerate(names):
            key = name if name == SWEEP_SCORE else resolve_gate_key(name, self.registry)
            if key is None:
                self.source.take(path, unknown_metric(name, "overall", self.registry))
            elif code := self._unfit(key, decides=not place):
                self.source.fault(path, code, name="objective", key=key)
            elif key in found:
                self.source.fault(path, "listed_twice", name="objective", found=key)
            else:
                found.append(key)
        return tuple(found)

    def _unfit(self, key: str, *, decides: bool) -> str:
        """Return the code of the fault of an objective; empty: it fits."""
        info = self.registry.info(key)
        if info is not None and info.direction == "neutral":
            return "neutral"
        if key == SWEEP_SCORE:
            return "" if decides else "only_first"
        if decides and key not in self.registry.cases:
            return "undecided"
        return ""

    def _weights(self, objectives: Sequence[str]) -> dict[str, float] | None:
        if "weights" not in self.source.values:
            return None
        by_default = "objective" not in self.source.values
        if by_default or (objectives and objectives[0] != SWEEP_SCORE):
            self.source.fault(("weights",), "weights", score=SWEEP_SCORE)
        found: dict[str, float] = {}
        for name, value in self.source.table(("weights",)).items():
            path = ("weights", name)
            info = self.registry.cases.get(self.registry.resolve(name) or "")
            if info is None:
                self.source.take(path, unknown_metric(name, "category", self.registry))
            elif info.direction != "higher" or info.scale != (0.0, 1.0):
                self.source.fault(path, "not_weighed", name=name)
            elif number(value) is None or value <= 0:
                self.source.unfit(path, value, "a number above 0")
            else:
                found[info.key] = float(value)
        return found or None

    def _constraints(self) -> tuple[Check, ...]:
        given = self.source.values.get("constraints", [])
        path = ("constraints",)
        if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
            self.source.unfit(path, given, 'a list such as ["over_abstention_rate <= 0.1"]')
            return ()
        found = []
        for one in given:
            try:
                found.append(parse_gate_expression(one, self.registry))
            except ConfigError as error:
                self.source.fault(path, "invalid", name="constraints", reason=str(error))
        return tuple(found)

    # --- parameters --------------------------------------------------------------------------

    def _axes(self, path: KeyPath, without: str = "") -> dict[str, Axis]:
        found: dict[str, Axis] = {}
        for name, given in self.source.table(path).items():
            if name == without:
                continue
            axis: Axis | None = None
            if isinstance(given, dict):
                axis = self._range((*path, name))
            elif isinstance(given, list):
                axis = self._values((*path, name), given)
            else:
                expected = "a list of values such as [3, 5], or a range { min = 3, max = 10 }"
                self.source.unfit((*path, name), given, expected)
            if axis is not None:
                found[name] = axis
        return found

    def _values(self, path: KeyPath, given: list[Any]) -> tuple[Value, ...] | None:
        name = path[-1]
        if not given:
            self.source.fault(path, "no_values", key=name)
            return None
        seen: set[tuple[bool, Value]] = set()
        for one in given:
            if not (isinstance(one, (str, bool)) or number(one) is not None):
                self.source.unfit(path, one, "texts, finite numbers and booleans, such as [3, 5]")
                return None
            # 3 and 3.0 are one value, 1 and true are two.
            if (isinstance(one, bool), one) in seen:
                self.source.fault(path, "listed_twice", name=name, found=shown(one))
                return None
            seen.add((isinstance(one, bool), one))
        return tuple(given)

    def _range(self, path: KeyPath) -> Range | None:
        n_faults = len(self.source.faults)
        given = self.source.plain(path, _RANGE)
        if len(self.source.faults) > n_faults:
            return None
        if not {"min", "max"} <= given.keys() or given["min"] >= given["max"]:
            self.source.unfit(path, given, "{ min = 0.1, max = 0.9 } with min below max")
            return None
        if given.get("log") and ("step" in given or given["min"] <= 0):
            self.source.fault(path, "log_range", name=path[-1])
            return None
        return Range(**given)

    def _build(self, index: Mapping[str, Axis]) -> dict[str, Any]:
        path = ("index", "build")
        if "build" not in self.source.table(("index",)):
            if index:
                expected = "[index.build] with embedded = true, command or fixture"
                self.source.fault(("index",), "no_build", expected=expected)
            return {}
        given, whole = self.source.plain(path, _BUILD), self.source.values["index"]["build"]
        if isinstance(whole, dict) and len(whole) != 1:
            self.source.unfit(path, whole, "one of embedded = true, command and fixture")
        return {
            "build": given.get("command"),
            "build_embedded": given.get("embedded", False),
            "build_fixture": given.get("fixture"),
        }

    def _baseline(self, axes: Mapping[str, Axis]) -> dict[str, Value] | None:
        if "baseline" not in self.source.values:
            return None
        found: dict[str, Value] = {}
        for name, value in self.source.table(("baseline",)).items():
            axis, path = axes.get(name), ("baseline", name)
            if axis is None:
                self.source.unknown(path, axes, "parameter")
            elif not _holds(axis, value):
                self.source.unfit(path, value, _choices(axis))
            else:
                found[name] = value
        firsts = {n: a.min if isinstance(a, Range) else a[0] for n, a in axes.items()}
        return {**firsts, **found}


def _holds(axis: Axis, value: object) -> bool:
    if isinstance(axis, Range):
        sound = number(value) is not None
        return sound and axis.min <= value <= axis.max  # type: ignore[operator]
    return any(type(value) is type(one) and value == one for one in axis)


def _choices(axis: Axis) -> str:
    if isinstance(axis, Range):
        return f"a number from {axis.min:g} to {axis.max:g}"
    return "one of " + ", ".join(map(shown, axis))
