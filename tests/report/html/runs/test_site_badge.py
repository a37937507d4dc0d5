"""The badge of the newest complete run."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.report.html.runs.site import badge_document
from pytest_rageval.runs.list import documents_of_runs
from pytest_rageval.values.gate import Verdict
from pytest_rageval.values.numbers import MetricSummary
from pytest_rageval.values.run import StoredRun
from tests.build.runs import config_from, numbers_with, run_of, write_run
from tests.report.html.builders import gated


def runs(tmp_path: Path) -> list[StoredRun]:
    write_run(tmp_path, "r1", run_of(10), day=1)
    write_run(tmp_path, "r2", run_of(10, missed={1}), day=2)
    return list(documents_of_runs(tmp_path))


@pytest.mark.parametrize(
    ("verdict", "message", "colour"),
    [("pass", "pass", "brightgreen"), ("fail", "fail", "red"),
     ("not_evaluated", "not evaluated", "lightgrey"), (None, "unknown", "lightgrey")],
)  # fmt: skip
def test_it_shows_the_verdict(
    tmp_path: Path, verdict: Verdict | None, message: str, colour: str
) -> None:
    gate = gated(verdict=verdict) if verdict else None
    newest = StoredRun(folder=tmp_path / "r3", aggregate=numbers_with(), gate=gate)
    assert badge_document([*runs(tmp_path), newest]) == {
        "schemaVersion": 1, "label": "rageval", "message": message, "color": colour,
    }  # fmt: skip


def test_it_shows_a_metric_of_the_newest_run_over_the_whole_set(tmp_path: Path) -> None:
    part = StoredRun(
        folder=tmp_path / "r3",
        config=config_from(set={"hash": "whole"}, dataset_hash="part"),
        aggregate=numbers_with(metrics={"recall_at_k": MetricSummary(n=1, mean=1.0)}),
    )
    stopped = StoredRun(
        folder=tmp_path / "r4", aggregate=part.aggregate, gate=gated(complete=False)
    )
    badge = badge_document([*runs(tmp_path), part, stopped], "recall_at_k")
    assert (badge["label"], badge["message"]) == ("recall_at_k", "0.700")
