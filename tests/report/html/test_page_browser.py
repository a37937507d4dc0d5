"""The page in a real browser: what it runs, asks for, shows and reacts to.

Needs Debian's chromium (or another one on the path); without it these tests are skipped, unless
RAGEVAL_REQUIRE_BROWSER says that it must be there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_rageval.report.html.values import ReportOptions
from pytest_rageval.values.run import StoredRun
from tests.build.browser import Open, Watched
from tests.report.html.builders import (
    check,
    chunk,
    errored,
    hostile_run,
    missed,
    page,
    passed,
    run,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow


def example() -> str:
    return page(
        run(
            [
                passed("alpha", category="factual", metrics={"recall_at_k": 1.0, "mrr": 0.5}),
                missed("beta", category="multi_hop", question="Where is the <b>bold</b> one?"),
                errored("gamma", category="factual"),
                passed("delta-10", tags=("slow",), metrics={"recall_at_k": 0.5, "mrr": 1.0}),
                passed("delta-9", metrics={"recall_at_k": 0.25, "mrr": None}),
            ]
        )
    )


def compared(name: str) -> StoredRun:
    """One of two runs with every kind of part: flips, failed checks, groups, a trend."""
    other = (passed, missed) if name == "old" else (missed, passed)
    records = [
        passed("same", tags=("t",), difficulty="easy", answer=f"It is said by {name} today."),
        other[0]("worse", retrieved_chunks=(chunk(1), chunk(7, irrelevant=True))),
        other[1]("better", category="two"),
        errored("broken"),
    ]
    checks = [check("recall_at_k", "fail", missed_cases=["worse"]), check("mrr", "warn")]
    gate = {"verdict": "fail", "sentence": "FAIL 1 of 2 checks", "checks": checks}
    return run(records, name, gate=gate)


def shown(tab: Page) -> list[str]:
    """Ids of the rows that are shown, from top to bottom."""
    rows = tab.locator("tbody.case:not([hidden])")
    return [text.removeprefix("case-") for text in rows.evaluate_all("all => all.map(x => x.id)")]


def address(tab: Page) -> str:
    return str(tab.evaluate("location.hash"))


def opened(tab: Page) -> list[str]:
    rows = tab.locator("tbody.case.open")
    return [text.removeprefix("case-") for text in rows.evaluate_all("all => all.map(x => x.id)")]


# --- safety ------------------------------------------------------------------------------------


def test_hostile_text_runs_nothing_and_asks_for_nothing(open_page: Open, watched: Watched) -> None:
    base = hostile_run("<b>base</b>")
    new = hostile_run("<i onclick=alert(1)>new")

    tab = open_page(page(new, baseline=base, history=(base, new)))
    rows = tab.locator("tbody.case")
    for number in range(rows.count()):
        rows.nth(number).locator("a.open").click()
    tab.wait_for_timeout(200)

    assert tab.evaluate("window.pwned") is None
    assert watched.requests == [tab.url.split("#")[0]]
    assert watched.faults == []
    assert tab.locator("main script, iframe, img, object, embed, base, form").count() == 0
    assert tab.locator("style").count() == 1
    hrefs = tab.locator("a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert {href[0] for href in hrefs} == {"#"}


def test_hostile_text_is_shown_as_it_is_written(open_page: Open) -> None:
    tab = open_page(page(hostile_run()))

    shown_text = tab.locator("tbody.case").first.locator(".q span").text_content()

    assert shown_text == "<script>window.pwned = 1</script>"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("hostile", [False, True], ids=["plain", "hostile"])
def test_axe_finds_nothing(open_page: Open, scheme: str, hostile: bool) -> None:
    from axe_playwright_python.sync_playwright import Axe

    base, new = hostile_run("base") if hostile else compared("old"), hostile_run("new")
    new = new if hostile else compared("new")
    html = page(new, baseline=base, history=(base, new))
    tab = open_page(html, color_scheme=scheme)
    tab.locator("a.open").nth(1).click()
    tab.mouse.move(0, 0)

    results = Axe().run(tab)

    assert results.violations_count == 0, results.generate_report()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_never_wider_than_the_window(open_page: Open, width: int) -> None:
    tab = open_page(page(hostile_run()), viewport={"width": width, "height": 900})
    tab.locator("a.open").first.click()

    assert tab.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_that_changed_are_told_by_more_than_colour(open_page: Open, scheme: str) -> None:
    tab = open_page(
        page(compared("new"), baseline=compared("old")), "#case-same", color_scheme=scheme
    )

    for tag, word, mark in (("del", "old", "line-through"), ("ins", "new", "underline")):
        found = tab.locator(f"#case-same .two {tag}")
        assert found.all_text_contents() == [word]
        assert found.evaluate("e => getComputedStyle(e).textDecorationLine") == mark
        assert found.is_visible()


# --- filter, order, keyboard, address ----------------------------------------------------------


def test_text_filters_by_id_question_and_tag(open_page: Open) -> None:
    tab = open_page(example())

    tab.fill("#f-text", "BOLD where")
    assert shown(tab) == ["beta"]
    assert tab.locator("#shown").text_content() == "1 of 5 cases"
    tab.fill("#f-text", "slow")
    assert shown(tab) == ["delta-10"]
    tab.fill("#f-text", "nowhere at all")
    assert shown(tab) == []
    assert tab.locator("#none").is_visible()
    tab.click("#f-clear")
    assert len(shown(tab)) == 5


def test_category_and_outcome_filter_together(open_page: Open) -> None:
    tab = open_page(example())

    tab.select_option("#f-outcome", "not-passed")
    assert shown(tab) == ["beta", "gamma"]
    tab.select_option("#f-category", "factual")
    assert shown(tab) == ["gamma"]
    assert address(tab) == "#category=factual&outcome=not-passed"


def test_a_category_of_odd_spaces_and_signs_can_be_chosen(open_page: Open) -> None:
    odd = " a  b \"<i>\u202e'&amp; "
    tab = open_page(page(run([passed("one", category=odd), passed("two")])))

    tab.select_option("#f-category", index=1)

    assert shown(tab) == ["one"]
    assert shown(open_page(page(run([passed("one", category=odd)])), address(tab))) == ["one"]


def test_a_column_sorts_up_down_and_back_with_missing_values_last(open_page: Open) -> None:
    tab = open_page(example())
    button = tab.locator("th[data-sort=mrr] button")

    button.click()
    assert shown(tab) == ["beta", "alpha", "delta-10", "gamma", "delta-9"]
    assert tab.locator("th[data-sort=mrr]").get_attribute("aria-sort") == "ascending"
    button.click()
    assert shown(tab) == ["delta-10", "alpha", "beta", "gamma", "delta-9"]
    assert address(tab) == "#sort=mrr&dir=desc"
    button.click()
    assert shown(tab) == ["alpha", "beta", "gamma", "delta-10", "delta-9"]
    assert address(tab) == ""


def test_ids_sort_by_the_numbers_in_them(open_page: Open) -> None:
    tab = open_page(example())

    tab.click("th[data-sort=id] button")

    assert shown(tab) == ["alpha", "beta", "delta-9", "delta-10", "gamma"]


def test_keys_move_open_and_filter(open_page: Open) -> None:
    tab = open_page(example())

    for key in ("j", "j", "k", "j", "Enter"):
        tab.keyboard.press(key)
    assert opened(tab) == ["beta"]
    assert address(tab) == "#case-beta"
    assert tab.locator("#case-beta a.open").get_attribute("aria-expanded") == "true"
    tab.keyboard.press("Enter")
    assert opened(tab) == []
    tab.keyboard.press("/")
    tab.keyboard.type("jk gamma")
    assert tab.input_value("#f-text") == "jk gamma"


def test_escape_empties_the_filter_with_its_box_and_leaves_it(open_page: Open) -> None:
    tab = open_page(example())
    everything = shown(tab)
    tab.keyboard.press("/")
    tab.keyboard.type("gamma")
    assert shown(tab) == ["gamma"]

    tab.keyboard.press("Escape")

    assert (tab.input_value("#f-text"), shown(tab), address(tab)) == ("", everything, "")
    tab.keyboard.press("j")
    assert tab.input_value("#f-text") == ""


def test_an_address_brings_back_filter_order_and_case(open_page: Open) -> None:
    html = example()
    first = open_page(html)
    first.fill("#f-text", "delta")
    first.click("th[data-sort=recall_at_k] button")
    first.locator("#case-delta-10 a.open").click()

    second = open_page(html, address(first))

    assert second.input_value("#f-text") == "delta"
    assert shown(second) == ["delta-9", "delta-10"]
    assert opened(second) == ["delta-10"]


def test_the_address_of_a_case_opens_it_and_shows_it(open_page: Open) -> None:
    tab = open_page(example(), "#case-gamma")

    assert opened(tab) == ["gamma"]
    assert tab.locator("#case-gamma .body").is_visible()
    assert "status 500" in (tab.locator("#case-gamma .body").text_content() or "")


@pytest.mark.parametrize("broken", ["#case-none", "#%", "#sort=nothing&dir=up", "#q=%E0%A4%A"])
def test_a_broken_address_shows_the_page_all_the_same(
    open_page: Open, watched: Watched, broken: str
) -> None:
    tab = open_page(example(), broken)

    assert tab.locator("tbody.case").count() == 5
    assert watched.faults == []


def test_a_failed_check_leads_to_its_cases(open_page: Open) -> None:
    failing = check("recall_at_k", "fail", missed_cases=["beta"])
    gate = {"verdict": "fail", "sentence": "FAIL 1 of 1", "checks": [failing]}
    tab = open_page(page(run([passed("alpha"), missed("beta")], gate=gate)))

    tab.click("article.check a")

    assert opened(tab) == ["beta"]


# --- without a script, on paper, many ----------------------------------------------------------


def test_without_scripts_everything_is_shown(open_page: Open) -> None:
    tab = open_page(example(), java_script_enabled=False)

    assert tab.locator("#case-alpha .body").is_visible()
    assert not tab.locator("#f-text").is_visible()


def test_paper_gets_no_controls(open_page: Open) -> None:
    tab = open_page(example(), "#case-beta")
    tab.emulate_media(media="print")

    assert not tab.locator("#f-text").is_visible()
    assert not tab.locator("nav").is_visible()
    assert tab.locator("#case-beta .body").is_visible()
    assert tab.pdf().startswith(b"%PDF")


def test_two_thousand_cases_open_within_seconds(open_page: Open) -> None:
    chunks = passed("x").retrieved_chunks or ()
    ten = chunks * 5
    records = [
        (missed if n % 4 == 0 else passed)(f"case-{n}", lineno=n, retrieved_chunks=ten)
        for n in range(2000)
    ]
    tab = open_page(page(run(records), options=ReportOptions()))

    spent_ms = tab.evaluate(
        "performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart"
    )

    assert tab.locator("tbody.case").count() == 2000
    assert tab.locator(".detail .command").count() == 500
    assert spent_ms < 20_000  # a machine under load; 1.5 s on an idle one
