"""One question asked by hand, as lines for a terminal and as a document, with its differences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from msgspec import to_builtins

from pytest_rageval.report.view.blocks import (
    GOOD,
    HEAD,
    Block,
    Fact,
    Row,
    Status,
    Table,
    indented,
    labelled_lines,
)
from pytest_rageval.support.text import clean, format_value, part
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import RetrievedChunk
from pytest_rageval.values.words import ABSTAINED, SIGN

_SINGLE: Final = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts without spaces between words; each character counts as a word."""
_WORD: Final = re.compile(rf"(?:[{_SINGLE}]|[^\W{_SINGLE}]+|[^\w\s]+)\s*|\s+")
MAX_WORDS: Final = 10_000
"""Longest text that is compared, so that no case of a page takes longer than a second."""
_COMMON: Final = 0.2
"""Minimum common share of the shorter text for marks to be useful."""
_ISLAND: Final = 1
"""Equal words between two changes that count as changed, because they match by chance."""

Piece = tuple[bool, str]
"""Whether a part of a text changed, and the part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordDiff:
    """Two texts in pieces; the joined parts equal the texts."""

    old: tuple[Piece, ...]
    new: tuple[Piece, ...]


def diff_words(old: str, new: str) -> WordDiff | None:
    """Mark the words of each text that the other does not have at that place.

    In longer texts, frequent words are not matched alone, but only kept beside other equal words.
    Spaces and line ends alone do not count as a change.

    Returns:
        Both texts in pieces; None: too little of them is the same, or one is too long.

    >>> diff_words("It takes 5 days.", "It takes 10 days.").new
    ((False, 'It takes '), (True, '10'), (False, ' days.'))
    """
    ours, theirs = _WORD.findall(old), _WORD.findall(new)
    if max(len(ours), len(theirs)) > MAX_WORDS:
        return None
    same = _common([w.strip() for w in ours], [w.strip() for w in theirs])
    if len(same) < max(_COMMON * min(len(ours), len(theirs)), 1):
        return None
    return WordDiff(
        old=tuple(_pieces(ours, {i for i, _ in same})),
        new=tuple(_pieces(theirs, {j for _, j in same})),
    )


def _common(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of equal words in both, without short runs of them between changes."""
    *runs, _ = SequenceMatcher(None, old, new).get_matching_blocks()  # the last one is empty
    inner = range(1, len(runs) - 1)
    kept = [run for n, run in enumerate(runs) if n not in inner or run.size > _ISLAND]
    return [(run.a + n, run.b + n) for run in kept for n in range(run.size)]


def _pieces(words: Sequence[str], same: set[int]) -> Iterator[Piece]:
    """Join neighbours of the same kind; spaces around a change are not part of it."""
    flagged = [(n not in same and not word.isspace(), word) for n, word in enumerate(words)]
    space = ""
    for changed, group in groupby(flagged, key=itemgetter(0)):
        text = space + "".join(word for _, word in group)
        piece = text.rstrip() if changed else text
        space = text[len(piece) :]
        yield changed, piece
    if space:
        yield False, space


SHOWN_CHARS: Final = 2_000
"""Longest beginning of an answer that is shown unasked."""
_STYLES: Final[Mapping[str, Status]] = {
    "found": "good", "passed": "good", "unchecked": "warn", "no chunks are reported": "warn",
}  # fmt: skip
"""Styles of states and outcomes; red where it has none."""
_TEXT_CHARS: Final = 400
_METRICS: Final = ("recall_at_k", "mrr", "ndcg_at_k", "attribution_recall")


def asked_lines(record: CaseRecord) -> Iterator[Block]:
    """Yield the answer of a question, with whole texts, its citations and its chunks.

    For a case also what they match.
    """
    if record.error is not None:
        yield Fact("failed", record.error.message, "bad")
        for line in record.error.traceback.splitlines():
            yield indented(line)
    if record.answer is not None:
        yield from answer_lines(record)
    for number, one in enumerate(record.scores.citations or ()):
        named = place_text(one.rel_path or "(nothing)", one.heading_path)
        counted = part("  (chunk {})", one.chunk_rank)
        yield Fact("" if number else "cites", named + counted)
    chunks = record.reply.retrieved_chunks
    if chunks is not None:
        yield Fact("chunks", _n_chunks(len(chunks), record.k))
        rows = [_chunk(rank, chunk, record) for rank, chunk in enumerate(chunks, 1)]
        yield Table((">", ">", "", ""), rows, wrap=False)
    elif record.error is None:
        yield Fact("chunks", "not reported; see `rageval doctor`", "warn")
    yield from _expected(record)
    times = ", ".join(
        f"{name.removesuffix('_ms').replace('_', ' ')} {ms:.0f} ms"
        for name, ms in record.latency.items()
    )
    if times:
        yield Fact("time", times, status="weak")


def answer_lines(record: CaseRecord, *, whole: bool = False) -> Iterator[Block]:
    """Yield the answer, a long one to its end only if whole."""
    text = record.answer or ""
    shown = text if whole else text[:SHOWN_CHARS]
    yield from labelled_lines("answer", shown)
    if rest := len(text) - len(shown):
        yield ((" " * HEAD, ""), (f"... {rest:,} more characters: :answer shows them", "weak"))
    if record.reply.abstained:
        yield Fact("abstains", record.reply.abstain_reason or "yes", status="warn")


def _n_chunks(n: int, k: int) -> str:
    """Show the number of chunks, and that of those within the cutoff.

    >>> _n_chunks(7, 5), _n_chunks(0, 5)
    ('7, of which the first 5 count', '0')
    """
    return f"{n}, of which the first {k} count" if n > k else str(n)


def _chunk(rank: int, chunk: RetrievedChunk, record: CaseRecord) -> Row:
    counts: Status = "" if rank <= record.k else "weak"
    score = "" if chunk.score_final is None else f"{chunk.score_final:.3f}"
    place = clean(place_text(chunk.rel_path, chunk.heading_path), _TEXT_CHARS)
    text = (("\n", counts), (clean(chunk.text, _TEXT_CHARS), "weak")) if chunk.text else ()
    return ((f"{rank:>5}", counts),), ((score, counts),), (_match(chunk),), ((place, counts), *text)


def _match(chunk: RetrievedChunk) -> tuple[str, Status]:
    if chunk.irrelevant:
        return "BAD", "bad"
    if chunk.matched_golds:
        return "gold " + ",".join(str(n + 1) for n in chunk.matched_golds[:3]), "good"
    return "", ""


def _expected(record: CaseRecord) -> Iterator[Block]:
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
        yield Fact(f"gold {number + 1}", place, status=_STYLES.get(state, "bad"))
    if case.expected_answer:
        yield Fact("expected", clean(case.expected_answer, SHOWN_CHARS))
    for fact in case.key_facts:
        yield Fact("fact", fact)
    if not record.file:  # a question by hand, which expects nothing
        return
    yield from _outcome(record)
    figures = [
        f"{key} {format_value(value)}"
        for key in _METRICS
        if (value := record.scores.metrics.get(key)) is not None
    ]
    if figures:
        yield Fact("metrics", ", ".join(figures))


def _outcome(record: CaseRecord) -> Iterator[Block]:
    outcome = "unchecked" if record.scores.unchecked else record.scores.outcome
    text = f"{outcome}: {record.scores.failure_stage}" if record.scores.failure_stage else outcome
    if outcome == "passed" and not record.verdicts.judgements:
        text += ", without a judge of the answer"
    yield Fact("outcome", text, status=_STYLES.get(outcome, "bad"))


def judged_lines(record: CaseRecord) -> Iterator[Block]:
    """Yield the verdicts on the answer, and the outcome of a case by them."""
    for rubric, found in record.verdicts.judgements.items():
        if found.failure is not None:
            yield Fact("judge", f"{rubric}: {found.failure.message}", status="bad")
        if (verdict := found.verdict) is None:
            continue
        said = ", ".join(f"{key} {format_value(value)}" for key, value in verdict.scores.items())
        if rubric == "abstention":  # says yes or no
            said = ABSTAINED[bool(verdict.abstained)]
        yield Fact("judge", f"{rubric}: {said or 'no score'}")
        if verdict.reasoning:
            yield Fact("", clean(verdict.reasoning, SHOWN_CHARS), status="weak")
    if record.verdicts.judgements and record.file:
        yield from _outcome(record)


def place_text(path: str, heading: str | None) -> str:
    """Name a document and its section."""
    return f"{path} > {heading}" if heading else path


# --- two answers ---------------------------------------------------------------------------


def difference_lines(old: CaseRecord, new: CaseRecord) -> Iterator[Block]:
    """Yield what differs between two answers: words, and ranks of chunks."""
    before, after = old.answer or "", new.answer or ""
    if before == after:
        yield Fact("answer", "the same")
    else:
        words = diff_words(before[:SHOWN_CHARS], after[:SHOWN_CHARS])
        lost = ((True, before[:SHOWN_CHARS]),) if words is None else words.old
        won = ((True, after[:SHOWN_CHARS]),) if words is None else words.new
        yield from _marked("before", lost, "bad")
        yield from _marked("after", won, "good")
    yield from _moves(old, new)


def _marked(head: str, pieces: tuple[Piece, ...], style: Status) -> Iterator[Block]:
    """Yield a text of which changed parts stand in brackets, for terminals without colour."""
    sign = SIGN[head != "before"]
    text = "".join(f"[{sign}{part}{sign}]" if changed and part.strip() else part
                   for changed, part in pieces)  # fmt: skip
    yield Fact(head, text, "strong", style if len(pieces) == 1 else "")


def _moves(old: CaseRecord, new: CaseRecord) -> Iterator[Block]:
    before, after = _ranks(old), _ranks(new)
    rows: list[Row] = []

    def add(place: str, moved: str, style: Status) -> None:
        rows.append((((f"  {moved}", style),), clean(place, _TEXT_CHARS)))

    for key, rank in after.items():
        was = before.get(key)
        if was is None:
            add(key[0], f"new at {rank}", "good")
        elif was != rank:
            add(key[0], f"{was} -> {rank}", GOOD[rank < was])
    for key, was in before.items():
        if key not in after:
            add(key[0], f"gone, was {was}", "bad")
    if not rows:
        yield Fact("chunks", "the same in the same order")
        return
    yield (("chunks", "strong"),)
    yield Table(("", ""), rows, wrap=False)


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
        "judgements": to_builtins(record.verdicts.judgements),
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
