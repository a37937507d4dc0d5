"""The terminal summary of a run: values in, blocks out.

Words carry the meaning; colour only repeats it.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_rageval.analysis.aggregate.case_groups import (
    CASE_OUTCOMES,
    case_names,
    first_to_see,
    group_repeats,
    worst_misses,
)
from pytest_rageval.analysis.aggregate.operational import attempt_status
from pytest_rageval.analysis.aggregate.target_faults import group_errors
from pytest_rageval.analysis.trust.reliability import (
    reliability_lines,
    worst_disagreements,
)
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.deciding import UNDECIDED
from pytest_rageval.metrics.definitions import stored_registry
from pytest_rageval.metrics.registry import Registry, unit_of
from pytest_rageval.metrics.scoring import below_pass_line
from pytest_rageval.report.explain.verdict import missing_facts, stage_of, unsupported_claims
from pytest_rageval.report.matching import rules_text
from pytest_rageval.report.target_faults import chunk_sentences
from pytest_rageval.report.view.blocks import (
    HEAD,
    Block,
    Command,
    Fact,
    Group,
    Line,
    Note,
    Row,
    Status,
    Table,
    View,
    paragraph,
)
from pytest_rageval.report.view.gate import (
    GATE_STYLES,
    VERDICTS,
    baseline_facts,
    check_facts,
    detectable_text,
    weak_lines,
)
from pytest_rageval.report.view.headline import headline_facts
from pytest_rageval.report.view.misses import render_texts
from pytest_rageval.report.view.next_commands import RunCommands, next_commands
from pytest_rageval.support.text import (
    clean,
    counted,
    first_few,
    format_limit_pair,
    format_value,
)
from pytest_rageval.values.gate import CHANGE_WORDS, Check, CheckResult, GateResult
from pytest_rageval.values.numbers import Aggregate, JudgeReliability, MetricSummary, group_size
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.settings import AUTO

HEADLINE = (
    "hit_at_k",
    "recall_at_k",
    "recall_all_at_k",
    "mrr",
    "ndcg_at_k",
    "precision_at_k",
    "scope_miss_rate",
    "attribution_hit_rate",
    "specificity_accuracy",
    "recency_conflict_accuracy",
    "abstention_accuracy",
    "hallucination_rate_unanswerable",
    "over_abstention_rate",
    "groundedness",
    "correctness",
)
"""Built-in metrics shown by default; others appear if they are gated or with ``-v``."""


def is_headline(key: str) -> bool:
    """Return whether a metric of a case is shown by default, as every own one is."""
    return key in HEADLINE or key not in BUILT_IN.cases


GROUP_COLUMNS = (
    ("hit_at_k", "hit"),
    ("recall_at_k", "recall"),
    ("recall_all_at_k", "all"),
    ("mrr", "mrr"),
    ("abstention_accuracy", "abstain"),
)

PARTS = {"reference": "with a reference", "no_reference": "without a reference"}
"""Labels of the separate averages of ``correctness``."""
_BY_DOCUMENT = ("doc_hit_at_k", "doc_recall_at_k")
"""Shown where no case could be scored by its sections."""
_CASES_SHOWN = 3
_CAUSES_LISTED = 20
_CASES_LISTED = 200
"""Maximum ids of missed and failed cases in a file: a pull request comment has a size limit."""
_TEXTS_SHOWN = 10
_FLAWS_SHOWN = 2
_FLAW_CHARS = 200
_GROUP_CHARS = 80
_ID_CHARS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """A run that has ended, and what its summary says besides."""

    run: StoredRun
    """The run with its numbers and gate."""
    folder: str
    """Run folder as shown to the user."""
    changes: Mapping[str, float] = field(default_factory=dict)
    """Difference to the baseline by metric key, over the cases in common; empty: no comparison."""
    reliability: JudgeReliability = field(default_factory=JudgeReliability)
    notes: Sequence[str] = ()
    judge_causes: Sequence[str] = ()
    """Causes of failed verdicts. Also in ``notes``."""
    gave_up: str = ""
    """Reason why the run gave up on the target; empty: it did not. Also in ``notes``."""
    resume: str = ""
    """Command that resumes the run; empty: it is complete."""
    commands: RunCommands = field(default_factory=RunCommands)
    """The names by which commands take the run, and the way to run it again."""
    report: str = ""
    """Displayed path of the report page; empty: none was written."""
    summary: str = ""
    """The content of ``summary.md``."""

    @property
    def aggregate(self) -> Aggregate:
        """The numbers of the run."""
        return self.run.numbers

    @property
    def gate(self) -> GateResult:
        """The decision on the run."""
        assert self.run.gate is not None
        return self.run.gate

    @property
    def registry(self) -> Registry:
        """The metrics of the run."""
        return stored_registry(self.run.config)

    @property
    def judge(self) -> str:
        """The judge of the run; ``none``: there was none."""
        return clean(self.run.judge or "none", 120)

    @property
    def reply_faults(self) -> list[str]:
        """Sentences on what the replies lack, shown with the errors of the target."""
        run = self.run
        return [*chunk_sentences(run.records, run.settings, run.config.asked)]

    @property
    def versus(self) -> str:
        """Heading of the differences to the baseline."""
        name = self.gate.baseline.name if self.gate.baseline is not None else None
        return f"vs {name}" if name is not None and len(name) <= 4 else "vs base"


def render_summary(view: FinishedRun, *, verbosity: int = 0) -> Iterator[Block]:
    """Lay out the summary.

    Args:
        view: the finished run.
        verbosity: pytest's; negative leaves only the gate, with the causes of checks that lack
            verdicts or values, positive adds metrics and tags.
    """
    if verbosity < 0:
        for note in (*filter(None, [view.gave_up]), *dict.fromkeys(_causes(view))):
            yield Fact("note", note, "warn")
        yield from _gate_lines(view)
        if view.resume:
            yield Command("go on", view.resume)
        return
    yield _run_line(view)
    yield from _head_facts(view)
    yield _metric_table(view, verbosity)
    yield _group_table("category", view.aggregate.by_category, view)
    if verbosity > 0:
        yield _group_table("tag", view.aggregate.by_tag, view)
        yield _group_table("difficulty", view.aggregate.by_difficulty, view)
    yield from _case_lines(view)
    if verbosity > 0:
        missed = [
            r for r in worst_misses(view.run.records) if r.counted and r.scores.outcome != "passed"
        ]
        yield from render_texts(missed, limit=_TEXTS_SHOWN if verbosity == 1 else len(missed))
    yield from _reliability_lines(view.reliability, verbosity)
    for note in (*view.notes, *view.aggregate.warnings, *view.aggregate.target_warnings):
        yield Fact("note", note, "warn")
    yield from _baseline_lines(view)
    yield from _gate_lines(view)
    yield from _next_lines(view)


def view_of_run(view: FinishedRun) -> View:
    """Return the numbers of a run and the ids of its cases, without texts of cases or models."""
    title: Line = ((view.gate.sentence, GATE_STYLES[view.gate.verdict]),)
    return View(title, [*_numbers(view)])


def _numbers(view: FinishedRun) -> Iterator[Block]:
    aggregate = view.aggregate
    counts = (
        counted(aggregate.total, "case"), f"{aggregate.passed} passed",
        f"{aggregate.missed} missed", f"{aggregate.flawed} flawed",
        counted(aggregate.errored, "error"),
    )  # fmt: skip
    yield Fact("run", f"{view.run.run_id}: {', '.join(counts)}")
    yield from _head_facts(view)
    yield from _causes_of_errors(view)
    if view.gate.baseline is not None:
        yield from baseline_facts(view.gate.baseline)
    yield from headline_facts(view.gate.headline, public=True)
    yield from check_facts(view.gate.checks, view.gate.baseline)
    yield _metric_table(view, 1)
    yield from _usage(view)
    yield _group_table("category", aggregate.by_category, view)
    yield from _reliability_lines(view.reliability, 1)
    for outcome, found in aggregate.failed_cases.items():
        if found:
            n = len(found)
            title = counted(n, "error") if outcome == "error" else f"{n} {outcome}"
            yield Group(title, [paragraph(first_few(found, _CASES_LISTED))], folded=True)


def _head_facts(view: FinishedRun) -> Iterator[Fact]:
    yield Fact("", f"judge {'off' if view.judge == 'none' else view.judge}")
    if view.aggregate.stages:
        yield Fact("stages", ", ".join(stage_counts(view.aggregate)))
    if rules := rules_text(view.aggregate.matching):
        yield Fact("evidence", f"chunks compared by {rules}")


def _causes_of_errors(view: FinishedRun) -> Iterator[Fact]:
    """Yield what the replies lack, and the errors by cause, whose messages may quote texts."""
    yield from (Fact("reply", sentence, "warn") for sentence in view.reply_faults)
    cases: dict[tuple[str, str], set[str]] = {}
    for group in group_errors(view.run.records):  # without their messages several are one
        cases.setdefault((group.kind, group.label), set()).update(r.nodeid for r in group.records)
    causes = sorted(cases.items(), key=lambda one: -len(one[1]))
    for (kind, label), found in causes[:_CAUSES_LISTED]:
        cause = f": {label}" if label else ""
        yield Fact("error", f"{kind} in {counted(len(found), 'case')}{cause}", "bad")


def _usage(view: FinishedRun) -> Iterator[Fact]:
    """Yield the mean tokens and the cost that the target reports."""
    usage = view.aggregate.usage
    tokens = [
        f"{found.mean:,.0f} {name.removesuffix('_tokens')}"
        for name, found in usage.items()
        if name.endswith("_tokens")
    ]
    parts = [f"{' and '.join(tokens)} tokens an answer"] if tokens else []
    if (cost := usage.get("cost_usd")) is not None:
        parts.append(f"${format_value(cost.total, unit_of('cost_usd'))} in all")
    if parts:
        yield Fact("usage", f"the target reports {', '.join(parts)}")


def _run_line(view: FinishedRun) -> Note:
    total = view.aggregate.total
    aside = group_repeats(record for record in view.run.records if not record.counted)
    found = Counter(CASE_OUTCOMES[case.outcome] for case in aside)
    # pytest's last line counts them with the others.
    bad = ", ".join(f"{found[o]} {o}" for o in ("missed", "flawed", "errored") if found[o])
    counts = [
        *([counted(total, "case")] if total or not aside else []),
        *([f"{len(aside)} not reviewed{f' ({bad})' if bad else ''}"] if aside else []),
        *([f"{view.aggregate.missed} missed", f"{view.aggregate.flawed} flawed"] if total else []),
        *([counted(view.aggregate.errored, "error")] if total else []),
    ]
    wall_s = view.run.config.wall_s
    time = "" if wall_s is None else f"   {wall_s:.1f} s"
    return Note(((f"run {view.run.run_id}   ", "strong"),), ((", ".join(counts) + time, ""),))


def stage_counts(aggregate: Aggregate) -> list[str]:
    """Return the number of cases of each failure stage, the most first: ``24 not_retrieved``."""
    return [f"{n} {stage}" for stage, n in aggregate.stages.items()]


# --- metrics -------------------------------------------------------------------------------


def _metric_table(view: FinishedRun, verbosity: int) -> Table:
    checks: dict[str, list[CheckResult]] = {}
    for result in view.gate.checks:
        if result.check.table == "overall":
            checks.setdefault(result.check.metric, []).append(result)
    hits = view.aggregate.metrics.get("hit_at_k")
    by_document = UNDECIDED in view.aggregate.matching and (hits is None or not hits.n)
    rows: list[Row] = []
    for key in view.registry.cases:
        summary = view.aggregate.metrics.get(key)
        shown = is_headline(key) or verbosity > 0 or (by_document and key in _BY_DOCUMENT)
        n = 0 if summary is None else summary.n + summary.n_error * (verbosity > 0)
        if summary is None or not (key in checks or (shown and n)):
            continue
        parts = {f"  {name}": part for name, part in parts_of(view.aggregate, key).items()}
        for name, row in {key: summary, **parts}.items():
            cells = (name, str(row.n), "", interval_text(row.low, row.high))
            rest = (row.n_not_applicable, row.n_error)
            found = _check_rows(view, name, cells, row.mean, checks.get(name, []))
            rows += ((*cells_of_row, *rest) for cells_of_row in found)
    rows += ((*cells_of_row, "-", "-") for cells_of_row in _run_rows(view, checks))
    percent = f"{view.gate.confidence * 100:g}% CI"
    versus = [view.versus] if view.changes else []
    names = ("metric", ">n", ">value", f">{percent}", "limit", *(f">{v}" for v in versus), "")
    wide = ("n/a", "errors")
    columns = (*names, *(f">{name}" for name in wide))
    return Table(columns, rows, optional=(percent, "n", *versus), wide=wide)


def parts_of(aggregate: Aggregate, key: str) -> dict[str, MetricSummary]:
    """Return the separate averages of a metric by label; empty: none."""
    if key != "correctness":
        return {}
    return {PARTS[name]: part for name, part in aggregate.correctness_by_reference.items()}


def _run_rows(view: FinishedRun, checks: Mapping[str, Sequence[CheckResult]]) -> Iterator[Row]:
    latency = view.aggregate.latency
    rows = dict[str, float | None](view.run.run_metrics)
    rows |= {"latency_ms.p50": latency.p50_ms, "latency_ms.p95": latency.p95_ms}
    censored = {"latency_ms.p50": latency.p50_censored, "latency_ms.p95": latency.p95_censored}
    if view.aggregate.errored:
        rows["error_rate"] = view.aggregate.rates.get("error_rate")
    for metric, results in checks.items():
        if metric not in view.registry.cases and metric not in rows:
            # A skipped check has no estimate, but the run may have the figure; a change is none.
            held = [r.estimate for r in results if r.check.kind not in CHANGE_WORDS]
            rows[metric] = view.aggregate.rates.get(metric, held[0] if held else None)
    for metric, value in rows.items():
        total = latency.n if metric.startswith("latency_ms") else view.aggregate.total
        results = checks.get(metric, [])
        # A limit counts what its figure is of, such as verdicts, and a change the pairs of cases.
        counts = [r.n for r in results if r.n is not None and r.check.kind not in CHANGE_WORDS]
        n = str(counts[0] if counts else total)
        sign = ">=" if censored.get(metric) else ""
        at = concurrency_text(view.run.config.concurrency, short=True) if metric in censored else ""
        yield from _check_rows(view, metric, (metric + at, n, sign, "-"), value, results)


def concurrency_text(concurrency: int | None, *, short: bool = False) -> str:
    """Return `` at concurrency 8``, short enough for the metric table; empty: unknown."""
    if concurrency is None:
        return ""
    if concurrency == 0:
        return " (replayed)"
    return f" at {'conc.' if short and concurrency > 9 else 'concurrency'} {concurrency}"


def _check_rows(
    view: FinishedRun,
    key: str,
    cells: tuple[str, str, str, str],
    value: float | None,
    checks: Sequence[CheckResult],
) -> Iterator[Row]:
    """Yield a row per check: its name, n, sign before the value, and interval are given."""
    label, n, sign, interval = cells
    for result in checks or (None,):
        shown = value_text(key, value) if result is None else held_value_text(result, value)
        change = view.changes.get(key)
        if change is None and result and result.check.kind in CHANGE_WORDS:
            change = result.estimate
        style: Status = "bad" if result is not None and result.status == "fail" else ""
        row = (label, n, sign + shown, interval, limit_text(result) if result else "-")
        compared = [change_text(key, change)] if view.changes else []
        verdict = (VERDICTS[result.status],) if result else ""
        yield (*(((cell, style),) for cell in (*row, *compared)), verdict)


def change_text(metric: str, change: float | None) -> str:
    """Show a difference with its sign, such as ``-0.020``; ``-`` where there is none."""
    if change is None:
        return "-"
    text = format_value(abs(change), unit_of(metric))
    sign = "" if float(text) == 0 else "+" if change > 0 else "-"
    return f"{sign}{text}"


def value_text(metric: str, value: float | None, check: Check | None = None) -> str:
    """Show a value in its unit, with enough decimals to distinguish it from its limit."""
    if value is None:
        return "no data"
    unit = unit_of(metric)
    if check is None or check.kind not in {"min", "max"}:
        return format_value(value, unit)
    return format_limit_pair(value, check.limit, unit)[0]


def held_value_text(result: CheckResult, value: float | None) -> str:
    """Show the value of a check; ``-`` if a skipped check, or a known change, has none."""
    changed = result.check.kind in CHANGE_WORDS and result.estimate is not None
    if value is None and (result.status == "skip" or changed):
        return "-"
    return value_text(result.check.metric, value, result.check)


def interval_text(low: float | None, high: float | None) -> str:
    """Show an interval as ``0.76-0.94``, a large one as ``1675-1805``; ``-`` where none is."""
    if low is None or high is None:
        return "-"
    decimals = 0 if high >= 1000 else 2  # as format_value
    return f"{low:.{decimals}f}-{high:.{decimals}f}"


def limit_text(result: CheckResult) -> str:
    """Show a limit as ``>= 0.85`` or ``<= 2500``."""
    sign = {"min": ">=", "max": "<=", "max_drop": "drop", "max_rise": "rise"}[result.check.kind]
    return f"{sign} {result.check.limit:g}"


# --- groups --------------------------------------------------------------------------------


def _group_table(
    title: str, groups: Mapping[str, Mapping[str, MetricSummary]], view: FinishedRun
) -> Table:
    columns = [c for c in GROUP_COLUMNS if any(c[0] in g and g[c[0]].n for g in groups.values())]
    rows: list[Row | Note] = []
    for name, summaries in sorted(groups.items()):
        n = group_size(summaries)
        means = (mean_text(summaries.get(key), n) for key, _ in columns)
        rows.append((clean(name, _GROUP_CHARS), n, *means))
        for result in view.gate.checks:
            if (result.check.table, result.check.group) == (title, name):
                value, limit = held_value_text(result, result.estimate), limit_text(result)
                change = " change" if result.check.kind in CHANGE_WORDS else ""
                text = f"  {result.check.metric}{change} {value}, limit {limit}  "
                style: Status = "bad" if result.status == "fail" else ""
                rows.append(Note((), ((text, style), VERDICTS[result.status])))
    names = [name for _, name in columns]
    return Table((title, ">n", *(f">{name}" for name in names)), rows, optional=names[:0:-1])


def mean_text(summary: MetricSummary | None, n: int) -> str:
    """Show the mean of a group, with its own number of cases where it differs from the group's.

    Args:
        summary: of one metric; without a mean it is shown as ``-``.
        n: cases of the group.
    """
    if summary is None or summary.mean is None:
        return "-"
    return format_value(summary.mean) + (f" n{summary.n}" if summary.n != n else "")


# --- cases, notes, gate --------------------------------------------------------------------


def _one_of_each_case(records: Iterable[CaseRecord]) -> list[CaseRecord]:
    """Return the first record of each case, without repeats."""
    found: dict[str, CaseRecord] = {}
    for record in records:
        found.setdefault(record.nodeid, record)
    return list(found.values())


def worst_records(records: Sequence[CaseRecord]) -> list[CaseRecord]:
    """Return the records to look at first, one of each case.

    Errors, then misses with the lowest recall, then bad answers with the lowest score.
    """
    erred = sorted((r for r in records if r.error is not None), key=first_to_see)
    return _one_of_each_case([*erred, *worst_misses(records)])[:_CASES_SHOWN]


def slowest_records(records: Sequence[CaseRecord]) -> list[CaseRecord]:
    """Return the slowest records, the slowest first, one of each case; errors do not count."""
    calls = [r for r in records if attempt_status(r) in {"ok", "timeout"}]
    timed = [r for r in calls if "total_ms" in r.latency]
    slowest_first = sorted(timed, key=lambda r: (-r.latency["total_ms"], r.nodeid))
    return _one_of_each_case(slowest_first)[:_CASES_SHOWN]


def _case_lines(view: FinishedRun) -> Iterator[Block]:
    names = case_names(view.run.records)
    if worst := worst_records(view.run.records):
        listed = [f"{names[r.nodeid]} {stage_of(r) or r.scores.outcome}" for r in worst]
        yield Fact("worst", ", ".join(listed))
    for record in worst:
        yield from _judged_lines(view.run.whole(record))
    slowest = slowest_records(view.run.records)
    if listed := [f"{names[r.nodeid]} {r.latency['total_ms']:.0f} ms" for r in slowest]:
        yield Fact("slowest", ", ".join(listed))


def _judged_lines(record: CaseRecord) -> Iterator[Block]:
    """Show unsupported claims or missing facts, one per line; only on a terminal."""
    flaws: list[tuple[str, str]] = []
    if below_pass_line("groundedness", record.scores.metrics):
        flaws += [("unsupported", text) for text in unsupported_claims(record)]
    if below_pass_line("correctness", record.scores.metrics):
        flaws += [("not stated", text) for text in missing_facts(record)]
    for word, text in flaws[:_FLAWS_SHOWN]:
        head = f"{clean(record.name, _ID_CHARS)} {word}: "
        yield ((" " * HEAD, ""), (head, "warn"), (f'"{clean(text, _FLAW_CHARS)}"', ""))


def _reliability_lines(found: JudgeReliability, verbosity: int) -> Iterator[Fact]:
    for line in reliability_lines(found):
        yield Fact("judge", line)
    worst = (f"{key} {i} {a:g} and {b:g}" for key, i, a, b in worst_disagreements(found))
    if verbosity > 0 and (listed := "; ".join(worst)):
        yield Fact("judge", f"first and second judge: {listed}")


def _baseline_lines(view: FinishedRun) -> Iterator[Fact]:
    """Describe the baseline, and the smallest change that each check can detect."""
    info = view.gate.baseline
    if info is None:
        return
    yield from baseline_facts(info)
    yield from headline_facts(view.gate.headline)
    for result in view.gate.checks:
        if (text := detectable_text(result)) is not None:
            yield Fact("", f"{result.check.name}: {text}", "")


def _causes(view: FinishedRun) -> Iterator[str]:
    """Yield the notes on why verdicts or an own metric failed, where a check failed for it."""
    for one in view.gate.checks:
        metric, info = one.check.metric, view.registry.info(one.check.metric)
        no_data = one.status == "fail" and one.estimate is None
        if no_data:
            yield from (note for note in view.notes if note.startswith(f"{metric}: "))
        judged = no_data and info is not None and info.judged
        if judged or (one.status == "fail" and metric == "judge_error_rate"):
            yield from view.judge_causes


def _gate_lines(view: FinishedRun) -> Iterator[Fact]:
    yield Fact("gate", view.gate.sentence, "strong", GATE_STYLES[view.gate.verdict])
    for result in view.gate.checks:
        if result.status == "warn":
            yield Fact("warn", f"{result.check.name}: {result.message}", "warn")
    yield from weak_lines(view.gate.checks)


def _next_lines(view: FinishedRun) -> Iterator[Block]:
    commands = replace(view.commands, rerun="") if view.resume else view.commands
    for command, reason in next_commands(view.run.records, commands, view.gate.headline.worst):
        yield Command("next", command, reason)
    info = view.gate.baseline
    if view.changes and info is not None and info.name != AUTO:
        named = info.name or ""
        # Now `last` is this run.
        baseline = shlex.quote((info.run_id or "") if named.startswith("last") else named)
        yield Command("compare", f"rageval compare {baseline} {view.run.run_id}")
    if view.resume:
        yield Command("go on", view.resume)
    yield Fact("results", view.folder)
    if view.report:
        yield Fact("report", view.report)
