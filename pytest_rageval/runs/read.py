"""A run that is on disk, opened the same way for every command that reads one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pytest_rageval.metrics.rescoring import headings_reported, score_settings, settle_headings
from pytest_rageval.project.option_values import read_option_value
from pytest_rageval.project.options import OPTIONS
from pytest_rageval.project.settings import load_settings
from pytest_rageval.runs.store import read_json, read_records, resolve_run
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from pytest_rageval.values.settings import Settings

_UNTOLD: Final = Settings(rootdir=".", judge="none")
"""What a run is taken to have been scored with where it does not say: no judge that it names."""
_CONFIG_MISSING: Final = (
    "The run has no readable config.json: default matching settings are assumed."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """The records of a run as its end scored them, and the settings that it was scored with."""

    folder: Path
    records: tuple[CaseRecord, ...]
    """The last one of each case and repeat, in the order of file, line and repeat."""
    settings: Settings
    """Only what scoring depends on is the run's; the rest are defaults."""
    scoring: ScoreSettings
    """The same, with what the whole run says of headings."""
    notes: tuple[str, ...] = ()
    """What a reader of figures should know about where they come from."""

    @property
    def run_id(self) -> str:
        """The name of the run."""
        return self.folder.name

    def settled(self, record: CaseRecord, case: Case | None) -> CaseRecord:
        """Return a record as the end of the run scored it; without its case as it stands.

        A line of ``results.jsonl`` is written before the whole run tells whether the target
        reports headings, and stays so where a run was killed before its end.
        """
        return _settled(record, case, self.settings, self.scoring)


def open_run(name: str, environ: Mapping[str, str]) -> StoredRun:
    """Open the run that a user named, below the results folder of the project in hand.

    Args:
        name: as for ``storage.resolve_run``.
        environ: where settings may come from besides ``pyproject.toml``.

    Raises:
        ConfigError: the settings of the project are wrong.
        StorageError: no run or more than one is meant, or a record cannot be read.
    """
    configured = load_settings(Path.cwd(), flags={}, environ=environ)
    return read_run(resolve_run(Path(configured.results_dir), name))


def read_run(folder: Path) -> StoredRun:
    """Read the run of a folder.

    Raises:
        StorageError: a record cannot be read.
    """
    records = records_of_run(folder)
    settings = stored_settings(folder)
    known = _UNTOLD if settings is None else settings
    scoring = score_settings(known, headings_reported=headings_reported(records))
    return StoredRun(
        folder=folder,
        records=tuple(_settled(record, record.stored_case, known, scoring) for record in records),
        settings=known,
        scoring=scoring,
        notes=(_CONFIG_MISSING,) if settings is None else (),
    )


def failed_cases(run: StoredRun) -> list[tuple[str, str]]:
    """Return file and name of the cases that missed or erred in any repeat, in their order."""
    return list(dict.fromkeys((r.file, r.name) for r in run.records if r.outcome != "passed"))


def records_of_run(folder: Path) -> list[CaseRecord]:
    """Read the last record of each case and repeat.

    Raises:
        StorageError: a record cannot be read, or there are several of one case and repeat in a run
            that has ended, of which nobody could say which is meant.
    """
    lines = read_records(folder)
    records = latest_records(lines)
    # While a run goes on, or after it was cut short, later lines stand for earlier ones.
    if len(records) < len(lines) and (folder / "metrics.json").is_file():
        raise StorageError(
            f"{folder / 'results.jsonl'}: holds several records of one case and repeat, and "
            "nothing tells which is meant; leave one line of each"
        )
    return records


def latest_records(records: Iterable[CaseRecord]) -> list[CaseRecord]:
    """Keep the last record of each case and repeat: a resumed run asks again what erred."""
    found = {(record.file, record.name, record.repeat): record for record in records}
    return sorted(found.values(), key=lambda r: (r.file, r.lineno, r.repeat))


def _settled(
    record: CaseRecord, case: Case | None, settings: Settings, scoring: ScoreSettings
) -> CaseRecord:
    if case is None:
        return record
    return settle_headings(record, case, settings, headings_reported=scoring.headings_reported)


def stored_settings(folder: Path) -> Settings | None:
    """Return the settings that a run was scored with; None where they are unknown."""
    try:
        stored = read_json(folder / "config.json").get("settings")
    except StorageError:  # a run of foreign origin may have none
        return None
    if not isinstance(stored, dict):
        return None
    return replace(_UNTOLD, **dict(_fitting(stored)))


def _fitting(stored: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the settings that scoring depends on, as far as they hold what they may hold."""
    for option in OPTIONS:
        if option.rescoring and option.name in stored:
            with suppress(ValueError):  # another tool may have stored another value
                yield option.name, read_option_value(option, stored[option.name])


_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCases:
    """File and name of the items to ask, and what the user should know about them."""

    cases: frozenset[tuple[str, str]]
    notes: tuple[str, ...] = ()


def select_failed(settings: Settings, known: Iterable[tuple[str, str]]) -> FailedCases:
    """Read the run that ``--rageval-failed-from`` names.

    Args:
        settings: of the session; ``failed_from`` is set.
        known: file and id of the cases of the set.

    Raises:
        StorageError: no run or more than one is meant, or it cannot be read.
    """
    results = Path(settings.rootdir) / settings.results_dir
    run = read_run(resolve_run(results, settings.failed_from or ""))
    failed = failed_cases(run)
    if not failed:
        sentence = f"nothing to select: no case missed or erred in run {run.run_id}"
        return FailedCases(cases=frozenset(), notes=(sentence,))
    there = frozenset(known)
    gone = [(file, name) for file, name in failed if (file, name.split("[", 1)[0]) not in there]
    still = frozenset(failed).difference(gone)
    if not gone:
        return FailedCases(cases=still)
    ids = ", ".join(name for _, name in gone[:_SHOWN]) + (" ..." if len(gone) > _SHOWN else "")
    count = f"{len(gone)} of the {len(failed)} cases that failed in run {run.run_id}"
    sentence = f"{count} {'is' if len(gone) == 1 else 'are'} not in the set any more: {ids}"
    return FailedCases(cases=still, notes=(sentence,))
