"""The standard suites with their published figures, and the folder of one as a small project.

The figures are those of the regression pages of Anserini, which recomputes them: BM25 with k1 = 0.9
and b = 0.4 over Lucene's English terms, once with title and text in one field (``flat``) and once
in two (``multifield``). Sizes are those that ir-datasets 0.6 gives.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, Literal

from pytest_rageval.analysis.suites import Published
from pytest_rageval.authoring.interchange.files import write_corpus, write_new
from pytest_rageval.authoring.interchange.ir_datasets import (
    document_of_question,
    iterate_documents,
    makes_paths,
    open_dataset,
    read_dataset,
)
from pytest_rageval.authoring.interchange.values import ReadOptions
from pytest_rageval.project.case_reader import load_cases
from pytest_rageval.support.files import write_new_file
from pytest_rageval.support.reading import hint
from pytest_rageval.values.errors import ConfigError

_PAGES: Final = (
    "https://github.com/castorini/anserini/blob/master/docs/regressions/regressions-beir-v1.0.0-"
)
EMBEDDED_MAX: Final = 60_000
"""Documents up to which the embedded server holds a corpus."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A corpus with questions, judgements and published figures."""

    name: str
    title: str
    kind: str
    """Nature of its questions."""
    dataset: str | None
    """Name in ir-datasets; None: it comes with this package."""
    n_documents: int
    n_questions: int
    published: tuple[Published, ...]
    source: str
    """Place of the figures in the literature."""


def find_suite(name: str) -> Suite:
    """Return the suite of a name.

    Raises:
        ConfigError: there is no such suite.
    """
    if name not in SUITES:
        raise ConfigError.of(
            "",
            "unknown",
            what=f"suite {name!r}",
            **(hint(name, SUITES) or {"advice": f", expected one of {', '.join(SUITES)}"}),
        )
    return SUITES[name]


def _beir(
    name: str,
    title: str,
    kind: str,
    sizes: tuple[int, int],
    figures: tuple[tuple[float, float], tuple[float, float]],
    *,
    split: str = "/test",
) -> Suite:
    """Return a suite of BEIR.

    Its figures are nDCG@10 and recall@100, each of the flat and of the multifield index.
    """
    ndcg_10, recall_100 = figures
    return Suite(
        name=name,
        title=title,
        kind=kind,
        dataset=f"beir/{name}{split}",
        n_documents=sizes[0],
        n_questions=sizes[1],
        published=(
            Published(metric="ndcg", k=10, values=_variants(ndcg_10)),
            Published(metric="recall", k=100, values=_variants(recall_100)),
        ),
        source=f"{_PAGES}{name}.flat.md and .multifield.md",
    )


def _variants(figures: tuple[float, float]) -> Mapping[str, float]:
    return dict(zip(("BM25 flat", "BM25 multifield"), figures, strict=True))


_TINY: Final = Suite(
    name="tiny",
    title="Notes of a harbour town",
    kind="short questions; comes with this package",
    dataset=None,
    n_documents=12,
    n_questions=14,
    published=(
        Published(metric="ndcg", k=10, values={"BM25": 0.9186}),
        Published(metric="recall", k=3, values={"BM25": 0.9286}),
    ),
    source="BM25 (k1 = 0.9, b = 0.4), computed for this package and again by its tests",
)
_STANDARD: Final = (
    _beir("scifact", "SciFact", "claims about abstracts of papers", (5_183, 300),
          ((0.6789, 0.6647), (0.9253, 0.9076))),
    _beir("nfcorpus", "NFCorpus", "questions of lay people about medical papers, graded",
          (3_633, 323), ((0.3218, 0.3254), (0.2457, 0.2500))),
    _beir("arguana", "ArguAna", "arguments whose counterargument is sought", (8_674, 1_406),
          ((0.3970, 0.4142), (0.9324, 0.9431)), split=""),
    _beir("scidocs", "SCIDOCS", "titles of papers whose citations are sought", (25_657, 1_000),
          ((0.1490, 0.1581), (0.3477, 0.3561)), split=""),
    _beir("fiqa", "FiQA-2018", "questions about money, answered in forums", (57_638, 648),
          ((0.2361, 0.2361), (0.5395, 0.5395))),
    _beir("trec-covid", "TREC-COVID", "topics of TREC, deeply judged and graded", (171_332, 50),
          ((0.5947, 0.6559), (0.1091, 0.1141)), split=""),
    _beir("hotpotqa", "HotpotQA", "multi-hop: two articles of Wikipedia each", (5_233_329, 7_405),
          ((0.6330, 0.6027), (0.7957, 0.7400))),
)  # fmt: skip
SUITES: Final[Mapping[str, Suite]] = {one.name: one for one in (_TINY, *_STANDARD)}


class PackagedDataset:
    """A dataset in a folder beside this module; its rows have the attributes of ir-datasets."""

    def __init__(self, name: str) -> None:
        self._folder: Traversable = files(__package__) / name

    def queries_iter(self) -> Iterator[SimpleNamespace]:
        """Yield the questions."""
        for row in self._objects("queries.jsonl"):
            yield SimpleNamespace(query_id=row["_id"], text=row["text"])

    def docs_iter(self) -> Iterator[SimpleNamespace]:
        """Yield the documents."""
        for row in self._objects("corpus.jsonl"):
            yield SimpleNamespace(doc_id=row["_id"], title=row["title"], text=row["text"])

    def qrels_iter(self) -> Iterator[SimpleNamespace]:
        """Yield the judgements."""
        for line in self._lines("qrels", "test.tsv")[1:]:
            query, document, grade = line.split("\t")
            yield SimpleNamespace(query_id=query, doc_id=document, relevance=int(grade))

    def _objects(self, name: str) -> Iterator[dict[str, Any]]:
        return map(json.loads, self._lines(name))

    def _lines(self, *path: str) -> list[str]:
        return self._folder.joinpath(*path).read_text(encoding="utf-8").splitlines()


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
