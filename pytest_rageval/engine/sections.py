"""Sections of the report from a project's own code, computed and stored with the run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Final

from pytest_rageval.engine.own_metrics import call_own
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.support.text import clean
from pytest_rageval.values.numbers import plain
from pytest_rageval.values.run import StoredRun, itself
from pytest_rageval.values.section import Bars, Cell, Section, ShownSection, Table
from pytest_rageval.values.settings import Settings

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
            return _shown(title, found)
        error = fault.bare
    except (TypeError, ValueError, AttributeError) as raised:
        error = clean(str(raised), _CELL_CHARS)
    except Exception as raised:  # of code of the project, such as a generator of rows
        error = type(raised).__name__
    return ShownSection(title=title, error=f"{section.source}: {error}")


def _shown(title: str, found: object) -> ShownSection:
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
