"""Rows of plain values as data frames of pandas or polars, which are imported only here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final, Literal

Kind = Literal["text", "texts", "whole", "number", "boolean", "reasons"]
"""Content of a column. ``texts`` is a list, ``reasons`` a dictionary of texts, which frames leave
out; each value of the others may be None."""

_PANDAS: Final = {"whole": "Int64", "number": "Float64", "boolean": "boolean"}
"""Types that keep a value that is missing apart from NaN; others are objects."""
_POLARS: Final = {"text": "String", "whole": "Int64", "number": "Float64", "boolean": "Boolean"}


def pandas_frame(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, Kind]) -> Any:
    """Return rows as a ``pandas.DataFrame``; a value that is None is ``pandas.NA``.

    Raises:
        ImportError: pandas is not installed.
    """
    pandas = _import("pandas")
    kinds = {name: kind for name, kind in columns.items() if kind != "reasons"}
    frame = pandas.DataFrame([{n: row[n] for n in kinds} for row in rows], columns=list(kinds))
    return frame.astype({n: _PANDAS[kind] for n, kind in kinds.items() if kind in _PANDAS})


def polars_frame(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, Kind]) -> Any:
    """Return rows as a ``polars.DataFrame``; a value that is None is null.

    Raises:
        ImportError: polars is not installed.
    """
    polars = _import("polars")
    kinds = {name: kind for name, kind in columns.items() if kind != "reasons"}
    schema = {
        name: polars.List(polars.String) if kind == "texts" else getattr(polars, _POLARS[kind])
        for name, kind in kinds.items()
    }
    return polars.DataFrame([{n: row[n] for n in kinds} for row in rows], schema=schema)


def _import(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"to_{name}() needs the package {name}, which is not installed: pip install {name}; "
            "rows() needs none"
        ) from error
