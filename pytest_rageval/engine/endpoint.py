"""A model behind a JSON API that a command names: its address, its key, and one request."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pytest_rageval.support.http.address import (
    Address,
    blot_out,
    check_sendable,
    environment_secrets,
    join_url,
    reply_secrets,
)
from pytest_rageval.support.http.client import Client
from pytest_rageval.support.http.exchange import Attempt, Request, attempt, open_client
from pytest_rageval.support.http.retry import Pacing, Sleep
from pytest_rageval.support.text import clean
from pytest_rageval.target.contract import parse_reply_bytes
from pytest_rageval.values.errors import ConfigError, EndpointError, target_error, with_facts

_TEXT_REFUSED: Final = frozenset({400, 413, 422})
"""Statuses that may be about one text, such as one longer than the model reads."""
_VERSION: Final = re.compile(r"v\d[0-9a-z]*")
_ENV_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEndpoint:
    """A model behind a JSON API."""

    url: str
    """Base URL with or without a version such as ``/v1``, or that of the endpoint itself."""
    model: str | None
    api_key_env: str | None = None
    """Environment variable that holds the key; None: no key is sent."""
    timeout_s: float = 60.0
    """Limit of one attempt from connecting to the last byte read."""
    retries: int = 3
    """Attempts after the first, on 408, 429, 5xx and connection errors."""


class RefusedError(EndpointError):
    """The endpoint refused the request, maybe for one of its texts."""


class EndpointClient:
    """Sends requests to one endpoint.

    Args:
        endpoint: address and model.
        resource: last part of its path, such as ``embeddings``.
        options: command-line options of the address and of the key's variable, for messages.
        environ: holds the key, read once.
        sleep: pauses between attempts, in seconds.
        rng: jitter of the pauses.

    Raises:
        ConfigError: the URL is wrong, or the variable of the key is not set. No message holds
            the variable's name or value: a key may have been given in place of its name.
    """

    def __init__(
        self,
        endpoint: ModelEndpoint,
        resource: str,
        options: tuple[str, str],
        *,
        environ: Mapping[str, str] = os.environ,
        sleep: Sleep = asyncio.sleep,
        rng: random.Random | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._address = _address(endpoint.url, resource, options[0])
        self.shown: Final = self._address.shown
        """The address without credentials and query, for messages and files."""
        self._key = _key(endpoint.api_key_env, environ, options[1])
        known = (*self._address.secrets, *reply_secrets(environ))
        self._secrets = known if self._key is None else (*known, self._key)
        # The words of a server must not hold those, which may stand in other texts by chance.
        self._of_reasons = (*self._secrets, *environment_secrets(environ))
        self._pacing = Pacing(sleep=sleep, rng=rng or random.Random())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shown!r}, model={self.endpoint.model!r})"

    def connect(self) -> Client:
        """Return a client with the headers of the endpoint; close it after use."""
        headers = {"Content-Type": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        return open_client(self._address, headers=headers)

    async def post(self, http: Client, body: Mapping[str, Any]) -> Any:
        """Send a request, again where that may help, and return the JSON of its reply.

        Raises:
            RefusedError: HTTP 400, 413 or 422.
            EndpointError: any other failure, or a reply that is not JSON.
        """
        # ASCII, so that even a lone surrogate in a text can be sent.
        content = json.dumps(body).encode("ascii")
        last, attempts = await self._pacing.until_settled(
            lambda: self._attempt(http, content), retries=self.endpoint.retries
        )
        error = last.error
        if error is not None:
            error = with_facts(error, attempts=attempts if attempts > 1 else None)
            kind = RefusedError if last.status in _TEXT_REFUSED else EndpointError
            raise kind(
                error.kind, error.message, attempts=attempts, code=error.code, facts=error.facts
            ) from error.__cause__
        try:
            return parse_reply_bytes(last.body, partial(blot_out, secrets=self._of_reasons))
        except EndpointError as wrong:
            # Not chained: the cause may quote a key, which a traceback would show.
            raise with_facts(wrong, address=self.shown) from None

    def misread(self, code: str, error: object = "", /, **facts: int) -> EndpointError:
        """Return the error of a reply of another shape, with its reason but without secrets."""
        reason = blot_out(clean(str(error), 200), self._secrets)
        return target_error(code, address=self.shown, reason=reason, **facts)

    async def _attempt(self, http: Client, content: bytes) -> Attempt:
        limit = self.endpoint.timeout_s
        request = Request(
            address=self._address, content=content, secrets=self._of_reasons, limit_s=limit
        )
        return await attempt(http, request)


def _address(url: str, resource: str, option: str) -> Address:
    if re.search("[?#]", url):
        raise ConfigError.of(option, "url_query")
    base, path = url.strip().rstrip("/"), resource
    last = base.rsplit("/", 1)[-1]
    if last == resource:
        base = base.removesuffix(f"/{resource}")
    elif not _VERSION.fullmatch(last):
        path = f"v1/{resource}"
    return join_url(base, path, option)


def _key(variable: str | None, environ: Mapping[str, str], option: str) -> str | None:
    if variable is None:
        return None
    if not _ENV_NAME.fullmatch(variable):
        raise ConfigError.of(option, "not_variable")
    key = environ.get(variable, "").strip()
    if not key:
        raise ConfigError.of(option, "unset_variable")
    check_sendable(key, f"{option}: its value")
    return key
