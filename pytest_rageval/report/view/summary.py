"""A run that has ended: what failed and why, and folded below it all its numbers."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_rageval.analysis.aggregate.case_groups import (
    CASE_OUTCOMES,
    case_names,
    first_to_see,
    flaky_first,
    group_repeats,
    worst_misses,
)
from pytest_rageval.analysis.aggregate.operational import attempt_status, group_errors
from pytest_rageval.analysis.trust.reliability import (
    reliability_lines,
    worst_disagreements,
)
from pytest_rageval.metrics.built_in import ASPECT_KEYS, BUILT_IN, stored_registry
from pytest_rageval.metrics.deciding import UNDECIDED
from pytest_rageval.metrics.registry import Registry, unit_of
from pytest_rageval.report.explain.verdict import stage_of
from pytest_rageval.report.view.blocks import (
    BAD,
    Block,
    Command,
    Fact,
    Group,
    Line,
    Row,
    Status,
    Table,
    View,
)
from pytest_rageval.report.view.gate import (
    GATE_STYLES,
    VERDICTS,
    baseline_facts,
    check_facts,
    headline_facts,
    weak_lines,
)
from pytest_rageval.report.view.misses import RunCommands, next_commands, render_texts
from pytest_rageval.report.wording import chunk_sentences, of_scale, rules_text
from pytest_rageval.support.text import (
    clean,
    counted,
    first_few,
    format_limit_pair,
    format_value,
    part,
    plural,
)
from pytest_rageval.values.gate import CHANGE_WORDS, Check, CheckResult, GateResult
from pytest_rageval.values.numbers import (
    Aggregate,
    JudgeReliability,
    MetricSummary,
    counted_total,
    group_size,
)
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.words import SIGN

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
_NAMED = 6
_CAUSES = 6
"""Causes whose cases are named, where no earlier run says which of them are new."""
_CASES_LISTED = 200
"""Maximum ids of missed and failed cases in a file: a pull request comment has a size limit."""
_TEXTS_SHOWN = 10
_GROUP_CHARS = 80


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


def session_view(view: FinishedRun, *, verbosity: int = 0, checks: bool = False) -> View:
    """Return a run for the terminal, about as long as what pytest itself prints.

    Args:
        view: the finished run.
        verbosity: pytest's; negative leaves verdict, cause and what is new, above 1 shows the texts
            of every miss.
        checks: whether failed checks are listed, as pytest does after a session.
    """
    quiet = verbosity < 0
    notes = [*filter(None, [view.gave_up]), *dict.fromkeys(_causes(view))]
    blocks: list[Block] = [*_checks_to_see(view, failed=checks)]
    if not quiet:
        notes = [*view.notes, *view.aggregate.warnings, *view.aggregate.target_warnings]
        failing = _failing_cases(view, errors=checks)
        new = _new(view, public=not checks)  # a session shows the messages of errors above
        blocks = [*failing, *new, *_repeats(view), *_scores(view), *blocks]
    else:
        blocks = [*_new(view, public=not checks, named=True), *blocks]
    blocks += [Fact("note", note, "warn") for note in notes]
    blocks += _baseline(view)
    blocks += _next_lines(view, quiet=quiet)
    if not quiet:
        missed = [r for r in worst_misses(view.run.records) if r.counted and _failed(r)]
        shown = _TEXTS_SHOWN if verbosity == 1 else len(missed)
        texts = [*render_texts(missed, limit=shown)]
        blocks += [*_folded(view), Group("answers", texts, folded=True)] if texts else _folded(view)
    return View(_title(view), blocks)


def view_of_run(view: FinishedRun) -> View:
    """Return a run for readers elsewhere: ids and numbers, no text of a case or a model."""
    blocks: list[Block] = [Fact("reply", sentence, "warn") for sentence in view.reply_faults]
    blocks += [*_new(view, public=True), *_checks_to_see(view, failed=True)]
    blocks += [*_failing_cases(view, most=_CASES_LISTED), *_repeats(view), *_scores(view)]
    rest = [block for group in _folded(view, every=False) for block in group.blocks]
    return View(_title(view), [*blocks, *_baseline(view), Group("numbers", rest, folded=True)])


def _baseline(view: FinishedRun) -> Iterator[Fact]:
    """Yield a baseline that was chosen, and one that is missing."""
    info = view.gate.baseline
    if info is not None and (info.problem or info.choice is not None):
        yield from baseline_facts(view.gate)


def _title(view: FinishedRun) -> Line:
    word, _, rest = view.gate.brief.partition(" ")
    status = GATE_STYLES[view.gate.verdict]
    counts = "; ".join(filter(None, (rest, _counts(view))))
    return (word, status), (f" {counts}", "")


def _counts(view: FinishedRun) -> str:
    """Count the cases by outcome, those that nobody has reviewed apart."""
    numbers = view.aggregate
    aside = group_repeats(record for record in view.run.records if not record.counted)
    found = Counter(CASE_OUTCOMES[case.outcome] for case in aside)
    # pytest's last line counts them with the others.
    bad = ", ".join(f"{found[o]} {o}" for o in ("missed", "flawed", "flaky", "errored") if found[o])
    outcomes = ", ".join(f"{n} {o}" for o in CASE_OUTCOMES.values() if (n := getattr(numbers, o)))
    wall_s = view.run.config.wall_s
    parts = (
        part("tier {}", view.run.config.settings.tier),
        part(f"{counted_total(numbers)}: {{}}", outcomes),
        part("{} not reviewed", len(aside)) + part(" ({})", bad),
        f"judge {'off' if view.judge == 'none' else view.judge}",
        part("{:.1f} s", wall_s),
    )
    return "; ".join(filter(None, parts))


# --- the first screen --------------------------------------------------------------------------


def _failed(record: CaseRecord) -> bool:
    return record.scores.outcome != "passed"


def _failing_cases(view: FinishedRun, *, most: int = _NAMED, errors: bool = True) -> Iterator[Fact]:
    """Yield the cases that do not pass, by outcome and cause, new failures and the worst first.

    Args:
        view: the finished run.
        most: names of one cause.
        errors: whether cases without an answer are among them.
    """
    cases = [case for case in group_repeats(view.run.records) if case.first.counted]
    names = case_names(view.run.records)
    labels = {r.nodeid: g.label for g in group_errors(view.run.records) for r in g.records}
    since = view.gate.headline.since
    new = {*since.broke.names, *since.flaky.names, *since.erred.names} if since else set()
    found: dict[tuple[str, bool, str], list[str]] = {}
    flaky = flaky_first(cases)
    aside = {case.first.nodeid for case in flaky}
    for record in sorted((case.deciding for case in cases), key=first_to_see):
        if record.nodeid in aside:
            continue
        if not _failed(record) or (record.error and not errors):
            continue
        cause = (stage_of(record) or "").replace("_", " ")
        if record.error:
            cause = ": ".join(filter(None, (record.error.kind, labels.get(record.nodeid))))
        name = names[record.nodeid]
        found.setdefault((record.scores.outcome, name not in new, cause), []).append(name)
    for case in flaky:
        name = names[case.first.nodeid]
        found.setdefault(("flaky", name not in new, ""), []).append(f"{name} {case.passes}")
    named = {name for listed in found.values() for name in listed}
    named |= {names[nodeid] for nodeid in aside}
    for outcome, every in view.aggregate.failed_cases.items() if errors else ():
        if rest := [name for name in every if name not in named]:  # without their records
            found[outcome, True, ""] = rest
    yield from _cause_facts(found, most=most, since=since is not None)


def _cause_facts(
    found: Mapping[tuple[str, bool, str], Sequence[str]], *, most: int, since: bool
) -> Iterator[Fact]:
    """Yield a fact for each cause that is new, and of the others the names or the numbers."""
    room, others = 0 if since else _CAUSES, dict[str, dict[str, int]]()
    for (outcome, old, cause), listed in sorted(found.items(), key=lambda one: one[0][1]):
        if old and outcome != "flaky" and (room := room - 1) < 0:
            others.setdefault(outcome, {})[cause] = len(listed)
        else:
            words = " ".join(filter(None, (str(len(listed)), "" if old else "new", cause)))
            yield Fact(outcome, f"{words}: {first_few(listed, most)}", _status(outcome))
    for outcome, causes in others.items():
        counts = ", ".join(f"{n} {cause}".strip() for cause, n in causes.items())
        known = " not new" if since else ""
        yield Fact(outcome, f"{sum(causes.values())}{known}: {counts}", _status(outcome))


def _status(outcome: str) -> Status:
    return "bad" if outcome == "error" else "warn"


def _new(view: FinishedRun, *, public: bool, named: bool = False) -> Iterator[Fact]:
    # A line of its own says how the cases vary.
    yield from headline_facts(view.gate.headline, public=public, named=named, repeats=False)


def _repeats(view: FinishedRun) -> Iterator[Fact]:
    """Yield how many cases vary between repeats, and how many would pass every time."""
    found = view.aggregate.repeats
    if found is None:
        return
    n = view.aggregate.flaky
    vary = f"{n} of {counted(found.n, 'case')} {plural(n, 'varies', 'vary')}"
    if found.again:
        why = ", ".join(f"{n} {reason}" for reason, n in found.again.items())
        asked = f"{counted(found.n, 'case')} asked again ({why}), {found.repeats} times in all"
        yield Fact(
            "repeats", f"{asked}; {n} {plural(n, 'varies', 'vary')}; figures are of first answers"
        )
        return
    shares = (view.aggregate.rates["pass_rate"], found.every / found.n)
    one, every = (f"{100 * (share or 0.0):.0f} %" for share in shares)
    yield Fact(
        "repeats",
        f"{found.repeats} of each; {vary}; pass rate {one}, all {found.repeats} pass: {every}",
    )


def _scores(view: FinishedRun) -> Iterator[Fact]:
    """Yield the mean of each aspect, and the time."""
    metrics = view.aggregate.metrics
    shown = [
        f"{key} {format_value(metrics[key].mean)}{of_scale(view.registry.info(key))}"
        for key in ASPECT_KEYS
        if key in metrics and metrics[key].mean is not None
    ]
    if (p95 := view.aggregate.latency.p95_ms) is not None:
        shown.append(f"p95 {p95:.0f} ms")
    if shown:
        yield Fact("scores", ", ".join(shown))


def _checks_to_see(view: FinishedRun, *, failed: bool) -> Iterator[Fact]:
    wanted = {"fail", "warn"} if failed else {"warn"}
    yield from check_facts([one for one in view.gate.checks if one.status in wanted])


def _next_lines(view: FinishedRun, *, quiet: bool) -> Iterator[Block]:
    commands = replace(view.commands, rerun="") if view.resume else view.commands
    since = view.gate.headline.since
    n_new = 0 if since is None else since.broke.n
    worst = view.gate.headline.worst
    found = () if quiet else next_commands(view.run.records, commands, worst, n_new=n_new)
    for command, reason in found:
        yield Command("next", command, reason)
    if view.resume:
        yield Command("resume", view.resume)
    yield Fact("report", view.report) if view.report else Fact("results", view.folder)


# --- folded ------------------------------------------------------------------------------------


def _folded(view: FinishedRun, *, every: bool = True) -> Iterator[Group]:
    """Yield the numbers of a run: all of them, or those of the metrics to look at first."""
    aggregate, gate = view.aggregate, view.gate
    others = [one for one in gate.checks if every or one.status in {"pass", "skip"}]
    checks = [*check_facts(others, gate.baseline), *weak_lines(gate.checks)]
    groups = [
        _group_table(name, found)
        for name, found in (
            ("category", aggregate.by_category),
            ("tag", aggregate.by_tag),
            ("difficulty", aggregate.by_difficulty),
            *([("turn", aggregate.by_turn)] if aggregate.by_turn else []),
        )
    ]
    for title, blocks in (
        ("metrics", [_metric_table(view, every=every)]),
        ("checks", checks),
        ("run", [*_run_facts(view)]),
        ("groups", groups if every else groups[:1]),
    ):
        if blocks:
            yield Group(title, blocks, folded=True)


def context_facts(aggregate: Aggregate) -> Iterator[Fact]:
    """Yield how answers fit their context: a fact for what held the evidence, and the other."""
    head = "context"
    for row, cells in aggregate.context.items():
        counts = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in cells.items() if n)
        if counts:
            yield Fact(head, f"{row.replace('_', ' ')} {sum(cells.values())}: {counts}")
            head = ""


def _run_facts(view: FinishedRun) -> Iterator[Block]:
    yield Fact("run", view.run.run_id)
    if rules := rules_text(view.aggregate.matching):
        yield Fact("evidence", f"chunks compared by {rules}")
    if view.aggregate.stages:
        yield Fact("stages", ", ".join(stage_counts(view.aggregate)))
    yield from context_facts(view.aggregate)
    may = [one for one in view.run.records if one.counted and one.may_clarify]
    if may:
        n = sum(one.scores.clarifies for one in may)
        yield Fact("clarify", f"{n} of {counted(len(may), 'answer')} that may ask back")
    yield from _reliability_lines(view.reliability)
    yield from _usage(view)
    slowest = slowest_records(view.run.records)
    names = case_names(view.run.records)
    if listed := [f"{names[r.nodeid]} {r.latency['total_ms']:.0f} ms" for r in slowest]:
        yield Fact("slowest", ", ".join(listed))
    info = view.gate.baseline
    if info is not None and not info.problem and info.choice is None:
        yield from baseline_facts(view.gate)
    if base := view.commands.baseline:
        yield Command("compare", f"rageval compare {shlex.quote(base)} {view.run.run_id}")


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


def stage_counts(aggregate: Aggregate) -> list[str]:
    """Return the number of cases of each failure stage, the most first: ``24 not_retrieved``."""
    return [f"{n} {stage}" for stage, n in aggregate.stages.items()]


# --- metrics -------------------------------------------------------------------------------


def _metric_table(view: FinishedRun, *, every: bool) -> Table:
    checks: dict[str, list[CheckResult]] = {}
    for result in view.gate.checks:
        if result.check.table == "overall":
            checks.setdefault(result.check.metric, []).append(result)
    hits = view.aggregate.metrics.get("hit_at_k")
    by_document = UNDECIDED in view.aggregate.matching and (hits is None or not hits.n)
    rows: list[Row] = []
    for key in view.registry.cases:
        summary = view.aggregate.metrics.get(key)
        shown = every or is_headline(key) or (by_document and key in _BY_DOCUMENT)
        n = 0 if summary is None else summary.n + every * summary.n_error
        if summary is None or not (key in checks or (shown and n)):
            continue
        parts = {f"  {name}": part for name, part in parts_of(view.aggregate, key).items()}
        for name, row in {key: summary, **parts}.items():
            label = name + of_scale(view.registry.info(name))
            cells = (label, str(row.n), "", interval_text(row.low, row.high))
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
    """Return other averages of a metric by label; empty: none."""
    found: dict[str, MetricSummary] = {}
    if (one := aggregate.by_traffic.get(key)) is not None:
        found["by traffic"] = MetricSummary(n=one.n, mean=one.mean, low=one.low, high=one.high)
    if key == "correctness":
        parts = aggregate.correctness_by_reference
        found |= {PARTS[name]: part for name, part in parts.items()}
    return found


def _run_rows(view: FinishedRun, checks: Mapping[str, Sequence[CheckResult]]) -> Iterator[Row]:
    latency = view.aggregate.latency
    rows = dict[str, float | None](view.run.run_metrics)
    rows |= {"latency_ms.p50": latency.p50_ms, "latency_ms.p95": latency.p95_ms}
    censored = {"latency_ms.p50": latency.p50_censored, "latency_ms.p95": latency.p95_censored}
    if view.aggregate.errored:
        rows["error_rate"] = view.aggregate.rates.get("error_rate")
    for metric, results in checks.items():
        if metric not in view.registry.cases and metric not in rows:
            # A skipped check has no estimate, but the run may have the figure; not for a change.
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
        style: Status = BAD[result is not None and result.status == "fail"]
        row = (label, n, sign + shown, interval, limit_text(result) if result else "-")
        compared = [change_text(key, change)] if view.changes else []
        verdict = (VERDICTS[result.status],) if result else ""
        yield (*(((cell, style),) for cell in (*row, *compared)), verdict)


def change_text(metric: str, change: float | None) -> str:
    """Show a difference with its sign, such as ``-0.020``; ``-`` without one."""
    if change is None:
        return "-"
    text = format_value(abs(change), unit_of(metric))
    sign = "" if float(text) == 0 else SIGN[change > 0]
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


def _group_table(title: str, groups: Mapping[str, Mapping[str, MetricSummary]]) -> Table:
    columns = [c for c in GROUP_COLUMNS if any(c[0] in g and g[c[0]].n for g in groups.values())]
    rows: list[Row] = []
    for name, summaries in sorted(groups.items()):
        n = group_size(summaries)
        means = (mean_text(summaries.get(key), n) for key, _ in columns)
        rows.append((clean(name, _GROUP_CHARS), n, *means))
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
    return format_value(summary.mean) + (part(" n{}", summary.n != n and summary.n))


# --- cases -------------------------------------------------------------------------------------


def slowest_records(records: Sequence[CaseRecord]) -> list[CaseRecord]:
    """Return the slowest records, the slowest first, one of each case; errors do not count."""
    calls = [r for r in records if attempt_status(r) in {"ok", "timeout"}]
    timed = [r for r in calls if "total_ms" in r.latency]
    slowest_first = sorted(timed, key=lambda r: (-r.latency["total_ms"], r.nodeid))
    found: dict[str, CaseRecord] = {}
    for record in slowest_first:
        found.setdefault(record.nodeid, record)
    return [*found.values()][:_CASES_SHOWN]


def _reliability_lines(found: JudgeReliability) -> Iterator[Fact]:
    for line in reliability_lines(found):
        yield Fact("judge", line)
    worst = (f"{key} {i} {a:g} and {b:g}" for key, i, a, b in worst_disagreements(found))
    if listed := "; ".join(worst):
        yield Fact("judge", f"first and second judge: {listed}")


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
