"""Addresses within a page, of the pages of other runs, and of the pages over all runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from pytest_rageval.metrics.registry import MetricInfo


def report_beside(run_id: str) -> str:
    """Return the address of another run's ``report.html``, from that of a run beside it."""
    return f"../{quote(run_id, safe='', errors='replace')}/report.html"


def cases_link(**state: str | tuple[str, ...]) -> str:
    """Return the link to the cases of a state, such as the ones of a stage or of a metric's range.

    A key with several values shows the cases of any of them; several keys those of all. A range is
    ``lo..hi``, ``lo..<hi`` without its upper end, or ``none`` for no value.

    >>> cases_link(stage="not_retrieved", tag=("a b", "c"), recall_at_k="0..<0.5")
    '#stage=not_retrieved&tag=a%20b&tag=c&recall_at_k=0..%3C0.5'
    """
    pairs = (
        f"{quote(key)}={quote(value, errors='replace')}"
        for key, values in state.items()
        for value in ((values,) if isinstance(values, str) else values)
    )
    return f"#{'&'.join(pairs)}"


def worst_first(info: MetricInfo) -> dict[str, str]:
    """Return the order of cases by a metric, for ``cases_link``."""
    return {"sort": info.key, **({"dir": "desc"} if info.direction == "lower" else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Addresses of the pages over all runs, relative to any of them.

    Run ids need no escaping, as ``is_run_id`` has it.
    """

    static: bool = False
    """Whether the pages are files of one folder."""

    @property
    def home(self) -> str:
        """The list."""
        return "index.html" if self.static else "./"

    def run(self, run_id: str, *, base: str = "") -> str:
        """Return the address of a run's page; of a file, the baseline is fixed."""
        if self.static:
            return f"run-{run_id}.html"
        return f"run-{run_id}" + (f"?{urlencode({'base': base})}" if base else "")

    def compare(self, base: str, others: Sequence[str]) -> str:
        """Return the address of a comparison; of files, there is one for each run."""
        if self.static:
            return f"compare-{others[0]}.html"
        return f"compare?{urlencode([('base', base), *(('run', one) for one in others)])}"
