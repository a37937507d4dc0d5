"""Several runs put together into one: their records in, numbers, a verdict and files out."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.analysis.gate.decide import decide_gate
from pytest_rageval.analysis.gate.figures import GateRun
from pytest_rageval.analysis.trust.reliability import JudgeLabels, judge_reliability
from pytest_rageval.analysis.two_runs import RunComparison, RunSide
from pytest_rageval.engine.baseline import Baseline, against_baseline
from pytest_rageval.engine.judge_notes import judge_notes
from pytest_rageval.engine.parts import (
    RunPart,
    missing_shards,
    put_together,
    reported_cases,
    selection_of,
    skipped_cases,
)
from pytest_rageval.judges.spot_check import DISAGREEMENT
from pytest_rageval.project.case_reader import dataset_hash
from pytest_rageval.project.options import SETTINGS
from pytest_rageval.project.thresholds import project_thresholds
from pytest_rageval.report.markdown.summary import render_markdown
from pytest_rageval.report.text.summary import SummaryView
from pytest_rageval.runs.documents import RunFacts, gate_document
from pytest_rageval.runs.metrics_document import metrics_document
from pytest_rageval.runs.store import RunWriter, new_run_id
from pytest_rageval.values.gate import GateResult, needs_baseline
from pytest_rageval.values.record import SCHEMA_VERSION, CaseRecord
from pytest_rageval.values.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedRun:
    """What came of putting runs together."""

    view: SummaryView
    gate: GateResult
    metrics_document: Mapping[str, Any]
    gate_document: Mapping[str, Any]
    comparison: RunComparison | None = None
    """The run held against its baseline; None: there is none."""


def merge_parts(
    parts: Sequence[RunPart],
    project: Settings,
    *,
    run_id: str | None = None,
    labels: JudgeLabels | None = None,
) -> MergedRun:
    """Write the run that the parts make up, and decide the gate of the project over it.

    Args:
        parts: at least one; ``refuse_different`` has nothing against them.
        project: where thresholds.toml and the results are.
        run_id: name of the new run; None: time and chance name it.
        labels: people's labels of some cases; None: there are none.

    Raises:
        ConfigError: thresholds.toml is wrong.
        StorageError: the name is taken, or the folder cannot be written.
    """
    return _Merging(parts, project, run_id=run_id, labels=labels).write()


class _Merging:
    def __init__(
        self,
        parts: Sequence[RunPart],
        project: Settings,
        *,
        run_id: str | None,
        labels: JudgeLabels | None,
    ) -> None:
        self.parts, self.project = parts, project
        self.now = datetime.now(UTC)
        self.run_id = run_id or new_run_id(self.now, secrets.token_hex(2))
        self.records = put_together(parts)
        self.settings = parts[0].settings
        stored = parts[0].config["settings"]
        told = parts[0].set
        gates = [g for part in parts for g in part.config["settings"].get("extra_gates") or ()]
        self.thresholds = project_thresholds(
            Path(project.rootdir),
            gates=tuple(dict.fromkeys([*project.extra_gates, *gates])),
            judge_configured=self.settings.judge != "none",
            categories=set(told.get("by_category") or ()),
            tags=set(told.get("by_tag") or ()),
            allow_regressions=project.allow_regressions,
        )
        self.timeout_ms = float(stored["target"]["timeout_s"]) * 1000
        self.reliability = judge_reliability(
            self.records, labels, confidence=self.thresholds.confidence
        )
        self.numbers = aggregate(
            self.records,
            confidence=self.thresholds.confidence,
            timeout_ms=self.timeout_ms,
            path_case=self.settings.path_case,
        )

    def write(self) -> MergedRun:
        baseline = self._baseline()
        gate = self._gate(baseline)
        writer = RunWriter(Path(self.project.rootdir) / self.project.results_dir, self.run_id)
        try:
            with writer:
                writer.rewrite(self.records)
                changes = {} if baseline is None else baseline.changes
                view = replace(self._view(gate), changes=changes)
                metrics = self._metrics_document()
                decision = gate_document(gate, self.run_id)
                writer.write_json("config.json", self._config_document())
                writer.write_json("metrics.json", metrics)
                writer.write_json("gate.json", decision)
                writer.write_text("summary.md", render_markdown(view))
        except BaseException:
            writer.discard()
            raise
        return MergedRun(
            view=view,
            gate=gate,
            metrics_document=metrics,
            gate_document=decision,
            comparison=None if baseline is None else baseline.comparison,
        )

    def _figures(self) -> dict[str, float]:
        figures = {}
        if self.reliability.disagreement_rate is not None:
            figures[DISAGREEMENT] = self.reliability.disagreement_rate
        if (wall_s := self._wall_s()) is not None:
            figures["suite_wall_s"] = wall_s
        return figures

    def _baseline(self) -> Baseline | None:
        """Hold the whole run against the baseline; None: nobody wants it to be."""
        name = self.project.baseline or self.thresholds.baseline
        if name is None and not any(map(needs_baseline, self.thresholds.checks)):
            return None
        rootdir = Path(self.project.rootdir)
        return against_baseline(
            name,
            RunSide(run_id=self.run_id, records=self.records, config=self._config_document()),
            self.thresholds,
            rootdir / self.project.results_dir,
            new_run=GateRun(
                aggregate=self.numbers,
                records=tuple(self.records),
                confidence=self.thresholds.confidence,
                timeout_ms=self.timeout_ms,
                extra_figures=self._figures(),
            ),
            relative_to=rootdir,
            parts=[part.run_id for part in self.parts],
        )

    def _gate(self, baseline: Baseline | None) -> GateResult:
        return decide_gate(
            self.thresholds,
            self.numbers,
            records=self.records,
            selection=selection_of(self.parts, self.records),
            n_expected=int(self.parts[0].set.get("n_asked") or 0),
            n_reported=len(reported_cases(self.parts, self.records)),
            judge_configured=self.settings.judge != "none",
            retrieval_only=self.settings.retrieval_only,
            baseline=None if baseline is None else baseline.differences,
            baseline_info=None if baseline is None else baseline.info,
            timeout_ms=self.timeout_ms,
            extra_figures=self._figures(),
        )

    def _wall_s(self) -> float | None:
        """Return the time of the part that took longest; None: one of them does not say."""
        found = [part.config.get("wall_s") for part in self.parts]
        times = [float(t) for t in found if isinstance(t, int | float)]
        return max(times) if len(times) == len(found) else None

    def _view(self, gate: GateResult) -> SummaryView:
        names = ", ".join(part.run_id for part in self.parts)
        notes = [f"put together from {names}"]
        lacking = missing_shards(self.parts)
        if lacking:
            notes.insert(0, f"shard {', '.join(lacking)} is missing")
        notes += judge_notes(self.records, self.project)
        return SummaryView(
            run_id=self.run_id,
            aggregate=self.numbers,
            gate=gate,
            records=self.records,
            wall_s=self._wall_s() or 0.0,
            judge=self.settings.judge,
            folder=f"{self.project.results_dir}/{self.run_id}",
            notes=notes,
            confidence=self.thresholds.confidence,
            reliability=self.reliability,
            rerun=f"pytest --rageval-failed-from {self.run_id}",
        )

    def _git(self) -> dict[str, Any]:
        """Return what all parts say of the repository."""
        first = dict(self.parts[0].config.get("git") or {})
        others = [part.config.get("git") or {} for part in self.parts[1:]]
        return {k: v if all(o.get(k) == v for o in others) else None for k, v in first.items()}

    def _dataset_hash(self) -> str:
        hashes = {(r.file, r.case_id): r.case_hash for r in self.records}
        return dataset_hash(hashes.values())

    def _metrics_document(self) -> dict[str, Any]:
        git = self._git()
        return metrics_document(
            self.numbers,
            run_id=self.run_id,
            timestamp=self.now.isoformat(timespec="seconds"),
            config_hash=self.parts[0].config.get("config_hash"),
            dataset_hash=self._dataset_hash(),
            eval_set_commit_hash=git.get("eval_set_commit"),
            dirty=git.get("dirty"),
            judge_reliability=self.reliability.document(),
        )

    def _config_document(self) -> dict[str, Any]:
        facts = _facts(self.records)
        first = dict(self.parts[0].config)
        of_a_part = [setting.name for setting in SETTINGS if setting.role == "part"]
        settings = {**first["settings"], **dict.fromkeys(of_a_part)}
        hashed = self._dataset_hash()
        return {
            **first,
            "schema_version": SCHEMA_VERSION,
            "run_id": self.run_id,
            "timestamp": self.now.isoformat(timespec="seconds"),
            "dataset_hash": hashed,
            "dataset_version": settings.get("dataset_version") or hashed,
            "settings": settings,
            "judges": list(facts.judges.values()),
            "second_judges": list(facts.second_judges.values()),
            "target_models": dict(facts.models),
            "git": self._git(),
            "asked": _all_of(self.parts, "asked"),
            "skipped": sorted(skipped_cases(self.parts)),
            "sessions": _all_of(self.parts, "sessions"),
            "wall_s": self._wall_s(),
            "merged_from": [part.run_id for part in self.parts],
        }


def _facts(records: Sequence[CaseRecord]) -> RunFacts:
    facts = RunFacts()
    for record in records:
        facts.add(record)
    return facts


def _all_of(parts: Sequence[RunPart], key: str) -> list[str]:
    return sorted({str(value) for part in parts for value in part.config.get(key) or ()})
