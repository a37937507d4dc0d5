from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.build.browser import Open, Watched, page_opener

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path, watched: Watched) -> Iterator[Open]:
    """Opens a page from disk and writes down its requests, messages and dialogs."""
    with page_opener(browser, tmp_path, watched) as opener:
        yield opener
