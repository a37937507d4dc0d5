from __future__ import annotations

import pytest

from pytest_rageval.authoring.interchange.values import Ledger, SourceFile
from pytest_rageval.authoring.interchange.yaml_text import parse_yaml
from pytest_rageval.values.errors import DatasetError

BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 10)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


def file(text: str) -> SourceFile:
    return SourceFile(name="f.yaml", text=text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("14:30", "14:30"),
        ("1:30.5", "1:30.5"),
        ("yes", "yes"),
        ("Off", "Off"),
        ("n", "n"),
        ("2024-02-31", "2024-02-31"),
        ("2024-02-28 10:00:00", "2024-02-28 10:00:00"),
        ("1_000", "1_000"),
        ("=", "="),
        ("?tail", "?tail"),
        ("Is it open?", "Is it open?"),
        ("a?b:c", "a?b:c"),
        ("http://x.org/a?b", "http://x.org/a?b"),
        ("012", 12),
        ("0o14", 12),
        ("true", True),
        ("~", None),
        ("1e3", 1000.0),
        ("'14'", "14"),
    ],
)
def test_plain_values_are_those_of_yaml_1_2_in_blocks_and_in_brackets(
    text: str, value: object
) -> None:
    assert parse_yaml(file(f"a: {text}\nb: c"))["a"] == value
    assert parse_yaml(file(f"{{a: {text}, b: [{text}, c]}}")) == {"a": value, "b": [value, "c"]}


def test_keys_of_a_merge_give_way_to_those_beside_it() -> None:
    text = "base: &b {x: 1, y: 2}\nmore: {<<: *b, y: 3}"
    assert parse_yaml(file(text))["more"] == {"x": 1, "y": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "its aliases expand to more than 1,000,000 values"),
        ("a: &a [*a]", "an alias is part of the value that it names"),
        ("[" * 1_000, "nested too deeply"),
        ("!!python/object/apply:os.system ['true']", "could not determine a constructor"),
        ("a: [1", "f.yaml:"),
        ("a: b: c", "f.yaml:1: not YAML: mapping values are not allowed here"),
        ("a: {{x}}", "with such characters into quotes"),
        ("a: 1\nb: 2\na: 3", "f.yaml:3: duplicate key"),
        ("\x00", "not YAML"),
        ("a: !!timestamp x", "not YAML"),
        ("a: !!int ''", "not YAML"),
        (f"a: 0x{'f' * 5000}", "a number is too long"),
    ],
    ids=lambda value: value[:12],
)
def test_hostile_yaml_is_one_line_of_fault(text: str, message: str) -> None:
    with pytest.raises(DatasetError) as caught:
        parse_yaml(file(text))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_that_yaml_loses_are_counted() -> None:
    ledger = Ledger()
    assert parse_yaml(file("a: .nan\nb: 2024-02-28\n"), ledger) == {"a": None, "b": "2024-02-28"}
    assert [one.field for one in ledger.left_out] == ["a"]
