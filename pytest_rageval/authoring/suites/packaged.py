"""The suite of this package, in the layout of BEIR, read as a dataset of ir-datasets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import SimpleNamespace
from typing import Any


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
