"""Scoring in parts from the beginning to the end, on any pool of processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pytest_rageval.analysis.aggregate.run import with_summaries
from pytest_rageval.engine.distributed.job import FILES, Job
from pytest_rageval.engine.distributed.part import Scored, reported_in, score_part
from pytest_rageval.engine.distributed.places import Ranged, index_range, whole_index
from pytest_rageval.engine.distributed.reduce import aggregate_parts, summarise_parts
from pytest_rageval.engine.recorded import Findings
from pytest_rageval.metrics.deciding import ReportedParts
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.values.numbers import Aggregate

_T = TypeVar("_T")
_R = TypeVar("_R")


class Pool(Protocol):
    """Processes that run functions of a job."""

    def each(
        self, function: Callable[[Job, _T], _R], job: Job, tasks: Sequence[_T]
    ) -> Iterable[_R]:
        """Yield the result of every task, in any order.

        Raises:
            Exception: the first error of a task.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributedScores:
    """The numbers of all cases, and what is shown besides."""

    totals: Aggregate
    scored: Scored


@dataclass(slots=True)
class Step:
    """State of a job, for a line of progress."""

    name: str = "index"
    done: int = 0
    of: int = 0

    def __str__(self) -> str:
        return f"{self.name}  {self.done:,} of {self.of:,}"


def perform(job: Job, task: tuple[Callable[[Job, _T], _R], _T, str, Any]) -> _R:
    """Perform a task on a worker, or return the result that a file of the folder keeps.

    Args:
        job: of the task.
        task: its function and argument, and the file and type of its result; without a name of a
            file, the result is not kept.

    Raises:
        ConfigError: the worker has another version than the command.
        StorageError: it does not share the folder, or a file cannot be read or written.
    """
    function, argument, name, kind = task
    job.check()
    if name and job.has(name):
        kept: _R = job.read_value(name, kind)
        return kept
    found = function(job, argument)
    if name:
        job.write_value(name, found)
    return found


def score_parts(job: Job, pool: Pool, registry: Registry, step: Step) -> DistributedScores:
    """Score both files of a job in parts.

    Args:
        job: which has claimed its folder, in which parts may be finished.
        pool: where the work is done.
        registry: the metrics of the job.
        step: is kept at the state of the work.

    Raises:
        DatasetError: with every fault of both files.
        ConfigError: the settings of a worker are wrong.
        StorageError: a file cannot be read or written.
    """

    def each(
        name: str, function: Callable[[Job, _T], _R], tasks: Mapping[str, _T], kind: Any
    ) -> Iterator[_R]:
        step.name, step.done, step.of = name, 0, len(tasks)
        every = [(function, one, file if kind else "", kind) for file, one in tasks.items()]
        for result in pool.each(perform, job, every):
            step.done += 1
            yield result

    ranges = {f"{one}-{n}": (one, n) for one in FILES for n in range(len(job.files[one].ranges))}
    index = whole_index(each("index", index_range, ranges, Ranged))
    reports = {f"reported-{n}": (n, index) for n in range(len(job.files["responses"].ranges))}
    reported = ReportedParts()
    for seen in each("read", reported_in, reports, ReportedParts):
        reported.extend(seen)
    facts = reported.found()
    parts = {f"part-{n}": (n, index, facts) for n in range(job.n_parts)}
    scored = Scored(findings=Findings(cases=job.files["cases"].shown))
    for one in each("score", score_part, parts, Scored):
        scored.extend(one)
    scored.findings.raise_faults()
    ((rest, others),) = each("aggregate", aggregate_parts, {"": None}, None)
    places = {key: place for place, key in enumerate(registry.cases)}
    found = dict(each("intervals", summarise_parts, places, None))
    ordered = {key: found[place] for key, place in places.items()}
    return DistributedScores(totals=with_summaries(rest, {**ordered, **others}), scored=scored)
