"""The page of a sweep: its parts, harmless with any parameter, and in a real browser."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.analysis.sweep.outcome import SweepOutcome
from pytest_rageval.report.html.sweep import render_sweep
from pytest_rageval.report.html.sweep_charts import (
    beside,
    effect_charts,
    pareto_charts,
    ranking_chart,
)
from tests.build.sweeps import HOSTILE, hostile, noisy, planned, swept

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def page(outcome: SweepOutcome, name: str = "sweep") -> str:
    return "".join(render_sweep(outcome, name=name))


def plain() -> SweepOutcome:
    return swept(planned(n_cases=150), noisy(1))


def test_the_page_has_every_configuration_and_part() -> None:
    outcome = plain()
    html = page(outcome, "nightly")
    assert "<title>NO CLEAR WINNER: nightly - rageval sweep</title>" in html
    for row in outcome.ranking:
        assert f'<span class="text">{row.name}</span>' in html
        assert row.run in html
    for part in ("verdict", "ranking", "effects", "rungs", "settings"):
        assert f'<section id="{part}"' in html
    assert '<section id="pareto"' not in html


def test_runs_with_a_report_are_links_to_it() -> None:
    outcome = plain()
    first, second = outcome.ranking[:2]
    html = "".join(render_sweep(outcome, reports={first.run: "a/report.html"}))
    assert f'<a href="a/report.html">{first.run}</a>' in html
    assert f'<td class="key">{second.run}</td>' in html


def test_a_chart_has_a_mark_for_each_configuration() -> None:
    outcome = hostile()
    wide, narrow = ranking_chart(outcome)
    for chart in (wide, narrow):
        assert chart.count("<circle") == len(outcome.ranking)
        assert chart.count('class="base"') == sum(bool(row.cut) for row in outcome.ranking)
    (scatter,) = pareto_charts(outcome)
    assert scatter.count('class="dot mark"') == len(outcome.front)
    assert all(chart.count("<rect") == len(outcome.effects) for chart in effect_charts(outcome))


@given(st.lists(st.tuples(st.floats(0, 60), st.floats(0, 60)), max_size=30))
def test_labels_of_points_overlap_neither_points_nor_labels(
    places: list[tuple[float, float]],
) -> None:
    dots = [(x, y, str(n)) for n, (x, y) in enumerate(places, start=1)]
    boxes = [(x - 4, y - 4, x + 4, y + 4) for x, y, _ in dots]
    found = list(beside(dots))
    for x, y, text, anchor in found:
        left = x if anchor == "start" else x - 7 * len(text)
        box = (left, y - 10, left + 7 * len(text), y)
        assert not any(
            box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
            for other in boxes
        )
        boxes.append((box[0] - 4, box[1], box[2] + 4, box[3]))  # 1 beside 7 would read 17
    alone = [(100.0 * n, 0.0, str(n)) for n in range(5)]
    assert [text for _, _, text, _ in beside(alone)] == ["0", "1", "2", "3", "4"]


def test_nothing_measured_draws_nothing() -> None:
    outcome = plain()
    rows = tuple(
        replace(row, objective=None, interval=(None, None), figures={}) for row in outcome.ranking
    )
    empty = replace(outcome, ranking=rows, effects=())
    assert (ranking_chart(empty), pareto_charts(empty), effect_charts(empty)) == ((), (), ())
    assert "<svg" not in page(empty)


def test_hostile_parameters_stay_text_and_the_page_asks_for_nothing() -> None:
    html = page(hostile(), HOSTILE)
    assert "<script" not in html
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert "{{7*7}}" in html
    assert not re.search(r'\s(?:src|href)="(?!#)|\son\w+=|\sstyle=', html)
    assert "default-src 'none'" in unescape(html)


# --- a real browser ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_clean_in_a_browser(
    browser: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    file = tmp_path / "sweep.html"
    file.write_text(page(hostile()), encoding="utf-8")
    faults: list[str] = []
    requests: list[str] = []
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,  # type: ignore[arg-type]
    )
    try:
        tab = context.new_page()
        tab.on("console", lambda message: faults.append(message.text))
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on("dialog", lambda dialog: faults.append(dialog.message))
        tab.on("request", lambda request: requests.append(request.url))
        tab.goto(file.as_uri())
        tab.locator("summary").click()
        assert (faults, requests) == ([], [file.as_uri()])
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        cut_off = (
            "[...document.querySelectorAll('.chart text')].filter((one) => one.getBBox().x < 0)"
        )
        assert tab.evaluate(f"{cut_off}.map((one) => one.textContent)") == []
        results = Axe().run(tab)
        assert results.violations_count == 0, results.generate_report()
    finally:
        context.close()
