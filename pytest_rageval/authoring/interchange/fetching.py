"""Fetches a text from a URL that a user asked for; nothing else of the package does."""

from __future__ import annotations

import httpx

from pytest_rageval.support.http.address import without_secrets
from pytest_rageval.values.errors import DatasetError

MAX_BYTES = 64 * 1024 * 1024
TIMEOUT_S = 30.0


def fetch_text(url: str) -> str:
    """Return the text behind a URL. Redirects are not followed: they may lead anywhere.

    Raises:
        DatasetError: it cannot be fetched, is larger than 64 MB or is not UTF-8 text.
    """
    shown = without_secrets(url)
    body = bytearray()
    try:
        with httpx.stream("GET", url, timeout=TIMEOUT_S, follow_redirects=False) as response:
            if not response.is_success:
                raise DatasetError(f"{shown}: HTTP {response.status_code}, expected the text")
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MAX_BYTES:
                    raise DatasetError(f"{shown}: larger than {MAX_BYTES >> 20} MB")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        raise DatasetError(f"{shown}: cannot be fetched: {reason}") from error
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DatasetError(f"{shown}: not UTF-8 text") from None
