"""One page for each metric, cut from docs/metrics.md."""

from __future__ import annotations

import re
from typing import NamedTuple

_ENTRY = re.compile(r"^### `(?P<key>[^`]+)`$")
_HEADING = re.compile(r"^#{1,3} ")


class Entry(NamedTuple):
    """A metric with its text."""

    key: str
    slug: str
    """Its fragment in docs/metrics.md."""
    name: str
    """Name of its page: the key without dots, which are not removed as in a fragment."""
    text: str
    """The page, which starts with the key as its heading."""


def split_metrics(document: str) -> tuple[str, list[Entry]]:
    """Return the page of metrics with links in place of entries, and the entries in order."""
    kept: list[str] = []
    entries: list[tuple[str, str, str, list[str]]] = []
    inside: list[str] | None = None
    fenced = False
    for line in document.splitlines():
        fenced ^= line.startswith("```")
        heading = not fenced and _HEADING.match(line) is not None
        found = _ENTRY.match(line) if heading else None
        if found:
            slug = re.sub(r"[^\w-]", "", found["key"].lower())
            inside = [f"# `{found['key']}`"]
            kept.append(f"- [`{found['key']}`](#{slug})")
            name = re.sub(r"[^\w-]+", "-", found["key"].lower()).strip("-")
            entries.append((found["key"], slug, name, inside))
        elif heading or inside is None:
            inside = None
            kept.append(line)
        else:
            inside.append(line)
    pages = [
        Entry(key, slug, name, "\n".join(lines).strip() + "\n")
        for key, slug, name, lines in entries
    ]
    return "\n".join(kept) + "\n", pages
