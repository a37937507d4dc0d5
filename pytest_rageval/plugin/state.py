"""State of a pytest session that evaluates, in one place per process.

Standard library alone: the plugin imports it at load.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from pytest_rageval.engine.run_state import RunState

if TYPE_CHECKING:
    import pytest

    from pytest_rageval.support.slots import Slots
    from pytest_rageval.values.errors import DatasetError
    from pytest_rageval.values.record import CaseRecord


class Recorder(Protocol):
    """Records or replays the traffic of the cases; see ``cassettes``."""

    replaying: bool
    """Whether replies come from a cassette alone."""
    served_at: str | None
    """Where the embedded target is served already; None: it is started when it is needed."""

    def open_target(self) -> AbstractContextManager[object]:
        """Open the target."""

    def open_judge(self) -> AbstractContextManager[object]:
        """Open the judge."""

    def open_second_judge(self) -> AbstractContextManager[object]:
        """Open the judge of the spot check."""


class AheadAsker(Protocol):
    """Asks cases ahead of their turn; see ``lookahead``."""

    def note_next(self, nextitem: pytest.Item | None) -> None:
        """Learn which item pytest runs after the one that begins now."""

    def measure(self, item: Any, clients: Clients) -> Evaluated:
        """Return the records of a case, and start those that come next."""

    def forget(self, item: Any) -> None:
        """Withdraw a case that was asked ahead and did not run."""


@dataclass
class State(RunState):
    """State of a run in one pytest process, with what only pytest needs to know."""

    faulty: dict[Path, DatasetError] = field(default_factory=dict)
    """Case files that could not be loaded."""
    target_url: str | None = None
    """Where the controller serves the embedded target, when this process is a worker."""
    slots: Slots | None = None
    """Of which every request of this process holds one; None: no limit."""
    lookahead: AheadAsker | None = None
    """What asks cases ahead of their turn; None: they go one by one."""
    deliver: Callable[[str, CaseRecord], None] | None = None
    """Keeps the record of a finished case, by node id and on any thread; None: its report
    carries it to another process."""
    only: frozenset[tuple[str, str]] | None = None
    """File and id of the cases that failed in the run whose failures are selected; None: no such
    selection."""
    part: frozenset[tuple[str, str]] | None = None
    """File and id of the cases of this shard; None: the set is not cut into parts."""
    cassettes: Recorder | None = None
    """What records or replays the traffic of the cases; None: they ask live."""
    judges: list[object] = field(default_factory=list)
    """Those that cases of this process were judged by so far."""
    judged_twice: frozenset[tuple[str, str]] = frozenset()
    """File and id of the cases that the spot check chose, known once all are collected."""

    @property
    def on_miss_fails(self) -> bool:
        """Whether a miss fails the run by itself."""
        return self.thresholds.on_miss == "fail"


CLIENT_FIXTURES: Final = ("rag_client", "judge", "_rageval_second_judge")
"""Fixtures that give a case its clients, in the order of ``Clients``."""


@dataclass(frozen=True, slots=True)
class Clients:
    """Target and judges that the fixtures of a case gave it."""

    client: object
    judge: object = None
    second_judge: object = None

    def are(self, others: Clients) -> bool:
        """Say whether these are the very same objects."""
        return (
            self.client is others.client
            and self.judge is others.judge
            and self.second_judge is others.second_judge
        )


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Records that asking a case gave."""

    records: tuple[CaseRecord, ...]
    """One per repeat that was asked, as they are stored."""
    took_s: float
    """From asking to the last record, waiting for a free slot included."""
    output: CaseOutput | None = None
    """What was logged and printed meanwhile, where pytest could not tell whose it was."""


@dataclass(slots=True)
class CaseOutput:
    """Log records and text of one case so far."""

    records: list[logging.LogRecord] = field(default_factory=list)
    printed: dict[str, io.StringIO] = field(default_factory=dict)


def is_xdist_controller(config: pytest.Config) -> bool:
    """Say whether this process hands its cases to workers."""
    return bool(config.pluginmanager.hasplugin("dsession"))
