"""Addresses of the pages over all runs, as they are served and as files of one folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Addresses of pages, relative to any of them.

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
