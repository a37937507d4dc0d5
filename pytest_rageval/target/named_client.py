"""The client that ``[tool.rageval.target] client`` names."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pytest_rageval.support.named_code import find_named
from pytest_rageval.support.threads import waited_for
from pytest_rageval.target.calling import check_client

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
