"""The end of a run for every source of records: numbers, gate and files.

A stored run is decided again in the same way, without a network.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import case_names, group_repeats
from pytest_rageval.analysis.gate.decide import NO_BASELINE, decide_gate
from pytest_rageval.analysis.headline import headline_of
from pytest_rageval.analysis.trust.reliability import JudgeLabels, judge_reliability
from pytest_rageval.analysis.two_runs import (
    Baseline,
    RunComparison,
    as_baseline,
    compare_runs,
    with_numbers,
)
from pytest_rageval.engine.judging import judge_facts
from pytest_rageval.engine.own_code import (
    computed_sections,
    own_notes,
    registry_for_runs,
    run_scores,
)
from pytest_rageval.engine.parts import reported_cases, selection_of
from pytest_rageval.judges.calibrations import read_admissions
from pytest_rageval.metrics.built_in import BUILT_IN, stored_registry
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.project.option_values import is_below
from pytest_rageval.project.selecting import limits_of
from pytest_rageval.project.settings import missing_limits
from pytest_rageval.project.threshold_keys import KnownNames
from pytest_rageval.project.thresholds import project_thresholds
from pytest_rageval.report.faces.markdown import lines_of, render
from pytest_rageval.report.step_summary import LIMIT_BYTES, fit_markdown
from pytest_rageval.report.view.misses import RunCommands
from pytest_rageval.report.view.sections import section_groups
from pytest_rageval.report.view.summary import FinishedRun, view_of_run
from pytest_rageval.runs.baseline import FoundBaseline, find_baseline, find_last
from pytest_rageval.runs.index import put_into_index
from pytest_rageval.runs.list import is_partial, last_full_run
from pytest_rageval.runs.read import decided_run, read_compared
from pytest_rageval.runs.stability import LAST_RUNS, case_stability, runs_of_main
from pytest_rageval.runs.store import (
    REPORT,
    SECTIONS,
    RunWriter,
    list_runs,
    resolve_run,
    write_document,
    write_numbers,
    write_text_document,
)
from pytest_rageval.runs.tags import BASELINE_TAG, read_tags
from pytest_rageval.support.files import shown_below
from pytest_rageval.support.text import counted, first_few
from pytest_rageval.values.errors import ConfigError, StorageError
from pytest_rageval.values.gate import (
    BaselineInfo,
    GateResult,
    Selection,
    Thresholds,
    needs_baseline,
)
from pytest_rageval.values.headline import Headline, Pattern
from pytest_rageval.values.own_code import ShownSections
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.settings import AUTO, LAST, Settings, is_tag

_SUMMARY_LINES: Final = 59
"""Most lines of ``summary.md`` before the sections of the project."""
_UNSTABLE_SHOWN: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRun:
    """A run with all of its records, and the values on which its numbers and gate depend."""

    run: StoredRun
    """The run with its ``config.json``; numbers and a gate that it has are not made again."""
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
    """Scores by people, which correct judged means; None if absent."""
    registry: Registry = BUILT_IN
    """The metrics of the project, with its functions."""
    every: Sequence[CaseRecord] | None = None
    """All records, where the run holds a part of them."""
    notes: Sequence[str] = ()
    """Remarks for the user besides those on its records."""
    gave_up: str = ""
    """The reason why the rest of the cases was not asked; empty: all were."""
    resume: str = ""
    """Command that continues the run, shown where it is not complete."""
    rerun: str = "pytest --lf"
    """Command that asks again what did not pass."""

    def stopped(self) -> EndedRun:
        """Return it with the gate of a session that was stopped, which is not evaluated."""
        n, total = self.n_reported, self.n_expected
        why = "the session was stopped"
        if n < total:  # cases in flight have their records
            why = f"the session ended after {n} of {counted(total, 'case')}"
        gate = GateResult(
            verdict="not_evaluated",
            sentence=f"not evaluated: {why}",
            reason=why,
            complete=False,
            n_expected=total,
            n_reported=n,
            confidence=self.thresholds.confidence,
        )
        return replace(self, run=replace(self.run, gate=gate))

    def with_numbers(self) -> EndedRun:
        """Return it with the numbers of its run, computed from the records."""
        return replace(self, run=with_numbers(self.run, confidence=self.thresholds.confidence))

    def baseline(self) -> Baseline | None:
        """Compare the run with its baseline; an error of reading it becomes the problem.

        Returns:
            None if no setting and no check needs a baseline.
        """
        name = self.project.baseline or self.thresholds.baseline
        if name is None:
            asked = any(map(needs_baseline, self.thresholds.checks))
            return Baseline(info=BaselineInfo(problem=NO_BASELINE)) if asked else None
        found = FoundBaseline()
        try:
            if name == LAST:
                found = find_last(self.run, self.project, parts=self.parts)
            elif name == AUTO:
                found = find_baseline(self.run, self.project, parts=self.parts)
                if found.folder is None:
                    problem = None if found.choice is None else found.choice.problem
                    info = BaselineInfo(name=AUTO, problem=problem, choice=found.choice)
                    return Baseline(info=info)
                name = found.folder.name
            base = self._read_baseline(name, found.folder)
        except StorageError as error:
            # Local paths are useless on another machine, where gate.json may be read.
            reason = str(error).replace(f"{Path(self.project.rootdir)}/", "")
            problem = reason
            if is_tag(name, new=True):
                problem += f"; make one with `rageval runs tag RUN {name}`"
            return Baseline(info=BaselineInfo(name=name, problem=problem))
        compared = compare_runs(
            base, self.run, thresholds=self.thresholds, name=base.run_id if found.folder else name
        )
        made = as_baseline(compared, self.thresholds, name=name)
        return replace(made, info=replace(made.info, choice=found.choice))

    def _read_baseline(self, name: str, folder: Path | None) -> StoredRun:
        rootdir, run_id = Path(self.project.rootdir), self.run.run_id
        results = self.project.results_folder
        folder = folder or resolve_run(results, name, exclude=run_id, relative_to=rootdir)
        if folder.name in {run_id, *self.parts} and folder.parent == results:
            raise StorageError.of("", "same_run", run=name)
        return read_compared(folder, results, texts=False)

    def decide(self, baseline: Baseline | None) -> GateResult:
        """Decide the run, which has its numbers, against thresholds.toml and a baseline."""
        decided = decide_gate(
            self.thresholds,
            self.run,
            self.selection,
            n_expected=self.n_expected,
            n_reported=self.n_reported,
            baseline=baseline,
            admissions=read_admissions(self.project),
        )
        headline = self._headline(baseline)
        patterns = (*self._unstable(), *headline.patterns)
        return replace(decided, headline=replace(headline, patterns=patterns))

    def _unstable(self) -> Iterator[Pattern]:
        """Yield the failing cases that were unstable on the main branch already."""
        cases = [case for case in group_repeats(self.run.records) if case.first.counted]
        failing = {case.first.nodeid for case in cases if case.worst not in {"passed", "unchecked"}}
        if not failing:
            return
        try:
            main, runs = runs_of_main(self.project, self.run)
            found = [one for one in case_stability(runs) if one.unstable]
        except StorageError:  # of another run, which commands name that read it
            return
        names = case_names(self.run.records)
        cases_now = [
            f"{names[one.nodeid]} passed {100 * one.rate:.0f} %"
            for one in found
            if one.nodeid in failing
        ]
        if cases_now:
            shown = first_few(cases_now, _UNSTABLE_SHOWN)
            n = min(len(runs), LAST_RUNS)
            yield Pattern(code="unstable", facts={"runs": n, "main": main, "cases": shown})

    def _headline(self, baseline: Baseline | None) -> Headline:
        """Return what is new since the baseline, or else since the last full run of the set."""
        if baseline is not None and baseline.comparison and baseline.info.problem is None:
            return baseline.comparison.headline
        results, own = self.project.results_folder, {self.run.run_id, *self.parts}
        earlier = last_full_run([one for one in list_runs(results) if one.name not in own])
        if earlier is not None:
            with suppress(StorageError):
                base = read_compared(earlier, results, texts=False)
                found = compare_runs(base, self.run, thresholds=self.thresholds)
                if found.comparable and 2 * found.n_paired > self.run.n_cases:
                    return found.headline
        return headline_of(self.run.records)


def finish_run(ended: EndedRun, writer: RunWriter, *, index: bool = False) -> FinishedRun:
    """Compute the numbers of a run, decide it, and write its documents, then its page.

    Args:
        ended: the run.
        writer: of its folder, with the records already written; closed at the end.
        index: whether the run is put into the index of runs, where one is configured.

    Raises:
        DatasetError: a label matches several cases.
        StorageError: a document cannot be written.
    """
    run, project, sure = ended.run, ended.project, ended.thresholds.confidence
    records = run.records if ended.every is None else ended.every
    reliability = judge_reliability(run.records, ended.labels, confidence=sure)
    if run.aggregate is None:
        run = with_numbers(run, confidence=sure, reliability=reliability)
    own = run_scores(ended.registry, records, stored_registry(run.config), project)
    run = replace(run, aggregate=replace(run.numbers, run_metrics=own))
    gate, baseline = run.gate, None
    if gate is None:
        numbered = replace(ended, run=run)
        baseline = numbered.baseline()
        gate = numbered.decide(baseline)
    run = replace(run, gate=gate)
    sections = computed_sections(ended.registry, replace(run, records=records), project)
    run = replace(run, sections=sections)
    judged = judge_facts(run.records)
    finished = FinishedRun(
        run=run,
        changes={} if baseline is None else baseline.changes,
        reliability=reliability,
        folder=shown_below(run.folder, Path(project.rootdir)),
        notes=[
            *ended.notes,
            *judged.notes(project),
            *(read_admissions(project).problems if run.settings.judged else ()),
            *own_notes(records),
            *filter(None, [run.saturation]),
            *(f"{key}: {reason}" for key, reason in run.run_metric_reasons.items()),
        ],
        judge_causes=judged.causes(),
        gave_up=ended.gave_up,
        resume="" if gate.complete else ended.resume,
        commands=_commands(ended, gate, baseline),
    )
    summary = fit_markdown(render(view_of_run(finished)), LIMIT_BYTES, _SUMMARY_LINES)
    summary += "".join(f"{line}\n" for line in lines_of(section_groups(sections)))
    if sections:
        write_document(writer.path, SECTIONS, ShownSections(sections=sections))
    write_document(writer.path, "config.json", run.config)
    write_numbers(writer.path, run.numbers)
    write_document(writer.path, "gate.json", gate)
    write_text_document(writer.path, "summary.md", summary)
    problems = []
    if not project.no_report:
        problems.append(write_page(run, None if baseline is None else baseline.comparison))
    writer.close()
    if index:
        problems.append(put_into_index([run.run_id], project, os.environ) or "")
    page = "" if project.no_report or problems[0] else f"{finished.folder}/{REPORT}"
    notes = [*finished.notes, *filter(None, problems)]
    return replace(finished, summary=summary, report=page, notes=notes)


def _commands(ended: EndedRun, gate: GateResult, baseline: Baseline | None) -> RunCommands:
    """Return the names by which commands take the run and its baseline."""
    project, selection = ended.project, ended.selection
    base = ""
    if baseline is not None and baseline.comparison is not None and not baseline.info.problem:
        folder, base = baseline.comparison.base.folder, baseline.info.name or ""
        if base.startswith(LAST):  # now `last` is this run
            base = folder.name
        if baseline.info.choice is not None and folder.parent != project.results_folder:
            base = ""  # in an archive, or a folder that commands do not look in
    if project.origins.get("results_dir") == "flag":  # commands look for runs elsewhere
        name = shown_below(ended.run.folder, Path(project.rootdir))
        return RunCommands(name=name, baseline=base, rerun=ended.rerun)
    return RunCommands(
        baseline=base,
        rerun=ended.rerun,
        may_become_baseline=gate.verdict == "pass"
        and 0 < selection.n_total == selection.n_selected
        and not is_partial(ended.run)
        and (project.baseline or ended.thresholds.baseline) is None
        and BASELINE_TAG not in read_tags(project.results_folder),
    )


def write_page(run: StoredRun, comparison: RunComparison | None = None) -> str:
    """Write ``report.html`` of a run that has just ended.

    Returns:
        A sentence with the reason why it is not written; empty: it is.
    """
    try:
        from pytest_rageval.report.html.run.page import write_report

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
    thresholds = thresholds_of([run], project, gates=gates)
    before, n = run.gate, len(reported_cases([run], run.records))
    if before is not None and before.n_expected is not None and before.n_reported is not None:
        # Damaged lines may have been taken out since.
        n_expected, n_reported = before.n_expected, min(before.n_reported, n)
    else:
        # A run that was killed has no gate; all cases of the files asked for were expected.
        n_expected, n_reported = max(run.config.set.n_asked, run.n_cases), run.n_cases
    if run.config.set.hash is not None:
        selection = selection_of([run], run.records)
    else:  # the run does not store its set, so its cases count as the whole
        cases = {(r.file, r.case.id): r.case for r in run.records}.values()
        selection = Selection.of(cases, cases)
    return EndedRun(
        run=decided_run(run, thresholds.judged_on),
        project=project,
        thresholds=thresholds,
        selection=selection,
        n_expected=n_expected,
        n_reported=n_reported,
    )


def thresholds_of(
    runs: Sequence[StoredRun], project: Settings, *, gates: Sequence[str] = ()
) -> Thresholds:
    """Return the gate of the project for stored runs, with the expressions stored with them.

    Args:
        runs: parts of one, or one alone.
        project: the settings of today.
        gates: further ``--gate`` expressions, which win over the others.

    Raises:
        ConfigError: thresholds.toml is wrong.
    """
    configs = [run.config for run in runs]
    stored = [gate for config in configs for gate in config.settings.extra_gates]
    first = configs[0]
    if first.settings.tier is not None and is_below(first.settings.thresholds):
        project = replace(project, thresholds=first.settings.thresholds)
        if fault := missing_limits(Path(project.rootdir), project.thresholds):
            raise ConfigError.of_faults([replace(fault, field=f"tier {first.settings.tier}")])
    found = project_thresholds(
        project,
        gates=(*dict.fromkeys([*project.extra_gates, *stored]), *gates),
        judge_configured=runs[0].settings.judged,
        # A check of a group or of a conftest.py's metric that is newer than the run has no data.
        known=KnownNames(registry=registry_for_runs(project, *configs), more=True),
    )
    if not first.settings.select:
        return found
    return limits_of(found, first.set.by_category, first.set.by_tag)
