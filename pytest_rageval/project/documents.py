"""Documents that belong to a set of cases: their files and the reading of their texts.

``evals/documents/<name>.jsonl`` belongs to ``evals/<name>.jsonl``. Its first line names the scope
prefix, a folder of the target that holds nothing else; each further line is one document below it.
No URL is opened here, and a data file cannot name code: the loader of a ``ref`` is set in the
settings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, TypeGuard

from pytest_rageval.support.files import open_plain
from pytest_rageval.support.jsonl import ObjectLine, cannot_be_read, iterate_lines, open_lines
from pytest_rageval.support.project_code import find_named
from pytest_rageval.support.reading import Unfit, ValueCheck, not_utf8, unfit_at
from pytest_rageval.support.text import shown
from pytest_rageval.values.errors import ConfigError, DatasetError, Fault, faults_error

FOLDER: Final = "documents"
"""Beside the case files; nothing in it is a case file."""
MIN_PREFIX_SEGMENTS: Final = 2
MIN_PREFIX_CHARS: Final = 6
PREFIX_RULE: Final = (
    "a relative folder of at least two steps and six letters that holds nothing else, such as "
    "evals/handbook/"
)
_SOURCES: Final = ("text", "file", "ref")

Loader = Callable[[str], str]
"""Returns the text of a ``ref``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSet:
    """The documents of one case file."""

    path: Path
    display: str
    """The path as shown to the user."""
    scope_prefix: str
    """Folder of the target with its final ``/``."""
    documents: tuple[Document, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedDocument:
    """A document with its text, ready to be put into a target."""

    rel_path: str
    """Begins with the scope prefix."""
    text: str
    scope_prefix: str
    source_id: str | None = None
    metadata: Mapping[str, Any]


def documents_path(case_file: Path) -> Path:
    """Return the path of the documents of a case file, if there are any."""
    return case_file.parent / FOLDER / case_file.name


def is_scope_prefix(prefix: object) -> TypeGuard[str]:
    """Whether documents may be put under a prefix.

    Everything below it is deleted after a run, so it must not be a folder in other use.
    """
    if isinstance(prefix, str):
        folder = prefix.removesuffix("/")
        is_deep = folder.count("/") + 1 >= MIN_PREFIX_SEGMENTS
        return is_deep and len(folder) > MIN_PREFIX_CHARS and is_plain_path(folder)
    return False


def is_plain_path(path: str) -> bool:
    """Whether a path is relative, in normal form, and cannot leave its folder."""
    parts = PurePosixPath(path).parts
    normal = bool(parts) and "/".join(parts) == path and path.isprintable()
    kept = not path.startswith("/") and path.strip() == path and "%" not in path
    return normal and kept and ".." not in parts and "\\" not in path and ":" not in parts[0]


# --- reading -------------------------------------------------------------------------------

_NO_OTHER_FIELDS: Final = {"extra": "forbid"}


def _plain(path: str) -> str:
    if not is_plain_path(path):
        raise Unfit("a relative path without '..'")
    return path


def _folder(prefix: str) -> str:
    if not is_scope_prefix(prefix):
        raise Unfit(PREFIX_RULE)
    return f"{prefix.removesuffix('/')}/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document of a dataset; exactly one of text, file and ref is the source of its text."""

    __pydantic_config__ = _NO_OTHER_FIELDS

    rel_path: Annotated[str, ValueCheck(_plain)]
    """Path that the target reports for it; begins with the scope prefix."""
    text: str | None = None
    file: str | None = None
    """File with the text, relative to the file of the documents."""
    ref: str | None = None
    """Argument for the loader of the project."""
    source_id: str | None = None
    """Its id at its source."""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """The first line of a file."""

    __pydantic_config__ = _NO_OTHER_FIELDS

    scope_prefix: Annotated[str, ValueCheck(_folder)]


_HEAD: Final = ObjectLine[_Head](
    type=_Head, shape='a first line such as {"scope_prefix": "evals/handbook/"}'
)
_LINE: Final = ObjectLine[Document](type=Document, shape="a document")


def read_document_set(path: Path, *, display: str | None = None) -> DocumentSet:
    """Read the documents of a case file; texts in other files are read by ``load_text``.

    Raises:
        DatasetError: with every fault of the file.
    """
    shown_path = path.as_posix() if display is None else display
    faults: list[Fault] = []
    prefix: str | None = None
    documents: list[Document] = []
    paths: dict[str, int] = {}

    def rules(number: int, value: Mapping[str, Any], faulty: object) -> Iterator[Fault]:
        rel_path = str(value.get("rel_path"))
        if prefix and not rel_path.startswith(prefix):
            yield unfit_at(("rel_path",), shown(rel_path), f"a path below {prefix!r}")
        if (first := paths.setdefault(rel_path, number)) != number:
            facts = {"found": shown(rel_path), "owner": f"the path of line {first}"}
            yield Fault(loc=("rel_path",), field="rel_path", code="duplicate", facts=facts)
        given = [name for name in _SOURCES if value.get(name) is not None]
        if len(given) != 1:
            yield unfit_at((), " and ".join(given) or "no text", "one of text, file and ref")

    try:
        with open_lines(path, shown_path) as file:
            for line in iterate_lines(file, shown_path, faults):
                if prefix is None:
                    head, found = _HEAD.read(line)
                    prefix = head.scope_prefix if head else ""
                else:
                    document, found = _LINE.read(line, rules)
                    documents += [document] if document else []
                faults += [replace(fault, file=shown_path) for fault in found]
    except OSError as error:
        raise cannot_be_read(shown_path, error) from error
    if prefix is None:
        faults.append(Fault(code="empty", facts={"expected": _HEAD.shape}, file=shown_path))
    if faults or prefix is None:
        raise faults_error(faults)
    return DocumentSet(
        path=path, display=shown_path, scope_prefix=prefix, documents=tuple(documents)
    )


def document_lines(documents: Iterable[Document], scope_prefix: str) -> Iterator[str]:
    """Yield the lines of a file of documents, line ends included."""
    yield _json({"scope_prefix": scope_prefix})
    for one in documents:
        names = ("rel_path", *_SOURCES, "source_id")
        fields = {name: getattr(one, name) for name in names if getattr(one, name) is not None}
        yield _json({**fields, **({"metadata": dict(one.metadata)} if one.metadata else {})})


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"


def check_documents(documents: Iterable[Document], scope_prefix: str) -> None:
    """Refuse documents that could not be put under their prefix.

    Raises:
        DatasetError: with every fault.
    """
    faults: list[Fault] = []
    if not is_scope_prefix(scope_prefix):
        facts = {"found": shown(scope_prefix), "expected": PREFIX_RULE}
        faults.append(Fault(code="scope_prefix", facts=facts, field="scope prefix"))
    seen: set[str] = set()
    for one in documents if not faults else ():
        if not is_plain_path(one.rel_path) or not one.rel_path.startswith(scope_prefix):
            facts = {"found": shown(one.rel_path), "prefix": scope_prefix}
            faults.append(Fault(code="outside", facts=facts, field="document"))
        elif one.rel_path in seen:
            facts = {"found": shown(one.rel_path)}
            faults.append(Fault(code="listed_twice", facts=facts, field="document"))
        seen.add(one.rel_path)
    if faults:
        raise faults_error(faults)


# --- texts -----------------------------------------------------------------------------------


def load_documents(found: DocumentSet, loader: Loader | None) -> Iterator[LoadedDocument]:
    """Yield the documents of a set with their texts, one in memory at a time.

    Raises:
        DatasetError: a text cannot be read.
        ConfigError: the loader returned no text.
    """
    for one in found.documents:
        yield LoadedDocument(
            rel_path=one.rel_path,
            text=load_text(one, found.path.parent, loader),
            scope_prefix=found.scope_prefix,
            source_id=one.source_id,
            metadata=one.metadata,
        )


def load_text(document: Document, folder: Path, loader: Loader | None) -> str:
    """Return the text of a document.

    Args:
        document: of a file of documents.
        folder: of that file; a ``file`` is relative to it and cannot leave it.
        loader: of the project, for a ``ref``; None if absent.

    Raises:
        DatasetError: the text cannot be read.
        ConfigError: the loader returned no text.
    """
    if document.text is not None:
        return document.text
    where = f"document {document.rel_path!r}"
    if document.file is not None:
        return _file_text(document.file, folder, where)
    ref = document.ref or ""
    if loader is None:
        fetch = "--fetch" if ref.startswith(("http://", "https://")) else None
        raise ConfigError.of(where, "no_loader", ref=shown(ref), fetch=fetch)
    return _loaded(loader, ref, where)


def _file_text(name: str, folder: Path, where: str) -> str:
    base = folder.resolve()
    path = (base / name).resolve()
    if not path.is_relative_to(base) or Path(name).is_absolute():
        raise DatasetError.of(where, "outside_folder", found=shown(name))
    try:
        with open_plain(path) as file:
            return file.read().decode("utf-8-sig")
    except OSError as error:
        raise DatasetError.of(
            f"{where}: {shown(name)}", "unreadable", reason=error.strerror or error
        ) from error
    except UnicodeDecodeError as error:
        raise DatasetError.of_faults([not_utf8(error, file=f"{where}: {shown(name)}")]) from None


def _loaded(loader: Loader, ref: str, where: str) -> str:
    try:
        text = loader(ref)
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ConfigError.of(where, "loader_failed", ref=shown(ref), reason=reason) from error
    if not isinstance(text, str) or not text.strip():
        raise ConfigError.of(
            f"{where}: loader of {shown(ref)}", "type", found=shown(text), expected="a text"
        )
    return text


def find_loader(setting: str | None) -> Loader | None:
    """Import the function that a setting names as ``module:function``.

    Raises:
        ConfigError: the setting names no function.
    """
    if setting is None:
        return None
    where = "[tool.rageval.documents] loader"
    try:
        found = find_named(setting, where)
    except ImportError as error:
        raise ConfigError.of(where, "not_imported", found=repr(setting), reason=error) from error
    if not callable(found):
        raise ConfigError.of(where, "type", found=repr(setting), expected="a function")
    loader: Loader = found
    return loader
