"""What a run tells beside its means: abstention, reranking, repeats, languages."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from pytest_rageval.analysis.aggregate.columns import ERROR, PASSED, CaseTable, Integers
from pytest_rageval.analysis.stats.paired import paired_difference
from pytest_rageval.analysis.stats.repeats import pass_at_k, pass_hat_k, variance_components
from pytest_rageval.metrics.cross_lingual import cross_lingual_consistency
from pytest_rageval.values.numbers import AbstentionCounts, RepeatSummary, RerankSummary

_SHOWN_FLAKY = 50


def count_abstentions(table: CaseTable, answerable: Mapping[str, Integers]) -> AbstentionCounts:
    """Count answerable x abstained, the 2 x 2 table of abstention."""
    keys = {"answerable": "over_abstention_rate", "unanswerable": "abstention_accuracy"}
    members = {"answerable": answerable.get("true"), "unanswerable": answerable.get("false")}
    counts = {}
    for name, key in keys.items():
        cases = members[name]
        known = cases is not None and key in table.metric_infos
        column = table.metric(key)[cases] if known else np.empty(0)
        scored = column[np.isfinite(column)]
        # A case abstains if more than half of its repeats do.
        abstained = int(np.count_nonzero(scored > 0.5))
        failed = int(np.count_nonzero(column == ERROR))
        counts[name] = {
            "abstained": abstained,
            "answered": len(scored) - abstained,
            "error": failed,
            "unknown": len(column) - len(scored) - failed,
        }
    return counts


def summarise_rerank(table: CaseTable, confidence: float) -> dict[str, RerankSummary]:
    """Compare every retrieval metric before and after reranking, case by case."""
    found = {}
    for key in table.reranked_keys:
        before, after = table.before_rerank(key), table.metric(key)
        both = np.isfinite(before) & np.isfinite(after)
        old, new = before[both], after[both]
        if not len(old):
            continue
        info = table.registry[key]
        difference = paired_difference(
            old.tolist(),
            new.tolist(),
            lo=info.scale[0],
            hi=info.scale[1],
            binary=info.binary and bool((table.repeats[both] == 1).all()),
            clusters=table.clusters[both].tolist(),
            confidence=confidence,
        )
        n = len(old)
        found[key] = RerankSummary(
            n=n,
            before=math.fsum(old.tolist()) / n,
            after=math.fsum(new.tolist()) / n,
            delta=difference.diff or 0.0,
            low=difference.interval.low,
            high=difference.interval.high,
            improved=int(np.count_nonzero(new > old)),
            worsened=int(np.count_nonzero(new < old)),
            stayed=int(np.count_nonzero(new == old)),
        )
    return found


def summarise_repeats(table: CaseTable) -> RepeatSummary | None:
    """Say how far repeats of a case agree; None where every case was asked once."""
    most = int(table.repeats.max(initial=0))
    if most < 2:
        return None
    repeated = {
        name: (len(outcomes), sum(outcome in PASSED for outcome in outcomes))
        for name, outcomes in zip(table.names(), table.outcome_repeats(), strict=True)
        if len(outcomes) > 1
    }
    mixed = [(*name, c) for name, (asked, c) in repeated.items() if 0 < c < asked]
    mixed.sort(key=lambda case: (abs(2 * case[2] - repeated[case[0], case[1]][0]), case))
    flips = [2 * c * (asked - c) / (asked * (asked - 1)) for asked, c in repeated.values()]

    def over_cases(estimate: Callable[[int, int, int], float | None]) -> dict[int, float]:
        found = {}
        for k in range(1, most + 1):
            known = [v for pair in repeated.values() if (v := estimate(*pair, k)) is not None]
            found[k] = math.fsum(known) / len(known)
        return found

    return RepeatSummary(
        repeats=most,
        n=len(repeated),
        flaky_rate=len(mixed) / len(repeated),
        flip_probability=math.fsum(flips) / len(flips),
        pass_at_k=over_cases(pass_at_k),
        pass_hat_k=over_cases(pass_hat_k),
        flaky_cases=tuple(mixed[:_SHOWN_FLAKY]),
        variance=_variance(table, most),
    )


def _variance(table: CaseTable, repeats: int) -> dict[str, dict[str, float | None]]:
    found: dict[str, dict[str, float | None]] = {}
    for key in table.metric_infos:
        rows = [
            values
            for values in table.metric_repeats(key)
            if len(values) == repeats and all(abs(v) < math.inf for v in values)
        ]
        if not rows:
            continue
        split = variance_components(rows)
        found[key] = {
            "n": len(rows),
            "within": split.within,
            "between": split.between,
            "icc": split.icc,
            "se_mean": split.se_mean,
            "noise_share": split.noise_share,
        }
    return found


def summarise_translations(table: CaseTable) -> dict[str, float | int | None]:
    """Compare what cases and their translations retrieve; empty where there are none."""
    pairs = list(table.translations())
    if not pairs:
        return {}
    documents = table.documents(case for pair in pairs for case in pair)
    found = cross_lingual_consistency(documents, pairs)
    return {
        "mean": found.mean,
        "n": found.n,
        "n_not_applicable": found.n_not_applicable,
        "n_error": found.n_error,
        "n_unpaired": found.n_unpaired,
    }
