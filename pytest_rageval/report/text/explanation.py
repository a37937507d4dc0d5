"""The explanation of one record as styled lines: verdict first, then evidence, then numbers.

Lines are at most ``width`` characters and plain ASCII, except for text of cases, documents and
models, which is sanitised before layout. Words carry the meaning; colour only repeats it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

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
from pytest_rageval.report.text.lines import Line, Style, indented
from pytest_rageval.support.text import (
    TOLERANCE,
    clean,
    columns_of,
    counted,
    cut,
    format_value,
    wrapped_text,
)
from pytest_rageval.values.lenient import USAGE
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import AskResponse

_OUTCOMES: Final[dict[str, tuple[str, Style]]] = {
    "passed": ("PASSED", "green"),
    "flawed": ("FLAWED", "yellow"),
    "missed": ("MISSED", "yellow"),
    "error": ("ERROR", "red"),
    "unchecked": ("UNCHECKED", "yellow"),
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
_ROLES: Final[dict[str, Style]] = {"relevant": "green", "irrelevant": "red", "undecided": "yellow"}
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
_NARROWEST: Final = 60
_REASON_COLUMN: Final = 24
"""Minimum width beside a number; on a narrower terminal the reason is below it."""


def render_explanation(
    explanation: Explanation, *, run_id: str, width: int = 80, verbose: bool = False
) -> list[Line]:
    """Lay out one explanation.

    Args:
        explanation: result of ``explain_record``.
        run_id: name of the run, for the heading.
        width: columns of the terminal; fewer than 60 are taken as 60.
        verbose: adds the beginning of each chunk's text, the whole answer, and the metrics that an
            error of the target left without a value.
    """
    width = max(width, _NARROWEST)
    error = explanation.record.error
    places = error.traceback.splitlines() if error is not None else []
    raised = {metric.key: metric.traceback.splitlines() for metric in explanation.metrics}
    explanation = _harmless(explanation, None if verbose else _TEXT_READ)
    parts = (
        _verdict(explanation, run_id, width, places, verbose=verbose),
        _expectations(explanation, width),
        _anchors("golds", explanation.golds, width, grades=True),
        _groups(explanation, width),
        _anchors("irrelevant supports", explanation.irrelevant, width),
        _folders(explanation, width),
        _chunks(explanation, width, verbose=verbose),
        _citations(explanation.citations, width),
        _left_out(explanation.left_out, width),
        _judgements(explanation.judgements, width, verbose=verbose),
        _metrics(explanation, width),
        _reranking(explanation, width),
        _unscored(explanation, width, raised) if error is None or verbose else (),
    )
    lines: list[Line] = []
    for part in parts:
        found = list(part)
        if found and lines:
            lines.append(())
        lines += found
    return lines


def _harmless(value: Any, limit: int | None) -> Any:
    """Return a value with every text in it made safe for a terminal, keys of mappings too.

    Applied to the whole explanation, because any field, including the key of a metric, may come
    from an untrusted file, and the width must be measured on the displayed text.
    """
    if isinstance(value, str):
        return clean(value, limit)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: _harmless(getattr(value, f.name), limit) for f in fields(value) if f.init}
        return replace(value, **parts)
    if isinstance(value, Mapping):
        return {_harmless(key, limit): _harmless(part, limit) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return tuple(_harmless(part, limit) for part in value)
    return value


def _wrap(
    text: str, width: int, *, first: str = "", rest: str = "", limit: int = _REASON_CHARS
) -> list[str]:
    """Shorten a text and break it into lines with the given beginnings."""
    return wrapped_text(clean(text, limit), width, first=first, rest=rest) or [first.rstrip()]


def _lines(
    text: str,
    width: int,
    *,
    first: str = "",
    rest: str | None = None,
    style: Style = "",
    limit: int = _REASON_CHARS,
) -> Iterator[Line]:
    """Yield a wrapped text as lines of one style; without ``rest`` all begin like the first."""
    rest = first if rest is None else rest
    for line in _wrap(text, width, first=first, rest=rest, limit=limit):
        yield ((line, style),)


def _labelled(
    label: str, text: str, width: int, *, style: Style = "", limit: int = _REASON_CHARS
) -> Iterator[Line]:
    return _beside(((f"{label:<{_LABEL}}", "bold"),), text, width, style=style, limit=limit)


def _beside(
    head: Line, text: str, width: int, *, style: Style = "", limit: int = _REASON_CHARS
) -> Iterator[Line]:
    """Yield a wrapped text beside the head of its first line."""
    column = sum(columns_of(word) for word, _ in head)
    for part in _wrap(text, width - column, limit=limit):
        yield (*head, (part, style))
        head = ((" " * column, ""),)


def _heading(text: str) -> Line:
    return ((text, "bold"),)


# --- verdict -------------------------------------------------------------------------------


def _verdict(
    explanation: Explanation, run_id: str, width: int, places: Sequence[str], *, verbose: bool
) -> Iterator[Line]:
    record = explanation.record
    word, style = _OUTCOMES[record_outcome(record)]
    link = "though" if record.scores.outcome == "passed" else "at"
    stage = f"  {link} {record.scores.failure_stage}" if record.scores.failure_stage else ""
    name = clean(record.name, width - len(word) - len(stage) - 2)
    yield ((name, "bold"), ("  ", ""), (word, style), (stage, style))
    yield from _lines(_origin(record, run_id), width, style="dim")
    yield from _labelled("question", record.case.question, width)
    if record.answer is not None:
        if record.reply.abstained:
            reason = clean(record.reply.abstain_reason or "", _PLACE_CHARS)
            yield from _labelled("abstained", reason or "yes", width)
        limit = len(record.answer) if verbose else _ANSWER_CHARS
        yield from _labelled("answer", record.answer, width, limit=limit)
    if (error := record.error) is not None:
        yield from _labelled("error", f"{error.kind}: {error.message}", width, style="red")
        yield from (indented(place, _LABEL, width) for place in places)
    if record.scores.unchecked:
        yield from _labelled("note", _why_unchecked(record), width)
    if explanation.stage_meaning:
        yield from _labelled("why", explanation.stage_meaning, width, style=style)
    for number, step in enumerate(explanation.next_steps):
        yield from _labelled("" if number else "try", step, width)
    if record.response is not None:
        yield from _reported(record.response, width)
    if record.trace_id is not None:
        # On one line, however wide: a broken address cannot be opened.
        trace = explanation.trace_link or clean(record.trace_id, width - _LABEL)
        yield (f"{'trace':<{_LABEL}}", "bold"), (trace, "")
    for note in explanation.notes:
        yield from _labelled("note", note, width, style="yellow")


def _why_unchecked(record: CaseRecord) -> str:
    if not is_unsure(record):
        return _UNCHECKED
    return f"The judge is unsure of the answer. {record.scores.not_applicable['correctness']}"


def _reported(response: AskResponse, width: int) -> Iterator[Line]:
    """Yield the tokens, the cost and the searches that a target reports with an answer."""
    usage = [f"{name} {response.usage[name]:,.6g}" for name in USAGE if name in response.usage]
    if usage:
        yield from _labelled("usage", ", ".join(usage), width)
    label = "searches"
    for search in response.searches or ():
        found = "" if search.chunks is None else f"found {counted(len(search.chunks), 'chunk')}"
        parts = (search.tool, search.query, found)
        yield from _labelled(label, " | ".join(filter(None, parts)) or "-", width)
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


def _expectations(explanation: Explanation, width: int) -> Iterator[Line]:
    asked = [e for e in explanation.expectations if e.met is not None]
    if not asked or explanation.record.scores.outcome == "error":
        return
    yield _heading("to pass")
    for one in asked:
        more = " or more" if one.at_least else ""
        expected = "" if one.met else f", expected {one.expected:g}{more}"
        mark: Line = (("  ok    ", "green"),) if one.met else (("  FAIL  ", "red"),)
        yield from _beside(mark, f"{one.key} {one.value:g}{expected}: {one.reason}", width)


# --- evidence ------------------------------------------------------------------------------


def _place(path: str, heading: str | None, lines: str = "") -> str:
    shown = f"{path}{lines}"
    return f"{shown} | {heading}" if heading else shown


def _anchors(
    title: str, anchors: Sequence[AnchorReason], width: int, *, grades: bool = False
) -> Iterator[Line]:
    if not anchors:
        return
    graded = grades and any(anchor.grade != 1 for anchor in anchors)
    yield _heading(title)
    for anchor in anchors:
        mark = f"  [{anchor.index}] "
        place = _place(anchor.rel_path, anchor.heading_path)
        if anchor.vault:
            place = f"{anchor.vault}: {place}"
        if graded:
            place += f" (grade {anchor.grade})"
        good = anchor.found if grades else not anchor.found
        style: Style = "green" if good else "yellow" if grades else "red"
        blank = " " * len(mark)
        yield from _lines(place, width, first=mark, rest=blank, limit=_PLACE_CHARS)
        yield from _lines(anchor.reason, width, first=blank, style=style)


def _groups(explanation: Explanation, width: int) -> Iterator[Line]:
    if not explanation.groups:
        return
    yield _heading("groups (one of them must be whole)")
    for group in explanation.groups:
        golds = " ".join(f"[{index}]" for index in group.golds)
        if group.lacks is None:
            yield ((f"  {golds}"[:width], ""),)
            continue
        lacks = " ".join(f"[{index}]" for index in group.lacks)
        text = f"{golds}: lacks {lacks}" if lacks else f"{golds}: whole"
        style: Style = "yellow" if lacks else "green"
        yield from _lines(text, width, first="  ", rest="    ", style=style)


def _folders(explanation: Explanation, width: int) -> Iterator[Line]:
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
    yield from _lines(text, width, first="  ", rest="    ")


def _chunks(explanation: Explanation, width: int, *, verbose: bool) -> Iterator[Line]:
    chunks = explanation.chunks
    if chunks is None:
        return
    if not chunks:
        yield _heading("chunks: none were returned")
        return
    yield _heading("chunks: rank, gold matched, passage")
    cut_shown = False
    column = max(len(_match(chunk)) for chunk in chunks) + 2
    for chunk in chunks:
        if not chunk.in_cut and not cut_shown:
            cut_shown = True
            rule = f"  ---- cut at k = {explanation.record.k}: nothing below counts "
            yield ((rule.ljust(min(width, 76), "-"), "dim"),)
        yield from _chunk(chunk, column, width, verbose=verbose)


def _match(chunk: ChunkReason) -> str:
    if chunk.role == "irrelevant":
        return "BAD"
    if chunk.role == "undecided":
        return "?"
    shown = "".join(f"[{index}]" for index in chunk.golds[:4])
    return (shown + ("+" if len(chunk.golds) > 4 else "")) or "-"


def _chunk(chunk: ChunkReason, column: int, width: int, *, verbose: bool) -> Iterator[Line]:
    style: Style = _ROLES.get(chunk.role, "")
    blank = " " * (column + 6)
    lines = ""
    if chunk.start_line is not None:
        lines = f":{chunk.start_line}"
        lines += f"-{chunk.end_line}" if chunk.end_line is not None else ""
    place = _place(chunk.rel_path, chunk.heading_path, lines)
    head: Line = ((f"{chunk.rank:>4}  ", ""), (f"{_match(chunk):<{column}}", style))
    yield from _beside(head, place, width, limit=_PLACE_CHARS)
    if reason := "; ".join(_chunk_facts(chunk, verbose=verbose)):
        yield from _lines(reason, width, first=blank, style=style or "dim")
    if verbose and chunk.text:
        text, rest = f"> {chunk.text}", f"{blank}  "
        yield from _lines(text, width, first=blank, rest=rest, style="dim", limit=_TEXT_CHARS)


def _chunk_facts(chunk: ChunkReason, *, verbose: bool) -> Iterator[str]:
    if chunk.rule != "no_anchor" or chunk.duplicate_of is not None or chunk.in_scope is False:
        yield chunk.reason
    moved = chunk.rank_before_rerank
    if moved is not None and moved != chunk.rank:
        yield f"rank {moved} before reranking"
    if verbose and chunk.score is not None:
        yield f"score {chunk.score:.4g}"


def _left_out(parts: Sequence[LeftOut], width: int) -> Iterator[Line]:
    if not parts:
        return
    yield _heading("left out of the answer")
    for part in parts[:_LEFT_OUT_SHOWN]:
        name = part.kind.replace("_", "-")
        quoted = f'"{cut(part.text, _LEFT_OUT_CHARS)}"'
        yield from _lines(f"{name} {quoted}: {part.reason}", width, first="  ", rest="    ")
    if len(parts) > _LEFT_OUT_SHOWN:
        yield from _lines(f"and {len(parts) - _LEFT_OUT_SHOWN} more", width, first="  ")


def _citations(citations: Sequence[CitationReason] | None, width: int) -> Iterator[Line]:
    if citations is None:
        return
    if not citations:
        yield _heading("citations: none")
        return
    yield _heading("citations")
    for one in citations:
        mark = f"  #{one.number} "
        blank = " " * len(mark)
        place = _place(one.citation.rel_path or "(nothing)", one.citation.heading_path)
        yield from _lines(place, width, first=mark, rest=blank, limit=_PLACE_CHARS)
        style: Style = "green" if one.golds else "dim"
        yield from _lines(one.reason, width, first=blank, style=style)


# --- verdicts ------------------------------------------------------------------------------


def _judgements(
    judgements: Sequence[JudgementReason], width: int, *, verbose: bool
) -> Iterator[Line]:
    for verdict in judgements:
        scores = ", ".join(f"{key} {format_value(value)}" for key, value in verdict.scores.items())
        yield _heading(clean(f"judge: {verdict.rubric} by {verdict.judge}", width))
        if verdict.error is not None:
            text = f"no valid verdict: {verdict.error}"
            yield from _lines(text, width, first="  ", style="red")
        elif scores:
            yield from _lines(scores, width, first="  ")
        if verdict.reasoning:
            yield from _lines(verdict.reasoning, width, first="  ", style="dim")
        yield from _claims(verdict.claims, width, verbose=verbose)
        for fact in verdict.facts:
            word = "  found    " if fact.found else "  MISSING  "
            style: Style = "green" if fact.found else "red"
            text = f'key fact "{fact.text}"'
            if fact.in_context is not None:
                place = f"at {ranks(fact.in_context)}" if fact.in_context else "nowhere in the cut"
                text += f" ({place})"
            yield from _beside(((word, style),), text, width)


def _claims(claims: Sequence[ClaimReason], width: int, *, verbose: bool) -> Iterator[Line]:
    """Show each claim with the deciding passage, unsupported claims first."""
    ordered = sorted(claims, key=lambda claim: claim.supported)
    shown = ordered if verbose else ordered[:_CLAIMS_SHOWN]
    for claim in shown:
        word = "  supported    " if claim.supported else "  UNSUPPORTED  "
        style: Style = "green" if claim.supported else "red"
        yield from _beside(((word, style),), f'"{claim.text}"', width)
        yield from _lines(_deciding(claim), width, first=" " * len(word), style="dim")
    if len(ordered) > len(shown):
        yield ((f"  ... and {len(ordered) - len(shown)} more claims; -v shows them", "dim"),)


def _deciding(claim: ClaimReason) -> str:
    """Name the passage that decided a claim, and the words found or missing there."""
    if claim.rank is None:
        place = "" if claim.supported else "no passage"
    else:
        nearest = "" if claim.supported else "nearest is "
        place = f"{nearest}rank {claim.rank}, {_place(claim.rel_path or '', claim.heading_path)}"
    return ": ".join(filter(None, (clean(place, _PLACE_CHARS), claim.reason))) or "no reason given"


# --- numbers -------------------------------------------------------------------------------


def _metrics(explanation: Explanation, width: int) -> Iterator[Line]:
    scored = [metric for metric in explanation.metrics if metric.status == "scored"]
    if not scored:
        return
    for level, title in _LEVELS.items():
        if group := [metric for metric in scored if metric.level == level]:
            yield _heading(f"metrics: {title}")
            column = min(max(len(metric.key) for metric in group), _KEY_CHARS)
            for metric in group:
                yield from _metric(metric, column, width)


def _metric(metric: MetricReason, column: int, width: int) -> Iterator[Line]:
    head = f"  {clean(metric.key, column):<{column}}  {format_value(metric.value):>6}"
    if width - len(head) - 3 < _REASON_COLUMN:
        yield ((head, ""),)
        text = f"= {metric.reason}"
        yield from _lines(text, width, first=" " * 6, rest=" " * 8, style="dim")
    else:
        yield from _beside(((head, ""), (" = ", "dim")), metric.reason, width, style="dim")


def _reranking(explanation: Explanation, width: int) -> Iterator[Line]:
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
    column = max(len(metric.key) for metric, *_ in changed)
    for metric, before, now in changed:
        style: Style = "green" if now > before else "red"
        text = f"{format_value(before)} -> {format_value(now)}"
        head = f"  {metric.key:<{column}}  {text} ({now - before:+.3f})"
        yield ((head[:width], style),)
        if metric.reason_before_rerank:
            reason = f"before: {metric.reason_before_rerank}"
            yield from _lines(reason, width, first=" " * (column + 4), style="dim")


def _unscored(
    explanation: Explanation, width: int, raised: Mapping[str, Sequence[str]]
) -> Iterator[Line]:
    for status, title in (("error", "metrics in error"), ("not_applicable", "not applicable")):
        reasons: dict[str, list[str]] = {}
        for metric in explanation.metrics:
            if metric.status == status:
                reasons.setdefault(metric.reason, []).append(metric.key)
        if reasons:
            yield _heading(title)
        for reason, keys in reasons.items():
            yield from _lines(reason, width, first="  ", rest="    ")
            yield from _lines(", ".join(keys), width, first=" " * 6, style="dim", limit=_TEXT_READ)
            for key in keys:
                yield from (indented(place, 6, width) for place in raised.get(key, ()))
