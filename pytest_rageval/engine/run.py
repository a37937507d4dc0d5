"""One run under way: records are collected and kept on disk until ``finish`` ends it.

It uses neither pytest nor the network.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.analysis.aggregate.case_groups import first_reason
from pytest_rageval.engine.case import CaseRepeat, lost_judges, not_attempted
from pytest_rageval.engine.run_cases import (
    ResumedRun,
    RunCases,
    find_resumed,
    read_resumed,
    resume_command,
)
from pytest_rageval.engine.run_state import RunState
from pytest_rageval.metrics.context import asks_alone
from pytest_rageval.metrics.scoring import reported_by, score_settings
from pytest_rageval.project.case_reader import LoadedSet, LocatedCase, item_of
from pytest_rageval.project.settings import config_warnings
from pytest_rageval.report.view.progress import Progress
from pytest_rageval.runs.baseline import failed_before
from pytest_rageval.runs.documents import RunFacts, case_set, record_line, run_config, without_texts
from pytest_rageval.runs.git import git_state
from pytest_rageval.runs.store import RESULTS, RunWriter, new_run_id, read_record, write_document
from pytest_rageval.support.text import counted, part
from pytest_rageval.target.opening import configured_target, target_notes
from pytest_rageval.values.case import Case, counted_cases
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import GitState, RunConfig, StoredRun
from pytest_rageval.values.settings import AUTO, AUTO_REPEATS

if TYPE_CHECKING:
    from pytest_rageval.judges.asking import Judges
    from pytest_rageval.report.view.summary import FinishedRun
    from pytest_rageval.support.in_flight import Slots

_MOST_WHOLE_BYTES: Final = 32 << 20
"""Lines of records in memory with their texts: those of usual runs, and of the first cases of one
whose replies are many times as long."""


class RunRecorder:
    """Collects the records of a session and finishes them into a run folder.

    Args:
        state: settings, thresholds and case files of the run.
        results: folder of all runs; None: that of the settings.
        most_whole: number of records in memory with their texts, of 32 MB at most; those of later
            ones are read from the folder of the run where they are needed, unless code of the
            project gets all records. None: all.
    """

    def __init__(
        self, state: RunState, *, results: Path | None = None, most_whole: int | None = None
    ) -> None:
        self.state = state
        self._most_whole = None if state.registry.reads_records else most_whole
        self._results = results or state.settings.results_folder
        self._sets = tuple(state.sets.values())
        self.cases = RunCases(self._sets, state.settings)
        self.invocation: tuple[str, ...] = ()
        """Command-line arguments, for the command that continues the run."""
        self.resumed: ResumedRun | None = None
        self.notes: dict[str, None] = {}
        """Remarks of the processes that ran the cases, for the summary, each once."""
        self._lock = threading.Lock()
        self._places: dict[tuple[str, int], int] = {}
        """Of the lines of records without their texts, by node id and repeat."""
        self._appended = self._appended_bytes = 0
        self._ended = False
        self._writer: RunWriter | None = None
        self.broken = False
        """Whether a record could not be stored, so that the run cannot end well."""
        self._git = GitState()
        self._wall_s: float | None = None
        self._started = self._asking_since = self._last_added = time.monotonic()
        self._started_at = datetime.now(UTC)
        self.run_id = state.settings.run_id or new_run_id(self._started_at)
        state.run_id = self.run_id
        if state.settings.repeats == AUTO:
            name = state.settings.baseline or state.thresholds.baseline
            state.failed_before = failed_before(state.settings, name)

    # --- what is selected

    def header(self) -> str:
        """Describe the run in one line."""
        settings = self.state.settings
        # A conftest file that is loaded later may still replace it by a fixture.
        configured = configured_target(settings)
        target = part("configured target {}", configured) or "target the rag_client fixture"
        cases = [c.case for one in self._selected_sets() for c in one.cases]
        tier = part("tier {}, ", settings.tier)
        text = f"rageval: {tier}{counted_cases(cases)}, {target}, k {settings.k}"
        if settings.repeats == AUTO:
            text += f", asked {AUTO_REPEATS} times where one answer is not enough"
        elif settings.repeats > 1:
            text += f", each asked {settings.repeats} times"
        if settings.context_carry:
            text += f", {counted(sum(map(asks_alone, cases)), 'turn')} once more alone"
        if settings.shard is not None:
            text += f", shard {settings.shard}"
        return text

    def _selected_sets(self) -> list[LoadedSet]:
        return [loaded for loaded in self._sets if loaded.path in self.state.files]

    # --- continuing an earlier session

    def resume(self) -> None:
        """Load the run named by the settings and lock its folder against other sessions.

        Raises:
            ConfigError: it was made with other settings.
            StorageError: it cannot be found, read or written, or another session writes it.
        """
        settings = self.state.settings
        folder = find_resumed(settings)
        writer = RunWriter(folder.parent, folder.name, resume=True)
        try:
            found = read_resumed(folder, settings, self._sets, self.state.registry)
            if not found.is_on_disk:
                writer.rewrite(found.kept.values())
        except BaseException:
            writer.close()
            raise
        self._writer, self.resumed, self.run_id = writer, found, folder.name
        self.state.run_id = self.run_id
        self.cases.take_over(found.kept)
        self._appended = len(found.kept)
        for (nodeid, repeat), record in sorted(found.kept.items(), key=lambda one: one[1].place):
            repeats = self.state.finished.setdefault(item_of(nodeid, record.case), {})
            repeats[repeat] = (*(repeats.get(repeat) or ()), record)
        for repeats in self.state.finished.values():
            records = [one for turns in repeats.values() for one in turns or ()]
            again = any(one.again is not None for one in records)
            if 0 in repeats:  # further ones are not wanted, and so done
                wanted = settings.repeats_of(again=again)
                repeats.update(dict.fromkeys(range(wanted, settings.most_repeats), ()))
        self.state.asked.update(found.config.asked)
        self.state.notes += found.sentences(self.run_id)[1:]
        self._describe(writer)

    def finished_keys(self) -> dict[str, dict[int, Any]]:
        """Return the finished repeats by item, as workers need them.

        Records are included as lines where a test function of the user may read them.
        """
        own = {s.display for s in self._sets if s.path.with_suffix(".py").is_file()}
        auto = self.state.settings.repeats == AUTO
        return {
            nodeid: {
                repeat: [record_line(record).decode() for record in records]
                if records is not None and (auto or records[0].file in own)
                else None
                for repeat, records in repeats.items()
            }
            for nodeid, repeats in self.state.finished.items()
        }

    # --- during the run

    def expect(self, cases: Mapping[str, LocatedCase]) -> None:
        """Register selected cases, which are about to be asked."""
        self.cases.expect(cases)
        self._asking_since = time.monotonic()

    def add(self, nodeid: str, record: CaseRecord, line: bytes | None = None) -> None:
        """Keep one finished case, on disk first; from any thread.

        A record that arrives after the end of the run is ignored.

        Args:
            nodeid: of its item.
            record: as it is stored.
            line: its line, where another process has made it.

        Raises:
            StorageError: the run folder cannot be written.
        """
        with self._lock:
            if self._ended:
                return
            line = record_line(record) if line is None else line
            try:
                place = self._open_writer().append(record, line)
            except StorageError as error:
                self.broken = True
                raise error.within(resume=self.resumable) from error
            self._appended += 1
            self._appended_bytes += len(line)
            most, long = self._most_whole, self._appended_bytes > _MOST_WHOLE_BYTES
            if most is not None and (long or self._appended > most):
                self._places[nodeid, record.repeat] = place
                record = without_texts(record)
            self.cases.add(nodeid, record)
            self._last_added = time.monotonic()

    def _whole(self, record: CaseRecord) -> CaseRecord:
        """Return a record with its texts, as its line holds it where it has none."""
        place = self._places.get((record.nodeid, record.repeat))
        return record if place is None else read_record(self._open_writer().path, place)

    def _settled(self, record: CaseRecord) -> CaseRecord:
        """Return a record with its texts, scored by the facts of the whole run."""
        return self.cases.settle(self._whole(record))

    def _settled_again(self, record: CaseRecord) -> CaseRecord:
        """Return a record that the facts of the whole run score otherwise, as it is kept."""
        found = self._settled(record)
        slim = (record.nodeid, record.repeat) in self._places
        return without_texts(found) if slim else found

    def _rewrite(self, writer: RunWriter, records: Sequence[CaseRecord]) -> None:
        places = writer.rewrite(map(self._settled, records))
        keys = [(record.nodeid, record.repeat) for record in records]
        self._places = {
            key: place for key, place in zip(keys, places, strict=True) if key in self._places
        }

    def note_crash(self, nodeid: str, message: str) -> None:
        """Record a case whose process died while it ran, so that its answers were lost."""
        if nodeid in self.cases.items:
            reason = f"its process died while it ran: {message}"
            for turns in self.trials(nodeid, lambda case: lost_judges(self.state.settings)):
                for turn, trial in turns.items():
                    if (turn, trial.repeat) not in self.cases.records:
                        self.add(turn, not_attempted(trial, reason))

    def trials(
        self,
        item: str,
        judges: Callable[[Case], Judges | None],
        slots: Slots | None = None,
    ) -> Iterator[dict[str, CaseRepeat]]:
        """Yield by node id the turns of each repeat of an item that lacks a record.

        Args:
            item: node id of a case or a conversation, which is expected.
            judges: returns those of a case.
            slots: of the requests; None: no limit.
        """
        file = item.split("::", 1)[0]
        turns = {one: self.cases.expected[one] for one in self.cases.items[item]}
        begun = set[int]()
        # The records of one may ask for more.
        while missing := [n for n in self.cases.missing_repeats(item) if n not in begun]:
            begun.add(repeat := missing[0])
            again = first_reason(self.cases.records_of(item))
            yield {
                nodeid: CaseRepeat(
                    located,
                    file,
                    self.state.settings,
                    repeat,
                    judges(located.case),
                    slots=slots,
                    run_id=self.run_id,
                    parameters=nodeid.removeprefix(f"{file}::{located.case.id}"),
                    registry=self.state.registry,
                    again=again,
                    failed_before=nodeid in self.state.failed_before,
                )
                for nodeid, located in turns.items()
            }

    @property
    def resumable(self) -> str:
        """The id of the run, while it has records that it can be resumed with; else empty."""
        stored = self._writer is not None and (self._writer.path / RESULTS).is_file()
        return self.run_id if stored else ""

    def close(self) -> None:
        """Release the run however the session ended; later records are ignored."""
        with self._lock:
            self._ended = True
            if self._writer is not None:
                # Bytes still in its buffer were refused before, with an error to the caller.
                with suppress(StorageError):
                    self._writer.close()

    def progress(self, slots: Slots | None = None) -> Progress | None:
        """Count the finished cases; None before any case is selected.

        Args:
            slots: of the requests; None: they are sent by other processes.
        """
        if not self.cases.expected:
            return None
        outcomes = self.cases.outcomes(earlier=False)
        return Progress(
            total=self.cases.n_expected,
            outcomes=Counter(outcome for outcome, _ in outcomes),
            errors=Counter(kind for _, kind in outcomes if kind),
            earlier=len(self.cases.outcomes(earlier=True)),
            elapsed_s=time.monotonic() - self._asking_since,
            last_s=self._last_added - self._asking_since,
            in_flight=None if slots is None else slots.held,
            pausing=0 if slots is None else slots.pausing,
            limited=0 if slots is None else slots.limited,
        )

    def _open_writer(self) -> RunWriter:
        if self._writer is None:
            self._writer = RunWriter(self._results, self.run_id)
            self._describe(self._writer)
        return self._writer

    def _describe(self, writer: RunWriter) -> None:
        """Write the settings of the run before its first record."""
        self._git = git_state(Path(self.state.settings.rootdir), self.state.all_files)
        self._write_config(writer)

    def _write_config(self, writer: RunWriter) -> None:
        config = self._config(list(self.cases.records.values()))
        write_document(writer.path, "config.json", config)

    def set_concurrency(self, concurrency: int) -> None:
        """Store the requests in flight at most that the processes of the run have shown so far.

        Raises:
            StorageError: the run folder cannot be written.
        """
        if concurrency == self.state.concurrency:
            return
        self.state.concurrency = concurrency
        with self._lock:
            if self._writer is not None and not self._ended:
                self._write_config(self._writer)

    # --- the end

    def finish(self, *, gate: bool, index: bool = False) -> FinishedRun:
        """Aggregate, decide and write.

        Args:
            gate: False when the session was interrupted; the gate is then not evaluated, but
                the results are kept.
            index: whether the run is put into the index of runs, where one is configured.

        Raises:
            StorageError: the run folder cannot be written.
        """
        # Imported at the end: no answer waits for what only the end of a run needs.
        from pytest_rageval.engine.finish import EndedRun, finish_run

        with self._lock:
            self._ended = True
            writer = self._open_writer()
        self._wall_s = time.monotonic() - self._started
        written = {id(record) for record in self.cases.records.values()}
        records = self.cases.settled(self._settled_again)
        if self._appended != len(records) or any(id(r) not in written for r in records):
            # A line written before the whole run was known may contradict it, or hold an attempt
            # that was repeated or a case that was skipped later.
            self._rewrite(writer, records)
        settings, state, selected = self.state.settings, self.state, self._selected_sets()
        gave_up = state.breaker.gave_up
        ended = EndedRun(
            run=self.stored(records),
            project=settings,
            thresholds=state.thresholds,
            selection=self.cases.selection().of_files(sum(len(one.cases) for one in selected)),
            n_expected=len(self.cases.asked),
            n_reported=len(self.cases.reported()),
            labels=state.labels,
            registry=state.registry,
            notes=[
                *filter(None, [gave_up]),
                *state.breaker.budget.notes(),
                *map(str, config_warnings(settings)),
                *target_notes(
                    settings,
                    state.asked,
                    talks=any((one.case.turn or 1) > 1 for one in self.cases.asked.values()),
                ),
                *state.notes,
                *(warning for one in selected for warning in one.warnings),
                *self.notes,
                *(["the git tree has uncommitted changes"] if self._git.dirty else []),
            ],
            gave_up=gave_up,
            resume=resume_command(self.invocation, self.run_id),
        )
        return finish_run(ended if gate else ended.stopped(), writer, index=index)

    def stored(self, records: Sequence[CaseRecord]) -> StoredRun:
        """Return the run with these records, which are scored by the facts of all of them."""
        settings = self.state.settings
        return StoredRun(
            folder=self._open_writer().path,
            records=records,
            config=self._config(records),
            settings=settings,
            whole=self._whole,
            scoring=score_settings(settings, reported_by(records)),
        )

    def _config(self, records: Sequence[CaseRecord]) -> RunConfig:
        config = run_config(
            self.state.settings,
            run_id=self.run_id,
            started_at=self._started_at,
            dataset_hash=self.cases.dataset_hash(),
            facts=RunFacts.of(records),
            registry=self.state.registry,
        )
        started = self._started_at.isoformat(timespec="seconds")
        earlier = () if self.resumed is None else self.resumed.config.sessions
        return replace(
            config,
            git=self._git,
            asked=tuple(sorted(self.state.asked)),
            set=case_set(self._sets, self._selected_sets()),
            skipped=tuple(sorted(self.cases.excused)),
            sessions=(*earlier, started),
            concurrency=self._concurrency(),
            cores_needed=self._cores_needed(),
            wall_s=self._wall_s,
        )

    def _cores_needed(self) -> float | None:
        earlier = None if self.resumed is None else self.resumed.config.cores_needed
        known = [cores for cores in (earlier, self.state.cores_needed) if cores is not None]
        return round(max(known), 3) if known else None

    def _concurrency(self) -> int | None:
        here = self.state.concurrency
        if here is not None:
            here = min(here, len(self.cases.expected))
        if self.resumed is None:
            return 1 if here is None and self.cases.records else here
        earlier = self.resumed.config.concurrency
        asked_here = self._appended > len(self.resumed.kept)
        return None if asked_here and here not in {earlier, None} else earlier
