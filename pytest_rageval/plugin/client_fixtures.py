"""Fixtures of the target and the judges that a case asks.

An item asks the configured target if its ``rag_client`` is the one of this package, or a fixture
of the user around it. An async fixture for a client works without an async plugin: it runs on the
same loop as the async client that it returns, in a separate thread, so that it does not interfere
with the loop of a plugin such as pytest-asyncio.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_rageval.plugin.private import (
    fixture_definitions,
    fixture_info,
    fixture_request,
    unknown_fixture,
)
from pytest_rageval.plugin.state import CLIENT_FIXTURES
from pytest_rageval.plugin.terminal import usage_error
from pytest_rageval.support.project_code import source_place
from pytest_rageval.support.threads import result_of, session_loop
from pytest_rageval.target.calling import raised_error
from pytest_rageval.target.opening import configured_target, serve_vault
from pytest_rageval.values.errors import ConfigError, EndpointError
from pytest_rageval.values.reply import ErrorInfo
from pytest_rageval.values.settings import Settings

_HOOKS: Final = f"{__package__}.hooks"
"""Module of the fixtures of this package."""
_RECORDING: Final = "pytest_recording.plugin"


def asks_configured_target(item: pytest.Function) -> bool:
    """Return whether an item asks the target of the settings, also through a fixture around it."""
    return any(_is_configured(definition) for definition in _target_definitions(item))


def asked_target(item: pytest.Function, settings: Settings) -> str | None:
    """Name the target of an item: the configured one, or the fixture that replaces it.

    An override that itself takes ``rag_client`` is named with the fixture it wraps. None: the test
    function does not use a target.
    """
    named = [
        configured_target(settings) or "no target"
        if _is_configured(definition)
        else f"the rag_client fixture of {_place(definition.func, item.config.rootpath)}"
        for definition in _target_definitions(item)
    ]
    return " around ".join(named) or None


@contextmanager
def served_vault(settings: Settings, config: pytest.Config) -> Iterator[str]:
    """Serve the embedded target and yield its URL; where it cannot be, the session ends."""
    try:
        with serve_vault(settings) as url:
            yield url
    except (ConfigError, EndpointError) as error:
        raise usage_error(error, config) from error


def _target_definitions(item: pytest.Function) -> Iterator[pytest.FixtureDef[Any]]:
    """Yield the definition of ``rag_client`` that an item gets, and those that it wraps."""
    for definition in reversed(fixture_definitions(item).get("rag_client", ())):
        yield definition
        if _is_configured(definition) or "rag_client" not in definition.argnames:
            return


def _is_configured(definition: pytest.FixtureDef[Any]) -> bool:
    return definition.func.__module__ == _HOOKS


def judges_by_fixtures(items: Iterable[pytest.Function]) -> bool:
    """Return whether each item that is judged has a ``judge`` of the user, maybe around ours."""
    found = (fixture_definitions(item).get("judge") for item in items)
    own = [not _is_configured(definitions[-1]) for definitions in found if definitions]
    return bool(own) and all(own)


def _place(function: Any, rootdir: Path) -> str:
    """Return the file of a fixture function, or its module if it is outside the project."""
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(inspect.unwrap(function), "__code__", None)
    path = Path(code.co_filename) if code else None
    if path is not None and path.is_relative_to(rootdir):
        return path.relative_to(rootdir).as_posix()
    return str(getattr(function, "__module__", None) or "an unknown place")


def same_clients(item: pytest.Function, other: pytest.Function) -> bool:
    """Return whether two items get their clients from the same fixtures."""
    same = fixture_info(item) is fixture_info(other)
    return same or client_definitions(item) == client_definitions(other)


def client_definitions(item: pytest.Function) -> tuple[pytest.FixtureDef[Any] | None, ...]:
    """Return the fixtures of an item's clients; None for those that it does not use."""
    found = fixture_definitions(item)
    return tuple(found[name][-1] if name in found else None for name in CLIENT_FIXTURES)


def known_values(item: pytest.Function) -> dict[str, Any]:
    """Return the values of an item's fixtures for which pytest need not make a request.

    They are alive already, or of fixtures of pytest-recording that do nothing for this item, or the
    item's ``request``. pytest sets up all others, which may be the user's.
    """
    if hasattr(item, "callspec"):
        return {}
    option = item.config.option
    idle = not (getattr(option, "block_network", False) or option.setupshow) and not any(
        mark.name in {"block_network", "vcr"} for mark in item.iter_markers()
    )
    # pytest would make a definition for it, and read the signature of that.
    found: dict[str, Any] = {"request": fixture_request(item)}
    for name, definitions in fixture_definitions(item).items():
        definition = definitions[-1]
        # Nothing at the setup of an item: value, key and exception of an earlier one.
        cached = definition.cached_result
        if cached is not None and cached[2] is None:
            found[name] = cached[0]
        elif idle and definition.func.__module__ == _RECORDING:
            found[name] = None
    return found


def asked_one_by_one(item: pytest.Function) -> bool:
    """Return whether a client of an item is made anew for each item, or each class of items."""
    wanted = client_definitions(item)
    return any(one is not None and one.scope in {"function", "class"} for one in wanted)


def client_parameters(item: pytest.Function) -> dict[str, int]:
    """Return the parameter index of each parametrized fixture that an item's clients depend on."""
    if not hasattr(item, "callspec"):
        return {}
    found = fixture_definitions(item)
    needed: set[str] = set()
    names = list(CLIENT_FIXTURES)
    while names:
        name = names.pop()
        if name not in needed:
            needed.add(name)
            names += [one for definition in found.get(name, ()) for one in definition.argnames]
    return {name: place for name, place in item.callspec.indices.items() if name in needed}


def fixture_error(error: BaseException, rootdir: Path) -> ErrorInfo:
    """Describe what went wrong with a fixture, at the line that raised or takes an unknown one."""
    if not isinstance(error, pytest.FixtureLookupError):
        return replace(raised_error(error, rootdir), kind="fixture")
    words, taker = unknown_fixture(error)  # its text and its frames are those of pytest
    return ErrorInfo(kind="fixture", message=words, traceback=source_place(taker, rootdir))


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
        ready, ending = Future[Any](), Future[None]()
        held = session_loop().submit(_held(function(**arguments), ready, ending))
        try:
            value = result_of(ready)
        except StopAsyncIteration:
            return  # pytest then reports that the fixture did not yield a value
        except KeyboardInterrupt:
            held.cancel()
            raise
        yield value
        ending.set_result(None)
        result_of(held)

    return run


async def _held(
    generator: AsyncGenerator[Any, None], ready: Future[Any], ending: Future[None]
) -> None:
    """Set up and tear down in one task, as what it opens may need, such as a group of tasks."""
    try:
        ready.set_result(await anext(generator))
    except BaseException as error:
        ready.set_exception(error)
        return
    try:
        await asyncio.shield(asyncio.wrap_future(ending))
    except asyncio.CancelledError as error:  # by such a group, one of whose tasks raised
        await generator.athrow(error)
    async for _ in generator:
        await generator.aclose()
        raise RuntimeError("an async fixture may yield only once")
