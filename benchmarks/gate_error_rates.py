"""Error rates of the checks of a gate, over simulated runs that the package decides.

Two systems answer the same cases; each gold of a case is found or not by a latent score, part of
which the systems share (hard cases are hard for both) and part of which is their own (churn).
Cases may come in documents, whose cases then move together. The true drop is set exactly, so
every failing or passing check can be called right or wrong.

Prints Markdown tables, or JSON with ``--json``. Exits with 1 if a rate breaks its promise beyond
Monte-Carlo error: a false alarm above 5 %, or above 10 % where
documents share noise, or a catch rate below what the line "can detect" says.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import repeat
from statistics import NormalDist
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from pytest_rageval.analysis.gate.differences import Difference, decide_differences
from pytest_rageval.analysis.stats.difference_test import difference_test
from pytest_rageval.analysis.stats.intervals import MetricScale, wilson
from pytest_rageval.analysis.stats.paired import POWER
from pytest_rageval.values.gate import Check, CheckResult

SEED: Final = 20251122
RUNS: Final = 1000
CONFIDENCE: Final = 0.95
"""Of the gate; its stated rate of false alarms is 1 - this."""
TOGETHER: Final = 0.10
"""Stated rate of false alarms where the noise is shared by document."""
MC_CONFIDENCE: Final = 0.99
"""Of the Monte-Carlo intervals: dozens of rates are judged at once."""
BASE: Final = 0.80
"""True value of the baseline."""
DROP: Final = 0.05
SIZES: Final = (50, 150, 500)
SHARED: Final = 0.8
"""Share of the latent variance that both systems have in common: about 15 % of cases flip."""
DOCUMENT_SIZES: Final = (1, 2, 3, 4, 5, 10)
"""Cases per document, repeated; 25 cases in 6 documents."""
PILOT_RUNS: Final = 300
PILOT_ROUNDS: Final = 5
BATCH: Final = 250

Metric = Literal["hit_at_k", "recall_at_k"]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]

NAIVE: Final = Check(metric="recall_at_k", kind="max_drop", limit=DROP)
REGRESSION: Final = Check(metric="recall_at_k", kind="max_drop", limit=0.0, decide="prove_fail")
BEYOND: Final = Check(metric="recall_at_k", kind="max_drop", limit=DROP, decide="prove_fail")
WITHIN: Final = Check(metric="recall_at_k", kind="max_drop", limit=DROP, decide="prove_pass")

_NORMAL: Final = NormalDist()


# --- cases -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A kind of eval set."""

    metric: Metric
    """``hit_at_k``: one gold a case, 0 or 1; ``recall_at_k``: one to four golds, a fraction."""
    documents: bool
    """Whether cases share documents."""
    n: int

    @property
    def label(self) -> str:
        """The first three cells of a table row."""
        return f"`{self.metric}` | {self.n} | {document_of(self)[-1] + 1}"


SETTINGS: Final = tuple(
    Setting(metric=metric, documents=documents, n=n)
    for metric in ("hit_at_k", "recall_at_k")
    for documents in (False, True)
    for n in SIZES
)


def document_of(setting: Setting) -> Counts:
    """The document of each case; without shared documents, its own."""
    if not setting.documents:
        return np.arange(setting.n)
    sizes = np.resize(DOCUMENT_SIZES, setting.n)
    return np.repeat(np.arange(setting.n), sizes)[: setting.n]


def _latent(rng: np.random.Generator, runs: int, documents: Counts) -> Floats:
    """Standard normal scores of four golds a case, alike within a case and a document."""
    n, count = len(documents), int(documents[-1]) + 1
    together = count < n
    of_document, of_case, of_gold = (0.4, 0.3, 0.3) if together else (0.0, 0.5, 0.5)
    scores: Floats = math.sqrt(of_gold) * rng.standard_normal((runs, n, 4))
    scores += math.sqrt(of_case) * rng.standard_normal((runs, n, 1))
    if together:
        scores += math.sqrt(of_document) * rng.standard_normal((runs, count, 1))[:, documents]
    return scores


def draw_golds(
    rng: np.random.Generator, setting: Setting, drop: float, runs: int
) -> tuple[Bools, Bools, Counts]:
    """Which golds baseline and candidate find (runs, n, 4), and how many there are (runs, n)."""
    documents = document_of(setting)
    most = 1 if setting.metric == "hit_at_k" else 4
    golds = rng.integers(1, most + 1, size=(runs, setting.n))
    exists = np.arange(4) < golds[..., None]
    shared = math.sqrt(SHARED) * _latent(rng, runs, documents)
    base, cand = (
        (
            shared + math.sqrt(1 - SHARED) * _latent(rng, runs, documents)
            > -_NORMAL.inv_cdf(true_value)
        )
        & exists
        for true_value in (BASE, BASE - drop)
    )
    return base, cand, golds


def _batches(runs: int) -> Iterator[int]:
    for start in range(0, runs, BATCH):
        yield min(BATCH, runs - start)


def draw_runs(
    setting: Setting, drop: float, runs: int, *, pilot: bool = False
) -> Iterator[tuple[list[float], list[float]]]:
    """Values of the baseline and of the candidate, case by case, of run after run."""
    rng = _generator(setting, drop, pilot=pilot)
    for batch in _batches(runs):
        base, cand, golds = draw_golds(rng, setting, drop, batch)
        shares = ((found.sum(axis=-1) / golds).tolist() for found in (base, cand))
        yield from zip(*shares, strict=True)


def _generator(setting: Setting, drop: float, *, pilot: bool = False) -> np.random.Generator:
    # Seeded by its own cell, so that a figure does not depend on which others are simulated.
    place = [len(setting.metric), int(setting.documents), setting.n, round(drop * 1e9), int(pilot)]
    return np.random.default_rng([SEED, *place])


# --- decisions -------------------------------------------------------------------------------


def hold(
    base: Sequence[float],
    cand: Sequence[float],
    *,
    binary: bool,
    clusters: Sequence[int] | None = None,
) -> Difference:
    """Return the estimate with its test, for a check of any limit."""
    found = difference_test(base, cand, MetricScale(binary=binary), clusters=clusters)
    if found is None:
        raise ValueError("fewer than two cases")
    return Difference(estimate=found.diff, n=found.n, test=found)


def decide(check: Check, difference: Difference) -> CheckResult:
    """Return the result of a check that is alone in its run."""
    return decide_differences({check: difference}, confidence=CONFIDENCE)[check]


def promised_power(mde: float, drop: float) -> float:
    """The chance of catching ``drop`` on the normal curve that is 80 % at the printed effect."""
    z = _NORMAL.inv_cdf(CONFIDENCE)
    return _NORMAL.cdf((z + _NORMAL.inv_cdf(POWER)) * drop / mde - z)


# --- rates -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A share of simulated runs with its Monte-Carlo interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, count: int, runs: int) -> Rate:
        """``count`` of ``runs``, with the Wilson interval."""
        interval = wilson(count, runs, confidence=MC_CONFIDENCE)
        return cls(value=count / runs, low=interval.low or 0.0, high=interval.high or 0.0)

    def __str__(self) -> str:
        return f"{_percent(self.value)} [{100 * self.low:.1f}, {100 * self.high:.1f}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The checks of one setting at one true drop."""

    drop: float
    naive_fails: Rate
    regression_fails: Rate
    beyond_fails: Rate
    within_passes: Rate
    mde: float
    """Mean of the effect that the regression check printed."""
    promised: float
    """Mean chance of catching ``drop`` by the line that each run printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One setting: unchanged, five points worse, and worse by what the line says it can detect."""

    setting: Setting
    equal: Cell
    dropped: Cell
    detectable: Cell


def _held_runs(
    setting: Setting, drop: float, runs: int, *, pilot: bool = False
) -> Iterator[Difference]:
    clusters = document_of(setting).tolist() if setting.documents else None
    binary = setting.metric == "hit_at_k"
    for base, cand in draw_runs(setting, drop, runs, pilot=pilot):
        yield hold(base, cand, binary=binary, clusters=clusters)


def simulate_cell(setting: Setting, drop: float, runs: int) -> Cell:
    """Decide all checks of ``runs`` simulated runs."""
    naive = regression = beyond = passes = 0
    mdes, promised = [], []
    for held in _held_runs(setting, drop, runs):
        naive += decide(NAIVE, held).status == "fail"
        result = decide(REGRESSION, held)
        regression += result.status == "fail"
        beyond += decide(BEYOND, held).status == "fail"
        passes += decide(WITHIN, held).status == "pass"
        mdes.append(_printed_effect(result))
        promised.append(promised_power(mdes[-1], drop))
    return Cell(
        drop=drop,
        naive_fails=Rate.of(naive, runs),
        regression_fails=Rate.of(regression, runs),
        beyond_fails=Rate.of(beyond, runs),
        within_passes=Rate.of(passes, runs),
        mde=math.fsum(mdes) / runs,
        promised=math.fsum(promised) / runs,
    )


def _printed_effect(result: CheckResult) -> float:
    if result.mde is None:
        raise ValueError(f"the check printed no detectable effect: {result.message}")
    return result.mde


def detectable_drop(setting: Setting, runs: int = PILOT_RUNS) -> float:
    """The true drop that equals the effect its own runs print as detectable, by iteration."""
    drop = DROP
    for _ in range(PILOT_ROUNDS):
        held = _held_runs(setting, drop, runs, pilot=True)
        effects = [_printed_effect(decide(REGRESSION, difference)) for difference in held]
        drop = math.fsum(effects) / runs
    return drop


def simulate_row(setting: Setting, runs: int) -> Row:
    """Simulate one setting at its three true drops."""
    equal, dropped, detectable = (
        simulate_cell(setting, drop, runs) for drop in (0.0, DROP, detectable_drop(setting))
    )
    return Row(setting=setting, equal=equal, dropped=dropped, detectable=detectable)


# --- several checks --------------------------------------------------------------------------

CATEGORIES: Final = ("a", "b", "c", "d")


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyCell:
    """A run with six checks at one true drop: the share of runs in which any of them fails."""

    naive: Rate
    alone: Rate
    """Regression checks, each at its own 5 %."""
    holm: Rate
    """The same checks as the gate decides them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyRow:
    """Six checks over ``n`` cases."""

    n: int
    equal: FamilyCell
    dropped: FamilyCell


def _family(base: Bools, cand: Bools, golds: Counts) -> dict[Check, Difference]:
    """Recall and hit over all cases, and hit in each of four categories, as regression checks."""
    recall = [(found.sum(axis=-1) / golds).tolist() for found in (base, cand)]
    hit = [found.any(axis=-1).astype(float).tolist() for found in (base, cand)]
    whole = replace(REGRESSION, metric="hit_at_k")
    held = {REGRESSION: hold(*recall, binary=False), whole: hold(*hit, binary=True)}
    for i, category in enumerate(CATEGORIES):
        check = replace(whole, table="category", group=category)
        part = [side[i :: len(CATEGORIES)] for side in hit]
        held[check] = hold(*part, binary=True)
    return held


def simulate_family_cell(n: int, drop: float, runs: int) -> FamilyCell:
    """Decide a family of six checks in ``runs`` simulated runs."""
    setting = Setting(metric="recall_at_k", documents=False, n=n)
    rng = _generator(setting, drop + 1)  # its own numbers, not those of the single checks
    naive = alone = holm = 0
    for batch in _batches(runs):
        for base, cand, golds in zip(*draw_golds(rng, setting, drop, batch), strict=True):
            held = _family(base, cand, golds)
            naive += any(decide(NAIVE, d).status == "fail" for d in held.values())
            alone += any(decide(c, d).status == "fail" for c, d in held.items())
            family = decide_differences(held, confidence=CONFIDENCE)
            holm += any(result.status == "fail" for result in family.values())
    return FamilyCell(
        naive=Rate.of(naive, runs), alone=Rate.of(alone, runs), holm=Rate.of(holm, runs)
    )


def simulate_family(n: int, runs: int) -> FamilyRow:
    """Simulate the six checks without and with a drop."""
    equal, dropped = (simulate_family_cell(n, drop, runs) for drop in (0.0, DROP))
    return FamilyRow(n=n, equal=equal, dropped=dropped)


# --- promises --------------------------------------------------------------------------------


def broken_promises(rows: Sequence[Row], families: Sequence[FamilyRow]) -> list[str]:
    """Name the rates that break their promise by more than Monte-Carlo error."""
    alarms = [
        (f"{_name(row.setting)}: {what}", rate, stated(row.setting))
        for row in rows
        for what, rate in (
            ("regression check, equal systems", row.equal.regression_fails),
            ("prove_fail at its limit", row.dropped.beyond_fails),
            ("prove_pass at its limit", row.dropped.within_passes),
        )
    ]
    alarms += [
        (f"six checks, n {f.n}: any alarm, equal systems", f.equal.holm, 1 - CONFIDENCE)
        for f in families
    ]
    found = [
        f"{name}: {rate} is above {_percent(alpha)}"
        for name, rate, alpha in alarms
        if rate.low > alpha
    ]
    for row in rows:
        for cell in (row.dropped, row.detectable):
            if is_promised(cell) and cell.regression_fails.high < cell.promised:
                found.append(
                    f"{_name(row.setting)}: a drop of {cell.drop:.3f} is caught in"
                    f" {cell.regression_fails} of runs, promised {_percent(cell.promised)}"
                )
    return found


def is_promised(cell: Cell) -> bool:
    """Whether the line says that it can detect the drop.

    Below the printed effect it says that the drop may go unseen, and the curve is no promise: at
    a drop of 0 it stands at the ceiling of false alarms, which a careful check stays below.
    """
    return cell.mde <= cell.drop * 1.05  # the pilot meets the effect to a few per cent


def stated(setting: Setting) -> float:
    """Rate of false alarms that is promised; cases of few documents may stand or fall together."""
    return TOGETHER if setting.documents else 1 - CONFIDENCE


def _name(setting: Setting) -> str:
    return f"{setting.metric}, {setting.n} cases of {document_of(setting)[-1] + 1} documents"


# --- output ----------------------------------------------------------------------------------


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _table(heads: Sequence[str], lines: Sequence[str]) -> str:
    ruler = "|".join("---" for _ in heads)
    return "\n".join([f"| {' | '.join(heads)} |", f"|{ruler}|", *(f"| {x} |" for x in lines)])


_SETTING: Final = ("metric", "cases", "documents")


def render_tables(rows: Sequence[Row], families: Sequence[FamilyRow]) -> str:
    """All figures as Markdown tables; in brackets the Monte-Carlo interval."""
    alarms = _table(
        [
            *_SETTING,
            "naive: false alarm",
            "regression check: false alarm",
            "naive: 5-point drop caught",
            "regression check: caught",
        ],
        [
            f"{r.setting.label} | {r.equal.naive_fails} | {r.equal.regression_fails}"
            f" | {r.dropped.naive_fails} | {r.dropped.regression_fails}"
            for r in rows
        ],
    )
    power = _table(
        [
            *_SETTING,
            "can detect",
            "5 points: normal curve",
            "5 points: caught",
            "true drop = detectable",
            "promised",
            "caught",
        ],
        [
            f"{r.setting.label} | {r.dropped.mde:.3f} | {_percent(r.dropped.promised)}"
            f" | {r.dropped.regression_fails} | {r.detectable.drop:.3f}"
            f" | {_percent(r.detectable.promised)} | {r.detectable.regression_fails}"
            for r in rows
        ],
    )
    limits = _table(
        [
            *_SETTING,
            "`prove_fail` fails: no drop",
            "drop 0.05",
            "`prove_pass` passes: no drop",
            "drop 0.05",
        ],
        [
            f"{r.setting.label} | {r.equal.beyond_fails} | {r.dropped.beyond_fails}"
            f" | {r.equal.within_passes} | {r.dropped.within_passes}"
            for r in rows
        ],
    )
    several = _table(
        [
            "n",
            "naive: any false alarm",
            "each at 5 %",
            "Holm",
            "naive: 5-point drop caught",
            "Holm: caught",
        ],
        [
            f"{f.n} | {f.equal.naive} | {f.equal.alone} | {f.equal.holm}"
            f" | {f.dropped.naive} | {f.dropped.holm}"
            for f in families
        ],
    )
    titled = {
        "False alarms and catches": alarms,
        "What the check says it can detect": power,
        "A limit of 0.05": limits,
        "Six checks in one run": several,
    }
    return "\n\n".join(f"## {title}\n\n{table}" for title, table in titled.items())


def simulate(runs: int, jobs: int | None = None) -> tuple[list[Row], list[FamilyRow]]:
    """Simulate everything; the figures do not depend on the number of processes."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=spawn) as pool:
        rows = pool.map(simulate_row, SETTINGS, repeat(runs))
        families = pool.map(simulate_family, SIZES, repeat(runs))
        return list(rows), list(families)


def to_document(rows: Sequence[Row], families: Sequence[FamilyRow], *, runs: int) -> dict[str, Any]:
    """All figures as one JSON object."""
    return {
        "schema_version": 1,
        "seed": SEED,
        "runs": runs,
        "confidence": CONFIDENCE,
        "monte_carlo_confidence": MC_CONFIDENCE,
        "rows": [asdict(row) for row in rows],
        "families": [asdict(family) for family in families],
        "broken": broken_promises(rows, families),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate, print, and say whether every promise was kept."""
    parser = argparse.ArgumentParser(description="Simulated error rates of the gate's checks.")
    parser.add_argument("--runs", type=int, default=RUNS, help="simulated runs a cell")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(argv)
    if options.runs < 1:
        parser.error(f"--runs: {options.runs} runs, expected at least 1")
    rows, families = simulate(options.runs, options.jobs)
    broken = broken_promises(rows, families)
    if options.json:
        print(json.dumps(to_document(rows, families, runs=options.runs), indent=2))
    else:
        print(f"seed {SEED}, {options.runs} runs a cell\n")
        print(render_tables(rows, families))
        print(f"\n{len(broken)} broken promises" + "".join(f"\n- {line}" for line in broken))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
