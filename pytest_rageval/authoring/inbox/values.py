"""Values of logs: what a row says, a request that many rows tell of, and a family of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

LOGS: Final = ("jsonl", "langfuse", "otel", "phoenix")
"""Formats of logs, the keys of `readers.READERS`."""
Feedback = Literal["up", "down"]
Stratum = Literal["random", "thumbs_down", "abstained", "long", "no_chunks"]
STRATA: Final[tuple[Stratum, ...]] = get_args(Stratum)
"""Groups of requests to sample from; ``random`` is every request that is in none of the others that
were asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Content of one row of a log; the rows of a request may be anywhere in the file."""

    trace: str = ""
    """Id of the request; empty: the row names only a span of it."""
    span: str = ""
    """Id of the step, for rows that refer to it."""
    rank: int = 0
    """Distance from the user: 0 for a trace as a whole, 1 for a step without a parent, 2 for one
    with, 3 for a call of a model, 4 for what only tells of a request. Question and answer are those
    of the lowest rank that has one."""
    at: str = ""
    """Time as the log writes it, a number as ISO 8601; it orders pieces of one rank."""
    question: str = ""
    history: tuple[Mapping[str, str], ...] = ()
    """Messages before the question, as ``{"role", "content"}``."""
    answer: str = ""
    retrieved: Any = None
    """Retrieved passages as they are logged (`messages.passages`); None: the row is not about
    retrieval."""
    references: Any = None
    """Sources that the answer names, as they are logged."""
    feedback: float | None = None
    """Opinion of a user: infinity for liked, minus infinity for not, else a number."""
    scale: str = ""
    """Name of the score that the number is of; its scale is that of all with this name."""
    abstained: bool | None = None
    """Whether the log says that the answer is a refusal; None: it does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """One request of a log, put together from its pieces."""

    trace: str
    turn: int = 0
    """Number of the request in its trace, from 0."""
    at: str = ""
    question: str
    history: tuple[Mapping[str, str], ...] = ()
    answer: str = ""
    chunks: tuple[Mapping[str, Any], ...] | None = None
    references: tuple[Mapping[str, Any], ...] = ()
    feedback: Feedback | None = None
    abstained: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """The requests of one family of near-equal questions in one stratum, sampled."""

    request: Logged
    """The request that stands for them."""
    stratum: Stratum
    """Group that it was sampled from."""
    size: int
    """Requests of the family, in all strata."""
    share: float
    """``size`` over all requests with a question, 0 to 1."""
    weight: float
    """Requests of the log that it stands for: those of the family in the stratum, times the
    families of the stratum over those sampled (Horvitz and Thompson 1952)."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts of a reading."""

    rows: int = 0
    requests: int = 0
    """Requests with a question."""
    without_question: int = 0
    families: int = 0
    unmatched: int = 0
    """Rows that name a span which no other row has."""
    strata: dict[Stratum, tuple[int, int]] = field(default_factory=dict)
    """Families of a stratum, and those sampled from it."""
    left_out: int = 0
    """Requests in no stratum that was asked for."""
    compared: int | None = None
    """Number of questions among which near-duplicates were looked for, if not among all."""
