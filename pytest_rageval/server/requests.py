"""Bodies of requests to the server, and ``POST /v1/embeddings`` in the shape of OpenAI's API."""

from __future__ import annotations

import base64
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    ValidationError,
    model_validator,
)

from pytest_rageval.server.chunking import count_tokens
from pytest_rageval.server.config import MAX_K, FolderMode, ReferenceConfig, fault_text
from pytest_rageval.server.index import Index
from pytest_rageval.server.ranking import Candidate, FusionMethod, rerank
from pytest_rageval.server.terms import query_terms, terms
from pytest_rageval.server.vault import NOTE_SUFFIXES, Note

MAX_QUESTION_CHARS = 200_000
MAX_TOTAL_CHARS = 4_000_000
"""Keeps one request from occupying the server for minutes."""


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("expected a text that is not blank")
    if len(text) > MAX_QUESTION_CHARS:
        raise ValueError(f"expected at most {MAX_QUESTION_CHARS:,} characters")
    return text


def _bounded(texts: list[str]) -> list[str]:
    if sum(map(len, texts)) > MAX_TOTAL_CHARS:
        raise ValueError(f"expected at most {MAX_TOTAL_CHARS:,} characters in all")
    return texts


# JSON can contain half of a surrogate pair, which pydantic's own strings refuse, and for which
# later encoding fails.
_Raw = InstanceOf[str]
_Text = Annotated[_Raw, AfterValidator(lambda text: text.encode("utf-8", "replace").decode())]
_Filled = Annotated[_Text, AfterValidator(_filled)]
_Texts = Annotated[
    list[_Filled],
    Field(min_length=1, max_length=2048),  # as in OpenAI's API
    BeforeValidator(lambda given: [given] if isinstance(given, str) else given),
    AfterValidator(_bounded),
]
_Number = Annotated[float, Field(allow_inf_nan=False)]


class Body(BaseModel):
    """A JSON object with only the fields that it names."""

    model_config = ConfigDict(strict=True, extra="forbid")


class RerankWeights(Body):
    """Weights of the rankings: at least 0, not both 0."""

    vector: _Number | None = None
    lexical: _Number | None = None


class Message(Body):
    """A message before the question."""

    role: Literal["user", "assistant"]
    content: _Text


class AskQuery(Body):
    """A checked question with every setting filled in."""

    question: _Filled
    history: list[Message] = []
    vaults: list[_Text] = []
    folders: list[_Text] = []
    k: Annotated[int, Field(ge=1, le=MAX_K)]
    folder_mode: FolderMode
    rerank_weights: RerankWeights = RerankWeights()
    fusion: FusionMethod
    min_score: _Number
    rerank: bool


def _is_plain_path(path: str) -> bool:
    """Whether a path is relative, in normal form, and cannot leave its folder."""
    parts = PurePosixPath(path).parts
    normal = bool(parts) and "/".join(parts) == path and path.isprintable()
    return normal and ".." not in parts and "\\" not in path and ":" not in parts[0]


def _scope(prefix: str) -> str:
    """Return the scope prefix with exactly one `/` at its end."""
    folder = prefix.removesuffix("/")
    if not folder.strip() or not _is_plain_path(folder):
        raise ValueError("expected a folder such as 'datasets/name/', relative and without '..'")
    return f"{folder}/"


def _note_path(path: str) -> str:
    if not _is_plain_path(path) or not path.lower().endswith(NOTE_SUFFIXES):
        raise ValueError(
            "expected a relative path of a Markdown note (.md) without '..', '.' or empty parts"
        )
    return path


class Deletion(Body):
    """Body of `DELETE /api/v1/documents`."""

    scope_prefix: Annotated[_Raw, AfterValidator(_scope)]


class _Document(Body):
    rel_path: Annotated[_Raw, AfterValidator(_note_path)]
    text: _Raw


class Documents(Deletion):
    """Body of `PUT /api/v1/documents`: each path once, and below the prefix."""

    documents: list[_Document]

    @model_validator(mode="after")
    def _fits(self) -> Documents:
        seen = set[str]()
        for number, path in enumerate(one.rel_path for one in self.documents):
            if path in seen or not path.startswith(self.scope_prefix):
                expected = f"each path once, and below {self.scope_prefix!r}"
                raise refusal(f"documents[{number}].rel_path", path, expected)
            seen.add(path)
        return self

    @property
    def notes(self) -> tuple[Note, ...]:
        """The documents as notes."""
        given = ((one.rel_path, one.text.replace("\0", "\ufffd")) for one in self.documents)
        return tuple(Note(rel_path=p, data=t.encode("utf-8", "replace")) for p, t in given)


class _EmbeddingsBody(Body):
    model: _Text
    input: _Texts
    encoding_format: Literal["float", "base64"] | None = None
    user: Any = None


class _RerankBody(Body):
    model: Any = None
    query: _Filled
    documents: _Texts
    top_n: Annotated[int, Field(ge=1)] | None = None


class RequestError(ValueError):
    """A request body that cannot be served; the message names the field."""

    def __init__(self, message: str, status: int = 422) -> None:
        """Keep the HTTP status of the reply."""
        super().__init__(message)
        self.status = status


def parse_ask(body: object, config: ReferenceConfig) -> AskQuery:
    """Check the body of an ask request; absent and null fields take the server's settings.

    Raises:
        RequestError: A field is unknown, of the wrong type or out of range.
    """
    if isinstance(body, dict):
        names = ("k", "folder_mode", "fusion", "min_score", "rerank")
        given = {name: value for name, value in body.items() if value is not None}
        body = {name: getattr(config, name) for name in names} | given
    query = parse_body(AskQuery, body)
    name = config.effective_vault_name
    if query.vaults and name not in query.vaults:
        raise refusal("vaults", query.vaults, f"the vault of this server, {name!r}")
    query.rerank_weights = _both_weights(query.rerank_weights, config)
    return query


def _both_weights(given: RerankWeights, config: ReferenceConfig) -> RerankWeights:
    vector, lexical = given.vector, given.lexical
    if vector is lexical is None:
        return RerankWeights(vector=config.vector_weight, lexical=config.lexical_weight)
    # One weight alone leaves the rest of 1 to the other side.
    if vector is None:
        vector = max(0.0, 1.0 - (lexical or 0.0))
    if lexical is None:
        lexical = max(0.0, 1.0 - vector)
    if min(vector, lexical) < 0 or not 0 < vector + lexical < 1e12:
        came = given.model_dump(exclude_unset=True)
        raise refusal("rerank_weights", came, "numbers of at least 0, not both 0")
    return RerankWeights(vector=vector, lexical=lexical)


_Parsed = TypeVar("_Parsed", bound=Body)


def parse_body(model: type[_Parsed], body: object) -> _Parsed:
    """Return a decoded request body as its model.

    Raises:
        RequestError: A field is unknown, missing, of the wrong type or out of range.
    """
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise RequestError(fault_text(error)) from None


def refusal(place: str, came: object, expected: str) -> RequestError:
    """Return the error for a field with an unexpected value."""
    return RequestError(f"{place}: got {came!r:.80}, expected {expected}")


def rerank_texts(body: object, index: Index) -> dict[str, Any]:
    """Answer a rerank request: the best documents first, in the shape of Cohere and Jina.

    The score is that of the rerank stage for candidates that the first stage ranks alike.

    Raises:
        RequestError: A field is unknown, missing, of the wrong type or too large.
    """
    asked = parse_body(_RerankBody, body)
    candidates = [
        Candidate(position=place, score=1.0, body_terms=terms(text), heading_terms=())
        for place, text in enumerate(asked.documents)
    ]
    found = rerank(query_terms(asked.query), candidates, index.frequencies)
    n_tokens = sum(map(count_tokens, (asked.query, *asked.documents)))
    return {
        "model": "words",
        "results": [
            {"index": one.position, "relevance_score": one.score} for one in found[: asked.top_n]
        ],
        "usage": {"total_tokens": n_tokens},
    }


def embed_texts(body: object, index: Index, config: ReferenceConfig) -> dict[str, Any]:
    """Answer an embeddings request: one vector for each text, in order.

    A vector of LSA has length 1, or is all zeros for a text without a word of the vault.

    Raises:
        RequestError: A field is unknown, missing, of the wrong type or too large, the model is not
            the one that this server embeds with, or the endpoint that it embeds with refused a
            text.
        UpstreamError: That endpoint failed.
    """
    asked = parse_body(_EmbeddingsBody, body)
    model = config.embedding_model
    names = ["lsa", model] if config.embedder == "lsa" else [model]
    if asked.model not in names:
        raise refusal("model", asked.model, " or ".join(map(repr, names)))
    if index.lsa is not None:
        vectors = [index.lsa.embed(text).astype("<f4") for text in asked.input]
    else:
        assert index.embedder is not None
        vectors = []
        for number, vector in enumerate(index.embedder.embed(asked.input)):
            if vector is None:
                raise RequestError(f"input[{number}]: refused by the model endpoint of this server")
            vectors.append(vector.astype("<f4"))
    packed = asked.encoding_format == "base64"
    n_tokens = sum(map(count_tokens, asked.input))
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": number, "embedding": vector}
            for number, vector in enumerate(
                base64.b64encode(vector.tobytes()).decode() if packed else vector.tolist()
                for vector in vectors
            )
        ],
        "model": model,
        "usage": {"prompt_tokens": n_tokens, "total_tokens": n_tokens},
    }
