"""A run scored from recorded responses: records in, numbers and, if asked for, files out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from pytest_rageval.analysis.aggregate.run import aggregate_rows
from pytest_rageval.analysis.aggregate.table import RecordRows
from pytest_rageval.engine.finish import EndedRun, finish_run
from pytest_rageval.engine.recorded_lines import file_may_name
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.project.case_reader import dataset_hash
from pytest_rageval.project.threshold_keys import KnownNames
from pytest_rageval.project.thresholds import load_thresholds
from pytest_rageval.report.view.judging import Failures
from pytest_rageval.runs.documents import RunFacts, redact, run_config
from pytest_rageval.runs.git import git_state
from pytest_rageval.runs.store import RunWriter
from pytest_rageval.values.gate import GateResult
from pytest_rageval.values.numbers import Aggregate
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.settings import Settings, TargetSettings


def scored_settings(project: Settings, *, retrieval_only: bool) -> Settings:
    """Return the settings of a project for responses that were recorded: no target is asked.

    Raises:
        ConfigError: thresholds.toml is wrong.
    """
    thresholds = load_thresholds(
        Path(project.rootdir) / project.thresholds, known=KnownNames(more=True)
    )
    return replace(
        project,
        judged_on=thresholds.judged_on,
        target=TargetSettings(),
        run_id=None,
        retrieval_only=retrieval_only,
    )


class ScoredRun:
    """Keeps the numbers of records as they come, and their files where a run is saved.

    As a context manager it removes a saved run that does not come to its end.

    Args:
        settings: of the run.
        run_id: name of the run to save; None: it is not saved.
        cases: the case file, whose commit is stored.
        registry: the metrics.
        results: folder of all runs; None: that of the settings.

    Raises:
        StorageError: the name is not a run id or is taken, or the folder cannot be written.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        run_id: str | None,
        cases: Path,
        registry: Registry = BUILT_IN,
        results: Path | None = None,
    ) -> None:
        self._settings = settings
        self._registry = registry
        self._cases = cases
        self._columns = RecordRows(
            registry,
            path_case=settings.path_case,
            translated=file_may_name(b'"translation_of"', cases),
        )
        self._facts = RunFacts()
        self._case_hashes: dict[tuple[str, str], str] = {}
        self._started_at = datetime.now(UTC)
        self.failures = Failures()
        self._kept: list[CaseRecord] | None = [] if registry.reads_records else None
        self.n_records = 0
        self.folder: str | None = None
        """Folder of the saved run, as shown to the user."""
        self._finished = False
        self._writer: RunWriter | None = None
        if run_id is not None:
            self._writer = RunWriter(results or settings.results_folder, run_id)
            self.folder = f"{settings.results_dir}/{run_id}"

    def add(self, record: CaseRecord) -> None:
        """Take one record.

        Raises:
            StorageError: it cannot be written.
        """
        if self._writer is not None:
            self._writer.append(redact(record, full_text=self._settings.store_full_text))
            self._case_hashes[record.file, record.case.id] = record.case_hash
            self._facts.add(record)
        if self._kept is not None:
            self._kept.append(record)
        self._columns.add(record)
        self.n_records += 1
        self.failures.add(record)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Remove a run that was not finished: it can be made again from the same files."""
        if self._writer is not None and not self._finished:
            self._writer.discard()

    def finish(self) -> Aggregate:
        """Return the numbers, and write the documents of the run.

        Raises:
            StorageError: they cannot be written.
        """
        # Without a limit: the timeout of a recorded call is unknown.
        numbers = aggregate_rows(self._columns, by_traffic=self._settings.weights == "traffic")
        if self._writer is not None:
            with self._writer as writer:
                self._write(writer, numbers)
        self._finished = True
        return numbers

    def _write(self, writer: RunWriter, numbers: Aggregate) -> None:
        config = run_config(
            # Of the responses: nothing was asked as often as the project's settings say.
            replace(self._settings, repeats=numbers.repeats.repeats if numbers.repeats else 1),
            run_id=writer.run_id,
            started_at=self._started_at,
            dataset_hash=dataset_hash(self._case_hashes.values()),
            facts=self._facts,
            registry=self._registry,
        )
        config = replace(
            config,
            concurrency=0,  # nothing was asked, as in a replay
            git=git_state(Path(self._settings.rootdir), (self._cases.absolute(),)),
        )
        # The gate of a project is for its target; recorded responses may be of any other.
        gate = GateResult(
            verdict="not_evaluated",
            sentence="not evaluated: scored from recorded responses",
            reason="scored from recorded responses",
            n_expected=numbers.total,
            n_reported=numbers.total,
        )
        run = StoredRun(
            folder=writer.path,
            records=self.failures.shown,
            config=config,
            aggregate=numbers,
            gate=gate,
            settings=self._settings,
        )
        # The page needs all records, which are read again for it.
        project = replace(self._settings, no_report=True)
        finish_run(
            EndedRun(run=run, project=project, registry=self._registry, every=self._kept), writer
        )
