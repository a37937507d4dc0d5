"""Metrics of a whole run: agreement across languages, and coverage of the index. Pure.

Defined in docs/site/metrics.toml. A pair is a case whose ``translation_of`` names another case of
its file. Only the documents of each case are needed, so that a run of any size can be compared
while it is read.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from math import fsum
from typing import Any, Final, Generic, Literal, TypeVar

from pytest_rageval.metrics.matching import DocumentKey, PathCase, document_keys
from pytest_rageval.support.text import clean, counted
from pytest_rageval.values.lenient import part, texts
from pytest_rageval.values.numbers import IndexingNumbers, IndexRates
from pytest_rageval.values.record import CaseRecord

PairStatus = Literal["scored", "not_applicable", "error"]


class NoDocuments(Enum):
    """Reason for a missing list of documents, which differs from an empty one."""

    FAILED = "failed"
    """The target failed."""
    NOT_REPORTED = "not_reported"
    """The target answered and reports no chunks."""


Documents = frozenset[DocumentKey] | NoDocuments
"""The distinct documents in the top k of one answer; order and copies do not count."""
_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOverlap(Generic[_Key]):
    """A case and the case that it translates."""

    case: _Key
    original: _Key
    status: PairStatus
    value: float | None
    """Jaccard index, 0 to 1; None unless ``status`` is ``scored``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossLingualConsistency(Generic[_Key]):
    """Overlap of retrieved documents over all pairs of a run; higher is better."""

    mean: float | None
    """Mean of the scored pairs with equal weights; None without scored pairs."""
    n: int
    """Scored pairs."""
    n_not_applicable: int
    n_error: int
    n_unpaired: int
    """Cases whose ``translation_of`` names no other case of the run."""
    pairs: tuple[PairOverlap[_Key], ...]
    """Every pair once, in the order given."""


def retrieved_documents(record: CaseRecord, path_case: PathCase = "sensitive") -> Documents:
    """Return the distinct documents in the first ``k`` chunks of a record.

    An empty answer that came with chunks counts by its chunks, as in all retrieval metrics.
    """
    chunks = record.reply.retrieved_chunks
    if chunks is None:
        return NoDocuments.FAILED if record.status == "error" else NoDocuments.NOT_REPORTED
    return frozenset(document_keys(chunks[: record.k], path_case))


def jaccard_index(one: Documents, other: Documents) -> float | None:
    """Return the shared part of two sets of documents (Jaccard 1912), 0 to 1.

    Vaults count only where every document names one.

    Returns:
        None if both are empty or one of them is not known.

    >>> ab, bc = [frozenset({(None, path) for path in paths}) for paths in ("ab", "bc")]
    >>> round(jaccard_index(ab, bc), 3)
    0.333
    """
    if isinstance(one, NoDocuments) or isinstance(other, NoDocuments) or not (one or other):
        return None
    if any(vault is None for vault, _ in one | other):
        one, other = _without_vaults(one), _without_vaults(other)
    return len(one & other) / len(one | other)


def _without_vaults(documents: frozenset[DocumentKey]) -> frozenset[DocumentKey]:
    return frozenset((None, path) for _, path in documents)


def cross_lingual_consistency(
    documents: Mapping[_Key, Sequence[Documents]], pairs: Iterable[tuple[_Key, _Key]]
) -> CrossLingualConsistency[_Key]:
    """Compare the documents that each case and the case it translates retrieved.

    Args:
        documents: by case, the documents of each of its repeats at the case's own k. A pair's value
            is the mean over its repeats, in order; a repeat without partner is left out.
        pairs: a case and the value of its ``translation_of``, which may be an unknown id. Two cases
            that name each other are one pair.

    A pair is not applicable where neither side found a document or either reports no chunks, and
    otherwise an error where a side failed.

    >>> found = {case: [frozenset({(None, case[0])})] for case in ("a-en", "a-de", "b-de")}
    >>> result = cross_lingual_consistency(found, [("a-de", "a-en"), ("b-de", "a-en")])
    >>> result.mean, result.n
    (0.5, 2)
    """
    overlaps: dict[frozenset[_Key], PairOverlap[_Key]] = {}
    unpaired = 0
    for case, original in pairs:
        if case == original or case not in documents or original not in documents:
            unpaired += 1
            continue
        both = frozenset((case, original))
        if both not in overlaps:
            overlaps[both] = _overlap(case, original, documents)
    found = tuple(overlaps.values())
    values = [pair.value for pair in found if pair.value is not None]
    return CrossLingualConsistency(
        mean=fsum(values) / len(values) if values else None,
        n=len(values),
        n_not_applicable=sum(pair.status == "not_applicable" for pair in found),
        n_error=sum(pair.status == "error" for pair in found),
        n_unpaired=unpaired,
        pairs=found,
    )


def _overlap(
    case: _Key, original: _Key, documents: Mapping[_Key, Sequence[Documents]]
) -> PairOverlap[_Key]:
    repeats = list(zip(documents[case], documents[original], strict=False))
    values = [v for sides in repeats if (v := jaccard_index(*sides)) is not None]
    status: PairStatus = "scored"
    if not values:
        # The population comes first: a target that reports no chunks is outside it even on failure.
        failed, unknown = NoDocuments.FAILED, NoDocuments.NOT_REPORTED
        erred = any(failed in sides and unknown not in sides for sides in repeats)
        status = "error" if erred else "not_applicable"
    value = fsum(values) / len(values) if values else None
    return PairOverlap(case=case, original=original, status=status, value=value)


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
