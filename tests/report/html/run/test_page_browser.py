"""The page in a real browser: what it runs, asks for, shows and reacts to.

Needs Debian's chromium (or another one on the path); without it these tests are skipped, unless
RAGEVAL_REQUIRE_BROWSER says that it must be there.
"""

from __future__ import annotations

import json

import pytest

from pytest_rageval.values.case import Anchor, Case, KeyFact
from pytest_rageval.values.reply import Citation
from pytest_rageval.values.run import StoredRun
from tests.build.browser import Open, Watched
from tests.report.html.builders import (
    check,
    chunk,
    errored,
    gated,
    hostile_run,
    missed,
    page,
    passed,
    run,
)
from tests.report.html.run.case_list import address, example, shown, typed

pytestmark = pytest.mark.slow


def compared(name: str) -> StoredRun:
    """One of two runs with every kind of part: flips, failed checks, groups, a trend."""
    other = (passed, missed) if name == "old" else (missed, passed)
    records = [
        passed("same", tags=("t",), difficulty="easy", answer=f"It is said by {name} today."),
        other[0]("worse", retrieved_chunks=(chunk(1), chunk(7, irrelevant=True))),
        other[1]("better", category="two"),
        errored("broken"),
    ]
    checks = [check("recall_at_k", "fail", missed_cases=("worse",)), check("mrr", "warn")]
    gate = gated(*checks, sentence="FAIL 1 of 2 checks")
    return run(records, name, gate=gate)


# --- safety ------------------------------------------------------------------------------------


def test_hostile_text_runs_nothing_and_asks_for_nothing(open_page: Open, watched: Watched) -> None:
    base = hostile_run("<b>base</b>")
    new = hostile_run("<i onclick=alert(1)>new")

    tab = open_page(page(new, baseline=base, history=(base, new)), "#cases")
    questions = tab.locator("#case-table .q span").all_text_contents()
    assert "<script>window.pwned = 1</script>" in questions
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


@pytest.mark.parametrize(("scheme", "hostile"), [("light", False), ("dark", True)])
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


# --- without a script, on paper, many ----------------------------------------------------------


def test_without_scripts_everything_is_shown(open_page: Open) -> None:
    tab = open_page(example(), java_script_enabled=False)

    assert tab.locator("#case-alpha").is_visible()
    assert tab.locator("#overview").is_visible()
    assert tab.locator("article.case").count() == 5
    assert not tab.locator("#q").is_visible()
    assert not tab.locator("#case-table").is_visible()


# --- one case ----------------------------------------------------------------------------------


OKAY = KeyFact(text="by train", vital=False)


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


def test_a_copied_case_keeps_which_facts_are_not_vital(open_page: Open) -> None:
    case = Case(id="a", question="q", expected_key_facts=("five days", OKAY))
    tab = open_page(page(run([passed("a", case=case, answer="x")])), "#case-a")
    tab.evaluate(
        "Object.defineProperty(navigator, 'clipboard',"
        " { value: { writeText: async (text) => { window.copied = text; } } })"
    )
    tab.get_by_role("button", name="Copy as JSON").click()
    copied = json.loads(tab.evaluate("window.copied"))
    assert copied["expected_key_facts"] == ["five days", {"text": "by train", "vital": False}]


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
