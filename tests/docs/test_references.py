"""References of sources and pages exist, and anyone with the repository can read them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from pytest_rageval.cli.main import cli
from pytest_rageval.project.options import OPTIONS
from tests.docs.examples import heading_slug, sections

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("pytest_rageval", "tests", "docs", "benchmarks")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
UNPUBLISHED = re.compile(r"\bMETRICS \d|\bMETRICS\.md|\bDESIGN\b|PYTEST-NOTES")
_DOCUMENT = re.compile(r"\bdocs/(?P<page>[\w-]+\.md)#(?P<slug>[\w-]+)")
_FLAG = re.compile(r"(?<![\w-])--(?:no-)?(?:rag|rageval|judge|embeddings)(?:-[a-z-]*[a-z])?\b")


def texts(*folders: str) -> Iterator[tuple[Path, str]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".py", ".md", ".toml", ".j2"}:
                yield path.relative_to(ROOT), path.read_text(encoding="utf-8")


@cache
def slugs(page: str) -> frozenset[str]:
    document = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return frozenset(heading_slug(section.title) for section in sections(document))


@cache
def flags() -> frozenset[str]:
    """Every flag of pytest and of the commands."""
    context = click.Context(cli)
    commands = [cli.get_command(context, name) for name in cli.list_commands(context)]
    named = [opt for one in commands if one for param in one.params for opt in param.opts]
    return frozenset([*named, *(option.flag for option in OPTIONS if option.flag)])


def test_no_file_refers_to_a_paper_that_is_not_here() -> None:
    named = [
        f"{path}: {match[0]}"
        for path, text in texts(*FOLDERS)
        if path.name != Path(__file__).name
        for match in UNPUBLISHED.finditer(text)
    ]
    assert named == []


def test_pages_that_sources_refer_to_have_the_heading_that_they_name() -> None:
    found = [
        (path, match["page"], match["slug"])
        for path, text in texts("pytest_rageval", "tests", "benchmarks")
        for match in _DOCUMENT.finditer(text)
    ]
    assert len(found) > 20
    for path, page, slug in found:
        assert (ROOT / "docs" / page).exists(), f"{path}: docs/{page}"
        assert slug in slugs(page), f"{path}: docs/{page}#{slug}"


def test_every_script_of_the_benchmarks_page_exists() -> None:
    page = (ROOT / "benchmarks/README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\b(\w+\.py)\b", page))
    assert named >= {"gate_error_rates.py", "retrieval_kernels.py"}
    assert {name for name in named if not (ROOT / "benchmarks" / name).exists()} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_flag_of_a_page_is_one(page: Path) -> None:
    named = set(_FLAG.findall(page.read_text(encoding="utf-8")))
    assert named - flags() == set()
