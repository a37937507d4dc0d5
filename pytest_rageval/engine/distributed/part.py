"""One part of the files: its cases scored into columns on disk."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, field

from pytest_rageval.analysis.aggregate.columns import RecordColumns
from pytest_rageval.engine.distributed.columns_file import write_columns
from pytest_rageval.engine.distributed.job import Job
from pytest_rageval.engine.distributed.places import CaseIds, Index, places_of
from pytest_rageval.engine.judge_notes import JudgeFacts
from pytest_rageval.engine.recorded import FilesPart, Findings, RecordedResponses, RecordedRun
from pytest_rageval.engine.registry import open_registry
from pytest_rageval.judges.opening import open_judge
from pytest_rageval.metrics.deciding import ReportedParts
from pytest_rageval.metrics.scoring import score_settings
from pytest_rageval.report.text.scores import SHOWN_FAILURES, Failures
from pytest_rageval.runs.record_json import record_line
from pytest_rageval.runs.store import record_of_line
from pytest_rageval.values.record import Reported


@dataclass(slots=True, kw_only=True)
class Scored:
    """Findings and failed records of scored cases, shown besides their numbers."""

    findings: Findings
    failed: list[tuple[bool, int, int, bytes]] = field(default_factory=list)
    """The first records that did not pass, by repeated, line and repeat, as lines of a run."""
    more_failed: int = 0
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    """Of the rubrics, as `JudgeFacts` has them."""

    def extend(self, other: Scored) -> None:
        """Take another part."""
        self.findings.extend(other.findings)
        failed = sorted([*self.failed, *other.failed])
        self.failed = failed[:SHOWN_FAILURES]
        self.more_failed += other.more_failed + len(failed) - len(self.failed)
        for judge, found in other.versions.items():
            self.versions.setdefault(judge, {}).update(found)

    @property
    def failures(self) -> Failures:
        """The records that did not pass."""
        return Failures([record_of_line(line) for *_, line in self.failed], self.more_failed)


def reported_in(job: Job, task: tuple[int, Index]) -> ReportedParts:
    """Return the parts of replies that the responses of one range report."""
    number, index = task
    places = [*places_of(job, index, "responses", of_range=number)]
    file = job.files["responses"]
    with closing(RecordedResponses(file.path, display=file.shown, places=places)) as responses:
        return responses.reported(
            CaseIds(job),
            score_settings(job.settings),
            in_text=job.settings.judge != "none",
            paged=index.paged,
        )


def score_part(job: Job, task: tuple[int, Index, Reported]) -> Scored:
    """Score a part and write its columns.

    Args:
        job: with the index of both files.
        task: number of the part, the index, and the parts of replies that all responses report.

    Raises:
        ConfigError: the settings are wrong.
        StorageError: the folder cannot be written.
    """
    number, index, reported = task
    cases, responses = job.files["cases"], job.files["responses"]
    part = FilesPart(
        cases=[*places_of(job, index, "cases", part=number)],
        responses=[*places_of(job, index, "responses", part=number)],
        reported=reported,
        shown=(cases.shown, responses.shown),
    )
    registry = open_registry(job.settings)
    columns, failures = RecordColumns(registry, path_case=job.settings.path_case), Failures()
    judged = JudgeFacts()
    with open_judge(job.settings, environ=os.environ) as judge:
        run = RecordedRun(
            cases.path,
            responses.path,
            job.settings,
            judge=judge,
            registry=registry,
            stored=False,
            part=part,
        )
        for record in run.records():
            columns.add(record)
            failures.add(record)
            judged.add(record)
    write_columns(job, number, columns)
    return Scored(
        findings=run.findings,
        failed=[
            (one.repeat > 0, one.lineno, one.repeat, record_line(one)) for one in failures.shown
        ],
        more_failed=failures.more,
        versions=judged.versions,
    )
