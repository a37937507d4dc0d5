"""`POST /v1/embeddings`: the vectors of this server, in the shape of OpenAI's API."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pytest_rageval.server.chunking import count_tokens
from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.index import Index
from pytest_rageval.server.requests import (
    MAX_QUESTION_CHARS,
    Body,
    RequestError,
    Text,
    parse_body,
    refusal,
)

MAX_INPUTS = 2048
"""As in OpenAI's API."""
MAX_INPUT_CHARS = MAX_QUESTION_CHARS
MAX_TOTAL_CHARS = 4_000_000
"""Keeps one request from occupying the server for minutes."""

EncodingFormat = Literal["float", "base64"]


class _EmbeddingsBody(Body):
    model: Text
    input: Any = None
    encoding_format: EncodingFormat | None = None
    user: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingsQuery:
    """Checked texts to embed."""

    texts: tuple[str, ...]
    encoding_format: EncodingFormat


def parse_embeddings(body: object, config: ReferenceConfig) -> EmbeddingsQuery:
    """Check the body of an embeddings request.

    Raises:
        RequestError: A field is unknown, missing, of the wrong type or too large, or the model is
            not the one that this server embeds with.
    """
    asked = parse_body(_EmbeddingsBody, body)
    names = ["lsa"] * (config.embedder == "lsa") + [config.embedding_model]
    if asked.model not in names:
        raise refusal("model", asked.model, " or ".join(map(repr, names)))
    if "input" not in asked.model_fields_set:
        raise RequestError("input: missing, expected a string or a list of strings")
    return EmbeddingsQuery(
        texts=_texts(asked.input), encoding_format=asked.encoding_format or "float"
    )


def _texts(given: object) -> tuple[str, ...]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        raise refusal("input", given, "a string or a list of strings")
    if len(texts) > MAX_INPUTS:
        raise RequestError(f"input: {len(texts):,} texts, expected at most {MAX_INPUTS:,}")
    for number, text in enumerate(texts):
        where = "input" if isinstance(given, str) else f"input[{number}]"
        if not isinstance(text, str) or not text.strip():
            raise refusal(where, text, "a text that is not blank")
        if len(text) > MAX_INPUT_CHARS:
            raise RequestError(
                f"{where}: {len(text):,} characters, expected at most {MAX_INPUT_CHARS:,}"
            )
    total = sum(map(len, texts))
    if total > MAX_TOTAL_CHARS:
        raise RequestError(
            f"input: {total:,} characters in all, expected at most {MAX_TOTAL_CHARS:,}"
        )
    # JSON can hold half of a surrogate pair, which no encoder downstream accepts.
    return tuple(text.encode("utf-8", errors="replace").decode() for text in texts)


def embed_texts(query: EmbeddingsQuery, index: Index, model: str) -> dict[str, Any]:
    """Return the response body: one vector for each text, in order.

    A vector of LSA has length 1, or is all zeros for a text without a word of the vault.

    Raises:
        RequestError: The endpoint that this server embeds with refused a text.
        UpstreamError: That endpoint failed.
    """
    vectors = _vectors(query.texts, index)
    n_tokens = sum(map(count_tokens, query.texts))
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": number, "embedding": _encoded(vector, query)}
            for number, vector in enumerate(vectors)
        ],
        "model": model,
        "usage": {"prompt_tokens": n_tokens, "total_tokens": n_tokens},
    }


def _vectors(texts: Sequence[str], index: Index) -> list[NDArray[np.float32]]:
    if index.lsa is not None:
        return [index.lsa.embed(text) for text in texts]
    assert index.embedder is not None
    vectors: list[NDArray[np.float32]] = []
    for number, vector in enumerate(index.embedder.embed(texts)):
        if vector is None:
            raise RequestError(f"input[{number}]: refused by the model endpoint of this server")
        vectors.append(vector)
    return vectors


def _encoded(vector: NDArray[np.float32], query: EmbeddingsQuery) -> str | list[float]:
    if query.encoding_format == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
    return [float(number) for number in vector]
