"""Agreement of annotators on chunks and on answerability. Pure.

Defined in docs/label.md#agreement: Cohen's kappa of two annotators, Krippendorff's alpha of more.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final, Literal

from pytest_rageval.analysis.stats.agreement import bootstrap_agreement, kappa, krippendorff_alpha
from pytest_rageval.authoring.labelling.store import LabelEntry, latest

Statistic = Literal["cohen_kappa", "krippendorff_alpha"]
_Units = Mapping[Hashable, Mapping[str, bool]]
"""Rated items, each with the rating of each annotator."""
_CONFIDENCE: Final = 0.95
"""Level of the intervals, which resample whole cases."""


def agreement_document(entries: Iterable[LabelEntry]) -> dict[str, Any]:
    """Return the agreement of all annotators.

    Args:
        entries: in the order of their files; later ones of a case and annotator count.

    Returns:
        ``annotators`` with the cases of each; for ``chunks`` and ``answerable`` the ``statistic``,
        its ``value`` (None: no disagreement was possible), ``low``, ``high`` (None: every
        resample gives the same value), ``n`` items rated by at least two, their ``n_cases`` and
        ``observed`` agreement, 0 to 1.
    """
    by_case = latest(entries)
    names = sorted({name for found in by_case.values() for name in found})
    chunks: dict[Hashable, dict[str, bool]] = {}
    answerable: dict[Hashable, dict[str, bool]] = {}
    case_of: dict[Hashable, str] = {}
    for case_id, found in by_case.items():
        for name, entry in found.items():
            answerable.setdefault(case_id, {})[name] = entry.draft.answerable
            case_of[case_id] = case_id
            for chunk in entry.chunks:
                key = (case_id, *chunk.key)
                chunks.setdefault(key, {})[name] = chunk.marked
                case_of[key] = case_id
    return {
        "annotators": {name: sum(name in found for found in by_case.values()) for name in names},
        "confidence": _CONFIDENCE,
        "chunks": _agreement(chunks, names, case_of),
        "answerable": _agreement(answerable, names, case_of),
    }


def _agreement(
    units: _Units, names: Sequence[str], case_of: Mapping[Hashable, str]
) -> dict[str, Any]:
    shared = {key: said for key, said in units.items() if len(said) > 1}
    columns = [
        [float(said[name]) if name in said else None for name in names] for said in shared.values()
    ]
    cases = [case_of[key] for key in shared]
    two = len(names) == 2

    def statistic(rows: Sequence[float], _: Sequence[float]) -> float | None:
        chosen = [columns[int(row)] for row in rows]
        if two:
            return _kappa(chosen)
        by_name = [[column[i] for column in chosen] for i in range(len(names))]
        return krippendorff_alpha(by_name, level="nominal")

    every = range(len(columns))
    interval = bootstrap_agreement(every, every, statistic, clusters=cases, confidence=_CONFIDENCE)
    # If all resamples give the same value, they do not measure its uncertainty.
    spread = interval.low != interval.high
    pairs = [pair for said in shared.values() for pair in combinations(said.values(), 2)]
    kind: Statistic = "cohen_kappa" if two else "krippendorff_alpha"
    return {
        "statistic": kind,
        "value": statistic(every, every),
        "low": interval.low if spread else None,
        "high": interval.high if spread else None,
        "n": len(shared),
        "n_cases": len(set(cases)),
        "observed": sum(a == b for a, b in pairs) / len(pairs) if pairs else None,
    }


def _kappa(columns: Sequence[Sequence[float | None]]) -> float | None:
    both = [(a, b) for a, b in columns if a is not None and b is not None]
    return kappa([a for a, _ in both], [b for _, b in both], categories=(0.0, 1.0))
