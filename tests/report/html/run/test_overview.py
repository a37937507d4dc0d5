from __future__ import annotations

from dataclasses import replace

from pytest_rageval.report.html.run.view import ReportView, view_report
from pytest_rageval.values.run import StoredRun
from tests.report.html.builders import (
    against,
    check,
    config,
    errored,
    gated,
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

    outcome, stage = viewed(run(records)).first.bars

    assert [(row.label, row.n, row.share, row.link) for row in outcome.rows] == [
        ("error", 1, "25%", "#outcome=error"),
        ("missed", 2, "50%", "#outcome=missed"),
        ("passed", 1, "25%", "#outcome=passed"),
    ]
    assert [(row.label, row.n, row.link) for row in stage.rows] == [
        ("not retrieved", 2, "#stage=not_retrieved"),
        ("http", 1, "#stage=http"),
    ]


def test_a_case_that_was_asked_several_times_is_counted_once_by_the_outcome_of_the_summary() -> (
    None
):
    records = [
        *(passed("a", repeat=0), errored("a", repeat=1), missed("a", repeat=2)),
        *(errored("b", repeat=n) for n in range(3)),
        *(passed("c", repeat=n) for n in range(3)),
    ]
    files = run(records)

    overview = viewed(files).first

    outcome, stage = ([(row.label, row.n) for row in bar.rows] for bar in overview.bars)
    assert outcome == [("error", 1), ("flaky", 1), ("passed", 1)]
    assert stage == [("http", 1)]
    assert [one.why.partition(":")[0] for one in overview.reading] == [
        "http, one of 1 error",
        "flaky, not retrieved, the only case",
    ]
    assert "Cases <small>3</small>" in page(files)


def test_a_tile_has_value_interval_limit_change_and_sparkline() -> None:
    gate = gated(check("hit_at_k", "fail"))
    base = run([passed("a"), passed("b")], "old")
    new = run([passed("a"), missed("b")], "new", gate=gate)

    tile, *_, time = viewed(new, base).first.tiles

    assert (tile.key, tile.value, tile.detail) == ("hit_at_k", "0.500", "0.09-0.91, n 2")
    assert (tile.status, tile.limit) == ("fail", ">= 0.75")
    assert tile.change is not None
    assert tile.change.value == "unclear -0.500 since old"
    assert tile.spark is not None
    assert tile.spark.count("<polyline") == 1
    assert (time.key, time.value, time.unit) == ("latency_ms.p95", "20 / 20", "ms")


def test_what_is_new_comes_first_with_links() -> None:
    base = run([passed("a"), passed("b"), missed("c")], "old")
    new = run([passed("a"), missed("b"), passed("c")], "new")

    first = viewed(new, base).first

    assert [(one.label, one.n, one.link) for one in first.changes] == [
        ("got worse", 1, "#flip=worse"), ("got better", 1, "#flip=better"),
    ]  # fmt: skip
    html = page(new, baseline=base)
    banner = html[html.index('class="banner') : html.index('class="tiles"')]
    assert "1 newly failing: " in banner
    assert '<a href="#case-b">b</a>' in banner
    assert "rageval explain new b" in banner
    assert "Not compared with another run" in page(new)


def test_a_failed_check_says_what_it_needs_and_leads_to_its_cases() -> None:
    checks = [check("recall_at_k", "fail", missed_cases=("b",)), check("mrr")]
    gate = gated(*checks, sentence="FAIL 1 of 2 checks: recall_at_k")

    html = page(run([passed("a"), missed("b")], gate=gate))

    assert "0.700 is below min 0.750" in html
    assert 'href="#check=recall_at_k"' in html
    assert 'href="#case-b">b</a>' in html
    assert "1 other check: 1 ok" in html


def test_the_page_says_first_what_it_is_of() -> None:
    made = config(
        asked=["http://bot/ask"], git={"commit": "4c2e9d1aa", "branch": "fix", "dirty": True}
    )
    (part,) = viewed(run([passed("a")], config=made)).first.made
    found = {name: text[0][0] for name, text, _ in part.rows}
    assert found == {
        "Started": "2026-11-20 19:58 UTC",
        "Commit": "4c2e9d1, with uncommitted changes",
        "Branch": "fix",
        "Target": "http://bot/ask",
        "k": "5",
        "Judge": "offline",
    }
    tiered = replace(made, settings=replace(made.settings, tier="smoke"))
    (part,) = viewed(run([passed("a")], config=tiered)).first.made
    assert ("Tier", "smoke") in [(name, text[0][0]) for name, text, _ in part.rows]
    html = page(run([passed("a")], config=made))
    assert html.index("4c2e9d1,") < html.index('id="verdict"')
