"""The worked examples in the docstrings hold, and docstrings begin as CONTRIBUTING.md asks."""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WITH_EXAMPLES = [
    ".".join(file.relative_to(ROOT).with_suffix("").parts)
    for file in sorted((ROOT / "pytest_rageval").rglob("*.py"))
    if ">>> " in file.read_text(encoding="utf-8")
]


RIDDLE = re.compile(r"(What|Who|How|Where|Why)\b")
FOLDERS = ("pytest_rageval", "tests", "benchmarks")


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements below a node, whose expressions are not visited."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, ast.expr):
            yield from statements(child)


def first_lines(file: Path) -> list[str]:
    """Return the first line of every docstring and described value of a file."""
    return [
        node.value.value.strip().split("\n", 1)[0]
        for node in statements(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str)
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_docstring_begins_with_a_noun_or_a_verb(folder: str) -> None:
    files = [file for file in (ROOT / folder).rglob("*.py") if ".envs" not in file.parts]
    found = {file: first_lines(file) for file in files}
    assert sum(map(len, found.values())) > 50, "the docstrings are found"
    riddles = [
        f"{file.relative_to(ROOT)}: {line}"
        for file, lines in found.items()
        for line in lines
        if RIDDLE.match(line)
    ]
    assert riddles == []


def test_some_modules_have_examples() -> None:
    assert len(WITH_EXAMPLES) >= 10


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_a_module_hold(name: str) -> None:
    found = doctest.testmod(import_module(name))
    assert found.attempted > 0
    assert found.failed == 0
