"""How far annotators agree, as text of at most 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_rageval.report.text.summary import interval_text
from pytest_rageval.support.numbers import format_value
from pytest_rageval.support.text import clean, counted

_WIDTH: Final = 80
_STATISTICS: Final = {
    "cohen_kappa": "Cohen's kappa",
    "krippendorff_alpha": "Krippendorff's alpha",
}
_ROWS: Final = (("chunks", "evidence or not"), ("answerable", "answerable or not"))


def agreement_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of an agreement for people, fit for any terminal.

    Args:
        document: what ``rageval label FILE --agreement --json`` prints.
    """
    people = ", ".join(f"{name} {n}" for name, n in document["annotators"].items())
    title = f"{document['file']}: cases labelled by {people}"
    yield from textwrap.wrap(clean(title), _WIDTH, subsequent_indent="  ")
    statistic = _STATISTICS[document["chunks"]["statistic"]]
    confidence = f"{document['confidence']:.0%} CI"
    yield f"{'':<18}{statistic:>21}{confidence:>15}{'agreed':>8}{'n':>7}{'cases':>7}"
    for key, name in _ROWS:
        yield _row(name, document[key])
    for key, name in _ROWS:
        yield from _explanation(name, document[key])


def _row(name: str, row: Mapping[str, Any]) -> str:
    interval = interval_text(row["low"], row["high"])
    return (
        f"{name:<18}{format_value(row['value']):>21}{interval:>15}"
        f"{format_value(row['observed']):>8}{row['n']:>7}{row['n_cases']:>7}"
    )


def _explanation(name: str, row: Mapping[str, Any]) -> Iterator[str]:
    if not row["n"]:
        yield f"{name}: nothing was labelled by two"
    elif row["value"] is None:
        yield f"{name}: all said the same of {counted(row['n'], 'thing')}, which leaves no value"
