"""The map of embeddings in a real browser, as ``test_page_browser.py`` for the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.build.browser import Open, Watched
from tests.report.html.maps import example, hostile_map, page_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

PLACE = """(i) => {
  const data = JSON.parse(document.getElementById('map-data').textContent);
  const canvas = document.getElementById('map'), box = canvas.getBoundingClientRect();
  const w = canvas.clientWidth, h = canvas.clientHeight;
  const by = Math.min(w / data.extent[0], h / data.extent[1]) * .46;
  return [box.x + w / 2 + data.x[i] * by, box.y + h / 2 - data.y[i] * by];
}"""
"""Place of a point in the window while the whole map is shown."""
SETTLED = "() => new Promise((done) => setTimeout(() => setTimeout(done, 50), 50))"


def place(tab: Page, point: int) -> tuple[float, float]:
    x, y = tab.evaluate(PLACE, point)
    return x, y


def tip(tab: Page) -> str | None:
    """The title of the point that the map names; None: it names none."""
    found = tab.locator("#tip")
    return found.locator("b").text_content() if found.is_visible() else None


def detail(tab: Page) -> str:
    return tab.locator("#detail").inner_text()


def listed(tab: Page) -> list[str]:
    return tab.locator("#points button").all_inner_texts()


# --- safety --------------------------------------------------------------------------------


def test_hostile_text_runs_nothing_and_asks_for_nothing(open_page: Open, watched: Watched) -> None:
    tab = open_page(page_of(hostile_map()))
    buttons = tab.locator("#points button")
    for number in range(buttons.count()):
        buttons.nth(number).click()
    tab.evaluate(SETTLED)

    assert tab.evaluate("window.pwned") is None
    assert watched.requests == [tab.url]
    assert watched.faults == []
    assert tab.locator("main script, iframe, img, object, embed, base, form").count() == 0


@pytest.mark.parametrize(
    ("scheme", "hostile", "width"),
    [("light", False, 1280), ("dark", True, 390)],
)
def test_axe_finds_nothing_and_the_page_fits(
    open_page: Open, scheme: str, hostile: bool, width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    html = page_of(hostile_map() if hostile else example())
    tab = open_page(html, viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab.locator("#points button").first.click()

    results = Axe().run(tab)

    assert results.violations_count == 0, results.generate_report()
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


# --- mouse and touch -----------------------------------------------------------------------


def test_pointing_reads_and_clicking_selects(open_page: Open) -> None:
    tab = open_page(page_of(example()))
    assert detail(tab).startswith("Select a point")

    tab.mouse.move(*place(tab, 5))
    assert tip(tab) == "beta"
    assert "What does beta ask?" in tab.locator("#tip").inner_text()
    tab.mouse.click(*place(tab, 5))

    words = detail(tab)
    assert words.startswith("beta")
    assert "Outcome: missed, not_retrieved." in words
    for heading in ("Golds", "Retrieved", "Nearest wrong chunks"):
        assert heading in words
    tab.mouse.move(2, 2)
    assert tip(tab) is None


def test_the_wheel_zooms_about_the_pointer_and_dragging_moves(open_page: Open) -> None:
    tab = open_page(page_of(example()))
    x, y = place(tab, 5)
    tab.mouse.move(x, y)
    for _ in range(5):
        tab.mouse.wheel(0, -300)
    tab.mouse.move(x + 3, y)
    assert tip(tab) == "beta"

    tab.mouse.down()
    tab.mouse.move(x + 40, y + 30, steps=4)
    tab.mouse.up()
    assert detail(tab).startswith("Select a point")
    tab.mouse.move(x, y)
    assert tip(tab) is None
    tab.mouse.move(x + 37, y + 30)
    assert tip(tab) == "beta"

    tab.click("#reset")
    tab.mouse.move(*place(tab, 5))
    assert tip(tab) == "beta"


# --- keyboard ------------------------------------------------------------------------------


def test_the_list_is_one_stop_and_its_arrows_name_and_select_points(open_page: Open) -> None:
    tab = open_page(page_of(example()))
    assert listed(tab)[:2] == ["not passed beta", "passed alpha"]
    assert tab.locator("#points button[tabindex='0']").count() == 1

    tab.focus("#points button")
    assert tip(tab) == "beta"
    tab.keyboard.press("ArrowDown")
    assert tip(tab) == "alpha"
    tab.keyboard.press("Enter")
    assert detail(tab).startswith("alpha")
    tab.keyboard.press("End")
    assert tip(tab) == "docs/file3.md > # File 3 > ## Part"


# --- filter --------------------------------------------------------------------------------


def test_search_misses_and_colours_narrow_the_points(open_page: Open) -> None:
    tab = open_page(page_of(example()))
    shown = tab.locator("#shown")
    assert shown.text_content() == "6 of 6 points"

    tab.check("#only-misses")
    assert "passed alpha" not in listed(tab)
    assert "not passed beta" in listed(tab)
    tab.uncheck("#only-misses")
    tab.fill("#q", "WHOLE gold")
    assert shown.text_content() == "1 of 6 points"
    tab.click("#clear")
    tab.select_option("#by", "outcome")
    tab.click("#legend button:has-text('question: missed')")
    assert listed(tab) == ["not passed beta"]
    tab.click("#legend button:has-text('question: missed')")
    assert len(listed(tab)) == 6


# --- drawing -------------------------------------------------------------------------------
