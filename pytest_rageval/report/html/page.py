"""The page as one string: no request, no style or handler of its own in any attribute."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.report.html.chunks import render_chunks, render_pieces
from pytest_rageval.report.html.markup import visible
from pytest_rageval.report.html.values import ReportView

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES: Final = Path(__file__).parent / "templates"


def render_report(view: ReportView) -> str:
    """Render the page.

    Every text is escaped and its hidden characters are written out, whichever field it stands in.
    """
    style, script = _asset("style.css"), _asset("script.js")
    template = _environment().get_template("page.html.j2")
    policy = content_policy(style=style, script=script)
    return template.render(view=view, style=style, script=script, policy=policy)


def content_policy(*, style: str, script: str) -> str:
    """Return the policy under which the page runs: its own script and style, and nothing else."""
    return (
        "default-src 'none'; "
        f"script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


@cache
def _asset(name: str) -> str:
    # A browser hashes the text with its line ends normalised.
    return (_TEMPLATES / name).read_text(encoding="utf-8").replace("\r\n", "\n")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["chunk_list"] = render_chunks
    environment.globals["word_pieces"] = render_pieces
    return environment


def _shown(value: Any) -> Any:
    # Here and not field by field, so that none can be forgotten.
    # What prints hides nothing: to ask so here spares a call for nearly every value of a page.
    return visible(value) if type(value) is str and not value.isprintable() else value
