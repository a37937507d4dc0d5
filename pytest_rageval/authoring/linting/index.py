"""Anchors compared with the chunks that a target retrieves: requests and findings."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

from pytest_rageval.authoring.linting.findings import (
    NEAR,
    LintFinding,
    PlacedCase,
    anchors_of,
    did_you_mean_heading,
    finding,
)
from pytest_rageval.metrics.deciding import is_at, rule_for
from pytest_rageval.metrics.document_names import own_names
from pytest_rageval.metrics.matching import anchor_segments, norm_path, norm_text
from pytest_rageval.metrics.scoring import score_settings
from pytest_rageval.project.case_variables import case_variables
from pytest_rageval.support.text import did_you_mean
from pytest_rageval.support.threads import session_loop
from pytest_rageval.support.tracebacks import last_place
from pytest_rageval.target.calling import call_client
from pytest_rageval.target.variables import new_uuid
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.errors import target_error, with_facts
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import AskRequest, RetrievedChunk, endpoint_error
from pytest_rageval.values.settings import Settings

DEPTH: Final = 20
"""Number of chunks requested."""
_WORDS: Final = 40
_SECTIONS: Final = ScoreSettings(headings_reported=False)


def _key(case: Case, anchor: Anchor) -> Hashable:
    """Return what is equal for anchors of cases that need the same requests by the same user."""
    path, texts = norm_path(anchor.rel_path), tuple(map(norm_text, anchor.snippets))
    return repr(case.user), anchor.vault, path, anchor_segments(anchor), texts, anchor.pages


def probes(placed: PlacedCase, anchor: Anchor) -> tuple[AskRequest, ...]:
    """Return requests that should retrieve an anchor, most specific first."""
    name = norm_path(anchor.rel_path).rpartition("/")[2].rsplit(".", 1)[0]
    headings = " ".join(anchor_segments(anchor))
    texts = [*anchor.snippets, f"{name.replace('-', ' ')} {headings}", placed.case.whole_question]
    vaults = () if anchor.vault is None else (anchor.vault,)
    asked = dict.fromkeys(" ".join(text.split()[:_WORDS]) for text in texts)
    return tuple(AskRequest(question=text, k=DEPTH, vaults=vaults) for text in asked if text)


def lost_anchor(
    placed: PlacedCase, field: str, anchor: Anchor, chunks: Sequence[RetrievedChunk]
) -> LintFinding:
    """Return the finding about an anchor that none of the chunks matches.

    If its document was retrieved, the section does not exist under that name: an error. A document
    that was never retrieved may still be in the index: a warning.
    """
    document = norm_path(anchor.rel_path)
    own = [chunk for chunk in chunks if norm_path(chunk.rel_path) == document]
    headings = dict.fromkeys(chunk.heading_path for chunk in own)
    rules = {rule_for(anchor, chunk, _SECTIONS) for chunk in own}
    if rules and rules <= {"snippet", "pages"}:
        sought = "holds a snippet" if "snippet" in rules else "is on a page"
        message = f"no chunk of {anchor.rel_path} {sought} of the anchor, and none has a heading"
    elif headings and None not in headings:
        near = did_you_mean_heading(anchor_segments(anchor), filter(None, headings))
        message = f"no chunk of {anchor.rel_path} lies at {anchor.heading_path!r}{near}"
        return finding(placed, "error", "unknown-section", message, field=f"{field}.heading_path")
    elif headings:
        message = (
            f"the target reports no headings of {anchor.rel_path}, so no chunk can match; quote "
            "the evidence in snippets, or leave out heading_path to match the document"
        )
    else:
        others = sorted({chunk.rel_path for chunk in chunks})
        hint = did_you_mean(anchor.rel_path, others, cutoff=NEAR)
        if len(others) == 1 < len(chunks):
            hint = f"; all {len(chunks)} chunks that came are named {others[0]!r}"
        message = f"{anchor.rel_path!r} was not retrieved by its own words{hint}"
    return finding(placed, "warning", "not-in-index", message, field=f"{field}.rel_path")


def lost_anchors(
    client: object, cases: Sequence[PlacedCase], settings: Settings
) -> Iterator[LintFinding]:
    """Yield a finding for each anchor that its requests to a client do not retrieve.

    Raises:
        EndpointError: the target failed, or reports no chunks.
    """
    looks: dict[Hashable, tuple[Anchor, list[AskRequest]]] = {}
    scoring = score_settings(settings)
    for placed in cases:
        for _, anchor in anchors_of(placed):
            requests = [
                replace(
                    one, params=settings.params, case=case_variables(placed.case), uuid=new_uuid()
                )
                for one in probes(placed, anchor)
            ]
            looks.setdefault(_key(placed.case, anchor), (anchor, requests))
    with ThreadPoolExecutor(max_workers=settings.concurrency) as pool:
        chunks = pool.map(lambda one: _look(client, scoring, *one), looks.values())
        found = dict(zip(looks, chunks, strict=True))
    for placed in cases:
        for field, anchor in anchors_of(placed):
            seen = found[_key(placed.case, anchor)]
            if seen is None:
                continue
            lost = lost_anchor(placed, field, anchor, seen)
            hidden = placed.case.tests_permissions and anchor in placed.case.irrelevant_supports
            if not (hidden and lost.rule == "not-in-index"):  # the user must not see it
                yield lost


def _look(
    client: object, scoring: ScoreSettings, anchor: Anchor, requests: Iterable[AskRequest]
) -> list[RetrievedChunk] | None:
    """Return the retrieved chunks if none matches an anchor; None: it was found."""
    seen: list[RetrievedChunk] = []
    for request in requests:
        chunks = own_names(_retrieved(client, request), [anchor], scoring)
        if any(is_at(anchor, chunk, _SECTIONS) for chunk in chunks):
            return None
        seen.extend(chunks)
    return seen


def _retrieved(client: object, request: AskRequest) -> tuple[RetrievedChunk, ...]:
    result = session_loop().run(call_client(client, request))
    if result.response is None:
        assert result.error is not None  # one of the two is always set
        place = last_place(result.error.traceback)
        raise with_facts(endpoint_error(result.error), place=place)
    if result.response.retrieved_chunks is None:
        raise target_error("no_chunks")
    return result.response.retrieved_chunks
