"""Keys of the verdicts in the cache. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from pytest_rageval.support.http.address import without_query_secrets, without_secrets

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_USER_INFO: Final = re.compile(r"//[^/\s]*@")


def key_of(
    *,
    identity: str,
    parameters: Mapping[str, Any],
    rubric_version: str,
    level: str,
    prompt_sha256: str,
    repeat: int,
) -> str:
    """Return the key of a judgement: 64 hex digits.

    Neither the order of parameters nor the way a number is written matters: 0 is 0.0.

    Args:
        identity: the judge's, with base URL and model; credentials in the URL do not count, so
            that a new key of an API finds what was paid for with the old one.
        parameters: what is sent besides the prompt; JSON values, none of them secret.
        rubric_version: name and hash of the rubric.
        level: how the reply's structure is asked for.
        prompt_sha256: of the rendered prompt, 64 hex digits.
        repeat: which sampling repeat, from 0.

    Raises:
        ValueError: the hash is none, or a parameter is no JSON value.
    """
    if not _SHA256.fullmatch(prompt_sha256):
        raise ValueError(f"prompt_sha256: got {prompt_sha256[:70]!r}, expected 64 hex digits")
    return _sha256(
        {
            "identity": _without_credentials(identity),
            "parameters": _canonical(parameters),
            "rubric_version": rubric_version,
            "level": level,
            "prompt_sha256": prompt_sha256,
            "repeat": repeat,
        }
    )


def level_key(endpoint: str, model: str) -> str:
    """Return the key of the output level of an endpoint and model: 64 hex digits."""
    return _sha256([_without_credentials(endpoint), model])


def public_identity(identity: str) -> str:
    """Cut what could be a secret off a judge's identity that holds a URL.

    >>> public_identity("gpt-5 at https://user:s3cret@example.org/v1?key=s3cret")
    'gpt-5 at https://example.org/v1'
    """
    return " ".join(
        without_secrets(word) if "://" in word else word for word in identity.split(" ")
    )


def _without_credentials(text: str) -> str:
    return without_query_secrets(_USER_INFO.sub("//", text))


def encode(value: Any) -> str:
    """Write a JSON value as ASCII, so that half of a surrogate pair and NUL can be kept too.

    Raises:
        ValueError: NaN, an infinite number, or no JSON value.
    """
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except TypeError as error:
        raise ValueError(f"got {error}, expected JSON values") from None


def _sha256(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _canonical(value: Any) -> Any:
    if isinstance(value, Mapping):
        if wrong := [key for key in value if not isinstance(key, str)]:
            raise ValueError(f"got the key {wrong[0]!r:.80}, expected a text")
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise ValueError(f"got {value!r:.80}, expected a JSON value")
