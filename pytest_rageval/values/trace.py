"""W3C Trace Context of one question: ids that follow from run, case and repeat (docs/traces.md)."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote

HEADER: Final = "traceparent"
ID_FIELD: Final = "{trace_id}"
"""Place of the id in the address of a trace."""
_TRACEPARENT: Final = re.compile(r"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_ADDRESS: Final = re.compile(r"https?://[!-~]+", re.IGNORECASE)


def trace_id(run_id: str, nodeid: str, repeat: int) -> str:
    """Return the 32 hex digits of a trace, never all zero.

    >>> trace_id("nightly", "evals/eval_set.jsonl::refunds_001", 0)
    'a2f04230788775544abf3378861853e5'
    """
    return _digits(f"{run_id}\n{nodeid}\n{repeat}", 32)


def span_id(trace: str, attempt: int = 1) -> str:
    """Return the 16 hex digits of the span of an attempt, counted from 1, never all zero."""
    return _digits(f"{trace}\n{attempt}", 16)


def traceparent(trace: str, attempt: int = 1) -> str:
    """Return the value of the header for an attempt, of version 00 and marked as sampled."""
    return f"00-{trace}-{span_id(trace, attempt)}-01"


def ids_of(header: str) -> tuple[str, str] | None:
    """Return trace id and span id of a header; None: it is not valid."""
    match = _TRACEPARENT.fullmatch(header.strip())
    if match is None or not (match[1].strip("0") and match[2].strip("0")):
        return None
    return match[1], match[2]


def trace_link(template: object, trace: str | None) -> str:
    """Return the address of a trace; empty: it is not known, or the template is not one.

    A stored run may hold any template, so only addresses of http and https are links.

    >>> trace_link("https://traces.example.com/t/{trace_id}", "a3fa")
    'https://traces.example.com/t/a3fa'
    >>> trace_link("javascript:alert({trace_id})", "a3fa")
    ''
    """
    known = isinstance(template, str) and _ADDRESS.fullmatch(template) and ID_FIELD in template
    return str(template).replace(ID_FIELD, quote(trace, safe="")) if known and trace else ""


@lru_cache(maxsize=64)  # the span of an attempt is asked for twice
def _digits(text: str, count: int) -> str:
    digits = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:count]
    return digits if digits.strip("0") else digits[:-1] + "1"
