"""Seeded rows of awkward inputs for the statistics: few, equal, tied, clustered, at the ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

Values = dict[str, Any]

SCALES = [(0, 1), (0, 1), (0, 5), (-5, 5), (-1, 1), (1, 5)]
SIZES = [0, 1, 1, 2, 2, 3, 4, 5, 8, 13, 20, 30, 47]
CONFIDENCES = [0.95, 0.95, 0.9, 0.99, 0.8]


def rows(name: str, count: int, salt: str = "") -> Iterator[tuple[str, Values]]:
    """Yield ``count`` rows (operation, input) for one operation or one ``fn`` of ``stat``."""
    rng = Random(f"nasty {name} {salt}")
    for _ in range(count):
        if name in OPERATIONS:
            yield name, OPERATIONS[name](rng)
        else:
            yield "stat", {"fn": name, "args": STATISTICS[name](rng)}


# --- pieces ------------------------------------------------------------------------------------


def some_values(rng: Random, n: int, lo: float, hi: float) -> list[float]:
    grid = [lo + (hi - lo) * i / 4 for i in range(5)]
    kinds: list[Callable[[], float]] = [
        lambda: lo,
        lambda: hi,
        lambda: (lo + hi) / 2,
        lambda: rng.choice([lo, hi]),
        lambda: rng.choice([float(lo), float(hi)]),
        lambda: hi if rng.random() < 0.95 else lo,
        lambda: rng.choice(grid),
        lambda: rng.choice([hi, hi, hi, lo + (hi - lo) / 3]),
        lambda: rng.uniform(lo, hi),
        lambda: round(rng.uniform(lo, hi), 1),
    ]
    kind = rng.choice(kinds)
    return [kind() for _ in range(n)]


def some_clusters(rng: Random, n: int) -> list[str | None] | None:
    kinds: list[Callable[[int], str | None]] = [
        lambda i: f"d{i}",
        lambda i: "d",
        lambda i: f"d{i // 2}",
        lambda i: "d" if i else "other",
        lambda i: "big" if rng.random() < 0.8 else f"d{i}",
        lambda i: f"d{rng.randrange(max(1, n // 3))}",
        lambda i: rng.choice([None, "d"]),
    ]
    kind = rng.choice(kinds)
    names = [kind(i) for i in range(n)]
    rng.shuffle(names)
    return rng.choice([None, names, names])


def spread(rng: Random, n: int, **more: Any) -> Values:
    """Add clusters, confidence and sides where the dice say so."""
    found = dict(more)
    clusters = some_clusters(rng, n)
    if clusters is not None:
        found["clusters"] = clusters
    if rng.random() < 0.6:
        found["conf"] = rng.choice(CONFIDENCES)
    return found


def mean_interval(rng: Random) -> Values:
    n, (lo, hi) = rng.choice(SIZES), rng.choice(SCALES)
    args = spread(rng, n, values=some_values(rng, n, lo, hi), lo=lo, hi=hi)
    args |= rng.choice([{}, {}, {"sided": 1}])
    if (lo, hi) == (0, 1) and rng.random() < 0.6:
        args["binary"] = True
        if rng.random() < 0.8:
            args["values"] = [int(v >= 0.5) for v in args["values"]]
    return args


def pair(rng: Random) -> Values:
    n, (lo, hi) = rng.choice(SIZES), rng.choice(SCALES)
    base = some_values(rng, n, lo, hi)
    cand = list(base) if rng.random() < 0.3 else some_values(rng, n, lo, hi)
    args: Values = {"base": base, "cand": cand, "lo": lo, "hi": hi}
    if (lo, hi) == (0, 1) and rng.random() < 0.7:
        args["binary"] = True
        if rng.random() < 0.85:
            args |= {k: [int(v >= 0.5) for v in args[k]] for k in ("base", "cand")}
    return args


def paired_diff(rng: Random) -> Values:
    args = pair(rng)
    return spread(rng, len(args["base"]), **args, sided=rng.choice([1, 2]))


def proportion(rng: Random) -> Values:
    n = rng.choice([1, 1, 2, 3, 10, 50, 300, 2000])
    k = rng.choice([0, n, min(1, n), n - 1, rng.randint(0, n)])
    return {"k": k, "n": n, "conf": rng.choice(CONFIDENCES)}


def clustered_se(rng: Random) -> Values:
    n, (lo, hi) = rng.choice(SIZES), rng.choice(SCALES)
    return {"values": some_values(rng, n, lo, hi), "clusters": some_clusters(rng, n)}


def quantile_ci(rng: Random) -> Values:
    n = rng.choice([1, 2, 3, 6, 20, 58, 59, 71, 72, 73, 91, 120])
    xs = some_values(rng, n, 10, 5000)
    # One value and p = 0.9 or 0.95 would meet a tail exactly, where floats decide.
    p = 0.5 if n == 1 else rng.choice([0.5, 0.9, 0.95, 0.99, 0.25])
    return {"xs": xs, "p": p, "conf": rng.choice(CONFIDENCES)}


def sign_flip(rng: Random) -> Values:
    n = rng.randint(0, 9)
    grid: list[float] = rng.choice(
        [[0, 1, -1], [0.1, 0.2, -0.3, 0, 0.7, -0.8], [0.5, -0.25], [0.0], [-1.0], [1 / 3, -1 / 3]]
    )
    args: Values = {"diffs": [rng.choice(grid) for _ in range(n)]}
    clusters = some_clusters(rng, n)
    return args if clusters is None else args | {"clusters": clusters}


def p_values(rng: Random) -> Values:
    choices: list[Callable[[], float]] = [
        lambda: rng.choice([0.0, 1.0, 0.01, 0.05, 0.5]),
        rng.random,
        lambda: rng.random() / 100,
        lambda: 0.04,
    ]
    kind = rng.choice(choices)
    return {"ps": [kind() for _ in range(rng.choice([0, 1, 2, 3, 5, 9]))]}


def variance_components(rng: Random) -> Values:
    n, repeats = rng.choice([1, 2, 3, 9]), rng.choice([1, 2, 3, 5])
    same = rng.choice([0.5, 0.1, 0.7, 0.85])
    kinds: list[Callable[[int, int], float]] = [
        lambda i, j: rng.choice([0, 1]),
        lambda i, j: same,
        lambda i, j: i / n,
        lambda i, j: j % 2,
        lambda i, j: rng.uniform(-5, 5),
    ]
    kind = rng.choice(kinds)
    return {"rows": [[kind(i, j) for j in range(repeats)] for i in range(n)]}


def repeats_at_k(rng: Random) -> Values:
    n = rng.randint(1, 9)
    return {"n": n, "c": rng.choice([0, n, rng.randint(0, n)]), "k": rng.randint(1, n + 2)}


def flakiness(rng: Random) -> Values:
    r = rng.choice([1, 2, 3, 5])
    return {"counts": [rng.randint(0, r) for _ in range(rng.choice([0, 1, 2, 7]))], "r": r}


def mde(rng: Random) -> Values:
    levels: Values = {"alpha": rng.choice([0.05, 0.1, 0.01]), "power": rng.choice([0.8, 0.9, 0.5])}
    return {"se": rng.choice([0.0, 0.001, 0.05, 2.0])} | rng.choice([{}, levels])


def n_required(rng: Random) -> Values:
    levels = {"alpha": rng.choice([0.05, 0.1, 0.01]), "power": rng.choice([0.8, 0.9, 0.6])}
    sd, delta = rng.choice([0.05, 0.35, 0.5, 1.2]), rng.choice([0.05, 0.1, 0.2, 1.0])
    return {"sd": sd, "delta": delta, **rng.choice([{}, levels])}


def kappa(rng: Random) -> Values:
    categories: list[int] = rng.choice([[0, 1], [0, 1, 2, 3, 4, 5], [1, 2, 3], [0], [False, True]])
    n = rng.choice([0, 1, 2, 3, 12, 40])
    used = rng.choice([categories, categories[:1], categories[-2:]])
    a = [rng.choice(used) for _ in range(n)]
    b = rng.choice([list(a), [rng.choice(categories) for _ in a]])
    weights = rng.choice([None, "linear", "quadratic"])
    return {"a": a, "b": b, "weights": weights, "categories": categories}


def krippendorff_alpha(rng: Random) -> Values:
    raters, units = rng.choice([1, 2, 3, 4]), rng.choice([1, 2, 3, 12])
    missing, top = rng.choice([0.0, 0.3, 0.7, 1.0]), rng.choice([0, 1, 5])
    scale = rng.choice([1, 0.5])

    def rating() -> float | None:
        return None if rng.random() < missing else rng.randint(0, top) * scale

    data = [[rating() for _ in range(units)] for _ in range(raters)]
    return {"data": data, "level": rng.choice(["nominal", "ordinal", "interval"])}


def spearman(rng: Random) -> Values:
    n, (lo, hi) = rng.choice(SIZES), rng.choice(SCALES)
    return {"a": some_values(rng, n, lo, hi), "b": some_values(rng, n, lo, hi)}


def prf(rng: Random) -> Values:
    n, share = rng.choice([0, 1, 2, 3, 20]), rng.choice([0.0, 0.2, 1.0])
    truth = [rng.random() < share for _ in range(n)]
    return {"truth": truth, "pred": [rng.random() < rng.choice([0.0, 0.5, 1.0]) for _ in truth]}


def ppi_mean(rng: Random) -> Values:
    n, more = rng.choice([2, 3, 5, 15, 40]), rng.choice([2, 3, 40, 200])
    lo, hi = rng.choice([(0, 1), (0, 1), (0, 5), (-5, 5)])
    y, f, fu = (some_values(rng, size, lo, hi) for size in (n, n, more))
    if rng.random() < 0.2:
        same = rng.choice([0.7, 0.1, 1.0])
        f, fu = [same] * n, [same] * more
    elif rng.random() < 0.5:
        f = [v if rng.random() < 0.8 else hi for v in y]
    args: Values = {"y": y, "f": f, "fu": fu}
    if (lo, hi) != (0, 1):
        args |= {"lo": lo, "hi": hi}
    return args | rng.choice([{}, {"conf": rng.choice(CONFIDENCES)}])


def canary(rng: Random) -> Values:
    n = rng.randint(1, 9)
    ref = [rng.randint(0, 5) for _ in range(n)]
    shifts: list[list[float]] = [[0], [-1], [0, 0, 1], [-1, 0, 1], [0.25, -0.25, 0], [-2, 2]]
    shift = rng.choice(shifts)
    return {"ref": ref, "new": [min(5, max(0, r + rng.choice(shift))) for r in ref]}


# --- operations --------------------------------------------------------------------------------


def aggregate(rng: Random) -> Values:
    statuses = rng.choice([["scored"], ["scored", "error", "not_applicable"], ["error"], ["n/a"]])
    names = ["not_applicable" if s == "n/a" else s for s in statuses]
    values = [
        {"status": s, "value": rng.choice([0, 1, 0.5, rng.random()]) if s == "scored" else None}
        for s in (rng.choice(names) for _ in range(rng.choice([0, 1, 2, 3, 8])))
    ]
    return {"values": values, "worst": rng.choice([0, 1])}


def percentile(rng: Random) -> Values:
    n = rng.choice([0, 1, 2, 3, 20, 101])
    return {"values": some_values(rng, n, 0, 3000), "p": rng.choice([0, 1, 50, 95, 99, 100, 12.5])}


def gate(rng: Random) -> Values:
    check = rng.choice(["min", "max", "max_drop", "max_rise"])
    limit = rng.choice([0.0, 0.05, 0.85, 0.5, 2500])
    hair = [0.0, 5e-10, -5e-10, 3e-9, -3e-9, 0.1, -0.1, 1.0, -1.0]
    edge = -limit if check == "max_drop" else limit
    ends = sorted(edge + rng.choice(hair) for _ in range(3))
    row: Values = {"check": check, "limit": limit}
    if rng.random() < 0.9:
        row["estimate"] = ends[1]
    if rng.random() < 0.8:
        row |= {"low": ends[0], "high": ends[2]}
    if rng.random() < 0.8:
        row["decide"] = rng.choice(["estimate", "prove_fail", "prove_pass"])
    return row


def verdict(rng: Random) -> Values:
    ends = [0.0, 0.05, -0.05, 0.02, -0.02, 0.2, -0.2, 1e-6, -1e-6]
    low, high = sorted(rng.choice(ends) for _ in range(2))
    row: Values = {"low": low, "high": high, "margin": rng.choice([0.0, 0.05, 0.02, 0.2])}
    return row | rng.choice([{}, {"direction": "lower"}, {"direction": "higher"}])


OPERATIONS: dict[str, Callable[[Random], Values]] = {
    "aggregate": aggregate,
    "percentile": percentile,
    "gate": gate,
    "verdict": verdict,
}

STATISTICS: dict[str, Callable[[Random], Values]] = {
    "wilson": proportion,
    "clopper_pearson": proportion,
    "beta_credible": proportion,
    "mean_interval": mean_interval,
    "clustered_se": clustered_se,
    "quantile_ci": quantile_ci,
    "paired_diff": paired_diff,
    "mcnemar": lambda rng: {"gained": rng.randint(0, 30), "lost": rng.randint(0, 30)},
    "sign_flip": sign_flip,
    "holm": p_values,
    "bh": p_values,
    "variance_components": variance_components,
    "pass_at_k": repeats_at_k,
    "pass_hat_k": repeats_at_k,
    "flakiness": flakiness,
    "mde": mde,
    "n_required": n_required,
    "kappa": kappa,
    "krippendorff_alpha": krippendorff_alpha,
    "spearman": spearman,
    "prf": prf,
    "ppi_mean": ppi_mean,
    "canary": canary,
}
