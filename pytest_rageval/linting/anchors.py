"""Anchors against notes: documents, sections and snippets that are no longer there. Pure."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from pytest_rageval.linting.findings import LintFinding, PlacedCase, finding
from pytest_rageval.matching import anchor_segments, norm_path, norm_text, starts_with
from pytest_rageval.models import Anchor

if TYPE_CHECKING:
    from pytest_rageval.notes import Note, Section

_NEAR: Final = 0.6
"""Similarity, 0 to 1, from which another text is offered."""
_CLOSE_CHARS: Final = 90
_MOST_CANDIDATES: Final = 2_000
"""Lines of a document that a snippet is held against."""
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")


class AnchorIndex:
    """The notes of a vault, by what anchors name.

    Args:
        notes: of one vault.
    """

    def __init__(self, notes: Iterable[Note]) -> None:
        self._notes = {note.normal_path: note for note in notes}
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for path, note in self._notes.items():
            self._by_name[_name(path)].append(note.rel_path)

    def check(self, placed: PlacedCase) -> Iterator[LintFinding]:
        """Yield a finding for each anchor of a case, and each snippet, that is not there."""
        for kind in ("gold_supports", "irrelevant_supports"):
            anchors: Sequence[Anchor] = getattr(placed.case, kind)
            for index, anchor in enumerate(anchors):
                yield from self._anchor(placed, f"{kind}[{index}]", anchor)

    def _anchor(self, placed: PlacedCase, field: str, anchor: Anchor) -> Iterator[LintFinding]:
        note = self._notes.get(norm_path(anchor.rel_path))
        if note is None:
            message = f"{anchor.rel_path!r} is no note of the vault{self._other_path(anchor)}"
            yield finding(placed, "error", "unknown-document", message, field=f"{field}.rel_path")
            return
        wanted = anchor_segments(anchor)
        within = [one for one in note.sections if starts_with(one.segments, wanted)]
        if not within:
            message = f"no section {anchor.heading_path!r} in {note.rel_path}"
            hint = _other_section(note, anchor, wanted)
            place = f"{field}.heading_path"
            yield finding(placed, "error", "unknown-section", f"{message}{hint}", field=place)
            return
        for number, snippet in enumerate(anchor.snippets):
            wanted_text = norm_text(snippet)
            if not any(wanted_text in section.normal_text for section in within):
                message = f"{_short(snippet)!r} is not in {_where(note, anchor)}"
                hint = _other_text(note, within, wanted_text)
                place = f"{field}.snippets[{number}]"
                yield finding(placed, "error", "unknown-snippet", f"{message}{hint}", field=place)

    def _other_path(self, anchor: Anchor) -> str:
        path = norm_path(anchor.rel_path)
        paths = [note.rel_path for note in self._notes.values()]
        moved = self._by_name.get(_name(path), [])
        near = [moved[0]] if len(moved) == 1 else []
        near = near or difflib.get_close_matches(anchor.rel_path[:200], paths, n=1, cutoff=_NEAR)
        return f", did you mean {near[0]!r}?" if near else ""


def _name(path: str) -> str:
    return path.rpartition("/")[2].casefold()


def _where(note: Note, anchor: Anchor) -> str:
    return f"{note.rel_path} {anchor.heading_path}".rstrip()


def _other_section(note: Note, anchor: Anchor, wanted: Sequence[str]) -> str:
    """Say where the anchor's snippets stand now, else which heading is nearest."""
    snippets = [norm_text(snippet) for snippet in anchor.snippets]
    for section in note.sections:
        if snippets and all(snippet in section.normal_text for snippet in snippets):
            return f", did you mean {section.heading_path!r}, which holds its snippets?"
    paths = {" > ".join(section.segments): section.heading_path for section in note.sections}
    target = " > ".join(wanted)
    near = difflib.get_close_matches(target[:500], [*paths], n=1, cutoff=_NEAR)
    if near:
        return f", did you mean {paths[near[0]]!r}?"
    last = [one.heading_path for one in note.sections if one.segments[-1:] == tuple(wanted[-1:])]
    return f", did you mean {last[0]!r}?" if last else ""


def _other_text(note: Note, within: Sequence[Section], wanted: str) -> str:
    """Say where the snippet stands now, else which sentence is nearest."""
    for section in note.sections:
        if wanted in section.normal_text:
            return f"; it stands in {section.heading_path!r}"
    near = _nearest_sentence(within, wanted)
    return f", did you mean {_short(near)!r}?" if near else ""


def _nearest_sentence(sections: Iterable[Section], wanted: str) -> str | None:
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted[:500])
    best, best_ratio = None, _NEAR
    for sentence in _sentences(sections):
        matcher.set_seq1(norm_text(sentence)[:500])
        if matcher.real_quick_ratio() > best_ratio and matcher.quick_ratio() > best_ratio:
            ratio = matcher.ratio()
            if ratio > best_ratio:
                best, best_ratio = sentence, ratio
    return best


def _sentences(sections: Iterable[Section]) -> Iterator[str]:
    count = 0
    for section in sections:
        body = " ".join(section.text.split("\n")[1 if section.depth else 0 :])
        for sentence in (*section.text.split("\n"), *_SENTENCE.split(body)):
            if sentence.strip():
                count += 1
                if count > _MOST_CANDIDATES:
                    return
                yield sentence.strip()


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _CLOSE_CHARS else f"{flat[: _CLOSE_CHARS - 3]}..."
