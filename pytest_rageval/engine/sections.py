"""Sections of the report from a project's own code, computed and stored with the run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from pytest_rageval.engine.own_metrics import call_own
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.support.text import clean
from pytest_rageval.values.numbers import plain
from pytest_rageval.values.read_only import read_only
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.section import Bars, Section, Table
from pytest_rageval.values.settings import Settings

_MOST_ROWS: Final = 1000
_MOST_COLUMNS: Final = 20
_CELL_CHARS: Final = 200


def section_documents(
    registry: Registry, run: StoredRun, settings: Settings
) -> list[dict[str, Any]]:
    """Compute the sections of a project as ``sections.json`` holds them.

    What goes wrong in one is its ``error``: the place, without a message that may quote an answer.
    """
    if not registry.sections:
        return []
    seen = read_only(run)
    return [
        {"title": clean(one.title, _CELL_CHARS), **_computed(one, seen, settings)}
        for one in registry.sections
    ]


def _computed(section: Section, run: StoredRun, settings: Settings) -> dict[str, Any]:
    assert section.compute is not None
    found, fault = call_own(section.compute, (run,), settings)
    if fault is not None:
        return {"error": f"{section.source}: {fault.bare}"}
    try:
        return _document(found)
    except (TypeError, ValueError, AttributeError) as error:
        return {"error": f"{section.source}: {clean(str(error), _CELL_CHARS)}"}
    except Exception as error:  # of code of the project, such as a generator of rows
        return {"error": f"{section.source}: {type(error).__name__}"}


def _document(found: object) -> dict[str, Any]:
    if isinstance(found, Bars):
        if not isinstance(found.values, Mapping) or len(found.values) > _MOST_ROWS:
            raise ValueError(f"expected a mapping of at most {_MOST_ROWS} bars")
        bars = [[_cell(str(name)), _cell(value)] for name, value in found.values.items()]
        if not all(isinstance(value, int | float) and value >= 0 for _, value in bars):
            raise ValueError("a bar is no number, or below 0")
        return {"kind": "bars", "unit": clean(str(found.unit), 20), "bars": bars}
    if not isinstance(found, Table):
        raise ValueError(f"returned a {type(found).__name__}, expected Table or Bars")
    columns = [_cell(str(name)) for name in found.columns]
    rows = [[_cell(value) for value in row] for row in found.rows]
    if len(columns) > _MOST_COLUMNS or len(rows) > _MOST_ROWS:
        raise ValueError(f"more than {_MOST_COLUMNS} columns or {_MOST_ROWS} rows")
    if any(len(row) != len(columns) for row in rows):
        raise ValueError("a row is not as long as the columns")
    return {"kind": "table", "columns": columns, "rows": rows}


def _cell(value: object) -> str | float | None:
    value = plain(value)
    if isinstance(value, str):
        return clean(value, _CELL_CHARS)
    if value is None or (isinstance(value, int | float) and math.isfinite(value)):
        return value
    raise ValueError(
        f"a cell is a {type(value).__name__}, expected a text, a finite number or None"
    )
