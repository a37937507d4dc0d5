"""A run, its baseline and its history in; every value of the page out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_rageval.models import CaseRecord
from pytest_rageval.report_html.cases import CaseKey, CasesView, case_key, view_cases
from pytest_rageval.report_html.charts import forest_plot, latency_bars
from pytest_rageval.report_html.documents import items, part, text, value
from pytest_rageval.report_html.figures import (
    latency_rows,
    view_checks,
    view_cost,
    view_counts,
    view_heat_maps,
    view_latency,
    view_metrics,
)
from pytest_rageval.report_html.trend import changed, view_trend
from pytest_rageval.report_html.values import (
    CompareView,
    FlipView,
    ReportOptions,
    ReportView,
    RunFiles,
)

_VERDICTS: Final = frozenset({"pass", "fail", "not_evaluated"})
_FACTS: Final = (
    ("Begun", ("timestamp",)),
    ("Judge", ("judge",)),
    ("k", ("settings", "k")),
    ("Answers by", ("target_models", "llm_model")),
    ("Embeddings by", ("target_models", "embedding_model")),
    ("Index", ("index_build_version",)),
    ("Dataset", ("dataset_hash",)),
    ("Configuration", ("config_hash",)),
    ("Git commit", ("git", "commit")),
    ("Git branch", ("git", "branch")),
    ("pytest-rageval", ("versions", "pytest-rageval")),
)


def view_report(
    run: RunFiles,
    *,
    baseline: RunFiles | None = None,
    history: Sequence[RunFiles] = (),
    options: ReportOptions | None = None,
) -> ReportView:
    """Work out everything that the page shows.

    Args:
        run: what the page is about.
        baseline: the run that it is held against; None: none.
        history: the last runs of the results folder with this one, oldest first; their records
            are not needed.
        options: how much is shown.
    """
    chosen = options or ReportOptions()
    before = {} if baseline is None else {case_key(record): record for record in baseline.records}
    paired = _paired(run.records, before)
    cases = view_cases(run, chosen, baseline=paired)
    by_id: dict[str, str] = {}
    for (_, case_id, _), anchor in cases.anchors.items():
        by_id.setdefault(case_id, anchor)
    failed, others = view_checks(run.gate, by_id)
    metrics = view_metrics(run.metrics, run.gate, {} if baseline is None else baseline.metrics)
    headline = [row for row in metrics if row.headline]
    verdict = text(run.gate, "verdict")
    return ReportView(
        run_id=run.run_id,
        verdict=verdict if verdict in _VERDICTS else "unknown",
        sentence=text(run.gate, "sentence") or "The run holds no decision of the gate.",
        counts=view_counts(run.metrics),
        failed=failed,
        others=others,
        facts=tuple(_facts(run)),
        notes=(*run.notes, *(n for n in items(run.metrics, "warnings") if isinstance(n, str))),
        compare=None if baseline is None else _compare(run, baseline, paired, cases),
        metrics=metrics,
        forest=forest_plot(headline, baseline="" if baseline is None else baseline.run_id),
        heat_maps=view_heat_maps(run.metrics),
        trend=view_trend(history, run.run_id),
        latency=view_latency(run.metrics),
        latency_chart=latency_bars([*latency_rows(run.metrics)]),
        cost=view_cost(run.metrics, run.config),
        columns=cases.columns,
        cases=cases.rows,
        categories=tuple(sorted({row.category for row in cases.rows})),
        outcomes=tuple(o for o in _OUTCOMES if any(row.outcome == o for row in cases.rows)),
        n_hidden=cases.n_hidden,
        redacted=chosen.redact,
    )


_OUTCOMES: Final = ("error", "missed", "unchecked", "passed")


def _facts(run: RunFiles) -> Iterator[tuple[str, str]]:
    for name, path in _FACTS:
        found = text(run.config, *path)
        if found:
            yield name, found
    if value(run.config, "git", "dirty") is True:
        yield "Git tree", "had uncommitted changes"
    asked = [name for name in items(run.config, "asked") if isinstance(name, str)]
    if asked:
        yield "Asked", ", ".join(asked)


# --- baseline ----------------------------------------------------------------------------------


def _paired(
    records: Sequence[CaseRecord], before: Mapping[CaseKey, CaseRecord]
) -> dict[CaseKey, CaseRecord]:
    """Return the baseline's records of the same cases, asked alike."""
    return {
        case_key(record): found
        for record in records
        if (found := before.get(case_key(record))) is not None
        and found.case_hash == record.case_hash
    }


def _compare(
    run: RunFiles, baseline: RunFiles, paired: Mapping[CaseKey, CaseRecord], cases: CasesView
) -> CompareView:
    differing = changed(baseline.config, run.config)
    flips = [
        FlipView(
            anchor=row.anchor,
            case_id=row.case_id,
            direction=row.flip,
            before=paired[key].outcome,
            now=row.outcome,
        )
        for key, row in zip(cases.anchors, cases.rows, strict=True)
        if row.flip
    ]
    return CompareView(
        run_id=baseline.run_id,
        warnings=tuple(differing),
        flips=tuple(sorted(flips, key=lambda flip: flip.direction != "worse")),
        n_paired=len(paired),
        n_unpaired=len(run.records) - len(paired),
        facts=tuple(_differing_facts(run, baseline)),
    )


def _differing_facts(run: RunFiles, baseline: RunFiles) -> Iterator[tuple[str, str, str]]:
    for name, path in _FACTS[1:]:
        was, now = text(baseline.config, *path), text(run.config, *path)
        if was != now:
            yield name, was or "-", now or "-"
    old, new = part(baseline.config, "settings"), part(run.config, "settings")
    for name in sorted({*old, *new}):
        was, now = text(old, name), text(new, name)
        if was != now and name != "k":
            yield name, was or "-", now or "-"
