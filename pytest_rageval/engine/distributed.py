"""Recorded responses scored in many processes, on Dask: shards are mapped, then joined."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from pytest_rageval.analysis.aggregate.table import RecordRows
from pytest_rageval.engine.judging import JudgeFacts
from pytest_rageval.engine.own_code import open_registry
from pytest_rageval.engine.recorded import FilesPart, RecordedFindings, RecordedRun
from pytest_rageval.engine.recorded_lines import line_id
from pytest_rageval.judges.opening import open_judge
from pytest_rageval.report.view.judging import Failures
from pytest_rageval.support.files import named_errors, shown_below
from pytest_rageval.support.jsonl import Place
from pytest_rageval.values.errors import ConfigError, DatasetError, StorageError
from pytest_rageval.values.settings import Settings

if TYPE_CHECKING:
    from distributed import Client

_PACKAGE: Final = "pytest-rageval"
_CONNECT_S: Final = 20
_PER_WORKER: Final = 4
"""Shards for each worker, so that one that is slow or dies holds up little."""
_SHARD_BYTES: Final = 64 << 20
_NO_PAGES: Final[dict[str, Any]] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
"""Of the processes of this machine: nobody looks at them."""


@dataclass(slots=True, kw_only=True)
class ScoredShards:
    """Numbers and findings of scored shards together."""

    columns: RecordRows
    findings: RecordedFindings
    failures: Failures = field(default_factory=Failures)
    """The first of them in the order of one process."""
    judged: JudgeFacts = field(default_factory=JudgeFacts)

    def extend(self, other: ScoredShards) -> None:
        """Take another shard."""
        self.columns.extend(other.columns)
        self.findings.extend(other.findings)
        self.failures.extend(other.failures)


def shards_of(cases: Path, responses: Path, settings: Settings, n: int) -> list[FilesPart]:
    """Divide two files into at least ``n`` shards, by the ids of the cases.

    Raises:
        DatasetError: a file cannot be read.
    """
    files, root = (cases.absolute(), responses.absolute()), Path(settings.rootdir)
    shown = (shown_below(cases, root), shown_below(responses, root))
    with named_errors(responses, DatasetError, "unreadable"):
        n = max(n, sum(path.stat().st_size for path in files) // _SHARD_BYTES)
    for path, name in zip(files, shown, strict=True):
        if not path.is_file():
            raise DatasetError.of(
                name, "value", found="no file", expected="one; a pipe is scored without --workers"
            )
    places = [_places(path, n) for path in files]
    with open_judge(settings, environ=os.environ) as judge:
        run = RecordedRun(*files, settings, judge=judge, registry=open_registry(settings))
        reported = run.reported()
    return [
        FilesPart(cases=of, responses=answers, reported=reported, shown=shown)
        for of, answers in zip(*places, strict=True)
    ]


def _places(path: Path, n: int) -> list[list[Place]]:
    """Return the places of the lines of each shard; lines without an id are of the first one."""
    found: list[list[Place]] = [[] for _ in range(n)]
    offset = 0
    with named_errors(path, DatasetError, "unreadable"), path.open("rb") as lines:
        for number, raw in enumerate(lines, 1):
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8", "replace")
            if not text.isspace():
                case_id = line_id(text) or ""
                shard = crc32(case_id.encode("utf-8", "surrogatepass")) % n
                found[shard].append((number, offset))
            offset += len(raw)
    return found


def score_shard(part: FilesPart, cases: Path, responses: Path, settings: Settings) -> ScoredShards:
    """Score one shard of two files; faults of its lines are left in its findings.

    Raises:
        ConfigError: the settings are wrong.
        DatasetError: a file cannot be read.
    """
    registry = open_registry(settings)
    with open_judge(settings, environ=os.environ) as judge:
        run = RecordedRun(
            cases,
            responses,
            settings,
            judge=judge,
            registry=registry,
            stored=False,
            part=part,
        )
        scored = ScoredShards(columns=_columns(settings), findings=run.findings)
        for record in run.records():
            scored.columns.add(record)
            scored.failures.add(record)
            scored.judged.add(record)
    return scored


def joined(shards: Iterable[ScoredShards], settings: Settings, cases: Path) -> ScoredShards:
    """Return what scored shards give together, in any order.

    Raises:
        DatasetError: with every fault of both files.
    """
    shown = shown_below(cases, Path(settings.rootdir))
    scored = ScoredShards(columns=_columns(settings), findings=RecordedFindings(cases=shown))
    for shard in shards:
        scored.extend(shard)
    scored.findings.raise_faults()
    return scored


def _columns(settings: Settings) -> RecordRows:
    return RecordRows(open_registry(settings), path_case=settings.path_case)


def score_shards(
    cases: Path,
    responses: Path,
    settings: Settings,
    client: Client,
    on_scored: Callable[[int, int], object] = lambda done, of: None,
) -> ScoredShards:
    """Score two files on the workers of a client.

    Args:
        cases: the case file.
        responses: of recorded responses; every worker sees both under these paths.
        settings: of the run.
        client: whose workers score.
        on_scored: called with the numbers of scored and of all shards.

    Raises:
        DatasetError: with every fault of both files.
        ConfigError: the settings need all records in one process.
        StorageError: a shard was given up because its workers died, or the scheduler did.
    """
    from distributed import KilledWorker, as_completed

    if open_registry(settings).reads_records:
        raise ConfigError.of("--workers, --scheduler", "one_process")
    n = _PER_WORKER * max(1, sum(client.nthreads().values()))  # type: ignore[no-untyped-call]
    shards = shards_of(cases, responses, settings, n)
    score = partial(
        score_shard, cases=cases.absolute(), responses=responses.absolute(), settings=settings
    )
    futures = client.map(score, shards, pure=False)
    done: Any = as_completed(futures, loop=client.loop)  # type: ignore[no-untyped-call]
    del futures  # a result is let go once it is joined

    def results() -> Iterator[ScoredShards]:
        for n_done, future in enumerate(done, 1):
            yield future.result()
            future.release()  # here, where an interrupt is raised: __del__ would print and drop it
            on_scored(n_done, len(shards))

    try:
        return joined(results(), settings, cases)
    except KilledWorker as error:
        raise StorageError.of("", "workers_died", n=error.allowed_failures + 1) from error
    except CancelledError as error:
        raise StorageError.of("", "scheduler_ended") from error


@contextmanager
def open_client(workers: int | None, scheduler: str | None) -> Iterator[Client]:
    """Start processes of this machine, or connect to a scheduler, until the block ends.

    Raises:
        ConfigError: Dask is not installed or cannot start, no scheduler answers at the address, or
            it or a worker has another version of the package.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ConfigError.of(
            "--workers, --scheduler", "needs_extra", extra="dask", reason=error
        ) from None
    with ExitStack() as opened:
        if scheduler is None:
            client = opened.enter_context(_started(workers))
        else:
            try:
                client = opened.enter_context(
                    Client(scheduler, timeout=_CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call]
                )
                # By the standard library alone, which any worker has.
                found = [client.run_on_scheduler(metadata.version, _PACKAGE)]
                found += client.run(metadata.version, _PACKAGE).values()
            except Exception as error:  # of the address, the network or another environment
                raise ConfigError.of(
                    f"--scheduler {scheduler}", "unusable", reason=error
                ) from error
            if other := {*found} - {metadata.version(_PACKAGE)}:
                raise ConfigError.of(
                    f"--scheduler {scheduler}",
                    "type",
                    found=f"{_PACKAGE} {other.pop()}",
                    expected=f"{metadata.version(_PACKAGE)} on scheduler and workers",
                )
        yield client


@contextmanager
def _started(workers: int | None) -> Iterator[Client]:
    import dask
    from distributed import Client, LocalCluster

    with ExitStack() as opened:
        opened.enter_context(dask.config.set(_NO_PAGES))
        folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="rageval-"))
        with ExitStack() as masked:
            if hasattr(signal, "pthread_sigmask"):  # inherited by workers, which never get Ctrl-C
                resource_tracker.ensure_running()  # or the first worker starts it, which unmasks
                mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                masked.callback(signal.pthread_sigmask, signal.SIG_SETMASK, mask)
            try:
                cluster = LocalCluster(  # type: ignore[no-untyped-call]
                    n_workers=workers,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    memory_limit=0,
                    local_directory=folder,
                    silence_logs="CRITICAL",
                    # Others on this machine could run code as this user without.
                    security=True,
                )
            except (OSError, RuntimeError, ImportError) as error:
                raise ConfigError.of(f"--workers {workers}", "unusable", reason=error) from error
        opened.enter_context(cluster)
        yield opened.enter_context(Client(cluster, set_as_default=False))  # type: ignore[no-untyped-call]
