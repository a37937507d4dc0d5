"""The cases of one run by node id, and a run continued in its folder."""

from __future__ import annotations

import shlex
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import deciding_record
from pytest_rageval.analysis.compare.settings import current_config, listed, setting_differences
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.metrics.scoring import decided_by, reported_by, settle
from pytest_rageval.project.case_reader import (
    LoadedSet,
    LocatedCase,
    by_nodeid,
    dataset_hash,
    item_of,
    nodeid_of,
)
from pytest_rageval.project.option_values import is_secret_param
from pytest_rageval.runs.read import latest_records, read_documents
from pytest_rageval.runs.store import read_records, resolve_run
from pytest_rageval.support.text import counted, first_few, plural
from pytest_rageval.values.case import Case, counted_cases
from pytest_rageval.values.errors import ConfigError, StorageError
from pytest_rageval.values.gate import Selection
from pytest_rageval.values.record import CaseRecord, Outcome, Reported
from pytest_rageval.values.reply import CUT_SHORT
from pytest_rageval.values.run import ASSUMED, NO_CONFIG, RunConfig
from pytest_rageval.values.settings import Settings, is_run_id

_FLAG: Final = "--rageval-resume"
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedRun:
    """Records and settings that a run already holds."""

    kept: Mapping[tuple[str, int], CaseRecord] = field(default_factory=dict)
    """Finished records by node id and repeat."""
    settings: Settings = ASSUMED
    """The present settings, of which the number of repeats counts."""
    is_on_disk: bool = True
    """Whether ``results.jsonl`` holds exactly the kept records."""
    n_again: int = 0
    """Records that are asked again: a connection failed, or the target was not asked."""
    n_changed: int = 0
    """Records of cases whose content has changed since."""
    gone: tuple[str, ...] = ()
    """Ids of cases that the set no longer holds."""
    config: RunConfig = NO_CONFIG
    """The existing ``config.json``, unless the run was killed before it was written."""

    @property
    def finished(self) -> list[Case]:
        """Cases of which every repeat is finished."""
        whole = asked_enough(self.kept.values(), self.settings)
        return [*{n: one.case for (n, _), one in self.kept.items() if n in whole}.values()]

    def sentences(self, run_id: str) -> list[str]:
        """Describe the point from which the run continues."""
        verb = plural(len(self.finished), "is", "are")
        done = f"{counted_cases(self.finished)} {verb}"
        reasons = {"not asked or not reached": self.n_again, "of changed content": self.n_changed}
        again = [f"{n} {reason}" for reason, n in reasons.items() if n]
        sentences = [f"run {run_id} resumes: {done} done"]
        if errors := sum(record.error is not None for record in self.kept.values()):
            kept = f"{counted(errors, 'target error', ('is', 'are'))} kept"
            new = f"a new run with --rageval-failed-from {run_id} asks again"
            sentences[0] += f"; {kept}, {new}"
        if again:
            sentences[0] += f"; what is selected is asked again: {', '.join(again)}"
        if self.gone:
            sentences.append(
                f"run {run_id}: left out what it holds of cases that the set no longer has: "
                f"{first_few(self.gone, _SHOWN)}"
            )
        return sentences


def find_resumed(settings: Settings) -> Path:
    """Return the folder of the run to continue.

    Raises:
        ConfigError: the run is to have another name.
        StorageError: no run or more than one is meant.
    """
    name = settings.resume or ""
    results = settings.results_folder
    # A session killed at once leaves an empty folder, which `resolve_run` does not find.
    bare = results / name
    folder = bare if is_run_id(name) and bare.is_dir() else resolve_run(results, name)
    if settings.run_id not in {None, folder.name}:
        raise ConfigError.of(_FLAG, "kept_id", run=folder.name, found=settings.run_id)
    return folder


def read_resumed(
    folder: Path, settings: Settings, sets: Sequence[LoadedSet], registry: Registry = BUILT_IN
) -> ResumedRun:
    """Read the records of a run and compare it with the present settings and cases.

    Raises:
        ConfigError: the run was made with other settings, or holds cases of a file that this
            session does not read.
        StorageError: a file of the run cannot be read.
    """
    lines = read_records(folder)
    run = read_documents(folder)
    if reason := run.unreadable.get("config.json"):
        raise StorageError.of(folder / "config.json", "settings_lost", reason=reason)
    if run.config is NO_CONFIG:
        if lines:
            raise ConfigError.of(folder / "config.json", "settings_lost", reason="missing")
        return ResumedRun()
    found = setting_differences(run.config, current_config(settings, registry), also=("shard",))
    if found:
        raise ConfigError.of(
            _FLAG, "other_settings", run=folder.name, differences=listed(found, "then", "now")
        )
    return _sorted_out(lines, run.config, settings, sets)


def _sorted_out(
    lines: Sequence[CaseRecord],
    config: RunConfig,
    settings: Settings,
    sets: Sequence[LoadedSet],
) -> ResumedRun:
    known = {(s.display, c.case.id): c for s in sets for c in s.cases}
    kept: dict[tuple[str, int], CaseRecord] = {}
    gone: list[CaseRecord] = []
    n_again = n_changed = 0
    is_on_disk = True
    for turns in by_attempt(latest_records(lines)):
        located = [known.get((one.file, one.case.id)) for one in turns]
        there = [one for one in located if one is not None]
        if len(there) < len(turns):
            gone += [one for one, at in zip(turns, located, strict=True) if at is None]
        elif any(at.case_hash != one.case_hash for one, at in zip(turns, there, strict=True)):
            n_changed += len(turns)
        elif not is_finished(turns):
            n_again += len(turns)
        else:
            for record, at in zip(turns, there, strict=True):
                # Takes over the fields of the case file that do not change asking or scoring.
                today = replace(record, lineno=at.lineno, case=at.case)
                today = decided_by(today, settings.judged_on)
                is_on_disk = is_on_disk and today == record
                kept[record.nodeid, record.repeat] = today
    _refuse_unread_files(gone, settings, sets)
    return ResumedRun(
        kept=kept,
        settings=settings,
        is_on_disk=is_on_disk and len(kept) == len(lines),
        n_again=n_again,
        n_changed=n_changed,
        gone=tuple(dict.fromkeys(record.case.id for record in gone)),
        config=config,
    )


def asked_enough(records: Iterable[CaseRecord], settings: Settings) -> set[str]:
    """Return the node ids of cases with a record of every repeat that they are to have."""
    every = [*records]
    again = {record.item_nodeid for record in every if record.again is not None}
    items = {record.nodeid: record.item_nodeid for record in every}
    counts = Counter(record.nodeid for record in every)
    return {
        nodeid
        for nodeid, n in counts.items()
        if n >= settings.repeats_of(again=items[nodeid] in again)
    }


def by_attempt(records: Iterable[CaseRecord]) -> list[list[CaseRecord]]:
    """Return the records of each repeat of an item: one, or the turns of a conversation."""
    found: dict[tuple[str, str, int], list[CaseRecord]] = {}
    for record in records:
        found.setdefault((record.file, record.item, record.repeat), []).append(record)
    return [*found.values()]


def is_finished(turns: Sequence[CaseRecord]) -> bool:
    """Whether a continued run keeps the records of ``by_attempt``: if the target took part.

    A time-out or a refusal is a fact about the target, and ends a conversation; a failed connection
    and a case that was never asked only show that the run was cut short. Of a conversation every
    turn counts, since none can be asked without those before it.
    """
    talk = turns[0].case.talk
    if talk is not None and len(turns) < talk.turns:
        return False
    error = next((one.error for one in turns if one.error is not None), None)
    return error is None or error.kind not in CUT_SHORT


def _refuse_unread_files(
    gone: Iterable[CaseRecord], settings: Settings, sets: Sequence[LoadedSet]
) -> None:
    # Otherwise a file name missing on the command line would delete the records of its cases.
    read = {loaded.display for loaded in sets}
    for record in gone:
        if record.file not in read and (Path(settings.rootdir) / record.file).is_file():
            raise ConfigError.of(_FLAG, "unread_file", file=record.file)


_REPLACED: Final = ("--rageval-resume", "--rageval-run-id", "--maxfail")
_LEFT_OUT: Final = frozenset(
    "-x --exitfirst --sw --stepwise --sw-skip --stepwise-skip --sw-reset --stepwise-reset".split()
)
"""A failure that remains would stop the run at the same place again."""


def resume_command(arguments: Iterable[str], run_id: str) -> str:
    """Return the command of a session with the option that makes it continue a run.

    All other arguments are kept, because a run continues only under the same settings, except
    those that stop a session at a failure, and the value of a parameter that is a secret.

    >>> resume_command(["evals", "-x", "--rag-k", "3", "--rageval-run-id=x"], "x")
    'pytest evals --rag-k 3 --rageval-resume x'
    """
    return shlex.join(["pytest", *_kept(arguments), "--rageval-resume", run_id])


def _kept(arguments: Iterable[str]) -> Iterator[str]:
    rest = iter(arguments)
    for argument in rest:
        if argument in _REPLACED:
            next(rest, None)
        elif argument not in _LEFT_OUT and not argument.startswith(
            tuple(f"{name}=" for name in _REPLACED)
        ):
            name, _, value = argument.removeprefix("--rag-param=").partition("=")
            hidden = value and is_secret_param(name, value)
            yield f"{argument.removesuffix(value)}***" if hidden else argument


class RunCases:
    """Keeps the selected cases and their records, which may come from any thread."""

    def __init__(self, sets: Sequence[LoadedSet], settings: Settings) -> None:
        self._sets = tuple(sets)
        self._settings = settings
        self._lock = threading.Lock()
        self._reported = Reported()
        self._decided: dict[str, tuple[Outcome, str]] = {}
        self._kept: dict[str, LocatedCase] = {}
        self.expected: dict[str, LocatedCase] = {}
        """Selected in this session."""
        self.items: dict[str, list[str]] = {}
        """Their node ids by that of the pytest item, which may be a conversation of several."""
        self.excused: set[str] = set()
        """Skipped by a mark or fixture of the user."""
        self.records: dict[tuple[str, int], CaseRecord] = {}
        """By node id and repeat."""

    @property
    def asked(self) -> dict[str, LocatedCase]:
        """Those selected, and those of earlier sessions of the run."""
        return {**self._kept, **self.expected}

    @property
    def n_expected(self) -> int:
        """Number of cases selected in this session and not skipped."""
        return len(self.expected) - len(self.excused)

    def locate(self, nodeids: Iterable[str]) -> dict[str, LocatedCase]:
        """Return the cases of node ids, as far as the set has them."""
        known = by_nodeid(self._sets)
        # A parametrized fixture adds [...], which no case id holds.
        found = ((nodeid, known.get(nodeid.split("[", 1)[0])) for nodeid in nodeids)
        return {nodeid: located for nodeid, located in found if located is not None}

    def collected(self, items: Iterable[str]) -> dict[str, LocatedCase]:
        """Return the cases of the items that a process collected, by their own node ids."""
        known: dict[str, list[LocatedCase]] = {}
        for nodeid, located in by_nodeid(self._sets).items():
            known.setdefault(item_of(nodeid, located.case), []).append(located)
        return {
            nodeid_of(item, located.case): located
            for item in items
            for located in known.get(item.split("[", 1)[0], ())
        }

    def expect(self, cases: Mapping[str, LocatedCase]) -> None:
        """Register selected cases."""
        for nodeid, located in cases.items():
            if nodeid not in self.expected:
                self.items.setdefault(item_of(nodeid, located.case), []).append(nodeid)
        self.expected.update(cases)
        for nodeid in cases:
            # A record without parameters could belong to any of several items.
            plain = nodeid.split("[", 1)[0]
            if plain != nodeid and self._kept.pop(plain, None) is not None:
                self.drop(plain)

    def take_over(self, records: Mapping[tuple[str, int], CaseRecord]) -> None:
        """Take the records of earlier sessions of the run."""
        self.records.update(records)
        nodeids = dict.fromkeys(nodeid for nodeid, _ in records)
        self._kept.update(self.locate(nodeids))
        for nodeid in nodeids:
            self._decide(nodeid)

    def add(self, nodeid: str, record: CaseRecord) -> None:
        """Add a record, replacing an earlier one of the same case and repeat."""
        with self._lock:
            self.records[nodeid, record.repeat] = record
            self._decide(nodeid)

    def _decide(self, nodeid: str) -> None:
        """Keep the outcome of a case whose repeats are all done; progress counts it often."""
        records = self._records([nodeid])
        if len(records) == self._wanted(records):
            record = deciding_record(records)
            kind = record.error.kind if record.scores.outcome == "error" and record.error else ""
            self._decided[nodeid] = record.scores.outcome, kind

    def excuse(self, item: str) -> None:
        """Expect no record of an item, which may have been asked ahead of its turn."""
        if item in self.items:
            self.excused.update(self.items[item])
            self.drop(item)

    def drop(self, item: str) -> None:
        """Forget the records of an item that was asked ahead of its turn and then not run."""
        with self._lock:
            for nodeid in self.items.get(item, [item]):
                for repeat in range(self._settings.most_repeats):
                    self.records.pop((nodeid, repeat), None)
                self._decided.pop(nodeid, None)

    def records_of(self, item: str) -> list[CaseRecord]:
        """Return the records of an item, by repeat and turn."""
        return self._records(self.items.get(item, [item]))

    def _records(self, nodeids: Sequence[str]) -> list[CaseRecord]:
        repeats = range(self._settings.most_repeats)
        keys = ((nodeid, repeat) for repeat in repeats for nodeid in nodeids)
        return [self.records[key] for key in keys if key in self.records]

    def _wanted(self, records: Iterable[CaseRecord]) -> int:
        """Return how often an item with these records is to be asked."""
        return self._settings.repeats_of(again=any(one.again is not None for one in records))

    def missing_repeats(self, item: str) -> list[int]:
        """Return the repeats of an item of which a record is missing."""
        return [
            repeat
            for repeat in range(self._wanted(self.records_of(item)))
            if any((nodeid, repeat) not in self.records for nodeid in self.items[item])
        ]

    def to_rerun(self) -> list[str]:
        """Return the items that ``--lf`` should run again, known once records are settled."""
        failed = (
            item_of(nodeid, record.case)
            for (nodeid, _), record in self.records.items()
            if record.scores.outcome != "passed"
        )
        return list(dict.fromkeys(failed))

    def reported(self) -> set[str]:
        """Return the node ids with a record of every repeat, and those of skipped cases."""
        return asked_enough(self.records.values(), self._settings) | self.excused

    def outcomes(self, *, earlier: bool) -> list[tuple[Outcome, str]]:
        """Return the outcomes of the selected cases whose repeats are all done.

        Args:
            earlier: only of those that an earlier session at least began.

        Returns:
            Each with the kind of the error, empty if the case has an answer.
        """
        with self._lock:
            decided = self._decided.copy()
        wanted = self._kept.keys() & self.expected.keys() if earlier else self.expected.keys()
        return [decided[nodeid] for nodeid in decided.keys() & wanted]

    def settled(self, again: Callable[[CaseRecord], CaseRecord] | None = None) -> list[CaseRecord]:
        """Score all records by the facts of the whole run, and return them in its set's order.

        Args:
            again: settles a record whose scores change where its texts are; None: it has them.
        """
        self._reported = reported_by(self.records.values())
        for key, record in self.records.items():
            found = self.settle(record)
            if found is not record:
                self.records[key] = found if again is None else again(record)
        return sorted(self.records.values(), key=lambda record: record.place)

    def settle(self, record: CaseRecord) -> CaseRecord:
        """Return a record as the facts of the whole run score it."""
        nodeid = record.nodeid
        located = self.expected.get(nodeid) or self._kept.get(nodeid)
        if located is None:
            return record
        before = nodeid in self._kept
        return settle(record, located.case, self._settings, self._reported, settled_before=before)

    def selection(self) -> Selection:
        """Count the cases of the run among those of the set."""
        whole = [(loaded.display, c.case) for loaded in self._sets for c in loaded.cases]
        chosen = {(nodeid.split("::", 1)[0], c.case.id) for nodeid, c in self.asked.items()}
        return Selection.of(
            (case for file, case in whole if (file, case.id) in chosen),
            (case for _, case in whole),
        )

    def dataset_hash(self) -> str | None:
        """Hash the content of the cases; None before any case is selected."""
        # A case of several parameters is one case of the set.
        cases = {nodeid.split("[", 1)[0]: located for nodeid, located in self.asked.items()}
        return dataset_hash(located.case_hash for located in cases.values()) if cases else None
