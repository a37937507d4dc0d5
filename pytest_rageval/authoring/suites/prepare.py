"""The folder of a suite: a small project with its corpus and its cases."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pytest_rageval.authoring.interchange.corpus import write_corpus
from pytest_rageval.authoring.interchange.files import write_new
from pytest_rageval.authoring.interchange.ir_datasets import (
    document_of_question,
    iterate_documents,
    makes_paths,
    open_dataset,
    read_dataset,
)
from pytest_rageval.authoring.interchange.values import ReadOptions
from pytest_rageval.authoring.suites.catalogue import Suite
from pytest_rageval.authoring.suites.packaged import PackagedDataset
from pytest_rageval.project.case_reader import load_cases
from pytest_rageval.support.files import write_new_file

Names = Literal["paths", "keep"]
"""Names in golds: paths of notes, or ids of documents."""
CORPUS: Final = "corpus"
_PYPROJECT: Final = f"""\
# Written by `rageval suite run`: rageval explain, compare and pytest work in this folder.
[tool.rageval]
retrieval_only = true

[tool.rageval.target]
vault = "{CORPUS}"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSuite:
    """A suite on disk."""

    suite: Suite
    folder: Path
    cases: Path
    names: Names

    @property
    def corpus(self) -> Path:
        """Folder of the documents: notes, or one file of lines."""
        return self.folder / CORPUS

    def own_documents(self) -> Mapping[str, str]:
        """Return, by case id, the path of the document with the id of the question."""
        options = _options(self.names)
        cases = (located.case for located in load_cases(self.cases).cases)
        return {case.id: document_of_question(case, options) for case in cases}


def prepare_suite(suite: Suite, folder: Path, names: Names, *, with_corpus: bool) -> PreparedSuite:
    """Write the parts of a suite that its folder lacks.

    Args:
        suite: is downloaded if it does not come with this package.
        folder: of this suite and these names alone.
        names: what golds name.
        with_corpus: whether the documents are needed too.

    Raises:
        ConfigError: the library that downloads it is not installed.
        DatasetError: the folder cannot be written.
        EndpointError: it cannot be downloaded.
    """
    cases = folder / "evals" / f"{suite.name}.jsonl"
    prepared = PreparedSuite(suite=suite, folder=folder, cases=cases, names=names)
    lacks_corpus = with_corpus and not prepared.corpus.is_dir()
    if cases.is_file() and not lacks_corpus:
        return prepared
    name, options = suite.dataset or suite.name, _options(names)
    dataset = PackagedDataset(name) if suite.dataset is None else open_dataset(name)
    if lacks_corpus:
        documents = iterate_documents(dataset, name, options)
        write_corpus(prepared.corpus, documents, as_notes=makes_paths(options))
    if not cases.is_file():
        found = read_dataset(dataset, name, options)
        lines = (f"{json.dumps(line, ensure_ascii=False)}\n" for line in found.cases)
        write_new(cases, lines)
        write_new_file(folder / "pyproject.toml", [_PYPROJECT.encode()])
        write_new_file(folder / ".gitignore", [b"*\n"])
    return prepared


def _options(names: Names) -> ReadOptions:
    return ReadOptions(ids=names, with_documents=True)
