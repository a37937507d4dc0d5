"""The case table of a page, and everything that it shows of one case, from records."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

from pytest_rageval.analysis.aggregate.case_groups import record_outcome
from pytest_rageval.report.explain.golds import (
    anchor_reason,
    explain_citations,
    explain_golds,
    explain_groups,
    gold_ranks,
)
from pytest_rageval.report.explain.values import AnchorReason, JudgementReason
from pytest_rageval.report.explain.verdict import STAGE_MEANING, explain_judgements, next_steps
from pytest_rageval.report.html.markup import Element, shortened
from pytest_rageval.report.html.values import (
    BaseDetail,
    CaseDetail,
    CaseKey,
    CaseRow,
    CasesView,
    ChunkView,
    ReportOptions,
)
from pytest_rageval.report.text.word_diff import diff_words
from pytest_rageval.support.text import format_value
from pytest_rageval.values.json_documents import text as text_at
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import RetrievedChunk
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.trace import trace_link

_ANSWER_CHARS: Final = 10_000
_CHUNK_CHARS: Final = 2_000
_TEXT_CHARS: Final = 4_000
"""Maximum characters shown of a question or message."""
_KIND: Final = re.compile("[a-z_]{1,20}")
"""An error kind, as opposed to a message."""
_COLUMNS: Final = ("recall_at_k", "recall_all_at_k", "mrr", "groundedness", "correctness")
"""Metrics of the case table, if any case has them."""


def view_cases(
    run: StoredRun,
    options: ReportOptions,
    *,
    baseline: Mapping[CaseKey, CaseRecord] = MappingProxyType({}),
    base: StoredRun | None = None,
    flips: Mapping[tuple[str, str], str] = MappingProxyType({}),
) -> CasesView:
    """Show every case of a run, with details of the relevant ones.

    Args:
        run: the records, in the initial order of the table.
        options: extent of the page.
        baseline: records of the same cases in the baseline.
        base: the baseline, if its records may be without their texts.
        flips: by file and case id, ``worse`` or ``better``.
    """
    repeated = {record.nodeid for record in run.records if record.repeat}
    columns = tuple(
        key for key in _COLUMNS if any(one.metrics.get(key) is not None for one in run.records)
    )
    anchors = case_anchors(run.records)
    everything = options.full or len(run.records) <= options.full_up_to
    rows = []
    for record in run.records:
        before = baseline.get(case_key(record))
        flip = flips.get((record.file, record.name), "")
        shown = everything or record.outcome != "passed" or bool(flip)
        row = _row(record, anchors[case_key(record)], columns, repeated, flip, options)
        if shown:
            read = None if before is None else partial((base or run).whole, before)
            row = replace(row, make_detail=partial(view_detail, record, run, read, options))
        rows.append(row)
    return CasesView(
        columns=columns,
        rows=tuple(rows),
        anchors=anchors,
        n_hidden=sum(row.make_detail is None for row in rows),
    )


def case_key(record: CaseRecord) -> CaseKey:
    """Return the key of a record within its run."""
    return record.file, record.name, record.repeat


def case_anchors(records: Iterable[CaseRecord]) -> dict[CaseKey, str]:
    """Return a unique anchor for every record: ``case-<id>``, numbered if needed."""
    taken: set[str] = set()
    found = {}
    for record in records:
        # Blanks and percent signs must be escaped in an address.
        name = plain = f"case-{quote(record.name, safe='/', errors='replace')}"
        number = 1
        while name in taken:
            number += 1
            name = f"{plain}~{number}"
        taken.add(name)
        found[case_key(record)] = name
    return found


def _row(
    record: CaseRecord,
    anchor: str,
    columns: Sequence[str],
    repeated: set[str],
    flip: str,
    options: ReportOptions,
) -> CaseRow:
    total = record.latency.get("total_ms")
    ms = _number("-") if total is None else _number(format_value(total, "ms"), f"{total:.3f}")
    return CaseRow(
        record=record,
        anchor=anchor,
        case_id=record.name,
        repeat=f"repeat {record.repeat}" if record.nodeid in repeated else "",
        outcome=record_outcome(record),
        flip=flip,
        stage=stage_of(record),
        cells=Element("".join([_cell(record.metrics.get(key)) for key in columns]) + ms),
        question=None if options.redact else shortened(record.question, _TEXT_CHARS),
        make_detail=None,
    )


@lru_cache(maxsize=10_000)
def _cell(value: float | None) -> str:
    # Cached: most cases share a few values.
    return _number("-") if value is None else _number(score_text(value), f"{value:.6f}")


def _number(shown: str, value: str = "") -> str:
    return f'<td class="num" data-v="{value}">{shown}</td>\n'


# --- one case ---------------------------------------------------------------------------------


def view_detail(
    record: CaseRecord,
    run: StoredRun,
    read_before: Callable[[], CaseRecord] | None,
    options: ReportOptions,
) -> CaseDetail:
    """Show everything of one case of a run.

    Args:
        record: of the case, perhaps without its texts.
        run: the run.
        read_before: returns the record of the baseline; None: there is none.
        options: extent of the page.
    """
    record = run.whole(record)
    golds, name = _golds(record, run), record.name if record.case_id else record.nodeid
    judgements = explain_judgements(record, record.stored_case)
    detail = CaseDetail(
        question=shortened(record.question, _TEXT_CHARS),
        expected_facts=tuple(_facts(record, judgements)),
        expected_answer=record.case.expected_answer,
        answer=_answer(record),
        error=_error(record),
        abstained=_abstained(record),
        citations=explain_citations(record.case, record, run.scoring) or ()
        if record.case_stored
        else (),
        chunks=_chunks(record),
        golds=golds,
        judgements=judgements,
        stage_meaning=STAGE_MEANING.get(record.failure_stage, "") if record.failure_stage else "",
        steps=_steps(record, golds),
        numbers="   ".join(
            f"{key} {score_text(value)}"
            for key, value in record.metrics.items()
            if value is not None
        ),
        latency="   ".join(
            f"{name.removesuffix('_ms')} {format_value(ms, 'ms')} ms"
            for name, ms in record.latency.items()
        ),
        command=f"rageval explain {shlex.quote(run.run_id)} {shlex.quote(name)}",
        prompt_hash=text_at(record.judge_input, "prompt_hash"),
        trace_id=record.trace_id or "",
        trace_link=trace_link(run.trace_url, record.trace_id),
    )
    if read_before is not None:
        detail = _side_by_side(detail, read_before(), record)
    return redacted(detail, record) if options.redact else detail


def _side_by_side(detail: CaseDetail, before: CaseRecord, now: CaseRecord) -> CaseDetail:
    """Add the baseline's side, if it differs."""
    old, new, was = _chunks(before), detail.chunks, _answer(before)
    same_answer, same_chunks = before.answer == now.answer, _places(old) == _places(new)
    if not same_chunks:
        old, new = _moved(old, new, "now rank", "gone"), _moved(new, old, "was rank", "new")
    base = BaseDetail(
        outcome=before.outcome,
        stage=stage_of(before),
        answer=None if same_answer else was,
        diff=diff_words(was, detail.answer) if was and detail.answer and not same_answer else None,
        chunks=None if same_chunks else old,
        same=tuple(
            name for name, same in (("answer", same_answer), ("chunks", same_chunks)) if same
        ),
    )
    return replace(detail, base=base, chunks=detail.chunks if same_chunks else new)


def _places(chunks: Sequence[ChunkView] | None) -> list[tuple[str, str, str, str]]:
    """Return the visible differences between two lists, ignoring last digits of scores."""
    return [(chunk.path, chunk.heading, chunk.text, chunk.golds) for chunk in chunks or ()]


def _moved(
    chunks: Sequence[ChunkView] | None, others: Sequence[ChunkView] | None, at: str, absent: str
) -> tuple[ChunkView, ...] | None:
    """Add to each chunk its rank in the other run."""
    if chunks is None or others is None:
        return None if chunks is None else tuple(chunks)
    places: dict[tuple[str, str, str], int] = {}
    for other in others:
        places.setdefault((other.path, other.heading, other.text), other.rank)
    marked = []
    for chunk in chunks:
        place = places.get((chunk.path, chunk.heading, chunk.text))
        moved = absent if place is None else "" if place == chunk.rank else f"{at} {place}"
        marked.append(replace(chunk, moved=moved))
    return tuple(marked)


def _golds(record: CaseRecord, run: StoredRun) -> tuple[AnchorReason, ...]:
    plain = tuple(
        anchor_reason(index, gold, gold_ranks(record.retrieved_chunks, index), record.k)
        for index, gold in enumerate(record.case.gold_supports)
    )
    if all(gold.found for gold in plain) and record.failure_stage != "not_cited":
        return plain  # nothing to explain, and explaining is slow
    return explain_golds(record.case, record, run.scoring)


def _steps(record: CaseRecord, golds: Sequence[AnchorReason]) -> tuple[str, ...]:
    if record.outcome == "passed" and record.failure_stage is None:
        return ()
    reported = record.retrieved_chunks is not None
    groups = explain_groups(record.case, golds, reported=reported)
    return next_steps(record, golds, groups, ())


def _facts(record: CaseRecord, judgements: Sequence[JudgementReason]) -> Iterator[tuple[str, str]]:
    found = {fact.text: fact.found for judgement in judgements for fact in judgement.facts}
    words = {True: "found", False: "not found", None: ""}
    for text in record.case.expected_key_facts:
        yield text, words[found.get(text)]


def _answer(record: CaseRecord) -> str | None:
    return None if record.answer is None else shortened(record.answer, _ANSWER_CHARS)


def _error(record: CaseRecord) -> str:
    if record.error is None:
        return ""
    text = f"{record.error.kind}: {shortened(record.error.message, _TEXT_CHARS)}"
    return "\n\n".join(filter(None, (text, record.error.traceback)))


def _abstained(record: CaseRecord) -> str:
    if not record.abstained:
        return ""
    reason = shortened(record.abstain_reason or "", _TEXT_CHARS)
    return f"abstained: {reason}" if reason else "abstained"


def _chunks(record: CaseRecord) -> tuple[ChunkView, ...] | None:
    if record.retrieved_chunks is None:
        return None
    return tuple(
        ChunkView(
            rank=rank,
            in_cut=rank <= record.k,
            golds=f"gold {', '.join(f'[{index}]' for index in chunk.matched_golds)}"
            if chunk.matched_golds
            else "",
            irrelevant=bool(chunk.irrelevant),
            path=chunk.rel_path if chunk.vault is None else f"{chunk.vault}: {chunk.rel_path}",
            heading=chunk.heading_path or "",
            facts=", ".join(_chunk_facts(chunk, rank)),
            text=shortened(chunk.text or "", _CHUNK_CHARS),
            truncated=chunk.text_truncated,
            moved="",
        )
        for rank, chunk in enumerate(record.retrieved_chunks, start=1)
    )


def _chunk_facts(chunk: RetrievedChunk, rank: int) -> Iterator[str]:
    if chunk.pages:
        yield f"page{'s' * (len(chunk.pages) > 1)} {', '.join(map(str, chunk.pages))}"
    if chunk.matched_by and chunk.matched_by != ("heading",):
        yield f"compared by {', '.join(chunk.matched_by)}"
    if chunk.start_line is not None:
        yield f"lines {chunk.start_line}-{chunk.end_line or chunk.start_line}"
    if chunk.score_final is not None:
        yield f"score {chunk.score_final:.4g}"
    if chunk.score_vector is not None:
        yield f"vector {chunk.score_vector:.4g}"
    if chunk.score_lexical is not None:
        yield f"lexical {chunk.score_lexical:.4g}"
    if chunk.rank_before_rerank not in {None, rank}:
        yield f"rank {chunk.rank_before_rerank} before reranking"


def stage_of(record: CaseRecord) -> str:
    """Return the failure stage of a case, or the kind of error if it has no answer."""
    if record.error is not None:
        return record.error.kind
    return record.failure_stage or ""


@lru_cache(maxsize=10_000)
def score_text(value: float) -> str:
    """Show the value of a metric."""
    # Cached: most cases share a few values, and exact formatting is slow.
    return format_value(value)


def redacted(detail: CaseDetail, record: CaseRecord) -> CaseDetail:
    """Keep only ids, numbers and fixed words; paths and headings come from documents."""
    base = detail.base
    return replace(
        detail,
        question=None,
        expected_facts=(),
        expected_answer=None,
        answer=None,
        error="" if record.error is None else record.error.kind,
        abstained="abstained" if record.abstained else "",
        citations=(),
        chunks=_bare_chunks(detail.chunks),
        golds=tuple(
            replace(gold, rel_path="", heading_path="", vault=None, reason="")
            for gold in detail.golds
        ),
        judgements=tuple(_bare_judgement(one) for one in detail.judgements),
        steps=(),
        trace_link="",
        base=None
        if base is None
        else replace(base, answer=None, diff=None, chunks=_bare_chunks(base.chunks)),
    )


def _bare_chunks(chunks: Sequence[ChunkView] | None) -> tuple[ChunkView, ...] | None:
    if chunks is None:
        return None
    return tuple(replace(c, path="", heading="", text="", truncated=False) for c in chunks)


def _bare_judgement(one: JudgementReason) -> JudgementReason:
    claims = tuple(
        replace(c, text="", rel_path=None, heading_path=None, reason="") for c in one.claims
    )
    error = None
    if one.error is not None:
        kind = one.error.split(":", 1)[0]
        error = kind if _KIND.fullmatch(kind) else "failed"
    return replace(one, reasoning="", error=error, claims=claims, facts=())
