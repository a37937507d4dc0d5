"""The cases of a run asked in one call, several at once, where no test runner has its turn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice

from pytest_rageval.engine.case import Clients, try_turns
from pytest_rageval.engine.run import RunRecorder
from pytest_rageval.judges.asking import Judges
from pytest_rageval.runs.documents import redact
from pytest_rageval.support.in_flight import Slots, in_order
from pytest_rageval.support.process import CoreUse
from pytest_rageval.support.threads import computed
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseAsker:
    """Asks, judges and scores the expected cases of a run, and adds their records to it."""

    run: RunRecorder
    clients: Clients
    slots: Slots
    judged_twice: Collection[tuple[str, str]] = ()
    """File and id of the cases that the spot check chose."""

    async def ask(self, item: str) -> None:
        """Ask the repeats of an expected item that have no record so far, and add them.

        Raises:
            ConfigError: the judge cannot work with its settings.
            StorageError: the run folder cannot be written.
        """
        file, breaker = item.split("::", 1)[0], self.run.state.breaker

        def judges(case: Case) -> Judges | None:
            return self.clients.judges(twice=(file, case.id) in self.judged_twice)

        for turns in self.run.trials(item, judges, self.slots):
            nodeids = iter(turns)
            async for record, _ in try_turns([*turns.values()], self.clients.client, breaker):
                await computed(partial(self._add, next(nodeids), record))

    def _add(self, nodeid: str, record: CaseRecord) -> None:
        full_text = self.run.state.settings.store_full_text
        self.run.add(nodeid, redact(record, full_text=full_text))


def ask_runs(
    askers: Sequence[CaseAsker],
    slots: Slots,
    on_asked: Callable[[CaseAsker], object] = lambda asker: None,
) -> None:
    """Ask every expected case of some runs that has no record so far.

    The runs share the slots: while the last cases of one are in flight, those of the next are
    asked. With one request in flight the caller's own thread asks, which a client may depend on.
    Where the call is interrupted, answers that were received get their records.

    Args:
        askers: of the runs, in their order.
        slots: of all of them, closed where the call is interrupted.
        on_asked: called with each one whose cases are done, while others are still asked.

    Raises:
        ConfigError: the judge cannot work with its settings.
        StorageError: a run folder cannot be written.
    """
    for asker in askers:
        asker.run.set_concurrency(slots.limit)
    cores = CoreUse()
    works = (partial(one.ask, item) for one in askers for item in one.run.cases.items)
    with closing(in_order(works, slots)) as asked:
        for asker in askers:
            for _ in islice(asked, len(asker.run.cases.items)):
                pass
            if slots.limit > 1:
                asker.run.state.cores_needed = cores.needed()
            on_asked(asker)
