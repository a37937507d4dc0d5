"""Ends of a session that come at a bad moment: a full disk, and an interrupt at the very end."""

from __future__ import annotations

import pytest

from tests.plugin.scratch import Project

FULL_DISK = """
import pytest
from pytest_rageval.runs.store import RunWriter
from pytest_rageval.values.errors import StorageError

def append(*_):
    raise StorageError("results.jsonl: cannot be written: No space left on device")

RunWriter.append = append

@pytest.fixture
def rag_client():
    raise OSError(28, "No space left on device")
"""
INTERRUPT = """
import pathlib
from pytest_rageval.plugin.controller import Controller

class Page:
    def __repr__(self):
        pathlib.Path("shown").touch()
        return "a long text"

def draw(page):
    raise KeyboardInterrupt

finish = Controller._finish
Controller._finish = (
    lambda self, *, complete: draw(Page()) if complete else finish(self, complete=complete)
)
"""


def test_a_disk_that_is_full_when_a_fixture_fails_ends_the_session_in_one_line(
    project: Project,
) -> None:
    project.write("conftest.py", FULL_DISK)
    result = project.run_apart()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = result.stdout.str() + result.stderr.str()
    assert "INTERNALERROR" not in text
    assert "No space left on device" in text


def test_an_interrupt_while_the_page_is_drawn_does_not_print_the_page(project: Project) -> None:
    conftest = (project.path / "conftest.py").read_text(encoding="utf-8")
    project.write("conftest.py", conftest + INTERRUPT)
    result = project.run_apart()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert not (project.path / "shown").exists()


def test_an_address_with_a_query_is_refused_in_one_line(project: Project) -> None:
    project.write("conftest.py", "")
    result = project.run_apart("--rag-url", "http://127.0.0.1:1/?token=x")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "INTERNALERROR" not in result.stdout.str()
    assert "holds a query or a fragment" in result.stderr.str()
