"""Search terms of a text, keyword search over them, and what a question asks for.

Terms are folded and stemmed, without function words. Keyword search is SQLite FTS5 with Porter
stems; headings weigh more than bodies.
"""

from __future__ import annotations

import math
import re
import sqlite3
import threading
import unicodedata
import weakref
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pytest_rageval.server.chunking import Chunk

# Han and kana are written without spaces, so each character is a word of its own; everything
# else that is alphanumeric runs until the next separator, as FTS5's unicode61 cuts it.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_ACCENT = re.compile("[\u0300-\u036f]")

STOPWORDS = frozenset(
    """a about after again all also am an and any are as at be because been before being both but
    by can could did do does doing done during each for from further had has have having he her
    here hers him his how i if in into is it its itself just me more most my no nor not now of off
    on once only or other our out over own s same she should so some such t than that the their
    them then there these they this those through to too under until up us very was we were what
    when where which while who whom why will with would you your yours""".split()
)


def words(text: str) -> list[str]:
    """Return the words of `text` in order: lower case, without accents or punctuation."""
    if not text.isascii():
        text = _ACCENT.sub("", unicodedata.normalize("NFKD", text))
    return _WORD.findall(text.casefold())


@lru_cache(maxsize=200_000)
def stem(term: str) -> str:
    """Strip the commonest English endings, so that `retries` and `retried` meet in `retri`.

    A light cut in the spirit of Harman's S stemmer (1991) plus `-ed` and `-ing`: it need not
    yield words, only the same string for forms of one term. Words under four letters stay.
    """
    if len(term) < 4 or not term.isascii():
        return term
    if term.endswith("sses"):
        term = term[:-2]
    elif term.endswith("s") and not term.endswith(("ss", "us", "is")):
        term = term[:-1]
    for ending in ("ing", "ed"):
        if term.endswith(ending) and len(term) - len(ending) >= 3:
            term = term[: -len(ending)]
            if term[-1] == term[-2] and term[-1] not in "aeilos":
                term = term[:-1]
            break
    if term.endswith(("ie", "y")) and len(term) > 3:
        term = term.removesuffix("ie").removesuffix("y") + "i"
    elif term.endswith("e") and len(term) > 3:
        term = term[:-1]
    return term


def terms(text: str) -> list[str]:
    """Return the stemmed content words of `text` in order, repeats included."""
    return [stem(word) for word in words(text) if word not in STOPWORDS]


def query_words(question: str) -> list[str]:
    """Return the distinct words of a question in order, function words only if it has no other."""
    distinct = list(dict.fromkeys(words(question)))
    return [word for word in distinct if word not in STOPWORDS] or distinct


def query_terms(question: str) -> list[str]:
    """Return the distinct stems of `query_words`."""
    return list(dict.fromkeys(stem(word) for word in query_words(question)))


@dataclass(frozen=True, slots=True)
class TermFrequencies:
    """Number of chunks in which each stem occurs."""

    n_chunks: int
    by_term: Mapping[str, int]

    @classmethod
    def count(cls, chunk_terms: Sequence[Collection[str]]) -> TermFrequencies:
        """Count chunks by term, from the terms of each chunk."""
        counts = Counter(term for found in chunk_terms for term in set(found))
        return cls(len(chunk_terms), counts)

    def idf(self, term: str) -> float:
        """Return ln(1 + (N - n + 0.5) / (n + 0.5)), Lucene's BM25 idf; unknown terms weigh most."""
        found = self.by_term.get(term, 0)
        return math.log(1 + (self.n_chunks - found + 0.5) / (found + 0.5))

    def coverage(self, wanted: Sequence[str], present: Collection[str]) -> float:
        """Return the share, 0 to 1, of the wanted terms that are present, weighted by idf."""
        weights = {term: self.idf(term) for term in wanted}
        total = sum(weights.values())
        if not total:
            return 0.0
        return sum(weight for term, weight in weights.items() if term in present) / total

    def rarest(self, words: Sequence[str], limit: int) -> list[str]:
        """Return at most `limit` words, those in fewest chunks; words in none come last."""

        def frequency(word: str) -> int:
            return self.by_term.get(stem(word)) or self.n_chunks + 1

        return sorted(words, key=frequency)[:limit] if len(words) > limit else list(words)


HEADING_WEIGHT = 2.0
BODY_WEIGHT = 1.0
MAX_QUERY_WORDS = 64
"""FTS5 cost grows with the words of a query; of longer queries only the rarest are used."""

_CREATE = (
    "CREATE VIRTUAL TABLE passage "
    "USING fts5(heading, body, content='', tokenize='porter unicode61')"
)
_SCORE = (
    f"SELECT rowid, -bm25(passage, {HEADING_WEIGHT}, {BODY_WEIGHT}) FROM passage "
    "WHERE passage MATCH ?"
)


class LexicalIndex:
    """BM25 over chunks, in a database in memory; safe to use from several threads."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        """Fill the full-text table; a chunk's row id is its position."""
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        self._size = len(chunks)
        self._lock = threading.Lock()
        # Indexes are replaced while requests still read them: the last reader closes.
        weakref.finalize(self, self._connection.close)
        self._connection.execute(_CREATE)
        self._connection.executemany(
            "INSERT INTO passage(rowid, heading, body) VALUES (?, ?, ?)",
            (
                # Words, not raw text: scripts without spaces are already split.
                (position, " ".join(words(chunk.heading_path)), " ".join(words(chunk.text)))
                for position, chunk in enumerate(chunks)
            ),
        )
        self._connection.commit()

    def scores(self, question: str, frequencies: TermFrequencies) -> NDArray[np.float64]:
        """Return the BM25 score of every chunk, 0 where no word of the question occurs.

        Args:
            question: Any text; it is never read as an FTS5 expression.
            frequencies: Says which words are rarest when there are too many.
        """
        scores = np.zeros(self._size)
        wanted = frequencies.rarest(query_words(question), MAX_QUERY_WORDS)
        if not wanted:
            return scores
        expression = " OR ".join(f'"{word}"' for word in wanted)
        with self._lock:
            rows = self._connection.execute(_SCORE, (expression,)).fetchall()
        if rows:
            positions, values = zip(*rows, strict=True)
            # BM25 of a word in over half the chunks is about nil and may be below it.
            scores[list(positions)] = np.maximum(values, 1e-9)
        return scores


# --- questions

_IRREGULAR = """become became|begin began begun|break broke broken|bring brought|
build built|buy bought|catch caught|choose chose chosen|draw drew drawn|drive drove driven|
fall fell fallen|find found|fly flew flown|get got gotten|give gave given|go went gone|
grow grew grown|hold held|keep kept|know knew known|lead led|leave left|lend lent|lose lost|
make made|mean meant|meet met|pay paid|rise risen|run ran|say said|see seen|seek sought|
sell sold|send sent|show shown|sit sat|speak spoke spoken|spend spent|stand stood|
steal stole stolen|take took taken|teach taught|tell told|think thought|throw threw thrown|
wear wore worn|win won|write wrote written"""
_FORMS = {
    form: forms
    for forms in (frozenset(map(stem, verb.split())) for verb in _IRREGULAR.split("|"))
    for form in forms
}
"""Stem of an irregular verb to the stems of all its forms."""
_MODAL = re.compile(r"\b(?:may|might|must|shall)\b|^\W*(?:May|Might|Must|Shall)\b")
"""Function words that searching keeps; not `in May`."""

_NUMBER = (
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|half|hundred|"
    r"thousand|million|once|twice)\b"
)
_PERIOD = (
    rf"(?:{_NUMBER}|\b(?:an?|few|several)\b)[\w,. -]{{0,12}}?\b(?:ms|s|min|h|"
    r"(?:second|minute|hour|night|day|week|weekend|month|year|decade)s?|centur(?:y|ies))\b"
    r"|\b(?:until|till|1[5-9]\d\d|20\d\d)\b"
)
_KINDS = {
    "long": _PERIOD,
    "often": rf"{_NUMBER}|\b(?:every|each|daily|weekly|monthly|yearly)\b",
    "many": _NUMBER,
    "much": _NUMBER,
    "far": _NUMBER,
}
_HOW = re.compile(rf"\bhow ({'|'.join(_KINDS)})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as sentences are compared with it."""

    wanted: tuple[str, ...]
    """Stems of its distinct content words."""
    measure: str | None
    """The one of them that a value answers: `long` of "how long"; None: no value is asked for."""
    value: re.Pattern[str] | None
    """Finds a value of that kind."""

    def found_in(self, sentence: str) -> frozenset[str]:
        """Return the stems of a sentence, in all their forms.

        A value of the kind that is asked for counts as its word: the note says "for 14 days" where
        the question says "how long".
        """
        measured = self.measure and self.value and self.value.search(sentence)
        return all_forms([*terms(sentence), *([self.measure] if self.measure and measured else [])])


def read_question(question: str) -> Asked:
    """Return what a question asks for; function words count only if it has no other.

    >>> read_question("How long may a drill be kept?").wanted
    ('long', 'drill', 'kept')
    """
    wanted = query_terms(_MODAL.sub(" ", question)) or query_terms(question)
    how = _HOW.search(question)
    kind = how[1].lower() if how else None
    value = re.compile(_KINDS[kind], re.IGNORECASE) if kind else None
    return Asked(wanted=tuple(wanted), measure=kind and stem(kind), value=value)


def all_forms(found: Sequence[str]) -> frozenset[str]:
    """Return stems with those of all forms of their verbs, so that `kept` meets `keep`."""
    return frozenset(form for term in found for form in _FORMS.get(term, (term,)))
