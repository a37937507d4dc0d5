"""One question asked by hand, as lines for a terminal and as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_rageval.metrics.scoring import abstention_verdict
from pytest_rageval.report.text.lines import HEAD, Line, Style, indented, wrapped, wrapped_lines
from pytest_rageval.report.text.word_diff import Piece, diff_words
from pytest_rageval.support.text import clean, cut_columns, format_value
from pytest_rageval.values.json_documents import word
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import RetrievedChunk

SHOWN_CHARS: Final = 2_000
"""Longest beginning of an answer that is shown unasked."""
_TEXT: Final = 23
"""Column at which place and text of a chunk begin."""
_STYLES: Final[Mapping[str, Style]] = {
    "found": "green", "passed": "green", "unchecked": "yellow", "no chunks are reported": "yellow",
}  # fmt: skip
"""Styles of states and outcomes; red where it has none."""
_METRICS: Final = ("recall_at_k", "mrr", "ndcg_at_k", "attribution_recall")


def asked_lines(record: CaseRecord, *, width: int = 80) -> Iterator[Line]:
    """Yield the answer, its citations and its chunks, and for a case what they match.

    Args:
        record: of the question, with whole texts.
        width: columns of the terminal.
    """
    if record.error is not None:
        yield from wrapped("failed", record.error.message, width, "red")
        for line in record.error.traceback.splitlines():
            yield indented(line, HEAD, width)
    if record.answer is not None:
        yield from answer_lines(record, width=width)
    for number, one in enumerate(record.scores.citations or ()):
        named = place_text(one.rel_path or "(nothing)", one.heading_path)
        counted = f"  (chunk {one.chunk_rank})" if one.chunk_rank is not None else ""
        yield from wrapped("" if number else "cites", named + counted, width)
    chunks = record.reply.retrieved_chunks
    if chunks is not None:
        yield from wrapped("chunks", _n_chunks(len(chunks), record.k), width)
        for rank, chunk in enumerate(chunks, 1):
            yield from _chunk(rank, chunk, record, width)
    elif record.error is None:
        yield from wrapped("chunks", "not reported; see `rageval doctor`", width, "yellow")
    yield from _expected(record, width)
    times = ", ".join(
        f"{name.removesuffix('_ms').replace('_', ' ')} {ms:.0f} ms"
        for name, ms in record.latency.items()
    )
    if times:
        yield from wrapped("time", times, width, style="dim")


def answer_lines(record: CaseRecord, *, width: int = 80, whole: bool = False) -> Iterator[Line]:
    """Yield the answer, a long one to its end only if whole."""
    text = record.answer or ""
    shown = text if whole else text[:SHOWN_CHARS]
    yield from wrapped_lines("answer", shown, width)
    if rest := len(text) - len(shown):
        yield ((" " * HEAD, ""), (f"... {rest:,} more characters: :answer shows them", "dim"))
    if record.reply.abstained:
        yield from wrapped("abstains", record.reply.abstain_reason or "yes", width, style="yellow")


def _n_chunks(n: int, k: int) -> str:
    """Show the number of chunks, and that of those within the cutoff.

    >>> _n_chunks(7, 5), _n_chunks(0, 5)
    ('7, of which the first 5 count', '0')
    """
    return f"{n}, of which the first {k} count" if n > k else str(n)


def _chunk(rank: int, chunk: RetrievedChunk, record: CaseRecord, width: int) -> Iterator[Line]:
    mark, style = _match(chunk)
    counts: Style = "" if rank <= record.k else "dim"
    score = "" if chunk.score_final is None else f"{chunk.score_final:.3f}"
    room = max(width - _TEXT, 20)
    place = cut_columns(clean(place_text(chunk.rel_path, chunk.heading_path)), room)
    yield ((f"  {rank:>3} {score:>7}  ", counts), (f"{mark:<8}", style), (place, counts))
    if chunk.text:
        yield ((" " * _TEXT, ""), (cut_columns(clean(chunk.text, 400), room), "dim"))


def _match(chunk: RetrievedChunk) -> tuple[str, Style]:
    if chunk.irrelevant:
        return "BAD", "red"
    if chunk.matched_golds:
        return "gold " + ",".join(str(n + 1) for n in chunk.matched_golds[:3]), "green"
    return "", ""


def _expected(record: CaseRecord, width: int) -> Iterator[Line]:
    case = record.case
    found = {
        gold
        for chunk in (record.reply.retrieved_chunks or ())[: record.k]
        for gold in chunk.matched_golds or ()
    }
    absent = "no chunks are reported" if record.reply.retrieved_chunks is None else "missing"
    for number, gold in enumerate(case.gold_supports):
        state = "found" if number in found else absent
        place = f"{place_text(gold.rel_path, gold.heading_path)}: {state}"
        yield from wrapped(f"gold {number + 1}", place, width, style=_STYLES.get(state, "red"))
    if case.expected_answer:
        yield from wrapped("expected", clean(case.expected_answer, SHOWN_CHARS), width)
    for fact in case.expected_key_facts:
        yield from wrapped("fact", fact, width)
    if not record.file:  # a question by hand, which expects nothing
        return
    yield from _outcome(record, width)
    figures = [
        f"{key} {format_value(value)}"
        for key in _METRICS
        if (value := record.scores.metrics.get(key)) is not None
    ]
    if figures:
        yield from wrapped("metrics", ", ".join(figures), width)


def _outcome(record: CaseRecord, width: int) -> Iterator[Line]:
    outcome = "unchecked" if record.scores.unchecked else record.scores.outcome
    text = f"{outcome}: {record.scores.failure_stage}" if record.scores.failure_stage else outcome
    if outcome == "passed" and not record.verdicts.judgements:
        text += ", without a judge of the answer"
    yield from wrapped("outcome", text, width, style=_STYLES.get(outcome, "red"))


def judged_lines(record: CaseRecord, *, width: int = 80) -> Iterator[Line]:
    """Yield the verdicts on the answer, and the outcome of a case by them."""
    for rubric, verdict in record.verdicts.judgements.items():
        if (error := verdict.get("error")) is not None:
            yield from wrapped("judge", f"{rubric}: {error['message']}", width, style="red")
            continue
        scores = verdict.get("scores") or {}
        said = ", ".join(f"{key} {format_value(value)}" for key, value in scores.items())
        if rubric == "abstention":  # says yes or no
            said = "abstained" if abstention_verdict(record) else "answered"
        yield from wrapped("judge", f"{rubric}: {said or 'no score'}", width)
        if reasoning := word(verdict, "reasoning"):
            yield from wrapped("", clean(reasoning, SHOWN_CHARS), width, style="dim")
    if record.verdicts.judgements and record.file:
        yield from _outcome(record, width)


def place_text(path: str, heading: str | None) -> str:
    """Name a document and its section."""
    return f"{path} > {heading}" if heading else path


# --- two answers ---------------------------------------------------------------------------


def difference_lines(old: CaseRecord, new: CaseRecord, *, width: int = 80) -> Iterator[Line]:
    """Yield what differs between two answers: words, and ranks of chunks."""
    before, after = old.answer or "", new.answer or ""
    if before == after:
        yield from wrapped("answer", "the same", width)
    else:
        words = diff_words(before[:SHOWN_CHARS], after[:SHOWN_CHARS])
        lost = ((True, before[:SHOWN_CHARS]),) if words is None else words.old
        won = ((True, after[:SHOWN_CHARS]),) if words is None else words.new
        yield from _marked("before", lost, "red", width)
        yield from _marked("after", won, "green", width)
    yield from _moves(old, new, width)


def _marked(head: str, pieces: tuple[Piece, ...], style: Style, width: int) -> Iterator[Line]:
    """Yield a text of which changed parts stand in brackets, for terminals without colour."""
    sign = "-" if head == "before" else "+"
    text = "".join(f"[{sign}{part}{sign}]" if changed and part.strip() else part
                   for changed, part in pieces)  # fmt: skip
    yield from wrapped(head, text, width, "bold", style if len(pieces) == 1 else "")


def _moves(old: CaseRecord, new: CaseRecord, width: int) -> Iterator[Line]:
    before, after = _ranks(old), _ranks(new)
    rows: list[tuple[str, str, Style]] = []
    for key, rank in after.items():
        was = before.get(key)
        if was is None:
            rows.append((key[0], f"new at {rank}", "green"))
        elif was != rank:
            rows.append((key[0], f"{was} -> {rank}", "green" if rank < was else "yellow"))
    rows += [(key[0], f"gone, was {was}", "red") for key, was in before.items() if key not in after]
    if not rows:
        yield from wrapped("chunks", "the same in the same order", width)
        return
    yield (("chunks", "bold"),)
    for place, moved, style in rows:
        yield ((f"  {moved:<14}", style), (cut_columns(clean(place), max(width - 16, 20)), ""))


def _ranks(record: CaseRecord) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for rank, chunk in enumerate(record.reply.retrieved_chunks or (), 1):
        place = place_text(chunk.rel_path, chunk.heading_path)
        found.setdefault((place, chunk.chunk_id or (chunk.text or "")[:200]), rank)
    return found


# --- a document ----------------------------------------------------------------------------


def asked_document(record: CaseRecord) -> dict[str, Any]:
    """Return the question and its answer as plain JSON values."""
    error = record.error
    return {
        "question": record.case.question,
        "case_id": record.case.id if record.file else None,
        "status": record.status,
        "error": None if error is None else {"kind": error.kind, "message": error.message},
        "answer": record.answer,
        "abstained": record.reply.abstained,
        "abstain_reason": record.reply.abstain_reason,
        "citations": [
            {"rel_path": one.rel_path, "heading_path": one.heading_path, "chunk": one.chunk_rank}
            for one in record.scores.citations or ()
        ],
        "chunks": None
        if record.reply.retrieved_chunks is None
        else [_chunk_document(rank, c) for rank, c in enumerate(record.reply.retrieved_chunks, 1)],
        "latency": dict(record.latency),
        "outcome": record.scores.outcome if record.file else None,
        "failure_stage": record.scores.failure_stage,
        "metrics": {key: v for key, v in record.scores.metrics.items() if v is not None},
        "judgements": {
            rubric: dict(verdict) for rubric, verdict in record.verdicts.judgements.items()
        },
    }


def _chunk_document(rank: int, chunk: RetrievedChunk) -> dict[str, Any]:
    return {
        "rank": rank,
        "rel_path": chunk.rel_path,
        "heading_path": chunk.heading_path,
        "score": chunk.score_final,
        "text": chunk.text,
        "matched_golds": None if chunk.matched_golds is None else list(chunk.matched_golds),
        "irrelevant": chunk.irrelevant,
    }
