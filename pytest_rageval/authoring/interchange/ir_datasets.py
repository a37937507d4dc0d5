"""Datasets of the library ir-datasets, which downloads them by name.

Read as ir-datasets 0.6 offers them: ``queries_iter``, ``qrels_iter`` and ``docs_iter`` of a dataset
yield named tuples with ``query_id``, ``doc_id`` and ``relevance``.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from pytest_rageval.authoring.interchange.ids import DocumentPaths, UniqueIds
from pytest_rageval.authoring.interchange.judgements import graded_golds, keep_low_grades
from pytest_rageval.authoring.interchange.rows import with_id
from pytest_rageval.authoring.interchange.values import (
    Imported,
    Ledger,
    ReadOptions,
    Source,
    fault,
)
from pytest_rageval.project.documents import Document
from pytest_rageval.support.text import clean, counted, nearest, shown, whole_text
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import ConfigError, EndpointError, target_error
from pytest_rageval.values.lenient import text as text_at

_ROOM: Final = "ir-datasets"
_NEEDS_EXTRA: Final = (
    "ir-datasets needs the extra suites: pip install 'pytest-rageval[suites]' ({})"
)
_NOISE: Final = (
    "download error",
    "Download failed",
    "Migrating",
    "[starting]",
    "[finished]",
    "[error]",
)
"""Beginnings of messages of the library that are not shown."""
_NO_CONNECTION: Final = {
    "ConnectionError": "",
    "ConnectTimeout": " in time",
    "ProxyError": " through the proxy",
}
"""Errors of the library requests, and what is said of the connection."""
_FOLDER_VARIABLE: Final = "IR_DATASETS_HOME"


class Dataset(Protocol):
    """The parts of a dataset of the library that are read."""

    def queries_iter(self) -> Iterable[Any]:
        """Yield the questions."""

    def qrels_iter(self) -> Iterable[Any]:
        """Yield the judgements."""

    def docs_iter(self) -> Iterable[Any]:
        """Yield the documents."""


def read(source: Source) -> Imported:
    """Read the questions and judgements of the one dataset that is named.

    Raises:
        ConfigError: the library, or one that it needs for this dataset, is not installed.
        DatasetError: there is no such dataset, or it lacks questions or judgements.
        EndpointError: it cannot be downloaded or read.
    """
    if len(source.names) != 1:
        found = counted(len(source.names), "name")
        raise fault("ir-datasets", "value", found=found, expected="that of one dataset")
    (name,) = source.names
    return read_dataset(open_dataset(name), name, source.options)


def open_dataset(name: str) -> Dataset:
    """Find a dataset by its name, without downloading anything.

    Raises:
        ConfigError: the library is not installed.
        DatasetError: there is no such dataset, or it lacks questions or judgements.
    """
    _quieten()  # before the import, which reads the environment
    try:
        import ir_datasets
    except ImportError as error:
        raise ConfigError.of("ir-datasets", "needs_extra", extra="suites", reason=error) from None
    try:
        found = ir_datasets.load(name)
    except KeyError:
        near = nearest(name, ir_datasets.registry) or ""
        what = f"dataset {shown(name)}"
        raise fault("ir-datasets", "unknown", what=what, nearest=near) from None
    if lacking := [word for word in ("queries", "qrels", "docs") if not found.has(word)]:
        parts = sorted(one for one in ir_datasets.registry if one.startswith(f"{name}/"))
        raise fault(
            "ir-datasets",
            "dataset_parts",
            found=shown(name),
            lacking=" and no ".join(lacking),
            parts=", ".join(parts[:10]),
        )
    dataset: Dataset = found
    return dataset


def read_dataset(dataset: Dataset, name: str, options: ReadOptions) -> Imported:
    """Return the questions of a dataset as cases, with graded golds.

    Raises:
        ConfigError: a library that it needs is not installed.
        DatasetError: a question is empty.
        EndpointError: it cannot be downloaded or read.
    """
    ledger, ids = Ledger(), UniqueIds()
    judged = _judgements(dataset, name, ledger)
    lines = []
    for query in _rows(name, dataset.queries_iter):
        query_id = str(query.query_id)
        if query_id not in judged:
            ledger.leave("queries", "nothing is judged for it")
            continue
        text = whole_text(_query_text(query))
        if not text.strip():
            raise fault(name, "empty", field=f"the question {shown(query_id)}")
        lines.append(_line(query_id, text, judged.pop(query_id), options, ids, ledger))
    if judged:
        ledger.leave("qrels", "there is no question of this id", sum(map(len, judged.values())))
    return ledger.close(cases=tuple(lines))


def iterate_documents(dataset: Dataset, name: str, options: ReadOptions) -> Iterator[Document]:
    """Yield the documents of a dataset, named as in the golds of ``read_dataset``.

    Raises:
        ConfigError: a library that it needs is not installed.
        EndpointError: it cannot be downloaded or read.
    """
    for row in _rows(name, dataset.docs_iter):
        source_id = str(row.doc_id)
        title, text = getattr(row, "title", ""), getattr(row, "text", None)
        if not isinstance(text, str):  # such as a document of TREC, with several parts
            title, text = "", row.default_text()
        title = " ".join(title.split()) if isinstance(title, str) else ""
        yield Document(
            rel_path=document_path(source_id, options),
            text=whole_text(text),
            source_id=source_id,
            metadata={"title": whole_text(title)} if title else {},
        )


def makes_paths(options: ReadOptions) -> bool:
    """Whether golds name notes, and not ids."""
    return options.ids == "paths" or (options.ids == "auto" and options.with_documents)


def document_path(doc_id: str, options: ReadOptions) -> str:
    """Return the path of a document in golds: its id, or the path of a note made of it."""
    return DocumentPaths("", "").path(doc_id) if makes_paths(options) else doc_id


def document_of_question(case: Case, options: ReadOptions) -> str:
    """Return the path of the document with the id of a question, which may not exist.

    Published figures leave it out: in some datasets a question is one of the documents.
    """
    return document_path(text_at(case.metadata, _ROOM, "id") or case.id, options)


# --- rows ------------------------------------------------------------------------------------


def _judgements(dataset: Dataset, name: str, ledger: Ledger) -> dict[str, dict[str, int]]:
    """Return the grades of documents by question; the last counts, as for BEIR and pytrec_eval."""
    found: dict[str, dict[str, int]] = {}
    for row in _rows(name, dataset.qrels_iter):
        grades = found.setdefault(str(row.query_id), {})
        if str(row.doc_id) in grades:
            ledger.leave("qrels", "a later one judges the same document")
        else:
            ledger.carry("qrels")
        grades[str(row.doc_id)] = int(row.relevance)
    return found


def _query_text(query: Any) -> str:
    found = getattr(query, "text", None)
    return found if isinstance(found, str) else str(query.default_text())


def _line(
    query_id: str,
    text: str,
    grades: Mapping[str, int],
    options: ReadOptions,
    ids: UniqueIds,
    ledger: Ledger,
) -> dict[str, Any]:
    line = with_id({"id": query_id, "question": text}, ids, room=_ROOM)
    ledger.carry("queries")
    if golds := graded_golds(grades, lambda doc: {"rel_path": document_path(doc, options)}):
        line["gold_supports"] = golds
    keep_low_grades(line, _ROOM, grades, ledger, "qrels with a grade below 1")
    return line


def _rows(name: str, iterate: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """Yield the rows of a dataset, which is downloaded when the first is read."""
    try:
        yield from iterate()
    except ImportError as error:
        raise ConfigError.of(f"ir-datasets: {name}", "unusable", reason=error) from error
    except Exception as error:  # of any library that the download or the format needs
        raise _unavailable(name, error) from error


def _quieten() -> None:
    """Leave of what the library prints the progress, on terminals, and conditions."""
    if not sys.stderr.isatty():
        for name in ("IR_DATASETS_DL_DISABLE_PBAR", "TQDM_DISABLE"):
            os.environ.setdefault(name, "true")
    logging.getLogger("ir_datasets").addFilter(_worth_reading)


def _worth_reading(record: logging.LogRecord) -> bool:
    # An error that ends the download is raised as well.
    return not record.getMessage().startswith(_NOISE)


def _unavailable(name: str, error: Exception) -> EndpointError:
    failed = error.args[1:]
    if isinstance(error, RuntimeError) and failed and isinstance(failed[0], list):
        error = failed[0][-1][1]  # of the last of several sources
    reason = clean(f"{type(error).__name__}: {error}", 300)
    folder = clean(os.environ.get(_FOLDER_VARIABLE) or (Path.home() / ".ir_datasets").as_posix())
    if not isinstance(error, OSError | RuntimeError):
        return target_error("dataset_unread", name=name, folder=folder, reason=reason)
    url = getattr(getattr(error, "request", None), "url", None)  # of the library requests
    closed = _NO_CONNECTION.get(type(error).__name__)
    if isinstance(url, str) and closed is not None:
        reason = f"no connection to {clean(urlsplit(url).hostname or '')}{closed}"
    return target_error(
        "dataset_lost", name=name, folder=folder, reason=reason, variable=_FOLDER_VARIABLE
    )
