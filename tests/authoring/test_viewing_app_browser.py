"""The pages over all runs in a real browser; without chromium these tests are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_rageval.runs.reviews import read_notes
from pytest_rageval.runs.store import write_document
from pytest_rageval.runs.tags import read_tags, write_tag
from tests.authoring.viewing_server import Shown, showing
from tests.build.browser import Visit, Watched, visitor
from tests.build.runs import run_of, write_run
from tests.report.html.builders import HOSTILE, gated

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

NASTY = " ".join(HOSTILE[:11])


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    write_run(folder, "r1", run_of(8), day=1)
    hostile: dict[str, Any] = {
        "judge": NASTY,
        "git": {"commit": NASTY, "branch": NASTY},
        "answerer_version": NASTY,
    }
    write_run(
        folder, "r2", run_of(8, missed={1, 2}, question=NASTY, answer=NASTY), day=2, **hostile
    )
    write_run(folder, "r3", run_of(8, missed={2}), day=3)
    write_document(folder / "r2", "gate.json", gated(sentence=NASTY))
    (folder / "bad <img src=x onerror=alert(1)>").mkdir()
    write_tag(folder, "release", "r2")
    return folder


@pytest.fixture
def shown(results: Path) -> Iterator[Shown]:
    with showing(results, admit=False) as found:
        yield found


@pytest.fixture
def visit(browser: Browser, watched: Watched) -> Iterator[Visit]:
    with visitor(browser, watched) as opener:
        yield opener


def admitted(visit: Visit, shown: Shown, **options: Any) -> Page:
    tab = visit(shown.address, **options)
    tab.wait_for_url(f"{shown.base}/")
    return tab


def harmless(tab: Page, watched: Watched, origin: str) -> None:
    assert watched.faults == []
    assert {url for url in watched.requests if not url.startswith((origin, "data:"))} == set()
    assert tab.evaluate("window.pwned") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_is_cut(
    visit: Visit, shown: Shown, watched: Watched, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    tab = admitted(visit, shown, color_scheme=scheme)
    of_run = ["/run-r2"] if scheme == "light" else []  # its own tests look at it in both
    for path in ("/", "/compare?run=r1&run=r2&run=r3", *of_run):
        tab.goto(f"{shown.base}{path}")
        for width in (1280, 768, 390):
            tab.set_viewport_size({"width": width, "height": 900})
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
        found = Axe().run(tab)
        assert found.violations_count == 0, (path, found.generate_report())
    harmless(tab, watched, shown.origin)


def test_the_list_is_filtered_and_the_way_back_finds_it_so(
    visit: Visit, shown: Shown, watched: Watched
) -> None:
    tab = admitted(visit, shown)
    tab.keyboard.press("/")
    tab.keyboard.type("r")
    rows = tab.locator("tr.run:visible")
    assert rows.count() == 3
    tab.keyboard.type("1")
    assert rows.count() == 1
    tab.keyboard.press("Escape")
    assert rows.count() == 3
    tab.select_option("#gate", "fail")
    assert rows.evaluate_all("rows => rows.map((row) => row.id)") == ["run-r2"]
    tab.select_option("#gate", "")
    assert tab.locator("#compare").is_disabled()
    tab.focus("input[value=r3]")
    tab.keyboard.press("Space")
    assert "One is chosen" in tab.inner_text("#hint")
    tab.focus("input[value=r1]")
    tab.keyboard.press("Space")
    tab.focus("#q")
    tab.keyboard.press("Enter")
    tab.focus("#compare")
    assert "/compare" not in tab.url, "Enter ends a search and nothing else"
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/compare?run=r3&run=r1*")
    assert "r3 compared with r1" in tab.title()
    tab.go_back()
    assert tab.is_checked("input[value=r1]")
    assert tab.is_checked("input[value=r3]")
    tab.select_option("#tag", "release")
    tab.click("tr.run:visible a.key")
    assert "/run-r2" in tab.url
    tab.go_back()
    assert rows.count() == 1
    harmless(tab, watched, shown.origin)


def test_tags_are_given_and_removed_by_keyboard(
    visit: Visit, shown: Shown, results: Path, watched: Watched
) -> None:
    tab = admitted(visit, shown)
    tab.focus("#run-r1 button.add")
    tab.keyboard.press("Enter")
    tab.keyboard.type("no tag")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#tag-fault:visible")
    assert "expected 1 to 100 letters" in tab.inner_text("#tag-fault")
    watched.faults.clear()  # the browser writes down the refusal
    tab.fill("#tag-name", "main")
    with tab.expect_navigation():
        tab.keyboard.press("Enter")
    assert read_tags(results) == {"main": "r1", "release": "r2"}
    assert tab.evaluate("document.activeElement.dataset.run") == "r1"
    tab.keyboard.press("Shift+Tab")
    with tab.expect_navigation():
        tab.keyboard.press("Enter")
    assert read_tags(results) == {"release": "r2"}
    assert tab.evaluate("document.activeElement.dataset.run") == "r1"
    tab.reload()
    assert tab.evaluate("document.activeElement.tagName") == "BODY"
    harmless(tab, watched, shown.origin)


def test_a_note_is_kept_also_when_its_case_is_left(
    visit: Visit, shown: Shown, results: Path, watched: Watched
) -> None:
    tab = admitted(visit, shown)
    tab.goto(f"{shown.base}/run-r2#case-c-001")
    tab.fill(".take-note textarea", NASTY)
    tab.fill(".take-note input", "ana")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("text=Saved")
    assert [(note.text, note.author) for note in read_notes(results / "r2")] == [(NASTY, "ana")]
    tab.fill(".take-note textarea", "jk / ?")  # keys of the page are text here
    with tab.expect_response("**/note"):
        tab.click("#next")
    assert "case-c-001" not in tab.url
    tab.goto(f"{shown.base}/run-r2#case-c-001")
    tab.reload()
    assert tab.inner_text(".note .text") == "jk / ?"
    assert [note.text for note in read_notes(results / "r2")] == ["jk / ?"]
    tab.fill(".take-note input", "bo")
    tab.locator(".take-note input").blur()
    assert tab.input_value(".take-note textarea") == ""  # each author has a note of his own
    tab.fill(".take-note textarea", "second")
    tab.press(".take-note textarea", "Control+Enter")
    tab.wait_for_selector("text=Saved")
    assert len(read_notes(results / "r2")) == 2
    harmless(tab, watched, shown.origin)


def test_side_by_side_shows_only_what_differs_until_all_is_asked_for(
    visit: Visit, shown: Shown, watched: Watched
) -> None:
    tab = admitted(visit, shown)
    tab.goto(f"{shown.base}/compare?run=r1&run=r3")
    rows = tab.locator(".answers tbody tr:visible")
    differing = rows.count()
    assert 0 < differing < 8
    tab.keyboard.press("d")
    assert rows.count() == 8
    tab.keyboard.press("j")
    assert tab.evaluate(
        "document.activeElement.closest('tr') === document.querySelector('tr[data-row]')"
    )
    tab.keyboard.press("/")
    tab.keyboard.type("no such case")
    assert tab.locator("#none").is_visible()
    tab.keyboard.press("Escape")
    assert rows.count() == 8
    harmless(tab, watched, shown.base)
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.keyboard.press("d")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    assert rows.count() == differing
