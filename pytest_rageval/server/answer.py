"""An answer quoted from the retrieved passages, or an abstention with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import zip_longest
from math import fsum
from pathlib import PurePosixPath

from pytest_rageval.server.chunking import Chunk
from pytest_rageval.server.terms import Asked, TermFrequencies, all_forms, read_question, terms

COMPARED_CHUNKS = 10
"""Number of retrieved chunks that are compared with each other."""
_HEAD_BYTES = 2000
_ISO = r"(\d{4}-\d{2}-\d{2})"
_STATED = re.compile(
    r"^[^\w\n]*(?:last[ _-])?(?:updated|modified|changed|reviewed|edited|date|created|published"
    rf"|as of|valid from|effective)\b[^\w\n]*(?:on[^\w\n]+)?{_ISO}\b",
    re.IGNORECASE | re.MULTILINE,
)
_IN_NAME = re.compile(rf"(?<!\d){_ISO}(?!\d)")
_SAME_SUBJECT = 0.5
"""Minimum share of the words of the shorter title that two versions have in common."""


@dataclass(frozen=True, slots=True)
class Versions:
    """Positions of two retrieved chunks, from 0; one is newer."""

    newer: int
    older: int


def note_date(rel_path: str, data: bytes) -> date | None:
    r"""Return the date that a note states at its beginning, else the one in its name.

    >>> note_date("a.md", b"# A\n\nLast updated: 2026-02-03\n")
    datetime.date(2026, 2, 3)
    """
    stated = _STATED.search(data[:_HEAD_BYTES].decode("utf-8", errors="replace"))
    found = stated or _IN_NAME.search(PurePosixPath(rel_path).stem)
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None


def find_versions(chunks: Sequence[Chunk], dates: Mapping[str, date]) -> Iterator[Versions]:
    """Yield pairs of chunks, best first, that lie in one section of two versions of a note."""
    dated = [one for one in enumerate(chunks[:COMPARED_CHUNKS]) if one[1].rel_path in dates]
    for second, other in dated:
        for first, chunk in dated:
            if first >= second:
                break
            days = dates[chunk.rel_path], dates[other.rel_path]
            if days[0] != days[1] and _are_versions(chunk, other):
                newest_first = (first, second) if days[0] > days[1] else (second, first)
                yield Versions(*newest_first)


def _are_versions(chunk: Chunk, other: Chunk) -> bool:
    if chunk.rel_path == other.rel_path:
        return False
    headings, others = _headings(chunk), _headings(other)
    return _alike(headings[0], others[0]) and _alike(headings[-1], others[-1])


def _headings(chunk: Chunk) -> list[str]:
    """Return the headings of a chunk; without any, the name of its note."""
    return [part for part in chunk.heading_path.split(" > ") if part] or [
        PurePosixPath(chunk.rel_path).stem
    ]


def _alike(one: str, other: str) -> bool:
    """Whether two titles name one subject, whatever their numbers and dates."""
    mine, theirs = (
        {term for term in terms(title) if not any(map(str.isdigit, term))} for title in (one, other)
    )
    shorter = min(len(mine), len(theirs))
    return shorter > 0 and len(mine & theirs) >= _SAME_SUBJECT * shorter


ANSWERER_VERSION = "extractive/4"
MAX_SENTENCES = 3
MIN_COVERAGE = 0.5
"""Minimum share of the question's words, weighted by rarity, in the passages for an answer."""
MIN_GAIN = 0.08
"""Minimum share of the question's words that a further sentence must add."""
MIN_SAID = 0.2
"""Minimum share of the question's words that sentences of two versions of a note both hold."""
EVIDENCE_PASSAGES = 2
"""Number of passages that count together as evidence: a question may need two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The text of an answer, and the chunks that it cites."""

    text: str
    cited: tuple[int, ...]
    """Positions in the list of chunks, from 0, in order of first citation."""
    abstained: bool
    abstain_reason: str | None


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    source: int
    found: frozenset[str]


def abstain(reason: str, detail: str = "") -> Answer:
    """Return the refusal to answer, for a reason.

    Args:
        reason: As a clause. The text has no number: it would say something about the subject.
        detail: Added to the reason beside the text.
    """
    text = f"I cannot answer this from the notes: {reason}."
    return Answer(text=text, cited=(), abstained=True, abstain_reason=f"{reason}{detail}")


def answer_from(
    question: str,
    chunks: Sequence[Chunk],
    frequencies: TermFrequencies,
    dates: Mapping[str, date],
) -> Answer:
    """Quote the sentences that cover the question best, each with `[n]`, n counting from 1.

    If a quoted passage has another version of another date that says something else, the answer
    names both, the newer one first.

    Args:
        question: As asked.
        chunks: Retrieved, best first.
        frequencies: Weighs the words of the question: rare ones decide.
        dates: Of the notes that have one, by path.
    """
    if not chunks:
        return abstain("no passage matches the question")
    asked = read_question(question)
    reach = evidence_coverage(asked.wanted, chunks, frequencies)
    if reach < MIN_COVERAGE:
        return abstain(
            "the best passages cover too little of what the question asks",
            f": {reach:.0%}, below the limit of {MIN_COVERAGE:.0%}",
        )
    candidates = [s for i, chunk in enumerate(chunks) for s in _sentences_of(i, chunk, asked)]
    chosen = _choose(asked.wanted, candidates, frequencies)
    if not chosen:
        return abstain("the best passages hold no sentence on the question")
    differing = _differing(asked, chosen, chunks, frequencies, dates)
    chosen = [one for one in chosen if one.source not in {other.source for other in differing}]
    quotes = [f"{sentence.text} [{sentence.source + 1}]" for sentence in (*differing, *chosen)]
    if differing:
        newer, older = (dates[chunks[sentence.source].rel_path] for sentence in differing)
        quotes.insert(2, f"The two notes differ: the first is of {newer}, the second of {older}.")
    cited = tuple(dict.fromkeys(sentence.source for sentence in (*differing, *chosen)))
    return Answer(text=" ".join(quotes), cited=cited, abstained=False, abstain_reason=None)


def _differing(
    asked: Asked,
    chosen: Sequence[_Sentence],
    chunks: Sequence[Chunk],
    frequencies: TermFrequencies,
    dates: Mapping[str, date],
) -> tuple[_Sentence, ...]:
    """Return a sentence of the newer and of the older version of a quoted passage, if they differ.

    Both must be on the question.
    """
    quoted = {sentence.source for sentence in chosen}
    for pair in find_versions(chunks, dates):
        if quoted.isdisjoint((pair.newer, pair.older)):
            continue
        newer, older = (
            max(
                _sentences_of(position, chunks[position], asked),
                key=lambda sentence: frequencies.coverage(asked.wanted, sentence.found),
                default=None,
            )
            for position in (pair.newer, pair.older)
        )
        if newer is None or older is None or newer.found == older.found:
            continue
        if frequencies.coverage(asked.wanted, newer.found & older.found) >= MIN_SAID:
            return newer, older
    return ()


def evidence_coverage(
    wanted: Sequence[str], chunks: Sequence[Chunk], frequencies: TermFrequencies
) -> float:
    """Return the share, 0 to 1, of the question's words in the first passages and headings."""
    present: set[str] = set()
    for chunk in chunks[:EVIDENCE_PASSAGES]:
        present |= all_forms([*terms(chunk.heading_path), *terms(chunk.text)])
    return frequencies.coverage(wanted, present)


def _sentences_of(source: int, chunk: Chunk, asked: Asked) -> Iterator[_Sentence]:
    """Yield the sentences of a passage; a question in it is the heading of the next sentence."""
    heading: frozenset[str] = frozenset()
    for text in sentences(chunk.text):
        found = asked.found_in(text)
        if text.rstrip("*_\"'").endswith(("?", "？")):
            heading = found
        else:
            yield _Sentence(text, source, found | heading)
            heading = frozenset()


def _choose(
    wanted: Sequence[str], candidates: Sequence[_Sentence], frequencies: TermFrequencies
) -> list[_Sentence]:
    """Pick sentences one by one, each the one that adds most; return them in reading order."""
    weights = {term: frequencies.idf(term) for term in wanted}
    total = sum(weights.values()) or 1.0
    missing = set(wanted)
    chosen: list[_Sentence] = []

    def worth(sentence: _Sentence) -> float:
        # Exact sums: the order of a set differs from process to process, and would decide ties.
        new = fsum(weights[term] for term in missing & sentence.found)
        known = fsum(weights[term] for term in weights.keys() & sentence.found)
        # A better-ranked passage wins ties and near ties.
        return (new + 0.2 * known) / total - 0.03 * sentence.source

    while len(chosen) < MAX_SENTENCES and missing and candidates:
        best = max(candidates, key=worth)
        gain = fsum(weights[term] for term in missing & best.found) / total
        if gain < MIN_GAIN:
            break
        chosen.append(best)
        missing -= best.found
    return sorted(chosen, key=lambda sentence: sentence.source)


MAX_SENTENCE_CHARS = 500

_FENCE = re.compile(r"\s*(`{3,}[^`]*$|~~~)")
_HEADING = re.compile(r"\s{0,3}(#{1,6}(\s|$)|(=+|-+)\s*$)")
_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+|\s*>\s?")
_TABLE_RULE = re.compile(r"[\s|:-]+$")
_COLUMN = re.compile(r"(?<!\\)\|")
_REFERENCE_NUMBER = re.compile(r"\[(\d+)\]")
# After a full stop and a capital or digit, but not after an initial or a common abbreviation.
_BOUNDARY = re.compile(
    r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!\b[DM]r\.)(?<!\bMrs\.)(?<!\bSt\.)(?<!e\.g\.)(?<!i\.e\.)"
    r"[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])|(?<=[。！？])"
)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a passage without heading, list and fence markers.

    `[1]` in a source becomes `(1)`: in an answer, square brackets mark our own citations.
    """
    for block in _blocks(text):
        for sentence in _BOUNDARY.split(block):
            quoted = _REFERENCE_NUMBER.sub(r"(\1)", sentence.strip())
            if len(quoted) > MAX_SENTENCE_CHARS:
                quoted = quoted[:MAX_SENTENCE_CHARS].rsplit(" ", 1)[0] + " …"
            if any(character.isalnum() for character in quoted):
                yield quoted


def _blocks(text: str) -> Iterator[str]:
    """Yield groups of lines: a paragraph, a list item, a row with its headers, a line of code."""
    run: list[str] = []
    headers: list[str] = []
    in_fence = False
    lines = text.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        fence = _FENCE.match(line) is not None
        in_fence ^= fence
        marker = (
            fence
            or not line.strip()
            or (not in_fence and (_HEADING.match(line) or _TABLE_RULE.match(line)))
        )
        row = not in_fence and line.lstrip().startswith("|")
        bullet = None if in_fence else _BULLET.match(line)
        if (marker or row or in_fence or bullet) and run:
            yield " ".join(run)
            run = []
        if "|" not in line:
            headers = []
        if row and not marker:
            cells = _cells(line)
            if _TABLE_RULE.match(following) and "-" in following:
                headers = cells
            else:
                yield _row(headers, cells)
        elif in_fence and not marker:
            yield f"`{' '.join(line.split())}`."
        elif not marker:
            run.append(" ".join(line[bullet.end() if bullet else 0 :].split()))
    if run:
        yield " ".join(run)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in _COLUMN.split(row.strip().removeprefix("|").removesuffix("|"))]


def _row(headers: Sequence[str], cells: Sequence[str]) -> str:
    """Write a row of a table as a sentence: a row without its headers says little.

    >>> _row(["Service", "Port", "Remarks"], ["`lantern`", "7030", ""])
    'Service: `lantern`; Port: 7030.'
    """
    named = zip_longest(headers, cells, fillvalue="")
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell) + "."
