"""Agreement as text of at most 80 columns: of a judge with people, and among annotators."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_rageval.report.text.summary import interval_text
from pytest_rageval.support.text import clean, counted, format_value, wrapped_text

_CLASSES: Final = {
    "groundedness": "answers that are not grounded",
    "correctness": "incorrect answers",
    "abstention": "answers that abstain",
}
_PROBES: Final = {"verbosity": "padded", "order": "reordered"}
_WIDTH: Final = 80
_NOTED: Final = 0.05
"""Minimum gain of kappa for another pass line to be mentioned."""
_SHOWN: Final = 8
"""Disagreements that are listed."""


def calibration_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a calibration as plain text."""
    kinds = ", ".join(f"{kind} {n}" for kind, n in document["errors"].items())
    yield from _wrap(
        f"{document['judge']} under {document['rubric_version'] or document['rubric']}: "
        f"{counted(document['n'], 'labelled answer')} judged, "
        f"{counted(document['n_error'], 'error')}{f' ({kinds})' if kinds else ''}"
    )
    for label, n in document["left_out"].items():
        yield from _wrap(f"left out: {n} labelled {label}")
    if document["n_not_applicable"]:
        yield from _wrap(f"nothing to score: {counted(document['n_not_applicable'], 'answer')}")
    yield (
        f"{'source':<16}{'n':>6}{'errors':>7}{'AUROC':>8}{'kappa':>8}{'95% CI':>13}"
        f"{'prec.':>7}{'rec.':>7}{'F1':>7}"
    )
    yield _row("all", document)
    if len(document["by_source"]) > 1:
        yield from (_row(name, row) for name, row in document["by_source"].items())
    yield from _explanation(document)
    yield from _disagreements(document)
    for name, probe in (document["probes"] or {}).items():
        yield from _wrap(_probe(name, probe))
    if document["drift"] is not None:
        yield from _wrap(document["drift"]["text"])


def _wrap(text: str) -> Iterator[str]:
    yield from wrapped_text(clean(text), _WIDTH, rest="  ")


def _row(name: str, row: Mapping[str, Any]) -> str:
    figures = (format_value(row[key]) for key in ("precision", "recall", "f1"))
    interval = interval_text(row["kappa_low"], row["kappa_high"])
    return (
        f"{clean(name, 15):<16}{row['n']:>6}{row['n_error']:>7}{format_value(row['auroc']):>8}"
        f"{format_value(row['kappa']):>8}{interval:>13}{''.join(f'{text:>7}' for text in figures)}"
    )


def _explanation(document: Mapping[str, Any]) -> Iterator[str]:
    line = document["threshold"]
    side = "above" if document.get("direction") == "lower" else "below"
    beyond = "" if line is None else f", which score {side} {line:g}"
    n = len(document["by_source"])
    pooled = format_value(document["auroc_pooled"])
    macro = f" AUROC is the mean over sources; pooled {pooled}." if n > 1 else ""
    yield from _wrap(
        f"accuracy {format_value(document['accuracy'])}; precision and recall of "
        f"{_CLASSES.get(document['rubric'], 'bad answers')}{beyond}.{macro}"
    )
    best = document["best_threshold"]
    if best is not None and best["kappa"] >= (document["kappa"] or 0.0) + _NOTED:
        # Rounded up, the threshold would exclude the answers at it.
        rounded_down = math.floor(best["threshold"] * 1000) / 1000
        yield from _wrap(
            f"note: on these answers kappa is highest, {best['kappa']:.2f}, at --threshold "
            f"{rounded_down:g}; chosen here, it flatters the judge"
        )


def _disagreements(document: Mapping[str, Any]) -> Iterator[str]:
    found = document["disagreements"]
    if not found:
        return
    shown = [
        f"{one['id']} ({one['label']}, scored {format_value(one['score'])})"
        for one in found[:_SHOWN]
    ]
    more = f" and {len(found) - _SHOWN} more (--json)" if len(found) > _SHOWN else ""
    yield from _wrap(
        f"people and judge disagree on {len(found)} of {counted(document['n'], 'answer')}, the "
        f"clearest first: {', '.join(shown)}{more}"
    )


def _probe(name: str, probe: Mapping[str, Any]) -> str:
    failed = f"; {counted(probe['n_error'], 'error')}" if probe["n_error"] else ""
    if not probe["n"]:
        return f"{_PROBES[name]} answers: none could be compared{failed}"
    return (
        f"{_PROBES[name]} answers: {probe['n_higher']} of {probe['n']} scored higher "
        f"({interval_text(probe['low'], probe['high'])}), {probe['n_newly_passed']} of them rose "
        f"over the threshold; mean shift {probe['mean_shift']:+.3f}{failed}"
    )


_STATISTICS: Final = {"cohen_kappa": "Cohen's kappa", "krippendorff_alpha": "Krippendorff's alpha"}
_ROWS: Final = (("chunks", "evidence or not"), ("answerable", "answerable or not"))


def agreement_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of an agreement as plain text."""
    people = ", ".join(f"{name} {n}" for name, n in document["annotators"].items())
    yield from _wrap(f"{document['file']}: cases labelled by {people}")
    statistic = _STATISTICS[document["chunks"]["statistic"]]
    confidence = f"{document['confidence']:.0%} CI"
    yield f"{'':<18}{statistic:>21}{confidence:>15}{'agreed':>8}{'n':>7}{'cases':>7}"
    rows = {name: document[key] for key, name in _ROWS}
    for name, row in rows.items():
        interval = interval_text(row["low"], row["high"])
        yield (
            f"{name:<18}{format_value(row['value']):>21}{interval:>15}"
            f"{format_value(row['observed']):>8}{row['n']:>7}{row['n_cases']:>7}"
        )
    for name, row in rows.items():
        if not row["n"]:
            yield f"{name}: nothing was labelled by two"
        elif row["value"] is None:
            n = counted(row["n"], "thing")
            yield f"{name}: all said the same of {n}, which leaves no value"
