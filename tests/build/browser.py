"""A real browser: Debian's chromium, or another one on the path."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Open = Callable[..., "Page"]
"""Opens a page from disk: its text, a fragment of its address, options of its window."""
Visit = Callable[..., "Page"]
"""Opens an address, with options of its window."""

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_browser() -> str | None:
    """The path of a browser; None: there is none."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome-headless-shell")
    return next((path for name in names if (path := shutil.which(name))), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with a fresh profile; without one the test is skipped, unless one must be there."""
    executable = find_browser()
    if executable is None:
        if os.environ.get("RAGEVAL_REQUIRE_BROWSER"):
            pytest.fail("RAGEVAL_REQUIRE_BROWSER is set, and there is no chromium on the path")
        pytest.skip("no chromium on the path")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        try:
            yield started
        finally:
            started.close()


class Watched:
    """Forbidden actions of a page."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.requests: list[str] = []


@contextmanager
def visitor(browser: Browser, watched: Watched) -> Iterator[Visit]:
    """Opens addresses and writes down the requests, messages and dialogs of their pages."""
    opened: list[Any] = []

    def visit(address: str, *, init: str = "", **context: Any) -> Page:
        given = {"viewport": {"width": 1280, "height": 900}, **context}
        opened.append(browser.new_context(**given))
        tab: Page = opened[-1].new_page()
        tab.add_init_script(init)
        tab.set_default_timeout(60_000)
        tab.on("console", lambda message: watched.faults.append(f"console: {message.text}"))
        tab.on("pageerror", lambda error: watched.faults.append(f"error: {error}"))
        tab.on("dialog", lambda dialog: watched.faults.append(f"dialog: {dialog.message}"))
        tab.on("request", lambda request: watched.requests.append(request.url))
        tab.goto(address)
        return tab

    yield visit
    for one in opened:
        one.close()


@contextmanager
def page_opener(browser: Browser, folder: Path, watched: Watched) -> Iterator[Open]:
    """Opens pages from a folder, as `visitor` opens addresses."""
    with visitor(browser, watched) as visit:

        def opener(html: str, address: str = "", **given: Any) -> Page:
            file = folder / "report.html"
            file.write_text(html, encoding="utf-8")
            return visit(f"{file.as_uri()}{address}", **given)

        yield opener
