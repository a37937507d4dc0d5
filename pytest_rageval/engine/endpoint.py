"""Models behind JSON APIs that a command names, and vectors of texts from one or from a file.

Nothing is sent unless a user names an endpoint.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from pytest_rageval.analysis.embeddings import VectorTable
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
from pytest_rageval.support.http.pacing import Pacing, Sleep
from pytest_rageval.support.jsonl import ObjectLine, read_objects
from pytest_rageval.support.reading import unfit_at
from pytest_rageval.support.text import batches, clean
from pytest_rageval.support.threads import session_loop
from pytest_rageval.target.contract import parse_reply_bytes
from pytest_rageval.values.errors import ConfigError, EndpointError, Fault, target_error, with_facts
from pytest_rageval.values.limits import Limits

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


_Array = npt.NDArray[np.float64]

BATCH_TEXTS: Final = 64
BATCH_CHARS: Final = 100_000
"""Hosted endpoints limit the tokens of one request as well as its texts."""
OPTIONS: Final = ("--embeddings-url", "--embeddings-api-key-env")


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """The vectors of texts, all of one length."""

    vectors: Mapping[str, _Array]
    """By text; without those that the endpoint refused."""
    n_refused: int = 0
    refusal: str | None = None
    """Message of the endpoint about the first refused text."""


class EmbeddingsClient(EndpointClient):
    """Turns texts into vectors, by an OpenAI-compatible API; see ``EndpointClient``."""

    def __init__(self, endpoint: ModelEndpoint, **given: Any) -> None:
        super().__init__(endpoint, "embeddings", OPTIONS, **given)

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Return one vector for each distinct text.

        A text that the endpoint refuses with HTTP 400, 413 or 422 is left out and counted; the
        rest of its batch is asked for again.

        Raises:
            EndpointError: the endpoint failed, refused even the first text (put a short one
                there), or did not reply with one vector of finite numbers for each text, all of
                one length.
        """
        vectors: dict[str, _Array] = {}
        refusals: list[RefusedError] = []
        with self.connect() as http:
            for batch in batches(dict.fromkeys(texts), BATCH_TEXTS, BATCH_CHARS):
                self._add(http, batch, vectors, refusals)
        lengths = sorted({len(vector) for vector in vectors.values()})
        if len(lengths) > 1:
            raise self.misread("vector_lengths", least=lengths[0], most=lengths[-1])
        refusal = refusals[0].message if refusals else None
        return Embedded(vectors=vectors, n_refused=len(refusals), refusal=refusal)

    def _add(
        self,
        http: Client,
        batch: Sequence[str],
        vectors: dict[str, _Array],
        refusals: list[RefusedError],
    ) -> None:
        try:
            body = {"model": self.endpoint.model, "input": list(batch)}
            reply = session_loop().run(self.post(http, body))
        except RefusedError as error:
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
        vectors.update(zip(batch, self._read(reply, len(batch)), strict=True))

    # --- the reply -------------------------------------------------------------------------

    def _read(self, reply: Any, n_texts: int) -> list[_Array]:
        try:
            data = sorted(msgspec.convert(reply, _Reply).data, key=lambda entry: entry.index)
            vectors = [_vector(entry.embedding) for entry in data]
        except ValueError as error:  # not chained, as above
            raise self.misread("no_embeddings", error) from None
        if [entry.index for entry in data] != list(range(n_texts)):
            raise self.misread("vector_count", n=len(data), n_texts=n_texts)
        return vectors


@dataclass(slots=True)
class _Entry:
    index: int
    embedding: list[float]


@dataclass(slots=True)
class _Reply:
    data: list[_Entry]


def _vector(numbers: list[float]) -> _Array:
    vector: _Array = np.asarray(numbers, dtype=np.float64)
    if not len(vector) or not np.isfinite(vector).all():
        raise ValueError("an embedding is empty or not finite, expected finite numbers")
    return vector


_NAMES: Final = ("text", "chunk_id")
_Name = Annotated[str, Limits("a string that is not empty", strict=True, min_length=1)] | None
_Finite = Annotated[float, Limits("a finite number", strict=True, allow_inf_nan=False)]


@dataclass(slots=True)
class _Line:
    embedding: Annotated[list[_Finite], Limits(min_length=1)]
    text: _Name = None
    chunk_id: _Name = None


_VECTOR_LINE: Final = ObjectLine[_Line](
    type=_Line, shape='{"text" or "chunk_id": a string, "embedding": a list of numbers}'
)


def load_vectors(path: Path) -> VectorTable:
    """Read a file whose lines are ``{"text" or "chunk_id": ..., "embedding": [...]}``.

    A line may hold both for one vector; other fields are ignored. A text or id that occurs twice
    must have the same vector.

    Raises:
        DatasetError: with every line that is not such an object, that lacks a vector of finite
            numbers, or whose vector is not as long as the first; or the file holds none.
    """
    vectors: dict[str, dict[str, _Array]] = {name: {} for name in _NAMES}

    def rules(
        number: int, line: Mapping[str, Any], faulty: Collection[int | str]
    ) -> Iterator[Fault]:
        names = {name: line[name] for name in _NAMES if line.get(name) is not None}
        if not names:
            facts = {"names": " and ".join(_NAMES), "expected": _VECTOR_LINE.shape}
            yield Fault(code="fields_missing", facts=facts)
        if faulty:
            return
        vector = np.asarray(line["embedding"], dtype=np.float64)
        length = next((len(known) for found in vectors.values() for known in found.values()), None)
        if length not in {None, len(vector)}:
            yield unfit_at(("embedding",), f"{len(vector)} numbers", f"{length} as above")
            return
        for name, key in names.items():
            if not np.array_equal(vectors[name].setdefault(key, vector), vector):
                facts = {"found": f"{key!r:.60}"}
                yield Fault(code="other_vector", facts=facts, loc=(name,), field=name)

    for _ in read_objects(path, _VECTOR_LINE, rules, display=path.as_posix()):
        pass  # the rules keep each vector, read as numbers, in place of its line
    return VectorTable(by_text=vectors["text"], by_chunk_id=vectors["chunk_id"])
