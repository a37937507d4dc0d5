"""The comment on a change: what it did to the cases, in less than 60 lines and without texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import case_names
from pytest_rageval.analysis.compare.conclusion import Conclusion, conclude
from pytest_rageval.analysis.two_runs import RunComparison
from pytest_rageval.report.view.blocks import Block, Cell, Fact, Line, Status, Table, View
from pytest_rageval.report.view.comparison import (
    LEFT_OUT,
    flip_value,
    moved_stages,
    verdict_status,
)
from pytest_rageval.report.view.gate import GATE_STYLES, baseline_facts
from pytest_rageval.support.text import counted, first_few, format_value, part
from pytest_rageval.values.numbers import counted_total
from pytest_rageval.values.run import StoredRun

_CASES: Final = 15
_PATTERNS: Final = 5


def view_of_comment(run: StoredRun, found: RunComparison | None) -> View:
    """Return the verdict of the gate and of the comparison, then what moved.

    Args:
        run: with its gate.
        found: its comparison with the baseline of its gate; None if that is absent.
    """
    gate: Line = ()
    if run.gate is not None:
        gate = ((run.gate.word, GATE_STYLES[run.gate.verdict]), (", ", ""))
    title = (*gate, _verdict(run, found))
    if found is None or not found.comparable or run.baseline.problem is not None:
        return View(title, [*_run_facts(run), *_amounts(run, None)])
    return View(title, [*_run_facts(run), *_moved(found), *_amounts(run, found)])


def _verdict(run: StoredRun, found: RunComparison | None) -> tuple[str, Status]:
    info = run.baseline
    if found is None and info.run_id is not None and info.problem is None:
        return f"run {info.run_id} is no longer here: what changed since is unknown", "warn"
    if found is None or (found.comparable and info.problem is not None):
        return "no baseline: nothing was decided against one", "warn"
    conclusion = _conclusion(found)
    status = verdict_status(conclusion.word)
    if conclusion.word != "no_difference":
        return conclusion.sentence, status
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
        flaky = [f"{numbers.flaky} flaky"] if numbers.flaky else []
        more = (*flaky, f"{numbers.flawed} flawed", counted(numbers.errored, "error"))
        tier = part(", tier {}", run.config.settings.tier)
        all_counts = ", ".join((counted_total(numbers), *counts, *more))
        yield Fact("run", f"{run.run_id}{tier}: {all_counts}")
    if run.gate is not None:
        yield Fact("gate", run.gate.sentence, "strong", GATE_STYLES[run.gate.verdict])
        yield from baseline_facts(run.gate)


def _moved(found: RunComparison) -> Iterator[Block]:
    comparison, since = found.comparison, found.headline.since
    if _conclusion(found).word != "no_difference":
        yield Fact("seen", _visible(found))
    if moved := moved_stages(found):
        yield Fact("stages", moved)
    worse = [flip for flip in comparison.flips if flip.direction == "worse"]
    if worse:  # else they are of old failures
        yield from (Fact("pattern", one.public) for one in found.headline.patterns[:_PATTERNS])
    if since is not None and since.fixed.n:
        yield Fact("fixed", since.fixed.counted("fixed"))
    for reason, words in LEFT_OUT.items():
        ids = [one.case_id for one in comparison.pairing.left_out if one.reason == reason]
        # Of a tier, the other cases of the set are no change.
        if ids and not (reason == "only_in_base" and found.new.config.settings.select):
            yield Fact(words, first_few(ids, _CASES))
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
