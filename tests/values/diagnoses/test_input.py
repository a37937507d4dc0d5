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


def codes_in(tree: ast.AST) -> Iterator[str]:
    """Yield the codes of the faults that a module makes, as far as they are written there."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        maker = ast.unparse(node.func)
        given = (
            []
            if maker not in {"Fault", "Unfit"}
            else [k.value for k in node.keywords if k.arg == "code"]
        )
        if maker in {"fault", "self.source.fault"} or maker.endswith("Error.of"):
            given += node.args[1:2]
        for value in given:
            branches = (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)
            found = (one.value for one in branches if isinstance(one, ast.Constant))
            yield from (code for code in found if isinstance(code, str) and code)


def test_every_code_that_is_raised_has_a_row() -> None:
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py"))
    found = {code for tree in trees for code in codes_in(tree)}
    assert len(found) > 60
    assert found - INPUT.keys() == set()


CODED = {
    "ConfigError", "StorageError", "DatasetError", "CommandError", "PromptError", "ScaffoldError",
    "NotesError", "NothingToCompareError", "TargetGoneError", "DifferentRunsError",
    "NotComparableError",
}  # fmt: skip


def test_no_error_of_what_people_write_is_raised_with_a_sentence() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in CODED
        and isinstance(node.args[0], ast.JoinedStr | ast.Constant | ast.BinOp)
    ]
    assert found == [], "give a code with facts: ConfigError.of(place, code, ...)"


def test_every_row_is_raised_somewhere() -> None:
    files = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "diagnoses"]
    nodes = (
        node for path in files for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )
    written = {node.value for node in nodes if isinstance(node, ast.Constant)}
    assert INPUT.keys() - written == set()
