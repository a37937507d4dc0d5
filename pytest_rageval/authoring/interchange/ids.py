"""Conversion of names from other tools to valid names: case ids, labels, paths and docnos."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from itertools import count
from typing import Any, Final
from urllib.parse import unquote

from pytest_rageval.metrics.matching import norm_text
from pytest_rageval.metrics.quotes import SEPARATORS
from pytest_rageval.values.case import HIDDEN, Anchor

_NOT_IN_LABEL: Final = re.compile(rf"[\s\[\]{HIDDEN}]+|::+")
_NOT_IN_SEGMENT: Final = re.compile(r"[^\w.~()+=@,-]+")
_SLUG_WORDS: Final = 6
_SLUG_CHARS: Final = 48
_SEGMENT_CHARS: Final = 100
NOTE_SUFFIXES: Final = (".md", ".markdown")


def clean_label(text: str, *, blank: str = "-") -> str:
    """Return a text as a valid id, category or tag: no spaces, brackets, ``::`` or controls.

    Args:
        text: any.
        blank: replaces invalid characters.

    Returns:
        The text itself if it is valid; empty if none of its characters is.
    """
    cleaned = _NOT_IN_LABEL.sub(blank, text.strip())
    return text if cleaned == text else cleaned.strip(blank)


def clean_case_id(text: str) -> str:
    """Return a text as a valid case id; empty if none of its characters is valid."""
    found = "/".join("-" if p in {".", ".."} else p for p in clean_label(text).split("/"))
    # Single colons are kept, repeated ones are not.
    return "" if found == ":" else found


def short_hash(text: str) -> str:
    """Return a short hash of a text: 6 hex digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]


def id_from_question(question: str, *place: str) -> str:
    """Return an id for a case without one, which depends only on the question and its place.

    >>> id_from_question("How long do I have to request a refund?")
    'how-long-do-i-have-to-0de263'
    """
    words = norm_text(question).translate(SEPARATORS).split()
    named = [word for word in words if word[0].isalnum()]  # no selector of an emoji alone
    slug = "-".join(named[:_SLUG_WORDS])[:_SLUG_CHARS].strip("-") or "case"
    digest = short_hash("\0".join((question, *place)))
    return f"{slug}-{digest}"


class UniqueIds:
    """Gives each case a valid and unique id."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._numbers = defaultdict[str, Iterator[int]](lambda: count(2))
        self.by_original: dict[str, str] = {}
        """Id of the first case of each original id, in the file that is read."""

    def take(self, wanted: str | None, question: str) -> str:
        """Return the id of the next case.

        Args:
            wanted: original id; None or empty if absent.
            question: source of the id without an original one.
        """
        base = clean_case_id(wanted or "") or id_from_question(question)
        found = base
        while found in self._taken:  # numbers go on, as thousands of cases may want one id
            found = f"{base}-{next(self._numbers[base])}"
        self._taken.add(found)
        self.by_original.setdefault(wanted or found, found)
        return found


# --- documents -------------------------------------------------------------------------------


def folder_of_prefix(prefix: str) -> str:
    """Return a scope prefix such as ``eval:sample:`` as a folder, ``eval/sample/``."""
    segments = [_segment(part) for part in re.split(r"[:/\\]+", prefix) if part.strip()]
    return "".join(f"{segment}/" for segment in segments)


class DocumentPaths:
    """Converts document ids to paths of Markdown notes; the same id gives the same path.

    Args:
        prefix: of the dataset's ids, such as ``eval:sample:``; may be empty.
        folder: of the paths, with its final ``/``.
    """

    def __init__(self, prefix: str, folder: str) -> None:
        self.folder = folder
        self._prefix = prefix
        self._paths: dict[str, str] = {}
        self._owner: dict[str, str] = {}

    def path(self, source_id: str) -> str:
        """Return the path of a document: below the folder unless its id lacks the prefix."""
        found = self._paths.get(source_id)
        if found is None:
            found = self._new_path(source_id)
            # Two ids may give the same path.
            if self._owner.setdefault(found, source_id) != source_id:
                stem, dot, suffix = found.rpartition(".")
                found = f"{stem}-{short_hash(source_id)}{dot}{suffix}"
                self._owner[found] = source_id
            self._paths[source_id] = found
        return found

    def _new_path(self, source_id: str) -> str:
        inside = source_id.startswith(self._prefix)
        tail = source_id[len(self._prefix) :] if inside else source_id
        segments = [_segment(part) for part in re.split(r"[:/\\]+", tail) if part.strip()]
        path = "/".join(segments) or _segment(source_id)
        path = path if path.lower().endswith(NOTE_SUFFIXES) else f"{path}.md"
        return f"{self.folder if inside else ''}{path}"


def _segment(text: str) -> str:
    """Return a text as a path segment; if it had to change, with a hash to stay unique."""
    cleaned = _NOT_IN_SEGMENT.sub("-", unicodedata.normalize("NFC", text.strip()))
    cleaned = cleaned[:_SEGMENT_CHARS].strip("-")
    if not cleaned.strip("."):
        cleaned = "document"
    return cleaned if cleaned == text else f"{cleaned}-{short_hash(text)}"


# --- docnos ----------------------------------------------------------------------------------

_HEADING_MARK: Final = "##"
_NOT_IN_DOCNO: Final = re.compile(rf"[\s%{HIDDEN}\u2028\u2029]")


def docno(anchor: Anchor) -> str:
    """Return document and heading as one token without spaces, for qrels and runs.

    >>> docno(Anchor(rel_path="a b.md", heading_path="# A > ## B"))
    'a%20b.md###%20A%20>%20##%20B'
    """
    path = _encoded(anchor.rel_path).replace("#", "%23")
    return path + (f"{_HEADING_MARK}{_encoded(anchor.heading_path)}" if anchor.heading_path else "")


def anchor_fields(name: str) -> dict[str, Any]:
    """Parse the result of ``docno``; any other name is used as the path of a document."""
    path, mark, heading = name.partition(_HEADING_MARK)
    if not path:
        return {"rel_path": name}
    found: dict[str, Any] = {"rel_path": unquote(path)}
    if mark and heading:
        found["heading_path"] = unquote(heading)
    return found if docno(Anchor(**found)) == name else {"rel_path": name}


def _encoded(text: str) -> str:
    def escape(match: re.Match[str]) -> str:
        return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))

    return _NOT_IN_DOCNO.sub(escape, text)
