"""Scoring in parts from the beginning to the end, on any pool of processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from pytest_rageval.analysis.aggregate.run import with_summaries
from pytest_rageval.engine.distributed.job import Job
from pytest_rageval.engine.distributed.part import Scored, read_scored, score_part
from pytest_rageval.engine.distributed.places import FILES, count_ranges, index_range, reported_in
from pytest_rageval.engine.distributed.reduce import aggregate_parts, summarise_parts
from pytest_rageval.engine.recorded import Findings
from pytest_rageval.metrics.deciding import ReportedParts
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.values.dataclass import dataclass
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


def score_parts(job: Job, pool: Pool, registry: Registry, step: Step) -> DistributedScores:
    """Score both files of a job in parts.

    Args:
        job: whose folder may hold finished parts.
        pool: where the work is done.
        registry: the metrics of the job.
        step: is kept at the state of the work.

    Raises:
        DatasetError: with every fault of both files.
        ConfigError: the settings of a worker are wrong.
        StorageError: a file cannot be read or written.
    """

    def each(name: str, function: Callable[[Job, _T], _R], tasks: Sequence[_T]) -> Iterator[_R]:
        step.name, step.done, step.of = name, 0, len(tasks)
        for result in pool.each(function, job, tasks):
            step.done += 1
            yield result

    indexed = [(file, number) for file in FILES for number in range(count_ranges(job, file))]
    for _ in each("index", index_range, indexed):
        pass
    parts = ReportedParts()
    for seen in each("read", reported_in, range(count_ranges(job, "responses"))):
        parts.extend(seen)
    reported = parts.found()
    for _ in each("score", score_part, [(part, reported) for part in range(job.n_parts)]):
        pass
    scored = Scored(findings=Findings(cases=job.shown[0]))
    for part in range(job.n_parts):
        found = read_scored(job, part)
        if found is not None:
            scored.extend(found)
    scored.findings.raise_faults()
    ((rest, others),) = each("aggregate", aggregate_parts, [None])
    summaries = dict(each("intervals", summarise_parts, list(registry.cases)))
    ordered = {key: summaries[key] for key in registry.cases}
    return DistributedScores(totals=with_summaries(rest, {**ordered, **others}), scored=scored)
