"""The rules by which chunks were compared with evidence, in words for every kind of report."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_rageval.metrics.deciding import UNDECIDED
from pytest_rageval.values.json_documents import whole
from pytest_rageval.values.reply import MATCH_RULES


def rules_text(matching: Mapping[str, object]) -> str:
    """Return the number of chunks by rule: ``heading 812, snippet 40, undecided 2``.

    Args:
        matching: of the numbers of a run, or of its ``metrics.json``.

    Returns:
        Empty where headings decided alone, which needs no mention.
    """
    counts = {name: whole(matching, name) or 0 for name in (*MATCH_RULES, UNDECIDED)}
    found = {name: n for name, n in counts.items() if n}
    if found.keys() <= {"heading"}:
        return ""
    return ", ".join(f"{name} {n}" for name, n in found.items())
