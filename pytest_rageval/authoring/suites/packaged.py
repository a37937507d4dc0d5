"""The suite of this package, in the layout of BEIR, read as a dataset of ir-datasets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple


class Query(NamedTuple):
    """A question."""

    query_id: str
    text: str


class Qrel(NamedTuple):
    """A judgement."""

    query_id: str
    doc_id: str
    relevance: int


class Doc(NamedTuple):
    """A document."""

    doc_id: str
    title: str
    text: str


class PackagedDataset:
    """A dataset in a folder beside this module."""

    def __init__(self, name: str) -> None:
        self._folder: Traversable = files(__package__) / name

    def queries_iter(self) -> Iterator[Query]:
        """Yield the questions."""
        for row in self._objects("queries.jsonl"):
            yield Query(row["_id"], row["text"])

    def docs_iter(self) -> Iterator[Doc]:
        """Yield the documents."""
        for row in self._objects("corpus.jsonl"):
            yield Doc(row["_id"], row["title"], row["text"])

    def qrels_iter(self) -> Iterator[Qrel]:
        """Yield the judgements."""
        for line in self._lines("qrels", "test.tsv")[1:]:
            query, document, grade = line.split("\t")
            yield Qrel(query, document, int(grade))

    def _objects(self, name: str) -> Iterator[dict[str, Any]]:
        return map(json.loads, self._lines(name))

    def _lines(self, *path: str) -> list[str]:
        return self._folder.joinpath(*path).read_text(encoding="utf-8").splitlines()
