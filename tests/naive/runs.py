"""docs/site/metrics.toml: means, judged values and the numbers of a run."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np

from tests.naive.matching import Values

TOLERANCE = 1e-9


def aggregate(row: Values) -> Values:
    """Mean over scored cases, with its counts."""
    values = [one["value"] for one in row["values"] if one["status"] == "scored"]
    n_error = sum(one["status"] == "error" for one in row["values"])
    total = math.fsum(values)
    worst = (total + n_error * row["worst"]) / (len(values) + n_error) if n_error else None
    return {
        "n": len(values),
        "n_error": n_error,
        "n_not_applicable": sum(one["status"] == "not_applicable" for one in row["values"]),
        "mean": total / len(values) if values else None,
        "median": statistics.median(values) if values else None,
        "mean_errors_as_worst": worst,
    }


def valid(score: Any, scale: list[float]) -> float | None:
    """A judge's score, or None where it is not one."""
    if isinstance(score, bool) or not isinstance(score, int | float):
        return None
    inside = scale[0] <= score <= scale[1]  # NaN is inside nothing
    return float(score) if inside else None


def judge_score(row: Values) -> Values:
    """Validate one score."""
    return {"value": valid(row["score"], row["scale"])}


def composite(row: Values) -> Values:
    """Weighted mean; null if any dimension with weight is."""
    used = {name: weight for name, weight in row["weights"].items() if weight > 0}
    values = [row["values"].get(name) for name in used]
    if not used or None in values:
        return {"value": None}
    weighted = sum(weight * row["values"][name] for name, weight in used.items())
    return {"value": weighted / sum(used.values())}


def claim_support(row: Values) -> Values:
    """Supported share of the claims."""
    claims = row["supported"] + row["unsupported"]
    return {"value": row["supported"] / claims if claims else None}


def disagreement(row: Values) -> Values:
    """Share of spot-checked pairs that differ."""
    low, high = row["scale"]
    line = low + 0.8 * (high - low) - TOLERANCE
    n = differing = 0
    for pair in row["pairs"]:
        one, other = (valid(score, row["scale"]) for score in pair)
        if one is None or other is None:
            continue
        n += 1
        apart = abs(one - other) > 0.2 * (high - low) + TOLERANCE
        differing += apart or (one >= line) != (other >= line)
    return {"spot_check_n": n, "disagreement_rate": differing / n if n else None}


def latency(row: Values) -> Values:
    """Percentiles of the target's time."""
    cached = [one for one in row["cases"] if one.get("cached")]
    fresh = [one for one in row["cases"] if not one.get("cached")]
    timed = [float(one["total_ms"]) for one in fresh if one["status"] == "ok"]
    n_censored = sum(one["status"] == "timeout" for one in fresh)
    values = timed + [float(row["timeout_ms"])] * n_censored
    found: Values = {
        "n": len(values),
        "n_cached": len(cached),
        "n_censored": n_censored,
        "n_excluded": sum(one["status"] not in ("ok", "timeout") for one in fresh),
    }
    # A timeout is known only to be at least the limit, so it sorts after an equal time.
    first_censored = sum(value <= row["timeout_ms"] for value in timed)
    for percent in (50, 95):
        found[f"p{percent}_ms"] = float(np.percentile(values, percent)) if values else None
        reached = -(-(len(values) - 1) * percent // 100)  # rounded up
        found[f"p{percent}_censored"] = bool(n_censored) and reached >= first_censored
    return found


def operational(row: Values) -> Values:
    """Rates of failure."""
    statuses = row["statuses"]
    n = len(statuses)

    def share(*kinds: str) -> float | None:
        return sum(status in kinds for status in statuses) / n if n else None

    return {
        "n": n,
        "error_rate": share("error", "timeout", "empty"),
        "timeout_rate": share("timeout"),
        "empty_response_rate": share("empty"),
    }


def cost(row: Values) -> Values:
    """Return the cost of the judge's calls."""
    paid = [call for call in row["calls"] if not call.get("cached")]

    def tokens(calls: list[Values], key: str) -> int:
        return sum(call[key] for call in calls)

    def price(calls: list[Values]) -> float | None:
        if not calls:  # a sum over nothing needs no price
            return 0.0
        if row["price"] is None:
            return None
        spent = tokens(calls, "prompt_tokens") * row["price"]["input_per_mtok"]
        spent += tokens(calls, "completion_tokens") * row["price"]["output_per_mtok"]
        return float(spent) / 10**6

    return {
        "n_calls": len(paid),
        "n_cached": len(row["calls"]) - len(paid),
        "tokens": tokens(paid, "prompt_tokens") + tokens(paid, "completion_tokens"),
        "cost_usd": price(paid),
        "cost_usd_uncached": price(row["calls"]),
    }


SUMMED = (
    "docs_processed",
    "docs_with_0_chunks",
    "chunks_attempted",
    "chunks_embedded",
    "chunks_skipped",
)


def indexing(row: Values) -> Values:
    """Rates of the indexing coverage, and whether its counts fit together."""

    def rate(part: Any, whole: Any) -> float | None:
        return part / whole if whole and part is not None else None

    reasons = row.get("chunks_skipped_reasons")
    context = None if reasons is None else reasons.get("context_limit_exceeded", 0)
    fits = row["chunks_attempted"] == row["chunks_embedded"] + row["chunks_skipped"]
    if reasons is not None:
        fits = fits and sum(reasons.values()) == row["chunks_skipped"]
    types = row.get("by_doc_type")
    if types:
        for key in SUMMED:
            fits = fits and sum(one[key] for one in types.values()) == row[key]
    return {
        "no_chunks_generated_rate": rate(row["docs_with_0_chunks"], row["docs_processed"]),
        "chunks_skipped_rate": rate(row["chunks_skipped"], row["chunks_attempted"]),
        "chunks_skipped_due_to_context_rate": rate(context, row["chunks_attempted"]),
        "consistent": fits,
    }


def cosine(one: list[float], other: list[float]) -> float | None:
    """Cosine; a zero vector has none."""
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else None


def embedding_query(row: Values) -> Values:
    """Similarity of a question to its chunks."""
    found = [cosine(row["query"], chunk) for chunk in row["chunks"]]
    pairs = [
        (value, relevant)
        for value, relevant in zip(found, row["relevant"], strict=True)
        if value is not None
    ]

    def mean(values: list[float]) -> float | None:
        return sum(values) / len(values) if values else None

    relevant = mean([value for value, is_relevant in pairs if is_relevant])
    others = mean([value for value, is_relevant in pairs if not is_relevant])
    margin = None if relevant is None or others is None else relevant - others
    return {
        "query_chunk_similarity": mean([value for value, _ in pairs]),
        "query_relevant_similarity": relevant,
        "similarity_margin": margin,
    }
