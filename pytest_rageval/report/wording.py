"""Words that every kind of report shares: rules of matching, scales, faults of the target.

They contain names of fields and expressions of the settings, no text of a reply.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from pytest_rageval.analysis.aggregate.operational import (
    ChunkFaults,
    HeadingFaults,
    chunk_faults,
    heading_faults,
    path_faults,
)
from pytest_rageval.metrics.deciding import UNDECIDED
from pytest_rageval.metrics.registry import MetricInfo, unit_of
from pytest_rageval.support.text import clean, counted, cut, format_value, part, plural
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import MATCH_RULES
from pytest_rageval.values.settings import Settings

_BY_DOCUMENT: Final = (
    "without a heading, text or page to compare, such a case is matched by document (doc_hit_at_k)"
)


def rules_text(matching: Mapping[str, int]) -> str:
    """Return the number of chunks by rule: ``heading 812, snippet 40``.

    Empty where headings decided alone, which needs no mention. Chunks that no rule could compare
    are said to be known by their document alone, which the outcome of their cases then depends on.
    """
    counts = {name: matching.get(name, 0) for name in (*MATCH_RULES, UNDECIDED)}
    found = {name: n for name, n in counts.items() if n}
    if found.keys() <= {"heading"}:
        return ""
    alone = found.pop(UNDECIDED, 0)
    text = ", ".join(f"{name} {n}" for name, n in found.items())
    if not alone:
        return text
    known = f"{text}; {alone} by document alone" if text else f"document alone {alone}"
    return f"{known}: {_BY_DOCUMENT}"


def scale_end(info: MetricInfo | None) -> float | None:
    """Return the best value that a score can have, where it is not 1; None: it is, or it is open.

    Args:
        info: definition of the metric; None: unknown.
    """
    low, high = (0.0, None) if info is None else info.scale
    return high if low >= 0 and high != 1 else None


def of_scale(info: MetricInfo | None) -> str:
    """Return the best value of a score as `` of 5``; empty if it is 1, or open."""
    end = scale_end(info)
    return "" if end is None else f" of {end:g}"


def scaled(value: float | None, end: float | None, key: str = "") -> str:
    """Return a value with the end of its scale, such as ``4.506 of 5``.

    Args:
        value: of a metric; None is ``-``.
        end: result of ``scale_end``.
        key: of the metric, which decides the unit.
    """
    shown = format_value(value, unit_of(key))
    return shown if end is None or value is None else f"{shown} of {end:g}"


_IN_PYTHON = ("rag_client fixture", "given to evaluate()")
"""Words of the name of a target that is a function of the user."""
_FIELDS = ("retrieved_chunks", "debug.retrieved_chunks")


def chunk_sentences(
    records: Collection[CaseRecord], settings: Settings, asked: Collection[str] = ()
) -> Iterator[str]:
    """Say which replies lack retrieved chunks, or their headings, of which cases name some."""
    found = chunk_faults(records)
    fixture = any(one in target for one in _IN_PYTHON for target in asked)
    in_code = fixture or any(target.startswith("client ") for target in asked)
    response = None if in_code else settings.target.response  # not applied to Python values
    if headings := heading_faults(records):
        yield _by_document_alone(headings, fixture=fixture)
    if (n_other := path_faults(records)) is not None:
        yield _other_paths(n_other, response)
    if found and found.unreported:
        yield _unreported(found, response, in_code=in_code)
    if found and found.all_empty:
        yield _all_empty(found, response)


def _unreported(
    found: ChunkFaults, response: str | Mapping[str, str] | None, *, in_code: bool
) -> str:
    have = plural(found.n_cases, "has", "have")
    some = (
        f"no reply reported retrieved_chunks ({counted(found.n_cases, 'case')} {have} golds)"
        if found.unreported == found.n_cases
        else f"{found.unreported} of {found.n_cases} replies to cases with golds "
        "reported no retrieved_chunks"
    )
    keys = part("; keys that came: {}", ", ".join(found.keys))
    if response is not None and (shown := _expression(response)):
        advice = f"their expression in [tool.rageval.target.response], {shown}, found nothing"
    elif "retrieved_chunks" in found.keys:
        advice = "put retrieved_chunks in debug: {answer, debug: {retrieved_chunks}}"
    elif in_code:
        advice = "return the chunks as debug.retrieved_chunks, or in an AskResponse"
    else:
        advice = "map them with [tool.rageval.target.response], see `rageval doctor`"
    return f"retrieval was not checked: {some}{keys}; {advice}"


def _by_document_alone(found: HeadingFaults, *, fixture: bool) -> str:
    some = f"{found.by_document} of {counted(found.n_cases, 'case')}"
    if found.reported:
        text = (
            f"no gold matched by its heading: in {some} the document of a gold was retrieved, and "
            "its chunks name other headings than the golds"
        )
    else:
        text = (
            f"no gold could be compared by its section: in {some} the document of a gold was "
            "retrieved, and its chunks name no headings; these cases are matched by document"
        )
    every = "" if fixture else ", `rageval check --target`, or with --rag-url URL, all"
    return f"{text}; `rageval doctor` compares those of a case{every}"


def _other_paths(n_cases: int, response: str | Mapping[str, str] | None) -> str:
    mapped = part(", mapped by {},", response and _expression(response))
    return (
        f"no document of a gold was retrieved in any of {counted(n_cases, 'case')}: if the "
        f"rel_path of the chunks{mapped} is another name than that of the golds, such as a title "
        "or an id, no chunk can match; `rageval explain` shows both"
    )


def _expression(response: str | Mapping[str, str]) -> str:
    """Return the beginning of the expression for the chunks."""
    expression = response
    if not isinstance(response, str):
        expression = next((response[name] for name in _FIELDS if name in response), "")
    return clean(cut(str(expression), 100))


def _all_empty(found: ChunkFaults, response: str | Mapping[str, str] | None) -> str:
    n = found.n_cases - found.unreported
    have = plural(n, "has", "have")
    text = f"every reply had 0 retrieved chunks ({counted(n, 'case')} {have} golds)"
    if response is None:
        return f"{text}; does the index hold documents?"
    shown = _expression(response)
    keys = part("; keys that came: {}", ", ".join(found.keys))
    return (
        f"{text}: the mapping of retrieved_chunks, {shown}, found nothing in any of them; a filter "
        f"or [] over a missing field yields an empty list{keys}"
    )
