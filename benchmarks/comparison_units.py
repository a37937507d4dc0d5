"""Power and false alarms of tests of a paired difference whose cases share documents.

Runs of 0/1 scores with a known true difference: a drop spread over all cases, a sixth of the
documents lost, no change, and no change with noise that the cases of a document share. Each
candidate calls a run worse at a one-sided 5 % (exact McNemar as other tools use it: two-sided). It
is from these tables that docs/statistics.md#which-unit chooses ``IGNORED_FREEDOM``.

Prints Markdown tables, or JSON with ``--json``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pytest_rageval.analysis.stats.difference_test import difference_test
from pytest_rageval.analysis.stats.distributions import student_t_tail
from pytest_rageval.analysis.stats.intervals import MetricScale
from pytest_rageval.analysis.stats.paired import mcnemar, sign_flip

SEED: Final = 20251122
RUNS: Final = 500
ALPHA: Final = 0.05
SIZES: Final = (60, 20, 150)
DOCUMENTS: Final = (1, 2, 3, 4, 6, 10, 15, 30, 60)
BASE: Final = 0.9
_CHURN: Final = 0.25
"""Share of the missed cases that a run finds by chance; as many found ones are lost."""
_DRAWS: Final = 399

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.intp]


def document_of(n: int, documents: int) -> Counts:
    """Return the document of each case, of nearly equal sizes."""
    return np.arange(n, dtype=np.intp) * documents // n


# --- runs --------------------------------------------------------------------------------------


def _found(rng: np.random.Generator, shape: tuple[int, int], drop: float) -> tuple[Bools, Bools]:
    base = rng.random(shape) < BASE
    lost = rng.random(shape) < (drop + _CHURN * (1 - BASE)) / BASE
    return base, np.where(base, ~lost, rng.random(shape) < _CHURN)


def spread(rng: np.random.Generator, runs: int, documents: Counts) -> tuple[Bools, Bools]:
    """A drop of 0.20 over all cases."""
    return _found(rng, (runs, len(documents)), 0.20)


def lost_sixth(rng: np.random.Generator, runs: int, documents: Counts) -> tuple[Bools, Bools]:
    """A sixth of the documents, rounded up, lost; a drop of 0.05 elsewhere."""
    base, new = _found(rng, (runs, len(documents)), 0.05)
    count = int(documents[-1]) + 1
    return base, new & (documents >= -(-count // 6))


def no_change(rng: np.random.Generator, runs: int, documents: Counts) -> tuple[Bools, Bools]:
    """The same system, whose cases flip each by itself."""
    return _found(rng, (runs, len(documents)), 0.0)


def shared_noise(rng: np.random.Generator, runs: int, documents: Counts) -> tuple[Bools, Bools]:
    """The same system, whose documents pass or fail nearly as a whole (intraclass 0.75)."""
    a, b = 0.85 * (1 / 0.75 - 1), 0.15 * (1 / 0.75 - 1)
    shape = runs, int(documents[-1]) + 1
    base, new = (
        rng.random((runs, len(documents))) < rng.beta(a, b, shape)[:, documents] for _ in range(2)
    )
    return base, new


SCENES: Final = {
    "drop of .20 spread": spread,
    "a sixth of the documents lost": lost_sixth,
    "no change": no_change,
    "no change, noise shared by document": shared_noise,
}


# --- candidates --------------------------------------------------------------------------------


def _ours(base: Floats, new: Floats, clusters: Counts | None, *, whole: bool = False) -> bool:
    found = difference_test(
        base.tolist(),
        new.tolist(),
        MetricScale(binary=True),
        clusters=None if clusters is None else clusters.tolist(),
        whole_clusters=whole,
    )
    return found is not None and found.p_below() < ALPHA


def _sums(base: Floats, new: Floats, documents: Counts) -> Floats:
    return np.bincount(documents, weights=new - base).astype(float)


def _t(sums: Floats) -> tuple[float, int]:
    """Return the CR1 t of the sums of equal clusters and its degrees of freedom."""
    g = len(sums)
    spread_ = float(np.std(sums, ddof=1)) if g > 1 else 0.0
    total = float(np.mean(sums))
    if spread_ == 0:
        return 0.0 if total == 0 or g < 2 else float(np.sign(total)) * np.inf, max(g - 1, 1)
    return total / (spread_ / g**0.5), g - 1


def cluster_t(base: Floats, new: Floats, documents: Counts) -> bool:
    """t test of the sums of documents, with G - 1 degrees of freedom (CR1)."""
    t, df = _t(_sums(base, new, documents))
    return t < 0 and student_t_tail(-t, df) < ALPHA


def if_correlated(base: Floats, new: Floats, documents: Counts) -> bool:
    """Cluster t where the observed intra-cluster correlation exceeds chance, else cases."""
    d, g = new - base, int(documents[-1]) + 1
    n, sums = len(d), _sums(base, new, documents)
    if g < 2 or g == n:
        return _ours(base, new, None)
    sizes = np.bincount(documents)
    between = float((sums**2 / sizes).sum() - d.sum() ** 2 / n) / (g - 1)
    within = float((d**2).sum() - (sums**2 / sizes).sum()) / (n - g)
    if between <= 2 * within:  # near the 5 % point of F for 5 to 15 documents
        return _ours(base, new, None)
    return cluster_t(base, new, documents)


def wild_bootstrap(base: Floats, new: Floats, documents: Counts) -> bool:
    """Wild cluster bootstrap of the cluster t, Rademacher weights, the null imposed."""
    sums = _sums(base, new, documents)
    g = len(sums)
    if g < 2:
        return False
    if 2**g <= _DRAWS:
        signs = np.array(list(product((-1.0, 1.0), repeat=g)))
    else:
        signs = np.random.default_rng(SEED).choice((-1.0, 1.0), size=(_DRAWS, g))
    drawn = signs * sums
    with np.errstate(divide="ignore", invalid="ignore"):
        ts = np.nan_to_num(drawn.mean(axis=1) / (drawn.std(axis=1, ddof=1) / g**0.5))
    return float(np.mean(ts <= _t(sums)[0] + 1e-9)) < ALPHA


def mcnemar_two_sided(base: Floats, new: Floats, _documents: Counts) -> bool:
    """Exact McNemar over cases, two-sided."""
    lost, gained = int((base > new).sum()), int((new > base).sum())
    return lost > gained and mcnemar(gained, lost).p_two_sided < ALPHA


def flip_cases(base: Floats, new: Floats, _documents: Counts) -> bool:
    """Sign flips of cases, which for pairs are the permutations within documents."""
    lost, gained = int((base > new).sum()), int((new > base).sum())
    return mcnemar(gained, lost).p_worse < ALPHA


def flip_documents(base: Floats, new: Floats, documents: Counts) -> bool:
    """Sign flips of whole documents."""
    return sign_flip((new - base).tolist(), clusters=documents.tolist()).p_worse < ALPHA


Candidate = Callable[[Floats, Floats, Counts], bool]
CHOSEN: Final = "`auto`"
CANDIDATES: Final[dict[str, Candidate]] = {
    CHOSEN: lambda base, new, documents: _ours(base, new, documents),
    '`"case"`': lambda base, new, _documents: _ours(base, new, None),
    '`"document"`': lambda base, new, documents: _ours(base, new, documents, whole=True),
    "exact McNemar": mcnemar_two_sided,
    "sign flips of cases": flip_cases,
    "sign flips of documents": flip_documents,
    "cluster t": cluster_t,
    "cluster t if correlated": if_correlated,
    "wild cluster bootstrap": wild_bootstrap,
}
"""In one-sided form, except for exact McNemar."""


# --- rates -------------------------------------------------------------------------------------


def rate(candidate: str, scene: str, n: int, documents: int, runs: int) -> float:
    """Return the share of simulated runs that a candidate calls worse."""
    places = [*SCENES].index(scene), n, documents
    rng, ids = np.random.default_rng([SEED, *places]), document_of(n, documents)
    base, new = (side.astype(float) for side in SCENES[scene](rng, runs, ids))
    worse = CANDIDATES[candidate]
    return sum(worse(one, other, ids) for one, other in zip(base, new, strict=True)) / runs


def simulate(runs: int, sizes: Sequence[int] = SIZES) -> list[dict[str, Any]]:
    """Simulate the candidates for the first size, and the choices of the project for all."""
    found = []
    for n in sizes:
        names = [*CANDIDATES] if n == SIZES[0] else [*CANDIDATES][:3]
        for scene, name in product(SCENES, names):
            counts = {g: rate(name, scene, n, g, runs) for g in DOCUMENTS if g <= n}
            found.append({"cases": n, "scene": scene, "candidate": name, "worse": counts})
    return found


def render_tables(rows: Sequence[dict[str, Any]]) -> str:
    """All rates as Markdown, one table for each scene and size."""
    parts = []
    for n, scene in dict.fromkeys((row["cases"], row["scene"]) for row in rows):
        found = [row for row in rows if (row["cases"], row["scene"]) == (n, scene)]
        documents = [*found[0]["worse"]]
        lines = [
            f"**{n} cases, {scene}**",
            "",
            f"| documents | {' | '.join(map(str, documents))} |",
            f"|---|{'---|' * len(documents)}",
        ]
        for row in found:
            rates = " | ".join(f"{value:.2f}" for value in row["worse"].values())
            lines.append(f"| {row['candidate']} | {rates} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description="Tests of a paired difference by unit.")
    parser.add_argument("--runs", type=int, default=RUNS, help="simulated runs a cell")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(argv)
    if options.runs < 1:
        parser.error(f"--runs: {options.runs} runs, expected at least 1")
    rows = simulate(options.runs)
    if options.json:
        print(json.dumps({"schema_version": 1, "seed": SEED, "runs": options.runs, "rows": rows}))
    else:
        print(f"seed {SEED}, {options.runs} runs a cell\n\n{render_tables(rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
