"""Checks of a target by two replies to one question (docs/target.md). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from pytest_rageval.authoring.doctor.findings import Finding, Findings
from pytest_rageval.metrics.matching import citation_in_chunk, norm_path
from pytest_rageval.values.reply import AskResponse, AskResult, ErrorInfo, RetrievedChunk

_FOUND: Final = Findings("target")
_UNREACHABLE: Final = frozenset({"connection", "timeout", "not_attempted"})
_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]|file:|https?:")


def check_replies(first: AskResult, second: AskResult | None, *, k: int) -> Iterator[Finding]:
    """Check a target by its replies to the same question, asked twice.

    Args:
        first: result of the first request.
        second: result of the second one; None: not sent, because the first failed.
        k: number of chunks requested.
    """
    if first.response is None:
        yield _failed(first.error)
        return
    time = "" if first.total_ms is None else f" in {first.total_ms:.0f} ms"
    yield _FOUND.ok("reachable", f"answered{time}")
    yield from _answer(first)
    again = second.response if second is not None else None
    if again is None and second is not None:
        yield _failed(second.error, check="second call")
    yield from _chunks(first.response, again, k)
    yield from _fields(first.response)


def _failed(error: ErrorInfo | None, *, check: str = "reachable") -> Finding:
    kind = "protocol" if error is None else error.kind
    message = "no answer" if error is None else error.message
    if kind in _UNREACHABLE:
        fix = "start the service, or name its address with --rag-url"
        return _FOUND.fail(check, message, fix, unreachable=True)
    if kind == "http":
        fix = (
            "answer POST {url}/api/v1/ask with 200, or set path and headers in "
            "[tool.rageval.target]"
        )
        return _FOUND.fail(check, message, fix)
    fix = "answer with the JSON object of docs/target.md, or map yours in [tool.rageval.target]"
    return _FOUND.fail("reply", message, fix)


def _answer(result: AskResult) -> Iterator[Finding]:
    if result.error is not None:
        fix = "return the text of the answer in the field answer, or abstained = true"
        yield _FOUND.fail("answer", result.error.message, fix)
    else:
        yield _FOUND.ok("answer", "a JSON object with answer")


# --- retrieved chunks ------------------------------------------------------------------------


def _chunks(first: AskResponse, second: AskResponse | None, k: int) -> Iterator[Finding]:
    chunks = first.retrieved_chunks
    if chunks is None:
        fix = "return debug.retrieved_chunks when asked with debug=true"
        yield _FOUND.warn("chunks", "not reported, so retrieval is not scored", fix)
        return
    if not chunks:
        fix = "ask something that your documents answer, with --question"
        yield _FOUND.warn("chunks", "none were retrieved for this question", fix)
        return
    yield _count(chunks, k)
    yield _ids(chunks)
    if second is not None:
        yield _stability(chunks, second.retrieved_chunks)
    yield _paths(chunks)
    yield _headings(chunks)
    yield _texts(chunks)


def _count(chunks: Sequence[RetrievedChunk], k: int) -> Finding:
    if len(chunks) > k:
        fix = "return no more than k chunks; those beyond are not scored"
        return _FOUND.warn("k", f"{len(chunks)} chunks came, {k} were asked for", fix)
    return _FOUND.ok("chunks", f"{len(chunks)} retrieved, {k} asked for")


def _ids(chunks: Sequence[RetrievedChunk]) -> Finding:
    missing = sum(not chunk.chunk_id for chunk in chunks)
    if missing:
        return _lacking("chunk_id", missing, chunks, ", so copies are recognised by their text")
    distinct = {(chunk.chunk_id, norm_path(chunk.rel_path)) for chunk in chunks}
    if len(distinct) < len(chunks):
        fix = "give each chunk an id of its own: later ones of the same id count as copies"
        return _FOUND.warn("chunk_id", f"{len(distinct)} ids for {len(chunks)} chunks", fix)
    return _FOUND.ok("chunk_id", "each chunk has one of its own")


def _lacking(field: str, n: int, chunks: Sequence[RetrievedChunk], effect: str) -> Finding:
    fix = "return it for each chunk in debug.retrieved_chunks when asked with debug=true"
    return _FOUND.warn(field, f"missing from {n} of {len(chunks)} chunks{effect}", fix)


def _stability(first: Sequence[RetrievedChunk], second: Sequence[RetrievedChunk] | None) -> Finding:
    again = second or ()
    ids = {chunk.chunk_id for chunk in first}
    ids_again = {chunk.chunk_id for chunk in again}
    places, places_again = {*map(_place, first)}, {*map(_place, again)}
    if places != places_again:
        return _FOUND.warn(
            "same twice",
            f"{len(places - places_again)} of {len(places)} chunks were not retrieved again",
            "make retrieval repeatable (seeds, exact search), or measure it with --rageval-repeats",
        )
    if ids != ids_again:
        return _FOUND.fail(
            "same twice",
            "the same chunks came with other chunk ids",
            "derive chunk ids from the content (path, position, text), not from the call",
        )
    if [*map(_place, first)] != [*map(_place, again)]:
        return _FOUND.warn(
            "same twice",
            "the same chunks came in another order",
            "break ties of the scores in a fixed way, such as by chunk id",
        )
    return _FOUND.ok("same twice", "the same chunks with the same ids in the same order")


def _place(chunk: RetrievedChunk) -> tuple[str | None, ...]:
    return chunk.vault, norm_path(chunk.rel_path), chunk.heading_path, chunk.text


def _paths(chunks: Sequence[RetrievedChunk]) -> Finding:
    odd = [chunk.rel_path for chunk in chunks if _DRIVE.match(chunk.rel_path)]
    empty = sum(not norm_path(chunk.rel_path) for chunk in chunks)
    fix = "return rel_path relative to the folder of your documents, as gold_supports name it"
    if empty:
        return _FOUND.fail("rel_path", f"empty in {empty} of {len(chunks)} chunks", fix)
    if odd:
        return _FOUND.warn("rel_path", f"{odd[0]!r} is not a path below a folder", fix)
    return _FOUND.ok("rel_path", f"such as {chunks[0].rel_path!r}")


def _headings(chunks: Sequence[RetrievedChunk]) -> Finding:
    missing = sum(chunk.heading_path is None for chunk in chunks)
    if missing:
        lost = ": golds that name a heading are not matched there"
        return _lacking("heading_path", missing, chunks, lost)
    shown = next((chunk.heading_path for chunk in chunks if chunk.heading_path), "")
    return _FOUND.ok("heading_path", f"such as {shown!r}")


def _texts(chunks: Sequence[RetrievedChunk]) -> Finding:
    missing = sum(not chunk.text for chunk in chunks)
    if missing:
        lost = ": a judge cannot see there what the answer rests on"
        return _lacking("text", missing, chunks, lost)
    return _FOUND.ok("text", "each chunk has its own")


# --- the rest of the reply -------------------------------------------------------------------


def _fields(response: AskResponse) -> Iterator[Finding]:
    yield _abstention(response)
    yield _references(response)
    yield _latency(response)
    names = ("folder_selection", "indexing_coverage", "models")
    absent = [name for name in names if not getattr(response, name)]
    optional = f"not reported, and not required: {', '.join(absent)}" if absent else "all reported"
    yield _FOUND.ok("optional", optional)


def _abstention(response: AskResponse) -> Finding:
    if response.abstained is None:
        fix = "return abstained, true or false, with each answer"
        return _FOUND.warn("abstained", "not reported, so the judge decides by the text", fix)
    return _FOUND.ok("abstained", f"{str(response.abstained).lower()} for this question")


def _references(response: AskResponse) -> Finding:
    references = response.references
    if references is None:
        fix = "return references, a list of {rel_path, heading_path}; [] for none"
        return _FOUND.warn(
            "references", "not reported, so only citations in the answer's text count", fix
        )
    if not references:
        if response.abstained:
            return _FOUND.ok("references", "none, as it abstained")
        fix = "name in references what the answer rests on"
        return _FOUND.warn("references", "none for this answer", fix)
    chunks = response.retrieved_chunks
    lost = [one for one in references if not any(citation_in_chunk(one, c) for c in chunks or ())]
    if chunks and lost:
        fix = "name sources in references as in retrieved_chunks: the same rel_path and headings"
        message = f"{len(lost)} of {len(references)} name nothing that was retrieved"
        return _FOUND.warn("references", message, fix)
    return _FOUND.ok("references", f"{len(references)} for this answer")


def _latency(response: AskResponse) -> Finding:
    if not response.latency:
        fix = "return debug.latency with retrieval_ms, generation_ms and total_ms"
        return _FOUND.warn("latency", "no phases reported, only the whole is measured", fix)
    return _FOUND.ok("latency", ", ".join(sorted(response.latency)))
