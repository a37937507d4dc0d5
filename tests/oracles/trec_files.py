"""TREC files, and the rankings they stand for, in tests that compare with trec_eval."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_rageval.metrics.retrieval import Ranking

Qrels = dict[str, dict[str, int]]
"""Topic to document to grade."""
Run = dict[str, list[str]]
"""Topic to documents, best first."""


def _rows(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def read_qrels(path: Path) -> Qrels:
    """Read lines of topic, iteration, document and grade."""
    qrels: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for topic, _, document, grade in _rows(path):
        qrels[topic][document] = int(grade)
    return dict(qrels)


def read_run(path: Path) -> Run:
    """Read lines of topic, Q0, document, rank, score and tag.

    The order is trec_eval's: by score, ties by document name, both falling; it ignores the rank.
    """
    scores: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
    for topic, _, document, _, score, _ in _rows(path):
        scores[topic].append((float(score), document))
    return {topic: [d for _, d in sorted(found, reverse=True)] for topic, found in scores.items()}


def read_output(path: Path) -> dict[str, dict[str, str]]:
    """Read what trec_eval printed: topic (or ``all``) to measure to value as printed."""
    printed: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for measure, topic, value in _rows(path):
        printed[topic][measure] = value
    return dict(printed)


def trec_ranking(
    grades: Mapping[str, int], documents: Sequence[str], *, k: int | None = None, level: int = 1
) -> Ranking:
    """Rank documents of which each is its own gold where its grade is at least ``level``.

    Args:
        grades: document to grade.
        documents: best first.
        k: cutoff; None: so deep that it cuts neither the list nor the ideal one.
        level: least grade that counts as relevant (trec_eval's ``-l``).
    """
    golds = {d: g for d, g in grades.items() if g >= level}
    position = {document: i for i, document in enumerate(golds)}
    k = max(1, len(documents), len(golds)) if k is None else k
    cut = documents[:k]
    return Ranking(
        matched=tuple(
            frozenset({position[document]} if document in position else ()) for document in cut
        ),
        duplicate=(False,) * len(cut),
        grades=tuple(golds.values()),
        k=k,
    )
