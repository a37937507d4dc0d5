"""The comment on a change: what it did to the cases, in less than 60 lines and without texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import case_names
from pytest_rageval.analysis.compare.conclusion import Conclusion, conclude
from pytest_rageval.analysis.two_runs import RunComparison
from pytest_rageval.report.view.blocks import Block, Cell, Fact, Line, Status, Table, View
from pytest_rageval.report.view.comparison import flip_value, moved_stages, verdict_status
from pytest_rageval.report.view.gate import GATE_STYLES, baseline_facts
from pytest_rageval.support.text import counted, format_value
from pytest_rageval.values.numbers import counted_total
from pytest_rageval.values.run import StoredRun

_CASES: Final = 15
_PATTERNS: Final = 5


def view_of_comment(run: StoredRun, found: RunComparison | None) -> View:
    """Return the verdict of the gate and of the comparison, then what moved.

    Args:
        run: with its gate.
        found: its comparison with the baseline; None if absent.
    """
    gate: Line = ()
    if run.gate is not None:
        gate = ((run.gate.word, GATE_STYLES[run.gate.verdict]), (", ", ""))
    usable = found is not None and found.comparable and not _refused(run, found)
    blocks = [*_run_facts(run), *(_moved(found) if usable and found is not None else ())]
    title = (*gate, _verdict(run, found))
    return View(title, [*blocks, *_amounts(run, found if usable else None)])


def _refused(run: StoredRun, found: RunComparison) -> str:
    """Return the reason why the gate did not decide against this baseline; empty: it did."""
    info = run.baseline
    return (info.problem or "") if info.run_id in {None, found.base.run_id} else ""


def _verdict(run: StoredRun, found: RunComparison | None) -> tuple[str, Status]:
    if found is None or (found.comparable and _refused(run, found)):
        return "no baseline: nothing was decided against one", "warn"
    conclusion = _conclusion(found)
    status = verdict_status(conclusion.word)
    if conclusion.word != "no_difference":
        return conclusion.sentence, status
    if found.comparison.no_difference:
        return f"no difference: {conclusion.reason}", status
    shows = f"no difference that {counted(found.n_paired, 'case')} could show"
    return f"{shows} ({_visible(found)}): {conclusion.reason}", status


def _conclusion(found: RunComparison) -> Conclusion:
    """Return the verdict without time: another job made the baseline, on a machine of its own."""
    since = found.headline.since
    if since is None or not found.comparable:
        return found.conclusion
    untimed = replace(found.headline, since=replace(since, time_ms=None))
    return conclude(found.comparison, untimed)


def _visible(found: RunComparison) -> str:
    """Return the smallest change that these cases would have shown; empty: it is unknown."""
    passed = found.comparison.passed
    if passed is None or passed.p is None or not passed.mde:
        return "none is reliably seen in so few"
    return f"a change of the pass rate is reliably seen from {format_value(passed.mde)}"


def _run_facts(run: StoredRun) -> Iterator[Block]:
    numbers = run.aggregate
    if numbers is not None:
        counts = (f"{numbers.passed} passed", f"{numbers.missed} missed")
        more = (f"{numbers.flawed} flawed", counted(numbers.errored, "error"))
        yield Fact("run", f"{run.run_id}: {', '.join((counted_total(numbers), *counts, *more))}")
    if run.gate is not None:
        yield Fact("gate", run.gate.sentence, "strong", GATE_STYLES[run.gate.verdict])
        if run.gate.baseline is not None:
            yield from baseline_facts(run.gate.baseline)


def _moved(found: RunComparison) -> Iterator[Block]:
    comparison, since = found.comparison, found.headline.since
    if _conclusion(found).word != "no_difference":
        yield Fact("seen", _visible(found))
    if moved := moved_stages(found):
        yield Fact("stages", moved)
    for one in found.headline.patterns[:_PATTERNS]:
        yield Fact("pattern", one.public)
    if since is not None and since.fixed.n:
        yield Fact("fixed", since.fixed.counted("fixed"))
    worse = [flip for flip in comparison.flips if flip.direction == "worse"]
    worse.sort(key=lambda flip: flip.base_outcome != "passed")
    names = case_names(found.new.records)
    rows = [
        (names[f.nodeid], f.category, flip_value(f), Cell(f.reason, public=f.brief_reason))
        for f in worse[:_CASES]
    ]
    yield Table(("worse", "category", "change", "why"), rows)
    if more := len(worse[_CASES:]):
        yield f"And {counted(more, 'more case')}."


def _amounts(run: StoredRun, found: RunComparison | None) -> Iterator[Fact]:
    """Yield the time of a call and the cost, with those of the baseline."""
    parts = []
    time = None if found is None else found.comparison.time
    if time is not None and time.base is not None and time.new is not None:
        parts.append(f"a call takes {time.base:.0f} -> {time.new:.0f} ms")
    spent = [
        (word, before, now)
        for word, before, now in (
            ("target", _target_usd(None if found is None else found.base), _target_usd(run)),
            ("judge", _judge_usd(None if found is None else found.base), _judge_usd(run)),
        )
        if now is not None
    ]
    for word, before, now in spent:
        then = "" if before is None else f"${before:.4g} -> "
        parts.append(f"{word} {then}${now:.4g}")
    if parts:
        yield Fact("cost and time", ", ".join(parts))


def _target_usd(run: StoredRun | None) -> float | None:
    used = None if run is None or run.aggregate is None else run.aggregate.usage.get("cost_usd")
    return None if used is None else used.total


def _judge_usd(run: StoredRun | None) -> float | None:
    """Return the cost of all verdicts as if none was cached, which a change does not pay twice."""
    return None if run is None or run.aggregate is None else run.aggregate.cost_usd_uncached or None
