"""Dataclasses that are cheap to define.

The standard decorator compiles source code for each method of each class, which a session pays
when it imports the modules, though it makes objects of few of the classes.

Freezing costs a call per field of each object, more than all else, unless a ``maker`` makes it.
What is made several times a case and lives in one step of it, such as a reply, is not frozen.
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
        not. For what is made several times a case, from keywords.
        """
        return _made(kind)

    def replace(value, /, **changes):
        """Behave as the standard function, at a quarter of its cost."""
        names, read = _fields(type(value), given=True)
        return _made(type(value))(**dict(zip(names, read(value), strict=True)) | changes)

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


def _compiled(kind: Any) -> Any:
    """Return the ``__init__`` of a class."""
    known: dict[str, Any] = {"_set": object.__setattr__}
    positional, named, lines = ["self"], ["*"], []
    for one in _given(kind):
        parameter, value = _parameter(one, known)
        (named if one.kw_only else positional).append(parameter)
        slot = getattr(kind, one.name, None)
        if not kind.__dataclass_params__.frozen:
            lines.append(f"self.{one.name} = {value}")
        elif isinstance(slot, MemberDescriptorType):  # faster than to look for it each time
            known[f"_set_{one.name}"] = slot.__set__
            lines.append(f"_set_{one.name}(self, {value})")
        else:
            lines.append(f"_set(self, {one.name!r}, {value})")
    lines.append("self.__post_init__()" if hasattr(kind, "__post_init__") else "pass")
    made = _function(kind, "__init__", positional + named[len(named) == 1 :], lines, known)
    made.__annotations__ = {one.name: one.type for one in _given(kind)} | {"return": None}
    return made


@cache
def _made(kind: Any) -> Any:
    """Return the function of ``maker``.

    It sets the fields of an object of a class that is not frozen, which then becomes a frozen one.
    """
    frozen, slots = kind.__dataclass_params__.frozen, vars(kind).get("__slots__")
    # Without slots, it would lose the keys that it shares with others when it changes its class.
    without_twin = slots is None or "__orig_bases__" in vars(kind)  # the bases of a generic class
    if (frozen and without_twin) or not _is_ours(vars(kind).get("__init__")):
        return kind
    namespace = {"__slots__": slots, "__setattr__": object.__setattr__}
    known = {"_new": object.__new__, "_kind": kind}
    known["_open"] = type("_Open", kind.__bases__, namespace) if frozen else kind
    # Those with a default come last: one that is not given costs less than one by keyword alone.
    fields = sorted(_given(kind), key=lambda one: _parameter(one, known)[0] != one.name)
    both = [(one.name, *_parameter(one, known)) for one in fields]
    lines = ["self = _new(_open)", *(f"self.{name} = {value}" for name, _, value in both)]
    lines += ["self.__class__ = _kind"] if frozen else []
    lines += ["self.__post_init__()"] if hasattr(kind, "__post_init__") else []
    parameters = [parameter for _, parameter, _ in both]
    return _function(kind, "make", parameters, [*lines, "return self"], known)


def _is_ours(constructor: Any) -> bool:
    code = getattr(constructor, "__code__", None)
    return isinstance(constructor, _Constructor) or getattr(code, "co_filename", "") == _SOURCE


def _given(kind: Any) -> list[Any]:
    return [one for one in dataclasses.fields(kind) if one.init]


def _parameter(one: Any, known: dict[str, Any]) -> tuple[str, str]:
    """Return a field as a parameter and as a value, whose default goes to what is ``known``."""
    name = one.name
    if one.default is not dataclasses.MISSING:
        known[f"_default_{name}"] = one.default
        return f"{name}=_default_{name}", name
    if one.default_factory is not dataclasses.MISSING:
        known["_absent"], known[f"_default_{name}"] = _ABSENT, one.default_factory
        return f"{name}=_absent", f"_default_{name}() if {name} is _absent else {name}"
    return name, name


_ABSENT = object()
_SOURCE = "<dataclass>"


def _function(
    kind: Any, name: str, parameters: list[str], lines: list[str], known: dict[str, Any]
) -> Any:
    source = f"def make({', '.join(known)}):\n def {name}({', '.join(parameters)}):\n  "
    source += "\n  ".join(lines) + f"\n return {name}"
    found: dict[str, Any] = {}
    exec(compile(source, _SOURCE, "exec"), vars(sys.modules[kind.__module__]), found)
    made = found["make"](**known)
    made.__qualname__ = f"{kind.__qualname__}.{name}"
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
