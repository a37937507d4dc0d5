"""The cases of one run by node id: the expected ones, and the records of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence

from pytest_rageval.analysis.aggregate.case_groups import deciding_record
from pytest_rageval.engine.resume import asked_enough
from pytest_rageval.metrics.scoring import reported_by, settle
from pytest_rageval.project.case_reader import (
    LoadedSet,
    LocatedCase,
    by_nodeid,
    dataset_hash,
    item_of,
    nodeid_of,
)
from pytest_rageval.values.gate import Selection
from pytest_rageval.values.record import CaseRecord, Outcome, Reported
from pytest_rageval.values.settings import Settings


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
