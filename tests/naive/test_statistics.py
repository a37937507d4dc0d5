"""The statistics of the package against their definitions, on awkward inputs."""

from __future__ import annotations

import json
import math
from random import Random
from typing import Any

import pytest

from pytest_rageval.analysis.gate.differences import Difference, decide_differences
from pytest_rageval.analysis.stats.difference_test import difference_test
from pytest_rageval.analysis.stats.intervals import Scale
from pytest_rageval.values.gate import Check, Decide
from tests.naive import intervals as naive_intervals
from tests.naive import nasty_statistics
from tests.naive import raters as naive_raters
from tests.naive import statistics as naive
from tests.oracles.adapter import checked_examples, evaluate

TOLERANCE = 1e-9
NAMES = [*nasty_statistics.OPERATIONS, *nasty_statistics.STATISTICS]


def stat(fn: str, **args: Any) -> dict[str, Any]:
    return evaluate("stat", {"fn": fn, "args": args})


def differences(want: Any, got: Any, tol: float = TOLERANCE, where: str = "") -> list[str]:
    """List where ``got`` departs from ``want``; keys that only ``got`` has are fine."""
    if isinstance(want, dict):
        return [
            found
            for key, value in want.items()
            for found in differences(value, got.get(key, "nothing"), tol, f"{where}.{key}")
        ]
    if isinstance(want, list):
        pairs = list(zip(want, got, strict=False))
        found = [d for w, g in pairs for d in differences(w, g, tol, f"{where}[]")]
        return found if len(want) == len(got) else [f"{where}: {len(got)} of {len(want)}", *found]
    same = want == got if isinstance(want, bool | str | None) else _near(want, got, tol)
    return [] if same else [f"{where}: by definition {want!r}, by the package {got!r}"]


def _near(want: float, got: Any, tol: float) -> bool:
    return isinstance(got, int | float) and math.isclose(want, got, rel_tol=0, abs_tol=tol)


def not_finite(values: dict[str, Any]) -> list[str]:
    return [k for k, v in values.items() if isinstance(v, float) and not math.isfinite(v)]


def test_the_definitions_reproduce_the_checked_examples() -> None:
    known = [
        row
        for row in checked_examples()
        if row["op"] in NAMES or row["input"].get("fn") in nasty_statistics.STATISTICS
    ]
    assert len(known) >= 128
    wrong = {
        row["id"]: found
        for row in known
        if (
            found := differences(row["expected"], naive.answer(row["op"], row["input"]), row["tol"])
        )
    }
    assert wrong == {}


@pytest.mark.parametrize("name", NAMES)
def test_the_package_agrees_with_the_definition(name: str) -> None:
    wrong = []
    for op, row in nasty_statistics.rows(name, 150):
        got = evaluate(op, json.loads(json.dumps(row)))
        found = differences(naive.answer(op, row), got) + not_finite(got)
        if found:
            wrong.append((row, found))
    assert wrong[:3] == []


# --- single cases that the dice rarely throw ---------------------------------------------------


def test_means_of_repeats_get_no_interval_for_single_outcomes() -> None:
    assert stat("mean_interval", values=[1, 0.5], binary=True)["method"] == "plus_two"
    assert stat("paired_diff", base=[1, 1], cand=[1, 0.5], binary=True)["method"] == "plus_two"


@pytest.mark.parametrize("same", [0.1, 0.2, 0.5, 0.7, 0.9])
def test_equal_scores_have_no_intraclass_correlation(same: float) -> None:
    found = stat("variance_components", rows=[[same] * 3] * 3)
    assert (found["icc"], found["noise_share"]) == (None, None)


@pytest.mark.parametrize("same", [0.0, 0.1, 0.7, 1.0])
def test_a_constant_judge_has_no_weight(same: float) -> None:
    assert stat("ppi_mean", y=[0, 1, 1], f=[same] * 3, fu=[same] * 3)["lambda"] == 0


def test_a_binomial_tail_that_equals_the_level_reaches_it() -> None:
    # P(B <= 2) = 0.875 for n = 3 and p = 0.5, which is 1 - 0.25 / 2.
    assert stat("quantile_ci", xs=[1, 2, 3], p=0.5, conf=0.75)["high"] == 3


# --- what rows of checked examples do not hold -------------------------------------------------


def test_auroc_is_the_share_of_pairs_in_order() -> None:
    rng = Random("auroc")
    for _ in range(200):
        n = rng.choice([0, 1, 2, 3, 12, 30])
        scores = [rng.choice([0, 1, 0.5, rng.random()]) for _ in range(n)]
        flags = [rng.random() < rng.choice([0, 0.5, 1]) for _ in range(n)]
        places = [rng.choice("abc") for _ in range(n)]

        def pairs(
            place: str, scores: Any = scores, flags: Any = flags, places: Any = places
        ) -> Any:
            rows = [(s, f) for s, f, p in zip(scores, flags, places, strict=True) if p in place]
            return naive_raters.auroc([s for s, f in rows if f], [s for s, f in rows if not f])

        known = [v for place in "abc" if (v := pairs(place)) is not None]
        want = {
            "auroc": sum(known) / len(known) if known else None,
            "auroc_pooled": pairs("abc"),
            "n_sources": len(known),
        }
        got = stat("auroc", scores=scores, labels=flags, sources=places)
        assert differences(want, got) == []


@pytest.mark.parametrize(
    ("values", "clusters"),
    [
        ([0, 1, 0.25, 0.5, 1], None),
        ([100, 250, 260, 4000], None),
        ([3, 3, 3], None),
        ([1, 0, 1, 1, 0, 0.5, 1, 1], list("aabbbcdd")),
        ([1, 2, 9, 9, 9, 9], [*"aabbb", None]),
        ([-1, 0, 0, 2], list("abcc")),
    ],
)
@pytest.mark.parametrize("conf", [0.95, 0.8])
def test_the_bootstrap_lands_where_all_resamples_say(
    values: list[float], clusters: list[str | None] | None, conf: float
) -> None:
    allowed = naive_intervals.bootstrap_ends(values, clusters, conf)
    args = {"values": values, "clusters": clusters, "conf": conf}
    got = stat("bootstrap_mean_ci", **args)
    for end, (least, most) in allowed.items():
        assert least <= got[end] <= most
    assert stat("bootstrap_mean_ci", **args) == got
    assert differences(got, stat("mean_interval", **args, lo=None, hi=None)) == []
    pairs = {"base": [1.5] * len(values), "cand": [v + 1.5 for v in values]}
    shifted = stat("paired_diff", **pairs, clusters=clusters, conf=conf, lo=None, hi=None)
    assert differences({k: got[k] for k in ("low", "high")}, shifted) == []


def test_many_sign_flips_are_drawn_near_the_true_p() -> None:
    rng = Random("many sign flips")
    for _ in range(8):
        n = rng.choice([17, 20, 40, 60])
        diffs = [rng.choice([0, 0.25, -0.25, 0.5, -0.5, -1]) for _ in range(n)]
        clusters = rng.choice([None, [f"d{i // 2}" for i in range(n)]])
        two, worse = naive_intervals.flip_p_by_convolution(
            naive_intervals.flip_units(diffs, clusters)
        )
        got = stat("sign_flip", diffs=diffs, clusters=clusters)
        assert got == stat("sign_flip", diffs=diffs, clusters=clusters)
        for want, p in ((two, got["p_two_sided"]), (worse, got["p_worse"])):
            assert abs(p - want) <= 5 * math.sqrt(want * (1 - want) / 9_999) + 2e-4


def some_difference(rng: Random, i: int) -> tuple[Check, Difference]:
    decide: Decide = rng.choice(["estimate", "prove_pass", "prove_fail", "prove_fail"])
    check = Check(
        metric=f"metric_{i}",
        kind="max_drop",
        limit=rng.choice([0.0, 0.05]),
        decide=decide,
        min_n=rng.choice([0, 20, 21]),
        on_small_n=rng.choice(["warn", "skip", "fail"]),
    )
    n, lost = rng.choice([20, 50]), rng.randint(0, 9)
    test = difference_test([1.0] * n, [0.0] * lost + [1.0] * (n - lost), Scale(binary=True))
    assert test is not None
    estimate = rng.choice([None, test.diff, test.diff, test.diff])
    return check, Difference(estimate=estimate, n=n, test=test)


def expected_status(check: Check, found: Difference, alarm: bool | None, confidence: float) -> str:
    assert found.test is not None
    low, high = found.test.bounds(1 - confidence)
    decided = naive.gate(check.kind, check.limit, check.decide, found.estimate, low, high)
    if decided["outcome"] == "no_data":
        return "fail"
    if found.n < check.min_n and check.on_small_n != "warn":
        return check.on_small_n
    if alarm is not None:
        return "fail" if alarm else "pass"
    failed = decided["outcome"] == "fail"
    if found.n < check.min_n and check.decide == "estimate" and failed and low <= 0 <= high:
        return "warn"
    return str(decided["outcome"])


def test_proofs_of_a_drop_are_one_family() -> None:
    rng = Random("families")
    for _ in range(300):
        family = dict(some_difference(rng, i) for i in range(rng.randint(0, 6)))
        proofs = [check for check in family if check.decide == "prove_fail"]
        confidence = rng.choice([0.95, 0.9])
        tests = {check: found.test for check, found in family.items() if found.test}
        ps = [tests[check].p_below(-check.limit) for check in proofs]
        alarms = dict(zip(proofs, naive.holm_family(ps, 1 - confidence), strict=True))
        want = {
            c: expected_status(c, found, alarms.get(c), confidence) for c, found in family.items()
        }
        got = decide_differences(family, confidence=confidence)
        assert {check: result.status for check, result in got.items()} == want
