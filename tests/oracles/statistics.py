"""Rows of checked examples for statistics, aggregation and the gate.

It maps names and shapes; every number comes from the package.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, Literal

from msgspec import to_builtins

from pytest_rageval.analysis.aggregate.case_groups import ERROR, NOT_APPLICABLE
from pytest_rageval.analysis.aggregate.operational import (
    LatencyObservation,
    operational_rates,
    summarise_latency,
)
from pytest_rageval.analysis.aggregate.summaries import summarise_metric
from pytest_rageval.analysis.compare.pairs import verdict
from pytest_rageval.analysis.gate.figures import decide_limit
from pytest_rageval.analysis.stats import (
    agreement,
    calibration,
    intervals,
    paired,
)
from pytest_rageval.analysis.stats import repeats as repetition
from pytest_rageval.analysis.stats.distributions import ClusterSums, cluster_sums
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.whole_run import indexing_numbers
from pytest_rageval.values.verdict import sum_usage
from tests.build.verdicts import usage_of_call

Values = dict[str, Any]


def evaluate_statistic(op: str, input: Values) -> Values:
    """Answer one row: ``op`` as in the rows, ``input`` its input."""
    if op == "stat":
        return _STATISTICS[input["fn"]](dict(input["args"]))
    return _OPERATIONS[op](input)


# --- operations --------------------------------------------------------------------------------


def _aggregate(row: Values) -> Values:
    absent = {"error": ERROR, "not_applicable": NOT_APPLICABLE}
    values = [absent.get(v["status"], v["value"]) for v in row["values"]]
    info = BUILT_IN.cases["recall_at_k"]
    info = replace(info, direction="lower" if row.get("worst") else "higher")
    return asdict(summarise_metric(values, info))


def _latency(row: Values) -> Values:
    statuses: dict[str, Literal["ok", "timeout"]] = {"ok": "ok", "timeout": "timeout"}
    observations = [
        LatencyObservation(
            status=statuses.get(case["status"], "error"),
            ms=case.get("total_ms"),
            cached=case.get("cached", False),
        )
        for case in row["cases"]
    ]
    return asdict(summarise_latency(observations, timeout_ms=row.get("timeout_ms")))


def _cost(row: Values) -> Values:
    usages = [usage_of_call(**call, price=row.get("price")) for call in row["calls"]]
    found = sum_usage(usages)
    n_cached = sum(one.cached for one in usages)
    counts = {"n_calls": len(usages) - n_cached, "n_cached": n_cached}
    return {**asdict(found), "tokens": found.tokens, **counts}


def _gate(row: Values) -> Values:
    decision = decide_limit(
        row["check"],
        row["limit"],
        decide=row.get("decide", "estimate"),
        estimate=row.get("estimate"),
        low=row.get("low"),
        high=row.get("high"),
    )
    return {"outcome": decision.outcome, "proof": decision.proof}


def _verdict(row: Values) -> Values:
    found = verdict(
        row["low"],
        row["high"],
        margin=row.get("margin", 0.0),
        direction=row.get("direction", "higher"),
    )
    return {"verdict": found}


_OPERATIONS: dict[str, Callable[[Values], Values]] = {
    "aggregate": _aggregate,
    "percentile": lambda row: {"value": intervals.percentile(row["values"], row["p"])},
    "latency": _latency,
    "operational": lambda row: {
        "n": sum(status != "not_attempted" for status in row["statuses"]),
        **operational_rates([s] for s in row["statuses"]),
    },
    "cost": _cost,
    "indexing": lambda row: to_builtins(indexing_numbers(row)),
    "gate": _gate,
    "verdict": _verdict,
}


# --- statistics --------------------------------------------------------------------------------


def _options(args: Values, **names: str) -> Values:
    """Rename the rows' argument names to the package's."""
    return {names.get(name, name): value for name, value in args.items()}


def _bounds(interval: intervals.Interval) -> Values:
    return {"low": interval.low, "high": interval.high, "method": interval.method}


def _proportion(function: Callable[..., intervals.Interval]) -> Callable[[Values], Values]:
    return lambda args: _bounds(function(**_options(args, conf="confidence")))


def _sample(args: Values) -> ClusterSums:
    """Take values and clusters out of the arguments of a row."""
    return cluster_sums(args.pop("values"), args.pop("clusters", None))


def _scaled(args: Values) -> Values:
    """Put the ends of a scale and its kind into one argument."""
    ends = {name: args.pop(name) for name in ("lo", "hi", "binary") if name in args}
    return {"scale": intervals.MetricScale(**ends), **_options(args, conf="confidence")}


def _clustered_se(args: Values) -> Values:
    mean, sample = intervals.fmean(args["values"]), _sample(args)
    g = sample.n_clusters
    return {
        "mean": mean,
        "se": intervals.clustered_se(sample),
        "n_clusters": g,
        "df": max(0, g - 1),
    }


def _mean_interval(args: Values) -> Values:
    mean = intervals.fmean(args["values"])
    found = intervals.mean_interval(_sample(args), **_scaled(args))
    return {"mean": mean, **_bounds(found)}


def _paired_diff(args: Values) -> Values:
    found = paired.paired_difference(**_scaled(args))
    return {"diff": found.diff, "n": found.n, **_bounds(found.interval)}


def _mde(args: Values) -> Values:
    confidence = 1 - args.get("alpha", 0.05)
    options = {"confidence": confidence, "power": args.get("power", paired.POWER)}
    return {"mde": paired.minimum_detectable_effect(args["se"], **options)}


def _n_required(args: Values) -> Values:
    confidence = 1 - args.get("alpha", 0.05)
    options = {"confidence": confidence, "power": args.get("power", paired.POWER)}
    return {"n": paired.required_n(args["sd"], args["delta"], **options)}


def _auroc(args: Values) -> Values:
    found = asdict(agreement.auroc(**args))
    return {**found, "value": found["auroc"]}


def _ppi_mean(args: Values) -> Values:
    names = {"y": "human", "f": "judge", "fu": "judge_only", "conf": "confidence"}
    found = asdict(calibration.ppi_mean(**_options(args, **names)))
    return {**found, "lambda": found["weight"]}


def _of_curve(args: Values, name: str) -> Values:
    """Return a figure of one k; above the number of repeats there is none."""
    curve = getattr(repetition.pass_curves(args["n"], args["c"]), name)
    return {"value": curve[args["k"] - 1] if args["k"] <= args["n"] else None}


def _flakiness(args: Values) -> Values:
    counts, repeats = args["counts"], args["r"]
    if repeats < 2:
        return {"flaky_rate": None, "flip_probability": None}
    flips = [repetition.flip_probability(repeats, passes) for passes in counts]
    return {
        "flaky_rate": intervals.fmean([0 < passes < repeats for passes in counts]),
        "flip_probability": intervals.fmean(flips),
    }


_STATISTICS: dict[str, Callable[[Values], Values]] = {
    "wilson": _proportion(intervals.wilson),
    "clopper_pearson": _proportion(intervals.clopper_pearson),
    "beta_credible": _proportion(intervals.beta_credible),
    "mean_interval": _mean_interval,
    "clustered_se": _clustered_se,
    "quantile_ci": lambda args: _bounds(
        intervals.quantile_interval(**_options(args, xs="values", conf="confidence"))
    ),
    "bootstrap_mean_ci": lambda args: _bounds(
        intervals.bootstrap_means([_sample(args)], **_options(args, conf="confidence"))[0][0]
    ),
    "paired_diff": _paired_diff,
    "mcnemar": lambda args: asdict(paired.mcnemar(**args)),
    "sign_flip": lambda args: asdict(paired.sign_flip(**args)),
    "holm": lambda args: {"adjusted": paired.holm(args["ps"])},
    "bh": lambda args: {"adjusted": paired.benjamini_hochberg(args["ps"])},
    "variance_components": lambda args: asdict(repetition.variance_components(**args)),
    "pass_at_k": lambda args: _of_curve(args, "at_k"),
    "pass_hat_k": lambda args: _of_curve(args, "hat_k"),
    "flakiness": _flakiness,
    "mde": _mde,
    "n_required": _n_required,
    "kappa": lambda args: {"value": agreement.kappa(**args)},
    "krippendorff_alpha": lambda args: {"value": agreement.krippendorff_alpha(**args)},
    "spearman": lambda args: {"value": agreement.spearman(**args)},
    "auroc": _auroc,
    "prf": lambda args: asdict(agreement.precision_recall_f1(**_options(args, pred="predicted"))),
    "ppi_mean": _ppi_mean,
    "canary": lambda args: asdict(calibration.canary_drift(**_options(args, ref="reference"))),
}
