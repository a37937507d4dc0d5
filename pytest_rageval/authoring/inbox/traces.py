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
from dataclasses import replace
from itertools import groupby, starmap
from typing import Any, Final, NamedTuple

from pytest_rageval.authoring.inbox.messages import (
    Feedback,
    Logged,
    Piece,
    Sampled,
    Stratum,
    Tally,
    passages,
    without_courtesy,
)
from pytest_rageval.authoring.linting.duplicates import find_resemblances, numbers, words
from pytest_rageval.judges.offline.abstention import read_abstention
from pytest_rageval.support.text import whole_text

MOST_COMPARED: Final = 20_000
"""Questions among which near-duplicates are looked for: the most frequent ones."""
_AT_ONCE: Final = 1_000
_LONG: Final = 0.9
"""Share of the requests that are shorter than a long one, by characters of question and answer."""
_TABLES: Final = """
PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-16000;
CREATE TABLE pieces (
    trace, span, rank, at, question, history, answer, retrieved, refs, feedback, scale, abstained
);
CREATE TABLE requests (trace, turn, norm, question, stratum, length, pick);
"""
_INSERT: Final = "INSERT INTO pieces VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_EACH: Final = (
    "SELECT trace, span, rank, at, question, history, answer, {}, NULL, feedback, scale, abstained "
    "FROM pieces WHERE trace <> '' ORDER BY trace, rank, at, rowid"
)
_OF_TRACE: Final = "SELECT * FROM pieces WHERE trace = ? ORDER BY rank, at, rowid"


class Traces:
    """The requests of a log, in a database without a name: nothing stays of it, even if killed."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.executescript(_TABLES)
        self._scales: dict[str, tuple[float, float]] = {}
        """By score the smallest and the largest number that a user's opinion has."""
        self.tally = Tally()

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def add(self, pieces: Iterable[Piece]) -> None:
        """Keep pieces, those of a block in one transaction."""
        block: list[tuple[Any, ...]] = []
        for one in pieces:
            if one.feedback is not None and math.isfinite(one.feedback):
                low, high = self._scales.get(one.scale, (math.inf, -math.inf))
                self._scales[one.scale] = (min(low, one.feedback), max(high, one.feedback))
            block.append(_columns(one))
            if len(block) == _AT_ONCE:
                self._insert(block)
                block.clear()
        self._insert(block)

    def _insert(self, block: Sequence[tuple[Any, ...]]) -> None:
        self._db.execute("BEGIN")
        self._db.executemany(_INSERT, block)
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
        for _, group in groupby(starmap(_piece, rows), key=lambda row: row.trace):
            yield from self._of_trace([*group])

    def _of_trace(self, rows: Sequence[Piece]) -> list[Logged]:
        """Return the requests of a trace: one, or the turns of a conversation with those before.

        A turn has the rows of its step and those that began in its time; rows without a time are of
        the last one.
        """
        turns = sorted(_turns(rows), key=lambda row: row.at)
        if len(turns) < 2:
            return [self._request(rows)]
        parts: list[list[Piece]] = [[turn] for turn in turns]
        rank = turns[0].rank
        for row in (one for one in rows if one not in turns and one.rank >= rank):
            own = [n for n, turn in enumerate(turns) if row.span and row.span == turn.span]
            before = sum(turn.at <= row.at for turn in turns) if row.at else len(turns)
            parts[own[0] if own else max(before - 1, 0)].append(row)
        found: list[Logged] = []
        history: tuple[Mapping[str, str], ...] = ()
        for n, part in enumerate(parts):
            one = self._request(part)
            found.append(replace(one, turn=n, history=one.history or history))
            spoken = {"user": one.question, "assistant": one.answer}
            history += tuple({"role": role, "content": text} for role, text in spoken.items())
        return found

    def _request(self, rows: Sequence[Piece]) -> Logged:
        asked, history = _asked(rows)
        listing = [row for row in rows if row.retrieved is not None]
        # What an answer lists are passages of the searches again.
        searches = [row for row in listing if not (row.question or row.answer)] or listing[:1]
        # A passage that several searches found is one.
        chunks = {
            json.dumps(one, sort_keys=True): one
            for row in searches
            for one in passages(row.retrieved) or ()
        }
        liked = [one for row in rows if (one := self._opinion(row)) is not None]
        flags = (row.abstained for row in rows if row.abstained is not None)
        return Logged(
            trace=rows[0].trace,
            at=next((row.at for row in rows if row.at), ""),
            question=asked,
            history=history,
            answer=next((row.answer for row in rows if row.answer), ""),
            chunks=tuple(chunks.values()) if searches else None,
            references=tuple(one for row in rows for one in passages(row.references) or ()),
            feedback="down" if "down" in liked else next(iter(liked), None),
            abstained=next(flags, None),
        )

    def _opinion(self, row: Piece) -> Feedback | None:
        """Return an opinion by the scale of its score.

        With numbers below 0 the sign says it, with numbers above 1 they are stars, else it is 0 or
        1.
        """
        if row.feedback is None:
            return None
        number = row.feedback
        least, most = self._scales.get(row.scale, (0, 1))
        if least < 0 and math.isfinite(number):
            return "down" if number < 0 else "up" if number > 0 else None
        stars = most > 1 and math.isfinite(number)
        low, high = (0.4 * most, 0.8 * most) if stars else (0, 1)
        return "down" if number <= low else "up" if number >= high else None

    def _one(self, query: str, *values: Any) -> int:
        found: int = self._db.execute(query, values).fetchone()[0]
        return found

    # --- families and sample

    def sample(self, number: int | None, by: Sequence[Stratum]) -> Iterator[Sampled]:
        """Yield the requests that stand for the sampled families, those of each stratum together.

        A request is in the first of the strata that it fits, and a family in each that one of its
        requests is in: there it stands for those. The families of a stratum are sampled with equal
        probability, by a hash of their question, and a request of each by one of its trace: the
        same log gives the same sample.

        Args:
            number: of families in all, shared evenly by the strata as far as they have so many;
                None: every family.
            by: strata; all but ``random`` come first.
        """
        self._survey([one for one in by if one != "random"])
        strata = self._strata(by)
        quotas = _quotas({one: len(found) for one, found in strata.items()}, number)
        for stratum, found in strata.items():
            n = quotas[stratum]
            self.tally.strata[stratum] = (len(found), n)
            for part in sorted(found, key=lambda one: _hash(one.norms[0]))[:n]:
                trace, turn = self._representative(part.norms, stratum)
                rows = self._db.execute(_OF_TRACE, (trace,))
                yield Sampled(
                    request=self._of_trace([*starmap(_piece, rows)])[turn],
                    stratum=stratum,
                    size=part.size,
                    share=part.size / self.tally.requests,
                    weight=part.n * len(found) / n,
                )

    def _survey(self, by: Sequence[Stratum]) -> None:
        """Write down the question of each request, and the first stratum that it fits."""
        self._match()
        self._db.execute("BEGIN")
        for one in self._requests(retrieved="no_chunks" in by):
            if not one.question:
                self.tally.without_question += 1
                continue
            self.tally.requests += 1
            asked = without_courtesy(one.question)
            norm = " ".join(words(asked)) or asked
            length = len(one.question) + len(one.answer)
            pick = _hash(f"{one.trace}\n{one.turn}" if one.turn else one.trace)
            stratum = next((name for name in by if name in _FITS and _FITS[name](one)), "random")
            row = (one.trace, one.turn, norm, asked, stratum, length, pick)
            self._db.execute("INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        self._db.execute("COMMIT")
        if self.tally.requests and "long" in by:
            at = int(_LONG * self.tally.requests)
            lengths = "SELECT length FROM requests ORDER BY length LIMIT 1 OFFSET ?"
            limit, later = self._one(lengths, at), ["random", *by[by.index("long") :]]
            self._db.execute(
                "UPDATE requests SET stratum = 'long' WHERE length > ? AND stratum IN "
                "(SELECT value FROM json_each(?))",
                (limit, json.dumps(later)),
            )
        self._db.executescript("CREATE INDEX by_norm ON requests (norm, stratum)")

    def _strata(self, by: Sequence[Stratum]) -> dict[Stratum, list[_Part]]:
        """Return the families of each stratum that is asked for."""
        columns = ", ".join(f"sum(stratum = '{one}')" for one in by)
        query = f"SELECT norm, min(question), count(*), {columns}"
        rows = self._db.execute(f"{query} FROM requests GROUP BY norm ORDER BY count(*) DESC, norm")
        kinds: dict[str, tuple[str, tuple[int, ...]]] = {
            norm: (question, tuple(counts)) for norm, question, *counts in rows
        }
        found: dict[Stratum, list[_Part]] = {one: [] for one in by}
        for norms in self._families({norm: one[0] for norm, one in kinds.items()}):
            self.tally.families += 1
            size, *counts = map(sum, zip(*(kinds[norm][1] for norm in norms), strict=True))
            self.tally.left_out += size - sum(counts)
            for stratum, n in zip(by, counts, strict=True):
                if n:
                    found[stratum].append(_Part(n, size, norms))
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

    def _representative(self, norms: Sequence[str], stratum: Stratum) -> tuple[str, int]:
        """Return trace and turn of the request that stands for a family in a stratum."""
        query = (
            "SELECT pick, trace, turn FROM requests WHERE norm = ? AND stratum = ? "
            "ORDER BY pick LIMIT 1"
        )
        found = (self._db.execute(query, (norm, stratum)).fetchone() for norm in norms)
        _, trace, turn = min(one for one in found if one is not None)
        return trace, turn


class _Part(NamedTuple):
    """Requests of a family that are in one stratum."""

    n: int
    size: int
    """Requests of the family in all."""
    norms: Sequence[str]
    """Questions of the family, the most frequent first."""


def _turns(rows: Sequence[Piece]) -> list[Piece]:
    """Return the rows that are turns of a conversation, if a trace has several; else at most one.

    They are steps without a parent that ask different things, unless these are the steps of one
    request: one asks what another one said, or none says what the trace as a whole does. Or each is
    a call of a model with the question before it in its history.
    """
    whole = [(row.question, row.answer) for row in rows if row.rank == 0 and row.question]
    answered = [row for row in rows if row.question and row.answer]
    steps: dict[str, Piece] = {}
    for row in answered:
        if row.rank == 1:
            steps.setdefault(row.question, row)
    answers = {row.answer for row in steps.values()}
    is_whole = not whole or any((row.question, row.answer) in whole for row in steps.values())
    if len(steps) > 1 and is_whole and steps.keys().isdisjoint(answers):
        return [*steps.values()]
    lowest = min((row.rank for row in rows if row.question), default=0)
    chain: list[Piece] = []
    for row in (one for one in answered if one.rank == lowest):
        before = {one["content"] for one in row.history}
        if not chain or (chain[-1].question in before and row.question != chain[-1].question):
            chain.append(row)
    return chain


def _asked(rows: Sequence[Piece]) -> tuple[str, tuple[Mapping[str, str], ...]]:
    """Return the question, and the messages before it.

    A log that writes each message of a call as a row has the question in the last one.
    """
    first = next((row for row in rows if row.question), None)
    if first is None:
        return "", ()
    call = [first]
    if first.span and not first.answer:
        same = (first.rank, first.span)
        call = [row for row in rows if (row.rank, row.span) == same and not row.answer]
    last = max(n for n, row in enumerate(call) if row.question)
    question = call[last].question
    history: list[Mapping[str, str]] = []
    for row in call[: last + 1]:
        other = {"role": "user", "content": row.question}
        history += row.history if row.question in ("", question) else [other]
    return question, tuple(history)


def _columns(one: Piece) -> tuple[Any, ...]:
    history, retrieved, refs = (
        None if value in (None, ()) else whole_text(json.dumps(value, ensure_ascii=False))
        for value in (one.history, one.retrieved, one.references)
    )
    trace, span, at, scale = map(whole_text, (one.trace, one.span, one.at, one.scale))
    head = (trace, span, one.rank, at, one.question, history, one.answer, retrieved, refs)
    return (*head, one.feedback, scale, one.abstained)


def _piece(*row: Any) -> Piece:
    history, retrieved, refs = (None if row[n] is None else json.loads(row[n]) for n in (5, 7, 8))
    return Piece(
        **dict(zip(("trace", "span", "rank", "at", "question"), row, strict=False)),
        history=tuple(history or ()),
        answer=row[6],
        retrieved=retrieved,
        references=refs,
        feedback=row[9],
        scale=row[10],
        abstained=None if row[11] is None else bool(row[11]),
    )


_FITS: Final[Mapping[Stratum, Callable[[Logged], bool]]] = {
    "thumbs_down": lambda one: one.feedback == "down",
    "abstained": lambda one: (
        read_abstention(one.answer).abstained is True if one.abstained is None else one.abstained
    ),
    "no_chunks": lambda one: one.chunks == (),
}
"""By stratum, but for the long ones, which all lengths decide."""


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
