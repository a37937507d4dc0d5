from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_rageval.plugin.client_fixtures import fixture_error, make_sync
from pytest_rageval.support.threads import session_loop
from tests.plugin.scratch import Project


@pytest.fixture(autouse=True)
def stopped_loop() -> Iterator[None]:
    yield
    session_loop().stop()


def synced(function: Callable[..., Any]) -> Callable[..., Any]:
    definition = SimpleNamespace(func=function)
    make_sync(cast("pytest.FixtureDef[Any]", definition))
    found: Callable[..., Any] = definition.func
    return found


@pytest.mark.parametrize("error", [LookupError("no key"), ConnectionRefusedError("no server")])
def test_whatever_a_fixture_raises_is_an_error_of_the_fixture(error: Exception) -> None:
    found = fixture_error(error, Path.cwd())
    assert (found.kind, found.message) == ("fixture", f"{type(error).__name__}: {error}")


def test_a_synchronous_fixture_stays_what_it_is() -> None:
    def plain() -> int:
        return 1

    def generator() -> Iterator[int]:
        yield 1

    assert synced(plain) is plain
    assert synced(generator) is generator


def test_a_coroutine_fixture_returns_its_value_and_keeps_its_parameters() -> None:
    async def fixture(settings: str, k: int) -> str:
        await asyncio.sleep(0)
        return f"{settings} {k}"

    ready = synced(fixture)
    assert ready(settings="s", k=3) == "s 3"
    assert list(inspect.signature(ready).parameters) == ["settings", "k"]
    assert not inspect.iscoroutinefunction(ready)


def test_setup_and_teardown_run_on_the_loop_of_the_session() -> None:
    threads: list[threading.Thread] = []
    loops: list[asyncio.AbstractEventLoop] = []

    async def fixture() -> AsyncGenerator[str, None]:
        loops.append(asyncio.get_running_loop())
        threads.append(threading.current_thread())
        yield "client"
        loops.append(asyncio.get_running_loop())
        threads.append(threading.current_thread())

    ready = synced(fixture)()
    assert next(ready) == "client"
    assert len(threads) == 1
    assert list(ready) == []
    assert threads[0] is threads[1]
    assert threads[0] is not threading.current_thread()
    assert loops[0] is loops[1]


TENANT = ContextVar("tenant", default="none")


def test_what_a_fixture_opens_is_closed_in_the_same_task() -> None:
    async def fixture() -> AsyncGenerator[str, None]:
        token, task = TENANT.set("acme"), asyncio.current_task()
        async with asyncio.timeout(60):
            yield TENANT.get()
        assert asyncio.current_task() is task
        TENANT.reset(token)

    assert list(synced(fixture)()) == ["acme"]


def test_a_task_that_fails_in_a_group_of_a_fixture_is_the_error_of_its_end() -> None:
    failed = threading.Event()

    async def pump() -> None:
        failed.set()
        raise ConnectionResetError("the server has gone")

    async def fixture() -> AsyncGenerator[int, None]:
        async with asyncio.TaskGroup() as group:
            group.create_task(pump())
            yield 1

    ready = synced(fixture)()
    assert next(ready) == 1
    assert failed.wait(10)
    with pytest.raises(ExceptionGroup) as caught:
        next(ready)
    assert str(caught.value.exceptions[0]) == "the server has gone"


def test_what_a_fixture_raises_reaches_pytest() -> None:
    async def broken() -> None:
        raise KeyError("setup")

    async def breaks_late() -> AsyncGenerator[int, None]:
        yield 1
        raise KeyError("teardown")

    with pytest.raises(KeyError, match="setup"):
        synced(broken)()
    ready = synced(breaks_late)()
    next(ready)
    with pytest.raises(KeyError, match="teardown"):
        next(ready)


def test_a_second_yield_is_an_error_and_the_fixture_is_closed() -> None:
    closed: list[bool] = []

    async def fixture() -> AsyncGenerator[int, None]:
        try:
            yield 1
            yield 2
        finally:
            closed.append(True)

    ready = synced(fixture)()
    next(ready)
    with pytest.raises(RuntimeError, match="may yield only once"):
        next(ready)
    assert closed == [True]


def test_a_fixture_that_never_yields_ends_as_a_generator_without_a_value() -> None:
    wanted = False

    async def fixture() -> AsyncGenerator[int, None]:
        if wanted:
            yield 1

    assert list(synced(fixture)()) == []


def test_a_client_fixture_that_raises_shows_the_lines_of_the_user_alone(project: Project) -> None:
    project.write(
        "conftest.py",
        "import os\nimport pytest\n\n\n@pytest.fixture\ndef rag_client():\n"
        "    return os.environ['NO_SUCH_URL']\n",
    )
    result = project.run("evals")
    assert result.ret == 1
    assert "             return os.environ['NO_SUCH_URL']" in result.outlines
    assert "pytest_rageval" not in result.stdout.str()
