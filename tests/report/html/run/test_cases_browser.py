"""The list of cases in a real browser: filters, order, keyboard, addresses, exports."""

from __future__ import annotations

from dataclasses import replace
from unicodedata import normalize

import pytest

from tests.build.browser import Open, Watched
from tests.build.records import changed, talk
from tests.report.html.builders import check, errored, gated, missed, page, passed, run
from tests.report.html.run.case_list import address, example, facet, opened, searched, shown

pytestmark = pytest.mark.slow

DRAWN = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
"""Ends after the browser has drawn the page and sent its scroll events."""


def test_text_filters_by_id_question_answer_chunk_and_tag(open_page: Open) -> None:
    tab = open_page(example(), "#cases")

    assert searched(tab, "BOLD where") == ["beta"]
    assert tab.locator("#shown").text_content() == "1 of 5 cases"
    assert searched(tab, "slow") == ["delta-10"]
    assert searched(tab, "answer to alpha") == ["alpha"]
    assert searched(tab, "text of chunk 3") == ["beta"]
    assert tab.locator(".excerpt mark").all_text_contents() == ["Text of chunk 3"]
    assert searched(tab, "nowhere at all") == []
    assert tab.locator("#none").is_visible()
    tab.click("#none a")
    assert len(shown(tab)) == 5


def test_a_typed_text_finds_one_in_decomposed_characters(open_page: Open) -> None:
    decomposed = normalize("NFD", "Die Größe ist bekannt.")
    tab = open_page(page(run([passed("a", answer=decomposed), passed("b")])), "#cases")
    assert searched(tab, "größe") == ["a"]
    assert tab.locator(".excerpt mark").all_text_contents() == ["Größe"]
    assert searched(tab, normalize("NFD", "Größe")) == ["a"]


def test_facets_filter_together_and_count_what_each_would_leave(open_page: Open) -> None:
    tab = open_page(example(), "#cases")

    facet(tab, "missed").check()
    facet(tab, "error").check()
    assert shown(tab) == ["gamma", "beta"]
    facet(tab, "factual").check()
    assert shown(tab) == ["gamma"]
    assert address(tab) == "#outcome=missed&outcome=error&category=factual"
    counts = tab.locator("#facets label", has_text="multi_hop").locator(".count")
    assert counts.text_content() == "1"
    counts = tab.locator("#facets label", has_text="general").locator(".count")
    assert counts.text_content() == "0 of 2"
    tab.click("#chips a:has-text('category: factual')")
    assert shown(tab) == ["gamma", "beta"]
    tab.click("#chips a:has-text('Clear all')")
    assert (len(shown(tab)), address(tab)) == (5, "#cases")


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("recall_at_k=0.25..0.5", ["delta-10", "delta-9"]),
        ("recall_at_k=0.25..<0.5", ["delta-9"]),
        ("recall_at_k=..<0.25", ["beta"]),
        ("mrr=none", ["delta-9", "gamma"]),
        ("rank=1", ["alpha", "delta-10", "delta-9"]),
        ("rank=none&outcome=missed", ["beta"]),
        ("ms=30..", []),
        ("tag=slow&tag=none-such", ["delta-10"]),
        ("check=recall_at_k", ["beta"]),
    ],
)
def test_links_of_the_overview_filter_the_list(open_page: Open, query: str, ids: list[str]) -> None:
    records = [
        passed("alpha", metrics={"recall_at_k": 1.0, "mrr": 0.5}),
        missed("beta"),
        errored("gamma"),
        passed("delta-10", tags=("slow",), metrics={"recall_at_k": 0.5, "mrr": 1.0}),
        passed("delta-9", metrics={"recall_at_k": 0.25, "mrr": None}),
    ]
    gate = gated(check("recall_at_k", "fail", missed_cases=("beta",)))
    if query.startswith("check"):
        records = records[:2]

    tab = open_page(page(run(records, gate=gate)), f"#{query}")

    assert sorted(shown(tab)) == sorted(ids)


def test_a_column_sorts_up_down_and_back_with_missing_values_last(open_page: Open) -> None:
    tab = open_page(example(), "#cases")
    button = tab.locator("th[data-sort=mrr] button")

    button.click()
    assert shown(tab) == ["beta", "alpha", "delta-10", "gamma", "delta-9"]
    assert tab.locator("th[data-sort=mrr]").get_attribute("aria-sort") == "ascending"
    button.click()
    assert shown(tab) == ["delta-10", "alpha", "beta", "gamma", "delta-9"]
    assert address(tab) == "#sort=mrr&dir=desc"
    tab.keyboard.press("Enter")  # the button in hand is still the one of the column
    assert shown(tab) == ["gamma", "beta", "alpha", "delta-10", "delta-9"]
    assert address(tab) == "#cases"
    assert tab.evaluate("document.activeElement.closest('th')?.dataset.sort") == "mrr"
    tab.go_back()
    assert shown(tab) == ["delta-10", "alpha", "beta", "gamma", "delta-9"]


def test_keys_move_open_and_go_back(open_page: Open) -> None:
    tab = open_page(example())

    for key in ("c", "j", "j", "j", "k", "Enter"):
        tab.keyboard.press(key)
    assert opened(tab) == ["beta"]
    assert address(tab) == "#case-beta"
    tab.keyboard.press("j")
    assert opened(tab) == ["alpha"]
    tab.keyboard.press("k")
    assert opened(tab) == ["beta"]
    tab.keyboard.press("Escape")
    assert tab.locator("#case-table").is_visible()
    tab.keyboard.press("o")
    assert tab.locator("#overview").is_visible()
    tab.keyboard.press("?")
    assert tab.locator("#keys").is_visible()
    tab.keyboard.press("j")
    tab.keyboard.press("Escape")
    assert not tab.locator("#keys").is_visible()
    assert tab.locator("#overview").is_visible()


@pytest.mark.parametrize("way", ["Escape", "#back"])
def test_the_way_back_to_all_cases_leads_to_the_case_that_was_open(
    open_page: Open, way: str
) -> None:
    tab = open_page(page(run([passed(f"c{n:02}") for n in range(40)])), "#cases")
    for _ in range(30):
        tab.keyboard.press("j")
    tab.evaluate(DRAWN)
    place = tab.evaluate("scrollY")
    assert place > 0
    tab.keyboard.press("Enter")
    assert opened(tab) == ["c29"]

    if way == "Escape":
        tab.keyboard.press(way)
    else:
        tab.click(way)
    tab.wait_for_function("document.activeElement.textContent === 'c29'")
    tab.evaluate(DRAWN)  # by then it has gone to the element that the address names, if any
    assert tab.evaluate("[document.activeElement.textContent, scrollY]") == ["c29", place]


def test_links_lead_from_turn_to_turn_of_a_conversation(open_page: Open) -> None:
    records = [*talk("ada", "passed", "missed", "passed"), passed("other")]
    whole = replace(records[1].case, standalone="What does ada ask second?")
    records[1] = changed(records[1], case=whole)
    tab = open_page(page(run(records)), "#turn=2")
    assert shown(tab) == ["ada#2"]
    tab.click("a.open")
    assert tab.locator("#opened").get_by_text("turn 2 of 3").is_visible()
    assert tab.locator("#opened").get_by_text("In full: What does ada ask second?").is_visible()
    links = tab.locator("#opened .labels a")
    assert links.all_text_contents() == ["1", "3"]  # the turn itself is no link

    for number, turn in ((1, "ada#3"), (0, "ada#1")):
        links.nth(number).click()
        tab.evaluate(DRAWN)
        assert opened(tab) == [turn.replace("#", "%23")]
    assert not tab.locator("#opened").get_by_text("assistant: ada#1 answers.").count()
    tab.go_back()
    tab.evaluate(DRAWN)
    assert tab.locator("#opened").get_by_text("assistant: ada#2 answers.").is_visible()


def test_an_address_brings_back_search_order_and_case(open_page: Open) -> None:
    html = example()
    first = open_page(html, "#cases")
    searched(first, "delta")
    first.click("th[data-sort=recall_at_k] button")
    first.click("a.open:has-text('delta-10')")

    second = open_page(html, address(first))

    assert opened(second) == ["delta-10"]
    assert second.locator("#place").text_content() == "2 of 2"
    second.click("#back")
    assert second.input_value("#q") == "delta"
    assert shown(second) == ["delta-9", "delta-10"]


@pytest.mark.parametrize("broken", ["#case-none", "#sort=nothing&dir=up", "#q=%E0%A4%A"])
def test_a_broken_address_shows_the_page_all_the_same(
    open_page: Open, watched: Watched, broken: str
) -> None:
    tab = open_page(example(), broken)

    tab.click("#bar nav a[href='#cases']")
    assert len(shown(tab)) == 5
    assert watched.faults == []
