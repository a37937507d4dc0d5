"""docs/site/metrics.toml: what an answer cites, and what a citation points at."""

from __future__ import annotations

import re

from pytest_rageval.metrics.matching import norm_path
from tests.naive.matching import (
    Values,
    anchor_segments,
    chunk_segments,
    norm_heading,
    same_document,
)
from tests.naive.rules import named_by

WRITTEN = re.compile(
    r"""
      \[ \s* File: \s* (?P<p1>[^\],]+?) \s* (?: , \s* Section: \s* (?P<s1>[^\]]+?) \s* )? \]
    | \( \s* File: \s* (?P<p2>[^),]+?)  \s* (?: , \s* Section: \s* (?P<s2>[^)]+?)  \s* )? \)
    | \[ \s* (?P<p3>[^\[\],]+?)         \s*     , \s* Section: \s* (?P<s3>[^\]]+?) \s*    \]
    | \[ (?P<number>[0-9]+) \]
    """,
    re.VERBOSE,
)

NOTHING: Values = {"rel_path": None, "heading_path": None}


def cited(
    response: Values, ranked: list[Values] | None, case: Values, settings: Values
) -> list[Values] | None:
    """Distinct citations of a response; None where none are reported.

    ``chunk`` is the index of the chunk that a citation names in place of a section.
    """
    found = written(response.get("answer") or "", ranked, settings)
    for one in found:
        at = one.pop("at", None)
        if at is not None and named_by(at + 1, case, ranked or [], settings):
            one["chunk"] = at
    references = response.get("references")
    if references is None and not found:
        return None
    distinct: dict[object, Values] = {}
    chunks = [one for one in found if "chunk" in one]
    for citation in [*(references or []), *found]:
        whole = "chunk" not in citation and not norm_heading(citation.get("heading_path"))
        whole = whole and citation["rel_path"] is not None
        if whole and any(same_document(citation, one, settings) for one in chunks):
            continue  # a chunk of it says more
        distinct.setdefault(_identity(citation, settings), citation)
    return list(distinct.values())


def _identity(citation: Values, settings: Values) -> object:
    if citation["rel_path"] is None:
        return None
    segments = norm_heading(citation.get("heading_path"))
    path = norm_path(citation["rel_path"], settings.get("path_case", "sensitive"))
    return path, None if segments is None else tuple(segments), citation.get("chunk")


def written(answer: str, ranked: list[Values] | None, settings: Values) -> list[Values]:
    """Citations written in the answer's text, in the four forms that are read."""
    found = []
    for hit in WRITTEN.finditer(answer):
        if hit["number"] is not None:
            if ranked is not None:  # without chunks nothing tells what a number counts
                found.append(_numbered(int(hit["number"]), ranked))
            continue
        path = hit["p1"] or hit["p2"] or hit["p3"]
        section = hit["s1"] or hit["s2"] or hit["s3"]
        found.append(_in_section(path, section, ranked, settings))
    return found


def _numbered(number: int, chunks: list[Values]) -> Values:
    if not 1 <= number <= len(chunks):
        return dict(NOTHING)
    chunk = chunks[number - 1]
    fields = ("rel_path", "heading_path", "vault")
    return {field: chunk.get(field) for field in fields} | {"at": number - 1}


def _in_section(
    path: str, section: str | None, ranked: list[Values] | None, settings: Values
) -> Values:
    citation: Values = {"rel_path": path, "heading_path": section}
    wanted = norm_heading(section)
    for chunk in ranked or []:
        got = chunk_segments(chunk)
        if wanted and same_document(citation, chunk, settings) and got[-len(wanted) :] == wanted:
            return citation | {key: chunk.get(key) for key in ("heading_path", "vault")}
    return citation


def points_into(citation: Values, gold: Values, settings: Values) -> bool:
    """Say whether a citation points into a gold."""
    if citation["rel_path"] is None or not same_document(citation, gold, settings):
        return False
    segments = norm_heading(citation.get("heading_path"))
    wanted = anchor_segments(gold)
    return segments is None or segments[: len(wanted)] == wanted


def in_context(citation: Values, chunks: list[Values], settings: Values) -> bool:
    """Say whether a citation points at a retrieved chunk."""
    if citation["rel_path"] is None:
        return False
    cited_segments = norm_heading(citation.get("heading_path"))
    for chunk in chunks:
        if not same_document(citation, chunk, settings):
            continue
        segments = norm_heading(chunk.get("heading_path"))
        if cited_segments is None or segments is None:
            return True
        if segments[: len(cited_segments)] == cited_segments:
            return True
    return False
