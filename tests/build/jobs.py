"""Jobs of scoring in parts, and a pool that is no other process."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_rageval.engine.distributed.job import Job, open_job
from pytest_rageval.engine.distributed.part import score_part
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.values.settings import Settings


def job_of_parts(folder: Path, n: int) -> Job:
    """A job of empty files in so many parts, whose folder is there."""
    files = folder / "c.jsonl", folder / "r.jsonl"
    for file in files:
        file.touch()
    job = open_job(*files, Settings(rootdir=str(folder)), BUILT_IN, folder / "parts")
    job.folder.mkdir()
    return replace(job, n_parts=n)


class Here:
    """A pool that is this process, which takes tasks in any order and may be killed."""

    def __init__(self, killed_after: int | None = None) -> None:
        self._left = killed_after
        self.ran: list[str] = []

    def each(
        self, function: Callable[[Job, Any], Any], job: Job, tasks: Sequence[Any]
    ) -> Iterator[Any]:
        for task in random.Random(3).sample(list(tasks), len(tasks)):
            if task[0] is score_part and self._left is not None:
                self._left -= 1
                if self._left < 0:
                    raise KeyboardInterrupt
            self.ran.append(task[0].__name__)
            yield function(job, task)
