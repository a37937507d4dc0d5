"""Opens the system under test that the settings name."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_rageval.project.discovery import cases_folder
from pytest_rageval.project.settings import no_target, target_kind
from pytest_rageval.support.http.address import (
    blot_out_known,
    join_url,
    learn_secrets,
    sent_secrets,
    without_secrets,
)
from pytest_rageval.support.in_flight import Slots
from pytest_rageval.support.process import import_whole
from pytest_rageval.support.project_code import find_named, importable
from pytest_rageval.support.reading import hint
from pytest_rageval.support.text import clean, shown
from pytest_rageval.support.threads import waited_for
from pytest_rageval.values.errors import ConfigError, target_error
from pytest_rageval.values.settings import Settings

if TYPE_CHECKING:
    from pytest_rageval.server.config import ReferenceConfig

INDEX_CACHE = "cache/reference"
"""Below the first test path; a git-ignored folder."""


def configured_target(settings: Settings) -> str:
    """Name the target that the settings ask for, without its secrets; empty: they name none."""
    kind, target = target_kind(settings), settings.target
    if kind == "url":
        try:
            return join_url(target.url, target.path).shown
        except ConfigError:  # who asks it says what is wrong
            return without_secrets(target.url or "")
    if kind == "client":
        return f"client {target.client}"
    return f"embedded server over {target.vault}" if kind == "vault" else ""


def target_notes(
    settings: Settings, asked: Collection[str], *, talks: bool = False
) -> Iterator[str]:
    """Yield, for the summary of a run, the targets asked in place of the configured one.

    Args:
        settings: the run's settings.
        asked: targets that the cases asked, in words, as ``plugin.client_fixtures`` gives them.
        talks: whether there are later turns of conversations, so that the configured target has to
            be sent what they follow.
    """
    configured = configured_target(settings)
    if not configured:
        return
    others = sorted(set(asked) - {configured})
    is_asked = not others or any(configured in target for target in asked)
    if others:
        some = "some cases" if configured in asked else "the cases"
        unasked = "" if is_asked else f", not {configured}"
        yield f"{some} asked {' and '.join(others)}{unasked}"
    from pytest_rageval.target.mapping import sends_conversation

    if talks and is_asked and not sends_conversation(settings.target):
        yield (
            "later turns of conversations are asked as if nothing was said before: the request in "
            "[tool.rageval.target] sends neither history nor session"
        )


@contextmanager
def open_target(
    settings: Settings,
    *,
    environ: Mapping[str, str],
    served_at: str | None = None,
    sleep: Callable[[float], object] | None = None,
    slots: Slots | None = None,
) -> Iterator[object]:
    """Yield a client for the target, to be asked by ``call_client``, and close it afterwards.

    The modules of the project can be imported while it is open. What its code raises comes through.

    Args:
        settings: the run's settings.
        environ: where ``env:NAME`` header values come from.
        served_at: URL at which another process already serves the embedded target.
        sleep: pauses between attempts, in seconds.
        slots: requests in flight; None: no limit.

    Raises:
        ConfigError: the settings name no target, or the vault is not a folder.
        EndpointError: the endpoint that embeds for the embedded server failed.
    """
    with ExitStack() as stack:
        target = settings.target
        # Code of the project may raise them, which other modules then report.
        learn_secrets(sent_secrets(target, environ))
        stack.enter_context(importable(settings.rootdir))
        if target_kind(settings) == "client":
            yield stack.enter_context(open_named_client(target.client or ""))
            return
        if target_kind(settings) == "vault":
            url = served_at or stack.enter_context(serve_vault(settings))
            target = replace(target, url=url)
        elif target_kind(settings) == "none":
            raise no_target(settings)
        from pytest_rageval.target.client import HttpRagClient

        client = HttpRagClient(target, environ=environ, sleep=sleep or asyncio.sleep, slots=slots)
        stack.callback(client.close)
        yield client


@contextmanager
def serve_vault(settings: Settings) -> Iterator[str]:
    """Serve the embedded target on a loopback socket and yield its URL.

    Raises:
        ConfigError: the vault is not a folder, or a setting of the server is wrong.
        EndpointError: the endpoint that embeds failed.
    """
    import_whole("pytest_rageval.server.server")
    from pytest_rageval.server.server import start_in_thread
    from pytest_rageval.server.upstream import UpstreamError

    try:
        handle = start_in_thread(embedded_config(settings))
    except UpstreamError as error:
        where = "[tool.rageval.target] embedded"
        said = clean(blot_out_known(str(error)), 300)
        raise target_error("embedder_failed", setting=where, reason=said) from error
    with handle:
        yield handle.url


def embedded_config(
    settings: Settings, *, where: str = "[tool.rageval.target] embedded"
) -> ReferenceConfig:
    """Return the configuration of the embedded server.

    Args:
        settings: of the project.
        where: place of the server's settings, for messages.

    Raises:
        ConfigError: the vault is not a folder, or a setting of the server is wrong.
    """
    from pydantic import ValidationError

    from pytest_rageval.server.config import ReferenceConfig, fault_text

    rootdir = Path(settings.rootdir)
    vault = rootdir / (settings.target.vault or "")
    if not os.path.isdir(vault):  # a Path raises for a name that is too long
        raise ConfigError.of(
            "[tool.rageval.target] vault",
            "type",
            found=shown(settings.target.vault),
            expected=f"a folder of Markdown notes below {rootdir}",
        )
    cache = cases_folder(settings) / INDEX_CACHE
    given = settings.target.embedded
    known = {one.name for one in fields(ReferenceConfig)} - {"vault", "cache_dir"}
    for name in given:
        if name not in known:
            raise ConfigError.of(
                where, "unknown", what=f"key {name!r}", **hint(name, sorted(known))
            )
    try:
        return ReferenceConfig(vault=vault, cache_dir=cache, **given)
    except ValidationError as error:
        raise ConfigError.of(where, "invalid", reason=fault_text(error)) from error


_WHERE: Final = "[tool.rageval.target] client"


@contextmanager
def open_named_client(setting: str) -> Iterator[object]:
    """Yield a client, and call its ``close`` or ``aclose`` afterwards if it has one.

    Exceptions of the module and of the factory come through as they are.

    Args:
        setting: a client, or a factory of one without arguments, as ``module:name``; both may be
            async.

    Raises:
        ConfigError: it does not exist, or is neither.
    """
    from pytest_rageval.target.calling import check_client

    found = find_named(setting, _WHERE)
    client = waited_for(found()) if _is_factory(found) else found
    check_client(client, f"{_WHERE}: {setting}")
    try:
        yield client
    finally:
        close = getattr(client, "close", None) or getattr(client, "aclose", None)
        if client is not found and callable(close):
            waited_for(close())


def _is_factory(found: object) -> bool:
    if isinstance(found, type):
        return True
    if not callable(found) or any(callable(getattr(found, n, None)) for n in ("ask", "ask_result")):
        return False
    try:
        inspect.signature(found).bind()
    except (TypeError, ValueError):  # it takes the request
        return False
    return True
