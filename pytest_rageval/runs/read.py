"""Reading of stored runs, or of their documents only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from pytest_rageval.metrics.scoring import decided_by, reported_by, score_settings, settle
from pytest_rageval.project.settings import check_stored, load_settings
from pytest_rageval.runs.documents import without_texts
from pytest_rageval.runs.store import (
    SECTIONS,
    iterate_records,
    read_document,
    read_record,
    read_records,
    resolve_run,
)
from pytest_rageval.runs.tags import tags_by_run
from pytest_rageval.support.process import without_gc
from pytest_rageval.support.text import counted, first_few, part, plural
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.gate import GateResult
from pytest_rageval.values.numbers import Aggregate, LocalNumbers
from pytest_rageval.values.own_code import ShownSection, ShownSections
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import NO_CONFIG, RunConfig, StoredRun
from pytest_rageval.values.settings import Aspect, Settings

_TYPES: Final = {
    "config.json": RunConfig,
    "metrics.json": Aggregate,
    "gate.json": GateResult,
    "groups.json": LocalNumbers,
}
DOCUMENTS: Final = tuple(_TYPES)
_CONFIG_MISSING: Final = (
    "The run has no readable config.json: default matching settings are assumed."
)


def open_run(name: str, environ: Mapping[str, str], *, texts: bool = True) -> StoredRun:
    """Open the run that a user named, below the results folder of the project; see ``read_run``.

    Raises:
        ConfigError: the settings of the project are wrong.
        StorageError: no run or more than one is meant, or a record cannot be read.
    """
    configured = load_settings(Path.cwd(), flags={}, environ=environ)
    return read_run(resolve_run(Path(configured.results_dir), name), texts=texts)


def read_run(folder: Path, *, tags: tuple[str, ...] = (), texts: bool = True) -> StoredRun:
    """Read the run of a folder.

    Args:
        folder: of the run.
        tags: its tags.
        texts: whether its records have the texts of replies and verdicts; without them a run of any
            length fits into memory, and its ``whole`` reads those of one record.

    Raises:
        StorageError: a record cannot be read.
    """
    run, places = read_documents(folder, tags=tags), dict[CaseKey, int]()

    def lines() -> Iterator[CaseRecord]:
        for place, record in iterate_records(folder):
            places[case_key(record)] = place
            yield record if texts else without_texts(record)

    def settled(record: CaseRecord) -> CaseRecord:
        # A line is written before the whole run shows whether the target reports headings and
        # citations, and stays so where a run was killed before its end.
        record = settle(record, record.case, run.settings, facts)
        return decided_by(record, run.settings.judged_on)

    def whole(record: CaseRecord) -> CaseRecord:
        found = settled(read_record(folder, places[case_key(record)]))
        return replace(found, scores=record.scores)

    def again(record: CaseRecord) -> CaseRecord:
        found = settled(record)
        if texts or found.scores.metrics is record.scores.metrics:
            return found
        # Only with its texts can a record be scored again.
        return without_texts(settled(read_record(folder, places[case_key(record)])))

    with without_gc():
        records = _last_of_each(folder, list(lines()))
        facts = reported_by(records)
        scoring = score_settings(run.settings, facts)
        run = replace(run, scoring=scoring, records=tuple(map(again, records)))
    return run if texts else replace(run, whole=whole)


CaseKey = tuple[str, str, int]
"""File, case id and repeat."""


def case_key(record: CaseRecord) -> CaseKey:
    """Return the key of a record within its run."""
    return record.file, record.name, record.repeat


def read_compared(folder: Path, results_dir: Path, *, texts: bool = True) -> StoredRun:
    """Read one of the runs of a comparison, with its tags; ``texts`` as for `read_run`.

    Raises:
        StorageError: its records are missing or cannot be read.
    """
    return read_run(folder, tags=tags_by_run(results_dir).get(folder.name, ()), texts=texts)


def read_documents(folder: Path, *, tags: tuple[str, ...] = (), groups: bool = True) -> StoredRun:
    """Read the documents of a run, the long groups.json only if wanted, and no record."""
    found: dict[str, Any] = {}
    unreadable: dict[str, str] = {}
    for name, type_ in _TYPES.items():
        if name == "groups.json" and not groups:
            continue
        try:
            document: object = read_document(folder / name, type_)
            if isinstance(document, RunConfig):
                check_stored(document.settings)
            found[name] = document
        except StorageError as error:  # a run that was cut short may lack it
            if (folder / name).exists():
                unreadable[name] = error.reason
    config = found.get("config.json", NO_CONFIG)
    numbers, local = found.get("metrics.json"), found.get("groups.json")
    if numbers is not None and local is not None:
        numbers = replace(
            numbers, **{one.name: getattr(local, one.name) for one in fields(LocalNumbers)}
        )
    return StoredRun(
        folder=folder,
        config=config,
        aggregate=numbers,
        gate=found.get("gate.json"),
        settings=config.settings,
        tags=tags,
        sections=_sections(folder),
        notes=(_CONFIG_MISSING,) if config is NO_CONFIG else (),
        unreadable=unreadable,
    )


def _sections(folder: Path) -> tuple[ShownSection, ...]:
    try:
        return read_document(folder / SECTIONS, ShownSections).sections
    except StorageError:  # they are no reason to refuse a run
        return ()


def decided_run(run: StoredRun, judged_on: tuple[Aspect, ...]) -> StoredRun:
    """Return a run with the outcomes of its cases by another rule."""
    return replace(
        run,
        records=tuple(decided_by(record, judged_on) for record in run.records),
        settings=replace(run.settings, judged_on=judged_on),
        scoring=replace(run.scoring, judged_on=judged_on),
    )


def failed_cases(run: StoredRun) -> list[tuple[str, str]]:
    """Return file and name of the items that did not pass in every repeat, in their order."""
    return list(
        dict.fromkeys((r.file, r.item) for r in run.records if r.scores.outcome != "passed")
    )


def records_of_run(folder: Path) -> list[CaseRecord]:
    """Read the last record of each case and repeat.

    Raises:
        StorageError: a record cannot be read, or there are several of one case and repeat in a run
            that has ended, so that it is unknown which one counts.
    """
    return _last_of_each(folder, read_records(folder))


def _last_of_each(folder: Path, lines: Sequence[CaseRecord]) -> list[CaseRecord]:
    records = latest_records(lines)
    # During a run, or after it was cut short, later lines replace earlier ones.
    if len(records) < len(lines) and (folder / "metrics.json").is_file():
        raise StorageError.of(folder / "results.jsonl", "repeated_records")
    return records


def latest_records(records: Iterable[CaseRecord]) -> list[CaseRecord]:
    """Keep the last record of each case and repeat, since a resumed run asks failed cases again."""
    found = {case_key(record): record for record in records}
    return sorted(found.values(), key=lambda record: record.place)


_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCases:
    """File and name of the items to ask, and remarks about them for the user."""

    cases: frozenset[tuple[str, str]]
    notes: tuple[str, ...] = ()


def select_failed(
    settings: Settings, known: Iterable[tuple[str, str]], *, file: str | None = None
) -> FailedCases:
    """Read the run that ``--rageval-failed-from`` names.

    Args:
        settings: of the session; ``failed_from`` is set.
        known: file and name of the items of the set.
        file: the only case file to look at; None: all of the run.

    Raises:
        StorageError: no run or more than one is meant, or it cannot be read.
    """
    results = settings.results_folder
    run = read_run(resolve_run(results, settings.failed_from or ""), texts=False)
    failed = [one for one in failed_cases(run) if file in {None, one[0]}]
    if not failed:
        which = part("no case of {} failed", file) or "every case passed"
        sentence = f"nothing to select: {which} in run {run.run_id}"
        return FailedCases(cases=frozenset(), notes=(sentence,))
    there = frozenset(known)
    gone = [one for one in failed if (one[0], one[1].split("[", 1)[0]) not in there]
    still = frozenset(failed).difference(gone)
    if not gone:
        return FailedCases(cases=still)
    ids = first_few([name for _, name in gone], _SHOWN)
    count = (
        f"{len(gone)} of the {counted(len(failed), 'case')} that did not pass in run {run.run_id}"
    )
    sentence = f"{count} {plural(len(gone), 'is', 'are')} not in the set any more: {ids}"
    return FailedCases(cases=still, notes=(sentence,))
