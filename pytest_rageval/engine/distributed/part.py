"""One part of the files: its cases scored into columns on disk."""

from __future__ import annotations

import os
from dataclasses import field

from pytest_rageval.analysis.aggregate.columns import RecordColumns
from pytest_rageval.engine.distributed.columns_file import write_columns
from pytest_rageval.engine.distributed.job import Job
from pytest_rageval.engine.distributed.places import places_of
from pytest_rageval.engine.recorded import FilesPart, Findings, RecordedRun
from pytest_rageval.engine.registry import open_registry
from pytest_rageval.judges.opening import open_judge
from pytest_rageval.runs.record_json import record_line
from pytest_rageval.runs.store import record_of_line
from pytest_rageval.values.dataclass import dataclass
from pytest_rageval.values.record import CaseRecord, Reported

_SHOWN = 20


@dataclass(slots=True, kw_only=True)
class Scored:
    """Findings and failed records of scored cases, shown besides their numbers."""

    findings: Findings
    n_failed: int = 0
    failed: list[tuple[bool, int, int, bytes]] = field(default_factory=list)
    """The first records that did not pass, by repeated, line and repeat, as lines of a run."""

    def add(self, record: CaseRecord) -> None:
        """Take a record."""
        if record.outcome != "passed":
            self.n_failed += 1
            if len(self.failed) < _SHOWN:
                place = (record.repeat > 0, record.lineno, record.repeat)
                self.failed.append((*place, record_line(record)))

    def extend(self, other: Scored) -> None:
        """Take another part."""
        self.findings.extend(other.findings)
        self.n_failed += other.n_failed
        self.failed = sorted([*self.failed, *other.failed])[:_SHOWN]

    @property
    def shown(self) -> list[CaseRecord]:
        """The first records that did not pass."""
        return [record_of_line(line) for *_, line in self.failed]


def read_scored(job: Job, part: int) -> Scored | None:
    """Return what is known of a part; None: it is not finished."""
    found: Scored | None = job.read_value(f"part-{part}", Scored)
    return found


def score_part(job: Job, task: tuple[int, Reported]) -> None:
    """Score a part, unless it is finished.

    Args:
        job: with the index of both files.
        task: number of the part, and the parts of replies that all responses report.

    Raises:
        ConfigError: the settings or the version of this process are wrong.
        StorageError: the folder cannot be written.
    """
    job.check_versions()
    number, reported = task
    if job.path(f"part-{number}").is_file():
        return
    part = FilesPart(
        cases=places_of(job, "cases", number),
        responses=places_of(job, "responses", number),
        reported=reported,
    )
    registry = open_registry(job.settings)
    columns = RecordColumns(registry, path_case=job.settings.path_case)
    with open_judge(job.settings, environ=os.environ) as judge:
        run = RecordedRun(
            job.cases,
            job.responses,
            job.settings,
            judge=judge,
            registry=registry,
            part=part,
            shown=job.shown,
        )
        scored = Scored(findings=run.findings)
        for record in run.records():
            columns.add(record)
            scored.add(record)
    write_columns(job, number, columns)
    job.write_value(f"part-{number}", scored)
