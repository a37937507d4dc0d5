"""The explanation of one record as blocks: what is wrong on one screen, and below it everything.

Words carry the meaning; colour only repeats it.
"""

from __future__ import annotations

import shlex
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import record_outcome
from pytest_rageval.metrics.scoring import is_unsure
from pytest_rageval.report.explain.chunks import chunk_facts
from pytest_rageval.report.explain.values import (
    AnchorReason,
    ChunkReason,
    CitationReason,
    ClaimReason,
    Explanation,
    JudgementReason,
    MetricReason,
    UnreadPart,
    ranks,
)
from pytest_rageval.report.explain.verdict import (
    expected_answer,
    missing_facts,
    unsupported_claims,
)
from pytest_rageval.report.view.blocks import (
    GOOD,
    Block,
    Cell,
    Command,
    Fact,
    Group,
    Line,
    Note,
    Row,
    Status,
    Table,
    View,
    indented,
    paragraph,
)
from pytest_rageval.report.wording import scaled
from pytest_rageval.support.text import (
    TOLERANCE,
    clean,
    counted,
    cut,
    format_value,
    part,
    shortened,
)
from pytest_rageval.values.case import Message
from pytest_rageval.values.lenient import USAGE
from pytest_rageval.values.record import CaseRecord

OUTCOMES: Final[dict[str, Status]] = {"passed": "good", "error": "bad"}
"""Of each outcome; the others are warnings."""
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
_ROLES: Final[dict[str, tuple[str, Status]]] = {
    "irrelevant": ("BAD", "bad"),
    "undecided": ("?", "warn"),
    "other": ("-", ""),
}
_FOLDED: Final = frozenset({"details", "left out of the answer", "reranking", "metrics"})
_TEXT_CHARS: Final = 600
_NAME_CHARS: Final = 44
_MESSAGE_CHARS: Final = 4_000


def view_of_case(
    explanation: Explanation, *, run_id: str, repeats: str = "", flaky: str = ""
) -> View:
    """Return the explanation of one record.

    The first blocks say what is wrong, in at most 25 lines of a terminal, of a turn with the two
    messages before it in 27; the rest is folded.

    Args:
        explanation: result of ``explain_record``.
        run_id: name of the run.
        repeats: outcomes of all repeats of the case, if there are several.
        flaky: the repeats that pass and all, such as ``3/5``, where some do and others do not.
    """
    record = explanation.record
    outcome, stage = record_outcome(record), record.scores.failure_stage
    link = "though" if outcome == "passed" else "at"
    status = OUTCOMES.get(outcome, "warn")
    title: Line = (
        (clean(record.name, 60), "strong"),
        (part("  FLAKY {}", flaky), "warn"),
        (f"  {outcome.upper()}", status),
        (part(f"  {link} {{}}", stage), status),
    )
    return View(title, (*_brief(explanation, run_id, repeats), *groups_of_case(explanation)))


def groups_of_case(
    explanation: Explanation, *, before: CaseRecord | None = None, short: bool = False
) -> Iterator[Group]:
    """Yield everything that is known of a case, folded, below titles.

    Args:
        explanation: result of ``explain_record``.
        before: record of the same case in the baseline; None if absent.
        short: without the chunks, the trace and what does not apply, and with all metrics together.
    """
    for title, found in _parts(explanation, before, short=short):
        if blocks := [*found]:
            yield Group(title, blocks, folded=not short or title in _FOLDED)


def why_blocks(explanation: Explanation) -> Iterator[Fact]:
    """Yield why a case failed, and what to try first."""
    yield from _why(explanation)
    if explanation.next_steps:
        yield Fact("try", explanation.next_steps[0], lines=3)


def history_facts(messages: Sequence[Message], *, lines: int = 0) -> Iterator[Fact]:
    """Yield the messages before a question, each with its role."""
    for number, one in enumerate(messages):
        yield Fact("" if number else "before", f"{one.role}: {one.content}", lines=lines)


# --- the first screen ------------------------------------------------------------------------


def _brief(explanation: Explanation, run_id: str, repeats: str) -> Iterator[Block]:
    record = explanation.record
    yield Fact("", _origin(explanation, run_id, repeats), status="weak", lines=1)
    yield from history_facts(record.history[-2:], lines=1)
    yield Fact("question", record.case.question, lines=2)
    if record.case.standalone:
        yield Fact("in full", record.case.standalone, lines=2)
    yield from _expected(explanation)
    if record.answer is not None:
        kind = "(abstained) " if record.reply.abstained else ""
        kind = "(asks back) " if record.scores.clarifies else kind
        yield Fact("answered", f"{kind}{record.answer or '(empty)'}", lines=3)
    yield from _first_passage(explanation)
    yield from why_blocks(explanation)
    for note in explanation.notes[:1]:
        yield Fact("note", note, "warn", lines=1)
    yield Command("again", f"pytest {shlex.quote(record.item_nodeid)}", "--all shows more")


def _origin(explanation: Explanation, run_id: str, repeats: str) -> str:
    record = explanation.record
    talk = record.case.talk
    parts = (
        *([] if talk is None else [f"turn {talk.turn} of {talk.turns} of {talk.conversation}"]),
        part(f"repeat {record.repeat} ({{}})", repeats),
        f"{record.file}:{record.lineno}",
        ", ".join(filter(None, (record.case.category, record.case.difficulty))),
        f"run {run_id}",
        f"k {record.k}",
    )
    return " | ".join(filter(None, parts))


def _expected(explanation: Explanation) -> Iterator[Block]:
    """Yield the expected answer, and the passage that has it."""
    case, golds = explanation.record.case, explanation.golds
    if text := expected_answer(case):
        yield Fact("expected", text, lines=2)
    if not golds:
        return
    gold = next((one for one in golds if not one.found), golds[0])
    more = part(" (and {} more)", len(golds) - 1)
    yield Fact("in", _place(gold.anchor.rel_path, gold.anchor.heading_path) + more, lines=1)
    chunks = explanation.chunks or ()
    texts = (*case.gold_supports[gold.index].snippets, *(
        one.chunk.text for one in chunks if gold.index in one.golds
    ))  # fmt: skip
    if quote := next(filter(None, texts), ""):
        yield Fact("", f'"{quote}"', lines=2)
    yield Fact("", gold.reason, status=GOOD[gold.found], lines=1)


def _first_passage(explanation: Explanation) -> Iterator[Block]:
    if explanation.chunks is None:
        return
    if not explanation.chunks:
        yield Fact("first", "nothing was retrieved", status="warn")
        return
    first = explanation.chunks[0]
    yield Fact("first", _place(first.chunk.rel_path, first.chunk.heading_path), lines=1)
    if first.chunk.text:
        yield Fact("", f'"{first.chunk.text}"', lines=2)


def _why(explanation: Explanation) -> Iterator[Fact]:
    record = explanation.record
    if (error := record.error) is not None:
        said = shortened(error.message, _MESSAGE_CHARS)
        yield Fact("error", f"{error.kind}: {said}", status="bad", lines=2)
        return
    if record.scores.unchecked:
        why = "Nothing of this case could be checked."
        if is_unsure(record):
            reason = record.scores.not_applicable["correctness"]
            why = f"The judge is unsure of the answer. {reason}"
        yield Fact("why", why, lines=2)
    if explanation.stage_meaning:
        word, texts = "", tuple[str, ...]()
        if record.scores.failure_stage == "ungrounded":
            word, texts = " Unsupported: ", unsupported_claims(record)
        elif record.scores.failure_stage in {"incorrect", "not_used"}:
            word, texts = " Missing: ", missing_facts(record)
        quoted = word + ", ".join(f'"{text}"' for text in texts[:2]) if texts else ""
        yield Fact("why", f"{explanation.stage_meaning}{quoted}", lines=2)
    if record.scores.clarifies:
        yield Fact("why", "The answer asks back, which the case allows.", lines=2)
        return
    asked = [one for one in explanation.expectations if one.met is not None]
    if failed := [one for one in asked if not one.met]:
        first = failed[0]
        value = _scaled(explanation, first.key, first.value)
        text = f"{len(failed)} of {len(asked)}: {first.key} {value}: {first.reason}"
        yield Fact("failed", text, status="warn", lines=2)


def _scaled(explanation: Explanation, key: str, value: float | None) -> str:
    ends = {one.key: one.scale_end for one in explanation.metrics}
    if value is not None and value.is_integer() and ends.get(key) is None:
        return f"{value:g}"
    return scaled(value, ends.get(key), key)


# --- everything ------------------------------------------------------------------------------


def _parts(
    explanation: Explanation, before: CaseRecord | None, *, short: bool
) -> Iterator[tuple[str, Iterator[Block]]]:
    if not short:
        yield "messages before the question", history_facts(explanation.record.history)
    yield "details", _details(explanation, trace=not short)
    yield "to pass", _rows(_expectations(explanation))
    yield "golds", _rows(_anchors(explanation, explanation.golds, wanted=True))
    yield "groups (one of them must be whole)", _groups(explanation)
    yield "irrelevant supports", _rows(_anchors(explanation, explanation.irrelevant, wanted=False))
    yield "folders", _folders(explanation)
    if not short:
        yield "chunks: rank, gold matched, passage", _rows(_chunks(explanation), (">", "", ""))
    yield "citations", _rows(_citations(explanation.citations))
    yield "left out of the answer", _left_out(explanation.left_out)
    for one in explanation.judgements:
        yield clean(f"judge: {one.rubric} by {one.judge}"), _judgement(explanation, one)
    levels = {f"metrics: {title}": {level} for level, title in _LEVELS.items()}
    for title, found in ({"metrics": {*_LEVELS}} if short else levels).items():
        rows = _metrics(explanation, found, before)
        yield title, _rows(rows, ("", ">", *([""] if before else []), ""))
    yield "reranking", _rows(_reranking(explanation))
    yield "metrics in error", _unscored(explanation, "error")
    if not short:
        yield "not applicable", _unscored(explanation, "not_applicable")


def _beside(head: str, text: str, style: Status = "") -> Note:
    return Note(((head, ""),), ((clean(text, _TEXT_CHARS), style),))


def _stack(*parts: tuple[str, Status]) -> Line:
    """Return texts one below the other in a cell, without empty ones."""
    shown = [(clean(text, _TEXT_CHARS), style) for text, style in parts if text]
    return tuple(chain.from_iterable((part, ("\n", "")) for part in shown))[:-1]


def _details(explanation: Explanation, *, trace: bool) -> Iterator[Block]:
    """Yield what the reply reports beside its answer, further steps and notes."""
    record = explanation.record
    if record.reply.abstained and record.reply.abstain_reason:
        yield _beside("  abstained  ", record.reply.abstain_reason)
    if record.error is not None:
        yield from (indented(line, 2) for line in record.error.traceback.splitlines())
    yield from (_beside("  try  ", step) for step in explanation.next_steps[1:])
    if response := record.response:
        usage = [f"{name} {response.usage[name]:,.6g}" for name in USAGE if name in response.usage]
        if usage:
            yield _beside("  usage  ", ", ".join(usage))
        for search in response.searches or ():
            found = part(
                "found {}", search.chunks is not None and counted(len(search.chunks), "chunk")
            )
            parts = (search.tool, search.query, found)
            yield _beside("  search  ", " | ".join(filter(None, parts)) or "-")
    if trace and record.trace_id is not None:
        # On one line, however wide: a broken address cannot be opened.
        yield f"  trace  {explanation.trace_link or clean(record.trace_id, _TEXT_CHARS)}"
    yield from (_beside("  note  ", note, "warn") for note in explanation.notes[1:])


def _rows(rows: Iterable[Row | Note], columns: Sequence[str] = ("", "")) -> Iterator[Block]:
    found = [*rows]
    notes = [row for row in found if isinstance(row, Note)]
    if found:
        yield from notes if len(notes) == len(found) else (Table(columns, found),)


def _expectations(explanation: Explanation) -> Iterator[Row]:
    for one in explanation.expectations:
        if one.met is not None and explanation.record.error is None:
            more = " or more" if one.at_least else ""
            expected = "" if one.met else f", expected {one.expected:g}{more}"
            value = _scaled(explanation, one.key, one.value)
            mark: Line = (("  ok", "good"),) if one.met else (("  FAIL", "bad"),)
            yield mark, f"{one.key} {value}{expected}: {one.reason}"


def _place(path: str, heading: str | None) -> str:
    return f"{path} | {heading}" if heading else path


def _anchors(
    explanation: Explanation, anchors: Sequence[AnchorReason], *, wanted: bool
) -> Iterator[Row]:
    for one in anchors:
        vault = part("{}: ", one.anchor.vault)
        place = f"{vault}{_place(one.anchor.rel_path, one.anchor.heading_path)}"
        if wanted and one.anchor.grade != 1:
            place += f" (grade {one.anchor.grade})"
        style: Status = "good" if one.found == wanted else "warn" if wanted else "bad"
        word = "" if explanation.chunks is None else "retrieved" if one.found else "missed"
        mark: Line = ((f"  {word} [{one.index}]" if word else f"  [{one.index}]", word and style),)
        yield mark, _stack((place, ""), (one.reason, style))


def _groups(explanation: Explanation) -> Iterator[Block]:
    for group in explanation.groups:
        golds, lacks = (
            " ".join(f"[{index}]" for index in some) for some in (group.golds, group.lacks or ())
        )
        state = "" if group.lacks is None else part(": lacks {}", lacks) or ": whole"
        style: Status = "" if group.lacks is None else GOOD[not lacks]
        yield _beside("  ", f"{golds}{state}", style)


def _folders(explanation: Explanation) -> Iterator[Block]:
    selection = explanation.record.reply.folder_selection
    if selection is None or selection.selected_folders is None:
        return
    names = ", ".join(name or '""' for name in selection.selected_folders) or "none"
    text = f"selected: {names}"
    if selection.available_folders is not None:
        text += f" (of {len(selection.available_folders)})"
    if selection.fallback_used:
        text += "; fallback used, everything was searched"
    yield _beside("  ", f"{text}; {selection.reasoning}" if selection.reasoning else text)


def _chunks(explanation: Explanation) -> Iterator[Row | Note]:
    if explanation.chunks == ():
        yield paragraph("  none were returned")
    for one in explanation.chunks or ():
        if one.rank == explanation.record.k + 1:
            rule = f"  ---- cut at k = {explanation.record.k}: nothing below counts ----"
            yield paragraph(rule, "weak")
        yield _chunk(one)


def _chunk(one: ChunkReason) -> Row:
    matched = "".join(f"[{index}]" for index in one.golds[:4]) + "+" * (len(one.golds) > 4)
    mark, style = _ROLES.get(one.role, (matched, "good"))
    text, said = one.chunk.text, one.duplicate_of is not None or one.in_scope is False
    reasons = [one.reason] if one.rule != "no_anchor" or said else []
    passage = _stack(
        (_place(one.chunk.rel_path, one.chunk.heading_path), ""),
        ("; ".join((*reasons, *chunk_facts(one.chunk, one.rank))), style or "weak"),
        (part("> {}", cut(text or "", 200)), "weak"),
    )
    return f"{one.rank:>4}", ((mark, style),), passage


def _left_out(parts: Sequence[UnreadPart]) -> Iterator[Block]:
    for one in parts:
        quoted = f'"{cut(one.text, 80)}"'
        yield _beside("  ", f"{one.kind.replace('_', '-')} {quoted}: {one.reason}")


def _citations(citations: Sequence[CitationReason] | None) -> Iterator[Row | Note]:
    if citations == ():
        yield paragraph("  none")
    for one in citations or ():
        place = _place(one.citation.rel_path or "(nothing)", one.citation.heading_path)
        style: Status = "good" if one.golds else "weak"
        yield f"  #{one.number}", _stack((place, ""), (one.reason, style))


# --- verdicts and numbers --------------------------------------------------------------------


def _judgement(explanation: Explanation, one: JudgementReason) -> Iterator[Block]:
    scores = [f"{key} {_scaled(explanation, key, value)}" for key, value in one.scores.items()]
    if one.error is not None:
        yield _beside("  ", f"no valid verdict: {one.error}", "bad")
    elif scores:
        yield _beside("  ", ", ".join(scores))
    if one.reasoning:
        yield _beside("  ", one.reasoning, "weak")
    yield from _rows(_claims(one))


def _claims(one: JudgementReason) -> Iterator[Row]:
    for claim in sorted(one.claims, key=lambda claim: claim.supported):
        mark: Line = (("  supported", "good") if claim.supported else ("  UNSUPPORTED", "bad"),)
        yield mark, _stack((claim.text and f'"{claim.text}"', ""), (_deciding(claim), "weak"))
    for fact in one.facts:
        text = f'key fact "{fact.text}"'
        if fact.in_context is not None:
            place = (
                part("at {}", fact.in_context and ranks(fact.in_context)) or "nowhere in the cut"
            )
            text += f" ({place})"
        found: Line = (("  found", "good") if fact.found else ("  MISSING", "bad"),)
        yield found, _stack((text, ""))


def _deciding(claim: ClaimReason) -> str:
    """Name the passage that decided a claim, and the words found or missing there."""
    place = "" if claim.supported else "no passage"
    if claim.chunk is not None:
        nearest = "" if claim.supported else "nearest is "
        where = _place(claim.chunk.rel_path, claim.chunk.heading_path)
        place = f"{nearest}rank {claim.rank}, {where}"
    return ": ".join(filter(None, (cut(place, 300), claim.reason))) or "no reason given"


def _metrics(
    explanation: Explanation, levels: Container[str], before: CaseRecord | None
) -> Iterator[Row]:
    for one in explanation.metrics:
        if one.status == "scored" and one.level in levels:
            value = scaled(one.value, one.scale_end, one.key)
            was = () if before is None else (_was(one, before.scores.metrics.get(one.key)),)
            reason = _stack((one.reason and f"= {one.reason}", "weak"))
            yield f"  {clean(one.key, _NAME_CHARS)}", value, *was, reason


def _was(one: MetricReason, before: float | None) -> Cell:
    """Compare a metric with its value in the baseline; empty: it is the same, or has none there."""
    if before is None or one.value is None or before == one.value:
        return Cell("")
    value = scaled(before, one.scale_end, one.key)
    if one.direction == "neutral":
        return Cell(f"was {value}")
    if (one.value > before) == (one.direction != "lower"):
        return Cell(f"better than {value}", status="good")
    return Cell(f"worse than {value}", status="bad")


def _reranking(explanation: Explanation) -> Iterator[Row | Note]:
    pairs = [
        (metric.key, metric.before_rerank, metric.value)
        for metric in explanation.metrics
        if metric.before_rerank is not None and metric.value is not None
    ]
    changed = [pair for pair in pairs if abs(pair[2] - pair[1]) > TOLERANCE]
    if pairs and explanation.chunks and not changed:  # else nothing could be in another order
        yield paragraph("  changed no metric")
    for key, before, now in changed:
        style: Status = "good" if now > before else "bad"
        text = f"{format_value(before)} -> {format_value(now)} ({now - before:+.3f})"
        yield ((f"  {clean(key, _NAME_CHARS)}", style),), ((text, style),)


def _unscored(explanation: Explanation, status: str) -> Iterator[Block]:
    reasons: dict[str, list[MetricReason]] = {}
    for metric in explanation.metrics:
        if metric.status == status:
            reasons.setdefault(metric.reason, []).append(metric)
    for reason, metrics in reasons.items():
        yield _beside("  ", reason)
        yield Note((("      ", ""),), ((", ".join(one.key for one in metrics), "weak"),))
        for one in metrics:
            yield from (indented(place, 6) for place in one.traceback.splitlines())
