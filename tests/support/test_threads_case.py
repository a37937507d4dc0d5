"""Threads that work off tasks."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import pytest

from pytest_rageval.support.threads import CaseThreads


def test_one_thread_works_tasks_off_in_their_order() -> None:
    threads: CaseThreads[None] = CaseThreads(1)
    done: list[int] = []
    futures = [threads.submit(lambda n=n: done.append(n)) for n in range(20)]  # type: ignore[misc]
    for future in futures:
        future.result(5)
    assert done == list(range(20))
    threads.stop()


class Held:
    """A task that is under way until it is let go."""

    def __init__(self) -> None:
        self.started, self.go = threading.Event(), threading.Event()

    def __call__(self) -> str:
        self.started.set()
        self.go.wait(5)
        return "done"


def test_an_urgent_task_goes_before_those_that_wait() -> None:
    threads: CaseThreads[object] = CaseThreads(1)
    held, done = Held(), list[str]()
    threads.submit(held)
    assert held.started.wait(5)
    later = threads.submit(lambda: done.append("later"))
    threads.submit(lambda: done.append("urgent"), urgent=True)
    held.go.set()
    later.result(5)
    assert done == ["urgent", "later"]
    threads.stop()


def test_no_more_threads_than_allowed_work_at_once() -> None:
    threads: CaseThreads[bool] = CaseThreads(3)
    barrier = threading.Barrier(3)
    names: set[str] = set()

    def task() -> bool:
        names.add(threading.current_thread().name)
        barrier.wait(5)  # breaks if fewer than three work at once
        return True

    assert all(future.result(10) for future in [threads.submit(task) for _ in range(9)])
    assert names == {"rageval-case-1", "rageval-case-2", "rageval-case-3"}
    threads.stop()


def test_a_task_after_the_other_stays_on_one_thread() -> None:
    threads: CaseThreads[str] = CaseThreads(4)
    names = {threads.submit(lambda: threading.current_thread().name).result(5) for _ in range(3)}
    # The thread may still be putting its last result away, when another one is started.
    assert len(names) <= 2
    threads.stop()


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(3)])
def test_whatever_a_task_raises_is_raised_for_who_waits_and_the_thread_goes_on(
    error: BaseException,
) -> None:
    threads: CaseThreads[str] = CaseThreads(1)

    def fail() -> str:
        raise error

    with pytest.raises(type(error)):
        threads.submit(fail).result(5)
    assert threads.submit(lambda: "still there").result(5) == "still there"
    threads.stop()


def test_a_task_that_is_cancelled_before_its_turn_never_starts() -> None:
    threads: CaseThreads[object] = CaseThreads(1)
    held, done = Held(), list[str]()
    threads.submit(held)
    second = threads.submit(lambda: done.append("second"))
    third = threads.submit(lambda: done.append("third"))
    assert second.cancel()
    held.go.set()
    third.result(5)
    assert done == ["third"]
    threads.stop()


def test_after_a_stop_nothing_starts_and_what_runs_is_left_to_itself() -> None:
    threads: CaseThreads[str] = CaseThreads(1)
    held = Held()
    running, waiting = threads.submit(held), threads.submit(lambda: "never")
    assert held.started.wait(5)
    threads.stop()
    with pytest.raises(CancelledError):
        waiting.result(5)
    with pytest.raises(RuntimeError, match="stopped"):
        threads.submit(lambda: "never")
    held.go.set()
    assert running.result(5) == "done"
