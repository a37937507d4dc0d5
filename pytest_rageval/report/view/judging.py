"""Scores and verdicts that were made again, agreement, and findings of readers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import convert

from pytest_rageval.analysis.aggregate.case_groups import CASE_OUTCOMES
from pytest_rageval.analysis.review import (
    ENOUGH,
    NO_CATEGORY,
    ReviewAgreement,
    ReviewFigures,
    ReviewFindings,
    Share,
    StageFigure,
)
from pytest_rageval.analysis.trust.admission import labels_wanted
from pytest_rageval.report.view.blocks import Block, CellValue, Fact, Group, Row, Table, paragraph
from pytest_rageval.report.view.summary import (
    PARTS,
    context_facts,
    interval_text,
    parts_of,
    stage_counts,
)
from pytest_rageval.support.text import clean, counted, format_value, part
from pytest_rageval.values.numbers import Aggregate, MetricSummary, counted_total
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.verdict import NOT_ADMITTED, GroupBias, JudgeRates, turned

_CLASSES: Final = {
    "groundedness": "ungrounded",
    "correctness": "incorrect",
    "abstention": "abstain",
}
_PROBES: Final = {"verbosity": "padded", "order": "reordered"}
_NOTED: Final = 0.05
"""Minimum gain of kappa for another pass line to be mentioned."""
_SHOWN: Final = 8
"""Disagreements that are listed."""


def calibration_lines(document: Mapping[str, Any]) -> Iterator[Block]:
    """Yield the lines of a calibration for a terminal."""
    kinds = ", ".join(f"{kind} {n}" for kind, n in document["errors"].items())
    yield paragraph(
        f"{document['judge']} under {document['rubric_version'] or document['rubric']}: "
        f"{counted(document['n'], 'labelled answer')} judged, "
        f"{counted(document['n_error'], 'error')}{part(' ({})', kinds)}"
    )
    for label, n in document["left_out"].items():
        yield paragraph(f"left out: {n} labelled {label}")
    if document["n_not_applicable"]:
        yield paragraph(f"nothing to score: {counted(document['n_not_applicable'], 'answer')}")
    yield from _admission(document)
    sources = {"all": document}
    if len(document["by_source"]) > 1:
        sources |= document["by_source"]
    yield Table(
        ("source", ">n", ">errors", ">AUROC", ">kappa", ">95% CI"),
        [_row(name, row) for name, row in sources.items()],
    )
    yield from _explanation(document)
    yield from _disagreements(document)
    for name, probe in (document["probes"] or {}).items():
        yield paragraph(_probe(name, probe))
    if document["drift"] is not None:
        yield paragraph(document["drift"]["text"])


def _admission(document: Mapping[str, Any]) -> Iterator[Block]:
    """Yield both rates by part and language, and whether they admit the judge."""
    interval = ">95% CI"
    bad = _CLASSES.get(document["rubric"], "bad")
    headings = (f">{bad}", ">found (TPR)", interval, ">others", ">passed (TNR)", interval)
    rows = [
        (
            f"{part} {language}",
            *(one["n_bad"], one["tpr"], interval_text(one["tpr_low"], one["tpr_high"])),
            *(one["n_good"], one["tnr"], interval_text(one["tnr_low"], one["tnr_high"])),
        )
        for part in ("test", "dev")
        for language, one in document[part].items()
    ]
    yield Table(("labels", *headings), rows)
    bar = document["admit_at"]
    for language, admitted in document["admitted"].items():
        said = f"{'judge admitted' if admitted else NOT_ADMITTED} in {language}"
        rates = convert(document["test"][language], JudgeRates)
        if rates.reach(bar):
            yield paragraph(f"{said}: both lower bounds on test reach {bar:.2f}")
        else:
            why = f"both lower bounds on test have to reach {bar:.2f}"
            yield paragraph(f"{said}: {why}; {wanted_text(rates, bar)}")
        groups = convert(document["bias"].get(language, {}), dict[str, GroupBias])
        if signs := turned(groups):
            strict, lenient = (f"{clean(one, 40)} ({groups[one].bias:+.2f})" for one in signs)
            refused = "so not admitted" if document["strict"] else "which --strict refuses"
            yield paragraph(
                f"{language}: too strict with {strict}, too lenient with {lenient}, {refused}"
            )


def wanted_text(rates: JudgeRates | None, bar: float) -> str:
    """Say how many labels can admit a judge."""
    bad, good = labels_wanted(rates, bar)
    if bad is None or good is None:
        return "no number of labels does it at such rates: change the rubric, or the judge"
    return f"that takes at least {bad} bad and {good} good answers in all"


def _row(name: str, row: Mapping[str, Any]) -> Row:
    figures = [row[key] for key in ("n", "n_error", "auroc", "kappa")]
    return (clean(name, 40), *figures, interval_text(row["kappa_low"], row["kappa_high"]))


def _explanation(document: Mapping[str, Any]) -> Iterator[Block]:
    line = document["threshold"]
    side = "above" if document.get("direction") == "lower" else "below"
    scored = "" if line is None else f"; bad answers score {side} {line:g}"
    n = len(document["by_source"])
    pooled = format_value(document["auroc_pooled"])
    macro = f"; AUROC is the mean over sources, pooled {pooled}" if n > 1 else ""
    yield paragraph(f"accuracy {format_value(document['accuracy'])}{scored}{macro}")
    best = document["best_threshold"]
    if best is None or best["kappa_test"] is None:
        return
    if min(best["kappa"], best["kappa_test"]) >= (document["kappa"] or 0.0) + _NOTED:
        # Rounded up, the threshold would exclude the answers at it.
        rounded_down = math.floor(best["threshold"] * 1000) / 1000
        yield paragraph(
            f"note: at --threshold {rounded_down:g}, chosen on dev, kappa on test is "
            f"{best['kappa_test']:.2f}"
        )


def _disagreements(document: Mapping[str, Any]) -> Iterator[Block]:
    found = document["disagreements"]
    if not found:
        return
    shown = [
        f"{one['id']} ({one['label']}, scored {format_value(one['score'])})"
        for one in found[:_SHOWN]
    ]
    more = part(" and {} more (--json)", len(found[_SHOWN:]))
    n = sum(one["n_bad"] + one["n_good"] for one in document["dev"].values())
    yield paragraph(
        f"people and judge disagree on {len(found)} of {counted(n, 'answer')} of dev, the clearest "
        f"first: {', '.join(shown)}{more}"
    )


def _probe(name: str, probe: Mapping[str, Any]) -> str:
    failed = part("; {:error}", probe["n_error"])
    if not probe["n"]:
        return f"{_PROBES[name]} answers: none could be compared{failed}"
    return (
        f"{_PROBES[name]} answers: {probe['n_higher']} of {probe['n']} scored higher "
        f"({interval_text(probe['low'], probe['high'])}), {probe['n_newly_passed']} of them rose "
        f"over the threshold; mean shift {probe['mean_shift']:+.3f}{failed}"
    )


_STATISTICS: Final = {"cohen_kappa": "Cohen's kappa", "krippendorff_alpha": "Krippendorff's alpha"}
_ROWS: Final = (("chunks", "evidence or not"), ("answerable", "answerable or not"))


def agreement_lines(document: Mapping[str, Any]) -> Iterator[Block]:
    """Yield the lines of an agreement for a terminal."""
    people = ", ".join(f"{name} {n}" for name, n in document["annotators"].items())
    yield paragraph(f"{document['file']}: cases labelled by {people}")
    statistic = _STATISTICS[document["chunks"]["statistic"]]
    confidence = f"{document['confidence']:.0%} CI"
    rows = {name: document[key] for key, name in _ROWS}
    cells = [
        (
            *(name, row["value"], interval_text(row["low"], row["high"])),
            *(row["observed"], row["n"], row["n_cases"]),
        )
        for name, row in rows.items()
    ]
    yield Table(("", f">{statistic}", f">{confidence}", ">agreed", ">n", ">cases"), cells)
    for name, row in rows.items():
        if not row["n"]:
            yield f"{name}: nothing was labelled by two"
        elif row["value"] is None:
            n = counted(row["n"], "thing")
            yield f"{name}: all said the same of {n}, which leaves no value"


SHOWN_FAILURES: Final = 20


@dataclass(slots=True)
class Failures:
    """Records that did not pass: the first of them, and the number of the others."""

    shown: list[CaseRecord] = field(default_factory=list)
    more: int = 0
    """Number of those that are not shown."""

    def add(self, record: CaseRecord) -> None:
        """Take a record, if it did not pass."""
        if record.scores.outcome != "passed":
            if len(self.shown) < SHOWN_FAILURES:
                self.shown.append(record)
            else:
                self.more += 1

    def extend(self, other: Failures) -> None:
        """Take those of another part of the same cases, in the order of a whole run."""
        found = sorted(
            [*self.shown, *other.shown], key=lambda one: (one.repeat > 0, one.lineno, one.repeat)
        )
        self.shown = found[:SHOWN_FAILURES]
        self.more += other.more + len(found) - len(self.shown)


def score_lines(totals: Aggregate, failures: Failures, notes: Sequence[str]) -> Iterator[Block]:
    """Yield the tables of scored answers, notes and the cases that did not pass."""
    yield paragraph(
        f"{counted_total(totals)}: {totals.passed} passed, {part('{} flaky, ', totals.flaky)}"
        f"{totals.missed} missed, "
        f"{totals.flawed} flawed, {counted(totals.errored, 'error')}, {totals.unchecked} with "
        "nothing checked"
    )
    if totals.stages:
        yield Fact("stages", ", ".join(stage_counts(totals)))
    rows: list[Row] = []
    for key, summary in totals.metrics.items():
        if summary.n or summary.n_error:
            parts = {f"  {name}": part for name, part in parts_of(totals, key).items()}
            rows += [_metric_row(name, one) for name, one in {key: summary, **parts}.items()]
    yield Table(("metric", ">n", ">n/a", ">errors", ">value", ">95% CI"), rows)
    yield _abstentions(totals)
    yield from context_facts(totals)
    yield _reranking(totals)
    if totals.judge_tokens:
        yield Fact("cost", _spent(totals.cost_usd, totals.judge_tokens))
    for warning in (*notes, *totals.warnings, *totals.target_warnings):
        yield Fact("note", warning)
    for record in failures.shown:
        reason: str = record.scores.failure_stage or "expectation not met"
        if record.error is not None:
            reason = f"{record.error.kind}: {record.error.message}"
        which = part(" (repeat {})", record.repeat)
        yield Fact(record.scores.outcome, f"{record.name}{which}  {clean(reason, 120)}")
    if failures.more:
        yield f"... and {failures.more} more"


def _metric_row(name: str, summary: MetricSummary) -> Row:
    value = "no data" if summary.mean is None else summary.mean
    counts = (summary.n, summary.n_not_applicable, summary.n_error)
    return (name, *counts, value, interval_text(summary.low, summary.high))


def _abstentions(totals: Aggregate) -> Table:
    names = ("abstained", "answered", "error", "unknown")
    counts = totals.abstention.items()
    rows: list[Row] = [(name, *(cells[key] for key in names)) for name, cells in counts]
    if not any(cells["abstained"] + cells["answered"] for cells in totals.abstention.values()):
        rows = []
    return Table(("cases", ">abstained", ">answered", ">errors", ">unknown"), rows)


def _reranking(totals: Aggregate) -> Table:
    rows: list[Row] = []
    for key, found in totals.rerank.items():
        interval = interval_text(found.low, found.high)
        delta, moved = f"{found.delta:+.3f}", f"{found.improved}/{found.worsened}"
        rows.append((key, found.n, found.before, found.after, delta, interval, moved))
    return Table(("reranking", ">n", ">before", ">after", ">delta", ">95% CI", ">+/-"), rows)


def verdict_lines(document: Mapping[str, Any], reliability: Sequence[str]) -> Iterator[Block]:
    """Yield the table of answers that were judged again."""
    yield paragraph(
        f"run {document['run_id']}   judge {document['judge']}   "
        f"{document['verdicts']} verdicts, {document['failures']} failed"
    )
    apart = document["correctness_by_reference"] or {}
    rows: list[Row] = []
    for key, found in document["statistics"].items():
        before = document["before"].get(key, {}).get("mean")
        rows.append((*_judged_row(key, found), before))
        if key == "correctness":
            rows += [(*_judged_row(f"  {PARTS[name]}", one), "") for name, one in apart.items()]
    yield Table(("metric", ">n", ">errors", ">value", ">95% CI", ">before"), rows)
    found = document["outcomes"]
    counts = (f"{found[name]} {name}" for name in CASE_OUTCOMES.values() if found[name])
    yield Fact("cases", ", ".join(counts))
    for line in reliability:
        yield Fact("judge", line)
    if usage := document["usage"]:
        tokens = usage["prompt_tokens"] + usage["completion_tokens"]
        yield Fact("cost", _spent(usage["cost_usd"], tokens))
    yield Fact("saved", document["saved"])


def _judged_row(name: str, found: Mapping[str, Any]) -> tuple[CellValue, ...]:
    interval = interval_text(found["low"], found["high"])
    return name, found["n"], found["n_error"], found["mean"], interval


def _spent(usd: float | None, tokens: int) -> str:
    return f"{'price unknown' if usd is None else f'${usd:.4f}'}, {tokens} tokens"


_NAME: Final = 40


def review_blocks(found: ReviewFindings) -> Iterator[Block]:
    """Yield what all readers found, one after the other."""
    for figures in found.figures:
        yield Group(figures.reviewer, [*figures_blocks(figures)])
    yield from agreement_facts(found.agreement)


def figures_blocks(figures: ReviewFigures) -> Iterator[Block]:
    """Yield what one reader found."""
    said = ", ".join(f"{n} {word}" for word, n in figures.verdicts.items())
    blind = part(", {} of them blind", figures.n_blind)
    read = f"{figures.n_read} of {counted(figures.n_answers, 'answer')}: {said}{blind}"
    yield Fact("read", read)
    weighted = ", weighted by the requests that each stands for" if figures.weighted else ""
    skipped = part(", {} skipped", figures.n_random - figures.failed.n)
    sample = f"{figures.n_random} of them, drawn at random{skipped}"
    yield Fact("sample", f"{sample}; shares count these alone{weighted}")
    yield Fact("failed", share_text(figures.failed))
    if figures.categories:
        yield category_table(figures)
    yield Fact("", saturation_text(figures))
    if figures.stages:
        yield stage_table(figures.stages)
        yield Fact("", "wrong: the reader passes what our stage failed, or the reverse, or sees "
                       "the fault in another part")  # fmt: skip


def share_text(share: Share) -> str:
    """Return a share with its interval and counts."""
    if share.value is None:
        return "no answer of the random sample is read"
    interval = interval_text(share.low, share.high)
    return f"{format_value(share.value)} {interval} ({_counts(share)})"


def _counts(share: Share) -> str:
    return f"{share.k} of {share.n}"


def category_table(figures: ReviewFigures) -> Table:
    """Return categories with our stages of their answers, and their share of the random sample."""
    scored = any(one.by_stage.keys() - {"unscored"} for one in figures.categories)
    rows: list[Row] = [
        (
            clean(one.name, _NAME),
            one.n,
            _counts(one.share),
            one.share.value,
            interval_text(one.share.low, one.share.high),
            *([_stages(one.by_stage)] if scored else ()),
        )
        for one in figures.categories
    ]
    ours = ("our stages",) if scored else ()
    return Table(("category", ">read", ">in sample", ">share", ">95% CI", *ours), rows)


def _stages(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{n} {stage}" for stage, n in ordered)


def saturation_text(figures: ReviewFigures) -> str:
    """Return how many answers brought no new category."""
    n = figures.since_new
    if open_ones := sum(one.n for one in figures.categories if one.name == NO_CATEGORY):
        return f"{counted(open_ones, 'failed answer')} without a category, which may be a new one"
    if figures.saturated:
        return f"no new category in the last {n}: more reading brings little"
    return f"no new category in the last {n}; read on until it is {ENOUGH}"


def stage_table(stages: Iterable[StageFigure]) -> Table:
    """Return how often the reader contradicts our stages."""
    rows: list[Row] = [
        (
            one.stage,
            _counts(one.wrong),
            one.wrong.value,
            interval_text(one.wrong.low, one.wrong.high),
        )
        for one in stages
    ]
    return Table(("our stage", ">wrong in sample", ">share", ">95% CI"), rows)


def agreement_facts(found: Iterable[ReviewAgreement]) -> Iterator[Fact]:
    """Yield how far readers agree."""
    for one in found:
        kappa = part(", kappa {}", one.kappa is not None and format_value(one.kappa))
        yield Fact("agreed", f"{one.first} and {one.second}: {share_text(one.agreed)}{kappa}")
