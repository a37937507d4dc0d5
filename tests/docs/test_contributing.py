"""The page for contributors covers the package as it is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "pytest_rageval"
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FOLDERS = sorted(p for p in PACKAGE.rglob("*") if p.is_dir() and p.name != "__pycache__")
INITS = sorted(PACKAGE.rglob("__init__.py"))
MOST_SENTENCES = 2
NEGATIVES = re.compile(r"\b(?:no|not|none|nothing|neither|never|nor|without)\b")


def section(title: str) -> str:
    found: str = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return found


def folders_of_the_table() -> list[str]:
    return re.findall(r"^\| .* \| `([a-z/]+)` \|$", section("Where a line goes"), re.MULTILINE)


def named(folder: Path) -> bool:
    """Whether a folder has a row; one without any Python file may have it from its parent."""
    name = folder.relative_to(PACKAGE).as_posix()
    rows = folders_of_the_table()
    inherits = not any(folder.glob("*.py"))
    return name in rows or (inherits and folder.parent != PACKAGE and named(folder.parent))


def test_every_folder_of_the_package_is_in_the_table() -> None:
    assert len(FOLDERS) > 30
    assert [folder.name for folder in FOLDERS if not named(folder)] == []


def test_every_row_of_the_table_is_a_folder_and_none_is_there_twice() -> None:
    rows = folders_of_the_table()
    assert [row for row in rows if not (PACKAGE / row).is_dir()] == []
    assert len(set(rows)) == len(rows)


def test_every_module_that_the_page_names_is_there() -> None:
    modules = re.findall(r"`([a-z_/]+\.py)`", section("One case through the package"))
    modules += re.findall(r"`([a-z_/]+/[a-z_]+\.py)`", PAGE)
    assert len(set(modules)) > 20
    assert [name for name in modules if not (PACKAGE / name).is_file()] == []


def test_the_layers_of_the_page_are_those_of_the_contract() -> None:
    contract = (ROOT / ".importlinter").read_text(encoding="utf-8")
    layers = contract.split("layers =\n")[1].split("\n\n")[0]
    drawn = section("Imports").split("```text\n")[1].split("```")[0]
    assert re.split(r"\s*>\s*", drawn.strip()) == [line.strip() for line in layers.splitlines()]


@pytest.mark.parametrize("path", INITS, ids=lambda p: p.parent.relative_to(ROOT).as_posix())
def test_a_package_says_in_two_sentences_what_it_holds_and_what_not(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    text = ast.get_docstring(tree)
    assert text
    assert len(re.findall(r"\.(?:\s|$)", text)) <= MOST_SENTENCES
    assert NEGATIVES.search(text)
    if path.parent != PACKAGE:
        assert len(tree.body) == 1, "a package holds no code of its own"
