"""Rates and consistency of the counts in a target's ``indexing_coverage``. Pure.

Defined in docs/site/metrics.toml.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from pytest_rageval.support.text import clean, counted
from pytest_rageval.values.lenient import part, texts
from pytest_rageval.values.numbers import IndexingNumbers, IndexRates

MAX_TARGET_WARNINGS: Final = 20
"""Maximum number of a target's warnings that are repeated; the rest is counted."""


def _ratio(part: float | None, whole: float | None) -> float | None:
    """Return ``part / whole``; None if either is missing or the whole is 0 (0/0 is no data).

    Values that cannot be counts give None too; a part above its whole is kept as reported.
    """
    if part is None or whole is None or whole < 1 or part < 0:
        return None
    return part / whole


def _number(coverage: Mapping[str, Any], key: str) -> float | None:
    value = coverage.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Larger counts are not credible, and integers of a reply can be too long for a float.
    return value if -1e18 < value < 1e18 else None


def _rates(coverage: Mapping[str, Any]) -> IndexRates:
    attempted = _number(coverage, "chunks_attempted")
    reasons = coverage.get("chunks_skipped_reasons")
    by_context: float | None = None
    if isinstance(reasons, Mapping):
        # A target lists the reasons that occurred; one that is not listed did not.
        by_context = _number(reasons, "context_limit_exceeded") or 0
    return IndexRates(
        no_chunks_generated_rate=_ratio(
            _number(coverage, "docs_with_0_chunks"), _number(coverage, "docs_processed")
        ),
        chunks_skipped_rate=_ratio(_number(coverage, "chunks_skipped"), attempted),
        chunks_skipped_due_to_context_rate=_ratio(by_context, attempted),
    )


def _inconsistencies(coverage: Mapping[str, Any], where: str = "") -> list[str]:
    """Return a sentence for each sum that does not add up; missing counts are not checked."""
    found = []
    attempted, embedded, skipped = (
        _number(coverage, f"chunks_{name}") for name in ("attempted", "embedded", "skipped")
    )
    if attempted is not None and embedded is not None and skipped is not None:
        if attempted != embedded + skipped:
            found.append(
                f"{where}chunks_attempted {attempted:.15g} is not chunks_embedded {embedded:.15g} "
                f"+ chunks_skipped {skipped:.15g}"
            )
    reasons = coverage.get("chunks_skipped_reasons")
    if isinstance(reasons, Mapping) and skipped is not None:
        total = sum(_number(reasons, str(reason)) or 0 for reason in reasons)
        if total != skipped:
            found.append(
                f"{where}chunks_skipped_reasons sum to {total:.15g}, "
                f"chunks_skipped is {skipped:.15g}"
            )
    return found


_TOTALS = (
    "docs_processed",
    "docs_with_0_chunks",
    "chunks_attempted",
    "chunks_embedded",
    "chunks_skipped",
)


def _type_inconsistencies(
    coverage: Mapping[str, Any], types: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    found = [line for name in sorted(types) for line in _inconsistencies(types[name], f"{name}: ")]
    for key in _TOTALS:
        parts = [_number(part, key) for part in types.values()]
        total = _number(coverage, key)
        known = [part for part in parts if part is not None]
        if total is None or not parts or len(known) < len(parts):
            continue
        if sum(known) != total:
            found.append(f"{key} by document type sum to {sum(known):.15g}, not {total:.15g}")
    return found


def target_warnings(coverage: Mapping[str, Any]) -> list[str]:
    """Return the target's own warnings about its index, which may quote documents.

    Each once and made safe to show: at most 20, of at most 200 characters.
    """
    lines = (clean(text, 200) for text in texts(coverage, "warnings"))
    warnings = list(dict.fromkeys(line for line in lines if line))
    left = len(warnings) - MAX_TARGET_WARNINGS
    if left <= 0:
        return warnings
    return [*warnings[:MAX_TARGET_WARNINGS], f"and {counted(left, 'more warning')}"]


def indexing_numbers(coverage: Mapping[str, Any]) -> IndexingNumbers:
    """Return rates and consistency of a target's ``indexing_coverage``."""
    by_type = part(coverage, "by_doc_type")
    types = {str(k): v for k, v in by_type.items() if isinstance(v, Mapping)}
    wrong_sums = _inconsistencies(coverage) + _type_inconsistencies(coverage, types)
    stats, rates = part(coverage, "chunk_token_stats"), _rates(coverage)
    return IndexingNumbers(
        **{one.name: getattr(rates, one.name) for one in fields(IndexRates)},
        consistent=not wrong_sums,
        warnings=tuple(wrong_sums),
        n_target_warnings=len(target_warnings(coverage)),
        coverage_by_doc_type={name: _rates(types[name]) for name in sorted(types)},
        chunk_tokens={key: _number(stats, key) for key in ("min", "max", "mean", "p95")},
        reported={
            key: coverage[key]
            for key in (*_TOTALS, "chunks_skipped_reasons", "chunker_version", "index_version")
            if key in coverage
        },
    )
