"""The page and the part of it that changes, as strings. Pure."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.authoring.labelling.view import HELP, RowView, SessionView
from pytest_rageval.authoring.labelling.web.page import CONFLICT, CONTROLS
from pytest_rageval.report.html.page import content_policy
from pytest_rageval.report.html.texts import shortened, visible

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES: Final = Path(__file__).parent / "templates"
_EXCERPT: Final = 280
"""Characters of a row that the cursor is not on."""
_WHOLE: Final = 50_000
"""Characters of the row that the cursor is on."""


def render_page(view: SessionView, revision: int) -> str:
    """Render the whole page; every text is escaped and its hidden characters are written out."""
    template = _environment().get_template("page.html.j2")
    style, script = _asset("style.css"), _asset("script.js")
    alarm = CONFLICT if view.conflict else ""
    return template.render(style=style, script=script, alarm=alarm, **_context(view, revision))


def render_session(view: SessionView, revision: int) -> str:
    """Render the part of the page that changes."""
    return _environment().get_template("session.html.j2").render(_context(view, revision))


def render_end(saved: int, unsaved: tuple[str, ...]) -> str:
    """Render what takes the place of a session that is over."""
    return _environment().get_template("end.html.j2").render(saved=saved, unsaved=unsaved)


def page_policy() -> str:
    """Return the policy under which the page runs: its own script and style, and its own server.

    The icon is an empty one of the page's own, so that no browser asks for another.
    """
    own = content_policy(style=_asset("style.css"), script=_asset("script.js"))
    return f"{own}; connect-src 'self'; img-src data:; frame-ancestors 'none'"


def _context(view: SessionView, revision: int) -> dict[str, Any]:
    return {
        "view": view,
        "revision": revision,
        "controls": CONTROLS[view.mode],
        "help_keys": HELP,
        "row_text": _row_text,
    }


def _row_text(row: RowView) -> str:
    # Only what is read: everything travels again with each key.
    return shortened(row.text, _WHOLE if row.current else _EXCERPT)


@cache
def _asset(name: str) -> str:
    # A browser hashes the text with its line ends normalised.
    return (_TEMPLATES / name).read_text(encoding="utf-8").replace("\r\n", "\n")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_TEMPLATES, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: Any) -> Any:
    # Here and not field by field, so that none can be forgotten.
    return visible(value) if type(value) is str else value
