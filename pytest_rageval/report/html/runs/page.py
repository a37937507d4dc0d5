"""The pages over all runs as text, piece by piece; every text in them is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pytest_rageval.report.html.assets import content_policy, page_asset
from pytest_rageval.report.html.links import Links
from pytest_rageval.report.html.runs.listing import RunList
from pytest_rageval.report.html.runs.side_by_side import SideBySide

_KEYS: Final = (("Esc", "out of the search"), ("?", "this list"))
_LIST_KEYS: Final = (
    ("/", "search the runs"),
    ("j k", "next and previous run"),
    ("Enter", "open the run"),
    ("x", "choose the run for a comparison"),
    *_KEYS,
)
_COMPARE_KEYS: Final = (
    ("/", "search the cases"),
    ("j k", "next and previous case"),
    ("Enter", "open the case in its run"),
    ("d", "show or hide the cases that are alike"),
    *_KEYS,
)


def fault_policy() -> str:
    """Return the content security policy of a served page of a fault, which has no script."""
    return content_policy(style=page_asset("design.css"), script="", served=True)


def render_list(view: RunList, links: Links, *, title: str) -> Iterator[str]:
    """Yield the list of all runs in pieces."""
    scripts = ("search.js", "keys.js", "runs/list.js", *(() if links.static else ("runs/tags.js",)))
    return _render("list", scripts, links, view=view, title=title, keys=_LIST_KEYS)


def render_side_by_side(view: SideBySide, links: Links) -> Iterator[str]:
    """Yield the page of two or three runs in pieces."""
    scripts = ("search.js", "keys.js", "runs/compare.js")
    return _render("compare", scripts, links, view=view, keys=_COMPARE_KEYS)


def render_fault(sentence: str, links: Links) -> Iterator[str]:
    """Yield the page that says why another cannot be shown."""
    return _render("fault", (), links, sentence=sentence)


def _render(name: str, scripts: tuple[str, ...], links: Links, **values: Any) -> Iterator[str]:
    # Imported here, since jinja2 is slow to import.
    from pytest_rageval.report.html.templating import render_page

    return render_page(
        f"runs/{name}.html.j2", scripts=scripts, served=not links.static, links=links, **values
    )
