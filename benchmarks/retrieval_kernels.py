"""Time the retrieval kernels against a plain loop, pytrec_eval and ir_measures, paired.

Every contender gets the same ranked lists and judgements and gives five values for each query:
recall@k, RR@k, nDCG@k, P@k and AP@k. What a library needs built first (dictionaries, rankings) is
part of its time. Contenders take turns in one process, so that a ratio compares neighbours in
time; the values of all must agree before anything is reported.

    python benchmarks/retrieval_kernels.py --queries 10000 --repeats 5
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from math import isnan, log2, nan
from pathlib import Path
from statistics import median

from pytest_rageval.metrics.retrieval import (
    Ranking,
    average_precision,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank,
)

TOLERANCE = 1e-9
CHUNKS = 10
"""Ranked documents of a synthetic query."""
KERNELS = (recall_at_k, reciprocal_rank, ndcg_at_k, precision_at_k, average_precision)
"""Ours, in the order of a query's values."""


@dataclass(frozen=True, slots=True)
class Query:
    """A ranked list with its judgements."""

    id: str
    grades: Mapping[str, int]
    """Relevant documents with their grade, at least 1."""
    ranked: Sequence[str]
    """Distinct documents, best first."""


Values = list[tuple[float, ...]]
"""One row per query, one value per kernel."""
Contender = Callable[[Sequence[Query], int], Values]


# --- contenders ----------------------------------------------------------------------------


def rank(query: Query, k: int) -> Ranking:
    position = {document: i for i, document in enumerate(query.grades)}
    nothing = frozenset[int]()
    cut = query.ranked[:k]
    return Ranking(
        matched=tuple(frozenset((position[d],)) if d in position else nothing for d in cut),
        duplicate=(False,) * len(cut),
        grades=tuple(query.grades.values()),
        k=k,
    )


def ours(queries: Sequence[Query], k: int) -> Values:
    rankings = (rank(query, k) for query in queries)
    return [tuple([kernel(ranking) for kernel in KERNELS]) for ranking in rankings]


def plain_loop(queries: Sequence[Query], k: int) -> Values:
    """Scores by plain code for judged documents, without anchors, copies or groups."""
    discount = [1 / log2(i + 2) for i in range(k)]
    rows: Values = []
    for query in queries:
        first, dcg, found, precisions = 0.0, 0.0, 0, 0.0
        for i, document in enumerate(query.ranked[:k]):
            if grade := query.grades.get(document, 0):
                found += 1
                first = first or 1 / (i + 1)
                dcg += grade * discount[i]
                precisions += found / (i + 1)
        best = sorted(query.grades.values(), reverse=True)
        ideal = sum(grade * weight for grade, weight in zip(best, discount, strict=False))
        golds = len(query.grades)
        rows.append((found / golds, first, dcg / ideal, found / k, precisions / golds))
    return rows


def _scored(queries: Sequence[Query], k: int) -> dict[str, dict[str, float]]:
    # Both libraries order by score and break ties by name, so the order is given as scores.
    return {q.id: {d: float(-i) for i, d in enumerate(q.ranked[:k])} for q in queries}


def with_pytrec_eval(queries: Sequence[Query], k: int) -> Values:
    import pytrec_eval

    names = [f"recall_{k}", "recip_rank", f"ndcg_cut_{k}", f"P_{k}", f"map_cut_{k}"]
    asked = {f"recall.{k}", "recip_rank", f"ndcg_cut.{k}", f"P.{k}", f"map_cut.{k}"}
    evaluator = pytrec_eval.RelevanceEvaluator({q.id: q.grades for q in queries}, asked)
    found = evaluator.evaluate(_scored(queries, k))
    return [tuple([found[query.id][name] for name in names]) for query in queries]


def with_ir_measures(queries: Sequence[Query], k: int) -> Values:
    import ir_measures
    from ir_measures import AP, RR, P, R, nDCG

    measures = [R @ k, RR @ k, nDCG @ k, P @ k, AP @ k]
    place = {measure: i for i, measure in enumerate(measures)}
    rows = {query.id: [0.0] * len(measures) for query in queries}
    qrels = {query.id: dict(query.grades) for query in queries}
    for one in ir_measures.iter_calc(measures, qrels, _scored(queries, k)):
        rows[one.query_id][place[one.measure]] = one.value
    return [tuple(rows[query.id]) for query in queries]


CONTENDERS: dict[str, Contender] = {
    "ours": ours,
    "plain_loop": plain_loop,
    "pytrec_eval": with_pytrec_eval,
    "ir_measures": with_ir_measures,
}


# --- data ----------------------------------------------------------------------------------


def synthetic(n: int, seed: int = 0) -> list[Query]:
    """Queries with 1 to 5 graded relevant documents and 10 retrieved ones out of 30."""
    chance = random.Random(seed)
    pool = [f"docs/page-{i}.md#section-{i % 7}" for i in range(30)]
    return [
        Query(
            id=f"q{i}",
            grades={d: chance.randint(1, 3) for d in chance.sample(pool, chance.randint(1, 5))},
            ranked=chance.sample(pool, CHUNKS),
        )
        for i in range(n)
    ]


def read_trec(qrels: Path, run: Path) -> list[Query]:
    """Read the topics of a run, in TREC form, that have any relevant document."""
    grades: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for line in qrels.read_text(encoding="utf-8").splitlines():
        topic, _, document, grade = line.split()
        if int(grade) > 0:
            grades[topic][document] = int(grade)
    scores: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
    for line in run.read_text(encoding="utf-8").splitlines():
        topic, _, document, _, score, _ = line.split()
        scores[topic].append((float(score), document))
    return [
        Query(id=topic, grades=grades[topic], ranked=[d for _, d in sorted(found, reverse=True)])
        for topic, found in scores.items()
        if topic in grades
    ]


def recorded_folder() -> Path:
    """Folder of the recorded runs: in RAGEVAL_SHARED, else in ``shared`` beside the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared"
    return Path(os.environ.get("RAGEVAL_SHARED", beside)) / "data" / "ir" / "claude_docs"


# --- measuring -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Result of one contender."""

    name: str
    us_per_query: float
    """Median over the repeats."""
    ratio: float
    """Its time divided by ours in the same repeat; median. Above 1: slower than ours."""
    ratio_low: float
    ratio_high: float
    """Lowest and highest ratio of the repeats."""
    max_difference: float
    """Largest distance of any of its values from ours."""


def largest_difference(one: Values, other: Values) -> float:
    """Return the largest distance between two tables of values; NaN if any of them is."""
    pairs = zip(one, other, strict=True)
    gaps = [abs(a - b) for x, y in pairs for a, b in zip(x, y, strict=True)]
    return nan if any(map(isnan, gaps)) else max(gaps, default=0.0)


def measure(
    queries: Sequence[Query],
    *,
    k: int,
    repeats: int,
    contenders: Mapping[str, Contender] = CONTENDERS,
) -> list[Row]:
    """Run the contenders in turn, ``repeats`` times.

    Raises:
        ValueError: a value departs from ours by more than ``TOLERANCE``.
    """
    expected = contenders["ours"](queries, k)
    # A warm-up that also checks: a fast wrong answer is no contender.
    differences = {
        name: largest_difference(contend(queries, k), expected)
        for name, contend in contenders.items()
    }
    for name, difference in differences.items():
        if isnan(difference) or difference > TOLERANCE:
            raise ValueError(f"{name}: differs by {difference:.3g}, expected {TOLERANCE} at most")
    times: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for repeat in range(repeats):
        shift = repeat % len(names)
        for name in names[shift:] + names[:shift]:
            gc.collect()
            started = time.perf_counter()
            contenders[name](queries, k)
            times[name].append(time.perf_counter() - started)
    return [
        summarise(
            name,
            times=times[name],
            our_times=times["ours"],
            n=len(queries),
            difference=differences[name],
        )
        for name in names
    ]


def summarise(
    name: str, *, times: Sequence[float], our_times: Sequence[float], n: int, difference: float
) -> Row:
    ratios = [theirs / mine for theirs, mine in zip(times, our_times, strict=True)]
    return Row(
        name=name,
        us_per_query=median(times) / n * 1e6,
        ratio=median(ratios),
        ratio_low=min(ratios),
        ratio_high=max(ratios),
        max_difference=difference,
    )


# --- output --------------------------------------------------------------------------------


def describe_machine() -> dict[str, str]:
    libraries = ("pytrec-eval-terrier", "ir-measures")
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        **{name: version(name) for name in libraries},
    }


def render(title: str, rows: Sequence[Row]) -> str:
    lines = [title, f"{'':12} {'us/query':>9} {'time / ours (low to high)':>28} {'differs by':>11}"]
    for row in rows:
        spread = f"{row.ratio:.2f} ({row.ratio_low:.2f} to {row.ratio_high:.2f})"
        us, difference = f"{row.us_per_query:.2f}", f"{row.max_difference:.1e}"
        lines.append(f"{row.name:12} {us:>9} {spread:>28} {difference:>11}")
    return "\n".join(lines)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--queries", type=int, default=10_000, metavar="N")
    parser.add_argument("--repeats", type=int, default=5, metavar="R")
    parser.add_argument("--k", type=int, default=10, help="cutoff (default 10)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    given = parser.parse_args(arguments)
    for name in ("queries", "repeats", "k"):
        if getattr(given, name) < 1:
            parser.error(f"--{name}: got {getattr(given, name)}, expected at least 1")
    return given


def main(arguments: Sequence[str] | None = None) -> int:
    given = parse(arguments)
    data = {f"synthetic, {given.queries} queries": synthetic(given.queries)}
    folder = recorded_folder()
    for run in sorted(folder.glob("*.run")):
        queries = read_trec(folder / "qrels.txt", run)
        data[f"claude_docs {run.stem}, {len(queries)} queries"] = queries
    found = {
        title: measure(queries, k=given.k, repeats=given.repeats) for title, queries in data.items()
    }
    if given.json:
        results = {title: [asdict(row) for row in rows] for title, rows in found.items()}
        document = {
            "k": given.k,
            "repeats": given.repeats,
            "machine": describe_machine(),
            "results": results,
        }
        print(json.dumps(document, indent=2))
    else:
        machine = ", ".join(f"{name} {value}" for name, value in describe_machine().items())
        print(f"k = {given.k}, {given.repeats} repeats in turn; {machine}")
        for title, rows in found.items():
            print(f"\n{render(title, rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
