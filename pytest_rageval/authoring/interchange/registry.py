"""Registry of import and export formats. A new one is a module and an entry here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pytest_rageval.authoring.interchange import (
    beir,
    csv_table,
    deepeval,
    promptfoo,
    ragas,
    suite,
    trec,
    unrag,
)
from pytest_rageval.authoring.interchange.values import Imported, Source

Reader = Callable[[Source], Imported]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format of eval sets."""

    read: Reader
    files: str
    """Description of the files, in a few words."""
    suffixes: tuple[str, ...]
    """Suffixes of the files to read in a folder."""


FORMATS: Final[Mapping[str, Format]] = {
    "beir": Format(
        read=beir.read,
        files="a folder with corpus.jsonl, queries.jsonl and qrels/*.tsv",
        suffixes=("corpus.jsonl", "queries.jsonl", ".tsv"),
    ),
    "csv": Format(read=csv_table.read, files="tables with a header", suffixes=(".csv", ".tsv")),
    "deepeval": Format(
        read=deepeval.read,
        files="goldens in JSON, JSON Lines or CSV",
        suffixes=(".json", ".jsonl", ".csv"),
    ),
    "json": Format(
        read=suite.read,
        files="suites in JSON, with expected_references",
        suffixes=(".json", ".jsonl"),
    ),
    "promptfoo": Format(
        read=promptfoo.read,
        files="a config or tests in YAML, JSON or CSV",
        suffixes=(".yaml", ".yml", ".json", ".jsonl", ".csv"),
    ),
    "ragas": Format(
        read=ragas.read,
        files="test sets and evaluation datasets in JSON, JSON Lines or CSV",
        suffixes=(".json", ".jsonl", ".csv"),
    ),
    "trec": Format(
        read=trec.read,
        files="topics, qrels and runs",
        suffixes=(".tsv", ".txt", ".run", ".qrels", ".topics", ".test"),
    ),
    "unrag": Format(
        read=unrag.read, files="datasets and reports of unrag in JSON", suffixes=(".json",)
    ),
    "yaml": Format(read=suite.read, files="suites in YAML, as json", suffixes=(".yaml", ".yml")),
}
