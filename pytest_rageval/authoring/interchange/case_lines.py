"""A case as a line of a case file, without what it leaves at its default."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, Final

from pytest_rageval.values.case import Anchor, Case


def _defaults(kind: type[Case | Anchor]) -> dict[str, Any]:
    return {
        one.name: one.default_factory() if one.default_factory is not MISSING else one.default
        for one in fields(kind)
    }


_CASE: Final = _defaults(Case)
_ANCHOR: Final = _defaults(Anchor)


def case_line(case: Case) -> dict[str, Any]:
    """Return the fields of a case that say something, as JSON values."""
    return _said(case, _CASE)


def anchor_line(anchor: Anchor) -> dict[str, Any]:
    """Return the fields of an anchor that say something, as JSON values."""
    return _said(anchor, _ANCHOR)


def _said(value: Case | Anchor, defaults: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _plain(getattr(value, name))
        for name, default in defaults.items()
        if getattr(value, name) != default
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Anchor):
        return anchor_line(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return dict(value) if isinstance(value, dict) else value
