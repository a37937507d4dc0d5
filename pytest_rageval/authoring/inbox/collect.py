"""A log in, the lines of an inbox file out: cases with the responses that were given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_rageval.authoring.inbox.masking import Masker
from pytest_rageval.authoring.inbox.messages import without_courtesy
from pytest_rageval.authoring.inbox.readers import READERS, Columns
from pytest_rageval.authoring.inbox.rows import iterate_rows
from pytest_rageval.authoring.inbox.traces import Traces
from pytest_rageval.authoring.inbox.values import Piece, Sampled, Stratum, Tally
from pytest_rageval.authoring.interchange.ids import UniqueIds
from pytest_rageval.authoring.interchange.values import fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """Lines of an inbox file."""

    lines: tuple[dict[str, Any], ...]
    """Lines of a case file with ``response``, and so of recorded responses."""
    tally: Tally
    masked: Mapping[str, int] | None
    """Number of masked texts by kind; None: nothing was to be masked."""


def collect(
    files: Sequence[Path],
    log: str,
    *,
    sample: int | None = None,
    by: Sequence[Stratum] = ("random",),
    mask: bool = False,
    columns: Columns | None = None,
) -> Collected:
    """Read logs, fold near-equal questions into families, and sample these.

    Args:
        files: of one system.
        log: a key of `READERS`.
        sample: families to take; None: all.
        by: groups to sample from.
        mask: whether to mask personal data and keys in everything that is returned.
        columns: of plain rows, by field.

    Raises:
        DatasetError: a file cannot be read, or has no request with a question.
        ConfigError: a library that is needed is missing.
    """
    masker = Masker() if mask else None
    traces = Traces()
    try:
        traces.add(_pieces(files, log, columns or {}, traces.tally))
        ids = UniqueIds()
        lines = tuple(_line(one, ids, masker) for one in traces.sample(sample, by))
    finally:
        traces.close()
    if not traces.tally.requests:
        raise fault(files[0].as_posix(), "no_requests", n_rows=traces.tally.rows, log=log)
    masked = None if masker is None else dict(+masker.counts)
    return Collected(lines=lines, tally=traces.tally, masked=masked)


def _pieces(files: Sequence[Path], log: str, columns: Columns, tally: Tally) -> Iterator[Piece]:
    form = READERS[log]
    for path in files:
        for number, row in iterate_rows(path, form.lists):
            tally.rows += 1
            try:
                pieces = [*form.read(row, columns)]
            except RecursionError:
                raise fault(path.as_posix(), "deep", line=number, expected="a row") from None
            own = f"{path.name}:{number}"
            yield from (one if one.trace or one.span else replace(one, trace=own) for one in pieces)


def _line(one: Sampled, ids: UniqueIds, masker: Masker | None) -> dict[str, Any]:
    """Return a family as a line of a case file, with what was answered under ``response``."""
    request = one.request
    metadata: dict[str, Any] = {
        "trace": request.trace,
        "at": request.at,
        "weight": round(one.weight, 6),
        "family": {"size": one.size, "share": round(one.share, 6)},
        "by": one.stratum,
        "feedback": request.feedback,
        "history": [dict(message) for message in request.history],
    }
    response: dict[str, Any] = {"answer": request.answer}
    if request.abstained is not None:
        response["abstained"] = request.abstained
    if request.references:
        response["references"] = list(request.references)
    if request.chunks is not None:
        response["debug"] = {"retrieved_chunks": list(request.chunks)}
    question, history = request.question, metadata["history"]
    if masker is not None:
        question, response = masker.text(question), masker.value(response)
        metadata["history"] = masker.value(history)
        metadata["trace"], metadata["at"] = map(masker.text, (request.trace, request.at))
    return {
        "id": ids.take(None, without_courtesy(question)),
        "question": question,
        "tags": ["inbox"],
        "metadata": {
            name: value for name, value in metadata.items() if value not in (None, "", [])
        },
        "response": response,
    }
