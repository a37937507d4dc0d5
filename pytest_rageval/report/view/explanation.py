"""The explanation of one record as blocks: verdict first, then evidence, then numbers.

Words carry the meaning; colour only repeats it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import record_outcome
from pytest_rageval.metrics.scoring import is_unsure
from pytest_rageval.report.explain.values import (
    AnchorReason,
    ChunkReason,
    CitationReason,
    ClaimReason,
    Explanation,
    JudgementReason,
    LeftOut,
    MetricReason,
    ranks,
)
from pytest_rageval.report.view.blocks import (
    Block,
    Line,
    Note,
    Row,
    Status,
    Table,
    indented,
    paragraph,
)
from pytest_rageval.support.text import TOLERANCE, clean, counted, cut, format_value
from pytest_rageval.values.lenient import USAGE
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import AskResponse

_OUTCOMES: Final[dict[str, tuple[str, Status]]] = {
    "passed": ("PASSED", "good"),
    "flawed": ("FLAWED", "warn"),
    "missed": ("MISSED", "warn"),
    "error": ("ERROR", "bad"),
    "unchecked": ("UNCHECKED", "warn"),
}
_LEVELS: Final = {
    "anchor": "sections",
    "document": "documents",
    "list": "list",
    "scope": "folders",
    "embedding": "vectors",
    "answer": "answer",
    "judged": "judge",
    "own": "the project's",
    "other": "other",
}
_ROLES: Final[dict[str, Status]] = {"relevant": "good", "irrelevant": "bad", "undecided": "warn"}
_UNCHECKED: Final = "Nothing of this case could be checked."
_LABEL: Final = 10
_ANSWER_CHARS: Final = 300
_TEXT_CHARS: Final = 200
_PLACE_CHARS: Final = 300
_REASON_CHARS: Final = 600
_KEY_CHARS: Final = 44
_TEXT_READ: Final = 4000
"""Maximum characters of a text that are processed unless the whole is requested."""
_CLAIMS_SHOWN: Final = 12
_LEFT_OUT_SHOWN: Final = 8
_LEFT_OUT_CHARS: Final = 80


def render_explanation(
    explanation: Explanation, *, run_id: str, verbose: bool = False
) -> Iterator[Block]:
    """Lay out one explanation.

    Args:
        explanation: result of ``explain_record``.
        run_id: name of the run, for the heading.
        verbose: adds the beginning of each chunk's text, the whole answer, and the metrics that an
            error of the target left without a value.
    """
    error = explanation.record.error
    parts = (
        _verdict(explanation, run_id, verbose=verbose),
        _expectations(explanation),
        _anchors("golds", explanation.golds, grades=True),
        _groups(explanation),
        _anchors("irrelevant supports", explanation.irrelevant),
        _folders(explanation),
        _chunks(explanation, verbose=verbose),
        _citations(explanation.citations),
        _left_out(explanation.left_out),
        _judgements(explanation.judgements, verbose=verbose),
        _metrics(explanation),
        _reranking(explanation),
        _unscored(explanation) if error is None or verbose else (),
    )
    found = 0
    for part in parts:
        for number, block in enumerate(part):
            if found and not number:
                yield ()
            yield block
            found += 1


def _beside(head: str | Line, text: str, style: Status = "", limit: int = _REASON_CHARS) -> Note:
    """Return a shortened text beside the head of its first line."""
    head = ((head, ""),) if isinstance(head, str) else head
    return Note(head, ((clean(text, limit), style),))


def _labelled(label: str, text: str, style: Status = "", limit: int = _REASON_CHARS) -> Note:
    return _beside(((f"{label:<{_LABEL}}", "strong"),), text, style, limit)


def _heading(text: str) -> Line:
    return ((text, "strong"),)


def _stack(*parts: tuple[str, Status]) -> Line:
    """Return texts one below the other in a cell, without empty ones."""
    shown = [(clean(text, _REASON_CHARS), style) for text, style in parts if text]
    return tuple(chain.from_iterable((part, ("\n", "")) for part in shown))[:-1]


# --- verdict -------------------------------------------------------------------------------


def _verdict(explanation: Explanation, run_id: str, *, verbose: bool) -> Iterator[Block]:
    record = explanation.record
    word, style = _OUTCOMES[record_outcome(record)]
    link = "though" if record.scores.outcome == "passed" else "at"
    stage = f"  {link} {record.scores.failure_stage}" if record.scores.failure_stage else ""
    yield Note(
        (), ((clean(record.name, _TEXT_CHARS), "strong"), ("  ", ""), (word, style), (stage, style))
    )
    yield _beside("", _origin(record, run_id), "weak")
    yield _labelled("question", record.case.question)
    if record.answer is not None:
        if record.reply.abstained:
            reason = clean(record.reply.abstain_reason or "", _PLACE_CHARS)
            yield _labelled("abstained", reason or "yes")
        limit = len(record.answer) if verbose else _ANSWER_CHARS
        yield _labelled("answer", record.answer, limit=limit)
    if (error := record.error) is not None:
        yield _labelled("error", f"{error.kind}: {error.message}", "bad")
        yield from (indented(place, _LABEL) for place in error.traceback.splitlines())
    if record.scores.unchecked:
        yield _labelled("note", _why_unchecked(record))
    if explanation.stage_meaning:
        yield _labelled("why", explanation.stage_meaning, style)
    for number, step in enumerate(explanation.next_steps):
        yield _labelled("" if number else "try", step)
    if record.response is not None:
        yield from _reported(record.response)
    if record.trace_id is not None:
        # On one line, however wide: a broken address cannot be opened.
        yield f"{'trace':<{_LABEL}}{explanation.trace_link or clean(record.trace_id, _PLACE_CHARS)}"
    for note in explanation.notes:
        yield _labelled("note", note, "warn")


def _why_unchecked(record: CaseRecord) -> str:
    if not is_unsure(record):
        return _UNCHECKED
    return f"The judge is unsure of the answer. {record.scores.not_applicable['correctness']}"


def _reported(response: AskResponse) -> Iterator[Block]:
    """Yield the tokens, the cost and the searches that a target reports with an answer."""
    usage = [f"{name} {response.usage[name]:,.6g}" for name in USAGE if name in response.usage]
    if usage:
        yield _labelled("usage", ", ".join(usage))
    label = "searches"
    for search in response.searches or ():
        found = "" if search.chunks is None else f"found {counted(len(search.chunks), 'chunk')}"
        parts = (search.tool, search.query, found)
        yield _labelled(label, " | ".join(filter(None, parts)) or "-")
        label = ""


def _origin(record: CaseRecord, run_id: str) -> str:
    parts = [
        f"{record.file}:{record.lineno}",
        ", ".join(filter(None, (record.case.category, record.case.difficulty))),
        f"run {run_id}",
        f"k {record.k}",
    ]
    if record.repeat:
        parts.append(f"repeat {record.repeat}")
    return " | ".join(parts)


def _expectations(explanation: Explanation) -> Iterator[Block]:
    asked = [e for e in explanation.expectations if e.met is not None]
    if not asked or explanation.record.scores.outcome == "error":
        return
    yield _heading("to pass")
    rows: list[Row] = []
    for one in asked:
        more = " or more" if one.at_least else ""
        expected = "" if one.met else f", expected {one.expected:g}{more}"
        mark: Line = (("  ok", "good"),) if one.met else (("  FAIL", "bad"),)
        rows.append((mark, f"{one.key} {one.value:g}{expected}: {one.reason}"))
    yield Table(("", ""), rows)


# --- evidence ------------------------------------------------------------------------------


def _place(path: str, heading: str | None, lines: str = "") -> str:
    shown = f"{path}{lines}"
    return f"{shown} | {heading}" if heading else shown


def _anchors(
    title: str, anchors: Sequence[AnchorReason], *, grades: bool = False
) -> Iterator[Block]:
    if not anchors:
        return
    graded = grades and any(anchor.grade != 1 for anchor in anchors)
    yield _heading(title)
    rows: list[Row] = []
    for anchor in anchors:
        place = _place(anchor.rel_path, anchor.heading_path)
        if anchor.vault:
            place = f"{anchor.vault}: {place}"
        if graded:
            place += f" (grade {anchor.grade})"
        good = anchor.found if grades else not anchor.found
        style: Status = "good" if good else "warn" if grades else "bad"
        rows.append((f"  [{anchor.index}]", _stack((place, ""), (anchor.reason, style))))
    yield Table(("", ""), rows)


def _groups(explanation: Explanation) -> Iterator[Block]:
    if not explanation.groups:
        return
    yield _heading("groups (one of them must be whole)")
    for group in explanation.groups:
        golds = " ".join(f"[{index}]" for index in group.golds)
        lacks = " ".join(f"[{index}]" for index in group.lacks or ())
        state = "" if group.lacks is None else f": lacks {lacks}" if lacks else ": whole"
        style: Status = "" if group.lacks is None else "warn" if lacks else "good"
        yield _beside("  ", f"{golds}{state}", style)


def _folders(explanation: Explanation) -> Iterator[Block]:
    selection = explanation.record.reply.folder_selection
    if selection is None or selection.selected_folders is None:
        return
    yield _heading("folders")
    names = ", ".join(name or '""' for name in selection.selected_folders) or "none"
    text = f"selected: {names}"
    if selection.available_folders is not None:
        text += f" (of {len(selection.available_folders)})"
    if selection.fallback_used:
        text += "; fallback used, everything was searched"
    if selection.reasoning:
        text += f"; {clean(selection.reasoning, _PLACE_CHARS)}"
    yield _beside("  ", text)


def _chunks(explanation: Explanation, *, verbose: bool) -> Iterator[Block]:
    chunks = explanation.chunks
    if chunks is None:
        return
    if not chunks:
        yield _heading("chunks: none were returned")
        return
    yield _heading("chunks: rank, gold matched, passage")
    rows: list[Row | Note] = []
    for before, chunk in zip((None, *chunks), chunks, strict=False):
        if not chunk.in_cut and (before is None or before.in_cut):
            rule = f"  ---- cut at k = {explanation.record.k}: nothing below counts ----"
            rows.append(paragraph(rule, "weak"))
        rows.append(_chunk(chunk, verbose=verbose))
    yield Table((">", "", ""), rows)


def _match(chunk: ChunkReason) -> str:
    if chunk.role == "irrelevant":
        return "BAD"
    if chunk.role == "undecided":
        return "?"
    shown = "".join(f"[{index}]" for index in chunk.golds[:4])
    return (shown + ("+" if len(chunk.golds) > 4 else "")) or "-"


def _chunk(chunk: ChunkReason, *, verbose: bool) -> Row:
    style: Status = _ROLES.get(chunk.role, "")
    lines = ""
    if chunk.start_line is not None:
        lines = f":{chunk.start_line}"
        lines += f"-{chunk.end_line}" if chunk.end_line is not None else ""
    passage = _stack(
        (_place(chunk.rel_path, chunk.heading_path, lines), ""),
        ("; ".join(_chunk_facts(chunk, verbose=verbose)), style or "weak"),
        (f"> {clean(chunk.text, _TEXT_CHARS)}" if verbose and chunk.text else "", "weak"),
    )
    return f"{chunk.rank:>4}", ((_match(chunk), style),), passage


def _chunk_facts(chunk: ChunkReason, *, verbose: bool) -> Iterator[str]:
    if chunk.rule != "no_anchor" or chunk.duplicate_of is not None or chunk.in_scope is False:
        yield chunk.reason
    moved = chunk.rank_before_rerank
    if moved is not None and moved != chunk.rank:
        yield f"rank {moved} before reranking"
    if verbose and chunk.score is not None:
        yield f"score {chunk.score:.4g}"


def _left_out(parts: Sequence[LeftOut]) -> Iterator[Block]:
    if not parts:
        return
    yield _heading("left out of the answer")
    for part in parts[:_LEFT_OUT_SHOWN]:
        name = part.kind.replace("_", "-")
        quoted = f'"{cut(part.text, _LEFT_OUT_CHARS)}"'
        yield _beside("  ", f"{name} {quoted}: {part.reason}")
    if len(parts) > _LEFT_OUT_SHOWN:
        yield _beside("  ", f"and {len(parts) - _LEFT_OUT_SHOWN} more")


def _citations(citations: Sequence[CitationReason] | None) -> Iterator[Block]:
    if citations is None:
        return
    if not citations:
        yield _heading("citations: none")
        return
    yield _heading("citations")
    rows: list[Row] = []
    for one in citations:
        place = _place(one.citation.rel_path or "(nothing)", one.citation.heading_path)
        reason: tuple[str, Status] = (one.reason, "good" if one.golds else "weak")
        rows.append((f"  #{one.number}", _stack((place, ""), reason)))
    yield Table(("", ""), rows)


# --- verdicts ------------------------------------------------------------------------------


def _judgements(judgements: Sequence[JudgementReason], *, verbose: bool) -> Iterator[Block]:
    for verdict in judgements:
        scores = ", ".join(f"{key} {format_value(value)}" for key, value in verdict.scores.items())
        yield _heading(clean(f"judge: {verdict.rubric} by {verdict.judge}"))
        if verdict.error is not None:
            yield _beside("  ", f"no valid verdict: {verdict.error}", "bad")
        elif scores:
            yield _beside("  ", scores)
        if verdict.reasoning:
            yield _beside("  ", verdict.reasoning, "weak")
        # Unsupported claims come first.
        claims = sorted(verdict.claims, key=lambda claim: claim.supported)
        shown = claims if verbose else claims[:_CLAIMS_SHOWN]
        rows: list[Row] = [
            (
                (("  supported", "good") if claim.supported else ("  UNSUPPORTED", "bad"),),
                _stack((f'"{claim.text}"', ""), (_deciding(claim), "weak")),
            )
            for claim in shown
        ]
        if more := len(claims) - len(shown):
            rows.append(("  ...", ((f"and {more} more claims; -v shows them", "weak"),)))
        for fact in verdict.facts:
            text = f'key fact "{fact.text}"'
            if fact.in_context is not None:
                place = f"at {ranks(fact.in_context)}" if fact.in_context else "nowhere in the cut"
                text += f" ({place})"
            found: Line = (("  found", "good"),) if fact.found else (("  MISSING", "bad"),)
            rows.append((found, _stack((text, ""))))
        yield Table(("", ""), rows)


def _deciding(claim: ClaimReason) -> str:
    """Name the passage that decided a claim, and the words found or missing there."""
    if claim.rank is None:
        place = "" if claim.supported else "no passage"
    else:
        nearest = "" if claim.supported else "nearest is "
        place = f"{nearest}rank {claim.rank}, {_place(claim.rel_path or '', claim.heading_path)}"
    return ": ".join(filter(None, (clean(place, _PLACE_CHARS), claim.reason))) or "no reason given"


# --- numbers -------------------------------------------------------------------------------


def _metrics(explanation: Explanation) -> Iterator[Block]:
    scored = [metric for metric in explanation.metrics if metric.status == "scored"]
    if not scored:
        return
    for level, title in _LEVELS.items():
        if group := [metric for metric in scored if metric.level == level]:
            yield _heading(f"metrics: {title}")
            yield Table(
                ("", ">", ""),
                [
                    (
                        f"  {clean(one.key, _KEY_CHARS)}",
                        one.value,
                        _stack((f"= {one.reason}", "weak")),
                    )
                    for one in group
                ],
            )


def _reranking(explanation: Explanation) -> Iterator[Block]:
    pairs = [
        (metric, metric.before_rerank, metric.value)
        for metric in explanation.metrics
        if metric.before_rerank is not None and metric.value is not None
    ]
    if not pairs or not explanation.chunks:  # nothing came that could be put in another order
        return
    changed = [one for one in pairs if abs(one[2] - one[1]) > TOLERANCE]
    if not changed:
        yield _heading("reranking changed no metric")
        return
    yield _heading("reranking")
    rows: list[Row] = []
    for metric, before, now in changed:
        style: Status = "good" if now > before else "bad"
        text = f"{format_value(before)} -> {format_value(now)} ({now - before:+.3f})"
        reason = metric.reason_before_rerank
        cell = _stack((text, style), (f"before: {reason}" if reason else "", "weak"))
        rows.append((((f"  {metric.key}", style),), cell))
    yield Table(("", ""), rows)


def _unscored(explanation: Explanation) -> Iterator[Block]:
    for status, title in (("error", "metrics in error"), ("not_applicable", "not applicable")):
        reasons: dict[str, list[MetricReason]] = {}
        for metric in explanation.metrics:
            if metric.status == status:
                reasons.setdefault(metric.reason, []).append(metric)
        if reasons:
            yield _heading(title)
        for reason, metrics in reasons.items():
            yield _beside("  ", reason)
            yield _beside(" " * 6, ", ".join(one.key for one in metrics), "weak", _TEXT_READ)
            for one in metrics:
                yield from (indented(place, 6) for place in one.traceback.splitlines())
