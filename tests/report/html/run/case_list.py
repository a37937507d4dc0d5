"""The list of cases of a page in a real browser: a run to show, and what the tab shows of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.report.html.builders import errored, missed, page, passed, run

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


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


def typed(tab: Page) -> None:
    """Wait until the page has taken up what was typed, which it does after half of that."""
    # A timer of the page itself: that of another process may end first.
    tab.evaluate("() => new Promise((done) => setTimeout(done, 80))")


def searched(tab: Page, text: str) -> list[str]:
    tab.fill("#q", text)
    typed(tab)
    return shown(tab)
