from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_rageval.plugin.client_fixtures import make_sync
from pytest_rageval.support.threads import session_loop


@pytest.fixture(autouse=True)
def stopped_loop() -> Iterator[None]:
    yield
    session_loop().stop()


def synced(function: Callable[..., Any]) -> Callable[..., Any]:
    definition = SimpleNamespace(func=function)
    make_sync(cast("pytest.FixtureDef[Any]", definition))
    found: Callable[..., Any] = definition.func
    return found


def test_a_coroutine_fixture_returns_its_value_and_keeps_its_parameters() -> None:
    async def fixture(settings: str, k: int) -> str:
        await asyncio.sleep(0)
        return f"{settings} {k}"

    ready = synced(fixture)
    assert ready(settings="s", k=3) == "s 3"
    assert list(inspect.signature(ready).parameters) == ["settings", "k"]
    assert not inspect.iscoroutinefunction(ready)


TENANT = ContextVar("tenant", default="none")


def test_what_a_fixture_opens_is_closed_in_the_same_task_on_another_thread() -> None:
    async def fixture() -> AsyncGenerator[str, None]:
        assert threading.current_thread() is not threading.main_thread()
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
