"""Dataclasses that are cheap to define.

The standard decorator compiles source code for each method of each class, which a session pays
when it imports the modules: about two thirds of it for comparing, hashing and showing values.
"""

from __future__ import annotations

import dataclasses
from functools import cache, partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, eq=True, repr=True, frozen=False, **options):
        """Behave as the standard decorator, with methods that all classes share."""
        if cls is None:
            return partial(dataclass, eq=eq, repr=repr, frozen=frozen, **options)
        own = vars(cls)
        made = dataclasses.dataclass(eq=False, repr=False, frozen=frozen, **options)(cls)
        if repr and "__repr__" not in own:
            made.__repr__ = _repr
        if eq and "__eq__" not in own:
            made.__eq__ = _eq
            made.__hash__ = _hash if frozen else None
        return made


@cache
def _compared(cls: Any) -> attrgetter[Any]:
    return attrgetter("__class__", *(one.name for one in dataclasses.fields(cls) if one.compare))


def _values(self: Any) -> Any:
    kind: Any = type(self)
    return _compared(kind)(self)


def _eq(self: Any, other: object) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    return _values(self) == _values(other)


def _hash(self: Any) -> int:
    return hash(_values(self))


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (one.name for one in dataclasses.fields(self) if one.repr)
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
    return f"{type(self).__qualname__}({values})"
