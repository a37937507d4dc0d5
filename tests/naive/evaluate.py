"""One function from a row of checked examples to its answer."""

from __future__ import annotations

from collections.abc import Callable

from tests.naive import matching, rules, scoring
from tests.naive.matching import Values

OPERATIONS: dict[str, Callable[[Values], Values]] = {
    "norm_heading": lambda row: {"segments": matching.norm_heading(row["heading_path"])},
    "match": lambda row: {
        "match": matching.matches(row["anchor"], row["chunk"], row.get("settings") or {})
    },
    "rule": rules.rule,
    "quote": lambda row: {"held": rules.holds(row["quote"], row["text"])},
    "score": scoring.score,
    "rerank_delta": scoring.rerank_delta,
}


def evaluate(op: str, row: Values) -> Values:
    """Answer one row literally by the definitions."""
    return OPERATIONS[op](row)


def differences(expected: object, got: object, tol: float = 1e-9, where: str = "") -> list[str]:
    """Paths at which two answers differ, over the keys of ``expected``."""
    if isinstance(expected, dict) and isinstance(got, dict):
        return [
            line
            for key, value in expected.items()
            for line in differences(value, got.get(key, "<absent>"), tol, f"{where}.{key}")
        ]
    numbers = isinstance(expected, int | float) and isinstance(got, int | float)
    if numbers and abs(expected - got) <= tol:  # type: ignore[operator]
        return []
    return [] if not numbers and expected == got else [f"{where}: {expected!r} != {got!r}"]
