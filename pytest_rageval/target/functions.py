"""JMESPath functions for replies that the language alone cannot read (docs/target.md).

Where an argument is null, the result is null: what is absent in a reply stays absent and does not
become an empty list.
"""

from __future__ import annotations

from typing import Any, Final

from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions, signature

from pytest_rageval.support.text import clean
from pytest_rageval.target.contract import MOST_CHARS, parse_json_text, size_of

_TEXT: Final[Any] = {"types": ["string"]}
_TEXTS: Final[Any] = {"types": ["array-string"]}
_LIST: Final[Any] = {"types": ["array", "null"]}
_NAME: Final[Any] = {"types": ["string"]}
_KEY: Final[Any] = {"types": ["string", "expref"]}
_OBJECT: Final[Any] = {"types": ["object", "null"]}
_NUMBER: Final[Any] = {"types": ["number", "null"]}
_ANYTHING: Final[Any] = {"types": []}


class MappingFunctions(Functions):
    """The functions of JMESPath, and those for mappings, for one evaluation of an expression.

    What stands more often in a result than in the reply counts as often, because all of it is
    copied later, and a hostile reply would fill the memory.
    """

    def __init__(self) -> None:
        self._left = MOST_CHARS

    @signature(_TEXT, _TEXTS)
    def _func_join(self, separator: str, texts: list[str]) -> str:
        self._add(len(separator) * len(texts) + sum(map(len, texts)), "join")
        return separator.join(texts)

    @signature(_LIST, _LIST)
    def _func_pick(self, items: list[Any] | None, indexes: list[Any] | None) -> list[Any] | None:
        """Return the items at indexes that count from 0; null for one that there is not."""
        if items is None or indexes is None:
            return None
        return self._repeated([_at(items, index) for index in indexes], "pick")

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
        return self._repeated(
            [None if name is None else found.get(name) for name in names], "lookup"
        )

    @signature(_LIST, _NAME)
    def _func_unnest(self, items: list[Any] | None, key: str) -> list[Any] | None:
        """Return the items of a nested list, each with the other fields of its parent.

        A field of theirs wins over one of the parent.
        """
        if items is None:
            return None
        found: list[Any] = []
        for item in items:
            if not isinstance(item, dict) or (nested := item.get(key)) is None:
                continue
            parent = {name: value for name, value in item.items() if name != key}
            children = nested if isinstance(nested, list) else [nested]
            self._add(size_of(parent) * len(children) + size_of(nested), "unnest")
            found += [
                {**parent, **(child if isinstance(child, dict) else {key: child})}
                for child in children
            ]
        return found

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
        repeated = {name: v for name, v in (columns or {}).items() if name not in lists}
        self._add(count * size_of(repeated) + size_of(lists), "rows")
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

    @signature(_NUMBER)
    def _func_negative(self, number: float | None) -> float | None:
        """Return a number with the other sign, such as a distance as a score."""
        return None if number is None else -number

    def _repeated(self, items: list[Any], name: str) -> list[Any]:
        sizes: dict[int, int] = {}
        for item in items:
            if (size := sizes.get(id(item))) is None:
                size = sizes[id(item)] = size_of(item)
            self._add(size, name)
        return items

    def _add(self, size: int, name: str) -> None:
        self._left -= size
        if self._left < 0:
            raise JMESPathError(f"{name}(): its results have over {MOST_CHARS:,} characters")


def _at(items: list[Any], index: object) -> Any:
    if isinstance(index, str) and index.isascii() and index.isdecimal() and len(index) < 10:
        index = int(index)
    # Python counts a negative index from the end, which a reply never means.
    known = type(index) is int and 0 <= index < len(items)
    return items[index] if known else None  # type: ignore[call-overload]


def _scalar(value: object) -> str | None:
    """Return a value to look up: 7 and "7" are one, as for ids of chunks; None: it has none."""
    if isinstance(value, str):
        return value
    if type(value) is int and value.bit_length() <= 64:
        return str(value)
    return None
