"""Styles and scripts of the pages, and the policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Final

TEMPLATES: Final = Path(__file__).parent / "templates"
"""Folder of the templates, styles and scripts of every page."""


@cache
def page_asset(*names: str) -> str:
    """Return the styles or the scripts of a page, one after the other."""
    texts = ((TEMPLATES / name).read_text(encoding="utf-8") for name in names)
    # Browsers hash the text with normalised line ends. Every page carries it, so that indents and
    # comments are left out.
    lines = (line.strip() for text in texts for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("//"))


def content_policy(*, style: str, script: str, served: bool = False) -> str:
    """Return the content security policy: only the page's script and style.

    A served page may also ask its own server; its icon is empty and inline, so that browsers do
    not request one.
    """
    rest = "form-action 'none'"
    if served:
        rest = "connect-src 'self'; form-action 'self'; img-src data:"
    return (
        "default-src 'none'; "
        f"script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        f"base-uri 'none'; {rest}"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
