"""The reranking study of a run as a document, as text and as a section of the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from msgspec import to_builtins

from pytest_rageval.analysis.stats.intervals import percentile
from pytest_rageval.report.view.blocks import Block, Fact, Line, Row, Table
from pytest_rageval.support.text import clean, counted, format_value, part
from pytest_rageval.values.own_code import ShownSection

if TYPE_CHECKING:
    from pytest_rageval.analysis.rerank import Metric, OrderStudy, OrderTable, Reordered

TITLE: Final = "Reranking study"
_AT_EVERY_CUTOFF: Final = ("recall", "ndcg")
_AT_THE_MAIN: Final = ("hit", "mrr", "map", "precision")
_SHOWN_CASES: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedOrder:
    """One order of the study with its source."""

    name: str
    source: Mapping[str, Any]
    """Its origin: kind, and address or function."""
    study: OrderStudy
    obtained: Reordered | None = None
    """Facts about the queries; None: the target reported the order."""


def rerank_document(
    run_id: str,
    table: OrderTable,
    orders: Sequence[NamedOrder],
    left_out: Mapping[str, int],
    *,
    price: float | None = None,
) -> dict[str, Any]:
    """Return the content of rerank.json as plain JSON values, without question or chunk text.

    Args:
        run_id: of the run.
        table: delivered orders and ceilings.
        orders: each compared with the delivered one.
        left_out: cases without candidates or golds, by reason.
        price: USD for 1,000 queries; None: unknown.
    """
    sizes = [len(case.chunks) for case in table.cases]
    return {
        "run_id": run_id,
        "level": table.cases[0].level,
        "k": table.main,
        "ks": list(table.ks),
        "n_cases": len(table.cases),
        "left_out": dict(left_out),
        "candidates": {"min": min(sizes), "median": median(sizes), "max": max(sizes)},
        "delivered": _flat(table.present),
        "ceiling": _flat(table.ceiling),
        "orders": {one.name: _order(one, price) for one in orders},
        "warnings": list(_warnings(table, orders)),
    }


def _flat(values: Mapping[Metric, object]) -> dict[str, Any]:
    return {f"{name}@{k}": to_builtins(value) for (name, k), value in values.items()}


def _order(one: NamedOrder, price: float | None) -> dict[str, Any]:
    study = one.study
    return {
        "source": dict(one.source),
        "n": study.n,
        "metrics": {
            f"{name}@{k}": {
                **asdict(found),
                "ceiling": study.ceiling[name, k],
                "gap_closed": study.gap_closed((name, k)),
            }
            for (name, k), found in study.metrics.items()
        },
        "by_category": {
            category: _flat(metrics) for category, metrics in study.by_category.items()
        },
        "worsened": to_builtins(study.worsened),
        "improved": to_builtins(study.improved),
        "queries": None if one.obtained is None else _queries(one.obtained, price),
    }


def _queries(obtained: Reordered, price: float | None) -> dict[str, Any]:
    n = len(obtained.milliseconds)
    return {
        "n": n,
        "latency_ms": {
            "p50": percentile(obtained.milliseconds, 50),
            "p95": percentile(obtained.milliseconds, 95),
        },
        "usage": dict(obtained.usage),
        "usage_per_query": {name: value / n for name, value in obtained.usage.items()} if n else {},
        "usd_per_query": None if price is None else price / 1000,
        "usd": None if price is None else price / 1000 * n,
        "failed": [
            {"file": file, "case_id": name, "error": reason}
            for (file, name), reason in obtained.failed.items()
        ],
        "unranked_documents": obtained.n_unranked,
    }


def _warnings(table: OrderTable, orders: Sequence[NamedOrder]) -> Iterator[str]:
    most = max(len(case.chunks) for case in table.cases)
    if most <= table.main:
        yield (
            f"no case has more than {table.main} candidates, so recall@{table.main} and hit@"
            f"{table.main} are the same in every order; run the cases again with a larger k"
        )
    if table.n_bounds:
        yield (
            f"the ceiling of {counted(table.n_bounds, 'case')} is an upper bound: too many chunks "
            "hold several of its golds"
        )
    for one in orders:
        if one.obtained is None:
            continue
        if one.obtained.failed:
            reason = next(iter(one.obtained.failed.values()))
            failed = counted(len(one.obtained.failed), "case")
            yield f"{one.name}: no order for {failed}, left out of its figures; the first: {reason}"
        if one.obtained.n_unranked:
            yield (
                f"{one.name}: {counted(one.obtained.n_unranked, 'chunk')} without a score, kept in "
                "the delivered order behind the others"
            )


# --- text ----------------------------------------------------------------------------------


def rerank_lines(document: Mapping[str, Any]) -> Iterator[Block]:
    """Yield the result of ``rerank_document`` as lines for a terminal."""
    sizes = document["candidates"]
    yield Fact("run", document["run_id"])
    unit = "sections" if document["level"] == "anchor" else "documents"
    yield Fact(
        "cases",
        f"{document['n_cases']} with golds and chunks, {sizes['min']} to {sizes['max']} candidates "
        f"each; golds are {unit}",
    )
    if document["left_out"]:
        reasons = ", ".join(f"{n} {reason}" for reason, n in document["left_out"].items())
        yield Fact("left out", reasons)
    if not document["orders"]:
        yield _table(document, None)
    for name, order in document["orders"].items():
        yield ()
        yield Fact("order", _title(name, order))
        yield _table(document, order)
        if len(order["by_category"]) > 1:
            yield _categories(document, order)
        yield from _broken(document, order)
        yield from _costs(order["queries"])
    for warning in document["warnings"]:
        yield Fact("note", warning, "warn", "warn")


def _title(name: str, order: Mapping[str, Any]) -> str:
    source = order["source"]
    where = source.get("url") or source.get("function") or ""
    missing = f", {order['n']} cases" if order["queries"] and order["queries"]["failed"] else ""
    return f"{name}{part(' ({})', where != name and where)}{missing}"


def _table(document: Mapping[str, Any], order: Mapping[str, Any] | None) -> Table:
    rows: list[Row] = []
    for key in _shown_metrics(document):
        row = None if order is None else order["metrics"][key]
        delivered = document["delivered"][key] if row is None else row["before"]
        ceiling = document["ceiling"][key] if row is None else row["ceiling"]
        cells: Row = (key, delivered, ceiling)
        if row is not None:
            interval = "" if row["low"] is None else f"{row['low']:+.2f} to {row['high']:+.2f}"
            moved = f"{row['improved']}/{row['worsened']}"
            reranked: Line = ((format_value(row["after"]), "strong"),)
            cells = (*cells, reranked, f"{row['delta']:+.3f}", interval, moved)
        rows.append(cells)
    names = (">reranked", ">delta", ">95% CI", ">better/worse") if order is not None else ()
    return Table(("", ">delivered", ">ceiling", *names), rows, optional=("better/worse", "95% CI"))


def _shown_metrics(document: Mapping[str, Any]) -> list[str]:
    every = [f"{name}@{k}" for name in _AT_EVERY_CUTOFF for k in document["ks"]]
    return [*every, *(f"{name}@{document['k']}" for name in _AT_THE_MAIN)]


def _categories(document: Mapping[str, Any], order: Mapping[str, Any]) -> Table:
    keys = [f"{name}@{document['k']}" for name in ("recall", "ndcg")]
    rows = []
    for category, metrics in order["by_category"].items():
        found = [metrics[key] for key in keys]
        cells = (f"{format_value(one['after'])} {one['delta']:+.3f}" for one in found)
        rows.append((clean(category, 80), found[-1]["n"], *cells))
    return Table(("category", ">n", *(f">{key}" for key in keys)), rows)


def _broken(document: Mapping[str, Any], order: Mapping[str, Any]) -> Iterator[Block]:
    worse, better = order["worsened"], order["improved"]
    text = f"{counted(len(better), 'case')}; it breaks {counted(len(worse), 'case')}"
    yield Fact("improves", f"{text} (by ndcg@{document['k']})")
    rows: list[Row] = []
    for case in worse[:_SHOWN_CASES]:
        ranks = " -> ".join(
            "none" if case[name] is None else str(case[name])
            for name in ("first_before", "first_after")
        )
        figures = f"{format_value(case['before'])} -> {format_value(case['after'])}"
        text = f"ndcg {figures}, first relevant at {ranks}"
        rows.append((f"  {clean(case['case_id'], 80)}", ((text, "bad"),)))
    yield Table(("", ""), rows)
    if len(worse) > _SHOWN_CASES:
        yield ((f"  and {len(worse) - _SHOWN_CASES} more, with --json", "weak"),)


def _costs(queries: Mapping[str, Any] | None) -> Iterator[Block]:
    if queries is None or not queries["n"]:
        return
    times = queries["latency_ms"]
    parts = [
        f"{queries['n']} queries",
        f"p50 {times['p50']:.0f} ms, p95 {times['p95']:.0f} ms each",
    ]
    parts += [f"{value:,.0f} {name} each" for name, value in queries["usage_per_query"].items()]
    if queries["usd"] is not None:
        parts.append(f"${queries['usd_per_query']:.4g} each, ${queries['usd']:.4g} in all")
    yield Fact("queries", "; ".join(parts))


# --- section -------------------------------------------------------------------------------


def rerank_section(document: Mapping[str, Any]) -> ShownSection:
    """Return the study as a section of the report, a table with one column for each order."""
    orders, keys = document["orders"], _shown_metrics(document)
    return ShownSection(
        title=TITLE,
        columns=("metric", "delivered", "ceiling", *(clean(name, 200) for name in orders)),
        rows=tuple(
            (
                key,
                document["delivered"][key],
                document["ceiling"][key],
                *(order["metrics"][key]["after"] for order in orders.values()),
            )
            for key in keys
        ),
    )
