"""Asks an OpenAI-compatible ``/v1/embeddings`` endpoint for vectors; imports httpx.

Nothing here runs unless a user names an endpoint. Batches go out one after the other on the event
loop of the session, since only there can one limit span connecting, sending and reading.
"""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx
import numpy as np
import numpy.typing as npt

from pytest_rageval.engine.vector_file import VectorError, read_vector
from pytest_rageval.support.http.address import Address, blot_out, join_url
from pytest_rageval.support.http.deadline import mind_deadlines, within
from pytest_rageval.support.http.exchange import (
    Attempt,
    Sleep,
    failure,
    post,
    post_until_settled,
    silence_loggers,
)
from pytest_rageval.support.text import excerpt
from pytest_rageval.target.contract import parse_reply_bytes
from pytest_rageval.values.errors import ConfigError, EndpointError, TargetErrorKind

_Array = npt.NDArray[np.float64]

BATCH_TEXTS: Final = 64
BATCH_CHARS: Final = 100_000
"""Hosted endpoints limit the tokens of one request as well as its texts."""
_TEXT_REFUSED: Final = frozenset({400, 413, 422})
"""Statuses that may be about one text, such as one longer than the model reads."""
_VERSION: Final = re.compile(r"v\d[0-9a-z]*")
_ENV_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingsEndpoint:
    """A model behind an OpenAI-compatible API."""

    url: str
    """Base URL with or without ``/v1``, or that of the endpoint itself."""
    model: str
    api_key_env: str | None = None
    """Environment variable that holds the key; None: no key is sent."""
    timeout_s: float = 60.0
    """Limit of one attempt from connecting to the last byte read."""
    retries: int = 3
    """Attempts after the first, on 408, 429, 5xx and connection errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """The vectors of texts, all of one length."""

    vectors: Mapping[str, _Array]
    """By text; without those that the endpoint refused."""
    n_refused: int = 0
    refusal: str | None = None
    """What the endpoint said of the first one that it refused."""


class EmbeddingsClient:
    """Turns texts into vectors.

    Args:
        endpoint: where and which model.
        environ: where the key is, looked up once.
        sleep: pauses between attempts, in seconds.
        rng: jitter of the pauses.

    Raises:
        ConfigError: the URL is wrong, or the variable of the key is not set. No message holds
            the variable's name or value: a key may have been given in place of its name.
    """

    def __init__(
        self,
        endpoint: EmbeddingsEndpoint,
        *,
        environ: Mapping[str, str] = os.environ,
        sleep: Sleep = time.sleep,
        rng: random.Random | None = None,
    ) -> None:
        silence_loggers()
        self._endpoint = endpoint
        self._address = _address(endpoint.url)
        self._key = _key(endpoint.api_key_env, environ)
        self._sleep = sleep
        self._rng = rng or random.Random()

    @property
    def shown(self) -> str:
        """The address without credentials and query, for messages and files."""
        return self._address.shown

    def __repr__(self) -> str:
        return f"EmbeddingsClient({self.shown!r}, model={self._endpoint.model!r})"

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Return one vector for each distinct text.

        A text that the endpoint refuses with HTTP 400, 413 or 422 is left out and counted; the
        rest of its batch is asked for again.

        Raises:
            EndpointError: the endpoint failed, refused even the first text (put a short one
                there), or did not reply with one vector of finite numbers for each text, all of
                one length.
        """
        return self._embed(list(dict.fromkeys(texts)))

    @property
    def _secrets(self) -> tuple[str, ...]:
        key = () if self._key is None else (self._key,)
        return (*self._address.secrets, *key)

    def _embed(self, texts: Sequence[str]) -> Embedded:
        vectors: dict[str, _Array] = {}
        refusals: list[_RefusedError] = []
        with self._http() as http:
            for batch in _batches(texts):
                self._add(http, batch, vectors, refusals)
        lengths = sorted({len(vector) for vector in vectors.values()})
        if len(lengths) > 1:
            came = f"vectors of {lengths[0]} and of {lengths[-1]} numbers"
            raise self._error("protocol", f"{came}, expected one length for all texts")
        refusal = refusals[0].message if refusals else None
        return Embedded(vectors=vectors, n_refused=len(refusals), refusal=refusal)

    def _add(
        self,
        http: httpx.Client,
        batch: Sequence[str],
        vectors: dict[str, _Array],
        refusals: list[_RefusedError],
    ) -> None:
        try:
            body = self._post(http, batch)
        except _RefusedError as error:
            if len(batch) == 1:
                if not vectors:
                    # The very first text: this is about the model or the request.
                    raise
                refusals.append(error)
                return
            # Halving finds one refused text of 64 in 13 requests.
            half = len(batch) // 2
            self._add(http, batch[:half], vectors, refusals)
            self._add(http, batch[half:], vectors, refusals)
            return
        vectors.update(zip(batch, self._read(body, len(batch)), strict=True))

    # --- one request -----------------------------------------------------------------------

    def _post(self, http: httpx.Client, batch: Sequence[str]) -> bytes:
        # ASCII, so that even a lone surrogate in a text can be sent.
        content = json.dumps({"model": self._endpoint.model, "input": list(batch)}).encode("ascii")
        attempt, attempts = post_until_settled(
            lambda: self._attempt(http, content),
            retries=self._endpoint.retries,
            sleep=self._sleep,
            rng=self._rng,
        )
        error = attempt.error
        if error is None:
            return attempt.body
        message = blot_out(error.message, self._secrets)
        message += f" (after {attempts} attempts)" if attempts > 1 else ""
        kind = _RefusedError if attempt.status in _TEXT_REFUSED else EndpointError
        raise kind(error.kind, message, attempts=attempts) from error.__cause__

    def _attempt(self, http: httpx.Client, content: bytes) -> Attempt:
        limit = self._endpoint.timeout_s
        try:
            with within(limit):
                return post(http, self._address, content)
        except httpx.TimeoutException as error:
            text = f"no complete reply within {limit:g} s"
            return Attempt(error=failure("timeout", self._address, text, cause=error))

    def _http(self) -> httpx.Client:
        headers = {"Content-Type": "application/json", "User-Agent": "pytest-rageval"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        client = httpx.Client(
            headers=headers,
            # A redirect would carry texts and the key to another host.
            follow_redirects=False,
            timeout=None,  # the deadline of the whole attempt stands in _attempt
            trust_env=not self._address.loopback,
        )
        return mind_deadlines(client)

    # --- the reply -------------------------------------------------------------------------

    def _read(self, body: bytes, n_texts: int) -> list[_Array]:
        try:
            reply: Any = parse_reply_bytes(body)
        except EndpointError as error:
            # Not chained: the cause may quote a key, which a traceback would show.
            raise self._error("protocol", error.message) from None
        data = reply.get("data") if isinstance(reply, dict) else None
        if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
            raise self._error("protocol", "no embeddings reply; expected an object with data")
        indices = [entry.get("index") for entry in data]
        counted = all(type(index) is int for index in indices)
        if not counted or sorted(indices) != list(range(n_texts)):
            raise self._error(
                "protocol", f"{len(data)} vectors for {n_texts} texts, expected one each by index"
            )
        return [self._vector(entry) for entry in sorted(data, key=lambda e: int(e["index"]))]

    def _vector(self, entry: Mapping[str, Any]) -> _Array:
        try:
            return read_vector(entry.get("embedding"))
        except VectorError as error:
            where = f"data[{entry['index']}].{error.field}"
            # Not chained, as above.
            raise self._error("protocol", f"{where}: {excerpt(str(error), 160)}") from None

    def _error(self, kind: TargetErrorKind, text: str) -> EndpointError:
        return failure(kind, self._address, blot_out(text, self._secrets))


class _RefusedError(EndpointError):
    """The endpoint refused what it was sent."""


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    chars = 0
    for text in texts:
        if batch and (len(batch) == BATCH_TEXTS or chars + len(text) > BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(text)
        chars += len(text)
    if batch:
        yield batch


def _address(url: str) -> Address:
    if re.search("[?#]", url):
        raise ConfigError("--embeddings-url: holds a query or a fragment, expected a base URL")
    base, path = url.strip().rstrip("/"), "embeddings"
    last = base.rsplit("/", 1)[-1]
    if last == "embeddings":
        base = base.removesuffix("/embeddings")
    elif not _VERSION.fullmatch(last):
        path = "v1/embeddings"
    try:
        return join_url(base, path)
    except ConfigError as error:
        reason = str(error).partition(": ")[2]
        raise ConfigError(f"--embeddings-url: {reason}") from None


def _key(variable: str | None, environ: Mapping[str, str]) -> str | None:
    if variable is None:
        return None
    where = "--embeddings-api-key-env"
    if not _ENV_NAME.fullmatch(variable):
        raise ConfigError(f"{where}: expected the name of an environment variable, not a key")
    key = environ.get(variable, "").strip()
    if not key:
        raise ConfigError(f"{where}: the variable of this name is not set")
    if not key.isascii() or not key.isprintable():
        raise ConfigError(f"{where}: its value holds a character that no header may hold")
    return key
