"""Registry of import formats. A new one is a module with a reader and an entry here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pytest_rageval.authoring.interchange.values import Imported, Source


@dataclass(frozen=True, slots=True)
class Format:
    """One format of eval sets."""

    module: str
    """Name of its module, imported when a file is read."""
    suffixes: tuple[str, ...]
    """Suffixes of the files to read in a folder."""
    function: str = "read"
    """Name of its reader."""
    is_named: bool = False
    """Whether it is given the name of a dataset in place of files."""

    def read(self, source: Source) -> Imported:
        """Read files, or the dataset of a name.

        Raises:
            DatasetError: with every fault of the files that can be told apart.
            EndpointError: the dataset of a name cannot be downloaded.
        """
        module = import_module(f"{__package__}.{self.module}")
        found: Imported = getattr(module, self.function)(source)
        return found


FORMATS: Final[Mapping[str, Format]] = {
    "beir": Format(
        "beir", ("corpus.jsonl", "queries.jsonl", ".tsv", "qrels.jsonl", "qrels/*.jsonl")
    ),
    "csv": Format("rows", (".csv", ".tsv"), "read_tables"),
    "deepeval": Format("tools", (".json", ".jsonl", ".csv", ".tsv"), "read_deepeval"),
    "ir-datasets": Format("ir_datasets", (), is_named=True),
    "json": Format("rows", (".json", ".jsonl")),
    "promptfoo": Format("promptfoo", (".yaml", ".yml", ".json", ".jsonl", ".csv", ".tsv")),
    "ragas": Format("tools", (".json", ".jsonl", ".csv", ".tsv"), "read_ragas"),
    "squad": Format("tools", (".json", ".jsonl"), "read_squad"),
    "trec": Format("trec", (".tsv", ".txt", ".run", ".qrels", ".topics", ".test", "qrels.jsonl")),
    "unrag": Format("unrag", (".json",)),
    "yaml": Format("rows", (".yaml", ".yml")),
}
