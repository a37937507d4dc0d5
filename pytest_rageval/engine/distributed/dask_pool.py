"""Processes of Dask as a pool: of this machine, or of a cluster that is running."""

from __future__ import annotations

import asyncio
import logging
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import metadata
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pytest_rageval.engine.distributed.job import Job
from pytest_rageval.support.process import Termination
from pytest_rageval.values.errors import ConfigError, StorageError

if TYPE_CHECKING:
    from distributed import Client

_T = TypeVar("_T")
_R = TypeVar("_R")
_PACKAGE: Final = "pytest-rageval"
_CONNECT_S: Final = 20
_OPTIONS: Final[dict[str, Any]] = {
    # Ten workers of this machine may die at a task; a running scheduler has its own number.
    "distributed.scheduler.allowed-failures": 9,
    "distributed.admin.large-graph-warning-threshold": "100MB",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # Replaces the default, whose threshold for returning memory makes large arrays several times
    # as slow.
    "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": "1"},
}


@dataclass(frozen=True, slots=True)
class DaskPool:
    """Runs the tasks of a job; those of a worker that dies are run by another."""

    client: Client

    def each(
        self, function: Callable[[Job, _T], _R], job: Job, tasks: Sequence[_T]
    ) -> Iterator[_R]:
        """Yield the result of every task, in any order.

        Raises:
            StorageError: a task was given up because its workers died, or the scheduler did.
        """
        from distributed import KilledWorker
        from distributed.client import as_completed

        futures = [self.client.submit(function, job, task, pure=False) for task in tasks]
        del tasks
        done: Any = as_completed(futures, loop=self.client.loop)  # type: ignore[no-untyped-call]
        del futures  # a result is let go once it is yielded
        try:
            for future in done:
                yield future.result()
        except KilledWorker as error:
            raise StorageError(
                f"{error.allowed_failures + 1} workers died at the same task, perhaps for lack of "
                "memory; the finished parts are kept: start again with fewer workers"
            ) from error
        except CancelledError as error:
            raise StorageError(
                "the scheduler has ended; the finished parts are kept: start it and this again"
            ) from error


@contextmanager
def open_pool(
    workers: int | None, scheduler: str | None, signals: Termination
) -> Iterator[DaskPool]:
    """Start processes, or connect to a scheduler, until the block ends.

    Args:
        workers: number of processes of this machine; None: those of the scheduler.
        scheduler: address such as ``tcp://10.0.0.7:8786``.
        signals: held while processes start and end, where Dask would show tracebacks.

    Raises:
        ConfigError: Dask is not installed or cannot start, no scheduler answers at the address, or
            the scheduler or a worker has another version of the package.
    """
    with ExitStack() as opened:
        try:
            import dask

            opened.enter_context(dask.config.set(_OPTIONS))
            client = _connect(scheduler) if scheduler else _start(workers, opened, signals)
        except ImportError as error:
            raise ConfigError(
                "--workers and --scheduler need the extra dask: pip install "
                f"'pytest-rageval[dask]' ({error})"
            ) from None
        pool = DaskPool(opened.enter_context(client))
        opened.callback(signals.hold)
        signals.release()
        yield pool


def _start(workers: int | None, opened: ExitStack, signals: Termination) -> Client:
    from distributed import Client, LocalCluster, Security

    signals.hold()
    folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="rageval-"))
    try:
        with ExitStack() as masked:
            if hasattr(signal, "pthread_sigmask"):  # inherited by workers, which never get Ctrl-C
                resource_tracker.ensure_running()  # or the first worker starts it, which unmasks
                mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                masked.callback(signal.pthread_sigmask, signal.SIG_SETMASK, mask)
            cluster = LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=workers,
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",
                memory_limit=0,
                local_directory=folder,
                silence_logs="CRITICAL",
                # Others on this machine could run code as this user without.
                security=Security.temporary(),  # type: ignore[no-untyped-call]
            )
        opened.enter_context(cluster)
        return Client(cluster, timeout=_CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, RuntimeError) as error:
        signals.release()  # one may have ended the workers
        raise ConfigError(f"--workers {workers}: cannot be started: {error}") from error


def _connect(scheduler: str) -> Client:
    from distributed import Client, Security
    from distributed.comm.core import connect

    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # errors are reported here

    async def reach() -> None:
        security = Security().get_connection_args("client")  # type: ignore[no-untyped-call]
        comm = await connect(scheduler, timeout=_CONNECT_S, **security)  # type: ignore[no-untyped-call]
        await comm.close()

    try:
        # A client that cannot connect takes twice the time to end, and then says so itself.
        asyncio.run(reach())
        client: Client = Client(scheduler, timeout=_CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except Exception as error:  # of the address, the certificates or the network
        raise ConfigError(f"--scheduler {scheduler}: cannot be reached: {error}") from error
    try:
        # By the standard library alone: a task of the package would wait for ever without it.
        found = [client.run_on_scheduler(metadata.version, _PACKAGE)]  # type: ignore[no-untyped-call]
        found += client.run(metadata.version, _PACKAGE).values()
        if other := set(found) - {metadata.version(_PACKAGE)}:
            raise ConfigError(f"{_PACKAGE} {other.pop()} is there")
    except Exception as error:
        client.close()  # type: ignore[no-untyped-call]
        raise ConfigError(
            f"--scheduler {scheduler}: expected {_PACKAGE} {metadata.version(_PACKAGE)} on "
            f"scheduler and workers: {error}"
        ) from error
    return client
