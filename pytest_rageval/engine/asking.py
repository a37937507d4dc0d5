"""The cases of a run asked in one call, several at once, where no test runner has its turn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

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


@contextmanager
def case_threads(slots: Slots) -> Iterator[CaseThreads[Any]]:
    """Yield threads that keep all slots busy; the slots are closed where the block fails."""
    threads: CaseThreads[Any] = CaseThreads(threads_for(slots))
    try:
        yield threads
    except BaseException:
        slots.close()
        raise
    finally:
        threads.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseAsker:
    """Asks, judges and scores the expected cases of a run, and adds their records to it."""

    run: Run
    clients: Clients
    slots: Slots
    judged_twice: Collection[tuple[str, str]] = ()
    """File and id of the cases that the spot check chose."""

    def ask(self, nodeid: str, turns: Turns | None = None) -> None:
        """Ask the repeats of one expected case that have no record so far, and add them.

        Args:
            nodeid: of the case.
            turns: taken while it computes; None: one thread asks.

        Raises:
            ConfigError: the judge cannot work with its settings.
            StorageError: the run folder cannot be written.
        """
        if turns is not None:
            with turns.computing():
                return self.ask(nodeid)
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


def ask_runs(
    askers: Sequence[CaseAsker],
    slots: Slots,
    on_asked: Callable[[CaseAsker], object] = lambda asker: None,
) -> None:
    """Ask every expected case of some runs that has no record so far.

    The runs share the slots and the threads: while the last cases of one are in flight, those of
    the next are asked. With one request in flight the caller's own thread asks, which a client may
    depend on. Where the call is interrupted, requests in flight are abandoned.

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
    if slots.limit == 1:
        for asker in askers:
            for nodeid in asker.run.cases.expected:
                asker.ask(nodeid)
            on_asked(asker)
        return
    turns = Turns()
    with case_threads(slots) as threads:
        started = [
            [
                threads.submit(partial(asker.ask, nodeid, turns))
                for nodeid in asker.run.cases.expected
            ]
            for asker in askers
        ]
        for asker, futures in zip(askers, started, strict=True):
            for future in futures:
                result_of(future)
            asker.run.state.cores_needed = turns.cores_needed()
            on_asked(asker)
