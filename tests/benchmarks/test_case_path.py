"""The count of the modules that a case passes sees calls, returns and containers, on any thread."""

from __future__ import annotations

import threading

from benchmarks.case_path import Watch, watching
from pytest_rageval.engine.case import ask_request
from pytest_rageval.project.case_reader import LocatedCase
from pytest_rageval.support.text import counted
from pytest_rageval.values.case import Case
from pytest_rageval.values.settings import Settings

CASE = Case(id="a", question="?", category="factual")


def test_a_function_that_takes_or_returns_the_case_counts_and_others_do_not() -> None:
    LocatedCase(case=CASE, lineno=1)  # the first one makes the constructor
    watch = Watch()
    with watching(watch):
        LocatedCase(case=CASE, lineno=1)
        counted(2, "case")
    assert watch.seen == {"pytest_rageval.project.case_reader": {"__init__"}}
    assert "pytest_rageval.support.text" in watch.entered


def test_a_function_on_a_thread_counts() -> None:
    watch = Watch()
    with watching(watch):
        thread = threading.Thread(target=ask_request, args=(CASE, Settings(rootdir=".")))
        thread.start()
        thread.join()
    assert "ask_request" in watch.seen["pytest_rageval.engine.case"]
