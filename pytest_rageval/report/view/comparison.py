"""A comparison of two runs on a terminal: values in, blocks out.

Words carry the meaning; colour repeats it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import case_names
from pytest_rageval.analysis.compare.conclusion import ConclusionWord, time_text
from pytest_rageval.analysis.compare.flips import FLIP_METRICS, CaseFlip
from pytest_rageval.analysis.compare.metrics import GroupChange, MetricChange, UnpairedChange
from pytest_rageval.analysis.compare.pairs import LeftOutReason, Verdict, place_of
from pytest_rageval.analysis.compare.settings import ConfigDifference, shown
from pytest_rageval.analysis.gate.figures import is_past_limit
from pytest_rageval.analysis.two_runs import RunComparison
from pytest_rageval.metrics.registry import unit_of
from pytest_rageval.report.view.blocks import (
    Block,
    Line,
    Note,
    Row,
    Status,
    Table,
    labelled,
    paragraph,
)
from pytest_rageval.report.view.gate import check_lines
from pytest_rageval.report.view.summary import change_text, is_headline
from pytest_rageval.support.text import clean, counted, format_value
from pytest_rageval.values.gate import CheckResult, paired_text
from pytest_rageval.values.run import StoredRun

BANNER: Final = "NOT COMPARABLE"
_STYLES: Final[Mapping[Verdict, Status]] = {
    "better": "good",
    "worse": "bad",
    "same": "",
    "equal": "",
    "unclear": "warn",
}
FLIPS_SHOWN: Final = 12
CONFIG_SHOWN: Final = 8
_GROUP_CHARS: Final = 80
_REASON_CHARS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonView:
    """Content of a comparison."""

    found: RunComparison
    checks: tuple[CheckResult, ...] = ()
    """Checks of thresholds.toml against the baseline; empty: none, or not decided."""
    thresholds: str | None = None
    """The file as shown; None: there is none."""
    notes: tuple[str, ...] = ()
    groups: tuple[GroupChange, ...] = ()
    """Changes by category and tag; empty: not computed."""
    min_n: int = 20
    """Pairs below which a group has no verdict."""

    @property
    def failed(self) -> bool:
        """Whether a check against the baseline failed."""
        return any(result.status == "fail" for result in self.checks)


def render_comparison(view: ComparisonView, *, verbose: bool = False) -> Iterator[Block]:
    """Lay out a comparison; if verbose, with every metric and every flip."""
    found = view.found
    yield from _verdict_lines(found)
    yield from _head(found)
    if found.ignored:
        yield ((BANNER, "bad"), (": compared all the same", "strong"))
        yield labelled("", found.comparability.sentence(), "bad")
    elif not found.comparable:
        yield from _refusal(found)
    yield from _config_lines(found)
    yield from _metric_lines(view, verbose)
    yield from _noise_lines(found)
    yield from _group_lines(view, verbose)
    if moved := moved_stages(found):
        yield labelled("stages", moved)
    yield from _flip_lines(found, verbose)
    for note in view.notes:
        yield labelled("note", note, "warn")
    yield from _check_lines(view)


# --- what is compared --------------------------------------------------------------------------


def _head(found: RunComparison) -> Iterator[Block]:
    for word, side in (("base", found.base), ("new", found.new)):
        yield labelled(word, describe_side(side))
    yield labelled("", pairing_text(found))
    if found.comparison.no_difference:
        yield labelled("", NO_DIFFERENCE, status="good")
    elif asked := questions_text(found):
        yield labelled("question", asked)


_VERDICT_STYLES: Final[Mapping[ConclusionWord, Status]] = {
    "better": "good",
    "worse": "bad",
    "no_difference": "strong",
}


def _verdict_lines(found: RunComparison) -> Iterator[Block]:
    """Yield the verdict, and the group that explains most of what was lost."""
    conclusion = found.conclusion
    style = _VERDICT_STYLES.get(conclusion.word, "warn")
    word, _, rest = conclusion.sentence.partition(" ")
    yield Note(((f"{word} ", style),), ((rest, style),))
    if time := time_text(found.comparison):
        yield ((time, ""),)
    if loss := found.comparison.loss:
        yield labelled("lost", loss.sentence, "bad")


NO_DIFFERENCE: Final = "every compared score of every paired case is equal"


def questions_text(found: RunComparison) -> str:
    """Answer the two questions that a comparison can be asked; empty: they are one."""
    comparison = found.comparison
    here, elsewhere = comparison.passed, comparison.p_of_documents
    if here is None or here.p is None or elsewhere is None or here.clusters is None or here.equal:
        return ""
    alpha = 1 - comparison.confidence
    one, other = (
        f"p {p_text(p)}, {'proven' if p < alpha else 'not proven'}" for p in (here.p, elsewhere)
    )
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


def pairing_text(found: RunComparison) -> str:
    """Describe how many cases are compared, and why others are not."""
    pairing = found.comparison.pairing
    reasons: dict[LeftOutReason, str] = {
        "content_changed": "changed content",
        "k_changed": "changed k",
        "only_in_base": "only in base",
        "only_in_new": "only in new",
    }
    left = [f"{n} {text}" for r, text in reasons.items() if (n := pairing.count(r))]
    aside = {place_of(r) for r in (*found.base.records, *found.new.records) if not r.counted}
    aside -= {(one.file, one.case_id) for one in pairing.left_out}
    left += [f"{len(aside)} not reviewed"] if aside else []
    text = paired_text(len(pairing.pairs), found.comparison.clustering.n_documents)
    return f"{text}; left out: {', '.join(left)}" if left else text


def _refusal(found: RunComparison) -> Iterator[Block]:
    yield ((BANNER, "bad"), (": made under different conditions", "strong"))
    for one in found.comparability.invariants:
        text = f"{shown(one.base)} in base, {shown(one.new)} in new"
        yield labelled("", f"{one.name}: {text}", "bad")
    if found.comparison.metrics:
        rest = "what this leaves unaffected:"
    elif found.comparison.n_paired or found.comparison.pairing.count("k_changed"):
        rest = "which leaves nothing unaffected; --ignore-invariants compares all the same"
    else:
        rest = "no case of the same file, id and content is in both"
    yield labelled("", rest)


def _config_lines(found: RunComparison) -> Iterator[Block]:
    changed = (*found.comparability.versions, *found.comparability.config)
    head = "config"
    for one in changed[:CONFIG_SHOWN]:
        yield labelled(head, difference_text(one))
        head = ""
    if (more := len(changed) - CONFIG_SHOWN) > 0:
        yield labelled("", f"and {more} more")
    if found.comparability.warning is not None:
        yield labelled("warning", found.comparability.warning, "warn")


def difference_text(one: ConfigDifference) -> str:
    """Show a difference of configuration as ``name base -> new``."""
    return f"{one.name} {shown(one.base)} -> {shown(one.new)}"


# --- numbers -----------------------------------------------------------------------------------


BEYOND: Final = "beyond"
"""Verdict of a metric whose change is beyond a limit of thresholds.toml without being proven."""


def metric_verdict(change: MetricChange, checks: Sequence[CheckResult]) -> str:
    """Return the verdict of a metric, in agreement with the checks of the whole set."""
    beyond = any(
        (one.check.metric, one.check.table) == (change.key, "overall")
        and one.status in {"fail", "warn"}
        and is_past_limit(one.check.kind, one.check.limit, one.estimate)
        for one in checks
    )
    return verdict_word(change, past_limit=beyond)


def verdict_word(change: MetricChange, *, past_limit: bool) -> str:
    """Return the verdict of a metric, which is another one past a limit of thresholds.toml."""
    return BEYOND if past_limit and change.verdict == "unclear" else change.verdict


def _metric_lines(view: ComparisonView, verbose: bool) -> Iterator[Block]:
    comparison = view.found.comparison
    passed = [comparison.passed] if comparison.passed else []
    changes = [*passed, *(c for c in comparison.metrics.values() if verbose or is_shown(c))]
    rows: list[Row | Note] = []
    for change in changes:
        word = metric_verdict(change, view.checks)
        rows.append((*metric_cells(change), ((word, _STYLES[change.verdict]),)))
        if change.n_base_only or change.n_new_only:
            lost = f"scored only in base {change.n_base_only}, only in new {change.n_new_only}"
            rows.append(paragraph(f"  {lost}", "warn"))
    asides = []
    if changes and (hidden := len(comparison.metrics) + len(passed) - len(changes)):
        asides.append(f"and {counted(hidden, 'more metric')} (-v)")
    if any(metric_verdict(change, view.checks) == BEYOND for change in changes):
        asides.append(BEYOND_TEXT)
    if any(change.tests > 1 for change in changes):
        asides.append(HOLM_TEXT)
    rows += [paragraph(f"  {aside}", "weak") for aside in asides]
    if (time := comparison.time) is not None:
        rows.append((*metric_cells(time), ((time.verdict, _STYLES[time.verdict]),)))
    rows += [(*unpaired_cells(one), (("-", "weak"),)) for one in comparison.unpaired.values()]
    if changes:
        yield from _banner(view.found)
    percent = f"{comparison.confidence * 100:g}% bounds"
    names = ("metric", ">n", ">base", ">new", ">delta", f">{percent}", ">p", "verdict")
    yield Table(names, rows, optional=(percent, "p", "n"), wrap=False)
    if view.found.latency_problem and not comparison.latency:
        yield labelled("note", view.found.latency_problem, "warn")


BEYOND_TEXT: Final = f"{BEYOND}: past the limit of thresholds.toml, and not proven"


HOLM_TEXT: Final = "*: p, bounds and verdict adjusted for the rows that have this mark (Holm)"

Cells = tuple[str, str, str, str, str, str, str]
"""Key, n, both values, their difference with its bounds, and p."""


def metric_cells(change: MetricChange) -> Cells:
    """Return the row of a metric before its verdict."""
    return (
        change.key,
        str(change.n),
        format_value(change.base, unit_of(change.key)),
        format_value(change.new, unit_of(change.key)),
        change_text(change.key, change.delta),
        change_interval(change),
        f"{p_text(change.p)}{'*' if change.tests > 1 else ''}",
    )


def is_shown(change: MetricChange) -> bool:
    """Whether a metric is shown by default: a headline, or one that changed."""
    return is_headline(change.key) or change.verdict in {"better", "worse"}


def unpaired_cells(change: UnpairedChange) -> Cells:
    """Return the row of a figure that is not compared case by case, before its verdict."""
    unit = unit_of(change.key)
    base, new = format_value(change.base, unit), format_value(change.new, unit)
    delta = change_text(change.key, change.delta)
    return change.key, str(change.n_new), base, new, delta, "-", "-"


def _noise_lines(found: RunComparison) -> Iterator[Block]:
    for change in found.comparison.metrics.values():
        if text := noise_text(change):
            yield labelled("judge", f"{change.key}: {text}")


def noise_text(change: MetricChange) -> str:
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
            f"repeats of a case differ by a standard deviation of {format_value(noise.repeat_sd)}"
        )
    return "; ".join(parts)


def _group_lines(view: ComparisonView, verbose: bool) -> Iterator[Block]:
    if not view.groups:
        return
    yield from _banner(view.found)
    yield labelled("groups", groups_text(view.min_n))
    shown = view.groups if verbose else telling(view.groups)
    rows = [
        (
            clean(f"{one.change.key} [{one.name}]", _GROUP_CHARS),
            one.change.n,
            change_text(one.change.key, one.change.delta),
            change_interval(one.change),
            ((group_verdict(one), _STYLES[one.verdict] if one.verdict else "weak"),),
        )
        for one in shown
    ]
    percent = f"{view.found.comparison.confidence * 100:g}% bounds"
    yield Table(("metric [group]", ">n", ">delta", f">{percent}", "verdict"), rows)
    if hidden := len(view.groups) - len(rows):
        yield ((f"  and {counted(hidden, 'more row')} (-v)", "weak"),)


# --- cases -------------------------------------------------------------------------------------


def moved_stages(found: RunComparison) -> str:
    """Return how many paired cases failed at each stage, where that changed."""
    stages = found.comparison.stages.items()
    return ", ".join(f"{stage} {base} -> {new}" for stage, (base, new) in stages)


def flip_counts(found: RunComparison) -> str:
    """Count the cases that changed; empty: none is compared."""
    if not found.n_paired:
        return ""
    flips = found.comparison.flips
    worse = sum(flip.direction == "worse" for flip in flips)
    same = found.n_paired - len(flips)
    return f"{worse} worse, {len(flips) - worse} better, {same} unchanged"


def _flip_lines(found: RunComparison, verbose: bool) -> Iterator[Block]:
    if not (counts := flip_counts(found)):
        return
    yield from _banner(found)
    yield labelled("flips", counts)
    flips = found.comparison.flips
    shown_flips = flips if verbose else _both_ways(flips)
    names = case_names(found.new.records)
    rows: list[Row] = []
    for flip in shown_flips:
        case = f"{clean(names[flip.nodeid], 40)} {clean(flip.category, 12)}"
        sign: Line = ((f"  {'-' if flip.direction == 'worse' else '+'}", _STYLES[flip.direction]),)
        rows.append((sign, case, flip_value(flip), clean(flip.reason, _REASON_CHARS)))
    yield Table(("",) * 4, rows)
    if more := len(flips) - len(shown_flips):
        yield ((f"    and {more} more (-v)", "weak"),)


def _both_ways(flips: Sequence[CaseFlip]) -> list[CaseFlip]:
    """Return the first flips, mostly worse ones, but at least one better one if there is any."""
    worse = [flip for flip in flips if flip.direction == "worse"]
    better = [flip for flip in flips if flip.direction == "better"]
    kept = better[: max(FLIPS_SHOWN - len(worse), FLIPS_SHOWN // 4)]
    return [*worse[: FLIPS_SHOWN - len(kept)], *kept]


def flip_value(flip: CaseFlip) -> str:
    """Show the change of a case, such as ``recall 1.00 -> 0.00``."""
    if not flip.changes:
        return f"{flip.base_outcome} -> {flip.new_outcome}"
    first = flip.changes[0]
    return f"{FLIP_METRICS[first.metric]} {first.base:.2f} -> {first.new:.2f}"


# --- verdict -----------------------------------------------------------------------------------


def _check_lines(view: ComparisonView) -> Iterator[Block]:
    if not view.found.comparable and not view.found.ignored:
        return
    yield from _banner(view.found)
    yield from check_lines(view.checks)
    if view.checks:
        text, style = checks_result(view)
        yield labelled("result", text, style)


def conclusion(view: ComparisonView) -> str:
    """Return the verdict without limits, then the result of the checks, if there are any."""
    verdict = view.found.conclusion.sentence
    return f"{verdict}; {checks_result(view)[0]}" if view.checks else verdict


def checks_result(view: ComparisonView) -> tuple[str, Status]:
    """Return the result of the checks against the baseline, at least one, as one sentence."""
    if failed := sum(result.status == "fail" for result in view.checks):
        of = f"{failed} of {len(view.checks)} checks" if len(view.checks) > 1 else "1 check"
        return f"regression: {of} failed", "bad"
    if all(result.status == "skip" for result in view.checks):
        return "nothing decided: every check was skipped", "warn"
    return f"no regression beyond {view.thresholds or 'thresholds.toml'}", "good"


def _banner(found: RunComparison) -> Iterator[Block]:
    if found.ignored:
        names = ", ".join(one.name for one in found.comparability.invariants)
        yield ((f"{BANNER} ({names})", "bad"),)


def groups_text(min_n: int) -> str:
    """Return the caveat about verdicts by group."""
    return f"exploratory, not adjusted for looking at many groups; no verdict below {min_n} pairs"


def group_verdict(one: GroupChange) -> str:
    """Return the verdict of a group, or that it has too few cases for one."""
    return one.verdict or "too few"


def telling(groups: Sequence[GroupChange]) -> list[GroupChange]:
    """Return the groups shown by default.

    These are better or worse ones, and the first changed metric of each category.
    """
    changed = [one for one in reversed(groups) if one.table == "category" and one.change.delta]
    leading = {one.group: one for one in changed}.values()
    return [one for one in groups if one.verdict in {"better", "worse"} or one in leading]


def change_interval(change: MetricChange) -> str:
    """Show the interval of a difference as ``-0.09 .. +0.05``; ``-`` where there is none."""
    if change.low is None or change.high is None:
        return "-"
    decimals = 0 if max(-change.low, change.high) >= 100 else 2
    return f"{change.low:+.{decimals}f} .. {change.high:+.{decimals}f}"


def p_text(p: float | None) -> str:
    """Show a p-value; small ones as ``<0.001``."""
    if p is None:
        return "-"
    return "<.001" if p < 0.001 else f"{p:.3f}"
