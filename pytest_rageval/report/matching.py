"""The rules by which chunks were compared with evidence, in words for every kind of report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pytest_rageval.metrics.deciding import UNDECIDED
from pytest_rageval.values.reply import MATCH_RULES

_BY_DOCUMENT: Final = (
    "without a heading, text or page to compare, such a case is matched by document (doc_hit_at_k)"
)


def rules_text(matching: Mapping[str, int]) -> str:
    """Return the number of chunks by rule: ``heading 812, snippet 40``.

    Empty where headings decided alone, which needs no mention. Chunks that no rule could compare
    are said to be known by their document alone, which the outcome of their cases then depends on.
    """
    counts = {name: matching.get(name, 0) for name in (*MATCH_RULES, UNDECIDED)}
    found = {name: n for name, n in counts.items() if n}
    if found.keys() <= {"heading"}:
        return ""
    alone = found.pop(UNDECIDED, 0)
    text = ", ".join(f"{name} {n}" for name, n in found.items())
    if not alone:
        return text
    known = f"{text}; {alone} by document alone" if text else f"document alone {alone}"
    return f"{known}: {_BY_DOCUMENT}"
