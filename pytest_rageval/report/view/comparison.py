"""A comparison of two runs: verdict, sides, settings, figures, groups, cases and checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import case_names
from pytest_rageval.analysis.compare.conclusion import is_large
from pytest_rageval.analysis.compare.flips import FLIP_METRICS, CaseFlip
from pytest_rageval.analysis.compare.metrics import GroupChange, MetricChange, UnpairedChange
from pytest_rageval.analysis.compare.pairs import PASSED, TIME, LeftOutReason, place_of
from pytest_rageval.analysis.compare.settings import shown
from pytest_rageval.analysis.two_runs import BEYOND, CheckedComparison, RunComparison
from pytest_rageval.metrics.built_in import ASPECT_KEYS
from pytest_rageval.metrics.registry import unit_of
from pytest_rageval.report.view.blocks import (
    Block,
    Cell,
    Fact,
    Group,
    Note,
    Row,
    Status,
    Table,
    View,
    paragraph,
)
from pytest_rageval.report.view.gate import check_facts, smallest_seen
from pytest_rageval.report.view.summary import change_text, is_headline
from pytest_rageval.support.text import clean, counted, first_few, format_value
from pytest_rageval.values.gate import paired_text
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.words import PROVEN

_BANNER: Final = "NOT COMPARABLE"
_STATUSES: Final[Mapping[str, Status]] = {
    "better": "good",
    "worse": "bad",
    "no_difference": "strong",
    "same": "",
    "equal": "",
    "too few": "weak",
    "-": "weak",
}
"""Of each verdict; the others leave a question open."""
_FLIPS_SHOWN: Final = 4
_FIGURES_SHOWN: Final = 5
"""So many that the verdict stays on a screen of 24 lines."""
_NAMED: Final = 3
_CONFIG_SHOWN: Final = 8
_REASON_CHARS: Final = 60


def view_of_comparison(one: CheckedComparison) -> View:
    """Return everything that is shown of a comparison, its conclusion first."""
    found = one.found.conclusion
    status = verdict_status(found.word)
    rest = "; ".join(filter(None, (found.reason, one.decision)))
    return View(((f"{found.shown}:", status), (f" {rest}", status)), tuple(_blocks(one)))


def _blocks(one: CheckedComparison) -> Iterator[Block]:
    found = one.found
    for word, side in (("base", found.base), ("new", found.new)):
        yield Fact(word, describe_side(side))
    yield Fact("", pairing_text(found))
    if found.conclusion.word not in {"better", "worse"} and (visible := visible_text(found)):
        yield Fact("", visible)
    if not found.comparable:
        yield from _invariants(found)
    yield from _settings(found)
    yield from flip_blocks(found)
    if moved := moved_stages(found):
        yield Fact("stages", moved)
    yield from _metrics(one)
    moves = [
        Fact(f"{move.base} -> {move.new}", f"{len(move.names)}: {first_few(move.names, _NAMED)}")
        for move in found.comparison.contexts
    ]
    if moves:
        yield Group("context", moves, folded=True)
    yield from _groups(one)
    for note in one.notes:
        yield Fact("note", note, "warn")
    if one.checks and (found.comparable or found.ignored):
        yield from _banner(found)
        seen = [check for check in one.checks if check.status in {"fail", "warn"}]
        rest_of_checks = [check for check in one.checks if check not in seen]
        yield from check_facts(seen)
        yield Group("checks", [*check_facts(rest_of_checks)], folded=True)


def visible_text(found: RunComparison) -> str:
    """Say which change of ``pass_rate`` these cases are enough for; empty: unknown."""
    passed = found.comparison.passed
    if passed is None or not passed.mde:
        return ""
    return smallest_seen(counted(passed.n, "case"), f"change of {passed.key}", passed.mde)


def verdict_status(verdict: str) -> Status:
    """Return the status of a verdict of a comparison or of one of its metrics."""
    return _STATUSES.get(verdict, "warn")


def _banner(found: RunComparison) -> Iterator[Note]:
    """Yield a warning above each part, which may be read apart from the others."""
    if found.ignored:
        names = ", ".join(one.name for one in found.comparability.invariants)
        yield paragraph(f"{_BANNER} ({names})", "bad")


# --- what is compared --------------------------------------------------------------------------


def _questions_text(found: RunComparison) -> str:
    """Answer the two questions that a comparison can be asked; empty: they are one."""
    comparison = found.comparison
    here, elsewhere = comparison.passed, comparison.p_of_documents
    if here is None or here.p is None or elsewhere is None or here.clusters is None or here.equal:
        return ""
    alpha = 1 - comparison.confidence
    one, other = (f"p {_p_text(p)}, {PROVEN[p < alpha]}" for p in (here.p, elsewhere))
    return f"{here.key} over these documents: {one}; over documents like these: {other}"


def describe_side(side: StoredRun) -> str:
    """Name a run with its tags, its commit, its judge and its number of cases."""
    git = side.config.git
    parts = [f"{side.run_id} [{', '.join(side.tags)}]" if side.tags else side.run_id]
    if git.commit:
        dirty = "+" if git.dirty else ""
        parts.append(f"{git.branch or 'detached'}@{git.commit[:7]}{dirty}")
    parts.append(counted(side.n_cases, "case"))
    if side.judge is not None:
        parts.append(f"judge {'off' if side.judge == 'none' else side.judge}")
    return ", ".join(parts)


LEFT_OUT: Final[Mapping[LeftOutReason, str]] = {
    "content_changed": "changed content",
    "k_changed": "changed k",
    "only_in_base": "only in base",
    "only_in_new": "only in new",
}


def pairing_text(found: RunComparison) -> str:
    """Describe how many cases are compared, and why others are not."""
    pairing = found.comparison.pairing
    left = [f"{n} {text}" for r, text in LEFT_OUT.items() if (n := pairing.count(r))]
    aside = {place_of(r) for r in (*found.base.records, *found.new.records) if not r.counted}
    aside -= {(one.file, one.case_id) for one in pairing.left_out}
    left += [f"{len(aside)} not reviewed"] if aside else []
    text = paired_text(len(pairing.pairs), found.comparison.clustering.n_documents)
    return f"{text}; left out: {', '.join(left)}" if left else text


def _invariants(found: RunComparison) -> Iterator[Block]:
    how = "compared all the same" if found.ignored else "made under different conditions"
    yield Note(((_BANNER, "bad"),), ((f": {how}", "strong"),))
    for one in found.comparability.invariants:
        text = f"{one.name}: {shown(one.base)} in base, {shown(one.new)} in new"
        yield Fact("", text, status="bad")
    if found.ignored:
        return
    if found.comparison.metrics:
        rest = "what this leaves unaffected:"
    elif found.comparison.n_paired or found.comparison.pairing.count("k_changed"):
        rest = "every metric depends on it; --ignore-invariants compares the runs anyway"
    else:
        rest = "no case of the same file, id and content is in both"
    yield Fact("", rest)


def _settings(found: RunComparison) -> Iterator[Block]:
    changed = (*found.comparability.versions, *found.comparability.config)
    rows = [(one.name, shown(one.base), shown(one.new)) for one in changed]
    yield Table(("setting", "base", "new"), rows[:_CONFIG_SHOWN], more=rows[_CONFIG_SHOWN:])
    if found.comparability.warning is not None:
        yield Fact("warning", found.comparability.warning, "warn")


# --- figures -----------------------------------------------------------------------------------


def _metrics(one: CheckedComparison) -> Iterator[Block]:
    comparison = one.found.comparison
    totals = [total for total in (comparison.passed, comparison.time) if total]
    changes = [*totals, *comparison.metrics.values()]
    if changes:
        yield from _banner(one.found)
    told = [*_telling_metrics(one, changes)]
    rows = [_metric_row(change, one.verdict_of(change)) for change in told]
    of_runs = comparison.run_metrics
    rows += [_unpaired_row(change) for change in of_runs.values() if change.delta]
    rows, more = rows[:_FIGURES_SHOWN], rows[_FIGURES_SHOWN:]
    more += [_metric_row(c, one.verdict_of(c)) for c in changes if c not in told]
    more += [_unpaired_row(c) for c in of_runs.values() if not c.delta]
    more += [_unpaired_row(change) for change in comparison.latency.values()]
    percent = f"{comparison.confidence * 100:g}% bounds"
    names = ("metric", ">n", ">base", ">new", ">delta", f">{percent}", "verdict", ">p")
    yield Table(names, rows, optional=(percent, "n"), wide=("p",), wrap=False, more=more)
    if one.found.latency_problem and not comparison.latency:
        yield Fact("note", one.found.latency_problem, "warn")
    asides = [Fact("", aside, status="weak") for aside in _asides(one, changes)]
    if asked := _questions_text(one.found):
        asides.append(Fact("question", asked))
    for change in comparison.metrics.values():
        if noise := _noise_text(change):
            asides.append(Fact("noise", f"{change.key}: {noise}"))
    if asides:
        yield Group("about these figures", asides, folded=True)


def _telling_metrics(one: CheckedComparison, changes: Sequence[MetricChange]) -> list[MetricChange]:
    """Return the metrics that moved: those that decide, and others that do not say the same."""
    moved = [
        change
        for change in changes
        if not change.equal
        and is_headline(change.key)
        and (one.verdict_of(change) in {"better", "worse", BEYOND} or is_large(change))
        and (change.key != TIME.key or _told_time(one.found))
    ]
    deciding = {PASSED.key, TIME.key, *ASPECT_KEYS, *(check.check.metric for check in one.checks)}
    seen = {_values(change) for change in moved if change.key in deciding}
    told = []
    for change in moved:
        if change.key in deciding or _values(change) not in seen:
            told.append(change)
            seen.add(_values(change))
    return told


def _told_time(found: RunComparison) -> bool:
    since = found.headline.since
    return since is not None and since.time_ms is not None


def _asides(one: CheckedComparison, changes: Sequence[MetricChange]) -> Iterator[str]:
    sides = {"base": "n_base_only", "new": "n_new_only"}
    for side, field in sides.items():
        keys: dict[int, list[str]] = {}
        for change in changes:
            keys.setdefault(getattr(change, field), []).append(change.key)
        parts = [f"{n} of {first_few(found, 2)}" for n, found in sorted(keys.items()) if n]
        if parts:
            yield f"cases scored only in {side}: {'; '.join(parts)}"
    if any(one.verdict_of(change) == BEYOND for change in changes):
        yield f"{BEYOND}: past the limit of thresholds.toml, and not proven"
    if any(change.tests > 1 for change in changes):
        yield "*: p, bounds and verdict adjusted for the rows that have this mark (Holm)"


def _metric_row(change: MetricChange, verdict: str) -> Row:
    return (
        change.key,
        change.n,
        *_values(change),
        Cell(verdict, status=verdict_status(change.verdict)),
        f"{_p_text(change.p)}{'*' if change.tests > 1 else ''}",
    )


def _values(change: MetricChange) -> Row:
    unit = unit_of(change.key)
    delta = change_text(change.key, change.delta)
    return Cell(change.base, unit), Cell(change.new, unit), delta, _bounds_text(change)


def _unpaired_row(change: UnpairedChange) -> Row:
    """Return the row of a figure that is not compared case by case."""
    unit = unit_of(change.key)
    delta = change_text(change.key, change.delta)
    values = Cell(change.base, unit), Cell(change.new, unit), delta
    return change.key, change.n_new, *values, "-", Cell("-", status="weak"), "-"


def _noise_text(change: MetricChange) -> str:
    """Describe the noise of a metric's judge; empty: unknown."""
    noise = change.noise
    if noise is None:
        return ""
    parts = []
    if noise.disagreement_rate is not None:
        parts.append(
            f"a second judge disagrees on {noise.disagreement_rate:.2f} of "
            f"{counted(noise.n_checked, 'score')}"
        )
    if noise.repeat_sd is not None:
        parts.append(
            "scores of equal answers differ by a standard deviation of "
            f"{format_value(noise.repeat_sd)}"
        )
    return "; ".join(parts)


def _groups(one: CheckedComparison) -> Iterator[Block]:
    if not one.groups:
        return
    caveat = "exploratory, not adjusted for looking at many groups; no verdict below"
    percent = f"{one.found.comparison.confidence * 100:g}% bounds"
    first = [group for group in one.groups if group.verdict in {"better", "worse"}]
    rest = [group for group in one.groups if group not in first]
    columns = ("metric", "group", ">n", ">base", ">new", ">delta", f">{percent}", "verdict")
    rows, more = ([*map(_group_row, groups)] for groups in (first, rest))
    blocks: list[Block] = [
        *_banner(one.found),
        Fact("", f"{caveat} {one.min_n} pairs"),
        Table(columns, rows, optional=("base", "new"), more=more),
    ]
    yield Group("groups", blocks, folded=True)


def _group_row(one: GroupChange) -> Row:
    verdict = one.verdict or "too few"
    values = _values(one.change)
    return (
        one.change.key,
        one.name,
        one.change.n,
        *values,
        Cell(verdict, status=verdict_status(verdict)),
    )


# --- cases -------------------------------------------------------------------------------------


def moved_stages(found: RunComparison) -> str:
    """Return how many paired cases failed at each stage, where that changed."""
    stages = found.comparison.stages.items()
    moved = sorted(stages, key=lambda one: -abs(one[1][1] - one[1][0]))
    return first_few([f"{stage} {base} -> {new}" for stage, (base, new) in moved], _NAMED)


def flip_counts(found: RunComparison) -> str:
    """Count the cases that changed; empty: none is compared."""
    if not found.n_paired:
        return ""
    flips = found.comparison.flips
    worse = sum(flip.direction == "worse" for flip in flips)
    same = found.n_paired - len(flips)
    return f"{worse} worse, {len(flips) - worse} better, {same} unchanged"


def flip_blocks(found: RunComparison) -> Iterator[Block]:
    """Yield the cases that changed, with their number; nothing if none is compared."""
    if not (counts := flip_counts(found)):
        return
    yield from _banner(found)
    yield Fact("flips", counts)
    flips = found.comparison.flips
    first = _both_ways(flips)
    names = case_names(found.new.records)

    def rows(of: Iterable[CaseFlip]) -> list[Row]:
        return [
            (
                Cell(flip.direction, status=verdict_status(flip.direction)),
                names[flip.nodeid],
                flip.category,
                flip_value(flip),
                Cell(clean(flip.reason, _REASON_CHARS), public=flip.brief_reason),
            )
            for flip in of
        ]

    more = [flip for flip in flips if flip not in first]
    names_of_columns = ("", "case", "category", "change", "why")
    yield Table(names_of_columns, rows(first), ("category",), wrap=False, more=rows(more))


def _both_ways(flips: Sequence[CaseFlip]) -> list[CaseFlip]:
    """Return the first flips, mostly worse ones, but at least one better one if there is any."""
    worse = [flip for flip in flips if flip.direction == "worse"]
    better = [flip for flip in flips if flip.direction == "better"]
    kept = better[: max(_FLIPS_SHOWN - len(worse), _FLIPS_SHOWN // 4)]
    return [*worse[: _FLIPS_SHOWN - len(kept)], *kept]


def flip_value(flip: CaseFlip) -> str:
    """Show the change of a case, such as ``recall 1.00 -> 0.00``."""
    if "flaky" in {flip.base_outcome, flip.new_outcome}:
        return "passes {} -> {}".format(*flip.passes)
    if not flip.changes:
        return f"{flip.base_outcome} -> {flip.new_outcome}"
    first = flip.changes[0]
    return f"{FLIP_METRICS[first.metric]} {first.base:.2f} -> {first.new:.2f}"


def _bounds_text(change: MetricChange) -> str:
    """Show the interval of a difference as ``-0.09 .. +0.05``; ``-`` without one."""
    if change.low is None or change.high is None:
        return "-"
    decimals = 0 if max(-change.low, change.high) >= 100 else 2
    return f"{change.low:+.{decimals}f} .. {change.high:+.{decimals}f}"


def _p_text(p: float | None) -> str:
    """Show a p-value; small ones as ``<.001``."""
    if p is None:
        return "-"
    return "<.001" if p < 0.001 else f"{p:.3f}"
