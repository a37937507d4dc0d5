"""Async fixtures without an async plugin.

Only for the two fixtures that hold connections: they run on the same loop as the async client
they return, in the thread that ``adapters`` owns, so that nothing patches a loop and a plugin
such as pytest-asyncio may run its own beside it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

import pytest

from pytest_rageval.support.threads import session_loop


def make_sync(fixturedef: pytest.FixtureDef[Any]) -> None:
    """Replace an async fixture function by a synchronous one of the same signature."""
    function = fixturedef.func
    if inspect.isasyncgenfunction(function):
        fixturedef.func = _from_generator(function)  # type: ignore[misc]
    elif inspect.iscoroutinefunction(function):
        fixturedef.func = _from_coroutine(function)  # type: ignore[misc]


def _from_coroutine(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(**arguments: Any) -> Any:
        return session_loop().run(function(**arguments))

    return run


def _from_generator(function: Callable[..., AsyncGenerator[Any, None]]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(**arguments: Any) -> Iterator[Any]:
        generator = function(**arguments)
        loop = session_loop()
        try:
            value = loop.run(_advance(generator))
        except StopAsyncIteration:
            return  # pytest then says that the fixture did not yield a value
        yield value
        try:
            loop.run(_advance(generator))
        except StopAsyncIteration:
            return
        loop.run(generator.aclose())
        raise RuntimeError("an async fixture may yield only once")

    return run


async def _advance(generator: AsyncGenerator[Any, None]) -> Any:
    return await generator.__anext__()
