"""Replies that come as a stream: server-sent events, JSON Lines, and the answer as plain text.

Bytes become events by the rules of the HTML standard (html.spec.whatwg.org, 9.2.6), or by lines of
JSON; JMESPath expressions over one event find the first token and the end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from pytest_rageval.support.http.bodies import READ_CHARS
from pytest_rageval.support.http.exchange import Attempt
from pytest_rageval.support.http.transport import Stopwatch
from pytest_rageval.support.text import clean
from pytest_rageval.target.contract import (
    MOST_LEVELS,
    error_message,
    last_data,
    parse_json_text,
    parse_reply_bytes,
    shown_keys,
)
from pytest_rageval.target.likely import likely_answer
from pytest_rageval.target.mapping import compile_expression, compile_mapping
from pytest_rageval.values.errors import ConfigError, EndpointError, target_error, with_facts
from pytest_rageval.values.settings import TargetSettings

Event = dict[str, Any]
"""``{"event": name, "data": value}``, of server-sent events also ``id`` if there is one."""

DONE: Final = "[DONE]"
"""Data of the event that ends many streams; it is not listed among the events."""
_ACCEPT: Final = {
    "sse": "text/event-stream, application/json",
    "ndjson": "application/x-ndjson, application/json",
    "text": "text/plain, application/json",
}
_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_PREFIX: Final = re.compile(rb"\s*([0-9a-z]):(?=\S)")
_BOM: Final = b"\xef\xbb\xbf"
_JSON_TYPE: Final = re.compile(r"\s*application/json\s*(;|$)", re.IGNORECASE)
_TEXT_TYPE: Final = re.compile(
    r"\s*(text/(plain|html)|application/octet-stream)?\s*(;|$)", re.IGNORECASE
)
"""Unless the code names a type, Flask and Django stream text as HTML, aiohttp as bytes, and
FastAPI without one."""
_PAGE: Final = re.compile(rb"\s*<(!doctype\s+)?html\b", re.IGNORECASE)
_SSE_FIELD: Final = re.compile(rb"(?:data|event|id|retry)?:|message:\s*\Z")
"""Flowise begins each event with a line ``message:``, which is not a field."""
_PIECES: Final = 2_000
"""Events of a stream that suggest how its answer is read."""
_KIND: Final = re.compile(r"[\w.-]{1,40}")
_FORMATS: Final = {"sse": "server-sent events", "ndjson": "lines of JSON", "text": "plain text"}
_SHOWN_EVENTS: Final = 5
MOST_EVENTS: Final = 200_000
"""More events are an error: each takes many times the memory and time of its bytes."""
_EVENTS_AT_ONCE: Final = 64
"""Events between two looks at the clock: expressions over them may be slow."""


class Lines:
    """Bytes that come in pieces, as lines that end with CR, LF or CRLF."""

    def __init__(self) -> None:
        self._open: list[bytes] = []
        self._after_cr = False
        self._at_start = True

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield the lines that a piece completes, without their ends.

        A line that ends with CR is complete although LF may follow in the next piece. A byte order
        mark at the start is left out.
        """
        if not piece:
            return
        after_cr, self._after_cr = self._after_cr, piece.endswith(b"\r")
        if after_cr and not (piece := piece.removeprefix(b"\n")):
            return
        *lines, rest = _LINE_END.split(piece)
        if lines:
            lines[0] = self.rest + lines[0]
            self._open = []
        self._open.append(rest)
        for line in lines:
            yield line.removeprefix(_BOM) if self._at_start else line
            self._at_start = False

    @property
    def rest(self) -> bytes:
        """Beginning of a line that is not complete."""
        return b"".join(self._open)


class SseParser:
    """Server-sent events by the rules of the standard; ``data`` is decoded where it is JSON.

    An event without an empty line after it, or without ``data``, is ignored.
    """

    def __init__(self) -> None:
        self._lines = Lines()
        self._data: list[str] = []
        self._event = ""
        self._id = ""

    def feed(self, piece: bytes) -> Iterator[Event]:
        """Yield the events that a piece completes."""
        for line in self._lines.feed(piece):
            if line:
                self._field(line.decode("utf-8", "replace"))
                continue
            if self._data:
                named = {"id": self._id} if self._id else {}
                data = _event_data("\n".join(self._data))
                yield {"event": self._event or "message", "data": data, **named}
            self._data, self._event = [], ""

    def end(self) -> Iterator[Event]:
        """Yield nothing: an event that is not complete is dropped."""
        return iter(())

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")  # a comment has an empty name
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value


class LinesParser:
    """JSON Lines: each line that is not blank is the ``data`` of an event; ``event`` is null.

    A line such as ``0:"text"``, of the data stream protocol that AI SDK 4 and LlamaIndexServer
    speak, has what stands before the colon as its ``event``.

    ``feed`` and ``end`` raise EndpointError (``protocol``) for a line that is not JSON.
    """

    def __init__(self, hide: Callable[[str], str] = str) -> None:
        self._lines = Lines()
        self._n = 0
        self._hide = hide

    def feed(self, piece: bytes) -> Iterator[Event]:
        """Yield the events that a piece completes."""
        for line in self._lines.feed(piece):
            self._n += 1
            if line.strip():
                yield _line_event(line, self._n, self._hide)

    def end(self) -> Iterator[Event]:
        """Yield the event of a last line without an end, if it is whole."""
        if rest := self._lines.rest.strip():
            with suppress(EndpointError):  # cut within the line, which the missing last event shows
                yield _line_event(rest.removeprefix(_BOM), self._n + 1, self._hide)


class StreamReader:
    """Reads the pieces of one body as they come, and says when its first token came.

    Args:
        rules: of the target.
        now: milliseconds since the request, of the last piece that was received.
        hide: removes secrets from a text before it is cut for a message.
    """

    def __init__(
        self,
        rules: StreamRules,
        watch: Stopwatch | None = None,
        hide: Callable[[str], str] = str,
    ) -> None:
        self._rules = rules
        self._watch = watch or Stopwatch()
        self._hide = hide
        self._parser = SseParser() if rules.kind == "sse" else LinesParser(hide)
        self._events: list[Event] = []
        self._n_read = 0
        self._ended = False
        self._fault: EndpointError | None = None
        self.ttft_ms: float | None = None
        """Time to the first token; None: none came, or not as a piece of a stream."""

    def feed(self, content_type: str, piece: bytes) -> bool:
        """Read a piece and return whether nothing after it is needed.

        That is so after the last event and after a fault, which ``document`` raises. A body of type
        ``application/json`` may also be one document.

        Raises:
            TimeoutError: the time of the exchange is up.
        """
        typed = _JSON_TYPE.match(content_type) is not None
        self._n_read += len(piece)
        if self._rules.kind == "text":
            if self.ttft_ms is None and piece.strip():
                self.ttft_ms = self._watch.elapsed_ms
            return False
        self._take(self._parser.feed(piece))
        return (self._ended or self._fault is not None) and not (typed and len(self._events) < 2)

    def document(
        self, body: bytes, content_type: str = "", *, delimited: bool = True
    ) -> tuple[object, EndpointError | None]:
        """Return a decoded body, and the error of a stream that ended early. To be called once.

        Args:
            body: all of it, of which ``feed`` may have read the beginning.
            content_type: of the reply. A body of type ``application/json`` that is one JSON
                document is not a stream.
            delimited: whether HTTP marks its end, which else nothing but an event does.

        Returns:
            ``{"events": [...], "last": ...}``, of plain text ``{"answer": ...}``, and None if
            the stream is complete.

        Raises:
            EndpointError: kind ``protocol``; it cannot be read, or has too many events.
        """
        if _JSON_TYPE.match(content_type) and _format(body) != self._rules.kind:
            self.ttft_ms = None
            return parse_reply_bytes(body, self._hide), None
        if self._rules.kind == "text":
            # The development server of Django only closes the connection.
            cut = None if delimited else target_error("stream_text_closed", form="chunks")
            return {"answer": self._text(body, content_type)}, cut
        self._take(self._parser.feed(body[self._n_read :]))
        self._take(self._parser.end())
        if not self._n_read:  # as from a cassette
            self.ttft_ms = None
        if self._fault is not None:
            raise self._fault
        last = self._events[-1] if self._events else None
        whole = {"events": self._events, "last": last}
        if self._ended or (self._rules.last_event is None and last is not None and delimited):
            return whole, None
        return whole, self._missing(body, content_type)

    def timed(self, done: Attempt) -> Attempt:
        """Return an attempt with this reader.

        A connection that broke within the stream is not tried again: some of the answer was there.
        """
        error = done.error
        begun = self._rules.kind == "text" and self.ttft_ms is not None
        if error is not None and error.kind == "connection" and (self._events or begun):
            n = {"n_bytes": self._n_read} if begun else {"n_events": len(self._events)}
            error = target_error("stream_lost", cause=error.message, **n)
        if error is not None:
            self._drop_events()
        return replace(done, error=error, reader=self)

    def _take(self, events: Iterator[Event]) -> None:
        if self._ended or self._fault is not None:
            return
        try:
            for event in events:
                if event["data"] != DONE:
                    if len(self._events) == MOST_EVENTS:
                        raise target_error("stream_too_long", most=MOST_EVENTS)
                    if len(self._events) % _EVENTS_AT_ONCE == 0:
                        self._watch.check()
                    self._events.append(event)
                    if self.ttft_ms is None and self._rules.is_first_token(event):
                        self.ttft_ms = self._watch.elapsed_ms
                self._ended = self._rules.is_last(event) or self._rules.error(event) != ""
                if self._ended:
                    return
        except EndpointError as error:
            self._fault = error
            self._drop_events()

    def _text(self, body: bytes, content_type: str) -> str:
        page = _PAGE.match(body)
        if page or (_format(body) and not _TEXT_TYPE.match(content_type)):
            code = "reply_html" if page else "reply_no_text"
            raise target_error(code, begins=_beginning(body, self._hide))
        return body.removeprefix(_BOM).decode("utf-8", "replace")

    def _drop_events(self) -> None:
        """Drop all but the first two events, since the frames of an error would keep them."""
        del self._events[2:]

    def _missing(self, body: bytes, content_type: str) -> EndpointError:
        if not self._events:
            begins = _beginning(body, self._hide)
            error = target_error("stream_no_event", begins=begins, size="" if begins else "empty")
            return with_facts(error, **stream_facts(body, self._rules.kind, content_type))
        if self._rules.last_event is None:
            return target_error("stream_closed", setting="last_event")
        names = Counter(str(event["event"]) for event in self._events if event["event"])
        shown = ", ".join(f"{n} {name}" for name, n in names.most_common(_SHOWN_EVENTS))
        keys = shown_keys(self._events[-1]["data"])
        return target_error(
            "stream_no_last_event",
            last_event=self._rules.last_event,
            n_events=len(self._events),
            names=clean(self._hide(shown), 200),
            last_keys=self._hide(keys),
        )


class StreamRules:
    """Format of the streams of a target, with its expressions over one event.

    Args:
        target: with ``stream`` other than ``off``.

    Raises:
        ConfigError: an expression is wrong.
    """

    def __init__(self, target: TargetSettings) -> None:
        self.kind = target.stream
        self.accept: Final = _ACCEPT[target.stream]
        """Value of the header ``Accept``."""
        self.last_event = target.last_event
        spec = target.response
        self._reads_errors = isinstance(spec, Mapping) and "error" in spec
        if isinstance(spec, Mapping):
            spec = {name: text for name, text in spec.items() if name == "answer"} or None
        self._answer = None if spec is None else compile_mapping(spec, "response")
        where = "[tool.rageval.target]"
        last = target.last_event
        if self.kind == "text" and (last or target.first_token):
            name = "last_event" if last else "first_token"
            raise ConfigError.of(f"{where} {name}", "no_events")
        self._is_last = compile_expression(last, f"{where} last_event") if last else _usual_end
        first = target.first_token
        self._is_first = first and compile_expression(first, f"{where} first_token")

    def is_last(self, event: Event) -> bool:
        """Whether an event ends the stream."""
        return _is_true(_value(self._is_last, event))

    def error(self, event: Event | None) -> str:
        """Return the message of an event that reports an error; empty: it reports none.

        That is an event named ``error``, or one with an ``error`` at the top level of its data.
        Where the mapping reads errors itself, no event is one.
        """
        if event is None or self._reads_errors:
            return ""
        data = event["data"]
        if event["event"] == "error":
            return error_message(data) or error_message(True)
        return error_message(data.get("error")) if isinstance(data, Mapping) else ""

    def is_first_token(self, event: Event) -> bool:
        """Whether an event brings a part of the answer: by default, by the mapping on it alone."""
        if self._is_first:
            return _is_true(_value(self._is_first, event))
        if self._answer is None:
            return event["data"] not in (None, "", [], {})
        mapped = _value(self._answer, {"events": [event], "last": event})
        text = mapped.get("answer") if isinstance(mapped, Mapping) else None
        return isinstance(text, str) and bool(text.strip())


def stream_facts(body: bytes, kind: str, content_type: str = "") -> Mapping[str, str]:
    """Return the kind of stream that a body looks like and the setting that reads it, if another.

    Args:
        body: all of it, which cannot be read by the setting.
        kind: the setting ``stream``.
        content_type: of the reply.
    """
    readable = body.strip()[:1] not in (b"", b"<", b"{") and b"\0" not in body
    text = readable and _TEXT_TYPE.match(content_type)
    found = _format(body) or ("text" if text else "")
    if found in ("", kind):
        return {}
    return {"looks_like": _FORMATS[found], "stream": found}


def _format(body: bytes) -> str:
    """Return the kind of stream that a body seems to be; empty: none."""
    first, *others = [*filter(bytes.strip, body.removeprefix(_BOM).split(b"\n", 20)), b""]
    if _SSE_FIELD.match(first):
        return "sse"
    try:
        several = len(others) > 1 and isinstance(parse_json_text(first.decode("utf-8")), dict)
    except (ValueError, RecursionError):
        return ""
    return "ndjson" if several else ""


def likely_stream_answer(reply: object, sent: object = None) -> str:
    """Return the expression that joins the texts of the most frequent kind of event of a stream.

    For a decoded reply that is no stream, that of ``likely_answer``; empty if absent.
    """
    if last_data(reply) is reply or not isinstance(reply, Mapping):
        return likely_answer(reply, sent)
    found = Counter(filter(None, map(_likely_piece, reply["events"][:_PIECES])))
    return f"join('', {found.most_common(1)[0][0]})" if found else ""


def _likely_piece(event: Event) -> str:
    """Return the expression of the texts of all events of a kind, which may be of the answer."""
    data, name = event["data"], str(event["event"] or "")
    if isinstance(data, str):
        # A piece such as [1] of plain text is read as a list.
        pieces = f"map(&to_string(@), events[?event=='{name}'].data)"
        return pieces if _KIND.fullmatch(name) else ""
    text = likely_answer(data)
    if not text and isinstance(data, Mapping) and isinstance(data.get("token"), str):
        text = "token"  # of a whole reply it is rather a credential
    if not text or "|" in text:  # of a whole answer, of which no piece is joined
        return ""
    # Other kinds may hold sources or a status in a field of the same name.
    kinds = {"data.type": data.get("type"), "data.event": data.get("event")}
    if name != "message":  # which every event has whose server names none
        kinds["event"] = name
    texts = {key: kind for key, kind in kinds.items() if isinstance(kind, str)}
    named = [f"?{key}=='{kind}'" for key, kind in texts.items() if _KIND.fullmatch(kind)]
    return f"events[{named[0] if named else ''}].data.{text}"


def _is_true(value: object) -> bool:
    """Truth as in JMESPath, where 0 is true."""
    return value is not None and value is not False and value not in ("", [], {})


def _usual_end(event: Any) -> bool:
    """Whether an event ends OpenAI's streams, or is MCP's answer."""
    data = event["data"]
    if not isinstance(data, Mapping):
        return isinstance(data, str) and data == DONE
    return _is_true(data.get("jsonrpc")) and any(
        _is_true(data.get(name)) for name in ("result", "error")
    )


def _value(expression: Callable[[object], object], document: object) -> object:
    try:
        return expression(document)
    except EndpointError:  # such as of a function on a value of another type
        return None


def _event_data(text: str) -> object:
    """Decode an object, list or string; a number may be a token of the answer, so it stays text."""
    if not text.lstrip().startswith(("{", "[", '"')):
        return text
    try:
        return parse_json_text(text)
    except RecursionError as error:
        raise target_error("stream_event_deep", levels=MOST_LEVELS) from error
    except ValueError:
        return text


def _beginning(text: bytes, hide: Callable[[str], str]) -> str:
    """Return the beginning of a text that cannot be read, for a message."""
    return clean(hide(text[:READ_CHARS].decode("utf-8", "replace")), 80)


def _line_event(line: bytes, number: int, hide: Callable[[str], str]) -> Event:
    prefix = _PREFIX.match(line)
    name = prefix[1].decode() if prefix else None
    rest = line[prefix.end() :] if prefix else line
    if rest.strip() == DONE.encode():
        return {"event": name, "data": DONE}
    try:
        return {"event": name, "data": parse_json_text(rest.decode("utf-8"))}
    except RecursionError as error:
        raise target_error("stream_line_deep", line=number, levels=MOST_LEVELS) from error
    except ValueError as error:
        begins = _beginning(rest, hide)
        raise target_error("stream_line_not_json", line=number, begins=begins) from error
