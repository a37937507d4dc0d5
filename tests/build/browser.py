"""A real browser: Debian's chromium, or another one on the path."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

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
