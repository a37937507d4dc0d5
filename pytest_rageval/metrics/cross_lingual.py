"""Agreement of the documents that a question and its translation retrieve.

Defined in docs/site/metrics.toml.

A pair is a case whose ``translation_of`` names another case of its file. Only the documents of
each case are needed, so that a run of any size can be compared while it is read.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import fsum
from typing import Generic, Literal, TypeVar

from pytest_rageval.metrics.matching import DocumentKey, PathCase, document_keys
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
