"""JMESPath functions for replies that the language alone cannot read (docs/target.md#functions).

Where an argument is null, the result is null: what is absent in a reply stays absent and does not
become an empty list.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions, signature

from pytest_rageval.support.text import clean
from pytest_rageval.target.contract import parse_json_text

_MOST_FIELDS: Final = 1_000_000
"""Fields that one evaluation may copy: those of a hostile reply would fill the memory."""
_LIST: Final[Any] = {"types": ["array", "null"]}
_NAME: Final[Any] = {"types": ["string"]}
_KEY: Final[Any] = {"types": ["string", "expref"]}
_OBJECT: Final[Any] = {"types": ["object", "null"]}
_ANYTHING: Final[Any] = {"types": []}


class MappingFunctions(Functions):
    """The functions of JMESPath, and those for mappings, for one evaluation of an expression."""

    def __init__(self) -> None:
        self._left = _MOST_FIELDS

    @signature(_LIST, _LIST)
    def _func_pick(self, items: list[Any] | None, indexes: list[Any] | None) -> list[Any] | None:
        """Return the items at indexes that count from 0; null for one that there is not."""
        if items is None or indexes is None:
            return None
        return [_at(items, index) for index in indexes]

    @signature(_LIST, _KEY, _LIST)
    def _func_lookup(
        self, items: list[Any] | None, key: Any, values: list[Any] | None
    ) -> list[Any] | None:
        """Return for each value the first item with that value under a key; null for no item."""
        if items is None or values is None:
            return None
        found: dict[str, Any] = {}
        for item in items:
            if isinstance(key, str):
                value = item.get(key) if isinstance(item, dict) else None
            else:
                value = key.visit(key.expression, item)
            if (name := _scalar(value)) is not None:
                found.setdefault(name, item)
        names = map(_scalar, values)
        return [None if name is None else found.get(name) for name in names]

    @signature(_LIST, _NAME)
    def _func_unnest(self, items: list[Any] | None, key: str) -> list[Any] | None:
        """Return the items of a nested list, each with the other fields of its parent."""
        if items is None:
            return None
        parents = [item for item in items if isinstance(item, dict) and item.get(key) is not None]
        self._copy(sum(len(parent) * _length(parent[key]) for parent in parents), "unnest")
        return [child for parent in parents for child in _children(parent, key)]

    @signature(_OBJECT)
    def _func_rows(self, columns: dict[str, Any] | None) -> list[Any] | None:
        """Return one object per index of parallel lists; a value that is not a list repeats."""
        lists = {name: v for name, v in (columns or {}).items() if isinstance(v, list)}
        if not lists:
            return None
        lengths = {len(values) for values in lists.values()}
        if len(lengths) > 1:
            shown = ", ".join(f"{clean(name, 40)} {len(v)}" for name, v in [*lists.items()][:10])
            raise JMESPathError(f"rows(): the lists differ in length: {shown}")
        (count,) = lengths
        self._copy(count * len(columns or {}), "rows")
        repeated = {name: v for name, v in (columns or {}).items() if name not in lists}
        return [
            {**repeated, **dict(zip(lists, row, strict=True))}
            for row in zip(*lists.values(), strict=True)
        ]

    @signature(_ANYTHING)
    def _func_parse_json(self, text: Any) -> Any:
        """Read JSON within a string; null for blank text, any other value as it is."""
        if not isinstance(text, str):
            return text
        if not text.strip():
            return None
        try:
            return parse_json_text(text)
        except RecursionError as error:
            raise JMESPathError(f"parse_json(): {error}") from error
        except ValueError as error:
            message = f"parse_json(): not JSON, it begins: {clean(text, 80)}"
            raise JMESPathError(message) from error

    @signature(_ANYTHING)
    def _func_some(self, value: Any) -> Any:
        """Return null for an empty list, object or string, any other value as it is."""
        return None if value in ([], {}, "") else value

    def _copy(self, fields: int, name: str) -> None:
        self._left -= fields
        if self._left < 0:
            raise JMESPathError(f"{name}(): more than {_MOST_FIELDS} fields would be copied")


def _at(items: list[Any], index: object) -> Any:
    if isinstance(index, str) and index.isascii() and index.isdecimal() and len(index) < 10:
        index = int(index)
    # Python counts a negative index from the end, which in a reply means that there is none.
    known = type(index) is int and 0 <= index < len(items)
    return items[index] if known else None  # type: ignore[call-overload]


def _scalar(value: object) -> str | None:
    """Return a value to look up: 7 and "7" are one, as for ids of chunks; None: it has none."""
    if isinstance(value, str):
        return value
    if type(value) is int and value.bit_length() <= 64:
        return str(value)
    return None


def _length(value: object) -> int:
    return len(value) if isinstance(value, list) else 1


def _children(parent: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    """Yield the nested items of a parent; a field of theirs wins over one of the parent."""
    value = parent[key]
    others = {name: v for name, v in parent.items() if name != key}
    for child in value if isinstance(value, list) else [value]:
        yield {**others, **(child if isinstance(child, dict) else {key: child})}
