"""Thousands of cases in one session: what each of them adds to its memory."""

from __future__ import annotations

import sys

import pytest

from pytest_rageval.plugin import controller
from tests.build.loopback import after, loopback_server
from tests.plugin.long_runs import (
    TELL_PEAK,
    ask_server,
    document,
    figures,
    numbered_cases,
    told_peak_mb,
)
from tests.plugin.scratch import Project

LIMIT_MB = 500
MANY = 10_000

ALL_LARGE = """
from pytest_rageval.plugin import controller

controller._MOST_WHOLE = 0
"""
COUNT_TEXTS = f"""
import gc, pathlib
from pytest_rageval.values.record import CaseRecord
{ALL_LARGE}

def pytest_unconfigure():
    gc.unfreeze()
    records = [one for one in gc.get_objects() if isinstance(one, CaseRecord)]
    chunks = [chunk for one in records for chunk in one.reply.retrieved_chunks or ()]
    texts = sum(bool(one.answer) for one in records) + sum(bool(one.text) for one in chunks)
    pathlib.Path("kept").write_text(f"{{len(records)}} {{texts}}")
"""


@pytest.mark.parametrize("arguments", [(), ("-n", "1"), ("--rageval-resume", "one")])
@pytest.mark.slow
def test_records_of_a_large_run_keep_no_texts_once_they_are_stored(
    project: Project, arguments: tuple[str, ...]
) -> None:
    project.write_pages()
    project.cases(numbered_cases(12))
    if "one" in arguments:
        project.run("-k", "c000 or c001", "--rageval-run-id", "one")
    conftest = (project.path / "conftest.py").read_text(encoding="utf-8")
    project.write("conftest.py", conftest + COUNT_TEXTS)
    project.run_apart(*arguments)
    n_records, n_texts = map(int, (project.path / "kept").read_text().split())
    assert n_records >= 12
    # Those of the last case, and of an earlier session for test functions, are at hand.
    assert n_texts <= (10 if "one" in arguments else 2)
    (folder,) = project.run_folders()
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("The answer text.") >= 12


def test_figures_and_page_of_a_large_run_are_those_of_a_small_one(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write_pages()
    project.cases(numbered_cases(6))
    file = project.path / "pyproject.toml"
    file.write_text(file.read_text(encoding="utf-8").replace('"none"', '"offline"', 1))
    shown = []
    for name in ("small", "large"):
        project.run("--rageval-run-id", name)
        metrics = document(project.folder(name))
        page = (project.folder(name) / "report.html").read_text(encoding="utf-8")
        judges = document(project.folder(name), "config.json")["judges"]
        shown.append((figures(metrics), judges, page.count("The answer text.")))
        monkeypatch.setattr(controller, "_MOST_WHOLE", 0)
    assert shown[0] == shown[1]
    assert judges


def peak_mb(project: Project, url: str, count: int) -> float:
    project.cases(numbered_cases(count))
    ask_server(project, url)
    project.write("conftest.py", TELL_PEAK)
    result = project.run_apart("--rageval-concurrency", "64", "--rageval-run-id", f"of-{count}")
    assert result.ret == 0
    return told_peak_mb(project)


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
@pytest.mark.slow
def test_ten_thousand_cases_at_this_rate_stay_within_memory(project: Project) -> None:
    with loopback_server(after(0.0)) as server:
        few, some, more = (peak_mb(project, server.url, count) for count in (100, 600, 1100))
        assert server.peak <= 64
    per_case = (more - few) / 1000
    assert few + per_case * MANY < LIMIT_MB
    # Later ones add no more than earlier ones, but for what a machine adds on its own.
    assert (more - some) / 500 < 1.5 * (some - few) / 500 + 0.01
