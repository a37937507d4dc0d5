"""The page in a real browser, worked by keyboard alone; see ``tests.build.browser``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_rageval.authoring.keyed.session import EARLY
from pytest_rageval.authoring.review.items import ReadSource
from pytest_rageval.authoring.review.session import ReviewSession
from tests.authoring.review.builders import Written, answers, serving, session_of
from tests.build.browser import Watched, visitor
from tests.build.key_pages import Served, press, settled

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

Open = Callable[..., "Page"]
NASTY = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>{{ 7 * 7 }}"


@pytest.fixture
def serve() -> Iterator[Callable[[ReviewSession], Served]]:
    with ExitStack() as stack:
        yield lambda session: stack.enter_context(serving(session))


@pytest.fixture
def open_page(browser: Browser, watched: Watched) -> Iterator[Open]:
    with visitor(browser, watched) as visit:
        yield lambda served, **given: visit(served.address, **given)


def go(tab: Page, *keys: str) -> None:
    """Press keys; ``'words`` is typed and ended."""
    for key in keys:
        press(tab, [*key[1:], "enter"] if key.startswith("'") else [key])
        settled(tab)


def at_once(tab: Page, *keys: str) -> None:
    """Press keys before any reply can come."""
    script = "keys => keys.forEach(key => document.body.dispatchEvent(new KeyboardEvent("
    tab.evaluate(f"{script}'keydown', {{ key, bubbles: true }})))", list(keys))


def violations(tab: Page) -> str:
    from axe_playwright_python.sync_playwright import Axe

    results = Axe().run(tab)
    return results.generate_report() if results.violations_count else ""


def test_answers_are_read_and_grouped_by_keyboard(
    open_page: Open, watched: Watched, serve: Callable[[ReviewSession], Served]
) -> None:
    written = Written()
    served = serve(session_of(35, written=written))
    tab = open_page(served)
    for i in range(35):
        assert tab.inner_text("h1") == f"Question {i}?"
        go(tab, *(["f", f"'fault {i % 3}", "enter"] if i % 5 == 0 else ["p"]))
    assert tab.inner_text("#head .over span").startswith("35 of 35 read")
    go(tab, "g")
    assert tab.locator("#rows li").count() == 7
    go(tab, "space", "c", "'dates", "c", "'tone", *"jjjjjj", "r", "'dates")
    assert tab.locator("#golds li").all_inner_texts() == ["dates (2)"]
    tab.click("#rows li >> nth=3")
    settled(tab)
    go(tab, "c", "'1")
    assert tab.locator("#golds li").all_inner_texts() == ["dates (3)"]
    assert "95% CI" in tab.inner_text("#figures")
    go(tab, "q")
    assert "35 of 35 answers read" in tab.inner_text("#end")
    assert watched.faults == []
    assert {url.partition("?")[0] for url in watched.requests} == {
        f"{served.base}/", f"{served.base}/key",
    }  # fmt: skip


def test_keys_that_come_before_an_answer_is_shown_do_nothing_to_it(
    open_page: Open, serve: Callable[[ReviewSession], Served]
) -> None:
    written = Written()
    tab = open_page(serve(session_of(written=written)))
    at_once(tab, "p", "f")
    settled(tab)
    press(tab, ["f", *"late", "enter"])
    settled(tab)
    assert tab.inner_text("h1") == "Question 1?"
    at_once(tab, "c", *"proofs", "Enter", "Enter", "p")
    settled(tab)
    assert tab.inner_text("#said") == EARLY
    found = [one.review for one in written.lines if one.review]
    assert [(one.case_id, one.verdict, one.note) for one in found] == [
        ("c-0", "pass", ""),
        ("c-1", "fail", ""),
        ("c-1", "fail", "late"),
        ("c-1", "fail", "late"),
    ]
    assert found[-1].category == "proofs"


def test_hostile_text_runs_nothing(
    open_page: Open, watched: Watched, serve: Callable[[ReviewSession], Served]
) -> None:
    one = answers(1)[0]
    case = replace(one.case, question=NASTY, expected_answer=NASTY)
    passages = tuple(replace(each, rel_path=NASTY, text=NASTY) for each in one.passages)
    bad = replace(one, case=case, answer=NASTY, passages=passages, stage_name=NASTY)
    source = ReadSource(place=Path(), name="run", answers=(bad,), random_share=0.5)
    tab = open_page(serve(ReviewSession(source, (), Written(), reviewer="ann", blind=False)))
    go(tab, "f", f"'{NASTY}", "c", f"'{NASTY}", "g", "?", "?", "r")
    assert tab.locator("script").count() == 1
    assert tab.locator("img, main style, main script").count() == 0
    assert tab.evaluate("window.pwned") is None
    assert watched.faults == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing(
    open_page: Open, serve: Callable[[ReviewSession], Served], scheme: str, width: int
) -> None:
    written = Written()
    tab = open_page(
        serve(session_of(written=written)),
        color_scheme=scheme,
        viewport={"width": width, "height": 844},
    )
    assert violations(tab) == ""
    go(tab, "f")
    assert violations(tab) == ""
    go(tab, "'late", "c", "'dates", "?")
    assert violations(tab) == ""
    go(tab, "?", "g", "space")
    assert violations(tab) == ""
