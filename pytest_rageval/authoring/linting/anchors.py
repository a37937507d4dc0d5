"""Anchors compared with notes, and with the chunks that a target retrieves."""

from __future__ import annotations

import difflib
import heapq
import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from pytest_rageval.authoring.linting.duplicates import jaccard, words
from pytest_rageval.authoring.linting.findings import (
    NEAR,
    LintFinding,
    PlacedCase,
    anchors_of,
    did_you_mean_heading,
    finding,
)
from pytest_rageval.authoring.notes import SUFFIXES
from pytest_rageval.judges.offline.claims import plain_text
from pytest_rageval.metrics.deciding import is_at, rule_for
from pytest_rageval.metrics.matching import (
    anchor_segments,
    norm_path,
    norm_text,
    own_names,
    starts_with,
)
from pytest_rageval.metrics.scoring import score_settings
from pytest_rageval.project.case_variables import case_variables
from pytest_rageval.support.project_code import last_place
from pytest_rageval.support.text import cut, did_you_mean, part
from pytest_rageval.support.threads import session_loop
from pytest_rageval.target.calling import call_client
from pytest_rageval.target.variables import new_uuid
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.errors import target_error, with_facts
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import AskRequest, RetrievedChunk, endpoint_error
from pytest_rageval.values.settings import Settings

if TYPE_CHECKING:
    from pytest_rageval.authoring.notes import NoteFile, NoteSection

_CLOSE_CHARS: Final = 90
_COMPARED: Final = 5
"""Number of sentences compared with a snippet by letters: those that share most words."""
_COMPARED_CHARS: Final = 500
_COMMON_WORDS: Final = 0.2
_MOST_GUESSES: Final = 200
"""Number of missing documents for which all paths of the vault are searched for similar ones, and
number of different snippets, or lists of them, for which all its texts are searched."""
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？।])\s*")


class AnchorIndex:
    """The notes of a vault, indexed for anchors."""

    def __init__(self, notes: Iterable[NoteFile]) -> None:
        self._notes = {note.normal_path: note for note in notes}
        self._by_name: dict[str, list[str]] = defaultdict(list)
        self._guesses: dict[str, str] = {}
        self._holders: dict[tuple[str, ...], str] = {}
        for path, note in self._notes.items():
            self._by_name[_name(path)].append(note.rel_path)

    def check(self, placed: PlacedCase) -> Iterator[LintFinding]:
        """Yield a finding for each missing anchor and snippet of a case."""
        for field, anchor in anchors_of(placed):
            yield from self._anchor(placed, field, anchor)

    def _anchor(self, placed: PlacedCase, field: str, anchor: Anchor) -> Iterator[LintFinding]:
        note = self._notes.get(norm_path(anchor.rel_path))
        if note is None:
            hint = self._other_path(anchor)
            if not hint and not anchor.rel_path.lower().endswith(SUFFIXES):
                hint = f", of which only {' and '.join(SUFFIXES)} files are read"
            message = f"{anchor.rel_path!r} is not a note of the vault{hint}"
            yield finding(placed, "error", "unknown-document", message, field=f"{field}.rel_path")
            return
        wanted = anchor_segments(anchor)
        within = [one for one in note.sections if starts_with(one.segments, wanted)]
        if not within:
            place = f"{field}.heading_path"
            hint = _other_section(note, anchor) or self._holder(anchor)
            hint = hint or did_you_mean_heading(wanted, (one.heading_path for one in note.sections))
            message = f"no section {anchor.heading_path!r} in {note.rel_path}{hint}"
            yield finding(placed, "error", "unknown-section", message, field=place)
            return
        for number, snippet in enumerate(anchor.snippets):
            wanted_text = norm_text(snippet)
            if not any(wanted_text in section.normal_text for section in within):
                where = f"{note.rel_path} {anchor.heading_path}".rstrip()
                place = f"{field}.snippets[{number}]"
                hint = _other_text(note, within, wanted_text)
                if not hint and (elsewhere := self._elsewhere([snippet])):
                    hint = f"; it stands in {elsewhere!r}"
                if not hint and (near := _nearest_sentence(within, wanted_text)):
                    hint = f", did you mean {_short(near)!r}?"
                message = f"{_short(snippet)!r} is not in {where}{hint}"
                yield finding(placed, "error", "unknown-snippet", message, field=place)

    def _other_path(self, anchor: Anchor) -> str:
        path = norm_path(anchor.rel_path)
        moved = self._by_name.get(_name(path), [])
        if len(moved) == 1:
            return f", did you mean {moved[0]!r}?"
        if holder := self._holder(anchor):
            return holder
        if path not in self._guesses and len(self._guesses) < _MOST_GUESSES:
            paths = [note.rel_path for note in self._notes.values()]
            self._guesses[path] = did_you_mean(anchor.rel_path, paths, cutoff=NEAR)
        return self._guesses.get(path, "")

    def _holder(self, anchor: Anchor) -> str:
        found = self._elsewhere(anchor.snippets)
        return part(", did you mean {!r}, which holds its snippets?", found)

    def _elsewhere(self, snippets: Sequence[str]) -> str:
        """Name the only section of the vault that has all snippets; empty: none, or several."""
        wanted = tuple(map(norm_text, snippets))
        if wanted and wanted not in self._holders and len(self._holders) < _MOST_GUESSES:
            found = [
                f"{note.rel_path} {section.heading_path}".rstrip()
                for note in self._notes.values()
                for section in note.sections
                if all(text in section.normal_text for text in wanted)
            ]
            self._holders[wanted] = found[0] if len(found) == 1 else ""
        return self._holders.get(wanted, "")


def _name(path: str) -> str:
    return path.rpartition("/")[2].casefold()


def _other_section(note: NoteFile, anchor: Anchor) -> str:
    """Suggest the section of the note that now has the anchor's snippets; empty: none has."""
    snippets = [norm_text(snippet) for snippet in anchor.snippets]
    for section in note.sections:
        if snippets and all(snippet in section.normal_text for snippet in snippets):
            return f", did you mean {section.heading_path!r}, which holds its snippets?"
    return ""


def _other_text(note: NoteFile, within: Sequence[NoteSection], wanted: str) -> str:
    """Name the section of the note that now has the snippet, or its form with markup."""
    for section in note.sections:
        if wanted in section.normal_text:
            return f"; it stands in {section.heading_path!r}"
    if marked := _sentence_with_markup(within, wanted):
        return f"; it stands there with markup: {_short(marked)!r}"
    return ""


def _sentence_with_markup(sections: Iterable[NoteSection], wanted: str) -> str | None:
    """Return the shortest sentence that contains a text as a page shows it, without markup."""
    sought, bare = frozenset(words(wanted)), norm_text(plain_text(wanted))
    found = (
        sentence
        for section in sections
        for sentence, held in _sentences(section.text, heading=section.depth > 0)
        if bare and sought <= held and bare in norm_text(plain_text(sentence))
    )
    return min(found, key=len, default=None)


def _nearest_sentence(sections: Iterable[NoteSection], wanted: str) -> str | None:
    sought = frozenset(words(wanted))
    alike = (
        (jaccard(sought, held), sentence)
        for section in sections
        for sentence, held in _sentences(section.text, heading=section.depth > 0)
    )
    few = heapq.nlargest(_COMPARED, (pair for pair in alike if pair[0] >= _COMMON_WORDS))
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted[:_COMPARED_CHARS])
    best, best_ratio = None, NEAR
    for _, sentence in few:
        matcher.set_seq1(norm_text(sentence)[:_COMPARED_CHARS])
        if matcher.ratio() > best_ratio:
            best, best_ratio = sentence, matcher.ratio()
    return best


@lru_cache(maxsize=256)
def _sentences(section: str, *, heading: bool) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the lines and sentences of a section, with the words of each."""
    lines = section.split("\n")
    body = " ".join(lines[1 if heading else 0 :])
    found = [text.strip() for text in (*lines, *_SENTENCE.split(body)) if text.strip()]
    return tuple((text, frozenset(words(text))) for text in dict.fromkeys(found))


def _short(text: str) -> str:
    return cut(" ".join(text.split()), _CLOSE_CHARS)


DEPTH: Final = 20
"""Number of chunks requested."""
_WORDS: Final = 40
_SECTIONS: Final = ScoreSettings(headings_reported=False)


def _key(case: Case, anchor: Anchor) -> Hashable:
    """Return what is equal for anchors of cases that need the same requests by the same user."""
    path, texts = norm_path(anchor.rel_path), tuple(map(norm_text, anchor.snippets))
    return repr(case.user), anchor.vault, path, anchor_segments(anchor), texts, anchor.pages


def probes(placed: PlacedCase, anchor: Anchor) -> tuple[AskRequest, ...]:
    """Return requests that should retrieve an anchor, most specific first."""
    name = norm_path(anchor.rel_path).rpartition("/")[2].rsplit(".", 1)[0]
    headings = " ".join(anchor_segments(anchor))
    texts = [*anchor.snippets, f"{name.replace('-', ' ')} {headings}", placed.case.whole_question]
    vaults = () if anchor.vault is None else (anchor.vault,)
    asked = dict.fromkeys(" ".join(text.split()[:_WORDS]) for text in texts)
    return tuple(AskRequest(question=text, k=DEPTH, vaults=vaults) for text in asked if text)


def lost_anchor(
    placed: PlacedCase, field: str, anchor: Anchor, chunks: Sequence[RetrievedChunk]
) -> LintFinding:
    """Return the finding about an anchor that none of the chunks matches.

    If its document was retrieved, the section does not exist under that name: an error. A document
    that was never retrieved may still be in the index: a warning.
    """
    document = norm_path(anchor.rel_path)
    own = [chunk for chunk in chunks if norm_path(chunk.rel_path) == document]
    headings = dict.fromkeys(chunk.heading_path for chunk in own)
    rules = {rule_for(anchor, chunk, _SECTIONS) for chunk in own}
    if rules and rules <= {"snippet", "pages"}:
        sought = "holds a snippet" if "snippet" in rules else "is on a page"
        message = f"no chunk of {anchor.rel_path} {sought} of the anchor, and none has a heading"
    elif headings and None not in headings:
        near = did_you_mean_heading(anchor_segments(anchor), filter(None, headings))
        message = f"no chunk of {anchor.rel_path} lies at {anchor.heading_path!r}{near}"
        return finding(placed, "error", "unknown-section", message, field=f"{field}.heading_path")
    elif headings:
        message = (
            f"the target reports no headings of {anchor.rel_path}, so no chunk can match; quote "
            "the evidence in snippets, or leave out heading_path to match the document"
        )
    else:
        others = sorted({chunk.rel_path for chunk in chunks})
        hint = did_you_mean(anchor.rel_path, others, cutoff=NEAR)
        if len(others) == 1 < len(chunks):
            hint = f"; all {len(chunks)} chunks that came are named {others[0]!r}"
        message = f"{anchor.rel_path!r} was not retrieved by its own words{hint}"
    return finding(placed, "warning", "not-in-index", message, field=f"{field}.rel_path")


def lost_anchors(
    client: object, cases: Sequence[PlacedCase], settings: Settings
) -> Iterator[LintFinding]:
    """Yield a finding for each anchor that its requests to a client do not retrieve.

    Raises:
        EndpointError: the target failed, or reports no chunks.
    """
    looks: dict[Hashable, tuple[Anchor, list[AskRequest]]] = {}
    scoring = score_settings(settings)
    for placed in cases:
        for _, anchor in anchors_of(placed):
            requests = [
                replace(
                    one, params=settings.params, case=case_variables(placed.case), uuid=new_uuid()
                )
                for one in probes(placed, anchor)
            ]
            looks.setdefault(_key(placed.case, anchor), (anchor, requests))
    with ThreadPoolExecutor(max_workers=settings.concurrency) as pool:
        chunks = pool.map(lambda one: _look(client, scoring, *one), looks.values())
        found = dict(zip(looks, chunks, strict=True))
    for placed in cases:
        for field, anchor in anchors_of(placed):
            seen = found[_key(placed.case, anchor)]
            if seen is None:
                continue
            lost = lost_anchor(placed, field, anchor, seen)
            hidden = placed.case.tests_permissions and anchor in placed.case.irrelevant_supports
            if not (hidden and lost.rule == "not-in-index"):  # the user must not see it
                yield lost


def _look(
    client: object, scoring: ScoreSettings, anchor: Anchor, requests: Iterable[AskRequest]
) -> list[RetrievedChunk] | None:
    """Return the retrieved chunks if none matches an anchor; None: it was found."""
    seen: list[RetrievedChunk] = []
    for request in requests:
        chunks = own_names(_retrieved(client, request), [anchor], scoring)
        if any(is_at(anchor, chunk, _SECTIONS) for chunk in chunks):
            return None
        seen.extend(chunks)
    return seen


def _retrieved(client: object, request: AskRequest) -> tuple[RetrievedChunk, ...]:
    result = session_loop().run(call_client(client, request))
    if result.response is None:
        assert result.error is not None  # one of the two is always set
        place = last_place(result.error.traceback)
        raise with_facts(endpoint_error(result.error), place=place)
    if result.response.retrieved_chunks is None:
        raise target_error("no_chunks")
    return result.response.retrieved_chunks
