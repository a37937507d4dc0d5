"""Stored runs that are parts of one: the check that they agree, and their merged content."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pytest_rageval.analysis.compare.settings import listed, setting_differences
from pytest_rageval.engine.run_cases import asked_enough
from pytest_rageval.project.selecting import Shard
from pytest_rageval.runs.documents import RunFacts
from pytest_rageval.runs.read import read_documents, records_of_run
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.gate import Selection
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import StoredRun

_SAME_OF_SET: Final = {"hash": "the cases of the set", "files": "the case files asked for"}
_REPORTED: Final = {"llm_model": "answerer_version", "embedding_model": "retriever_version"}
"""Models that the target reports, and the names of their versions in settings."""


class DifferentRunsError(StorageError):
    """The runs are not parts of one, so they cannot be merged."""


def read_part(folder: Path) -> StoredRun:
    """Read one of the runs; its records stay unchanged, because the whole run settles them.

    Raises:
        StorageError: a file of it cannot be read, or does not describe its settings and set.
    """
    run = read_documents(folder)
    if reason := run.unreadable.get("config.json"):
        raise StorageError.of(folder / "config.json", "invalid", reason=reason)
    if run.config.set.hash is None:
        raise StorageError.of(folder / "config.json", "no_set")
    return replace(run, records=tuple(records_of_run(folder)))


def refuse_different(parts: Sequence[StoredRun]) -> None:
    """Raise an error if runs are not parts of one.

    Raises:
        DifferentRunsError: names two runs and their difference, or a case that both hold.
    """
    first = parts[0]
    for part in parts[1:]:
        one, other = f"in run {first.run_id}", f"in run {part.run_id}"
        found = setting_differences(first.config, part.config)
        if found:
            raise _different(listed(found, one, other))
        for key, name in _SAME_OF_SET.items():
            here, there = (getattr(side.config.set, key) for side in (first, part))
            if here != there:
                raise _different(f"{name}: {here!r:.80} {one}, {there!r:.80} {other}")
    _refuse_other_systems(parts)
    _refuse_doubles(parts)


def _different(differences: str) -> DifferentRunsError:
    return DifferentRunsError.of("", "different_runs", differences=differences)


def _refuse_other_systems(parts: Sequence[StoredRun]) -> None:
    """Refuse targets that report different versions; a version that is not reported is ignored."""
    seen: dict[str, tuple[object, StoredRun]] = {}
    for part in parts:
        facts = RunFacts.of(part.records)
        reported: dict[str, object] = {"index_build_version": facts.index_version}
        reported |= {name: facts.models.get(model) for model, name in _REPORTED.items()}
        for name, value in reported.items():
            if value is None:
                continue
            known, other = seen.setdefault(name, (value, part))
            if known != value:
                here, there = f"in run {other.run_id}", f"in run {part.run_id}"
                raise _different(f"{name}: {known!r:.60} {here}, {value!r:.60} {there}")


def _refuse_doubles(parts: Sequence[StoredRun]) -> None:
    homes: dict[tuple[str, str, int], StoredRun] = {}
    for part in parts:
        for record in part.records:
            key = (record.file, record.name, record.repeat)
            other = homes.setdefault(key, part)
            if other is not part:
                raise DifferentRunsError.of(
                    "", "in_both", run=other.run_id, other=part.run_id, id=record.nodeid
                )


def skipped_cases(parts: Iterable[StoredRun]) -> set[str]:
    """Return the node ids that a user's mark or fixture skipped."""
    return {nodeid for part in parts for nodeid in part.config.skipped}


def reported_cases(parts: Sequence[StoredRun], records: Iterable[CaseRecord]) -> set[str]:
    """Return the node ids with a record of every repeat, and those that were skipped."""
    config = parts[0].config
    settings = config.settings
    if config.concurrency == 0 and not config.asked:
        # Of recorded responses a case has as many as there were; a replay asked.
        settings = replace(settings, repeats=1)
    return asked_enough(records, settings) | skipped_cases(parts)


def selection_of(parts: Sequence[StoredRun], records: Iterable[CaseRecord]) -> Selection:
    """Count the cases of all parts against those of the set."""
    # A case of several parameters is one case of the set.
    cases = {f"{record.file}::{record.case.id}": record for record in records}
    skipped = {nodeid.split("[", 1)[0] for nodeid in skipped_cases(parts)}
    chosen = [record.case for record in cases.values()]
    found = Selection.of(chosen, chosen)
    n_selected = len(cases.keys() | skipped)
    whole = parts[0].config.set
    n_total = whole.n_cases
    both = {}
    for key, totals, counted in (
        ("by_category", whole.by_category, found.by_category),
        ("by_tag", whole.by_tag, found.by_tag),
    ):
        # If all are there, they count, although the category of a skipped case is unknown.
        counts = totals if n_selected == n_total else {name: n for name, (n, _) in counted.items()}
        both[key] = {name: (counts.get(name, 0), n) for name, n in totals.items()}
    counted_all = replace(found, n_selected=n_selected, n_total=n_total, **both)
    return counted_all.of_files(whole.n_asked)


def missing_shards(parts: Iterable[StoredRun]) -> list[str]:
    """Name the missing shards, where all parts are shards of the same number."""
    texts = [one.config.settings.shard for one in parts]
    try:
        shards = [Shard.parse(text) for text in texts if text is not None]
    except ValueError:
        return []
    if len(shards) < len(texts) or len({shard.count for shard in shards}) != 1:
        return []
    count = shards[0].count
    have = {shard.index for shard in shards}
    return [str(Shard(index, count)) for index in range(1, count + 1) if index not in have]
