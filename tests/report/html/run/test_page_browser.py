"""The page in a real browser: what it runs, asks for, shows and reacts to.

Needs Debian's chromium (or another one on the path); without it these tests are skipped, unless
RAGEVAL_REQUIRE_BROWSER says that it must be there.
"""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

import pytest

from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.reply import Citation
from pytest_rageval.values.run import StoredRun
from tests.build.browser import Open, Watched
from tests.build.records import changed
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
    from playwright.sync_api import Locator, Page

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
    return tab.locator("#case-table a.open").all_text_contents()


def address(tab: Page) -> str:
    return str(tab.evaluate("location.hash"))


def opened(tab: Page) -> list[str]:
    """Anchors of the cases in the case view, less their prefix."""
    found = tab.locator("#opened article").evaluate_all("all => all.map(x => x.id)")
    return [anchor.removeprefix("case-") for anchor in found]


def facet(tab: Page, name: str) -> Locator:
    """Checkbox of a filter."""
    return tab.locator("#facets label", has=tab.get_by_text(name, exact=True)).locator("input")


# --- safety ------------------------------------------------------------------------------------


def test_hostile_text_runs_nothing_and_asks_for_nothing(open_page: Open, watched: Watched) -> None:
    base = hostile_run("<b>base</b>")
    new = hostile_run("<i onclick=alert(1)>new")

    tab = open_page(page(new, baseline=base, history=(base, new)), "#cases")
    n = len(shown(tab))
    tab.locator("#case-table a.open").first.click()
    for number in range(1, n):
        assert tab.locator("#opened article").count() == 1
        assert tab.locator("#place").text_content() == f"{number} of {n}"
        tab.keyboard.press("j")
    for term in ("<script", "window", "\x1b", "onerror"):
        tab.fill("#q", term)
        typed(tab)
    for box in tab.locator("#facets input").all():
        box.check()
        box.uncheck()

    assert tab.evaluate("window.pwned") is None
    assert watched.requests == [tab.url.split("#")[0]]
    assert watched.faults == []
    assert tab.locator("script").count() == 2  # the columns of the cases, and the code
    assert tab.locator("iframe, img, object, embed, base, form").count() == 0
    assert tab.locator("style").count() == 1
    hrefs = tab.locator("a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert {href[0] for href in hrefs if not href.endswith("/report.html")} == {"#"}


def test_hostile_text_is_shown_as_it_is_written(open_page: Open) -> None:
    tab = open_page(page(hostile_run()), "#cases")

    questions = tab.locator("#case-table .q span").all_text_contents()

    assert "<script>window.pwned = 1</script>" in questions


def test_no_case_is_laid_out_before_it_is_opened(open_page: Open) -> None:
    tab = open_page(example())

    assert tab.locator("article.case").count() == 0
    assert tab.locator("#case > noscript").count() == 5


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("hostile", [False, True], ids=["plain", "hostile"])
def test_axe_finds_nothing(open_page: Open, scheme: str, hostile: bool) -> None:
    from axe_playwright_python.sync_playwright import Axe

    base, new = hostile_run("base") if hostile else compared("old"), hostile_run("new")
    new = new if hostile else compared("new")
    html = page(new, baseline=base, history=(base, new))
    tab = open_page(html, color_scheme=scheme)
    for view in ("overview", "cases", "case"):
        if view == "case":
            tab.locator("a.open").nth(1).click()
        else:
            tab.click(f"#bar nav a[href='#{view}']")
        tab.mouse.move(0, 0)
        results = Axe().run(tab)
        assert results.violations_count == 0, results.generate_report()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_never_wider_than_the_window(open_page: Open, width: int) -> None:
    tab = open_page(page(hostile_run()), viewport={"width": width, "height": 900})
    for view in ("overview", "cases"):
        tab.click(f"#bar nav a[href='#{view}']")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
    for number in range(5):
        tab.click("#bar nav a[href='#cases']")
        tab.locator("a.open").nth(number).click()
        assert tab.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1280, 390])
def test_the_metrics_of_a_compared_case_have_room_for_their_reasons(
    open_page: Open, width: int
) -> None:
    far = Anchor(rel_path="docs/elsewhere.md", heading_path="# Elsewhere")
    scores = {"recall_all_at_k": 0.0, "group_recall_at_k": 0.5, "precision_returned_at_k": 0.5}
    old = passed("a", metrics=dict.fromkeys(scores, 1.0))
    assert old.case is not None
    case = replace(old.case, gold_supports=(*old.case.gold_supports, far))
    new = missed("a", metrics=scores, case=case)
    html = page(run([new]), baseline=run([changed(old, case=case)], "old"))
    tab = open_page(html, "#case-a", viewport={"width": width, "height": 900})

    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    rows = tab.locator("#opened table.metrics tr")
    assert rows.count() == 3
    assert max(box["height"] for row in rows.all() if (box := row.bounding_box())) < 120


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


def typed(tab: Page) -> None:
    """Wait until the page has taken up what was typed, which it does after half of that."""
    # A timer of the page itself: that of another process may end first.
    tab.evaluate("() => new Promise((done) => setTimeout(done, 80))")


def searched(tab: Page, text: str) -> list[str]:
    tab.fill("#q", text)
    typed(tab)
    return shown(tab)


def test_the_list_counts_cases_and_their_repeats(open_page: Open) -> None:
    asked = [passed("a", repeat=0), missed("a", repeat=1), missed("a", repeat=2)]
    tab = open_page(page(run([*asked, passed("b", repeat=0), passed("b", repeat=1)])), "#cases")
    assert tab.locator("#shown").text_content() == "2 cases, 5 repeats"
    facet(tab, "missed").click()
    assert tab.locator("#shown").text_content() == "1 of 2 cases, 2 repeats"
    one = open_page(page(run([passed("a")])), "#cases")
    assert one.locator("#shown").text_content() == "1 case"


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


def test_a_search_from_the_overview_shows_the_list(open_page: Open) -> None:
    tab = open_page(example())
    tab.keyboard.press("/")
    tab.keyboard.type("gamma")
    tab.wait_for_selector("#case-table")
    assert shown(tab) == ["gamma"]
    tab.go_back()
    assert tab.locator("#overview").is_visible()


def test_enter_goes_from_the_search_to_what_was_found(open_page: Open) -> None:
    tab = open_page(example())
    tab.keyboard.press("/")
    tab.keyboard.type("gamma")
    tab.keyboard.press("Enter")
    assert opened(tab) == ["gamma"]

    tab.keyboard.press("/")
    tab.keyboard.type("ask?", delay=60)  # slower than the list is drawn
    tab.keyboard.press("Enter")
    first, second, *_ = shown(tab)
    tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    assert opened(tab) == [second]
    assert first != second


def test_the_menu_of_columns_closes_by_escape_and_by_a_click_elsewhere(open_page: Open) -> None:
    tab = open_page(example(), "#cases")
    menu, columns = tab.locator("summary", has_text="Columns"), tab.locator("#columns")
    for leave in ("Escape", "#shown", "#bar nav a[href='#overview']"):
        menu.click()
        columns.locator("input").first.click()
        assert columns.is_visible()
        if leave == "Escape":
            tab.keyboard.press(leave)
        else:
            tab.click(leave)
        assert not columns.is_visible()


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


def test_the_way_back_goes_through_filters_to_the_overview(open_page: Open) -> None:
    tab = open_page(example())
    tab.click("#bar nav a[href='#cases']")
    facet(tab, "missed").check()
    tab.locator("a.open").first.click()
    assert opened(tab) == ["beta"]
    assert address(tab) == "#case=case-beta&outcome=missed"
    tab.go_back()
    assert (shown(tab), facet(tab, "missed").is_checked()) == (["beta"], True)
    assert tab.evaluate("document.activeElement.textContent") == "beta"
    tab.go_back()
    assert (len(shown(tab)), facet(tab, "missed").is_checked()) == (5, False)
    tab.go_back()
    assert tab.locator("#overview").is_visible()
    tab.go_forward()
    assert tab.locator("#case-table").is_visible()


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
    checks = [check("recall_at_k", "fail", missed_cases=["beta"])]
    gate = {"verdict": "fail", "sentence": "FAIL", "checks": checks}
    if query.startswith("check"):
        records = records[:2]

    tab = open_page(page(run(records, gate=gate)), f"#{query}")

    assert sorted(shown(tab)) == sorted(ids)


def test_a_category_of_odd_spaces_and_signs_can_be_chosen(open_page: Open) -> None:
    odd = " a  b \"<i>\u202e'&amp; "
    tab = open_page(page(run([passed("one", category=odd), passed("two")])), "#cases")

    tab.locator("#facets fieldset", has_text="Category").locator("input").nth(0).check()

    assert shown(tab) == ["one"]
    again = open_page(page(run([passed("one", category=odd), passed("two")])), address(tab))
    assert shown(again) == ["one"]


def test_what_did_not_pass_comes_first_and_the_worst_of_it(open_page: Open) -> None:
    tab = open_page(example(), "#cases")
    assert shown(tab) == ["gamma", "beta", "alpha", "delta-10", "delta-9"]


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


def test_the_focus_stays_where_a_filter_or_a_menu_is_undone(open_page: Open) -> None:
    tab = open_page(example(), "#cases")
    box = tab.locator("#facet-lists input").first

    box.focus()
    tab.keyboard.press("Space")
    assert address(tab).startswith("#outcome=")
    tab.keyboard.press("Space")
    assert address(tab) == "#cases"
    assert box.evaluate("box => box === document.activeElement")

    tab.click("summary:has-text('Columns')")
    tab.focus("#columns input >> nth=0")
    tab.keyboard.press("Escape")
    assert tab.evaluate("document.activeElement.textContent.trim()") == "Columns"


def test_ids_sort_by_the_numbers_in_them(open_page: Open) -> None:
    tab = open_page(example(), "#cases")

    tab.click("th[data-sort=id] button")

    assert shown(tab) == ["alpha", "beta", "delta-9", "delta-10", "gamma"]


def test_columns_can_be_chosen_and_the_address_keeps_them(open_page: Open) -> None:
    tab = open_page(example(), "#cases")
    assert tab.locator("th[data-sort=hit_at_k]").count() == 0

    tab.click(".menu summary")
    tab.check("#columns input[data-column=hit_at_k]")

    assert tab.locator("th[data-sort=hit_at_k]").count() == 1
    assert address(tab) == "#cols=hit_at_k%2Crecall_at_k%2Cmrr"


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


def test_escape_empties_the_search_with_its_box_and_leaves_it(open_page: Open) -> None:
    tab = open_page(example(), "#cases")
    everything = shown(tab)
    tab.keyboard.press("/")
    assert searched(tab, "gamma") == ["gamma"]

    tab.keyboard.press("Escape")

    assert (tab.input_value("#q"), shown(tab), address(tab)) == ("", everything, "#cases")
    tab.keyboard.press("j")
    assert tab.input_value("#q") == ""


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


def test_the_address_of_a_case_opens_it_and_shows_it(open_page: Open) -> None:
    tab = open_page(example(), "#case-gamma")

    assert opened(tab) == ["gamma"]
    assert "status 500" in (tab.locator("#case-gamma").text_content() or "")


@pytest.mark.parametrize("broken", ["#case-none", "#%", "#sort=nothing&dir=up", "#q=%E0%A4%A"])
def test_a_broken_address_shows_the_page_all_the_same(
    open_page: Open, watched: Watched, broken: str
) -> None:
    tab = open_page(example(), broken)

    tab.click("#bar nav a[href='#cases']")
    assert len(shown(tab)) == 5
    assert watched.faults == []


def test_what_is_shown_can_be_saved(open_page: Open, watched: Watched) -> None:
    records = [passed("=1+1", question='a "b", c'), missed("two", category="@x"), errored("three")]
    tab = open_page(page(run(records)), "#outcome=passed&outcome=missed")

    with tab.expect_download() as saved:
        tab.click("#csv")
    with open(saved.value.path(), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == ["two", "'=1+1"]
    assert [row["category"] for row in rows] == ["'@x", "general"]
    assert (rows[1]["question"], rows[1]["recall_at_k"]) == ('a "b", c', "1")

    with tab.expect_download() as saved:
        tab.click("#json")
    found = json.loads(Path(saved.value.path()).read_text(encoding="utf-8"))
    assert [(one["id"], one["first_gold_rank"]) for one in found] == [("two", None), ("=1+1", 1)]
    assert watched.faults == []


def test_more_rows_come_with_the_scroll(open_page: Open) -> None:
    records = [passed(f"c{number:04}") for number in range(1200)]
    tab = open_page(page(run(records)), "#cases")
    before = len(shown(tab))
    assert before < 600

    tab.locator("#more").scroll_into_view_if_needed()

    tab.locator("#case-table a.open").nth(before).wait_for()
    assert tab.locator("#shown").text_content() == "1200 cases"


def test_a_failed_check_leads_to_its_cases(open_page: Open) -> None:
    failing = check("recall_at_k", "fail", missed_cases=["beta"])
    gate = {"verdict": "fail", "sentence": "FAIL 1 of 1", "checks": [failing]}
    tab = open_page(page(run([passed("alpha"), missed("beta")], gate=gate)))

    tab.click(".check a")

    assert opened(tab) == ["beta"]


# --- without a script, on paper, many ----------------------------------------------------------


def test_without_scripts_everything_is_shown(open_page: Open) -> None:
    tab = open_page(example(), java_script_enabled=False)

    assert tab.locator("#case-alpha").is_visible()
    assert tab.locator("#overview").is_visible()
    assert tab.locator("article.case").count() == 5
    assert not tab.locator("#q").is_visible()
    assert not tab.locator("#case-table").is_visible()


def test_paper_gets_no_controls(open_page: Open) -> None:
    tab = open_page(example(), "#case-beta")
    tab.emulate_media(media="print")

    assert not tab.locator("#q").is_visible()
    assert not tab.locator("#bar nav").is_visible()
    assert tab.locator("#case-beta").is_visible()
    assert tab.pdf().startswith(b"%PDF")


def test_ten_thousand_cases_are_listed_and_filtered(open_page: Open) -> None:
    records = [
        (missed if n % 4 == 0 else passed)(f"case-{n}", lineno=n, category=f"c{n % 7}")
        for n in range(10_000)
    ]
    tab = open_page(page(run(records)), "#cases")

    assert tab.locator("#shown").text_content() == "10000 cases"
    assert tab.locator("article").count() == 0
    assert searched(tab, "answer to case-77.") == ["case-77"]
    facet(tab, "c3").check()
    assert tab.locator("#shown").text_content() == "0 of 10000 cases"


# --- one case ----------------------------------------------------------------------------------


def telling() -> StoredRun:
    """A run of a case with facts, quotes, citations and time."""
    gold = Anchor(rel_path="a.md", heading_path="# A", snippets=("It takes five days",))
    long = "Other words come first. " * 40
    chunks = (
        chunk(1, text=f"{long} It takes five days by post.", matched_golds=(0,)),
        chunk(2, text=long),
    )
    case = Case(
        id="a",
        question="How long?",
        expected_key_facts=("five days", "by train"),
        expected_answer="Five days by train.",
        gold_supports=(gold,),
    )
    cited = Citation(rel_path=chunks[0].rel_path, heading_path=chunks[0].heading_path)
    answer = "It takes five days [1]."
    fields = {"retrieved_chunks": chunks, "citations": (cited,), "answer": answer}
    return run([passed("a", case=case, question=case.question, **fields)])


def test_facts_quotes_and_citations_are_marked_and_linked(open_page: Open) -> None:
    tab = open_page(page(telling()), "#case-a")

    answer = tab.locator("[data-part=answer]")
    assert answer.locator("mark").all_text_contents() == ["five days"]
    assert answer.locator("sup").all_text_contents() == ["A"]
    quoted = tab.locator(".chunks > .gold mark")
    assert quoted.all_text_contents() == ["It takes ", "five days"]
    answer.locator("a").click()
    assert tab.evaluate("document.activeElement.id") == "c0.1"
    assert address(tab) == "#case-a"


def test_long_texts_are_folded_but_for_the_evidence(open_page: Open) -> None:
    tab = open_page(page(telling()), "#case-a")
    gold, other = (tab.locator(f"[id='c0.{rank}']") for rank in (1, 2))
    assert gold.locator("button").count() == 0
    text = other.locator(".fold")
    folded = text.evaluate("e => e.clientHeight")
    other.get_by_text("Show all").click()
    assert text.evaluate("e => e.clientHeight") > folded
    other.get_by_text("Show less").click()
    assert text.evaluate("e => e.clientHeight") == folded


def test_a_case_is_copied_as_json_and_its_commands_for_a_shell(open_page: Open) -> None:
    denied = "Object.defineProperty(navigator, 'clipboard', {value: undefined})"
    tab = open_page(page(telling()), "#case-a", init=denied)

    tab.click("text=Copy as JSON")
    found = json.loads(tab.locator(".commands textarea").input_value())
    assert (found["question"], found["answer"]) == ("How long?", "It takes five days [1].")
    assert found["expected_key_facts"] == ["five days", "by train"]
    assert [one["rank"] for one in found["retrieved_chunks"]] == [1, 2]
    assert found["recall_at_k"] == 1
    tab.click("[aria-label='Copy: Run it again']")
    copied = tab.locator(".commands textarea").first.input_value()
    assert copied == "pytest evals/set.jsonl::a"
