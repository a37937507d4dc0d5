"""What may be asked of the server: request bodies checked field by field."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, TypeVar

from pytest_rageval.server.config import MAX_K, ReferenceConfig
from pytest_rageval.server.folders import FOLDER_MODES, FolderMode
from pytest_rageval.server.ranking import FUSION_METHODS, FusionMethod
from pytest_rageval.server.vault import NOTE_SUFFIXES, Note

MAX_QUESTION_CHARS = 200_000

_ASK_FIELDS = (
    "question", "vaults", "folders", "k", "folder_mode", "rerank_weights", "fusion", "min_score",
    "rerank",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class AskQuery:
    """A checked question with every setting filled in."""

    question: str
    folders: tuple[str, ...]
    k: int
    folder_mode: FolderMode
    fusion: FusionMethod
    vector_weight: float
    lexical_weight: float
    min_score: float
    rerank: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentsUpdate:
    """Checked documents to put under a scope."""

    scope_prefix: str
    notes: tuple[Note, ...]


def parse_ask(body: object, config: ReferenceConfig) -> AskQuery:
    """Check the body of an ask request; absent and null fields take the server's settings.

    Raises:
        RequestError: A field is unknown, of the wrong type or out of range.
    """
    fields = Fields(body, "", _ASK_FIELDS)
    question = fields.string("question")
    if not question.strip():
        raise fields.fail("question", "a question")
    if len(question) > MAX_QUESTION_CHARS:
        raise fields.fail("question", f"at most {MAX_QUESTION_CHARS:,} characters")
    _check_vaults(fields, config)
    vector_weight, lexical_weight = _weights(fields, config)
    min_score = fields.number("min_score")
    return AskQuery(
        # JSON can hold half of a surrogate pair, which no encoder downstream accepts.
        question=question.encode("utf-8", errors="replace").decode(),
        folders=fields.strings("folders"),
        k=fields.cutoff("k", config.k),
        folder_mode=fields.choice("folder_mode", FOLDER_MODES, config.folder_mode),
        fusion=fields.choice("fusion", FUSION_METHODS, config.fusion),
        vector_weight=vector_weight,
        lexical_weight=lexical_weight,
        min_score=config.min_score if min_score is None else min_score,
        rerank=fields.boolean("rerank", config.rerank),
    )


def parse_documents(body: object) -> DocumentsUpdate:
    """Check the body of `PUT /api/v1/documents`.

    Raises:
        RequestError: A field is missing or of the wrong type.
        ScopeError: The prefix is empty, or a document lies outside it.
    """
    fields = Fields(body, "", ("scope_prefix", "documents"))
    prefix = _scope(fields)
    documents = fields.raw("documents")
    if not isinstance(documents, list):
        raise fields.fail("documents", "a list of documents")
    notes: dict[str, Note] = {}
    for number, entry in enumerate(documents):
        note = _document(entry, f"documents[{number}]", prefix)
        if note.rel_path in notes:
            raise RequestError(f"documents[{number}].rel_path: {note.rel_path!r} is given twice")
        notes[note.rel_path] = note
    return DocumentsUpdate(scope_prefix=prefix, notes=tuple(notes.values()))


def parse_deletion(body: object) -> str:
    """Check the body of `DELETE /api/v1/documents` and return its scope prefix.

    Raises:
        RequestError: A field is missing or of the wrong type.
        ScopeError: The prefix is empty or not a relative folder.
    """
    return _scope(Fields(body, "", ("scope_prefix",)))


def _scope(fields: Fields) -> str:
    """Return the scope prefix with exactly one `/` at its end."""
    prefix = fields.string("scope_prefix")
    folder = prefix.removesuffix("/")
    if not folder.strip() or not _is_plain_path(folder):
        expected = "a folder such as 'datasets/name/', relative and without '..'"
        raise ScopeError(f"scope_prefix: got {shown(prefix)}, expected {expected}")
    return f"{folder}/"


def _document(entry: object, where: str, prefix: str) -> Note:
    fields = Fields(entry, where, ("rel_path", "text"))
    path, text = fields.string("rel_path"), fields.string("text")
    if not _is_plain_path(path) or not path.lower().endswith(NOTE_SUFFIXES):
        expected = "a relative path of a Markdown note (.md) without '..', '.' or empty parts"
        raise ScopeError(f"{where}.rel_path: got {shown(path)}, expected {expected}")
    if not path.startswith(prefix):
        raise ScopeError(f"{where}.rel_path: {shown(path)} is outside the scope {prefix!r}")
    return Note(rel_path=path, data=text.replace("\0", "\ufffd").encode("utf-8", errors="replace"))


def _is_plain_path(path: str) -> bool:
    """Tell whether a path is relative, in normal form, and cannot leave its folder."""
    parts = PurePosixPath(path).parts
    normal = bool(parts) and "/".join(parts) == path and path.isprintable()
    return normal and ".." not in parts and "\\" not in path and ":" not in parts[0]


def _check_vaults(fields: Fields, config: ReferenceConfig) -> None:
    vaults = fields.strings("vaults")
    # A vault no one named answers to any name: there is only one, so the filter excludes nothing.
    if vaults and config.vault_name is not None and config.vault_name not in vaults:
        raise fields.fail("vaults", f"the vault of this server, {config.vault_name!r}")


def _weights(fields: Fields, config: ReferenceConfig) -> tuple[float, float]:
    given = fields.raw("rerank_weights")
    if given is None:
        return config.vector_weight, config.lexical_weight
    weights = Fields(given, "rerank_weights", ("vector", "lexical"))
    vector, lexical = weights.number("vector"), weights.number("lexical")
    if vector is None and lexical is None:
        return config.vector_weight, config.lexical_weight
    # One weight alone leaves the rest of 1 to the other side.
    if vector is None:
        vector = max(0.0, 1.0 - (lexical or 0.0))
    if lexical is None:
        lexical = max(0.0, 1.0 - vector)
    if min(vector, lexical) < 0 or not 0 < vector + lexical < 1e12:
        raise fields.fail("rerank_weights", "numbers of at least 0, not both 0")
    return vector, lexical


_Choice = TypeVar("_Choice", bound=str)


class RequestError(ValueError):
    """A request body that cannot be served; the message names the field."""

    status = 422


class ScopeError(RequestError):
    """A document, or a scope, outside of where documents may be put."""

    status = 400


class Fields:
    """The fields of one JSON object, each read once by name and kind."""

    def __init__(self, value: object, where: str, known: Sequence[str]) -> None:
        """Take a decoded JSON value that must be an object with only the known fields.

        Raises:
            RequestError: It is something else.
        """
        self._where = where
        if not isinstance(value, dict):
            raise RequestError(f"{where or 'body'}: got {shown(value)}, expected a JSON object")
        self._values: Mapping[str, Any] = value
        for name in value:
            if name not in known:
                raise RequestError(f"{self._name(name)}: unknown, expected {', '.join(known)}")

    def _name(self, name: str) -> str:
        return f"{self._where}.{name}" if self._where else name

    def fail(self, name: str, expected: str) -> RequestError:
        """Return the error for a field that holds something else than expected."""
        if name not in self._values:
            return RequestError(f"{self._name(name)}: missing, expected {expected}")
        return RequestError(
            f"{self._name(name)}: got {shown(self._values[name])}, expected {expected}"
        )

    def raw(self, name: str) -> Any:
        """Return the value as it came; None when absent."""
        return self._values.get(name)

    def string(self, name: str) -> str:
        """Return a required string."""
        value = self.raw(name)
        if not isinstance(value, str):
            raise self.fail(name, "a string")
        return value

    def strings(self, name: str) -> tuple[str, ...]:
        """Return a list of strings, empty when absent or null."""
        value = self.raw(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise self.fail(name, "a list of strings")
        return tuple(value)

    def cutoff(self, name: str, default: int) -> int:
        """Return a number of results."""
        value = self.raw(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_K:
            raise self.fail(name, f"an integer from 1 to {MAX_K}")
        return value

    def number(self, name: str) -> float | None:
        """Return a finite number, None when absent or null."""
        value = self.raw(name)
        if value is None:
            return None
        try:
            finite = not isinstance(value, bool) and math.isfinite(value)
        except (TypeError, OverflowError):
            finite = False
        if not finite:
            raise self.fail(name, "a finite number")
        return float(value)

    def boolean(self, name: str, default: bool) -> bool:
        """Return true or false."""
        value = self.raw(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.fail(name, "true or false")
        return value

    def choice(self, name: str, allowed: Sequence[_Choice], default: _Choice) -> _Choice:
        """Return one of the allowed words."""
        value = self.raw(name)
        if value is None:
            return default
        for word in allowed:
            if value == word:
                return word
        raise self.fail(name, " or ".join(allowed))


def shown(value: object) -> str:
    """Return a value as a short piece of an error message."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
