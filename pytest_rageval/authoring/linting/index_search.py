"""Looks for the anchors of cases in a running target, by asking for their own words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from pytest_rageval.authoring.linting.findings import LintFinding, PlacedCase, anchors_of
from pytest_rageval.authoring.linting.index import (
    AnchorKey,
    anchor_key,
    is_there,
    lost_anchor,
    probes,
)
from pytest_rageval.target.calling import call_client
from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.errors import EndpointError
from pytest_rageval.values.reply import AskRequest, RetrievedChunk
from pytest_rageval.values.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """One anchor to be looked for, and what the case that first names it gives to ask."""

    anchor: Anchor
    requests: tuple[AskRequest, ...]


def find_lost_anchors(
    cases: Sequence[PlacedCase], settings: Settings, *, environ: Mapping[str, str]
) -> Iterator[LintFinding]:
    """Yield a finding for each anchor that asking for it does not retrieve.

    Args:
        cases: of all files.
        settings: name the target; its parameters are sent along.
        environ: where its secrets are.

    Raises:
        EndpointError: the target failed, or reports no chunks.
        ConfigError: its settings are wrong.
    """
    looks: dict[AnchorKey, _Look] = {}
    for placed in cases:
        for _, anchor in anchors_of(placed):
            requests = tuple(
                replace(request, params=settings.params) for request in probes(placed, anchor)
            )
            looks.setdefault(anchor_key(anchor), _Look(anchor=anchor, requests=requests))
    client = HttpRagClient(settings.target, environ=environ)
    try:
        with ThreadPoolExecutor(max_workers=settings.concurrency) as pool:
            chunks = list(pool.map(lambda one: _look(client, one), looks.values()))
    finally:
        client.close()
    found = dict(zip(looks, chunks, strict=True))
    for placed in cases:
        for field, anchor in anchors_of(placed):
            seen = found[anchor_key(anchor)]
            if seen is not None:
                yield lost_anchor(placed, field, anchor, seen)


def _look(client: HttpRagClient, look: _Look) -> list[RetrievedChunk] | None:
    """Return what was retrieved in vain; None: the anchor is there."""
    seen: list[RetrievedChunk] = []
    for request in look.requests:
        chunks = _retrieved(client, request)
        if is_there(look.anchor, chunks):
            return None
        seen.extend(chunks)
    return seen


def _retrieved(client: HttpRagClient, request: AskRequest) -> tuple[RetrievedChunk, ...]:
    result = call_client(client, request)
    if result.response is None:
        assert result.error is not None  # one of the two is always set
        raise EndpointError(result.error.kind, result.error.message, attempts=result.error.attempts)
    if result.response.retrieved_chunks is None:
        message = "the target reports no debug.retrieved_chunks, so no anchor can be looked for"
        raise EndpointError("protocol", message)
    return result.response.retrieved_chunks
