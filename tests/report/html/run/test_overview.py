from __future__ import annotations

import re
from dataclasses import replace

from pytest_rageval.analysis.two_runs import compare_runs
from pytest_rageval.report.explain.verdict import STAGES
from pytest_rageval.report.html.run.page import render_report
from pytest_rageval.report.html.run.values import ReportOptions, ReportView
from pytest_rageval.report.html.run.view import view_report
from pytest_rageval.values.run import StoredRun
from tests.report.html.builders import (
    against,
    check,
    config,
    errored,
    gated,
    generated,
    missed,
    page,
    passed,
    run,
)


def viewed(files: StoredRun, base: StoredRun | None = None) -> ReportView:
    history = (files,) if base is None else (base, files)
    return view_report(
        files, baseline=None if base is None else against(base, files), history=history
    )


def test_all_cases_are_in_the_bar_of_outcomes_and_lead_to_them() -> None:
    records = [passed("a"), missed("b"), missed("c"), errored("d")]

    outcome, stage = viewed(run(records)).overview.bars

    assert [(row.label, row.n, row.share, row.link) for row in outcome.rows] == [
        ("error", 1, "25%", "#outcome=error"),
        ("missed", 2, "50%", "#outcome=missed"),
        ("passed", 1, "25%", "#outcome=passed"),
    ]
    assert [(row.label, row.n, row.link) for row in stage.rows] == [
        ("not retrieved", 2, "#stage=not_retrieved"),
        ("http", 1, "#stage=http"),
    ]


def test_the_words_of_the_bars_are_explained() -> None:
    files = run([passed("a"), missed("b"), errored("c")])
    found = dict(viewed(files).overview.meanings)
    assert [*found] == ["error", "missed", "not retrieved"]
    assert found["not retrieved"] == STAGES["not_retrieved"].meaning
    assert f"<li><b>missed</b>: {found['missed']}</li>" in page(files)
    assert viewed(run([passed("a")])).overview.meanings == ()


def test_a_case_that_was_asked_several_times_is_counted_once_by_the_outcome_of_the_summary() -> (
    None
):
    records = [
        *(passed("a", repeat=0), errored("a", repeat=1), missed("a", repeat=2)),
        *(errored("b", repeat=n) for n in range(3)),
        *(passed("c", repeat=n) for n in range(3)),
    ]
    files = run(records)

    overview = viewed(files).overview

    outcome, stage = ([(row.label, row.n) for row in bar.rows] for bar in overview.bars)
    assert outcome == [("error", 1), ("missed", 1), ("passed", 1)]
    assert stage == [("not retrieved", 1), ("http", 1)]
    assert [one.why.partition(":")[0] for one in overview.reading] == [
        "http, one of 1 error",
        "not retrieved, the only case",
    ]
    assert "Cases <small>3</small>" in page(files)


def test_a_check_without_data_leads_to_no_list_of_all_cases() -> None:
    gate = gated(
        check("recall_at_k", "fail", missed_cases=("b",)),
        check("leak_rate", "fail", n=0, message="no data: no case was scored"),
        sentence="FAIL 2 checks",
    )
    html = page(replace(run([passed("a"), missed("b")]), gate=gate))

    assert re.findall(r'href="([^"]*)">All its cases', html) == ["#check=recall_at_k"]


def test_one_case_of_many_is_no_share_of_nothing_nor_are_the_others_all() -> None:
    records = [*(passed(f"c{n}") for n in range(300)), missed("m")]
    overview = viewed(run(records)).overview
    assert [row.share for row in overview.bars[0].rows] == ["<1%", ">99%"]
    assert overview.ranks is not None
    assert [row.share for row in overview.ranks.rows] == [">99%", "-"]


def test_cases_that_nobody_has_reviewed_are_in_the_list_and_in_no_figure() -> None:
    unreviewed = [generated(missed(f"g{n}", metrics={"recall_at_k": 0.0})) for n in range(3)]
    records = [
        *unreviewed,
        passed("a", metrics={"recall_at_k": 1.0}),
        missed("b", metrics={"recall_at_k": 0.5}),
    ]

    found = viewed(run(records))

    outcome, stage = found.overview.bars
    assert [(row.label, row.n) for row in outcome.rows] == [("missed", 1), ("passed", 1)]
    assert [(row.label, row.n) for row in stage.rows] == [("not retrieved", 1)]
    assert [one.note for one in found.overview.panels] == ["2 cases, mean 0.750"]
    assert found.overview.ranks is not None
    assert found.overview.ranks.note.startswith("2 cases")
    assert [one.case_id for one in found.overview.reading] == ["b"]
    assert [(row.case_id, row.marks) for row in found.cases.rows] == [
        ("b", ""),
        ("a", ""),
        *((f"g{n}", "not reviewed") for n in range(3)),
    ]


def test_a_run_of_which_no_case_is_reviewed_shows_what_came_of_them() -> None:
    overview = viewed(run([generated(passed("a")), generated(missed("b"))])).overview

    assert [(row.label, row.n) for row in overview.bars[0].rows] == [("missed", 1), ("passed", 1)]
    assert [one.case_id for one in overview.reading] == ["b"]
    assert (overview.panels, overview.ranks, overview.abstention) == ((), None, None)


def test_a_tile_has_value_interval_limit_change_and_sparkline() -> None:
    gate = gated(check("hit_at_k", "fail"))
    base = run([passed("a"), passed("b")], "old")
    new = run([passed("a"), missed("b")], "new", gate=gate)

    tile, *_, time = viewed(new, base).overview.tiles

    assert (tile.key, tile.value, tile.detail) == ("hit_at_k", "0.500", "0.09-0.91, n 2")
    assert (tile.status, tile.limit) == ("fail", ">= 0.75")
    assert tile.change is not None
    assert tile.change.delta == "-0.500"
    assert tile.spark is not None
    assert tile.spark.count("<polyline") == 1
    assert (time.key, time.value, time.unit) == ("latency_ms.p95", "20 / 20", "ms")


def test_a_failing_metric_has_a_tile_however_many_others_there_are() -> None:
    metrics = {
        key: 1.0
        for key in ("hit_at_k", "correctness", "groundedness", "abstention_accuracy", "recall_at_k",
                    "specificity_accuracy")
    }  # fmt: skip
    gate = gated(check("specificity_accuracy", "fail"))

    tiles = viewed(run([passed("a", metrics=metrics)], gate=gate)).overview.tiles

    assert len(tiles) == 6
    assert "specificity_accuracy" in {tile.key for tile in tiles}


def test_what_changed_is_one_sentence_with_links() -> None:
    base = run([passed("a"), passed("b"), missed("c")], "old")
    new = run(
        [passed("a"), missed("b"), passed("c")],
        "new",
        config=config(settings={"k": 5, "judge": "m-1"}),
    )

    html = page(new, baseline=base)

    sentence = re.sub("<[^>]*>", "", re.findall(r'<p class="changes">(.*?)</p>', html)[0])
    assert "Since the baseline old" in sentence
    assert "1 got worse and" in sentence
    assert "1 got better of 3 cases asked alike. Set otherwise: judge." in sentence
    assert 'href="#flip=worse"' in html
    assert 'href="#flip=better"' in html


def test_a_baseline_that_cannot_be_compared_has_no_unchanged_cases() -> None:
    new = run([missed("a")], config=config(settings={"folder_mode": "on"}))
    compared = compare_runs(run([passed("a")], "old"), new)

    html = re.sub("<[^>]*>", "", "".join(render_report(view_report(new, baseline=compared))))

    assert "No case was asked as in the baseline old. Set otherwise: payload.folder_mode" in html
    assert "0 cases were asked in the same way in both runs" in html
    assert "No case changed" not in html


def test_a_failed_check_says_what_it_needs_and_leads_to_its_cases() -> None:
    checks = [check("recall_at_k", "fail", missed_cases=("b",)), check("mrr")]
    gate = gated(*checks, sentence="FAIL 1 of 2 checks: recall_at_k")

    html = page(run([passed("a"), missed("b")], gate=gate))

    assert "<b>0.700 is below min 0.750</b>" in html
    assert 'href="#check=recall_at_k"' in html
    assert 'href="#case-b">b</a>' in html
    assert "1 other check: 1 ok" in html


def test_a_failed_check_leads_to_the_case_of_the_file_that_it_names() -> None:
    checks = [check("recall_at_k", "fail", missed_cases=("evals/en.jsonl::a", "b"))]
    gate = gated(*checks, sentence="FAIL 1 check: recall_at_k")
    both = [missed("a", file=f"evals/{name}.jsonl") for name in ("de", "en")]

    html = page(run([*both, missed("b")], gate=gate))

    assert 'href="#case-a~2">evals/en.jsonl::a</a>' in html
    assert 'href="#case-b">b</a>' in html


def test_an_empty_run_has_no_bars_and_no_charts() -> None:
    overview = viewed(run([])).overview

    parts = (overview.bars, overview.tiles, overview.panels, overview.reading, overview.latency,
             overview.ranks, overview.abstention)  # fmt: skip
    assert not any(parts)


def test_the_page_says_first_what_it_is_of() -> None:
    made = config(
        asked=["http://bot/ask"], git={"commit": "4c2e9d1aa", "branch": "fix", "dirty": True}
    )
    found = dict(viewed(run([passed("a")], config=made)).made)
    assert found == {
        "Started": "2026-11-20 19:58 UTC",
        "Commit": "4c2e9d1, with uncommitted changes",
        "Branch": "fix",
        "Target": "http://bot/ask",
        "k": "5",
        "Judge": "offline",
    }
    html = page(run([passed("a")], config=made))
    assert html.index("4c2e9d1,") < html.index('id="verdict"')


def test_errors_of_one_cause_say_what_the_target_said_and_lead_to_their_cases() -> None:
    files = run([errored("a"), errored("b"), passed("c")])

    (one,) = viewed(files).errors

    assert (one.kind, one.message, one.n) == ("http", "status 500", 2)
    assert one.cases == (("a", "case-a"), ("b", "case-b"))
    assert one.link == "#stage=http"
    (redacted,) = view_report(files, options=ReportOptions(redact=True)).errors
    assert "status 500" not in redacted.message


def test_a_check_says_how_many_errors_its_figure_leaves_out() -> None:
    found = run(
        [errored("a"), passed("b")], gate=gated(check("mrr", "fail"), check("error_rate", "fail"))
    )
    assert [(one.name, one.erred) for one in viewed(found).failed] == [
        ("mrr", 1),
        ("error_rate", 0),
    ]


def test_a_slower_run_says_so_beside_its_time() -> None:
    def timed(ms: float, name: str) -> StoredRun:
        records = [passed(f"c{n}", latency={"total_ms": ms + n}) for n in range(20)]
        return run(records, name, config=config(concurrency=8))

    (*_, tile) = viewed(timed(1200, "new"), timed(12, "old")).overview.tiles

    assert tile.change is not None
    assert (tile.change.delta, tile.change.verdict) == ("p95 +1188", "worse")
