"""Figures of the system rather than of its answers: errors by cause, latency, cost.

Percentiles, rates and sums over records or plain observations (docs/site/metrics.toml). Pure; an
error message may quote the target, so only ``ErrorGroup.label`` is free of its text.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from pytest_rageval.analysis.stats.intervals import fmean, percentile, percentile_place
from pytest_rageval.metrics.matching import norm_path
from pytest_rageval.support.project_code import last_place
from pytest_rageval.support.text import part
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.diagnoses.table import Fact, TargetErrorKind
from pytest_rageval.values.numbers import LatencySummary
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import ErrorInfo, RetrievedChunk

AttemptStatus = Literal["ok", "error", "timeout", "empty", "not_attempted"]


ERROR_KINDS: Final[Mapping[str, frozenset[AttemptStatus]]] = {
    "error_rate": frozenset({"error", "timeout", "empty"}),
    "timeout_rate": frozenset({"timeout"}),
    "empty_response_rate": frozenset({"empty"}),
}
"""By rate, the outcomes of an attempt that it counts; the three kinds are disjoint."""


class LatencyObservation(NamedTuple):
    """One timed call."""

    status: AttemptStatus
    ms: float | None
    cached: bool = False


# --- errors --------------------------------------------------------------------------------


def attempt_status(record: CaseRecord) -> AttemptStatus:
    """Return the outcome of the attempt to ask."""
    if record.status == "ok":
        return "ok"
    kind = record.error.kind if record.error is not None else None
    if kind == "timeout" or kind == "empty" or kind == "not_attempted":
        return kind
    return "error"


def attempt_share(
    repeats: Iterable[AttemptStatus], kinds: frozenset[AttemptStatus]
) -> float | None:
    """Return the share of a case's repeats with some outcomes; None: none of them was asked."""
    asked = [status for status in repeats if status != "not_attempted"]
    return sum(status in kinds for status in asked) / len(asked) if asked else None


def operational_rates(cases: Iterable[Iterable[AttemptStatus]]) -> dict[str, float | None]:
    """Return error, timeout and empty-answer rates: means over the cases that were asked.

    Args:
        cases: per case the status of each of its repeats. A case weighs 1 regardless of their
            number.
    """
    # Nearly all are alike, so that each distinct one is looked at once.
    found = Counter(map(tuple, cases))

    def rate(kinds: frozenset[AttemptStatus]) -> float | None:
        shares = [(attempt_share(case, kinds), n) for case, n in found.items()]
        return fmean([one for share, n in shares if share is not None for one in [share] * n])

    return {name: rate(kinds) for name, kinds in ERROR_KINDS.items()}


def verdict_failures(record: CaseRecord) -> list[bool]:
    """For each verdict that a case needed, a cached one too, whether it failed.

    A case that the target failed needs none.
    """
    judged = record.verdicts.judgements.values() if record.status == "ok" else ()
    return [one.failure is not None for one in judged]


# --- latency -------------------------------------------------------------------------------


def _censored_percentile(
    ordered: Sequence[float], p: float, known: int
) -> tuple[float | None, bool]:
    """Type 7 percentile, and whether it is only a lower bound: it is beyond the known ranks."""
    if not ordered:
        return None, False
    below, share = percentile_place(len(ordered), p)
    return percentile(ordered, p), below + (share > 0) >= known


def summarise_latency(
    observations: Iterable[tuple[AttemptStatus, float | None, bool]],
    *,
    timeout_ms: float | None = None,
) -> LatencySummary:
    """Percentiles (type 7) and sum of durations in milliseconds.

    Timeouts enter at the limit and mark the percentiles they reach as censored; errors and
    cached replies are left out and counted.

    Args:
        observations: the fields of each `LatencyObservation`, in any order.
        timeout_ms: the limit; None: a timeout enters at its own duration, if it has one.
    """
    times: list[float] = []
    limits: list[float] = []
    excluded = cached = 0
    for status, ms, from_cache in observations:
        if from_cache:
            cached += 1
        elif status == "ok" and ms is not None:
            times.append(float(ms))
        elif status == "timeout" and (at := ms if timeout_ms is None else timeout_ms) is not None:
            limits.append(float(at))
        else:
            excluded += 1
    ordered = sorted(times + limits)
    # The true duration of a timeout is unknown but above its limit, so every rank from the first
    # one is a lower bound.
    first = min(limits, default=math.inf)
    known = bisect_right(ordered, first) - limits.count(first)
    p50, p50_censored = _censored_percentile(ordered, 50, known)
    p95, p95_censored = _censored_percentile(ordered, 95, known)
    return LatencySummary(
        n=len(ordered),
        n_excluded=excluded,
        n_cached=cached,
        n_censored=len(limits),
        p50_ms=p50,
        p95_ms=p95,
        p50_censored=p50_censored,
        p95_censored=p95_censored,
        sum_ms=math.fsum(ordered),
    )


def record_latency(records: Sequence[CaseRecord], timeout_ms: float | None) -> LatencySummary:
    """Return the durations of the calls at the client; every repeat is a separate call."""
    calls = (
        LatencyObservation(status=attempt_status(r), ms=r.latency.get("total_ms")) for r in records
    )
    return summarise_latency(calls, timeout_ms=timeout_ms)


_VARIES: Final = re.compile(r"\b[45]\d\d\b|[0-9a-fA-F]{8,}|0x[0-9a-f]+|\d+(\.\d+)?")
"""Parts of a message that vary within one cause; a status is matched to be kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorGroup:
    """Errors of one kind whose messages differ at most in numbers, ids and the case's own words."""

    records: tuple[CaseRecord, ...]
    """One per case, in the order of the run."""
    kind: TargetErrorKind
    message: str
    """Message of the first."""
    traceback: str
    facts: Mapping[str, Fact] = field(default_factory=dict, hash=False)
    """Of the first."""

    @property
    def label(self) -> str:
        """The cause without text of the target: a status, or an exception and its place."""
        status, name = self.facts.get("status"), str(self.facts.get("exception", ""))
        named = name or part("HTTP {}", status)
        return " at ".join(filter(None, (named, last_place(self.traceback))))


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadingFaults:
    """Cases whose golds match by document, in a run in which none matches by its heading."""

    n_cases: int
    """Cases with golds that name a heading and that were answered."""
    by_document: int
    """Of those, the ones with the document of such a gold among their chunks."""
    reported: bool
    """Whether any of these chunks has a heading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkFaults:
    """Replies to cases with evidence that brought no retrieved chunks."""

    n_cases: int
    """Cases with golds that were answered."""
    unreported: int
    """Of those, the ones whose reply does not report its chunks."""
    all_empty: bool
    """Whether chunks were reported, and every reply of the run had none."""
    keys: tuple[str, ...]
    """Fields of the replies without chunks, most frequent first; at most 8."""


def group_errors(records: Iterable[CaseRecord]) -> tuple[ErrorGroup, ...]:
    """Group the errors of a run by cause, the most frequent first; one record per case."""
    found: dict[tuple[str, ...], dict[str, CaseRecord]] = {}
    for record in records:
        if record.error is not None:
            found.setdefault(_cause(record, record.error), {}).setdefault(record.nodeid, record)
    groups = []
    for cases in found.values():
        members = tuple(cases.values())
        first = members[0].error
        assert first is not None
        groups.append(
            ErrorGroup(
                records=members,
                kind=first.kind,
                message=first.message,
                traceback=first.traceback,
                facts=first.facts,
            )
        )
    # Cases that were given up are an effect of the others.
    return tuple(sorted(groups, key=lambda g: (g.kind == "not_attempted", -len(g.records))))


def _cause(record: CaseRecord, error: ErrorInfo) -> tuple[str, ...]:
    message = error.message
    for word in (record.case.question, record.case.id):
        message = message.replace(word, "#") if len(word) >= 4 else message
    message = _VARIES.sub(lambda m: m[0] if re.fullmatch(r"[45]\d\d", m[0]) else "#", message)
    return (error.kind, message, last_place(error.traceback))


def chunk_faults(records: Iterable[CaseRecord]) -> ChunkFaults | None:
    """Find replies without chunks among those to cases with evidence; None: there is no fault.

    Empty lists are a fault only if no reply of the whole run had a chunk: an expression of a
    mapping may turn a missing field into an empty list. Replies that are errors are not counted:
    they have a cause of their own, and those of another shape may have had chunks.
    """
    n_cases = unreported = 0
    any_chunk = False
    keys = Counter[str]()
    seen: set[str] = set()
    for record in records:
        response = record.response
        any_chunk = any_chunk or (record.error is not None and record.error.kind == "protocol")
        if response is None or record.nodeid in seen:
            continue
        seen.add(record.nodeid)
        any_chunk = any_chunk or bool(response.retrieved_chunks)
        if record.error is not None:
            continue
        if not record.case.answerable or not record.case.gold_supports:
            continue
        n_cases += 1
        unreported += response.retrieved_chunks is None
        keys.update(response.reply_keys)
    all_empty = n_cases > unreported and not any_chunk
    if not unreported and not all_empty:
        return None
    frequent = [key for key, _ in keys.most_common(8)]
    return ChunkFaults(
        n_cases=n_cases, unreported=unreported, all_empty=all_empty, keys=tuple(frequent)
    )


def _golds_and_chunks(
    records: Iterable[CaseRecord],
) -> Iterator[tuple[Sequence[Anchor], Sequence[RetrievedChunk]]]:
    """Yield the golds of each answered case, and its chunks, where there are both."""
    for record in {record.nodeid: record for record in records if record.response}.values():
        golds = record.case.gold_supports if record.case.answerable else ()
        if golds and record.reply.retrieved_chunks:
            yield golds, record.reply.retrieved_chunks


def path_faults(records: Iterable[CaseRecord]) -> int | None:
    """Count the cases with evidence whose chunks share no document with the golds of any case.

    Such a run compares names of two kinds, like paths and titles. One case alone may have missed.

    Returns:
        None: some document of a gold came back, for whichever case, or fewer than two cases count.
    """
    n_cases = 0
    golds: set[str] = set()
    retrieved: set[str] = set()
    for supports, chunks in _golds_and_chunks(records):
        n_cases += 1
        golds |= {norm_path(gold.rel_path, "insensitive") for gold in supports}
        retrieved |= {norm_path(chunk.rel_path, "insensitive") for chunk in chunks}
    return n_cases if n_cases > 1 and golds.isdisjoint(retrieved) else None


def heading_faults(records: Iterable[CaseRecord]) -> HeadingFaults | None:
    """Find out whether golds fail by their heading alone; None: some match, or most lack more.

    A single gold that matches shows that the headings of the cases are those of the target, and a
    single case with another section of its document is an ordinary miss. Where snippets or pages
    decided in any case, headings are not what the run goes by.
    """
    n_cases = by_document = 0
    reported = False
    for golds, chunks in _golds_and_chunks(records):
        headed = {i: norm_path(g.rel_path) for i, g in enumerate(golds) if g.heading_path}
        if not headed:
            continue
        found = [chunk for chunk in chunks if norm_path(chunk.rel_path) in headed.values()]
        if any({"snippet", "pages"} & {*(chunk.matched_by or ())} for chunk in found):
            return None
        n_cases += 1
        if any(not headed.keys().isdisjoint(chunk.matched_golds or ()) for chunk in chunks):
            return None
        by_document += bool(found)
        reported = reported or any(chunk.heading_path for chunk in found)
    if not by_document or by_document * 2 < n_cases or (reported and n_cases == 1):
        return None
    return HeadingFaults(n_cases=n_cases, by_document=by_document, reported=reported)
