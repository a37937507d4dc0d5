"""Bodies of requests to the server, and ``POST /v1/embeddings`` in the shape of OpenAI's API."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, InstanceOf, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from pytest_rageval.server.chunking import count_tokens
from pytest_rageval.server.config import MAX_K, FolderMode, ReferenceConfig
from pytest_rageval.server.index import Index
from pytest_rageval.server.ranking import Candidate, FusionMethod, rerank
from pytest_rageval.server.terms import query_terms, terms
from pytest_rageval.server.vault import NOTE_SUFFIXES, Note

MAX_QUESTION_CHARS = 200_000

# JSON can hold half of a surrogate pair, which pydantic's own strings refuse.
Text = InstanceOf[str]
_Number = Annotated[float, Field(allow_inf_nan=False)]
_EXPECTED = {
    "model_type": "a JSON object",
    "is_instance_of": "a string",
    "list_type": "a list of strings",
    "bool_type": "true or false",
    "float_type": "a finite number",
    "finite_number": "a finite number",
}
"""Expected value by kind of pydantic error."""


class Body(BaseModel):
    """A JSON object with only the fields that it names."""

    model_config = ConfigDict(strict=True)

    @model_validator(mode="before")
    @classmethod
    def _only_known(cls, value: Any) -> Any:
        for name in value if isinstance(value, dict) else ():
            if name not in cls.model_fields:
                known = ", ".join(cls.model_fields)
                raise PydanticCustomError("unknown", "{known}", {"name": name, "known": known})
        return value


class RerankWeights(Body):
    """Weights of the rankings: at least 0, not both 0."""

    vector: _Number | None = None
    lexical: _Number | None = None


class AskQuery(Body):
    """A checked question with every setting filled in."""

    question: Text
    vaults: list[Text] = []
    folders: list[Text] = []
    k: Annotated[int, Field(ge=1, le=MAX_K)]
    folder_mode: FolderMode
    rerank_weights: RerankWeights = RerankWeights()
    fusion: FusionMethod
    min_score: _Number
    rerank: bool


class _DeletionBody(Body):
    scope_prefix: Text


class _Document(Body):
    rel_path: Text
    text: Text


class _DocumentsBody(_DeletionBody):
    documents: list[_Document]


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
        known = AskQuery.model_fields
        given = {name: body[name] for name in body if body[name] is not None or name not in known}
        body = {name: getattr(config, name) for name in names} | given
    query = parse_body(AskQuery, body)
    if not query.question.strip():
        raise refusal("question", query.question, "a question")
    if len(query.question) > MAX_QUESTION_CHARS:
        raise refusal("question", query.question, f"at most {MAX_QUESTION_CHARS:,} characters")
    name = config.effective_vault_name
    if query.vaults and name not in query.vaults:
        raise refusal("vaults", query.vaults, f"the vault of this server, {name!r}")
    query.rerank_weights = _both_weights(query.rerank_weights, config)
    # Later encoding fails for lone surrogates.
    query.question = _encodable(query.question)
    query.folders = [_encodable(folder) for folder in query.folders]
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


def parse_documents(body: object) -> tuple[Note, ...]:
    """Check the body of `PUT /api/v1/documents` and return its documents.

    Raises:
        RequestError: A field is missing or of the wrong type; with status 400: the prefix is
            empty, or a document lies outside it.
    """
    given = parse_body(_DocumentsBody, body)
    prefix = _scope(given.scope_prefix)
    notes: dict[str, Note] = {}
    for number, document in enumerate(given.documents):
        note = _note(document, f"documents[{number}].rel_path", prefix)
        if note.rel_path in notes:
            raise RequestError(f"documents[{number}].rel_path: {note.rel_path!r} is given twice")
        notes[note.rel_path] = note
    return tuple(notes.values())


def parse_deletion(body: object) -> str:
    """Check the body of `DELETE /api/v1/documents` and return its scope prefix.

    Raises:
        RequestError: A field is missing or of the wrong type; with status 400: the prefix is
            empty or not a relative folder.
    """
    return _scope(parse_body(_DeletionBody, body).scope_prefix)


def _scope(prefix: str) -> str:
    """Return the scope prefix with exactly one `/` at its end."""
    folder = prefix.removesuffix("/")
    if not folder.strip() or not _is_plain_path(folder):
        expected = "a folder such as 'datasets/name/', relative and without '..'"
        raise refusal("scope_prefix", prefix, expected, status=400)
    return f"{folder}/"


def _note(document: _Document, where: str, prefix: str) -> Note:
    path = document.rel_path
    if not _is_plain_path(path) or not path.lower().endswith(NOTE_SUFFIXES):
        expected = "a relative path of a Markdown note (.md) without '..', '.' or empty parts"
        raise refusal(where, path, expected, status=400)
    if not path.startswith(prefix):
        raise RequestError(f"{where}: {shown(path)} is outside the scope {prefix!r}", 400)
    data = document.text.replace("\0", "\ufffd").encode("utf-8", errors="replace")
    return Note(rel_path=path, data=data)


def _is_plain_path(path: str) -> bool:
    """Whether a path is relative, in normal form, and cannot leave its folder."""
    parts = PurePosixPath(path).parts
    normal = bool(parts) and "/".join(parts) == path and path.isprintable()
    return normal and ".." not in parts and "\\" not in path and ":" not in parts[0]


_Parsed = TypeVar("_Parsed", bound=Body)


def parse_body(model: type[_Parsed], body: object) -> _Parsed:
    """Return a decoded request body as its model.

    Raises:
        RequestError: A field is unknown, missing, of the wrong type or out of range.
    """
    try:
        return model.model_validate(body)
    except ValidationError as caught:
        raise _translated(caught.errors(include_url=False)[0], body) from None


def _translated(fault: ErrorDetails, body: Any) -> RequestError:
    kind, steps, context = fault["type"], list(fault["loc"]), fault.get("ctx", {})
    expected = _EXPECTED.get(kind, f"an integer from 1 to {MAX_K}")
    if kind == "unknown":
        return RequestError(
            f"{_place([*steps, context['name']])}: unknown, expected {fault['msg']}"
        )
    if kind == "missing":
        kinds = "a list of documents" if steps == ["documents"] else "a string"
        return RequestError(f"{_place(steps)}: missing, expected {kinds}")
    if kind == "literal_error":
        expected = context["expected"].replace("'", "").replace(", ", " or ")
    elif kind == "list_type" and steps == ["documents"]:
        expected = "a list of documents"
    elif kind == "is_instance_of" and isinstance(steps[-1], int):
        # The whole list is shown, since its other entries may be wrong, too.
        return refusal(str(steps[0]), body[steps[0]], "a list of strings")
    return refusal(_place(steps), fault["input"], expected)


def _place(steps: Sequence[int | str]) -> str:
    written = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return written.removeprefix(".") or "body"


def refusal(place: str, came: object, expected: str, *, status: int = 422) -> RequestError:
    """Return the error for a field with an unexpected value."""
    return RequestError(f"{place}: got {shown(came)}, expected {expected}", status)


def shown(value: object) -> str:
    """Return a value as a short piece of an error message."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


MAX_INPUTS = 2048
"""As in OpenAI's API."""
MAX_TOTAL_CHARS = 4_000_000
"""Keeps one request from occupying the server for minutes."""


class _EmbeddingsBody(Body):
    model: Text
    input: Any = None
    encoding_format: Literal["float", "base64"] | None = None
    user: Any = None


def _texts(given: object, name: str = "input") -> tuple[str, ...]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        raise refusal(name, given, "a string or a list of strings")
    _check_size(name, len(texts), MAX_INPUTS, "texts")
    for number, text in enumerate(texts):
        where = name if isinstance(given, str) else f"{name}[{number}]"
        if not isinstance(text, str) or not text.strip():
            raise refusal(where, text, "a text that is not blank")
        _check_size(where, len(text), MAX_QUESTION_CHARS, "characters")
    _check_size(name, sum(map(len, texts)), MAX_TOTAL_CHARS, "characters in all")
    # JSON can hold half of a surrogate pair, which no encoder downstream accepts.
    return tuple(map(_encodable, texts))


def _encodable(text: str) -> str:
    return text.encode("utf-8", errors="replace").decode()


def _check_size(place: str, size: int, most: int, what: str) -> None:
    if size > most:
        raise RequestError(f"{place}: {size:,} {what}, expected at most {most:,}")


class _RerankBody(Body):
    model: Any = None
    query: Text
    documents: Any = None
    top_n: Annotated[int, Field(ge=1)] | None = None


def rerank_texts(body: object, index: Index) -> dict[str, Any]:
    """Answer a rerank request: the best documents first, in the shape of Cohere and Jina.

    The score is that of the rerank stage for candidates that the first stage ranks alike.

    Raises:
        RequestError: A field is unknown, missing, of the wrong type or too large.
    """
    asked = parse_body(_RerankBody, body)
    (query,) = _texts(asked.query, "query")
    documents = _texts(asked.documents, "documents")
    candidates = [
        Candidate(position=place, score=1.0, body_terms=terms(text), heading_terms=())
        for place, text in enumerate(documents)
    ]
    found = rerank(query_terms(query), candidates, index.frequencies)
    n_tokens = sum(map(count_tokens, (query, *documents)))
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
    if "input" not in asked.model_fields_set:
        raise RequestError("input: missing, expected a string or a list of strings")
    texts = _texts(asked.input)
    n_tokens = sum(map(count_tokens, texts))
    return {
        "object": "list",
        "data": [
            {
                "object": "embedding",
                "index": number,
                "embedding": _encoded(vector, asked.encoding_format),
            }
            for number, vector in enumerate(_vectors(texts, index))
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


def _encoded(vector: NDArray[np.float32], encoding_format: str | None) -> str | list[float]:
    if encoding_format == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
    return [float(number) for number in vector]
