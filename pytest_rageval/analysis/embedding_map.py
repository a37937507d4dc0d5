"""The points of an embedding map, and the wrong chunks near its questions.

Needs numpy, and umap-learn for one of its functions; imported only where vectors are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from pytest_rageval.analysis.aggregate.case_groups import CaseGroup, CaseOutcome, group_repeats
from pytest_rageval.analysis.embeddings import (
    ChunkKey,
    DistinctChunk,
    VectorTable,
    chunk_key,
    cut_of,
    distinct_chunks,
)
from pytest_rageval.metrics.deciding import decide_chunks
from pytest_rageval.metrics.matching import PathCase, norm_path
from pytest_rageval.metrics.similarity import Floats, unit_vector
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.record import CaseRecord, FailureStage, ScoreSettings
from pytest_rageval.values.reply import RetrievedChunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """Places of vectors on a plane."""

    name: str
    places: Floats
    """Vectors x 2."""
    explained: tuple[float, float] | None = None
    """Shares of the variance along the two axes, 0 to 1, the larger first; None: there is no
    variance, or the method has no such shares."""


_NOISE: Final = 1e-12
"""Part of the variance below which an axis is rounding."""
_UMAP_LEAST: Final = 16


def project_pca(vectors: Floats) -> Projection:
    """Place vectors by the first two principal components (Pearson 1901).

    Each axis points so that its component of largest size is positive, which makes the places
    the same on every machine unless two axes have equal variance.

    Args:
        vectors: one row per point, finite numbers.
    """
    centred = vectors - vectors.mean(axis=0) if len(vectors) else vectors
    n, dimensions = centred.shape
    # The smaller of both products has the same eigenvalues; with 10,000 points an SVD of the
    # vectors themselves takes about ten times as long.
    if n > dimensions:
        values, axes = np.linalg.eigh(centred.T @ centred)
    else:
        values, rows = np.linalg.eigh(centred @ centred.T)
        axes = centred.T @ rows
    axes = unit_vector(axes.T[::-1][:2])
    values = np.maximum(values[::-1][:2], 0.0)
    total, least = float((centred**2).sum()), _NOISE**2 * float((vectors**2).sum())
    places = np.zeros((n, 2))
    shares = [0.0, 0.0]
    for index, (value, axis) in enumerate(zip(values, axes, strict=False)):
        if total > least and value > _NOISE * total:
            sign = np.sign(axis[int(np.argmax(np.abs(axis)))])
            places[:, index] = centred @ (axis * sign)
            shares[index] = min(1.0, float(value) / total)
    first, second = shares
    return Projection(name="PCA", places=places, explained=(first, second) if first > 0 else None)


def project_umap(vectors: Floats) -> Projection:
    """Place vectors so that near ones stay near (UMAP, McInnes, Healy and Melville 2018).

    Args:
        vectors: rows of length 1, whose Euclidean order of neighbours is that of their cosines.

    Raises:
        ConfigError: umap-learn is not installed, or there are too few vectors.
    """
    if len(vectors) < _UMAP_LEAST:
        raise ConfigError.of(
            "--projection umap",
            "bound",
            found=f"{len(vectors)} points",
            expected=f"at least {_UMAP_LEAST}, or --projection pca",
        )
    try:
        import umap
    except ImportError as error:
        raise ConfigError.of(
            "--projection umap", "needs_extra", extra="umap", reason=error
        ) from None
    # With a seed umap-learn uses one thread, and warns unless it was asked to.
    reducer = umap.UMAP(
        n_neighbors=15,
        n_components=2,
        metric="euclidean",
        random_state=42,
        n_jobs=1,
    )
    return Projection(name="UMAP", places=np.asarray(reducer.fit_transform(vectors), dtype=float))


PointKind = Literal["chunk", "gold", "question"]
NEAREST: Final = 8
"""Number of wrong chunks that are kept for a question."""
_CELLS: Final = 4_000_000
"""Maximum number of cosines in memory, 32 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPoint:
    """One text of the map."""

    kind: PointKind
    text: str
    """Whole text; empty for a chunk whose text was not stored."""
    name: str = ""
    """Id of the case, for a question."""
    rel_path: str | None = None
    """Document of a chunk or gold; of a question that of its first gold; None: it has none."""
    heading_path: str = ""
    outcome: CaseOutcome | None = None
    """Of a question."""
    relevant: bool = False
    """Whether any question of the run retrieved this chunk as one of its golds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A chunk beside a question."""

    point: int
    """Its index in ``EmbeddingMap.points``."""
    similarity: float
    """Cosine with the question, -1 to 1."""
    relevant: bool | None = None
    """Whether it matches a gold of the question; None: it cannot be decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapCase:
    """A question of the map and its chunks."""

    point: int
    """Index of the question in ``EmbeddingMap.points``."""
    stage: FailureStage | None
    anchors: tuple[Anchor, ...] = ()
    """Its golds, with a text or without."""
    golds: tuple[Neighbour, ...] = ()
    """Texts of its golds, as far as they have vectors."""
    retrieved: tuple[Neighbour, ...] = ()
    """Chunks within the cutoff of the repeat that decides the outcome, in rank order."""
    wrong: tuple[Neighbour, ...] = ()
    """Nearest chunks of the run that match none of its golds, at most ``NEAREST``; empty where the
    run does not hold its golds."""
    gold_similarity: float | None = None
    """Cosine with the nearest text or chunk of a gold; None: none has a vector."""
    n_nearer: int | None = None
    """Number of wrong chunks of the run nearer than that; None: there is no such cosine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingMap:
    """The texts of a run that have a vector with a direction."""

    points: tuple[MapPoint, ...]
    """Chunks, then golds, then questions."""
    vectors: Floats
    """Points x numbers: one row per point, each of length 1."""
    cases: tuple[MapCase, ...]
    """One per question in the map, by file and id of the case."""
    n_left_out: int
    """Number of questions, chunks and golds with no vector, or one of zeros."""
    n_golds_without_text: int = 0
    """Number of distinct golds with no text to embed."""


def build_map(
    records: Sequence[CaseRecord],
    vectors: VectorTable,
    scoring: ScoreSettings,
    gold_texts: Mapping[Anchor, str] | None = None,
) -> EmbeddingMap:
    """Collect the points of a map, and the nearest wrong chunks of every question.

    Args:
        records: of one run, with ``matched_golds`` decided.
        vectors: of questions, chunks and gold texts.
        scoring: settings of the run, for chunks that only another question retrieved.
        gold_texts: text of each gold as far as it is known.
    """
    cases = group_repeats(records)
    builder = _Builder(vectors, scoring.path_case)
    chunks = distinct_chunks([r for case in cases for r in case.records], scoring.path_case)
    for key, chunk in chunks.items():
        builder.add_chunk(key, chunk)
    n_chunks = len(builder.points)
    golds = dict.fromkeys(gold for case in cases for gold in case.first.case.gold_supports)
    for gold in golds:
        builder.add_gold(gold, (gold_texts or {}).get(gold))
    questions = [(case, at) for case in cases if (at := builder.add_question(case)) is not None]
    found = unit_vector(np.array(builder.rows)) if builder.rows else np.zeros((0, 1))
    neighbours = _Neighbours([*chunks.values()], builder, n_chunks, scoring)
    return EmbeddingMap(
        points=tuple(builder.points),
        vectors=found,
        cases=tuple(neighbours.of(*one) for one in _with_cosines(questions, found)),
        n_left_out=builder.n_left_out,
        n_golds_without_text=sum(gold not in (gold_texts or {}) for gold in golds),
    )


def _with_cosines(
    questions: Sequence[tuple[CaseGroup, int]], vectors: Floats
) -> Iterator[tuple[CaseGroup, int, Floats]]:
    """Yield the questions with their cosines to all points, computed for many at once."""
    step = max(1, _CELLS // max(1, len(vectors)))
    for begin in range(0, len(questions), step):
        block = questions[begin : begin + step]
        products = vectors[[at for _, at in block]] @ vectors.T
        for (case, at), row in zip(block, products, strict=True):
            # Rounding may carry the cosine of equal directions past 1.
            yield case, at, np.clip(row, -1.0, 1.0)


class _Builder:
    """Collects the points that have a direction, and their rows of the matrix."""

    def __init__(self, vectors: VectorTable, path_case: PathCase) -> None:
        self.points: list[MapPoint] = []
        self.rows: list[Floats] = []
        self.chunks: dict[ChunkKey, int] = {}
        self.golds: dict[Anchor, int] = {}
        self.n_left_out = 0
        self._places: dict[tuple[str, str, str], int | None] = {}
        self._vectors = vectors
        self._path_case = path_case

    def add_chunk(self, key: ChunkKey, found: DistinctChunk) -> None:
        chunk = found.chunk
        point = MapPoint(
            kind="chunk",
            text=chunk.text or "",
            rel_path=chunk.rel_path,
            heading_path=chunk.heading_path or "",
            relevant=found.section is not None,
        )
        if (at := self._add(point, self._vectors.of_chunk(chunk))) is not None:
            self.chunks[key] = at

    def add_gold(self, gold: Anchor, text: str | None) -> None:
        if text is None:
            return
        point = MapPoint(
            kind="gold", text=text, rel_path=gold.rel_path, heading_path=gold.heading_path
        )
        # Cases that name the same place share its point.
        place = (gold.rel_path, gold.heading_path, text)
        if place not in self._places:
            self._places[place] = self._add(point, self._vectors.by_text.get(text))
        if (at := self._places[place]) is not None:
            self.golds[gold] = at

    def add_question(self, case: CaseGroup) -> int | None:
        first = case.first
        golds = case.first.case.gold_supports
        point = MapPoint(
            kind="question",
            text=first.case.question,
            name=first.name,
            rel_path=golds[0].rel_path if golds else None,
            outcome=case.outcome,
        )
        return self._add(point, self._vectors.by_text.get(first.case.question))

    def chunk(self, chunk: RetrievedChunk) -> int | None:
        return self.chunks.get(chunk_key(chunk, self._path_case))

    def _add(self, point: MapPoint, vector: Floats | None) -> int | None:
        if vector is None or not np.any(vector):
            self.n_left_out += 1
            return None
        self.points.append(point)
        self.rows.append(vector)
        return len(self.points) - 1


class _Neighbours:
    """Finds the chunks near a question. The first ``n_chunks`` points are chunks."""

    def __init__(
        self,
        chunks: Sequence[DistinctChunk],
        builder: _Builder,
        n_chunks: int,
        scoring: ScoreSettings,
    ) -> None:
        self._n_chunks = n_chunks
        self._builder = builder
        self._scoring = scoring
        # Most chunks are of documents without a gold of the question. Their rank is here the index
        # of their point, and what was decided of them was about another question.
        self._by_path: dict[str, list[RetrievedChunk]] = defaultdict(list)
        for one in chunks:
            if (at := builder.chunk(one.chunk)) is not None:
                near = replace(
                    one.chunk, rank=at, matched_golds=None, irrelevant=None, matched_by=None
                )
                self._by_path[one.document[1]].append(near)

    def of(self, case: CaseGroup, at: int, cosines: Floats) -> MapCase:
        golds = [
            self._builder.golds[g]
            for g in case.first.case.gold_supports
            if g in self._builder.golds
        ]
        relevance = self._relevance(case)
        retrieved = [
            (place, chunk.matched_golds)
            for chunk in cut_of(case.deciding)
            if (place := self._builder.chunk(chunk)) is not None
        ]
        near = [*golds, *(place for place, relevant in relevance.items() if relevant)]
        best = max((float(cosines[place]) for place in near), default=None)
        wrong = self._wrong(relevance)
        return MapCase(
            point=at,
            stage=case.stage,
            anchors=case.first.case.gold_supports,
            golds=tuple(Neighbour(point=p, similarity=float(cosines[p])) for p in golds),
            retrieved=tuple(
                Neighbour(
                    point=place,
                    similarity=float(cosines[place]),
                    relevant=None if matched is None else bool(matched),
                )
                for place, matched in retrieved
            ),
            wrong=() if wrong is None else tuple(_nearest(wrong, cosines)),
            gold_similarity=best,
            n_nearer=None if best is None or wrong is None else int((cosines[wrong] > best).sum()),
        )

    def _relevance(self, case: CaseGroup) -> dict[int, bool | None]:
        """Return whether chunks match a gold; chunks that are not named are wrong."""
        found: dict[int, bool | None] = {}
        paths = {
            norm_path(gold.rel_path, self._scoring.path_case)
            for gold in case.first.case.gold_supports
        }
        beside = [chunk for path in paths for chunk in self._by_path.get(path, ())]
        for chunk in decide_chunks(case.first.case, beside, self._scoring):
            matched = chunk.matched_golds
            found[chunk.rank or 0] = None if matched is None else bool(matched)
        for record in case.records:
            for chunk in cut_of(record):
                at = self._builder.chunk(chunk)
                if at is not None and chunk.matched_golds is not None:
                    found[at] = bool(chunk.matched_golds)
        return found

    def _wrong(self, relevance: Mapping[int, bool | None]) -> npt.NDArray[np.intp]:
        wrong = np.ones(self._n_chunks, dtype=bool)
        wrong[[at for at, relevant in relevance.items() if relevant is not False]] = False
        return np.flatnonzero(wrong)


def _nearest(places: npt.NDArray[np.intp], cosines: Floats) -> Iterator[Neighbour]:
    """Yield the nearest chunks, equally near ones in the order of the run."""
    for place in places[np.argsort(-cosines[places], kind="stable")][:NEAREST]:
        yield Neighbour(point=int(place), similarity=float(cosines[place]), relevant=False)
