"""Runs and comparisons as markup for a notebook: short, and every text escaped."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from pytest_rageval.api.run import compare_runs, load_run
from tests.build.projects import work_in
from tests.build.runs import run_of, write_run

RESULTS = Path("evals/results")
ALLOWED = {*"div p b h3 table thead tbody tr th td dl dt dd small span details summary".split()}


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work_in(tmp_path, monkeypatch)


class Markup(HTMLParser):
    """Reads markup, and checks that every element is one of ours, without attributes, and ends."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED
        assert attrs == []
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.text += " "

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_run_shows_its_counts_its_gate_its_metrics_and_its_worst_cases() -> None:
    write_run(RESULTS, "one", run_of(40))
    shown = Markup(load_run("one")._repr_html_()).text
    assert "run one: 40 cases, 8 missed, 0 flawed, 0 errored, judge off" in shown
    assert "gate: PASS" in shown
    assert "recall_at_k 40 0.800 0.6" in shown
    assert "c-000: missed" in shown
    assert "and 3 more" in shown
    assert len(shown) < 1000


def test_a_comparison_shows_both_sides_its_metrics_and_the_changed_cases() -> None:
    write_run(RESULTS, "one", run_of(40))
    write_run(RESULTS, "two", run_of(40, missed=range(1, 20)), day=2)
    shown = Markup(compare_runs("one", "two")._repr_html_()).text
    assert "base one, 40 cases" in shown
    assert "40 paired cases" in shown
    assert "recall_at_k 40 0.800 0.400 -0.400" in shown
    assert "worse c-001" in " ".join(shown.split())
    assert "4 more rows" in shown
