"""Calls to OpenAI-compatible APIs: embeddings and chat completions."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

TIMEOUT_S = 60.0
ATTEMPTS = 3
BACKOFF_S = 0.5
BATCH = 64


class UpstreamError(RuntimeError):
    """The configured model endpoint failed; the message holds no key."""

    def __init__(self, message: str, status: int | None = None) -> None:
        """Keep the HTTP status, None where there was no answer."""
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model behind an OpenAI-compatible API."""

    url: str
    model: str
    api_key_env: str | None = None

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Send one request, again after 429, 5xx and lost connections, and return the JSON.

        Raises:
            UpstreamError: No usable reply after `ATTEMPTS`.
        """
        url = self._address(path)
        problem = UpstreamError(f"{url}: not tried")
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(BACKOFF_S * 2**attempt)
            try:
                reply = httpx.post(
                    url,
                    json={"model": self.model, **body},
                    headers=self._headers(),
                    timeout=TIMEOUT_S,
                )
            except httpx.HTTPError as error:
                problem = UpstreamError(f"{url}: {type(error).__name__}: {error}")
                continue
            if reply.status_code == 200:
                return _json(reply, url)
            shown = reply.text[:200]
            problem = UpstreamError(f"{url}: HTTP {reply.status_code}: {shown}", reply.status_code)
            if reply.status_code != 429 and reply.status_code < 500:
                break
        raise problem

    def _address(self, path: str) -> str:
        base = self.url.rstrip("/")
        if base.endswith(path):
            return base
        return base + path if base.rsplit("/", 1)[-1].startswith("v") else f"{base}/v1{path}"

    def _headers(self) -> dict[str, str]:
        if self.api_key_env is None:
            return {}
        key = os.environ.get(self.api_key_env, "")
        if not key:
            raise UpstreamError(f"environment variable {self.api_key_env} is not set")
        return {"Authorization": f"Bearer {key}"}


def _json(reply: httpx.Response, url: str) -> Any:
    try:
        return reply.json()
    except ValueError as error:
        raise UpstreamError(f"{url}: the reply is not JSON: {reply.text[:100]!r}") from error


@dataclass(frozen=True, slots=True)
class EndpointEmbedder:
    """Turns texts into vectors over `/v1/embeddings`."""

    endpoint: Endpoint

    def embed(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        """Return one vector for each text, None where the endpoint refused that text (HTTP 4xx).

        Raises:
            UpstreamError: The endpoint failed, or refused every text.
        """
        vectors: list[NDArray[np.float32] | None] = []
        refusal: UpstreamError | None = None
        for begin in range(0, len(texts), BATCH):
            batch = texts[begin : begin + BATCH]
            try:
                vectors += self._send(batch)
            except UpstreamError as error:
                if error.status not in (400, 413, 422):
                    raise
                for text in batch:
                    vector, refusal = self._send_alone(text, refusal)
                    vectors.append(vector)
        if refusal is not None and all(vector is None for vector in vectors):
            raise refusal
        return vectors

    def _send_alone(
        self, text: str, refusal: UpstreamError | None
    ) -> tuple[NDArray[np.float32] | None, UpstreamError | None]:
        try:
            return self._send([text])[0], refusal
        except UpstreamError as error:
            if error.status not in (400, 413, 422):
                raise
            return None, error

    def _send(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        reply = self.endpoint.post("/embeddings", {"input": list(texts)})
        try:
            rows = sorted(reply["data"], key=lambda row: int(row["index"]))
            vectors = [np.asarray(row["embedding"], dtype=np.float32) for row in rows]
        except (KeyError, TypeError, ValueError) as error:
            raise UpstreamError(f"{self.endpoint.url}: not an embeddings reply: {error}") from error
        sound = all(vector.ndim == 1 and np.isfinite(vector).all() for vector in vectors)
        if len(vectors) != len(texts) or not sound:
            raise UpstreamError(
                f"{self.endpoint.url}: {len(texts)} texts sent, "
                f"{len(vectors)} vectors of finite numbers expected"
            )
        return vectors
