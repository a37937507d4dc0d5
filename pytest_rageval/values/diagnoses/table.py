"""Rows of the tables of diagnoses, and how a sentence is made of a row and facts."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, TypeVar

TargetErrorKind = Literal[
    "timeout", "connection", "http", "target", "protocol", "raised", "fixture", "empty",
    "not_attempted",
]  # fmt: skip
"""Reason for which a case has no answer (see ``ErrorInfo``): ``target`` is an error that the reply
reports itself in the field ``error``, ``protocol`` a reply of another shape, ``raised`` an
exception in the user's client, ``fixture`` one in a fixture of the case."""

JudgeErrorKind = Literal[
    "unreachable", "rate_limited", "refused", "unparseable", "truncated", "out_of_range"
]
"""Kind of a failure: no connection, timeout or server error after retries; too many
requests after retries; the model declined, or its context is too short for the prompt; no JSON of
the rubric's shape after the repair turn; cut by length; a score that is not a number or lies
outside its scale."""

Fact = str | int
"""A value that a sentence names."""
Facts = Mapping[str, Fact]
Audience = Literal["run", "doctor"]
Advice = str | Mapping[str, str]
"""A sentence, or sentences by the name of a fact: that of the first one present, else of ``""``."""

TRUST_ISSUER: Final = (
    "set SSL_CERT_FILE to a file with the certificate of the server or of its issuer"
)
PLAIN_HTTP: Final = "write http:// in the address: the server there does not speak TLS"

Kind = TypeVar("Kind", bound=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis(Generic[Kind]):
    """One row of a table."""

    kind: Kind
    says: tuple[str, ...]
    """Parts of the sentence; one that names an absent fact is left out. ``{n:word}`` counts."""
    run: Advice = ""
    """Advice after a run; empty: that of the kind."""
    doctor: Advice = ""
    """Advice of `rageval doctor`; empty: that of the kind, or by the mapping of the reply."""
    check: str = ""
    """Subject of the doctor's finding, where it is not that of the call."""
    examples: tuple[Facts, ...] = field(default=({},), hash=False)


class _Words(string.Formatter):
    """Formats numbers with a noun, ``{n:event}`` as ``1 event`` or ``3 events``, and lists."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        if isinstance(value, int) and len(format_spec) > 1 and format_spec[:1].isalpha():
            return f"{value:,} {format_spec}{'' if value == 1 else 's'}"
        if isinstance(value, list | tuple):
            value = ", ".join(map(str, value))
        return super().format_field(value, format_spec)


WORDS: Final = _Words()
"""Makes a sentence of a text and its facts."""


def joined(parts: Iterable[str], facts: Facts) -> str:
    """Return a sentence of its parts; one that names an absent fact is left out.

    >>> joined(("{n:event}", ", the last at {time}"), {"n": 3})
    '3 events'
    """
    found = []
    for part in parts:
        try:
            found.append(WORDS.vformat(part, (), facts))
        except KeyError:  # a fact is absent
            continue
    return "".join(found)


def with_code(text: str, area: str, code: str) -> str:
    """Return a message with its code at its end, as ``-v`` shows it; one without a code as it is.

    >>> with_code("HTTP 503", "target", "http_server")
    'HTTP 503 [target.http_server]'
    """
    return f"{text} [{area}.{code}]" if code else text


def known(facts: Mapping[str, object]) -> dict[str, Fact]:
    """Return the facts that are neither None nor empty, such as a path as text."""
    return {
        name: fact if isinstance(fact, int) else str(fact)
        for name, fact in facts.items()
        if fact is not None and fact != ""
    }


def sentence(advice: str) -> str:
    """Return an advice of the doctor as a sentence of its own, as it is said after a run."""
    return f"{advice[:1].upper()}{advice[1:]}." if advice else ""


def chosen(given: Advice, facts: Facts) -> str:
    """Return the sentence of an advice that the facts choose; empty: none."""
    if isinstance(given, str):
        return given
    return next((text for name, text in given.items() if not name or name in facts), "")
