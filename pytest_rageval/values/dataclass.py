"""Dataclasses that are cheap to define.

The standard decorator compiles source code for each method of each class, which a session pays
when it imports the modules, though it makes objects of few of the classes.

Freezing costs a call per field of each object, more than all else: what is made several times a
case and lives in one step of it, such as a reply or a part of the page, is not frozen.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable
from functools import cache, partial
from operator import attrgetter
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace

    _P = ParamSpec("_P")
    _T = TypeVar("_T")

    def maker(kind: Callable[_P, _T]) -> Callable[_P, _T]:
        """Return a function that makes objects of a dataclass."""
else:

    def maker(kind):
        """Return a function that makes objects of a dataclass, at a third of the cost of a call.

        Python packs the keywords of the call of a class into a dictionary, and those of a function
        not. For what is made several times a case.
        """
        return _compiled(kind, new=True)

    def replace(value, /, **changes):
        """Behave as the standard function, at a quarter of its cost."""
        names, read = _fields(type(value), given=True)
        return type(value)(**dict(zip(names, read(value), strict=True)) | changes)

    def dataclass(cls=None, /, *, eq=True, repr=True, frozen=False, slots=False, **options):
        """Behave as the standard decorator, with methods that are shared or made when needed."""
        if cls is None:
            return partial(dataclass, eq=eq, repr=repr, frozen=frozen, slots=slots, **options)
        if cls.__doc__ is None:
            cls.__doc__ = cls.__name__  # else it would be the signature, which takes long
        options |= {"init": False, "eq": False, "repr": False, "slots": slots}
        # It lets only a frozen class derive from a frozen one.
        options["frozen"] = frozen and dataclasses.is_dataclass(cls)
        made = dataclasses.dataclass(**options)(cls)
        made.__dataclass_params__.frozen = frozen
        methods = {"__init__": _Constructor(made)}
        if repr:
            methods["__repr__"] = _repr
        if eq:
            methods |= {"__eq__": _eq, "__hash__": _hash if frozen else None}
        if frozen:
            methods |= {"__setattr__": _keep, "__delattr__": _keep}
        if frozen and slots:
            methods |= {"__getstate__": _state, "__setstate__": _set_state}
        for name, method in methods.items():
            if name not in vars(cls):
                setattr(made, name, method)
        return made


class _Constructor:
    """The ``__init__`` of a class up to its first use, which compiles it."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        made = self._kind.__init__ = _compiled(self._kind)
        return made.__get__(instance, owner)


def _compiled(kind: Any, *, new: bool = False) -> Any:
    """Return the ``__init__`` of a class, or a function that makes a new object of it."""
    known: dict[str, Any] = {"_absent": object(), "_set": object.__setattr__, "_kind": kind}
    positional, named, lines = ["self"], ["*"], []
    if new:
        positional, lines = [], ["self = object.__new__(_kind)"]
    fields = [one for one in dataclasses.fields(kind) if one.init]
    for one in fields:
        name = value = parameter = one.name
        if one.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = one.default
            parameter = f"{name}=_default_{name}"
        elif one.default_factory is not dataclasses.MISSING:
            known[f"_default_{name}"] = one.default_factory
            parameter = f"{name}=_absent"
            value = f"_default_{name}() if {name} is _absent else {name}"
        (named if one.kw_only else positional).append(parameter)
        slot = getattr(kind, name, None)
        if not kind.__dataclass_params__.frozen:
            lines.append(f"self.{name} = {value}")
        elif isinstance(slot, MemberDescriptorType):  # faster than to look for it each time
            known[f"_set_{name}"] = slot.__set__
            lines.append(f"_set_{name}(self, {value})")
        else:
            lines.append(f"_set(self, {name!r}, {value})")
    lines.append("self.__post_init__()" if hasattr(kind, "__post_init__") else "pass")
    lines += ["return self"] if new else []
    parameters = ", ".join(positional + named[len(named) == 1 :])
    source = f"def make({', '.join(known)}):\n def __init__({parameters}):\n  "
    source += "\n  ".join(lines) + "\n return __init__"
    found: dict[str, Any] = {}
    exec(source, vars(sys.modules[kind.__module__]), found)
    made = found["make"](**known)
    made.__qualname__ = f"{kind.__qualname__}.__init__"
    made.__annotations__ = {one.name: one.type for one in fields} | {"return": None}
    return made


def field_values(value: Any) -> dict[str, Any]:
    """Return the fields of a flat value; ``asdict`` would copy each of them deeply."""
    kind: Any = type(value)
    names, read = _fields(kind)
    return dict(zip(names, read(value), strict=True))


@cache
def _fields(cls: Any, *, given: bool = False) -> tuple[list[str], Callable[[Any], Iterable[Any]]]:
    """Return the names of fields, or of those that a caller gives, and a reader of their values."""
    names = [one.name for one in dataclasses.fields(cls) if one.init or not given]
    if len(names) > 1:
        return names, attrgetter(*names)
    return names, lambda value: [getattr(value, name) for name in names]


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


def _keep(self: Any, name: str, *value: object) -> None:
    kind = type(self)
    # A class derived from a dataclass may have attributes besides its fields.
    if "__dataclass_fields__" in vars(kind) or name in self.__dataclass_fields__:
        verb = "assign to" if value else "delete"
        raise dataclasses.FrozenInstanceError(f"cannot {verb} field {name!r}")
    (object.__setattr__ if value else object.__delattr__)(self, name, *value)


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for one, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)
