"""Datasets of the library ir-datasets, built from files and without a network."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

DOCUMENTS = {
    "d1": "The vault opens at nine.",
    "d2": "Gate 3 closes at dusk.",
    "a/odd#id": "Keys hang by the door.",
}
QUERIES = {"1": "When does the vault open?", "q::2": "Where are keys?", "q3": "Is it judged?"}
QRELS = [("1", "d1", 2), ("1", "d2", 0), ("q::2", "a/odd#id", 1), ("gone", "d1", 1)]


def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the library, whose downloads go to a folder of the session.

    It reads the variable when it is imported, and creates folders there.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IR_DATASETS_HOME", str(tmp_path_factory.getbasetemp() / "ir_datasets"))
        return importlib.import_module("ir_datasets")


def local_dataset(
    ir_datasets: Any,
    folder: Path,
    *,
    documents: dict[str, str] = DOCUMENTS,
    queries: dict[str, str] = QUERIES,
    qrels: list[tuple[str, str, int]] = QRELS,
) -> Any:
    """Return a dataset as the library reads it from files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("docs", documents), ("queries", queries)):
        text = "".join(f"{key}\t{value}\n" for key, value in rows.items())
        (folder / f"{name}.tsv").write_text(text, encoding="utf-8")
    # Columns of qrels are separated by any blank.
    text = "".join(f"{query}\t0\t{doc}\t{grade}\n" for query, doc, grade in qrels)
    (folder / "qrels.txt").write_text(text, encoding="utf-8")
    return ir_datasets.create_dataset(
        docs_tsv=str(folder / "docs.tsv"),
        queries_tsv=str(folder / "queries.tsv"),
        qrels_trec=str(folder / "qrels.txt"),
    )
