"""The surroundings of a run's page: notes of people, and the way to the pages over all runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_rageval.report.html.markup import visible
from pytest_rageval.runs.read import CaseKey
from pytest_rageval.values.run import CaseNote


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFrame:
    """Surroundings of the content of a run's page."""

    notes: tuple[CaseNote, ...] = ()
    home: str = ""
    """Address of the list of all runs; empty: the page stands alone."""
    compare: str = ""
    """Address of the comparison with the baseline; empty if absent."""
    choices: tuple[str, ...] = ()
    """Ids of the runs that can be the baseline, newest first."""
    baseline: str = ""
    """Id of the chosen one."""
    served: bool = False
    """Whether a server takes notes and another choice of the baseline."""

    def notes_by_anchor(self, anchors: Mapping[CaseKey, str]) -> dict[str, tuple[CaseNote, ...]]:
        """Return the notes on the cases of the page, by the anchor of the case."""
        found: dict[str, tuple[CaseNote, ...]] = {}
        for note in self.notes:
            anchor = anchors.get((note.file, note.case_id, note.repeat))
            if anchor is not None:
                found[anchor] = (*found.get(anchor, ()), note)
        return found

    def data(self, run_id: str, anchors: Mapping[CaseKey, str]) -> dict[str, Any]:
        """Return the values of the script that shows notes and takes them."""
        notes = {
            anchor: [shown_note(one) for one in of_case]
            for anchor, of_case in self.notes_by_anchor(anchors).items()
        }
        keys = {anchor: key for key, anchor in anchors.items()} if self.served else {}
        return {"run": run_id, "editable": self.served, "keys": keys, "notes": notes}


def shown_note(note: CaseNote) -> dict[str, str]:
    """Return a note as a page shows it."""
    when = note.time[:16].replace("T", " ")
    return {"text": visible(note.text), "author": visible(note.author), "time": visible(when)}
