"""The page of a sweep: its parts, harmless with any parameter, and in a real browser."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_rageval.analysis.sweep.outcome import SweepOutcome
from pytest_rageval.report.html.sweep import render_sweep
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
        assert row.name in re.sub("<[^>]*>", "", html)
        assert row.run in html
    for part in ("verdict", "rungs"):
        assert f'<section id="{part}"' in html
    assert '<section id="pareto"' not in html


def test_runs_with_a_report_are_links_to_it() -> None:
    outcome = plain()
    first, second = outcome.ranking[:2]
    html = "".join(render_sweep(outcome, reports={first.run: "a/report.html"}))
    assert f'<a href="a/report.html">{first.run}</a>' in html
    assert f'">{second.run}</td>' in html


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
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
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
