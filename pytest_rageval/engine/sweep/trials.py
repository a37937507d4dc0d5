"""The cases of a sweep, and its configurations asked as ordinary runs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_rageval.analysis.sweep.subsets import SweepCase
from pytest_rageval.engine.asking import CaseAsker, ask_runs
from pytest_rageval.engine.case import Clients
from pytest_rageval.engine.judging import rejudge
from pytest_rageval.engine.own_code import open_registry
from pytest_rageval.engine.preparing import (
    check_results_dir,
    check_target,
    read_labels,
    read_sets,
    refuse_select,
    run_thresholds,
)
from pytest_rageval.engine.run import RunRecorder
from pytest_rageval.engine.run_cases import by_attempt, is_finished
from pytest_rageval.engine.run_state import Breaker, RunState
from pytest_rageval.judges import spot_check
from pytest_rageval.judges.opening import check_offline
from pytest_rageval.metrics.scoring import (
    case_cluster,
    outside_population,
    reported_by,
    score_settings,
    settled_together,
)
from pytest_rageval.project.case_reader import by_nodeid, dataset_hash, item_of, other_file_note
from pytest_rageval.project.case_variables import sent_fields
from pytest_rageval.project.discovery import project_files
from pytest_rageval.project.documents import documents_path
from pytest_rageval.project.settings import no_target, stored_settings, target_kind
from pytest_rageval.report.view.progress import Progress
from pytest_rageval.runs.documents import redact
from pytest_rageval.runs.read import latest_records, read_documents
from pytest_rageval.runs.store import RESULTS, RunWriter, read_records, write_document
from pytest_rageval.support.in_flight import Slots, in_order
from pytest_rageval.support.process import Closing
from pytest_rageval.support.text import counted
from pytest_rageval.target.opening import configured_target
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import ConfigError, DatasetError, RagEvalError
from pytest_rageval.values.run import NO_CONFIG, RunConfig
from pytest_rageval.values.settings import Settings

if TYPE_CHECKING:
    from pytest_rageval.analysis.trust.reliability import JudgeLabels
    from pytest_rageval.judges.spot_check import CaseKey
    from pytest_rageval.metrics.registry import Registry
    from pytest_rageval.project.case_reader import LoadedSet, LocatedCase
    from pytest_rageval.values.gate import Thresholds
    from pytest_rageval.values.record import CaseRecord
    from pytest_rageval.values.run import StoredRun


class TargetGoneError(RagEvalError):
    """No connection to the target any more; what was measured is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepCases:
    """The cases of a sweep, and what its runs share."""

    cases: Mapping[str, LocatedCase]
    """By node id."""
    sets: Mapping[Path, LoadedSet]
    registry: Registry
    thresholds: Thresholds
    labels: JudgeLabels | None = None
    judged_twice: frozenset[CaseKey] = frozenset()

    def whole(self, nodeids: Iterable[str]) -> dict[str, LocatedCase]:
        """Return cases by node id in their order, with all turns of their conversations."""
        turns: dict[str, list[str]] = {}
        for nodeid, located in self.cases.items():
            turns.setdefault(item_of(nodeid, located.case), []).append(nodeid)
        items = dict.fromkeys(item_of(nodeid, self.cases[nodeid].case) for nodeid in nodeids)
        return {nodeid: self.cases[nodeid] for item in items for nodeid in turns[item]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One configuration, ready to be asked."""

    run_id: str
    settings: Settings
    """Of its questions; the results are below the folder of the sweep."""
    client: object
    """The target at the index of the configuration."""


@dataclass(slots=True, kw_only=True)
class SweepRuns(Closing):
    """Asks configurations; each one's run goes on where it stopped, also in another process.

    Runs stay open from rung to rung until they are finished or this is closed.
    """

    cases: SweepCases
    slots: Slots
    judge: object = None
    """None: no answer is judged."""
    second_judge: object = None
    step: str = ""
    """Work under way other than asking: ``3 of 40 answers judged``; empty: none."""
    _open: dict[str, RunRecorder] = field(default_factory=dict)
    _asked: tuple[RunRecorder, ...] = ()
    _before: int = 0

    def ask(
        self, trials: Sequence[Trial], nodeids: Sequence[str], *, judged: bool
    ) -> dict[str, StoredRun]:
        """Ask configurations some cases, unless their runs hold them.

        Args:
            trials: the configurations, in the order in which they are asked.
            nodeids: of the cases.
            judged: whether answers are judged; stored ones then are without being asked again.

        Returns:
            The runs so far, scored by what their targets are known to report.

        Raises:
            ConfigError: a run was made with other settings, or the judge cannot work.
            StorageError: a run cannot be read or written.
            TargetGoneError: there is no connection to the target.
        """
        wanted = self.cases.whole(nodeids)
        askers = []
        for trial in trials:
            # A sweep that goes on finds the answers of its finalists judged.
            with_judge = self.judge is not None and (judged or _is_judged(trial))
            run = self._run(trial, judged=with_judge)
            run.expect(wanted)
            judges = (self.judge, self.second_judge) if with_judge else (None, None)
            askers.append(
                CaseAsker(
                    run=run,
                    clients=Clients(trial.client, *judges),
                    slots=self.slots,
                    judged_twice=self.cases.judged_twice if with_judge else (),
                )
            )
        runs = tuple(asker.run for asker in askers)
        self._before = sum(len(run.cases.outcomes(earlier=False)) for run in runs)
        self._asked = runs
        try:
            ask_runs(askers, self.slots, _refuse_gone)
        finally:
            self._asked = ()
        return {
            run.run_id: run.stored(
                settled_together([*run.cases.records.values()], run.state.settings)
            )
            for run in runs
        }

    def finish(self, run_ids: Iterable[str], *, page: bool) -> dict[str, StoredRun]:
        """Write the numbers of runs that are asked nothing more, and return them.

        Args:
            run_ids: of runs that were asked.
            page: whether each gets its ``report.html``, unless the settings want none.

        Raises:
            StorageError: a file cannot be written.
        """
        found: dict[str, StoredRun] = {}
        to_write = list(run_ids)
        try:
            for run_id in to_write:
                self.step = f"{len(found)} of {counted(len(to_write), 'run')} written"
                run = self._open.pop(run_id)
                state = run.state
                no_report = state.settings.no_report or not page
                state.settings = replace(state.settings, no_report=no_report)
                with closing(run):
                    found[run_id] = run.finish(gate=True).run
        finally:
            self.step = ""
        return found

    def close(self) -> None:
        """Close the runs that are still open; their records are stored."""
        for run in self._open.values():
            run.close()
        self._open.clear()

    def progress(self) -> Progress | None:
        """Count the cases of the runs under way; None: nothing is asked at the moment."""
        counts = [one for run in self._asked if (one := run.progress()) is not None]
        if not counts:
            return None
        return Progress(
            total=sum(one.total for one in counts),
            outcomes=sum((Counter(one.outcomes) for one in counts), Counter()),
            errors=sum((Counter(one.errors) for one in counts), Counter()),
            earlier=self._before,
            elapsed_s=max(one.elapsed_s for one in counts),
            last_s=max(one.last_s for one in counts),
            in_flight=self.slots.held,
            pausing=self.slots.pausing,
            limited=self.slots.limited,
        )

    def _run(self, trial: Trial, *, judged: bool) -> RunRecorder:
        """Return the run of a configuration, opened or made."""
        settings = trial.settings if judged else replace(trial.settings, judge="none")
        known = self._open.get(trial.run_id)
        if known is not None:
            if known.state.settings.judge == settings.judge:
                return known
            self._open.pop(trial.run_id).close()  # its records are stored
        if judged:
            self._judge_stored(trial)
        there = _folder(trial).is_dir()
        settings = replace(
            settings,
            run_id=None if there else trial.run_id,
            resume=trial.run_id if there else None,
            judged_on=self.cases.thresholds.judged_on,
        )
        state = RunState(
            settings=settings,
            registry=self.cases.registry,
            thresholds=self.cases.thresholds,
            breaker=Breaker(limit=settings.max_errors),
            files=tuple(self.cases.sets),
            all_files=tuple(sorted(self.cases.sets)),
            sets=dict(self.cases.sets),
            labels=self.cases.labels if judged else None,
        )
        state.asked.add(configured_target(settings))
        run = RunRecorder(state)
        if there:
            try:
                run.resume()
            except BaseException:
                run.close()
                raise
        self._open[trial.run_id] = run
        return run

    def _judge_stored(self, trial: Trial) -> None:
        """Judge the answers that earlier rungs stored without verdicts.

        The verdicts replace the records at once; those of a model are in its cache before that.
        """
        folder, settings = _folder(trial), trial.settings
        config = _config(trial)
        if config is NO_CONFIG or _is_judged(trial):
            return
        with RunWriter(folder.parent, folder.name, resume=True) as writer:
            records = latest_records(read_records(folder))
            # An answer that was too long to be kept whole is asked again.
            whole = [one for one in records if len(one.answer or "") >= (one.answer_chars or 0)]
            writer.rewrite(self._rejudged(whole, settings))
            stored = replace(config, settings=stored_settings(settings))
            write_document(folder, "config.json", stored)

    def _rejudged(self, records: Sequence[CaseRecord], settings: Settings) -> list[CaseRecord]:
        scoring = score_settings(settings, reported_by(records))
        clients = Clients(None, self.judge, self.second_judge)

        async def judge(record: CaseRecord) -> CaseRecord:
            judges = clients.judges(twice=(record.file, record.case.id) in self.cases.judged_twice)
            assert judges is not None
            found = await rejudge(
                record,
                judges,
                rubrics=settings.judging.rubrics,
                scoring=scoring,
                registry=self.cases.registry,
                slots=self.slots,
            )
            return redact(found.record, full_text=settings.store_full_text)

        found: list[CaseRecord] = []
        works = (partial(judge, record) for record in records)
        with closing(in_order(works, self.slots)) as judged:
            for one in judged:
                found.append(one)
                self.step = f"{len(found)} of {counted(len(records), 'answer')} judged"
        self.step = ""
        return found


def _folder(trial: Trial) -> Path:
    return trial.settings.results_folder / trial.run_id


def _config(trial: Trial) -> RunConfig:
    """Return the ``config.json`` of a configuration's run."""
    folder = _folder(trial)
    return read_documents(folder).config if folder.is_dir() else NO_CONFIG


def _is_judged(trial: Trial) -> bool:
    return _config(trial).settings.judge != "none"


def holds(folder: Path, nodeids: Iterable[str], repeats: int) -> bool:
    """Return whether the run in a folder has every repeat of some cases.

    Raises:
        StorageError: its records cannot be read.
    """
    if not (folder / RESULTS).is_file():
        return False
    records = latest_records(read_records(folder))
    finished = filter(is_finished, by_attempt(records))
    counts = Counter(one.nodeid for turns in finished for one in turns)
    return all(counts[nodeid] >= repeats for nodeid in nodeids)


def _refuse_gone(asker: CaseAsker) -> None:
    breaker = asker.run.state.breaker
    if breaker.open and breaker.timeouts < breaker.streak:
        raise TargetGoneError.of("", "target_gone", reason=breaker.reason)


def read_cases(settings: Settings) -> SweepCases:
    """Read the case files of a project, and check what every question would need.

    Raises:
        ConfigError: the target, the rubrics, the judge's labels or thresholds.toml are wrong, or
            the cases bring documents.
        DatasetError: with every fault of the files, or there is no case.
    """
    if target_kind(settings) == "none":
        raise no_target(settings)
    refuse_select(settings)
    check_target(settings.target, os.environ)
    check_results_dir(settings)
    check_offline(settings)
    spot_check.check_second_judge(settings)
    files = project_files(settings)
    sets, faulty = read_sets(files, Path(settings.rootdir), sent_fields(settings.target))
    faults = [str(error) for file, error in faulty.items() if not other_file_note(file, file.name)]
    if faults:
        raise DatasetError("\n".join(faults))
    cases = by_nodeid(sets.values())
    if not cases:
        raise DatasetError.of("", "no_cases", folder=" or ".join(settings.testpaths))
    if any(documents_path(file).is_file() for file in sets):
        raise ConfigError.of("", "documents_of_pytest")
    registry = open_registry(settings)
    by_file = [(nodeid.split("::", 1)[0], located.case) for nodeid, located in cases.items()]
    return SweepCases(
        cases=cases,
        sets=sets,
        registry=registry,
        thresholds=run_thresholds(settings, registry, sets.values(), whole=True),
        labels=read_labels(settings, sets.values()),
        judged_twice=spot_check.choose_cases(by_file, settings),
    )


def planned_cases(cases: SweepCases, settings: Settings) -> list[SweepCase]:
    """Return the cases that count, those that a person has reviewed, for the plan of a sweep."""
    counted = {id: one.case for id, one in cases.cases.items() if one.case.review != "generated"}
    return [
        SweepCase(
            id=id,
            category=case.category,
            answerable=case.answerable,
            tags=case.tags,
            without=_without_value(case, settings),
            cluster=case_cluster(case),
            conversation=None if case.talk is None else item_of(id, case),
        )
        for id, case in counted.items()
    ]


def _without_value(case: Case, settings: Settings) -> frozenset[str]:
    """Return the metrics that do not apply to a case, whatever the reply."""
    return outside_population(case, score_settings(settings), ("case", "settings"))


def cases_hash(cases: SweepCases) -> str:
    """Return the hash of what the cases ask and expect."""
    return dataset_hash(located.case_hash for located in cases.cases.values())
