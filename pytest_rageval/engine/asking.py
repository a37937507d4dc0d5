"""The cases of a run asked in one call, several at once, where no test runner has its turn."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Final

from pytest_rageval.engine.case import Clients, Trial, try_case
from pytest_rageval.engine.run import Run
from pytest_rageval.runs.record_json import redact
from pytest_rageval.support.slots import Slots, Turns
from pytest_rageval.support.threads import CaseThreads, result_of
from pytest_rageval.values.dataclass import dataclass

_SPARE: Final = 4
"""One thread in four beyond the limit: it scores while the others' requests are in flight."""


def threads_for(slots: Slots) -> int:
    """Return the number of threads that keep all slots busy."""
    return slots.limit + max(1, slots.limit // _SPARE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseAsker:
    """Asks, judges and scores the expected cases of a run, and adds their records to it."""

    run: Run
    clients: Clients
    slots: Slots
    judged_twice: Collection[tuple[str, str]] = ()
    """File and id of the cases that the spot check chose."""

    def ask_all(self) -> None:
        """Ask every repeat that has no record so far; return when the last one is added.

        With one request in flight the caller's own thread asks, which a client may depend on.
        Where the call is interrupted, requests in flight are abandoned.

        Raises:
            ConfigError: the judge cannot work with its settings.
            StorageError: the run folder cannot be written.
        """
        nodeids = list(self.run.cases.expected)
        self.run.set_concurrency(self.slots.limit)
        if self.slots.limit == 1:
            for nodeid in nodeids:
                self._ask(nodeid)
            return
        turns = Turns()
        threads: CaseThreads[None] = CaseThreads(threads_for(self.slots))
        try:
            started = [threads.submit(partial(self._ask, nodeid, turns)) for nodeid in nodeids]
            for future in started:
                result_of(future)
            self.run.state.cores_needed = turns.cores_needed()
        finally:
            threads.stop()
            self.slots.close()

    def _ask(self, nodeid: str, turns: Turns | None = None) -> None:
        if turns is not None:
            with turns.computing():
                return self._ask(nodeid)
        run, located = self.run, self.run.cases.expected[nodeid]
        settings, file = run.state.settings, nodeid.split("::", 1)[0]
        judges = self.clients.judges(twice=(file, located.case.id) in self.judged_twice)
        for repeat in run.cases.missing_repeats(nodeid):
            trial = Trial(
                located,
                file,
                settings,
                repeat,
                judges,
                slots=self.slots,
                run_id=run.run_id,
                registry=run.state.registry,
            )
            record, _ = try_case(trial, self.clients.client, run.state.breaker)
            run.add(nodeid, redact(record, full_text=settings.store_full_text))
