"""Keyword search: SQLite FTS5, Porter stems, headings weighted above bodies."""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pytest_rageval.server.chunking import Chunk
from pytest_rageval.server.terms import TermFrequencies, query_words, words

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


def create_passages(connection: sqlite3.Connection, chunks: Sequence[Chunk]) -> None:
    """Fill the full-text table of a new database; a chunk's row id is its position."""
    connection.execute(_CREATE)
    connection.executemany(
        "INSERT INTO passage(rowid, heading, body) VALUES (?, ?, ?)",
        (
            # Words, not raw text: scripts without spaces are already split.
            (position, " ".join(words(chunk.heading_path)), " ".join(words(chunk.text)))
            for position, chunk in enumerate(chunks)
        ),
    )


class LexicalIndex:
    """BM25 over the chunks of a database; safe to use from several threads."""

    def __init__(self, connection: sqlite3.Connection, size: int) -> None:
        """Take over a connection opened with `check_same_thread=False` and its chunk count."""
        self._connection = connection
        self._size = size
        self._lock = threading.Lock()
        # Indexes are replaced while requests still read them: the last reader closes.
        weakref.finalize(self, connection.close)

    def copy_to(self, target: sqlite3.Connection) -> None:
        """Write the whole database into another one."""
        with self._lock:
            self._connection.backup(target)

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
