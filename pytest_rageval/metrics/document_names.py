"""Paths of documents as the anchors of a case name them (docs/matching.md#matching). Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from pytest_rageval.metrics.matching import norm_path
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import AskResponse, Citation, RetrievedChunk

_Named = TypeVar("_Named", RetrievedChunk, Citation)


def with_own_names(
    response: AskResponse, anchors: Iterable[Anchor], settings: ScoreSettings
) -> AskResponse:
    """Return a response whose chunks and references name documents as ``own_names`` does."""
    chunks, references = response.retrieved_chunks or (), response.references or ()
    anchors = tuple(anchors)
    own_chunks = own_names(chunks, anchors, settings)
    own_references = own_names(references, anchors, settings)
    if own_chunks is not chunks:
        response = replace(response, retrieved_chunks=tuple(own_chunks))
    if own_references is not references:
        response = replace(response, references=tuple(own_references))
    return response


def own_names(
    found: Sequence[_Named], anchors: Iterable[Anchor], settings: ScoreSettings
) -> Sequence[_Named]:
    """Return chunks or citations with the paths that the anchors of a case use.

    A path that an anchor names stays. Else the folder of ``strip_root`` that it lies in is taken
    off, and what its first or last ``#`` or ``?`` begins where an anchor names the rest. Names that
    were changed are not changed again.

    Args:
        found: returned itself if no path changes.
        anchors: golds and irrelevant supports of the case.
        settings: ``strip_root`` and ``path_case`` are used.
    """
    paths = [one.rel_path for one in found]
    if not settings.strip_root and not any("#" in path or "?" in path for path in paths if path):
        return found
    known = {norm_path(anchor.rel_path, settings.path_case) for anchor in anchors}
    own = [path and _own_name(path, known, settings) for path in paths]
    if own == paths:
        return found
    return [
        one if one.rel_path == path else replace(one, rel_path=path)
        for one, path in zip(found, own, strict=True)
    ]


def _own_name(path: str, known: Collection[str], settings: ScoreSettings) -> str:
    path_case = settings.path_case
    if norm_path(path, path_case) in known:
        return path
    parts = [part for part in path.replace("\\", "/").split("/") if part not in {"", "."}]
    for root in settings.strip_root:
        normal = norm_path(root, path_case)
        depth = normal.count("/") + 1
        if parts[depth:] and norm_path("/".join(parts[:depth]), path_case) == normal:
            path = "/".join(parts[depth:])
            break
    if norm_path(path, path_case) not in known:
        places = [match.start() for match in re.finditer(r"[#?]", path)]
        for place in {*places[:1], *places[-1:]}:
            if norm_path(path[:place], path_case) in known:
                return path[:place]
    return path


def without_roots(answer: str, roots: Iterable[str]) -> str:
    """Return an answer without the folders of ``strip_root`` before the paths that it writes.

    >>> without_roots("See [File: /srv/docs/a.md] and other/srv/docs/b.md.", ["/srv/docs"])
    'See [File: a.md] and other/srv/docs/b.md.'
    """
    for root in roots:
        answer = re.sub(rf"(?<![\w/.\\-]){re.escape(root.rstrip('/'))}[/\\]+", "", answer)
    return answer
