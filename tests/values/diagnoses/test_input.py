"""The table of what people write makes the sentences of its faults."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_rageval
from pytest_rageval.values.diagnoses.input import INPUT, input_sentence

PACKAGE = Path(pytest_rageval.__file__).parent


@pytest.mark.parametrize("code", INPUT)
def test_an_example_is_said_in_one_line_with_every_fact(code: str) -> None:
    for example in INPUT[code].examples:
        text = input_sentence(code, example)
        assert text
        assert "\n" not in text
        for name, fact in example.items():
            assert (f"{fact:,}" if isinstance(fact, int) else fact) in text, name


def test_the_nearest_name_goes_before_other_advice() -> None:
    facts = {"what": "key", "nearest": "min", "home": " of [overall]", "advice": ", write max"}
    assert input_sentence("unknown", facts) == 'unknown key, did you mean "min" of [overall]?'
    assert input_sentence("unknown", {**facts, "nearest": ""}) == "unknown key, write max"


CODED = {
    "ConfigError", "StorageError", "DatasetError", "CommandError", "PromptError", "ScaffoldError",
    "NotesError", "NothingToCompareError", "TargetGoneError", "DifferentRunsError",
    "NotComparableError",
}  # fmt: skip


def codes_in(call: ast.Call) -> Iterator[str]:
    """Yield the codes of the faults that a call makes, as far as they are written there."""
    maker = ast.unparse(call.func)
    given = (
        []
        if maker not in {"Fault", "Unfit"}
        else [k.value for k in call.keywords if k.arg == "code"]
    )
    if maker in {"fault", "self.source.fault"} or maker.endswith("Error.of"):
        given += call.args[1:2]
    for value in given:
        branches = (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)
        found = (one.value for one in branches if isinstance(one, ast.Constant))
        yield from (code for code in found if isinstance(code, str) and code)


def says_a_sentence(call: ast.Call) -> bool:
    """Whether a call makes an error of what people write from a text in place of a code."""
    return (
        isinstance(call.func, ast.Name)
        and call.func.id in CODED
        and isinstance(call.args[0], ast.JoinedStr | ast.Constant | ast.BinOp)
    )


def test_faults_are_raised_by_codes_that_have_rows_and_every_row_is_raised() -> None:
    codes: set[str] = set()
    written: set[object] = set()
    sentences = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                codes.update(codes_in(node))
                if says_a_sentence(node):
                    sentences.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
            elif isinstance(node, ast.Constant) and path.parent.name != "diagnoses":
                written.add(node.value)
    assert len(codes) > 60
    assert codes - INPUT.keys() == set()
    assert INPUT.keys() - written == set()
    assert sentences == [], "give a code with facts: ConfigError.of(place, code, ...)"
