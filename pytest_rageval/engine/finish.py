"""The end of a run for every source of records: numbers, gate and files.

A stored run is decided again in the same way, without a network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_rageval.analysis.gate.decide import NO_BASELINE, decide_gate
from pytest_rageval.analysis.trust.reliability import JudgeLabels
from pytest_rageval.analysis.two_runs import (
    Baseline,
    RunComparison,
    RunNumbers,
    as_baseline,
    compare_runs,
    gate_run,
    run_numbers,
)
from pytest_rageval.engine.own_metrics import run_notes, run_scores
from pytest_rageval.engine.parts import reported_cases, selection_of
from pytest_rageval.engine.registry import registry_for_runs
from pytest_rageval.engine.sections import section_documents
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.definitions import stored_registry
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.project.threshold_keys import KnownNames
from pytest_rageval.project.thresholds import project_thresholds
from pytest_rageval.report.markdown.sections import render_sections
from pytest_rageval.report.markdown.summary import render_markdown
from pytest_rageval.report.target_faults import chunk_sentences
from pytest_rageval.report.view.next_commands import RunCommands
from pytest_rageval.report.view.summary import SummaryView
from pytest_rageval.runs.read import decided_run, read_compared
from pytest_rageval.runs.store import (
    REPORT,
    SECTIONS,
    RunWriter,
    resolve_run,
    write_document,
    write_numbers,
    write_text_document,
    write_versioned,
)
from pytest_rageval.runs.tags import BASELINE_TAG, read_tags
from pytest_rageval.support.files import shown_below
from pytest_rageval.support.text import clean
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.gate import (
    BaselineInfo,
    GateResult,
    Selection,
    Thresholds,
    needs_baseline,
)
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.settings import Settings, is_tag


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRun:
    """A run with all of its records, and the values on which its numbers and gate depend."""

    run: StoredRun
    """The run, with its records and its ``config.json``."""
    project: Settings
    """Settings of the project: its folders and the baseline."""
    thresholds: Thresholds = field(default_factory=Thresholds)
    selection: Selection = field(default_factory=lambda: Selection(n_selected=0, n_total=0))
    n_expected: int = 0
    """Number of cases that the run should have reported."""
    n_reported: int = 0
    parts: Sequence[str] = ()
    """Ids of the runs that it was merged from, which are not compared with it."""
    labels: JudgeLabels | None = None
    """Scores by people, which correct judged means; None: there are none."""
    registry: Registry = BUILT_IN
    """The metrics of the project, with its functions."""
    every: Sequence[CaseRecord] | None = None
    """All records, where the run holds a part of them."""

    def with_run_metrics(self) -> EndedRun:
        """Return it with the project's metrics of the whole run."""
        found = run_scores(
            self.registry,
            self.run.records if self.every is None else self.every,
            stored_registry(self.run.config),
            self.project,
        )
        return replace(self, run=replace(self.run, own_figures=found))

    def sections(self, run: StoredRun) -> list[dict[str, Any]]:
        """Compute the sections of the project over a run with its numbers."""
        whole = run if self.every is None else replace(run, records=self.every)
        return section_documents(self.registry, whole, self.project)

    def numbers(self) -> RunNumbers:
        """Compute the numbers of the run.

        Raises:
            DatasetError: a label matches several cases.
        """
        return run_numbers(self.run, confidence=self.thresholds.confidence, labels=self.labels)

    def baseline(self, numbers: RunNumbers) -> Baseline | None:
        """Compare the run with its baseline; an error of reading it becomes the problem.

        Returns:
            None if no setting and no check needs a baseline.
        """
        name = self.project.baseline or self.thresholds.baseline
        if name is None:
            asked = any(map(needs_baseline, self.thresholds.checks))
            return Baseline(info=BaselineInfo(problem=NO_BASELINE)) if asked else None
        try:
            base = self._read_baseline(name)
        except StorageError as error:
            # Local paths are useless on another machine, where gate.json may be read.
            reason = str(error).replace(f"{Path(self.project.rootdir)}/", "")
            problem = f"no baseline: {reason}"
            if is_tag(name, new=True):
                problem += f"; make one with `rageval runs tag RUN {name}`"
            return Baseline(info=BaselineInfo(name=name, problem=problem))
        found = compare_runs(base, self.run, thresholds=self.thresholds)
        return as_baseline(found, self.thresholds, name=name, numbers=numbers)

    def _read_baseline(self, name: str) -> StoredRun:
        rootdir, run_id = Path(self.project.rootdir), self.run.run_id
        results = self.project.results_folder
        folder = resolve_run(results, name, exclude=run_id, relative_to=rootdir)
        if folder.name in {run_id, *self.parts} and folder.parent == results:
            part = "" if folder.name == run_id else "a part of "
            raise StorageError(f"run {name!r} is {part}the run that is to be compared")
        return read_compared(folder, results, texts=False)

    def decide(self, baseline: Baseline | None, numbers: RunNumbers) -> GateResult:
        """Decide the run against thresholds.toml and a baseline."""
        return decide_gate(
            self.thresholds,
            gate_run(self.run, confidence=self.thresholds.confidence, numbers=numbers),
            self.selection,
            n_expected=self.n_expected,
            n_reported=self.n_reported,
            baseline=baseline,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EndWords:
    """Parts of a summary that are not in the numbers or the gate."""

    wall_s: float | None
    """Duration to show, in seconds; None: not known."""
    notes: Sequence[str] = ()
    judge_causes: Sequence[str] = ()
    """Causes of failed verdicts; also in ``notes``."""
    gave_up: str = ""
    """The reason why the rest of the cases was not asked; empty: all were."""
    resume: str = ""
    """Command that continues the run, shown where it is not complete."""
    rerun: str = "pytest --lf"
    """Command that asks again what did not pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """Everything that reporting needs once a run has ended."""

    run: StoredRun
    view: SummaryView
    gate: GateResult
    summary: str
    """The content of ``summary.md``."""
    comparison: RunComparison | None = None
    """With the baseline; None: there is none."""


def finish_run(
    ended: EndedRun,
    writer: RunWriter,
    words: EndWords,
    *,
    numbers: RunNumbers | None = None,
    decided: GateResult | None = None,
) -> FinishedRun:
    """Compute the numbers of a run, decide it, and write its documents; its page is separate.

    Args:
        ended: the run.
        writer: of its folder, with the records already written.
        words: of its summary.
        numbers: of the run, if they were computed while the records arrived.
        decided: result of a gate that is not to be evaluated; None: it is.

    Raises:
        DatasetError: a label matches several cases.
        StorageError: a document cannot be written.
    """
    ended = ended.with_run_metrics()
    known = numbers or ended.numbers()
    baseline = ended.baseline(known) if decided is None else None
    gate = decided or ended.decide(baseline, known)
    run = ended.run
    numbers_of_run = replace(
        known.aggregate,
        judge_reliability=known.reliability.document(),
        run_metrics=run.own_figures,
    )
    run = replace(run, aggregate=numbers_of_run, gate=gate)
    view = SummaryView(
        run=run,
        aggregate=known.aggregate,
        gate=gate,
        wall_s=words.wall_s,
        judge=clean(run.judge or "none", 120),
        folder=shown_below(run.folder, Path(ended.project.rootdir)),
        notes=[*words.notes, *filter(None, [run.saturation]), *run_notes(run)],
        judge_causes=words.judge_causes,
        reply_faults=tuple(chunk_sentences(run.records, run.settings, run.config.asked)),
        confidence=ended.thresholds.confidence,
        reliability=known.reliability,
        gave_up=words.gave_up,
        resume="" if gate.complete else words.resume,
        commands=replace(
            _commands(ended, gate, words.rerun),
            new=frozenset() if baseline is None else baseline.worse,
        ),
        changes={} if baseline is None else baseline.changes,
        registry=stored_registry(run.config),
    )
    run = replace(run, sections=ended.sections(run))
    summary = render_markdown(view) + render_sections(run.sections)
    _write_documents(writer.path, run)
    write_text_document(writer.path, "summary.md", summary)
    comparison = None if baseline is None else baseline.comparison
    return FinishedRun(run=run, view=view, gate=gate, summary=summary, comparison=comparison)


def _write_documents(folder: Path, run: StoredRun) -> None:
    if run.sections:
        write_versioned(folder, SECTIONS, {"sections": list(run.sections)})
    write_document(folder, "config.json", run.config)
    assert run.aggregate is not None
    write_numbers(folder, run.aggregate)
    write_document(folder, "gate.json", run.gate)


def _commands(ended: EndedRun, gate: GateResult, rerun: str) -> RunCommands:
    """Return the names by which commands take the run."""
    project, selection = ended.project, ended.selection
    if project.origins.get("results_dir") == "flag":  # commands look for runs elsewhere
        return RunCommands(name=shown_below(ended.run.folder, Path(project.rootdir)), rerun=rerun)
    return RunCommands(
        rerun=rerun,
        may_become_baseline=gate.verdict == "pass"
        and 0 < selection.n_total == selection.n_selected
        and (project.baseline or ended.thresholds.baseline) is None
        and BASELINE_TAG not in read_tags(project.results_folder),
    )


def with_page(finished: FinishedRun) -> FinishedRun:
    """Write the page of a run and name it, or the reason why it is not written, in the summary."""
    view = finished.view
    problem = write_page(finished.run, finished.comparison)
    if problem:
        return replace(finished, view=replace(view, notes=[*view.notes, problem]))
    return replace(finished, view=replace(view, report=f"{view.folder}/{REPORT}"))


def write_page(run: StoredRun, comparison: RunComparison | None = None) -> str:
    """Write ``report.html`` of a run that has just ended.

    Returns:
        A sentence with the reason why it is not written; empty: it is.
    """
    try:
        from pytest_rageval.report.html.run.files import write_report

        write_report(run, comparison)
    except Exception as error:  # a page that fails must not fail the run
        return f"{REPORT} was not written: {type(error).__name__}: {error}"
    return ""


def open_gate(folder: Path, project: Settings, *, gates: Sequence[str] = ()) -> EndedRun:
    """Read a stored run, with the gate of the project for its cases (``gate_of``).

    Raises:
        ConfigError: thresholds.toml is wrong.
        StorageError: the run cannot be read.
    """
    run = read_compared(folder, project.results_folder, texts=False)
    return gate_of(run, project, gates=gates)


def gate_of(run: StoredRun, project: Settings, *, gates: Sequence[str] = ()) -> EndedRun:
    """Return a run with the gate of the project for its cases.

    Args:
        run: with its records.
        project: the settings of today.
        gates: further ``--gate`` expressions, which win over those of the project and the run.

    Raises:
        ConfigError: thresholds.toml is wrong.
    """
    thresholds = project_thresholds(
        project,
        gates=(*all_gates(project, [run]), *gates),
        judge_configured=run.settings.judged,
        # A check of a group or of a conftest.py's metric that is newer than the run has no data.
        known=KnownNames(registry=registry_for_runs(project, run.config), more=True),
    )
    n_expected, n_reported = _counts(run)
    return EndedRun(
        run=decided_run(run, thresholds.judged_on),
        project=project,
        thresholds=thresholds,
        selection=_selection(run),
        n_expected=n_expected,
        n_reported=n_reported,
    )


def all_gates(project: Settings, runs: Sequence[StoredRun]) -> tuple[str, ...]:
    """Return the ``--gate`` expressions of the project, then those stored with the runs."""
    stored = [gate for run in runs for gate in run.config.settings.extra_gates]
    return tuple(dict.fromkeys([*project.extra_gates, *stored]))


def _counts(run: StoredRun) -> tuple[int, int]:
    """Return the numbers of expected and stored cases of the run."""
    gate = run.gate
    if gate is not None and gate.n_expected is not None and gate.n_reported is not None:
        # Damaged lines may have been taken out since.
        return gate.n_expected, min(gate.n_reported, len(reported_cases([run], run.records)))
    # A run that was killed has no gate; all cases of the files asked for were expected.
    return max(run.config.set.n_asked, run.n_cases), run.n_cases


def _selection(run: StoredRun) -> Selection:
    if run.config.set.hash is not None:
        return selection_of([run], run.records)
    # The run does not store its set, so its cases count as the whole.
    cases = {(r.file, r.case.id): r.case for r in run.records}.values()
    return Selection.of(cases, cases)
