"""Puts documents into a target over HTTP and takes them out again, below one folder of it.

``PUT`` with ``{"scope_prefix", "documents": [{"rel_path", "text"}]}`` adds or replaces, ``DELETE``
with ``{"scope_prefix"}`` takes away what is below, as the embedded reference server understands.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from typing import Final

from pytest_rageval.project.case_variables import PLACEHOLDER
from pytest_rageval.project.documents import PREFIX_RULE, LoadedDocument, is_scope_prefix
from pytest_rageval.support.http.address import (
    environment_secrets,
    header_secrets,
    join_url,
    resolve_headers,
)
from pytest_rageval.support.http.exchange import (
    Attempt,
    Reply,
    Request,
    attempt,
    open_client,
    status_error,
)
from pytest_rageval.support.http.retry import Pacing, Sleep
from pytest_rageval.support.text import batches, shown
from pytest_rageval.support.threads import session_loop
from pytest_rageval.target.auth import HeaderSource
from pytest_rageval.values.errors import ConfigError, EndpointError, target_error
from pytest_rageval.values.settings import TargetSettings

BATCH_CHARS: Final = 4_000_000
BATCH_DOCUMENTS: Final = 1000
TIMEOUT_S: Final = 300.0
"""Limit of one attempt from connecting to the last byte of the reply: a target may build its index
before it answers."""


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
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._address = join_url(target.url, path)
        # A header about a case cannot be sent with the documents of all cases.
        headers = {n: v for n, v in target.headers.items() if not PLACEHOLDER.search(v)}
        self._headers = resolve_headers(headers, environ)
        secrets = (*header_secrets(headers, environ), *self._address.secrets)
        self._of_errors = (*secrets, *environment_secrets(environ))
        self._auth = HeaderSource(target.auth) if target.auth is not None else None
        self._retries = target.retries
        self._pacing = Pacing(sleep=sleep)
        self.has_put = False
        """Whether the target has taken any document."""

    def put(self, scope_prefix: str, documents: Iterable[LoadedDocument]) -> int:
        """Put documents below a folder, in as many requests as their size needs.

        Returns:
            Number of documents put.

        Raises:
            EndpointError: the target failed; some documents may have been put.
        """
        _refuse(scope_prefix)
        n = 0
        for batch in batches(documents, BATCH_DOCUMENTS, BATCH_CHARS, lambda one: one.text):
            entries = [{"rel_path": one.rel_path, "text": one.text} for one in batch]
            self._send("PUT", {"scope_prefix": scope_prefix, "documents": entries})
            self.has_put = True
            n += len(batch)
        return n

    def delete(self, scope_prefix: str) -> None:
        """Delete the documents below a folder.

        Raises:
            EndpointError: the target failed.
        """
        _refuse(scope_prefix)
        self._send("DELETE", {"scope_prefix": scope_prefix})

    def _send(self, method: str, body: Mapping[str, object]) -> None:
        request = Request(
            address=self._address,
            content=json.dumps(body, allow_nan=False).encode("ascii"),
            method=method,
            headers=self._headers,
            secrets=self._of_errors,
            limit_s=TIMEOUT_S,
        )
        auth = self._auth
        with open_client(self._address, headers={"Content-Type": "application/json"}) as http:

            async def sent(request: Request) -> Attempt:
                return await attempt(http, request, refused=_refused)

            async def once() -> Attempt:
                return await (sent(request) if auth is None else auth.attempt(request, sent))

            settled = self._pacing.until_settled(once, retries=self._retries)
            last, attempts = session_loop().run(settled)
        if last.error is not None:
            last.error.attempts = attempts
            raise last.error


def _refuse(scope_prefix: str) -> None:
    """Refuse a folder whose deletion might remove documents of others."""
    if not is_scope_prefix(scope_prefix):
        raise ConfigError.of(
            "scope prefix", "value", found=shown(scope_prefix), expected=PREFIX_RULE
        )


def _refused(reply: Reply, request: Request) -> EndpointError:
    if reply.status in {404, 405, 501}:
        return target_error(
            "documents_refused",
            address=request.address.shown,
            status=reply.status,
            verb=request.method,
        )
    return status_error(reply, request, request.method)
