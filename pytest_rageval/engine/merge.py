"""Several runs merged into one: their records in, numbers, a verdict and files out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from pytest_rageval.engine.finish import EndedRun, finish_run, thresholds_of
from pytest_rageval.engine.own_code import readable_registry
from pytest_rageval.engine.parts import (
    missing_shards,
    reported_cases,
    selection_of,
    skipped_cases,
)
from pytest_rageval.engine.preparing import read_labels_of
from pytest_rageval.metrics.built_in import own_definitions, stored_registry
from pytest_rageval.metrics.scoring import decided_by, reported_by, score_settings, settled_together
from pytest_rageval.project.case_reader import dataset_hash
from pytest_rageval.project.options import OPTIONS
from pytest_rageval.report.view.summary import FinishedRun
from pytest_rageval.runs.documents import RunFacts, recorded_fields
from pytest_rageval.runs.reviews import join_reviews, put_notes, readable_notes
from pytest_rageval.runs.store import RunWriter, new_run_id
from pytest_rageval.support.text import part, plural
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import GitState, RunConfig, StoredRun
from pytest_rageval.values.settings import Aspect, Settings


def merge_parts(
    parts: Sequence[StoredRun],
    project: Settings,
    *,
    run_id: str | None = None,
) -> FinishedRun:
    """Write the run that consists of the parts, and decide the gate of the project over it.

    Args:
        parts: at least one, accepted by ``refuse_different``.
        project: its settings, with the folders of thresholds.toml and the results.
        run_id: name of the new run; None: made of the time and a random number.

    Raises:
        ConfigError: thresholds.toml or the file of people's labels is wrong.
        StorageError: the name is taken, or the folder cannot be written.
    """
    now = datetime.now(UTC)
    name = run_id or new_run_id(now)
    results, thresholds = project.results_folder, thresholds_of(parts, project)
    judged_on = thresholds.judged_on
    settings = replace(parts[0].settings, judged_on=judged_on)
    every = settled_together([one for part in parts for one in part.records], parts[0].settings)
    records = [decided_by(record, judged_on) for record in every]
    merged = StoredRun(
        folder=results / name,
        records=records,
        config=replace(
            _config(parts, records, judged_on),
            run_id=name,
            timestamp=now.isoformat(timespec="milliseconds"),
        ),
        settings=settings,
        scoring=score_settings(settings, reported_by(records)),
    )
    ended = EndedRun(
        run=merged,
        project=project,
        thresholds=thresholds,
        selection=selection_of(parts, records),
        n_expected=parts[0].config.set.n_asked,
        n_reported=len(reported_cases(parts, records)),
        parts=[part.run_id for part in parts],
        labels=read_labels_of({(r.file, r.case.id) for r in records}, project)
        if settings.judged
        else None,
        registry=readable_registry(project),
        notes=[*_notes(parts)],
        rerun=f"pytest --rageval-failed-from {name}",
    )
    with RunWriter(results, name) as writer:
        try:
            writer.rewrite(records)
            put_notes(writer.path, (note for one in parts for note in readable_notes(one.folder)))
            join_reviews(writer.path, [one.folder for one in parts])
            return finish_run(ended, writer, index=True)
        except BaseException:
            # An interruption while the page of the whole run is drawn does not discard it.
            if not (writer.path / "summary.md").is_file():
                writer.discard()
            raise


def _wall_s(parts: Sequence[StoredRun]) -> float | None:
    """Return the time of the part that took longest; None: a part does not store its time."""
    known = [wall_s for one in parts if (wall_s := one.config.wall_s) is not None]
    return max(known) if len(known) == len(parts) else None


def _notes(parts: Sequence[StoredRun]) -> Iterator[str]:
    if lacking := missing_shards(parts):
        are = plural(len(lacking), "shard {} is", "shards {} are")
        yield f"{are.format(', '.join(lacking))} missing"
    for run in parts:
        if run.aggregate is None:
            name, shard = run.run_id, run.config.settings.shard
            again = f"--rageval-resume {name}" + part(" --rageval-shard {}", shard)
            yield f"run {name} has not ended: pytest {again} asks its missing cases"
    yield f"put together from {', '.join(run.run_id for run in parts)}"


def _git(configs: Sequence[RunConfig]) -> GitState:
    """Return the state of the repository, with None where the parts differ."""
    names = [one.name for one in fields(GitState)]
    found = {name: {getattr(config.git, name) for config in configs} for name in names}
    return GitState(**{name: one.pop() for name, one in found.items() if len(one) == 1})


def _config(
    parts: Sequence[StoredRun], records: Sequence[CaseRecord], judged_on: tuple[Aspect, ...]
) -> RunConfig:
    configs = [part.config for part in parts]
    first = configs[0]
    of_a_part: dict[str, Any] = dict.fromkeys(
        setting.name for setting in OPTIONS if setting.role == "part"
    )
    settings = replace(first.settings, judged_on=judged_on, **of_a_part)
    hashed = dataset_hash({(r.file, r.case.id): r.case_hash for r in records}.values())
    return replace(
        first,
        settings=settings,
        metric_definitions=own_definitions(stored_registry(*configs)),
        git=_git(configs),
        asked=tuple(sorted({one for config in configs for one in config.asked})),
        skipped=tuple(sorted(skipped_cases(parts))),
        sessions=tuple(sorted({one for config in configs for one in config.sessions})),
        wall_s=_wall_s(parts),
        concurrency=first.concurrency if len({c.concurrency for c in configs}) == 1 else None,
        cores_needed=max(config.cores_needed or 0.0 for config in configs) or None,
        merged_from=tuple(part.run_id for part in parts),
        **recorded_fields(settings, RunFacts.of(records), hashed),
    )
