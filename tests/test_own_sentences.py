"""No code looks into a sentence that the package wrote: it reads codes and facts."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import pytest_rageval

PACKAGE = Path(pytest_rageval.__file__).parent
SENTENCE = re.compile(r"(^|_)(message|sentence|reason|advice|words?)$")
"""Last word of the names of sentences; a word or a sentence of others has another name."""
LOOKS = {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition"}
SEARCHES = {"search", "match", "fullmatch", "findall", "finditer"}
SEARCHED = re.compile("(^|_)(message|advice)$")
"""Patterns may read a reason of OpenSSL or a sentence of an answer, but no message."""


def is_sentence(value: ast.expr, names: re.Pattern[str] = SENTENCE) -> bool:
    name = getattr(value, "attr", getattr(value, "id", ""))
    return names.search(name) is not None


def is_text(value: ast.expr) -> bool:
    """Whether a value is a text of the code, or a constant of a module."""
    constant = isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value
    return bool(constant) or (isinstance(value, ast.Name) and value.id.isupper())


def looks_into_a_sentence(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        if isinstance(node.ops[0], ast.In | ast.NotIn):
            return is_text(node.left) and is_sentence(node.comparators[0])
        compared = isinstance(node.ops[0], ast.Eq | ast.NotEq)
        return compared and is_sentence(node.left, SEARCHED) and is_text(node.comparators[0])
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr in SEARCHES:
        return any(is_sentence(value, SEARCHED) for value in node.args)
    return node.func.attr in LOOKS and is_sentence(node.func.value)


def test_no_module_looks_into_a_sentence() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno} {ast.unparse(node)}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.expr) and looks_into_a_sentence(node)
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "': HTTP 4' in failure.message",
        "found.reason.startswith('The case ')",
        "first_sentence.removeprefix(start)",
        "re.search('x', message)",
        "fault.message == TWICE",
    ],
)
def test_the_check_finds_what_looks_into_a_sentence(code: str) -> None:
    assert looks_into_a_sentence(ast.parse(code, mode="eval").body)


@pytest.mark.parametrize("code", ["'a' in messages", "name in reason", "fault.code == 'json'"])
def test_the_check_leaves_other_code_alone(code: str) -> None:
    assert not looks_into_a_sentence(ast.parse(code, mode="eval").body)
