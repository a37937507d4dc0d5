"""Requests of a log put together from rows in any order, folded into families, and sampled.

They are kept in a temporary database: a log may be larger than memory.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from pytest_rageval.authoring.inbox.messages import passages, without_greeting
from pytest_rageval.authoring.inbox.values import (
    STRATA,
    Feedback,
    Logged,
    Piece,
    Sampled,
    Stratum,
    Tally,
)
from pytest_rageval.authoring.linting.duplicates import find_resemblances, numbers, words
from pytest_rageval.judges.offline.abstention import read_abstention

MOST_COMPARED: Final = 20_000
"""Questions among which near-duplicates are looked for: the most frequent ones."""
_AT_ONCE: Final = 1_000
_LONG: Final = 0.9
"""Share of the requests that are shorter than a long one, by characters of question and answer."""
_BITS: Final[Mapping[Stratum, int]] = {one: 1 << n for n, one in enumerate(STRATA)}
_TABLES: Final = """
PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-16000;
CREATE TABLE pieces (trace, span, rank, at, question, history, answer, retrieved, refs, feedback);
CREATE TABLE requests (trace, norm, question, bits, length, pick);
"""
_EACH: Final = (
    "SELECT trace, span, rank, at, question, history, answer, {}, NULL, feedback FROM pieces "
    "WHERE trace <> '' ORDER BY trace, rank, at"
)
_OF_TRACE: Final = "SELECT * FROM pieces WHERE trace = ? ORDER BY rank, at"


class Traces:
    """The requests of a log, in a database without a name: nothing stays of it, even if killed."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.executescript(_TABLES)
        self._most = -math.inf
        """Largest number that a user's opinion has."""
        self.tally = Tally()

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def add(self, pieces: Iterable[Piece]) -> None:
        """Keep pieces, those of a block in one transaction."""
        block: list[tuple[Any, ...]] = []
        for one in pieces:
            if one.feedback is not None and math.isfinite(one.feedback):
                self._most = max(self._most, one.feedback)
            block.append(_columns(one))
            if len(block) == _AT_ONCE:
                self._insert(block)
                block.clear()
        self._insert(block)

    def _insert(self, block: Sequence[tuple[Any, ...]]) -> None:
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO pieces VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", block)
        self._db.execute("COMMIT")

    # --- requests

    def _match(self) -> None:
        """Give each row that names only a span the request of that span."""
        self._db.executescript("CREATE INDEX by_span ON pieces (span) WHERE span <> ''")
        self._db.execute(
            "UPDATE pieces SET trace = coalesce((SELECT b.trace FROM pieces b WHERE "
            "b.span = pieces.span AND b.span <> '' AND b.trace <> '' LIMIT 1), '') WHERE trace = ''"
        )
        self.tally.unmatched = self._one("SELECT count(*) FROM pieces WHERE trace = ''")
        self._db.executescript("CREATE INDEX by_trace ON pieces (trace, rank, at)")

    def _requests(self, *, retrieved: bool) -> Iterator[Logged]:
        """Yield every request, with what was retrieved only if that is wanted."""
        rows = self._db.execute(_EACH.format("retrieved" if retrieved else "NULL"))
        for _, group in groupby(rows, key=lambda row: row[0]):
            yield self._request([*group])

    def _request(self, rows: Sequence[tuple[Any, ...]]) -> Logged:
        trace = rows[0][0]
        asked = next((row for row in rows if row[4]), None)
        found = [passages(json.loads(row[7])) or () for row in rows if row[7] is not None]
        # A passage that several searches found is one.
        chunks = {json.dumps(one, sort_keys=True): one for search in found for one in search}
        liked = [one for row in rows if (one := self._opinion(row[9])) is not None]
        return Logged(
            trace=trace,
            at=next((row[3] for row in rows if row[3].strip("0")), ""),
            question="" if asked is None else asked[4],
            history=tuple(json.loads(asked[5])) if asked is not None and asked[5] else (),
            answer=next((row[6] for row in rows if row[6]), ""),
            chunks=tuple(chunks.values()) if found else None,
            references=tuple(
                one for row in rows if row[8] for one in passages(json.loads(row[8])) or ()
            ),
            feedback="down" if "down" in liked else next(iter(liked), None),
        )

    def _opinion(self, number: float | None) -> Feedback | None:
        """Return an opinion by the scale of the log: stars if any number is above 1."""
        if number is None:
            return None
        stars = self._most > 1 and math.isfinite(number)
        low, high = (0.4 * self._most, 0.8 * self._most) if stars else (0, 1)
        return "down" if number <= low else "up" if number >= high else None

    def _one(self, query: str, *values: Any) -> int:
        found: int = self._db.execute(query, values).fetchone()[0]
        return found

    # --- families and sample

    def sample(self, number: int | None, by: Sequence[Stratum]) -> Iterator[Sampled]:
        """Yield the requests that stand for the sampled families, those of each stratum together.

        A family is in the first of the strata that one of its requests is in. The families of a
        stratum are sampled with equal probability, by a hash of their question: the same log gives
        the same sample.

        Args:
            number: of families in all, shared evenly by the strata as far as they have so many;
                None: every family.
            by: strata; all but ``random`` come first.
        """
        self._survey(by)
        strata = self._strata(by)
        quotas = _quotas({one: len(found) for one, found in strata.items()}, number)
        for stratum, found in strata.items():
            n = quotas[stratum]
            self.tally.strata[stratum] = (len(found), n)
            for size, _, norms in sorted(found, key=lambda one: _hash(one[1]))[:n]:
                trace = self._representative(norms, stratum)
                rows = self._db.execute(_OF_TRACE, (trace,)).fetchall()
                yield Sampled(
                    request=self._request(rows),
                    stratum=stratum,
                    size=size,
                    share=size / self.tally.requests,
                    weight=size * len(found) / n,
                )

    def _survey(self, by: Sequence[Stratum]) -> None:
        """Write down the question of each request, and what it is an example of."""
        self._match()
        self._db.execute("BEGIN")
        for one in self._requests(retrieved="no_chunks" in by):
            if not one.question:
                self.tally.without_question += 1
                continue
            self.tally.requests += 1
            asked = without_greeting(one.question)
            norm = " ".join(words(asked)) or asked
            length = len(one.question) + len(one.answer)
            row = (one.trace, norm, asked, _bits(one, by), length, _hash(one.trace))
            self._db.execute("INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?)", row)
        self._db.execute("COMMIT")
        if self.tally.requests:
            at = int(_LONG * self.tally.requests)
            lengths = "SELECT length FROM requests ORDER BY length LIMIT 1 OFFSET ?"
            limit, bit = self._one(lengths, at), _BITS["long"]
            self._db.execute("UPDATE requests SET bits = bits | ? WHERE length > ?", (bit, limit))
        self._db.executescript("CREATE INDEX by_norm ON requests (norm)")

    def _strata(self, by: Sequence[Stratum]) -> dict[Stratum, list[tuple[int, str, list[str]]]]:
        """Return size, first question and questions of each family, by stratum."""
        wanted = [one for one in by if one != "random"]
        columns = ", ".join(f"max(bits & {_BITS[one]})" for one in wanted)
        query = f"SELECT norm, min(question), count(*){', ' if columns else ''}{columns}"
        rows = self._db.execute(f"{query} FROM requests GROUP BY norm ORDER BY count(*) DESC, norm")
        kinds: dict[str, tuple[str, int, list[int]]] = {
            norm: (question, n, bits) for norm, question, n, *bits in rows
        }
        found: dict[Stratum, list[tuple[int, str, list[str]]]] = {one: [] for one in by}
        for norms in self._families({norm: one[0] for norm, one in kinds.items()}):
            self.tally.families += 1
            bits = [max(column) for column in zip(*(kinds[one][2] for one in norms), strict=True)]
            first = next((one for one, bit in zip(wanted, bits, strict=True) if bit), None)
            stratum: Stratum = first or "random"
            if stratum not in found:
                self.tally.left_out += 1
                continue
            found[stratum].append((sum(kinds[one][1] for one in norms), norms[0], norms))
        return found

    def _families(self, questions: Mapping[str, str]) -> Iterator[list[str]]:
        """Yield families of questions, the most frequent one of each first."""
        norms = [*questions]
        if len(norms) > MOST_COMPARED:
            self.tally.compared = MOST_COMPARED
        kinds: dict[frozenset[str], list[str]] = defaultdict(list)
        for norm in norms[:MOST_COMPARED]:
            kinds[numbers(questions[norm])].append(norm)
        root = {norm: norm for norm in norms}
        for alike in kinds.values():
            for one in find_resemblances([questions[norm] for norm in alike]):
                if root[alike[one.index]] == alike[one.index]:  # the most similar one comes first
                    root[alike[one.index]] = root[alike[one.earlier]]
        families: dict[str, list[str]] = {}
        for norm in norms:
            families.setdefault(root[norm], []).append(norm)
        yield from families.values()

    def _representative(self, norms: Sequence[str], stratum: Stratum) -> str:
        """Return the request of a family that stands for it: one that is in its stratum."""
        bit = 0 if stratum == "random" else _BITS[stratum]
        best = ("", "")
        for norm in norms:
            query = "SELECT pick, trace FROM requests WHERE norm = ? AND bits & ? = ? ORDER BY pick"
            found = self._db.execute(f"{query} LIMIT 1", (norm, bit, bit)).fetchone()
            if found is not None and (not best[0] or found < best):
                best = found
        return best[1]


def _columns(one: Piece) -> tuple[Any, ...]:
    history, retrieved, refs = (
        None if value in (None, ()) else json.dumps(value)
        for value in (one.history, one.retrieved, one.references)
    )
    head = (one.trace, one.span, one.rank, one.at, one.question, history)
    return (*head, one.answer, retrieved, refs, one.feedback)


_IS_IN: Final[Mapping[Stratum, Callable[[Logged], bool]]] = {
    "thumbs_down": lambda one: one.feedback == "down",
    "abstained": lambda one: bool(one.answer) and read_abstention(one.answer).abstained is True,
    "no_chunks": lambda one: one.chunks == (),
}


def _bits(one: Logged, by: Sequence[Stratum]) -> int:
    return sum(_BITS[name] for name in by if name in _IS_IN and _IS_IN[name](one))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _quotas(sizes: Mapping[Stratum, int], number: int | None) -> dict[Stratum, int]:
    """Share a number evenly; a stratum with fewer families leaves its rest to the others."""
    if number is None:
        return dict(sizes)
    found: dict[Stratum, int] = {}
    left = number
    for n, (stratum, size) in enumerate(sorted(sizes.items(), key=lambda one: one[1])):
        found[stratum] = min(size, round(left / (len(sizes) - n)))
        left -= found[stratum]
    return found
