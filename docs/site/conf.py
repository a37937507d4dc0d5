"""Settings of Sphinx, copied beside the sources of the site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer  # type: ignore[import-untyped]

import pytest_rageval

project = "pytest-rageval"
copyright = "The pytest-rageval developers"
version = release = pytest_rageval.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
myst_heading_anchors = 4
smartquotes = False  # values are to be copied

autodoc_member_order = "bysource"
autodoc_typehints = "description"
napoleon_google_docstring = True

html_theme = "furo"
html_title = f"pytest-rageval {release}"
html_extra_path = ["extra"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_show_sphinx = False


def setup(app: Any) -> None:
    """Add a lexer, and keep napoleon from taking the words before a colon for a type."""
    kept: list[str] = []

    def keep(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
        kept[:] = lines

    def restore(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
        if what == "attribute":
            lines[:] = kept

    app.add_lexer("csv", TextLexer)  # Pygments has none
    app.connect("autodoc-process-docstring", keep, priority=1)
    app.connect("autodoc-process-docstring", restore, priority=999)
