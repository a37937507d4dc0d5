"""The decorators that make functions of a project metrics or sections of the report."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FunctionType
from typing import TypeVar, get_args

from pytest_rageval.api.run import Run
from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.own_code import MARK, NA, Bars, Direction, Scored, Section, Table
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import AskResponse

_Metric = TypeVar("_Metric", bound=Callable[[Case, AskResponse], "Scored | NA"])


def metric(
    key: str,
    *,
    title: str = "",
    direction: Direction = "higher",
    binary: bool = False,
    scale: tuple[float, float | None] = (0.0, 1.0),
    population: str = "cases that were answered",
    version: str = "1",
) -> Callable[[_Metric], _Metric]:
    """Make a function of a case and its reply a metric; it is called once for each answer.

    Both are read-only. What the function raises is an error of this metric on that case.

    Args:
        key: of thresholds, reports and comparisons, with a dot: ``acme.pii_free``.
        title: short name for people; empty: the key.
        direction: that of improvement, or ``neutral``.
        binary: whether every score is 0 or 1.
        scale: lowest and highest possible score; ``(0, None)``: unbounded above.
        population: the cases to which it applies, in a few words.
        version: to be changed with the meaning of the score: runs of two versions are not compared.

    Raises:
        ConfigError: the definition is wrong.
    """
    info = MetricInfo(
        key=key,
        title=title or key,
        direction=direction,
        scale=scale,
        binary=binary,
        population=population,
        level="own",
        version=version,
    )
    return marker(info)


_RunMetric = TypeVar("_RunMetric", bound=Callable[[Sequence[CaseRecord]], "Scored | NA"])


def run_metric(
    key: str,
    *,
    title: str = "",
    direction: Direction = "higher",
    scale: tuple[float, float | None] = (0.0, None),
    version: str = "1",
) -> Callable[[_RunMetric], _RunMetric]:
    """Make a function of the records of a run a figure of the whole run.

    It is called once at the end, with the read-only records of all cases that a person has reviewed
    and their repeats.

    Args:
        key: as that of ``metric``; likewise the others.
        title: short name for people; empty: the key.
        direction: that of improvement, or ``neutral``.
        scale: lowest and highest possible value; ``(0, None)``: unbounded above.
        version: to be changed with the meaning of the value.

    Raises:
        ConfigError: the definition is wrong.
    """
    info = MetricInfo(
        key=key,
        title=title or key,
        direction=direction,
        scale=scale,
        population="the whole run",
        level="run",
        version=version,
    )
    return marker(info)


_Function = TypeVar("_Function", bound=Callable[..., object])


def marker(info: MetricInfo) -> Callable[[_Function], _Function]:
    """Return the decorator that puts a definition on a function, which stays as it is.

    Raises:
        ConfigError: the definition is wrong.
    """
    _check(info)

    def mark(function: _Function) -> _Function:
        return marked(function, replace(info, compute=function))

    return mark


def marked(function: _Function, defined: MetricInfo | Section) -> _Function:
    """Put a definition on a function, with its module and name."""
    defined = replace(defined, source=_origin(function))
    setattr(function, MARK, (*getattr(function, MARK, ()), defined))
    return function


def _check(info: MetricInfo) -> None:
    where = f"metric {info.key!r}"
    for name in ("key", "title", "population", "version"):
        value = getattr(info, name)
        if isinstance(value, FunctionType):  # that of a decorator without its brackets
            raise ConfigError.of(
                f"metric {value.__qualname__}", "no_key", key=f"acme.{value.__name__}"
            )
        if not isinstance(value, str):
            raise ConfigError.of(f"{where}: {name}", "type", found=repr(value), expected="a string")
    if info.direction not in get_args(Direction):
        names = ", ".join(get_args(Direction))
        raise ConfigError.of(
            f"{where}: direction", "choice", found=repr(info.direction), expected=f"one of {names}"
        )
    if not _is_scale(info.scale):
        raise ConfigError.of(
            f"{where}: scale",
            "value",
            found=repr(info.scale),
            expected="the lowest and the highest score such as (0, 5), or (0, None) for no highest",
        )
    if info.binary and info.scale != (0, 1):
        raise ConfigError.of(
            f"{where}: scale", "value", found=repr(info.scale), expected="(0, 1): it is binary"
        )


def _is_scale(scale: object) -> bool:
    match scale:
        case tuple((int() | float() as low, int() | float() | None as high)):
            return math.isfinite(low) and (high is None or low < high < math.inf)
    return False


def _origin(function: object) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', '?')}:{name}"


_Section = TypeVar("_Section", bound=Callable[[Run], Table | Bars])


def section(title: str) -> Callable[[_Section], _Section]:
    """Make a function of a run a section of ``report.html`` and ``summary.md``.

    It is called once at the end, after the metrics; the run is read-only.

    Args:
        title: heading of the section.

    Raises:
        ConfigError: there is no title.
    """
    if not isinstance(title, str) or not title.strip():
        raise ConfigError.of(
            "section", "type", found=f"the title {title!r}", expected="its heading"
        )

    def mark(function: _Section) -> _Section:
        return marked(function, Section(title=title, compute=lambda run: function(Run(run, None))))

    return mark
