"""The pages over all runs as text, piece by piece; every text in them is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pytest_rageval.report.html.assets import content_policy, page_asset
from pytest_rageval.report.html.runs.links import Links
from pytest_rageval.report.html.runs.listing import RunList, row_words
from pytest_rageval.report.html.runs.side_by_side import SideBySide

_STYLES: Final = ("design.css", "runs/runs.css")


def fault_policy() -> str:
    """Return the content security policy of a served page of a fault, which has no script."""
    return content_policy(style=page_asset(*_STYLES), script="", served=True)


def render_list(view: RunList, links: Links, *, title: str) -> Iterator[str]:
    """Yield the list of all runs in pieces."""
    scripts = ("search.js", "runs/list.js", *(() if links.static else ("runs/tags.js",)))
    return _render("list", scripts, links, view=view, title=title, row_words=row_words)


def render_side_by_side(view: SideBySide, links: Links) -> Iterator[str]:
    """Yield the page of two or three runs in pieces."""
    return _render("compare", (), links, view=view)


def render_fault(sentence: str, links: Links) -> Iterator[str]:
    """Yield the page that says why another cannot be shown."""
    return _render("fault", (), links, sentence=sentence)


def _render(name: str, scripts: tuple[str, ...], links: Links, **values: Any) -> Iterator[str]:
    # Imported here, since jinja2 is slow to import.
    from pytest_rageval.report.html.templating import render_page

    return render_page(
        f"runs/{name}.html.j2",
        styles=_STYLES,
        scripts=scripts,
        served=not links.static,
        links=links,
        **values,
    )
