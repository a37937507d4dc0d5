"""Everything that the page shows of one case, from its record."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from string import ascii_uppercase
from typing import Final

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.report.explain.case import explain_record
from pytest_rageval.report.explain.chunks import chunk_facts
from pytest_rageval.report.explain.golds import explain_citations, explain_golds, gold_ranks
from pytest_rageval.report.explain.values import (
    AnchorReason,
    Explanation,
    JudgementReason,
    join,
)
from pytest_rageval.report.explain.verdict import (
    explain_judgements,
    stage_in_words,
    stage_of,
)
from pytest_rageval.report.html.markup import Element, harmless
from pytest_rageval.report.html.run.highlight import (
    changed_marks,
    citation_marks,
    phrase_marks,
)
from pytest_rageval.report.html.run.values import (
    BaseDetail,
    CaseDetail,
    ChunkView,
    FactView,
    ReportOptions,
)
from pytest_rageval.report.view.asked import diff_words
from pytest_rageval.report.view.explanation import groups_of_case, history_facts, why_blocks
from pytest_rageval.support.text import format_value, part, shortened
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import RetrievedChunk, trace_link
from pytest_rageval.values.run import StoredRun

_ANSWER_CHARS: Final = 10_000
_BRIEF_CHARS: Final = 250
"""Maximum characters of the answer of a case whose details are left out."""
_CHUNK_CHARS: Final = 2_000
_TEXT_CHARS: Final = 4_000
"""Maximum characters shown of a question or message."""
_OF_DOCUMENTS: Final = frozenset(
    key for key, info in BUILT_IN.cases.items() if info.level == "document"
)
"""Metrics that follow from the ranks of the chunks."""
_KIND: Final = re.compile("[a-z_]{1,20}")
"""An error kind, as opposed to a message."""


def view_detail(
    record: CaseRecord,
    run: StoredRun,
    read_before: Callable[[], CaseRecord] | None,
    *,
    number: int,
    options: ReportOptions,
    registry: Registry,
) -> CaseDetail:
    """Show everything of one case of a run.

    A case that passed in every way, without a baseline, has the values of its metrics without
    reasons: nobody reads them there, and they take longer than the rest.

    Args:
        record: of the case, perhaps without its texts.
        run: the run.
        read_before: returns the record of the baseline; None if absent.
        number: of the case on the page.
        options: extent of the page.
        registry: the metrics of the run.
    """
    record = run.whole(record)
    before = None if read_before is None else read_before()
    plainly = before is None and _passed_plainly(record)
    found = (
        _seen(record, run) if plainly else explain_record(record, run.scoring, registry=registry)
    )
    detail = _plain(record, run)
    detail.why = () if plainly or options.redact else tuple(why_blocks(found))
    detail.facts = facts = tuple(_facts(record, found.judgements))
    detail.chunks = _chunks(record, facts)
    if not plainly:
        found, best = _telling(found, before)
        detail.values = Element(harmless(f"at their best: {', '.join(best)}" if best else ""))
    cited = {rank for citation in found.citations or () for rank in citation.ranks or ()}
    answer, phrases = detail.answer or "", [(fact.text, fact.letter) for fact in facts]
    detail.answer_marks = (
        *phrase_marks(answer, phrases, "fact"),
        *citation_marks(answer, cited, number),
    )
    if before is not None:
        detail = _side_by_side(detail, found, before)
        moved = (replace(g, reason=_with_place(g, before)) for g in found.golds)
        found = replace(found, golds=tuple(moved))
    shown = _bare_explanation(found) if options.redact else found
    groups = groups_of_case(shown, before=before, short=True)
    detail.groups = tuple(groups)
    return redacted(detail, record, run) if options.redact else detail


def brief_detail(record: CaseRecord, run: StoredRun, options: ReportOptions) -> CaseDetail:
    """Show one case of a run without what was retrieved, reasons and phases of its time."""
    record = run.whole(record)
    detail = _plain(record, run, brief=True)
    return redacted(detail, record, run) if options.redact else detail


def _passed_plainly(record: CaseRecord) -> bool:
    """Return whether nothing of a case failed, no stage of the answer and no metric."""
    if record.scores.outcome != "passed" or record.scores.failure_stage is not None:
        return False
    reasons = record.scores.not_applicable
    return not [k for k, v in record.scores.metrics.items() if v is None and k not in reasons]


def _seen(record: CaseRecord, run: StoredRun) -> Explanation:
    """Explain a case that passed: its verdicts, its citations, and its golds if one was missed."""
    chunks = record.reply.retrieved_chunks or ()
    found = {gold for chunk in chunks for gold in chunk.matched_golds or ()}
    missed = len(found) < len(record.case.gold_supports)
    return Explanation(
        record=record,
        golds=explain_golds(record.case, record, run.scoring) if missed else (),
        chunks=None if record.reply.retrieved_chunks is None else (),
        citations=explain_citations(record.case, record, run.scoring),
        judgements=explain_judgements(record),
    )


def _telling(found: Explanation, before: CaseRecord | None) -> tuple[Explanation, list[str]]:
    """Leave out metrics that say no more than the chunks, the error or a verdict does.

    Those of whole documents follow from the ranks of the chunks. Returned beside it are the keys of
    those that are at their best, and were no worse in the baseline.
    """
    said = {f"judge: {one.reasoning}" for one in found.judgements}
    then = {} if before is None else before.scores.metrics
    seen = [
        one
        for one in found.metrics
        if one.level != "document"
        and (one.value is not None or found.record.error is None)
        and (one.reason not in said or then.get(one.key) not in {None, one.value})
    ]
    best = [one.key for one in seen if one.best and then.get(one.key) in {None, one.value}]
    return replace(found, metrics=tuple(one for one in seen if one.key not in best)), best


def _plain(record: CaseRecord, run: StoredRun, *, brief: bool = False) -> CaseDetail:
    stage = stage_in_words(record)
    return CaseDetail(
        history=()
        if brief
        else tuple(
            history_facts(
                [
                    replace(one, content=shortened(one.content, _TEXT_CHARS))
                    for one in record.history
                ]
            )
        ),
        question=shortened(record.case.question, _TEXT_CHARS),
        facts=(),
        expected_answer=record.case.expected_answer,
        answer=_answer(record, _BRIEF_CHARS if brief else _ANSWER_CHARS),
        error=_error(record),
        abstained=_abstained(record),
        stage_name=stage.name if stage else "",
        stage_meaning=stage.meaning if stage else "",
        values=Element(
            ", ".join(
                [
                    _metric_text(key, value)
                    for key, value in record.scores.metrics.items()
                    if value is not None and key not in _OF_DOCUMENTS
                ]
            )
        ),
        phases=()
        if brief
        else tuple(
            (key.removesuffix("_ms"), ms) for key, ms in record.latency.items() if key != "total_ms"
        ),
        total_ms=record.latency.get("total_ms"),
        commands=(
            *([] if brief else [f"pytest {shlex.quote(record.item_nodeid)}"]),
            _explain_command(run, record.nodeid),
        ),
        trace_id=record.trace_id or "",
        trace_link=trace_link(run.config.settings.target.trace_url, record.trace_id),
    )


def _explain_command(run: StoredRun, name: str) -> str:
    return f"rageval explain {shlex.join([run.run_id, *['--'] * name.startswith('-'), name])}"


def _facts(record: CaseRecord, judgements: Sequence[JudgementReason]) -> Iterator[FactView]:
    known = {fact.text: fact for judgement in judgements for fact in judgement.facts}
    words = {True: "found", False: "not found", None: ""}
    facts = record.case.expected_key_facts
    for number, (text, fact) in enumerate(zip(record.case.key_facts, facts, strict=True)):
        found = known.get(text)
        yield FactView(
            letter=ascii_uppercase[number] if number < len(ascii_uppercase) else str(number + 1),
            text=text,
            vital=isinstance(fact, str) or fact.vital,
            finding=words[None if found is None else found.found],
            ranks=() if found is None else found.in_context or (),
        )


def _side_by_side(detail: CaseDetail, found: Explanation, before: CaseRecord) -> CaseDetail:
    """Add the baseline's side, if it differs."""
    now = found.record
    old, new, was = _chunks(before, detail.facts), detail.chunks, _answer(before)
    same_answer, same_chunks = before.answer == now.answer, _places(old) == _places(new)
    alike = (
        ("answer", same_answer, now.answer),
        ("chunks", same_chunks, now.reply.retrieved_chunks),
    )
    diff = diff_words(was, detail.answer) if was and detail.answer and not same_answer else None
    if diff is not None:
        detail.answer_marks = (*detail.answer_marks, *changed_marks(diff.new))
    if not same_chunks:
        old, new = _moved(old, new, "now rank", "gone"), _moved(new, old, "was rank", "new")
    base = BaseDetail(
        outcome=before.scores.outcome,
        stage=stage_of(before),
        answer=None if same_answer else was,
        diff=diff,
        chunks=None if same_chunks else old,
        same=tuple(name for name, same, both in alike if same and both is not None),
        lost=tuple(
            f"gold [{gold.index}], at rank {ranks[0]} then"
            for gold in found.golds
            if detail.chunks is not None and not gold.found
            if (ranks := gold_ranks(before.reply.retrieved_chunks, gold.index))
        ),
    )
    return replace(detail, base=base, chunks=detail.chunks if same_chunks else new)


def _with_place(gold: AnchorReason, before: CaseRecord) -> str:
    """Return the reason of a gold, with its place in the baseline if it was elsewhere."""
    ranks = gold_ranks(before.reply.retrieved_chunks, gold.index)
    if before.reply.retrieved_chunks is None or ranks == gold.ranks:
        return gold.reason
    then = f"ranked {join([*map(str, ranks)])}" if ranks else "not retrieved"
    return f"{gold.reason}; in the baseline {then}"


def _places(chunks: Sequence[ChunkView] | None) -> list[tuple[str, str, str, str]]:
    """Return the visible differences between two lists, ignoring last digits of scores."""
    return [(chunk.path, chunk.heading, chunk.text, chunk.golds) for chunk in chunks or ()]


def _moved(
    chunks: Sequence[ChunkView] | None, others: Sequence[ChunkView] | None, at: str, absent: str
) -> tuple[ChunkView, ...] | None:
    """Add to each chunk its rank in the other run."""
    if chunks is None or others is None:
        return None if chunks is None else tuple(chunks)
    places = {(one.path, one.heading, one.text): one.rank for one in reversed(others)}
    marked = []
    for chunk in chunks:
        place = places.get((chunk.path, chunk.heading, chunk.text))
        moved = absent if place is None else "" if place == chunk.rank else f"{at} {place}"
        marked.append(replace(chunk, moved=moved, elsewhere=place))
    return tuple(marked)


def _answer(record: CaseRecord, most: int = _ANSWER_CHARS) -> str | None:
    return None if record.answer is None else shortened(record.answer, most)


def _error(record: CaseRecord) -> str:
    if record.error is None:
        return ""
    return f"{record.error.kind}: {shortened(record.error.message, _TEXT_CHARS)}"


def _abstained(record: CaseRecord) -> str:
    if not record.reply.abstained:
        return ""
    reason = shortened(record.reply.abstain_reason or "", _TEXT_CHARS)
    return "abstained" + part(": {}", reason)


def _chunks(record: CaseRecord, facts: Sequence[FactView]) -> tuple[ChunkView, ...] | None:
    if record.reply.retrieved_chunks is None:
        return None
    phrases = [(fact.text, fact.letter) for fact in facts]
    return tuple(
        _chunk(record, phrases, *one) for one in enumerate(record.reply.retrieved_chunks, start=1)
    )


def _chunk(
    record: CaseRecord, facts: Sequence[tuple[str, str]], rank: int, chunk: RetrievedChunk
) -> ChunkView:
    text = shortened(chunk.text or "", _CHUNK_CHARS)
    marks = phrase_marks(text, facts, "fact")
    if matched := chunk.matched_golds:
        golds = record.case.gold_supports
        known = [i for i in matched if i < len(golds)]
        quotes = [(quote, f"gold [{i}]") for i in known for quote in golds[i].snippets]
        marks += phrase_marks(text, quotes, "gold")
    return ChunkView(
        rank=rank,
        in_cut=rank <= record.k,
        golds=part("gold {}", [f"[{index}]" for index in matched or ()]),
        irrelevant=bool(chunk.irrelevant),
        path=chunk.rel_path if chunk.vault is None else f"{chunk.vault}: {chunk.rel_path}",
        heading=chunk.heading_path or "",
        facts=", ".join(chunk_facts(chunk, rank)),
        text=text,
        marks=marks,
        truncated=chunk.text_truncated,
    )


@lru_cache(maxsize=10_000)
def _metric_text(key: str, value: float) -> str:
    # Cached: most cases share a few values, and exact formatting is slow.
    shown = f"{value:.0f}" if value.is_integer() else format_value(value)
    return f"{harmless(key)} {shown}"


def redacted(detail: CaseDetail, record: CaseRecord, run: StoredRun) -> CaseDetail:
    """Keep only ids, numbers and fixed words; paths and headings come from documents."""
    base = detail.base
    return replace(
        detail,
        history=(),
        question=None,
        facts=(),
        expected_answer=None,
        answer=None,
        answer_marks=(),
        error="" if record.error is None else record.error.kind,
        abstained="abstained" if record.reply.abstained else "",
        chunks=_bare_chunks(detail.chunks),
        commands=(_explain_command(run, record.name),),  # without its file
        trace_link="",
        base=None
        if base is None
        else replace(base, answer=None, diff=None, chunks=_bare_chunks(base.chunks)),
    )


def _bare_explanation(found: Explanation) -> Explanation:
    """Keep only ids, numbers and fixed words."""
    error = found.record.error
    bare = None if error is None else replace(error, message="", traceback="")
    nowhere = Anchor(rel_path="")
    return replace(
        found,
        record=replace(
            found.record,
            case=replace(found.record.case, standalone=None),
            history=(),
            response=None,
            error=bare,
        ),
        next_steps=(),
        notes=(),
        golds=tuple(replace(one, anchor=nowhere, reason="") for one in found.golds),
        irrelevant=tuple(replace(one, anchor=nowhere, reason="") for one in found.irrelevant),
        citations=None,
        left_out=(),
        expectations=tuple(replace(one, reason="") for one in found.expectations),
        judgements=tuple(_bare_judgement(one) for one in found.judgements),
        metrics=tuple(replace(one, reason="", traceback="") for one in found.metrics),
    )


def _bare_chunks(chunks: Sequence[ChunkView] | None) -> tuple[ChunkView, ...] | None:
    if chunks is None:
        return None
    return tuple(
        replace(c, path="", heading="", text="", marks=(), truncated=False) for c in chunks
    )


def _bare_judgement(one: JudgementReason) -> JudgementReason:
    claims = tuple(replace(c, text="", chunk=None, reason="") for c in one.claims)
    error = None
    if one.error is not None:
        kind = one.error.split(":", 1)[0]
        error = kind if _KIND.fullmatch(kind) else "failed"
    return replace(one, reasoning="", error=error, claims=claims, facts=())
