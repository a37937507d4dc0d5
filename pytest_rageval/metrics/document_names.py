"""Paths of documents as the anchors of a case name them (docs/metrics.md#matching). Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from pytest_rageval.metrics.matching import NORMAL_PATHS
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import AskResponse, Citation, RetrievedChunk

_Named = TypeVar("_Named", RetrievedChunk, Citation)
_SUFFIX: Final = re.compile(r"[#?]")
"""First character of a place within a document, such as ``#chunk-3`` or ``?page=2``."""


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
    if not settings.strip_root and not any(["#" in path or "?" in path for path in paths if path]):
        return found
    normal = NORMAL_PATHS[settings.path_case]
    known = {normal[anchor.rel_path] for anchor in anchors}
    own = [path and _own_name(path, known, settings.strip_root, normal) for path in paths]
    if own == paths:
        return found
    return [
        one if one.rel_path == path else replace(one, rel_path=path)
        for one, path in zip(found, own, strict=True)
    ]


def _own_name(
    path: str, known: Collection[str], roots: Iterable[str], normal: Mapping[str, str]
) -> str:
    if normal[path] in known:
        return path
    path = next((below for root in roots if (below := _below(path, root, normal))), path)
    if normal[path] not in known:
        places = [match.start() for match in _SUFFIX.finditer(path)]
        for place in {*places[:1], *places[-1:]}:
            if normal[path[:place]] in known:
                return path[:place]
    return path


def _below(path: str, root: str, normal: Mapping[str, str]) -> str:
    """Return a path relative to a folder; empty: it does not lie in it."""
    parts = [part for part in path.replace("\\", "/").split("/") if part not in {"", "."}]
    depth = normal[root].count("/") + 1
    inside = normal["/".join(parts[:depth])] == normal[root]
    return "/".join(parts[depth:]) if inside else ""


def without_roots(answer: str, roots: Iterable[str]) -> str:
    """Return an answer without the folders of ``strip_root`` before the paths that it writes.

    >>> without_roots("See [File: /srv/docs/a.md] and other/srv/docs/b.md.", ["/srv/docs"])
    'See [File: a.md] and other/srv/docs/b.md.'
    """
    for root in roots:
        answer = re.sub(rf"(?<![\w/.\\-]){re.escape(root.rstrip('/'))}[/\\]+", "", answer)
    return answer
