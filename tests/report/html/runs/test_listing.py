"""The list of all runs: rows, differences and words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_rageval.report.html.links import Links
from pytest_rageval.report.html.runs.listing import view_runs
from pytest_rageval.report.html.runs.site import render_fault, render_list
from pytest_rageval.runs.list import documents_of_runs, run_to_compare_with
from pytest_rageval.runs.tags import write_tag
from pytest_rageval.values.gate import BaselineInfo
from pytest_rageval.values.numbers import LatencySummary, MetricSummary
from pytest_rageval.values.run import CaseSet, StoredRun
from tests.build.runs import config_from, numbers_with, run_of, write_run
from tests.report.html.builders import HOSTILE, check, gated

LATENCY = LatencySummary(n=10, p50_ms=10.0, p95_ms=12.0)


def stored(results: Path, **settings: int) -> list[StoredRun]:
    write_run(results, "r1", run_of(10), day=1)
    write_run(results, "r2", run_of(10, missed={1, 2}), day=2)
    write_run(results, "r3", run_of(10, missed={1}), day=3)
    return list(documents_of_runs(results))


def test_a_run_is_shown_against_the_baseline_of_its_gate(tmp_path: Path) -> None:
    runs = stored(tmp_path)
    slower = replace(runs[2].numbers.latency, p95_ms=1209.0)
    runs[0] = replace(runs[0], aggregate=replace(runs[0].numbers, latency=LATENCY))
    runs[2] = replace(
        runs[2],
        aggregate=replace(runs[2].numbers, latency=slower),
        gate=gated(check("mrr", "fail"), baseline=BaselineInfo(run_id="r1")),
    )

    view = view_runs(runs, {})

    row = view.rows[0]
    cells = {name: cell[0] for (name, _), cell in zip(view.columns, row.cells, strict=True)}
    assert cells["recall_at_k"].notes[0] == [("-0.100 \u25bc", "", "bad")]
    time = cells["p95, ms"]
    assert (time.text, time.notes[0]) == ("1209", [("+1197 \u25bc", "", "bad")])
    assert [text for line in cells["Gate"].notes for text, _, _ in line] == ["mrr"]


def test_a_partial_run_is_marked_and_stands_between_no_two_others(tmp_path: Path) -> None:
    runs = stored(tmp_path)
    whole = CaseSet(hash=runs[0].config.dataset_hash, n_cases=10)
    runs[1] = replace(runs[1], config=replace(runs[1].config, dataset_hash="part", set=whole))
    view = view_runs(runs, {})
    at = view.columns.index(("recall_at_k", True))
    assert [row.partial for row in view.rows] == [False, True, False]
    changes = [[t for line in row.cells[at][0].notes for t, _, _ in line] for row in view.rows]
    assert [any(text.startswith("-0.100") for text in one) for one in changes] == [
        True, False, False,
    ]  # fmt: skip
    assert view.trend is not None
    assert view.trend.n == 2
    assert "partial" in view.rows[1].words


def test_a_run_is_compared_with_its_baseline_or_the_one_before(tmp_path: Path) -> None:
    runs = stored(tmp_path)
    assert run_to_compare_with(runs[0], runs) is None
    assert run_to_compare_with(runs[2], runs) == runs[1]
    named = replace(runs[2], gate=gated(baseline=BaselineInfo(run_id="r1")))
    assert run_to_compare_with(named, runs) == runs[0]
    (runs[1].folder / "results.jsonl").unlink()
    assert run_to_compare_with(runs[2], runs) == runs[0]


def test_hostile_files_of_a_run_are_only_text(tmp_path: Path) -> None:
    runs = stored(tmp_path)
    write_tag(tmp_path, "main", "r1")
    for text in HOSTILE:
        hostile = StoredRun(
            folder=runs[0].folder,
            config=config_from(timestamp=text, settings={"judge": text}, git={"commit": text}),
            aggregate=numbers_with(metrics={text: MetricSummary(n=1, mean=0.5)}),
            gate=gated(sentence=text),
            tags=("main",),
            unreadable={"gate.json": text},
        )
        html = "".join(render_list(view_runs([hostile], {text: text}), Links(), title=text))
        html += "".join(render_fault(text, Links()))
        plain = html.replace("<script>(() =>", "")
        for harm in ("<script>w", "<img", "<svg o", "<iframe", "<base", "\u202e", "\x1b"):
            assert harm not in plain.replace("<script>// ", ""), text
