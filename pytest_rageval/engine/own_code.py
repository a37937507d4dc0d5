"""A project's own metrics and sections: their registry and their calls.

A new source of metrics is added to ``_definitions``, and nowhere else.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path
from typing import Any, Final

from pytest_rageval.analysis.aggregate.case_groups import case_names
from pytest_rageval.metrics.built_in import BUILT_IN, stored_registry
from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.metrics.view import FAILED, NotApplicable, Score
from pytest_rageval.project.plugins import Definition, load_plugins
from pytest_rageval.report.view.misses import explain_worst
from pytest_rageval.support.http.address import blot_out_known
from pytest_rageval.support.project_code import error_text, last_place, source_place, user_traceback
from pytest_rageval.support.text import clean, counted, shown
from pytest_rageval.support.threads import GivenUp, call_within
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.numbers import OwnFigure, plain
from pytest_rageval.values.own_code import NA, Bars, Cell, Scored, Section, ShownSection, Table
from pytest_rageval.values.record import MOST_SCORE, CaseRecord, MetricDetail
from pytest_rageval.values.reply import AskResponse
from pytest_rageval.values.run import RunConfig, StoredRun, itself
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.verdict import RUBRICS


def open_registry(settings: Settings, registered: Iterable[Definition] = ()) -> Registry:
    """Return the registry of a project, with what its code has registered.

    Raises:
        ConfigError: a rubric or a plug-in cannot be read, or a metric has a name that is taken.
    """
    found = tuple(_definitions(settings, registered))
    metrics = [one for one in found if isinstance(one, MetricInfo)]
    sections = tuple(one for one in found if isinstance(one, Section))
    return replace(BUILT_IN.with_(metrics), sections=sections) if found else BUILT_IN


def registry_for_runs(settings: Settings, *configs: RunConfig) -> Registry:
    """Return the registry in which a project reads stored runs.

    It has the metrics that the runs define, then those of the project if they can be read: a
    stored run needs no rubric file.

    Args:
        settings: of the project.
        configs: ``config.json`` of the runs; of two definitions of a key the later one holds.
    """
    return stored_registry(*configs, project=readable_registry(settings))


def readable_registry(settings: Settings) -> Registry:
    """Return the registry of a project; the built-in metrics alone if it cannot be read."""
    try:
        return open_registry(settings)
    except ConfigError:
        return BUILT_IN


def _definitions(settings: Settings, registered: Iterable[Definition] = ()) -> Iterator[Definition]:
    own = [name for name in dict.fromkeys(settings.judging.rubrics) if name not in RUBRICS]
    if own:  # reading a rubric imports heavy libraries
        from pytest_rageval.judges.rubrics.load import load_rubric

        for name in own:
            yield from load_rubric(name, root=settings.rootdir).definitions
    loaded = load_plugins(settings.plugins, settings.rootdir) if settings.plugins else ()
    # Both ways may lead to the same function.
    yield from {id(info): info for info in (*loaded, *registered)}.values()


_TEXT_CHARS: Final = 500
_READ_CHARS: Final = 4096


@dataclass(frozen=True, slots=True)
class OwnFault:
    """Reason why a function of a project gave no valid result."""

    message: str
    """Without secrets; it may quote an answer."""
    kind: str
    """The same without text of the run, for files that go into git."""
    traceback: str = ""
    """Lines of the project's code that raised; empty: none did."""

    @property
    def bare(self) -> str:
        """The kind, and the place in the project's code if it is known."""
        place = last_place(self.traceback)
        return f"{self.kind} at {place}" if place else self.kind


@dataclass(frozen=True, slots=True)
class OwnScore:
    """Result of one call of a project's metric."""

    score: Score
    said: MetricDetail = field(default_factory=MetricDetail)
    fault: OwnFault | None = None
    """None: there is a score, or the metric does not apply."""


def own_scores(
    case: Case, response: AskResponse | None, registry: Registry, settings: Settings
) -> dict[str, OwnScore]:
    """Score a case by the metrics in the project's code.

    Args:
        case: as it was asked.
        response: the whole reply; None: the question failed, which is an error of each of them.
        registry: the metrics of the session.
        settings: with the limit of one call.
    """
    computed = {key: one for key, one in registry.own_cases.items() if one.compute is not None}
    if response is None:
        return dict.fromkeys(computed, OwnScore(FAILED))
    return {
        key: compute(info, settings, lambda: (deepcopy(case), deepcopy(response)))
        for key, info in computed.items()
    }


def compute(
    info: MetricInfo, settings: Settings, arguments: Callable[[], tuple[object, ...]]
) -> OwnScore:
    """Call the function of a metric and check what it returns; it never raises.

    Args:
        info: a metric with a function.
        settings: with the limit of the call and the folder of the project.
        arguments: makes those of the function.
    """
    assert info.compute is not None
    found, fault = call_own(info.compute, arguments(), settings)
    if fault is not None:
        return _failed(info, settings, fault)
    try:
        return _checked(found, info)
    except ValueError as wrong:
        kind = "no valid score"
        if not isinstance(found, Scored | NA):
            kind += f" but a value of type {type(found).__name__}"
        return _failed(info, settings, OwnFault(str(wrong), kind=kind))


def call_own(
    function: Callable[..., object], given: tuple[object, ...], settings: Settings
) -> tuple[object, OwnFault | None]:
    """Call a function of the project within its limit.

    Returns:
        Its result, and None or the reason why it is absent.
    """

    def call() -> tuple[object, BaseException | None]:
        try:
            return function(*given), None
        except BaseException as error:  # SystemExit and the like must not end the run either
            return None, error

    try:
        found, error = call_within(settings.metric_timeout_s, call)
    except GivenUp as late:
        message = f"{late} (metric_timeout_s of [tool.rageval])"
        return None, OwnFault(message, kind=message)
    if error is None:
        return found, None
    text = clean(blot_out_known(error_text(error), _READ_CHARS), _TEXT_CHARS)
    message = f"{type(error).__name__}{': ' if text else ''}{text}"
    lines = user_traceback(error, Path(settings.rootdir), hide=blot_out_known)
    return None, OwnFault(message, kind=type(error).__name__, traceback=lines)


def _failed(info: MetricInfo, settings: Settings, fault: OwnFault) -> OwnScore:
    place = source_place(info.compute, Path(settings.rootdir)).partition(": in ")[0]
    origin = f"{info.source} ({place})" if place else info.source
    said = MetricDetail(error=fault.message, place=origin, traceback=fault.traceback)
    return OwnScore(FAILED, said, fault)


def _checked(found: object, info: MetricInfo) -> OwnScore:
    """Return the score that a function returned.

    Raises:
        ValueError: it is not a score.
    """
    if isinstance(found, NA):
        if not isinstance(found.reason, str) or not found.reason.strip():
            raise ValueError(f"returned NA({_shown(found.reason)}), expected a reason in words")
        return OwnScore(NotApplicable(_words(found.reason)))
    if not isinstance(found, Scored):
        if inspect.iscoroutine(found):
            found.close()  # or it would warn that it was never awaited
        raise ValueError(
            f"returned {_shown(found)}, expected Scored(value) or NA(reason); "
            "a metric is a plain function"
        )
    if not isinstance(found.detail, str):
        raise ValueError(f"returned the detail {_shown(found.detail)}, expected a string")
    value = _number(found.value)
    low, high = info.bounds
    if value is None or not abs(value) <= MOST_SCORE:
        expected = f"a finite number of at most {MOST_SCORE:g}"
    elif info.binary and value not in (0.0, 1.0):
        expected = "0 or 1: it is binary"
    elif not low <= value <= high:
        expected = f"{low:g} or more" if info.scale[1] is None else f"{low:g} to {high:g}"
    else:
        return OwnScore(value, MetricDetail(detail=_words(found.detail)))
    raise ValueError(f"returned Scored({_shown(found.value)}), expected {expected}")


def _number(value: Any) -> float | None:
    """Return a number of Python or numpy, or None."""
    try:
        value = plain(value)
        return float(value) if isinstance(value, Real) else None
    except (TypeError, ValueError, OverflowError):
        return None


def _shown(value: object) -> str:
    try:
        return clean(blot_out_known(shown(value)))
    except Exception:  # its ``__repr__`` is code of the project, too
        return f"a {type(value).__name__}"


def _words(text: str) -> str:
    return clean(blot_out_known(text, _READ_CHARS), _TEXT_CHARS)


def own_notes(records: Sequence[CaseRecord]) -> list[str]:
    """Name each metric of the project that erred, with its place and the first case.

    Its message stays in the record, since it may quote an answer, and notes go into summary.md.
    """
    found: dict[tuple[str, str], list[CaseRecord]] = {}
    for record in records:
        for key, said in record.scores.metric_details.items():
            if said.error:
                found.setdefault((key, said.place), []).append(record)
    names = case_names(records)
    return [
        f"{key}: {counted(len(erred), 'error')} of {place}, shown by "
        f"`{explain_worst(erred, names, 'last')[0]}`"
        for (key, place), erred in found.items()
    ]


def run_scores(
    project: Registry, records: Sequence[CaseRecord], defined: Registry, settings: Settings
) -> dict[str, OwnFigure]:
    """Compute the own metrics of a whole run.

    Args:
        project: the metrics with their functions.
        records: of the run; those that no person has reviewed do not count.
        defined: the metrics that the run defines; a function of another version is not called.
        settings: with the limit of one call.
    """
    found: dict[str, OwnFigure] = {}
    counted_ones = tuple(record for record in records if record.counted)
    for key, info in defined.runs.items():
        if info.built_in:
            continue
        code = project.runs.get(key)
        if code is None or code.compute is None or code.meaning != info.meaning:
            gone = f"{info.source}: its code of version {info.version} is not there"
            found[key] = OwnFigure(error=gone)
            continue
        one = compute(code, settings, lambda: (deepcopy(counted_ones),))
        if isinstance(one.score, float):
            found[key] = OwnFigure(value=one.score)
        elif isinstance(one.score, NotApplicable):
            found[key] = OwnFigure(not_applicable=one.score.reason)
        elif one.fault is not None:
            found[key] = OwnFigure(error=f"{one.said.place}: {one.fault.bare}")
    return found


_MOST_ROWS: Final = 1000
_MOST_COLUMNS: Final = 20
_CELL_CHARS: Final = 200


def computed_sections(
    registry: Registry, run: StoredRun, settings: Settings
) -> tuple[ShownSection, ...]:
    """Compute the sections of a project.

    What goes wrong in one is its ``error``: the place, without a message that may quote an answer.
    """
    if not registry.sections:
        return ()
    seen = replace(run, whole=itself)  # all are; that of a run under way cannot be copied
    return tuple(_computed(one, deepcopy(seen), settings) for one in registry.sections)


def _computed(section: Section, run: StoredRun, settings: Settings) -> ShownSection:
    assert section.compute is not None
    title = clean(section.title, _CELL_CHARS)
    found, fault = call_own(section.compute, (run,), settings)
    try:
        if fault is None:
            return _section(title, found)
        error = fault.bare
    except (TypeError, ValueError, AttributeError) as raised:
        error = clean(str(raised), _CELL_CHARS)
    except Exception as raised:  # of code of the project, such as a generator of rows
        error = type(raised).__name__
    return ShownSection(title=title, error=f"{section.source}: {error}")


def _section(title: str, found: object) -> ShownSection:
    if isinstance(found, Bars):
        if not isinstance(found.values, Mapping) or len(found.values) > _MOST_ROWS:
            raise ValueError(f"expected a mapping of at most {_MOST_ROWS} bars")
        bars = tuple((_cell(str(name)), _cell(value)) for name, value in found.values.items())
        unit = clean(str(found.unit), 20)
        return ShownSection(
            title=title, columns=("", unit or "value"), rows=bars, bars=True, unit=unit
        )
    if not isinstance(found, Table):
        raise ValueError(f"returned a {type(found).__name__}, expected Table or Bars")
    columns = tuple(clean(str(name), _CELL_CHARS) for name in found.columns)
    rows = tuple(tuple(map(_cell, row)) for row in found.rows)
    if len(columns) > _MOST_COLUMNS or len(rows) > _MOST_ROWS:
        raise ValueError(f"more than {_MOST_COLUMNS} columns or {_MOST_ROWS} rows")
    return ShownSection(title=title, columns=columns, rows=rows)


def _cell(value: object) -> Cell:
    value = plain(value)
    if isinstance(value, str):
        return clean(value, _CELL_CHARS)
    if value is None or (isinstance(value, int | float) and math.isfinite(value)):
        return value
    raise ValueError(
        f"a cell is a {type(value).__name__}, expected a text, a finite number or None"
    )
