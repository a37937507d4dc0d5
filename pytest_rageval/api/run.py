"""A run, or two compared, for scripts and notebooks: figures, and cases as rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal

from pytest_rageval.analysis.two_runs import CheckedComparison
from pytest_rageval.engine.comparing import compare_stored
from pytest_rageval.engine.finish import gate_of
from pytest_rageval.project.settings import load_settings
from pytest_rageval.report.comparison_document import comparison_document
from pytest_rageval.runs.read import read_compared
from pytest_rageval.runs.store import resolve_run
from pytest_rageval.support.text import part
from pytest_rageval.values.gate import GateResult
from pytest_rageval.values.numbers import Aggregate
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import RunConfig, StoredRun
from pytest_rageval.values.settings import Settings

Kind = Literal["text", "texts", "whole", "number", "boolean", "reasons"]
"""Content of a column. ``texts`` is a list, ``reasons`` a dictionary of texts, which frames leave
out; each value of the others may be None."""

_PANDAS: Final = {"whole": "Int64", "number": "Float64", "boolean": "boolean"}
"""Types that keep a value that is missing apart from NaN; others are objects."""
_POLARS: Final = {"text": "String", "whole": "Int64", "number": "Float64", "boolean": "Boolean"}


def pandas_frame(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, Kind]) -> Any:
    """Return rows as a ``pandas.DataFrame``; a value that is None is ``pandas.NA``.

    Raises:
        ImportError: pandas is not installed.
    """
    pandas = _import("pandas")
    kinds = {name: kind for name, kind in columns.items() if kind != "reasons"}
    frame = pandas.DataFrame([{n: row[n] for n in kinds} for row in rows], columns=list(kinds))
    return frame.astype({n: _PANDAS[kind] for n, kind in kinds.items() if kind in _PANDAS})


def polars_frame(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, Kind]) -> Any:
    """Return rows as a ``polars.DataFrame``; a value that is None is null.

    Raises:
        ImportError: polars is not installed.
    """
    polars = _import("polars")
    kinds = {name: kind for name, kind in columns.items() if kind != "reasons"}
    schema = {
        name: polars.List(polars.String) if kind == "texts" else getattr(polars, _POLARS[kind])
        for name, kind in kinds.items()
    }
    return polars.DataFrame([{n: row[n] for n in kinds} for row in rows], schema=schema)


def _import(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"to_{name}() needs the package {name}, which is not installed: pip install {name}; "
            "rows() needs none"
        ) from error


ROW_KEYS: Final[Mapping[str, Kind]] = {
    "run_id": "text",
    "file": "text",
    "case_id": "text",
    "parameters": "text",
    "repeat": "whole",
    "question": "text",
    "category": "text",
    "difficulty": "text",
    "language": "text",
    "tags": "texts",
    "answerable": "boolean",
    "required": "boolean",
    "status": "text",
    "outcome": "text",
    "failure_stage": "text",
    "unchecked": "boolean",
    "error_kind": "text",
    "error_message": "text",
    "answer": "text",
    "abstained": "boolean",
    "n_chunks": "whole",
    "k": "whole",
    "total_ms": "number",
    "not_applicable": "reasons",
}
"""Keys of a row before those of the metrics, and the kinds of their values."""


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A run that has ended, as its files hold it."""

    stored: StoredRun
    """The values behind the view, which may change without notice."""
    folder: Path | None
    """Folder of its files; None: it was not saved."""

    @property
    def run_id(self) -> str:
        """The name of the run."""
        return self.stored.run_id

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the run when it was loaded."""
        return self.stored.tags

    @property
    def records(self) -> tuple[CaseRecord, ...]:
        """The record of each case and repeat, by file and line."""
        return tuple(self.stored.records)

    @property
    def config(self) -> RunConfig:
        """The content of ``config.json``."""
        return self.stored.config

    @property
    def aggregate(self) -> Aggregate | None:
        """The content of ``metrics.json`` and ``groups.json``; None: the run has not ended."""
        return self.stored.aggregate

    @property
    def gate(self) -> GateResult | None:
        """The content of ``gate.json``, such as ``gate.verdict``; None: the run has not ended."""
        return self.stored.gate

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for readers of its figures, such as on what replies lack; not stored."""
        return self.stored.notes

    @property
    def means(self) -> dict[str, float | None]:
        """The mean of each metric by key; None: it applied to no case, or erred in all."""
        found = {} if self.aggregate is None else self.aggregate.metrics
        return {key: one.mean for key, one in found.items()}

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per case and repeat: ``ROW_KEYS``, then a key for every metric.

        A metric that a case has no number for is None. If it does not apply, ``not_applicable``
        has the reason; if not, its scoring failed.
        """
        keys = self._metric_keys()
        return [self._row(record, keys) for record in self.records]

    def to_pandas(self) -> Any:
        """Return ``rows`` as a ``pandas.DataFrame`` without ``not_applicable``.

        Raises:
            ImportError: pandas is not installed.
        """
        return pandas_frame(self.rows(), self._columns())

    def to_polars(self) -> Any:
        """Return ``rows`` as a ``polars.DataFrame`` without ``not_applicable``.

        Raises:
            ImportError: polars is not installed.
        """
        return polars_frame(self.rows(), self._columns())

    def _columns(self) -> dict[str, Kind]:
        return {**ROW_KEYS, **dict.fromkeys(self._metric_keys(), "number")}

    def _metric_keys(self) -> tuple[str, ...]:
        """Return the metrics of all records, in the order in which they were scored."""
        return tuple(dict.fromkeys(key for record in self.records for key in record.scores.metrics))

    def _row(self, record: CaseRecord, keys: tuple[str, ...]) -> dict[str, Any]:
        case, scores, error = record.case, record.scores, record.error
        chunks = record.reply.retrieved_chunks
        return {
            "run_id": self.run_id,
            "file": record.file,
            "case_id": case.id,
            "parameters": record.parameters,
            "repeat": record.repeat,
            "question": case.question,
            "category": case.category,
            "difficulty": case.difficulty,
            "language": case.language,
            "tags": list(case.tags),
            "answerable": case.answerable,
            "required": case.required,
            "status": record.status,
            "outcome": scores.outcome,
            "failure_stage": scores.failure_stage,
            "unchecked": scores.unchecked,
            "error_kind": None if error is None else error.kind,
            "error_message": None if error is None else error.message,
            "answer": record.answer,
            "abstained": record.reply.abstained,
            "n_chunks": None if chunks is None else len(chunks),
            "k": record.k,
            "total_ms": record.latency.get("total_ms"),
            "not_applicable": dict(scores.not_applicable),
            **{key: scores.metrics.get(key) for key in keys},
        }

    def __repr__(self) -> str:
        gate = part(", gate {}", self.gate and self.gate.verdict)
        return f"<Run {self.run_id}: {self.stored.n_cases} cases{gate}>"

    def _repr_html_(self) -> str:
        from pytest_rageval.report.html.notebook import run_cell

        return run_cell(self.stored)


def load_run(run: str | os.PathLike[str] = "last", *, root: str | os.PathLike[str] = ".") -> Run:
    """Read a stored run.

    Args:
        run: an id or the beginning of one, a tag, ``last``, ``last~1``, or the path of a folder.
        root: folder of the project, where ``pyproject.toml`` is.

    Raises:
        ConfigError: the settings of the project are wrong.
        StorageError: no run or more than one is meant, or it cannot be read.
    """
    return open_stored(run, project_of(root))


def project_of(root: str | os.PathLike[str]) -> Settings:
    """Return the settings of the project in a folder.

    Raises:
        ConfigError: they are wrong.
    """
    return load_settings(Path(os.path.abspath(root)), flags={}, environ=os.environ)


def open_stored(run: str | os.PathLike[str], project: Settings) -> Run:
    """Read a stored run of a project, whose results folder is the first place to look.

    Raises:
        StorageError: no run or more than one is meant, or it cannot be read.
    """
    results = project.results_folder
    folder = resolve_run(results, os.fspath(run))
    return Run(read_compared(folder, results), folder)


COLUMNS: Final[dict[str, Kind]] = {
    "metric": "text",
    "n": "whole",
    "base": "number",
    "new": "number",
    "delta": "number",
    "low": "number",
    "high": "number",
    "p": "number",
    "tests": "number",
    "n_base_only": "whole",
    "n_new_only": "whole",
    "margin": "number",
    "mde": "number",
    "verdict": "text",
}
"""Keys of a row of a comparison, and the kinds of their values."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Two runs compared case by case; every difference is new - base."""

    base: Run
    new: Run
    view: CheckedComparison
    """The values behind it, which may change without notice."""

    @property
    def comparable(self) -> bool:
        """Whether the runs were made under the same conditions."""
        return self.view.found.comparable

    @property
    def problem(self) -> str:
        """Sentence on the conditions that differ; empty: none does."""
        return "" if self.comparable else self.view.found.comparability.sentence()

    @property
    def failed(self) -> bool:
        """Whether a check of ``thresholds.toml`` failed with ``base`` as the baseline."""
        return self.view.failed

    @property
    def conclusion(self) -> str:
        """The verdict, then the result of these checks if there are any, as one sentence."""
        return self.view.conclusion

    @property
    def verdict(self) -> str:
        """The word of the verdict.

        ``better``, ``worse``, ``mixed``, ``no_difference``, ``cannot_tell`` or ``not_comparable``.
        """
        return self.view.found.conclusion.word

    @property
    def newly_missed(self) -> tuple[str, ...]:
        """Ids of the cases that are missed in ``new`` and were not in ``base``."""
        return self.view.found.comparison.newly_missed

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per metric that either run scored on a paired case."""
        figures = [name for name in COLUMNS if name not in {"metric", "verdict"}]
        return [
            {"metric": change.key}
            | {name: getattr(change, name) for name in figures}
            | {"verdict": self.view.verdict_of(change)}
            for change in self.view.found.comparison.metrics.values()
        ]

    def to_pandas(self) -> Any:
        """Return ``rows`` as a ``pandas.DataFrame``.

        Raises:
            ImportError: pandas is not installed.
        """
        return pandas_frame(self.rows(), COLUMNS)

    def to_polars(self) -> Any:
        """Return ``rows`` as a ``polars.DataFrame``.

        Raises:
            ImportError: polars is not installed.
        """
        return polars_frame(self.rows(), COLUMNS)

    def to_dict(self) -> dict[str, Any]:
        """Return the whole comparison as JSON values, as ``rageval compare --json`` prints it."""
        return comparison_document(self.view)

    def __repr__(self) -> str:
        said = self.conclusion if self.comparable else f"not comparable: {self.problem}"
        return f"<Comparison {self.base.run_id} -> {self.new.run_id}: {said}>"

    def _repr_html_(self) -> str:
        from pytest_rageval.report.html.parts import render
        from pytest_rageval.report.view.comparison import view_of_comparison

        return render(view_of_comparison(self.view))


def compare_runs(
    base: Run | str | os.PathLike[str],
    new: Run | str | os.PathLike[str] = "last",
    *,
    root: str | os.PathLike[str] = ".",
    ignore_invariants: bool = False,
) -> Comparison:
    """Compare two runs as ``rageval compare`` does, under the limits of ``thresholds.toml``.

    Args:
        base: the earlier run, or its name as for ``load_run``.
        new: the later one.
        root: folder of the project.
        ignore_invariants: compare everything, although the conditions differ.

    Raises:
        ConfigError: the settings of the project or its ``thresholds.toml`` are wrong.
        StorageError: no run or more than one is meant, or it cannot be read.
    """
    project = project_of(root)
    earlier = base if isinstance(base, Run) else open_stored(base, project)
    later = new if isinstance(new, Run) else open_stored(new, project)
    view = compare_stored(
        earlier.stored, gate_of(later.stored, project), ignore_invariants=ignore_invariants
    )
    return Comparison(earlier, later, view)
