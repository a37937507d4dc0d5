"""Traces of the requests to a target: each attempt is a span of its own."""

from __future__ import annotations

from dataclasses import replace

from pytest_rageval.support.http.exchange import Request
from pytest_rageval.values.reply import HEADER, ids_of, span_id, traceparent


class Spans:
    """Spans of the attempts of one question.

    Args:
        trace_id: trace that they belong to; empty: no header is added.
    """

    def __init__(self, trace_id: str) -> None:
        self.trace_id = ""
        """Trace of the last attempt; empty: none."""
        self.span_id = ""
        """Our span of the last attempt; empty: none, or the project's own header was sent."""
        self._trace = trace_id
        self._made = 0

    def traced(self, request: Request) -> Request:
        """Return the next attempt with its header, unless the request has one of the project."""
        headers = request.headers or {}
        own = next((value for name, value in headers.items() if name.lower() == HEADER), None)
        if own is not None:
            found = ids_of(own)
            self.trace_id, self.span_id = "" if found is None else found[0], ""
            return request
        if not self._trace:
            return request
        self._made += 1
        self.trace_id, self.span_id = self._trace, span_id(self._trace, self._made)
        return replace(request, headers={**headers, HEADER: traceparent(self._trace, self._made)})
