"""The figures of a standard suite as a document and as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.report.view.blocks import HEAD, Block, Fact, Line, Row, Status, Table
from pytest_rageval.support.text import counted, part

if TYPE_CHECKING:
    from pytest_rageval.analysis.suites import SuiteStudy, Verdict

_WORDS: Final[Mapping[Verdict, tuple[str, Status]]] = {
    "below": ("below", "bad"),
    "in_range": ("in the range", "good"),
    "above": ("above", "warn"),
}
_MEANINGS: Final[Mapping[Verdict, str]] = {
    "below": "below what BM25 reaches in the literature: look for documents that were not indexed "
    "or cut, ids that do not match, or a limit on the number of results",
    "in_range": "where the literature puts BM25: indexing, search and matching work",
    "above": "above what BM25 reaches in the literature, as a better ranking is",
}


def study_document(study: SuiteStudy) -> dict[str, Any]:
    """Return the figures of a suite as plain JSON values."""
    return {
        "verdict": study.verdict,
        "n_questions": study.n,
        "left_out": dict(study.left_out),
        "figures": {
            one.published.key: {
                "value": one.value,
                "low": one.low,
                "high": one.high,
                "published": dict(one.published.values),
                "verdict": one.verdict,
            }
            for one in study.figures
        },
        "not_measured": [one.key for one in study.not_measured],
    }


def suite_notes(study: SuiteStudy, *, k: int, sent: bool = True) -> Iterator[str]:
    """Yield remarks for readers of the figures, one sentence each.

    Args:
        study: the figures.
        k: cutoff of the run.
        sent: whether the target was asked for k chunks.
    """
    if study.left_out:
        reasons = ", ".join(f"{n} {reason}" for reason, n in study.left_out.items())
        yield f"questions without figures: {reasons}"
    for one in study.not_measured:
        yield f"{one.key} is not measured with -k {k}; use -k {one.k}"
    if all(figure.value == 0 for figure in study.figures):
        yield "no question found any of its documents, so their names may not match the golds"
    deepest = max(figure.published.k for figure in study.figures)
    if study.cap is not None:
        though = part(", though {} were asked for", sent and k)
        yield (
            f"no answer has more than {counted(study.cap, 'chunk')}{though}: a limit of the target "
            f"lowers the figures at {deepest}"
        )
    if study.n_crowded:
        yield (
            f"{counted(study.n_crowded, 'answer')} of {k} chunks from fewer than {deepest} "
            "documents: with a larger -k more documents are compared"
        )


def catalogue_rows(suites: Sequence[Mapping[str, Any]]) -> Table:
    """Return the entries of ``rageval suite list`` for a terminal."""
    rows: list[Row] = []
    for one in suites:
        sizes = f"{one['n_documents']:>9,} documents {one['n_questions']:>5,} questions"
        figures = ", ".join(f"{key} {_range(values)}" for key, values in one["published"].items())
        facts: Line = (("\n", ""), (one["kind"], "weak"), ("\n", ""), (f"BM25: {figures}", "weak"))
        rows.append((((one["name"], "strong"),), ((sizes, ""), *facts)))
    return Table(("", ""), rows)


def _range(values: Mapping[str, float]) -> str:
    return " to ".join(f"{value:.4f}" for value in sorted(set(values.values())))


def suite_lines(document: Mapping[str, Any]) -> Iterator[Block]:
    """Yield the document of ``rageval suite run`` as lines for a terminal."""
    sizes = f"{document['n_documents']:,} documents, {document['n_questions']:,} questions"
    yield Fact("suite", f"{document['suite']}: {document['title']}, {sizes}")
    yield Fact("target", document["target"])
    rows: list[Row] = []
    for key, row in document["figures"].items():
        interval = "" if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}"
        published = _range(row["published"])
        verdict = (_WORDS[row["verdict"]],)
        rows.append((key, row["value"], interval, published, verdict))
    yield Table(("", ">measured", ">95% CI", ">published", "verdict"), rows)
    yield Fact("source", document["source"])
    for note in document["notes"]:
        yield Fact("note", note, "warn", "warn")
    yield f"{'run':<{HEAD}}{document['run']}"  # whole, to be copied
    found = document["verdict"]
    yield Fact("verdict", _MEANINGS[found], _WORDS[found][1])
