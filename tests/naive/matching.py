"""docs/matching.md#matching: headings, and whether a chunk matches an anchor.

Paths and texts are normalised by the package, whose examples are in ``tests/data``.
"""

from __future__ import annotations

import re
from typing import Any

# Markup is read by markdown-it, with an oracle in tests/metrics/test_matching_headings.py.
from pytest_rageval.metrics.matching import heading_text, norm_path, norm_text

Values = dict[str, Any]
Segments = list[str]


def norm_heading(heading: str | None) -> Segments | None:
    """List the segments of a heading path; None stays None."""
    if heading is None:
        return None
    text = " ".join(heading.split())
    segments = [""]
    for at, character in enumerate(text):
        if character == ">" and _is_delimiter(text, at):
            segments.append("")
        else:
            segments[-1] += character
    shown = [heading_text(_without_marker(segment.strip())) for segment in segments]
    cleaned = [norm_text(segment) for segment in shown]
    return [segment for segment in cleaned if segment]


def _is_delimiter(text: str, at: int) -> bool:
    before, after = text[:at], text[at + 1 :]
    open_left = before == "" or before.endswith(" ")
    open_right = after == "" or after.startswith(" ")
    return (open_left and open_right) or re.match("#{1,6} ", after) is not None


def _without_marker(segment: str) -> str:
    opening = re.match("#{1,6} ", segment)
    if opening is None:
        return segment
    segment = segment[opening.end() :]
    return re.sub(" #+$", "", segment)


def chunk_segments(chunk: Values) -> Segments:
    """Segments of a chunk; a null or absent heading is the chunk without heading."""
    return norm_heading(chunk.get("heading_path")) or []


def anchor_segments(anchor: Values) -> Segments:
    """Segments of an anchor; none = the whole document."""
    return norm_heading(anchor.get("heading_path") or "") or []


def same_document(one: Values, other: Values, settings: Values) -> bool:
    """Compare paths, and vaults where both name one."""
    case = settings.get("path_case", "sensitive")
    vaults = {one.get("vault"), other.get("vault")} - {None}
    same_path = norm_path(one["rel_path"], case) == norm_path(other["rel_path"], case)
    return same_path and len(vaults) <= 1


def matches(anchor: Values, chunk: Values, settings: Values) -> bool:
    """Say whether a chunk matches a gold or irrelevant support."""
    if not same_document(anchor, chunk, settings):
        return False
    wanted, got = anchor_segments(anchor), chunk_segments(chunk)
    snippets = [norm_text(snippet) for snippet in anchor.get("snippets") or []]
    text = norm_text(chunk.get("text") or "")
    held = [snippet in text for snippet in snippets]
    if got[: len(wanted)] == wanted:
        rule = settings.get("snippets", "off")
        if rule == "off" or not snippets:
            return True
        return any(held) if rule == "any" else all(held)
    coarser = len(got) < len(wanted) and wanted[: len(got)] == got
    return bool(settings.get("coarse_chunks") and coarser and snippets and all(held))
