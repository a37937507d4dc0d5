"""State of a pytest session that evaluates, one per process."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from pytest_rageval.engine.run_state import RunState
from pytest_rageval.support.process import Termination

if TYPE_CHECKING:
    import pytest

    from pytest_rageval.engine.case import Clients
    from pytest_rageval.support.in_flight import Slots
    from pytest_rageval.values.errors import DatasetError
    from pytest_rageval.values.record import CaseRecord


class Recorder(Protocol):
    """Plugin that records or replays the traffic of the cases; see ``cassettes``."""

    replaying: bool
    """Whether replies come only from a cassette."""
    replayed: bool
    """Whether some replies came from a cassette so far."""
    served_at: str | None
    """URL of an embedded target that runs already; None: it is started on demand."""

    def open_target(self) -> AbstractContextManager[object]:
        """Open the target."""

    def open_judge(self, *, second: bool = False) -> AbstractContextManager[object]:
        """Open the judge, or that of the spot check."""


class AheadAsker(Protocol):
    """Lookahead that asks cases ahead of their turn; see ``lookahead``."""

    def note_next(self, nextitem: pytest.Item | None) -> None:
        """Store the item that pytest runs after the current one."""

    def measure(self, item: Any, clients: Clients) -> Evaluated:
        """Return the records of a case, and start those that come next."""

    def forget(self, item: Any) -> None:
        """Withdraw a case that was asked ahead and did not run."""


@dataclass
class State(RunState):
    """State of a run in one pytest process, with the parts that only pytest needs."""

    faulty: dict[Path, DatasetError] = field(default_factory=dict)
    """Case files that could not be loaded."""
    termination: Termination = field(default_factory=Termination)
    """Handler of SIGTERM and SIGHUP from the collection to the end of the session."""
    target_url: str | None = None
    """URL at which the controller serves the embedded target, if this process is a worker."""
    slots: Slots | None = None
    """Slots held by every request of this process; None: no limit."""
    lookahead: AheadAsker | None = None
    """Lookahead that asks cases ahead of their turn; None: one by one."""
    deliver: Callable[[str, CaseRecord], None] | None = None
    """Function that keeps the record of a finished case, by node id and on any thread, or sends it
    to the process that does; None: nothing keeps it."""
    is_worker: bool = False
    """Whether another process keeps the records and writes the run."""
    only: frozenset[tuple[str, str]] | None = None
    """File and id of the cases that failed in the selected run; None: no such selection."""
    part: frozenset[tuple[str, str]] | None = None
    """File and id of the cases of this shard; None: the run is not sharded."""
    debugs: bool = False
    """Whether a debugger is to stop where the user's client raises."""
    cassettes: Recorder | None = None
    """Plugin that records or replays the traffic of the cases; None: live traffic."""
    own_judge: bool = False
    """Whether fixtures of the user judge every case, maybe by the judge of the settings, set after
    collection."""
    judges: list[object] = field(default_factory=list)
    """Judges used by cases of this process so far."""
    judged_twice: frozenset[tuple[str, str]] = frozenset()
    """File and id of the cases that the spot check chose, set after collection."""

    @property
    def on_miss_fails(self) -> bool:
        """Whether a miss alone fails the run."""
        return self.thresholds.on_miss == "fail"


CLIENT_FIXTURES: Final = ("rag_client", "judge", "_rageval_second_judge")
"""Fixtures that give a case its clients, in the order of ``Clients``."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Records of asking a case."""

    records: tuple[CaseRecord, ...]
    """One stored record per repeat asked."""
    took_s: float
    """Seconds from asking to the last record, including the wait for a free slot."""
    raised: BaseException | None = None
    """Exception of the user's client, for a debugger."""


@dataclass(slots=True)
class CaseOutput:
    """Log records and text of one case so far."""

    records: list[logging.LogRecord] = field(default_factory=list)
    printed: dict[str, io.StringIO] = field(default_factory=dict)
    n_live: int = 0
    """Log records that were shown while the case ran."""


def is_xdist_controller(config: pytest.Config) -> bool:
    """Return whether this process distributes its cases to workers."""
    return bool(config.pluginmanager.hasplugin("dsession"))


def asks_nothing(config: pytest.Config) -> bool:
    """Return whether cases are only listed or only set up."""
    return bool(config.option.collectonly or config.getoption("setuponly", False))
