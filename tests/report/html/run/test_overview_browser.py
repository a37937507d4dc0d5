"""The overview in a real browser: every count leads to the cases that it counts."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.run import StoredRun
from tests.build.browser import Open
from tests.report.html.builders import (
    check,
    chunk,
    config,
    errored,
    gated,
    missed,
    page,
    passed,
    run,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow


def varied(name: str, seed: int, n: int = 60) -> StoredRun:
    """A run in which every part of the overview has something to show."""
    draw = random.Random(seed)
    records = []
    for number in range(n):
        rank = draw.choice([1, 1, 2, 3, 7, None])
        chunks = tuple(chunk(k, matched_golds=(0,) if k == rank else ()) for k in range(1, 8))
        found = rank is not None and rank <= 5
        answerable = number % 6 > 0
        abstention = "over_abstention_rate" if answerable else "hallucination_rate_unanswerable"
        metrics: dict[str, float | None] = {
            "hit_at_k": float(found),
            "recall_at_k": draw.choice([1 / 3, 2 / 3, 1.0]) if found else 0.0,
            "mrr": 1 / rank if rank and found else 0.0,
            "precision_at_k": 0.2 if found else 0.0,
            "correctness": round(draw.uniform(0, 5), 3),
            abstention: float(draw.random() < 0.2),
        }
        golds = (Anchor(rel_path="docs/file1.md"),)
        fields: dict[str, Any] = {
            "case": Case(
                id=f"c{number}", question="?", answerable=answerable, gold_supports=golds,
                category=draw.choice(["one", "two & three", "a=b"]), tags=("t",),
            ),
            "metrics": metrics,
            "retrieved_chunks": chunks,
            "latency": {"total_ms": draw.lognormvariate(5, 1.2)},
        }  # fmt: skip
        records.append((passed if found else missed)(f"c{number}", **fields))
    checks = [check("recall_at_k", "fail", missed_cases=("c1",)), check("mrr")]
    gate = gated(*checks, sentence="FAIL 1 of 2 checks: recall_at_k")
    return run([*records, errored("broken")], name, gate=gate, config=config(concurrency=4))


@pytest.fixture(scope="module")
def html() -> str:
    old, new = varied("old", 1), varied("new", 2)
    return page(new, baseline=old, history=(old, new))


def listed(tab: Page, address: str) -> int:
    """Number of cases of the list at an address."""
    tab.evaluate("address => { location.hash = address }", address)
    tab.wait_for_selector("body[data-view='cases']")
    return int(tab.inner_text("#shown").split()[0].replace(",", ""))


def test_every_count_leads_to_as_many_cases(open_page: Open, html: str) -> None:
    tab = open_page(html)
    links = tab.eval_on_selector_all(
        ".key-list a, .panel table a, .changes a[href*='flip'], #groups table a[href*='flip']",
        "all => all.map(a => [a.getAttribute('href'), (a.textContent.match(/\\d+/) || [''])[0]])",
    )

    assert len(links) > 40
    counted = {href: int(n) for href, n in links}
    assert {key for key in ("ms", "rank", "mrr", "outcome", "stage", "flip", "over_abstention_rate")
            if any(href.startswith(f"#{key}=") for href in counted)} == {
        "ms", "rank", "mrr", "outcome", "stage", "flip", "over_abstention_rate",
    }  # fmt: skip
    assert {href: listed(tab, href) for href in counted} == counted


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1280)])
def test_axe_finds_nothing_with_every_part_open(
    open_page: Open, html: str, scheme: str, width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    tab = open_page(html, color_scheme=scheme, viewport={"width": width, "height": 900})
    tab.eval_on_selector_all("#overview details", "all => all.forEach(one => { one.open = true })")

    results = Axe().run(tab)

    assert results.violations_count == 0, results.generate_report()
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_without_scripts_and_on_paper_the_verdict_and_metrics_are_there(
    open_page: Open, html: str
) -> None:
    tab = open_page(html, java_script_enabled=False)
    for media in ("screen", "print"):
        tab.emulate_media(media=media)
        assert tab.locator("#verdict .banner").is_visible()
        assert tab.locator("#metrics table").first.is_visible()
        assert tab.locator(".tile").count() == 6
