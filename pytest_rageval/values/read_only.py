"""Values that the code of a project gets to see and cannot change."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from operator import is_
from typing import Any, Final, NoReturn, TypeVar

_T = TypeVar("_T")

MESSAGE: Final = (
    "read-only, since the run keeps what was asked and scored: change a dict(...) or list(...) of "
    "it; a figure that the run is to store comes from a metric of your own "
    "(@metric, docs/extending.md) or a rubric (docs/rubrics.md)"
)
_PLAIN: Final = frozenset({str, float, int, bool, type(None)})


def _refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
    __tracebackhide__ = True  # pytest then points at the line of the test
    raise TypeError(MESSAGE)


class ReadOnlyDict(dict[str, Any]):
    """A dict that raises TypeError when it is changed.

    It can be pickled, copied, compared with a dict and written by ``json``, which a
    ``MappingProxyType`` cannot.
    """

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild it from a dict: the default way sets items one by one."""
        return type(self), (dict(self),)


class ReadOnlyList(list[Any]):
    """A list that raises TypeError when it is changed; likewise."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild it from a list."""
        return type(self), (list(self),)


def read_only(value: _T) -> _T:
    """Return a value of which no mapping or list, at any depth, can be changed.

    Parts without mappings and lists are not copied. Dataclasses are taken to be frozen.
    """
    frozen: _T = _frozen(value)
    return frozen


def _frozen(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, dict):
        return ReadOnlyDict({key: _frozen(item) for key, item in value.items()})
    if isinstance(value, list):
        return ReadOnlyList(_frozen(item) for item in value)
    if isinstance(value, tuple):
        if not value or type(value[0]) in _PLAIN:  # of one kind, such as a vector
            return value
        items = tuple(map(_frozen, value))
        return value if all(map(is_, items, value)) else items
    names = [one.name for one in fields(value)] if is_dataclass(type(value)) else []
    given = {name: getattr(value, name) for name in names}
    parts = {name: _frozen(item) for name, item in given.items()}
    changed = {name: part for name, part in parts.items() if part is not given[name]}
    return replace(value, **changed) if changed else value
