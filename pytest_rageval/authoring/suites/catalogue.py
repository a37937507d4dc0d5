"""The standard suites, with the figures of BM25 in the literature.

The figures are those of the regression pages of Anserini, which recomputes them: BM25 with k1 = 0.9
and b = 0.4 over Lucene's English terms, once with title and text in one field (``flat``) and once
in two (``multifield``). Sizes are those that ir-datasets 0.6 gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pytest_rageval.analysis.suites import Published
from pytest_rageval.support.reading import hint
from pytest_rageval.values.errors import ConfigError

_PAGES: Final = (
    "https://github.com/castorini/anserini/blob/master/docs/regressions/regressions-beir-v1.0.0-"
)
EMBEDDED_MAX: Final = 60_000
"""Documents up to which the embedded server holds a corpus."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A corpus with questions, judgements and published figures."""

    name: str
    title: str
    kind: str
    """Nature of its questions."""
    dataset: str | None
    """Name in ir-datasets; None: it comes with this package."""
    n_documents: int
    n_questions: int
    published: tuple[Published, ...]
    source: str
    """Place of the figures in the literature."""


def find_suite(name: str) -> Suite:
    """Return the suite of a name.

    Raises:
        ConfigError: there is no such suite.
    """
    if name not in SUITES:
        raise ConfigError.of(
            "",
            "unknown",
            what=f"suite {name!r}",
            **(hint(name, SUITES) or {"advice": f", expected one of {', '.join(SUITES)}"}),
        )
    return SUITES[name]


def _beir(
    name: str,
    title: str,
    kind: str,
    sizes: tuple[int, int],
    figures: tuple[tuple[float, float], tuple[float, float]],
    *,
    split: str = "/test",
) -> Suite:
    """Return a suite of BEIR.

    Its figures are nDCG@10 and recall@100, each of the flat and of the multifield index.
    """
    ndcg_10, recall_100 = figures
    return Suite(
        name=name,
        title=title,
        kind=kind,
        dataset=f"beir/{name}{split}",
        n_documents=sizes[0],
        n_questions=sizes[1],
        published=(
            Published(metric="ndcg", k=10, values=_variants(ndcg_10)),
            Published(metric="recall", k=100, values=_variants(recall_100)),
        ),
        source=f"{_PAGES}{name}.flat.md and .multifield.md",
    )


def _variants(figures: tuple[float, float]) -> Mapping[str, float]:
    return dict(zip(("BM25 flat", "BM25 multifield"), figures, strict=True))


_TINY: Final = Suite(
    name="tiny",
    title="Notes of a harbour town",
    kind="short questions; comes with this package",
    dataset=None,
    n_documents=12,
    n_questions=14,
    published=(
        Published(metric="ndcg", k=10, values={"BM25": 0.9186}),
        Published(metric="recall", k=3, values={"BM25": 0.9286}),
    ),
    source="BM25 (k1 = 0.9, b = 0.4), computed for this package and again by its tests",
)
_STANDARD: Final = (
    _beir("scifact", "SciFact", "claims about abstracts of papers", (5_183, 300),
          ((0.6789, 0.6647), (0.9253, 0.9076))),
    _beir("nfcorpus", "NFCorpus", "questions of lay people about medical papers, graded",
          (3_633, 323), ((0.3218, 0.3254), (0.2457, 0.2500))),
    _beir("arguana", "ArguAna", "arguments whose counterargument is sought", (8_674, 1_406),
          ((0.3970, 0.4142), (0.9324, 0.9431)), split=""),
    _beir("scidocs", "SCIDOCS", "titles of papers whose citations are sought", (25_657, 1_000),
          ((0.1490, 0.1581), (0.3477, 0.3561)), split=""),
    _beir("fiqa", "FiQA-2018", "questions about money, answered in forums", (57_638, 648),
          ((0.2361, 0.2361), (0.5395, 0.5395))),
    _beir("trec-covid", "TREC-COVID", "topics of TREC, deeply judged and graded", (171_332, 50),
          ((0.5947, 0.6559), (0.1091, 0.1141)), split=""),
    _beir("hotpotqa", "HotpotQA", "multi-hop: two articles of Wikipedia each", (5_233_329, 7_405),
          ((0.6330, 0.6027), (0.7957, 0.7400))),
)  # fmt: skip
SUITES: Final[Mapping[str, Suite]] = {one.name: one for one in (_TINY, *_STANDARD)}
