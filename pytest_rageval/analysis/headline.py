"""The headline: what is new since an earlier run, and what the failing cases share. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import (
    CaseGroup,
    case_names,
    first_case_to_see,
    first_to_see,
    flaky_first,
    group_repeats,
)
from pytest_rageval.analysis.aggregate.operational import group_errors
from pytest_rageval.analysis.compare.flips import find_loss
from pytest_rageval.analysis.compare.metrics import PairedComparison
from pytest_rageval.analysis.compare.pairs import MET, CasePair
from pytest_rageval.analysis.stats.intervals import fmean
from pytest_rageval.support.text import clean, first_few
from pytest_rageval.values.headline import Headline, Named, Pattern, Since
from pytest_rageval.values.record import CaseRecord

_MESSAGE_CHARS: Final = 120
_RATIO: Final = 1.5
_LEAST_MS: Final = 100.0
"""Smaller changes of time and cost do not matter."""
_MOST: Final = 200
"""Cases that are named."""
_DEEP: Final = 2.5
"""Mean rank of the evidence that is told without an earlier run."""
_DEEPER: Final = 1.0
"""Loss of mean rank that is told."""
_NAMED: Final = 4
_GOOD: Final = frozenset({"passed", "unchecked"})
_PASSED: Final = frozenset({"passed"})
_FLAKY: Final = frozenset({"flaky"})
_BAD: Final = frozenset({"missed", "flawed"})
_ERROR: Final = frozenset({"error"})
_RETRIEVAL: Final = frozenset(
    {"not_indexed", "out_of_scope", "lost_context", "not_retrieved", "lost_in_rerank"}
)


def headline_of(
    records: Sequence[CaseRecord],
    found: PairedComparison | None = None,
    *,
    name: str = "",
    run_id: str = "",
) -> Headline:
    """Return the headline of a run.

    Args:
        records: of the run, its repeats included.
        found: the comparison with an earlier run; None without a comparable one.
        name: the earlier run, as the user named it.
        run_id: its id.
    """
    cases = group_repeats(record for record in records if record.counted)
    names = case_names(records)
    since, base = None, dict[str, CaseGroup]()
    subject = [case for case in cases if case.outcome not in _GOOD]
    if found is not None:
        pairs = found.pairing.pairs
        base = {pair.new.first.nodeid: pair.base for pair in pairs}
        since = _since(found, names, name=name, run_id=run_id)
        worse = {flip.nodeid for flip in found.flips if flip.direction == "worse"}
        subject = [p.new for p in pairs if p.new.first.nodeid in worse] or subject
    new = (since.broke.names or since.erred.names) if since else ()
    first = [case for case in subject if names[case.first.nodeid] in new] or subject
    worst = min(first, key=first_case_to_see, default=None)
    return Headline(
        since=since,
        patterns=tuple(_patterns(cases, subject, base, since.name if since else "", names)),
        worst=None if worst is None else names[worst.first.nodeid],
        n_failing=len(subject),
    )


# --- what is new -------------------------------------------------------------------------------


def _since(found: PairedComparison, names: Mapping[str, str], *, name: str, run_id: str) -> Since:
    pairs, flips = found.pairing.pairs, {flip.nodeid: flip for flip in found.flips}
    changed = [pair.alike.new.deciding for pair in pairs if pair.new.first.nodeid in flips]
    moved = [flips[record.nodeid] for record in sorted(changed, key=first_to_see)]

    def named(base: Container[str], new: Container[str]) -> Named:
        cases = [
            names[one.nodeid]
            for one in moved
            if one.base_outcome in base and one.new_outcome in new
        ]
        return Named(n=len(cases), names=tuple(cases[:_MOST]))

    broke, fixed = named(_PASSED, _BAD), named({*_BAD, *_ERROR}, _PASSED)
    flaky, erred = named(_PASSED, _FLAKY), named({*_PASSED, *_FLAKY, *_BAD}, _ERROR)
    worse = sum(flip.direction == "worse" for flip in found.flips)
    return Since(
        name=name,
        run_id=run_id,
        n=len(pairs),
        broke=broke,
        flaky=flaky,
        erred=erred,
        fixed=fixed,
        worse=worse - broke.n - flaky.n - erred.n,
        better=len(found.flips) - worse - fixed.n,
        time_ms=time_change(found),
        cost_usd=_cost_change(pairs),
    )


def time_change(found: PairedComparison) -> tuple[float, float] | None:
    """Return the mean times of a call then and now; None: no change is proven, or a small one."""
    time = found.time
    if time is None or time.verdict not in {"better", "worse"} or not time.base or not time.new:
        return None
    return _large(time.base, time.new) if abs(time.new - time.base) >= _LEAST_MS else None


def _cost_change(pairs: Sequence[CasePair]) -> tuple[float, float] | None:
    both = [
        (one, other)
        for pair in pairs
        if (one := _cost(pair.base)) is not None and (other := _cost(pair.new)) is not None
    ]
    base, new = (fmean([pair[side] for pair in both]) for side in (0, 1))
    return None if not base or not new else _large(base, new)


def _cost(case: CaseGroup) -> float | None:
    return fmean([r.reply.usage["cost_usd"] for r in case.records if "cost_usd" in r.reply.usage])


def _large(base: float, new: float) -> tuple[float, float] | None:
    return (base, new) if max(base / new, new / base) >= _RATIO else None


# --- what is shared ----------------------------------------------------------------------------


def _patterns(
    cases: Sequence[CaseGroup],
    failing: Sequence[CaseGroup],
    base: Mapping[str, CaseGroup],
    name: str,
    names: Mapping[str, str],
) -> Iterator[Pattern]:
    """Yield what the failing cases share, the most telling first."""
    yield from _varying(cases, names)
    # Cases that pass now and then share that they vary, and no more can be said of them.
    answered = [case for case in failing if case.outcome not in {"error", "flaky"}]
    yield from _errors([case for case in failing if case.outcome == "error"], len(cases))
    if not answered:
        return
    retrieval = [*_few_chunks(cases, answered, base, name), *_deep_evidence(cases, base, name)]
    yield from retrieval
    yield from _group(cases, answered, base)
    stages = {case.stage for case in answered}
    if not retrieval and len(stages) == 1 and len(answered) > 1 and (stage := stages.pop()):
        words = stage.replace("_", " ")
        yield Pattern(code="stage", facts={"n": len(answered), "stage": words})


def _varying(cases: Sequence[CaseGroup], names: Mapping[str, str]) -> Iterator[Pattern]:
    repeated = [case for case in cases if len(case.records) > 1]
    if varying := flaky_first(repeated):
        listed = [f"{names[case.first.nodeid]} {case.passes}" for case in varying]
        facts: dict[str, str | int | float] = {
            "n": len(varying),
            "of": len(repeated),
            "repeats": max(len(case.records) for case in varying),
            "every": round(
                100 * sum(case.outcome == "passed" for case in repeated) / len(repeated)
            ),
            "cases": first_few(listed, _NAMED, last=", "),
        }
        selected = any(record.selected for case in repeated for record in case.records)
        yield Pattern(code="again" if selected else "repeats", facts=facts)


def _errors(failing: Sequence[CaseGroup], n_cases: int) -> Iterator[Pattern]:
    groups = group_errors(record for case in failing for record in case.records)
    if groups:
        first = groups[0]
        facts = {"kind": first.kind, "n": len(first.records), "of": n_cases, "label": first.label}
        reason = first.facts.get("reason")
        message = f"{first.label}: {reason}" if reason else first.message
        yield Pattern(code="error", facts={**facts, "message": clean(message, _MESSAGE_CHARS)})


def _chunk_counts(cases: Iterable[CaseGroup]) -> Counter[int]:
    replies = (record.reply.retrieved_chunks for case in cases for record in case.records)
    return Counter(len(chunks) for chunks in replies if chunks is not None)


def _few_chunks(
    cases: Sequence[CaseGroup],
    failing: Sequence[CaseGroup],
    base: Mapping[str, CaseGroup],
    name: str,
) -> Iterator[Pattern]:
    """Every reply has the same number of chunks, fewer than were asked for."""
    counts = _chunk_counts(cases)
    k = min(case.first.k for case in cases)
    if len(counts) != 1 or (n := max(counts)) >= k:
        return
    before = max(_chunk_counts(base.values()), default=None)
    fewer = before is not None and before > n
    if not fewer and (base or not any(case.stage in _RETRIEVAL for case in failing)):
        return
    facts: dict[str, str | int | float] = {"n": n, "k": k}
    if before is not None:
        facts |= {"name": name, "base": before}
    yield Pattern(code="chunks", facts=facts)


def _first_rank(case: CaseGroup) -> int | None:
    """Return the best rank of any evidence of a case, beyond k too; None: none came back."""
    chunks = case.first.reply.retrieved_chunks or ()
    return next((rank for rank, chunk in enumerate(chunks, 1) if chunk.matched_golds), None)


def _deep_evidence(
    cases: Sequence[CaseGroup], base: Mapping[str, CaseGroup], name: str
) -> Iterator[Pattern]:
    """The evidence came back for most cases, and further down than before."""
    wanted = [
        case for case in cases if case.first.case.answerable and case.first.case.gold_supports
    ]
    ranks = {case.first.nodeid: rank for case in wanted if (rank := _first_rank(case)) is not None}
    if len(ranks) < 2 or 2 * len(ranks) < len(wanted):
        return
    both = {
        nodeid: before
        for nodeid in ranks
        if nodeid in base and (before := _first_rank(base[nodeid])) is not None
    }
    facts: dict[str, str | int | float] = {"n": len(ranks), "of": len(wanted)}
    facts["rank"] = round(_mean(ranks.values()), 1)
    if not base:
        if _mean(ranks.values()) >= _DEEP:
            yield Pattern(code="rank", facts=facts)
    elif both:
        was, now = _mean(both.values()), _mean(ranks[nodeid] for nodeid in both)
        if now - was >= _DEEPER:
            yield Pattern(code="rank", facts={**facts, "name": name, "base": round(was, 1)})


def _mean(values: Iterable[float]) -> float:
    return fmean([*values]) or 0.0


def _group(
    cases: Sequence[CaseGroup], failing: Sequence[CaseGroup], base: Mapping[str, CaseGroup]
) -> Iterator[Pattern]:
    """One document, folder, category or tag explains most of what fails."""
    lost = {case.first.nodeid for case in failing}
    at_stake = [
        case.first
        for case in cases
        if case.first.nodeid in lost
        or case.first.nodeid not in base
        or base[case.first.nodeid].worst in MET
    ]
    if (found := find_loss(lost, at_stake)) is not None:
        facts: dict[str, str | int | float] = {"n": found.lost, "of": found.n}
        facts |= {"where": found.where, "kind": found.kind}
        yield Pattern(code="group", facts=facts)
