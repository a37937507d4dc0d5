"""Processes of Dask as a pool: of this machine, or of a cluster that is running."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pytest_rageval.engine.distributed.job import Job
from pytest_rageval.values.errors import ConfigError, StorageError

if TYPE_CHECKING:
    from distributed import Client

_T = TypeVar("_T")
_R = TypeVar("_R")
_MISSING: Final = (
    "--workers and --scheduler need the extra dask: pip install 'pytest-rageval[dask]' ({})"
)
_DEATHS: Final = 10
"""Workers that may die at one task until it is given up."""
_CONNECT_S: Final = 20


class DaskPool:
    """Runs the tasks of a job; those of a worker that dies are run by another."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def address(self) -> str:
        """Of the scheduler."""
        return str(self._client.scheduler_info()["address"])

    def each(
        self, function: Callable[[Job, _T], _R], job: Job, tasks: Sequence[_T]
    ) -> Iterator[_R]:
        """Yield the result of every task, in any order.

        Raises:
            StorageError: a task was given up because its workers died.
        """
        from distributed import KilledWorker
        from distributed.client import as_completed

        futures = [self._client.submit(function, job, task, pure=False) for task in tasks]
        del tasks
        done: Any = as_completed(futures, loop=self._client.loop)  # type: ignore[no-untyped-call]
        del futures  # a result is let go once it is yielded
        try:
            for future in done:
                yield future.result()
        except KilledWorker as error:
            raise StorageError(
                f"{_DEATHS} workers died while they {function.__name__.replace('_', ' ')}, perhaps "
                "for lack of memory; the finished parts are kept: start again with fewer workers"
            ) from error


@contextmanager
def open_pool(workers: int | None, scheduler: str | None) -> Iterator[DaskPool]:
    """Start processes, or connect to a scheduler, until the block ends.

    Args:
        workers: number of processes of this machine; None: those of the scheduler.
        scheduler: address such as ``tcp://10.0.0.7:8786``.

    Raises:
        ConfigError: Dask is not installed, or no scheduler answers at the address.
    """
    try:
        import dask
        from distributed import Client, LocalCluster, Security
    except ImportError as error:
        raise ConfigError(_MISSING.format(error)) from None
    options: dict[str, Any] = {
        "distributed.scheduler.allowed-failures": _DEATHS,
        "distributed.admin.large-graph-warning-threshold": "100MB",
        # Its threshold for returning memory makes large arrays several times as slow.
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": "1"},
    }
    with ExitStack() as opened:
        opened.enter_context(dask.config.set(options))
        address: Any = scheduler
        if scheduler is None:
            folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="rageval-"))
            address = opened.enter_context(
                LocalCluster(  # type: ignore[no-untyped-call]
                    n_workers=workers,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    memory_limit=0,
                    local_directory=folder,
                    silence_logs="CRITICAL",
                    # Others on this machine could run code as this user without.
                    security=Security.temporary(),  # type: ignore[no-untyped-call]
                )
            )
        try:
            made = Client(  # type: ignore[no-untyped-call]
                address, timeout=_CONNECT_S, set_as_default=False
            )
            client = opened.enter_context(made)
        except (OSError, ValueError) as error:
            raise ConfigError(f"--scheduler {scheduler}: cannot be reached: {error}") from error
        yield DaskPool(client)
