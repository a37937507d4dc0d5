"""The page of an embedding map: a canvas, its points as data, and the misses as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.report.html.markup import script_json, visible
from pytest_rageval.report.html.parts import parts
from pytest_rageval.report.view.blocks import Cell, Cells, Row, Table
from pytest_rageval.report.view.studies import embedding_tables
from pytest_rageval.support.text import counted, cut, format_value

if TYPE_CHECKING:
    from pytest_rageval.analysis.embedding_map import (
        EmbeddingMap,
        MapCase,
        MapPoint,
        Neighbour,
        Projection,
    )
    from pytest_rageval.values.case import Anchor

_TEXT_CHARS: Final = 300
_COLOURS: Final = 10
"""More hues than these cannot be told apart; further groups share one colour."""
_MISSES: Final = 500
_WRONG: Final = 3
"""Wrong chunks of a question in the table."""


def render_map(
    found: EmbeddingMap, projection: Projection, document: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the page in pieces; the document is that of ``embedding_document``."""
    # Imported here, since jinja2 is slow to import.
    from pytest_rageval.report.html.templating import render_page

    return render_page(
        "map/page.html.j2",
        scripts=("search.js", "map/map.js"),
        data=script_json(map_data(found, projection)),
        **_texts(found, projection, document),
    )


# --- the points as data --------------------------------------------------------------------


def map_data(found: EmbeddingMap, projection: Projection) -> dict[str, Any]:
    """Return the points by column, and the questions with indices of points."""
    x, y, extent = _places(projection)
    points = found.points
    return {
        "x": x,
        "y": y,
        "extent": extent,
        "kind": [_kind(point) for point in points],
        "title": [visible(_title(point)) for point in points],
        "text": [visible(cut(point.text, _TEXT_CHARS)) for point in points],
        "groups": {
            "document": _grouped(point.rel_path or "no document" for point in points),
            "folder": _grouped(_folder(point) for point in points),
            "outcome": _grouped(_outcome(point) for point in points),
        },
        "cases": [_case(case, points[case.point]) for case in found.cases],
    }


def _places(projection: Projection) -> tuple[list[float], list[float], list[float]]:
    """Return both coordinates, their middle at 0 and the longer side from -1 to 1."""
    places = projection.places
    if not len(places):
        return [], [], [1.0, 1.0]
    low, high = places.min(axis=0), places.max(axis=0)
    half = (high - low) / 2
    size = float(half.max()) or 1.0
    scaled = (places - (low + high) / 2) / size
    extent = [max(float(one) / size, 0.05) for one in half]
    x, y = ([round(float(one), 5) for one in column] for column in scaled.T)
    return x, y, extent


def _kind(point: MapPoint) -> int:
    """Return the shape of a point, an index of ``KINDS`` in map.js."""
    if point.kind != "question":
        return 0 if point.kind == "chunk" else 1
    return 3 if _is_miss(point) else 2


def _is_miss(point: MapPoint) -> bool:
    return point.kind == "question" and point.outcome not in {"passed", "unchecked"}


def _title(point: MapPoint) -> str:
    return point.name if point.kind == "question" else _place(point)


def _place(point: MapPoint | Anchor) -> str:
    return " > ".join(filter(None, (point.rel_path, point.heading_path)))


def _folder(point: MapPoint) -> str:
    if point.rel_path is None:
        return "no document"
    return point.rel_path.rpartition("/")[0] or "top folder"


def _outcome(point: MapPoint) -> str:
    if point.kind == "question":
        return f"question: {point.outcome}"
    if point.kind == "gold":
        return "gold"
    return "chunk: relevant to a question" if point.relevant else "chunk: other"


def _grouped(labels: Iterable[str]) -> dict[str, Any]:
    """Return the names of the largest groups, and the group of each label."""
    given = list(labels)
    names = [name for name, _ in Counter(given).most_common()]
    numbers = {name: min(number, _COLOURS) for number, name in enumerate(names)}
    shown = [visible(name) for name in names[:_COLOURS]]
    if len(names) > _COLOURS:
        shown.append(counted(len(names) - _COLOURS, "other"))
    return {"names": shown, "of": [numbers[label] for label in given]}


def _case(case: MapCase, point: MapPoint) -> dict[str, Any]:
    return {
        "point": case.point,
        "outcome": point.outcome,
        "stage": case.stage,
        "golds": [_pair(one) for one in case.golds],
        "retrieved": [[*_pair(one), one.relevant] for one in case.retrieved],
        "wrong": [_pair(one) for one in case.wrong],
        "gold": None if case.gold_similarity is None else round(case.gold_similarity, 4),
        "nearer": case.n_nearer,
    }


def _pair(one: Neighbour) -> list[float]:
    return [one.point, round(one.similarity, 4)]


# --- the texts of the page -----------------------------------------------------------------


def _texts(
    found: EmbeddingMap, projection: Projection, document: Mapping[str, Any]
) -> dict[str, Any]:
    misses = [case for case in found.cases if _is_miss(found.points[case.point])]
    misses.sort(key=lambda case: -(case.n_nearer if case.n_nearer is not None else -1))
    source = document["source"]
    where = source["file"] if source["kind"] == "file" else f"{source['model']}, {source['url']}"
    kinds = Counter(point.kind for point in found.points)
    numbers = ", ".join(counted(kinds[kind], kind) for kind in ("chunk", "gold", "question"))
    head = ("case", "question", "gold", ">similarity", ">wrong, nearer", "nearest wrong chunks")
    table = Table(head, [_miss(case, found.points) for case in misses[:_MISSES]])
    return {
        "run_id": document["run_id"],
        "n": len(found.points),
        "counts": f"{numbers}.",
        "source": f"Vectors of {where}.",
        "reading": _reading(projection, found.vectors.shape[1]),
        "notes": document["warnings"],
        "misses": [*parts([table], title="Misses")] if misses else [],
        "n_left_out": max(len(misses) - _MISSES, 0),
        "figures": [*parts(embedding_tables(document))],
    }


def _reading(projection: Projection, dimensions: int) -> str:
    if projection.name == "UMAP":
        return (
            f"UMAP of {dimensions} dimensions: texts that are near each other are similar; the "
            "distances between groups, and their sizes, say nothing."
        )
    if projection.explained is None:
        return "PCA: all vectors are equal."
    first, second = (f"{share * 100:.1f} %" for share in projection.explained)
    return (
        f"PCA of {dimensions} dimensions: the axes show {first} and {second} of the variance, the "
        "rest is not in the picture; points that look near may be far apart."
    )


def _miss(case: MapCase, points: Sequence[MapPoint]) -> Row:
    question = points[case.point]
    outcome = f"{question.outcome} {case.stage or ''}".strip()
    wrong = [
        Cell(f"{format_value(one.similarity)} {_place(points[one.point])}")
        for one in case.wrong[:_WRONG]
    ]
    return (
        Cell(question.name, link=f"#point-{case.point}", note=outcome),
        cut(question.text, _TEXT_CHARS),
        Cells([Cell(_place(one)) for one in case.anchors]),
        case.gold_similarity,
        case.n_nearer,
        Cells(wrong),
    )
