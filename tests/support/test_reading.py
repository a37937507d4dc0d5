"""One reader of declared types: every fault as data, with what was found and what is expected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from pytest_rageval.support.reading import Unfit, ValueCheck, read, words
from pytest_rageval.values.limits import Limits


def _even(number: int) -> int:
    if number % 2:
        raise Unfit("an even number", nearest=str(number + 1))
    return number


CLOSED = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    __pydantic_config__ = CLOSED

    size: Annotated[int, Limits(strict=True, ge=1, le=10)]
    color: Literal["red", "blue"] = "red"
    even: Annotated[int, ValueCheck(_even)] = 0


Parts = Mapping[str, tuple[Part, ...]]


def test_a_valid_value_has_no_fault() -> None:
    assert read(Parts, {"a": [{"size": 3}]}) == ({"a": (Part(size=3),)}, [])


@pytest.mark.parametrize(
    ("part", "field", "code", "text"),
    [
        ({}, ".size", "missing", "missing"),
        ({"size": 0}, ".size", "bound", "got 0, expected an integer of at least 1 and at most 10"),
        (
            {"size": "x"}, ".size", "type",
            "got 'x', expected an integer of at least 1 and at most 10",
        ),
        (
            {"size": 1, "color": "r"}, ".color", "choice",
            "got 'r', expected one of \"red\", \"blue\"",
        ),
        (
            {"size": 1, "colour": "red"}, ".colour", "unknown",
            'unknown key, did you mean "color"?',
        ),
        (
            {"size": 1, "even": 3}, ".even", "value",
            'got 3, expected an even number, did you mean "4"?',
        ),
        (7, "", "type", "got 7, expected a table with size, color, even"),
    ],
)  # fmt: skip
def test_a_fault_has_its_place_its_code_and_a_sentence_by_its_kind(
    part: object, field: str, code: str, text: str
) -> None:
    value, (fault,) = read(Parts, {"a": [{"size": 1}, part]})
    assert value is None
    assert (fault.field, fault.code, fault.text) == (f"a[1]{field}", code, text)


def test_all_faults_come_at_once_and_a_secret_is_not_repeated() -> None:
    given = {"a": [{"size": "hunter2", "color": "hunter2"}], "b": 1}
    _, faults = read(Parts, given, secret=True)
    assert [fault.field for fault in faults] == ["a[0].size", "a[0].color", "b"]
    assert "hunter2" not in "".join(map(str, faults))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "number", "exclusiveMinimum": 0}, "a number above 0"),
        ({"enum": ["a", "b"]}, 'one of "a", "b"'),
        ({"const": 1}, "1"),
        ({"type": "array", "items": {"type": "string"}}, "a list of strings"),
        ({}, "another value"),
    ],
)
def test_a_schema_in_words(schema: Mapping[str, Any], expected: str) -> None:
    assert words(schema) == expected
