"""Two runs compared, for scripts and notebooks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.analysis.two_runs import CheckedComparison
from pytest_rageval.api.frames import Kind, pandas_frame, polars_frame
from pytest_rageval.api.run import Run, open_stored, project_of
from pytest_rageval.engine.comparing import compare_stored
from pytest_rageval.engine.finish import gate_of
from pytest_rageval.report.comparison_document import comparison_document

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
