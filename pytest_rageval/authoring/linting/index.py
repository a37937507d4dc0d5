"""Anchors against what a target retrieves: what to ask, and what the answer shows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from pytest_rageval.authoring.linting.findings import LintFinding, PlacedCase, finding
from pytest_rageval.metrics.matching import (
    anchor_segments,
    matches_anchor,
    norm_heading,
    norm_path,
    norm_text,
    starts_with,
)
from pytest_rageval.support.text import did_you_mean, nearest
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import AskRequest, RetrievedChunk

DEPTH: Final = 20
"""Chunks that are asked for."""
_WORDS: Final = 40
_NEAR: Final = 0.6

AnchorKey = tuple[str | None, str, tuple[str, ...], tuple[str, ...]]


def anchor_key(anchor: Anchor) -> AnchorKey:
    """Return what tells anchors apart that would be looked for alike."""
    return (
        anchor.vault,
        norm_path(anchor.rel_path),
        anchor_segments(anchor),
        tuple(map(norm_text, anchor.snippets)),
    )


def probes(placed: PlacedCase, anchor: Anchor) -> tuple[AskRequest, ...]:
    """Return requests that should retrieve an anchor, the surest first."""
    name = norm_path(anchor.rel_path).rpartition("/")[2].rsplit(".", 1)[0]
    headings = " ".join(anchor_segments(anchor))
    texts = [*anchor.snippets, f"{name.replace('-', ' ')} {headings}", placed.case.question]
    vaults = () if anchor.vault is None else (anchor.vault,)
    asked = dict.fromkeys(" ".join(text.split()[:_WORDS]) for text in texts)
    return tuple(AskRequest(question=text, k=DEPTH, vaults=vaults) for text in asked if text)


def is_there(anchor: Anchor, chunks: Iterable[RetrievedChunk]) -> bool:
    """Tell whether one of the chunks lies at an anchor, whatever its snippets say."""
    settings = ScoreSettings(snippets="off")
    return any(matches_anchor(anchor, chunk, settings) for chunk in chunks)


def lost_anchor(
    placed: PlacedCase, field: str, anchor: Anchor, chunks: Sequence[RetrievedChunk]
) -> LintFinding:
    """Say what is known of an anchor that none of the chunks lies at.

    Where its document was retrieved, its section is not there under that name: an error. A document
    that never came may still be in the index: a warning.

    Args:
        placed: the case.
        field: of the anchor.
        anchor: what was looked for.
        chunks: all that its probes retrieved.
    """
    document = norm_path(anchor.rel_path)
    headings = {
        chunk.heading_path: norm_heading(chunk.heading_path)
        for chunk in chunks
        if norm_path(chunk.rel_path) == document
    }
    if headings and None not in headings:
        near = _nearest(anchor_segments(anchor), [path for path in headings if path])
        message = f"no chunk of {anchor.rel_path} lies at {anchor.heading_path!r}{near}"
        return finding(placed, "error", "unknown-section", message, field=f"{field}.heading_path")
    if headings:
        message = f"the target reports no headings of {anchor.rel_path}, so no chunk can match"
    else:
        others = sorted({chunk.rel_path for chunk in chunks})
        hint = did_you_mean(anchor.rel_path, others, cutoff=_NEAR)
        message = f"{anchor.rel_path!r} was not retrieved by its own words{hint}"
    return finding(placed, "warning", "not-in-index", message, field=f"{field}.rel_path")


def _nearest(wanted: tuple[str, ...], paths: Sequence[str]) -> str:
    by_text = {" > ".join(norm_heading(path) or ()): path for path in paths}
    near = nearest(" > ".join(wanted), by_text, cutoff=_NEAR)
    if near is None:
        alike = (
            text
            for text, path in by_text.items()
            if starts_with(tuple(reversed(norm_heading(path) or ())), tuple(wanted[-1:]))
        )
        near = next(alike, None)
    return "" if near is None else f", did you mean {by_text[near]!r}?"
