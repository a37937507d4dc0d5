"""Puts documents into a target over HTTP and takes them out again, below one folder of it.

``PUT`` with ``{"scope_prefix", "documents": [{"rel_path", "text"}]}`` adds or replaces, ``DELETE``
with ``{"scope_prefix"}`` takes away what is below, as the embedded reference server understands.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import httpx

from pytest_rageval.project.documents import LoadedDocument, scope_prefix_fault
from pytest_rageval.support.http.address import blot_out, join_url, resolve_headers, secret_values
from pytest_rageval.support.http.exchange import (
    Attempt,
    Sleep,
    failure,
    post_until_settled,
    silence_loggers,
    tls_context,
)
from pytest_rageval.support.text import excerpt
from pytest_rageval.values.errors import ConfigError, EndpointError
from pytest_rageval.values.settings import TargetSettings

BATCH_CHARS: Final = 4_000_000
BATCH_DOCUMENTS: Final = 1000
TIMEOUT_S: Final = 300.0
"""Of one request: a target may build its index before it answers."""
_SHOWN_CHARS: Final = 200


class DocumentsClient:
    """Speaks to the document endpoint of one target.

    Args:
        target: its URL, headers and retries.
        path: of the endpoint, below the URL.
        environ: where ``env:NAME`` header values come from.
        sleep: pauses between attempts, in seconds.

    Raises:
        ConfigError: the URL is wrong, or a variable of a header is missing.
    """

    def __init__(
        self,
        target: TargetSettings,
        path: str,
        *,
        environ: Mapping[str, str],
        sleep: Sleep = time.sleep,
    ) -> None:
        silence_loggers()
        self._address = join_url(target.url, path)
        self._headers = resolve_headers(target.headers, environ)
        self._secrets = (
            *secret_values(target.headers, self._headers),
            *self._address.secrets,
        )
        self._retries = target.retries
        self._sleep = sleep
        self.has_put = False
        """Whether the target has taken any document."""

    def put(self, scope_prefix: str, documents: Iterable[LoadedDocument]) -> int:
        """Put documents below a folder, in as many requests as their size needs.

        Returns:
            How many were put.

        Raises:
            EndpointError: the target failed; some may be there.
        """
        _refuse(scope_prefix)
        n = 0
        for batch in _batches(documents):
            entries = [{"rel_path": one.rel_path, "text": one.text} for one in batch]
            self._send("PUT", {"scope_prefix": scope_prefix, "documents": entries})
            self.has_put = True
            n += len(batch)
        return n

    def delete(self, scope_prefix: str) -> None:
        """Take away what was put below a folder.

        Raises:
            EndpointError: the target failed.
        """
        _refuse(scope_prefix)
        self._send("DELETE", {"scope_prefix": scope_prefix})

    def _send(self, method: str, body: Mapping[str, object]) -> None:
        content = json.dumps(body, allow_nan=False).encode("ascii")
        with httpx.Client(
            timeout=TIMEOUT_S,
            follow_redirects=False,
            trust_env=not self._address.loopback,
            verify=tls_context(self._address),
        ) as http:
            attempt, attempts = post_until_settled(
                lambda: self._attempt(http, method, content),
                retries=self._retries,
                sleep=self._sleep,
                rng=random.Random(),
            )
        if attempt.error is not None:
            message = blot_out(attempt.error.message, self._secrets)
            raise EndpointError(attempt.error.kind, message, attempts=attempts)

    def _attempt(self, http: httpx.Client, method: str, content: bytes) -> Attempt:
        headers = {"Content-Type": "application/json", **self._headers}
        auth = httpx.BasicAuth(*self._address.credentials) if self._address.credentials else None
        try:
            reply = http.request(
                method, self._address.url, content=content, headers=headers, auth=auth
            )
        except httpx.TimeoutException as error:
            text = f"no answer within {TIMEOUT_S:g} s"
            return Attempt(error=failure("timeout", self._address, text, cause=error))
        except httpx.HTTPError as error:
            reason = excerpt(str(error), 160) or type(error).__name__
            text = f"connection failed: {reason}"
            return Attempt(error=failure("connection", self._address, text, cause=error))
        if reply.is_success:
            return Attempt()
        return Attempt(
            error=failure("http", self._address, _status_text(method, reply)),
            status=reply.status_code,
        )


def _refuse(scope_prefix: str) -> None:
    """Refuse a folder whose deletion might take what is not ours, whoever asks for it."""
    fault = scope_prefix_fault(scope_prefix)
    if fault is not None:
        raise ConfigError(f"scope prefix: {fault}")


def _status_text(method: str, reply: httpx.Response) -> str:
    if reply.status_code in {404, 405, 501}:
        return (
            f"HTTP {reply.status_code} to {method}: the target takes no documents here; name "
            "another place with [tool.rageval.documents] path, or let a rag_client fixture of "
            "your own take them from the fixture rageval_documents"
        )
    shown = excerpt(reply.text, _SHOWN_CHARS)
    return f"HTTP {reply.status_code} to {method}; the reply begins: {shown or 'nothing'}"


def _batches(documents: Iterable[LoadedDocument]) -> Iterator[list[LoadedDocument]]:
    batch: list[LoadedDocument] = []
    chars = 0
    for one in documents:
        if batch and (chars + len(one.text) > BATCH_CHARS or len(batch) == BATCH_DOCUMENTS):
            yield batch
            batch, chars = [], 0
        batch.append(one)
        chars += len(one.text)
    if batch:
        yield batch
