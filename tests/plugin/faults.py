"""Twenty-odd ways in which a target fails, or seems to; the question says which."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from dataclasses import dataclass
from typing import Any, Final

from tests.build.loopback import Question, http, http_json
from tests.plugin.rag_server import hit_or_miss
from tests.plugin.scratch import case

READ_TIMEOUT_S: Final = 5.0
TIMEOUT_S: Final = 8.0
RETRIES: Final = 1
TOTAL: Final = 400


@dataclass(frozen=True, slots=True)
class Fault:
    """Result of asking a question of one kind."""

    error: str | None
    """Kind of the error; None: the case is asked well."""
    attempts: int
    count: int = 4
    """Cases of this kind; waits and large replies are few."""


FAULTS: Final = {
    "reset": Fault("connection", 2),
    "hang-up": Fault("connection", 2),
    "truncated": Fault("connection", 2),
    "cut-headers": Fault("connection", 2),
    "html-200": Fault("protocol", 1),
    "html-500": Fault("http", 2),
    "once-500": Fault(None, 2),
    "always-503": Fault("http", 2, 2),
    "once-429": Fault(None, 2, 2),
    "not-found": Fault("http", 1),
    "redirect": Fault("http", 1),
    "wrong-types": Fault("protocol", 1),
    "wrong-chunks": Fault("protocol", 1),
    "no-answer": Fault("protocol", 1),
    "a-list": Fault("protocol", 1),
    "no-utf8": Fault("protocol", 1),
    "no-json": Fault("protocol", 1),
    "empty": Fault("empty", 1),
    "nothing": Fault("protocol", 1),
    "large": Fault(None, 1, 2),
    "nan": Fault(None, 1),
    "same-ids": Fault(None, 1),
    "no-ids": Fault(None, 1),
    "no-debug": Fault(None, 1),
    "null-debug": Fault(None, 1),
    "slow": Fault("timeout", 1, 2),
    "drip": Fault("timeout", 1, 2),
}
GOOD: Final = Fault(None, 1)


def kind_of(question: str) -> str:
    return question.split()[0]


def fault_of(question: str) -> Fault:
    return FAULTS.get(kind_of(question), GOOD)


def mixed_cases() -> list[dict[str, Any]]:
    """Four hundred cases, faults spread evenly among those that are answered."""
    kinds = [kind for kind, fault in FAULTS.items() for _ in range(fault.count)]
    step = TOTAL // len(kinds)
    cases = []
    for n in range(TOTAL):
        place, rest = divmod(n, step)
        # 101 is prime to their number, so that those of one kind do not come in a row.
        faulty = rest == 0 and place < len(kinds)
        kind = kinds[place * 101 % len(kinds)] if faulty else ("hit" if n % 3 else "miss")
        cases.append(case(f"c{n:04}", f"{kind} number {n}", category=f"part-{n % 4}"))
    return cases


async def faulty(question: Question, writer: asyncio.StreamWriter) -> bytes | None:
    """Answer as the question says."""
    kind = kind_of(question.text)
    if kind in FAULTS:
        reply = _REPLIES.get(kind)
        if reply is not None:
            return reply
        return await _act(kind, question, writer)
    return http_json(hit_or_miss(question.text, question.nth))


async def _act(kind: str, question: Question, writer: asyncio.StreamWriter) -> bytes | None:
    good = http_json(hit_or_miss("hit", 0))
    if kind == "reset":
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    elif kind == "truncated":
        writer.write(good[:-20])
    elif kind == "cut-headers":
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Le")
    elif kind == "once-500":
        return good if question.nth else http(b"oh", "500 Internal Server Error")
    elif kind == "once-429":
        return good if question.nth else http(b"", "429 Too Many Requests", "Retry-After: 1")
    elif kind == "slow":
        await asyncio.sleep(READ_TIMEOUT_S * 5)
    elif kind == "drip":
        for byte in good:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.1)
    return None


def _answer(**fields: Any) -> dict[str, Any]:
    return hit_or_miss("hit", 0) | fields


def _chunks(*chunks: object) -> dict[str, Any]:
    return _answer(debug={"retrieved_chunks": list(chunks)})


_GOLD: Final = {"rel_path": "a.md", "heading_path": "# A", "text": "It is so."}
_PAGE: Final = b"<!doctype html><title>Welcome</title><p>Please log in."
_REPLIES: Final = {
    "html-200": http(_PAGE, "200 OK", "Content-Type: text/html"),
    "html-500": http(_PAGE, "500 Internal Server Error", "Content-Type: text/html"),
    "always-503": http(b"later", "503 Service Unavailable"),
    "not-found": http_json({"detail": "Not Found"}, "404 Not Found"),
    "redirect": http(b"", "307 Temporary Redirect", "Location: /elsewhere"),
    "wrong-types": http_json(_answer(answer=["It", "is", "so"])),
    "wrong-chunks": http_json(_answer(debug={"retrieved_chunks": "none"})),
    "no-answer": http_json({"references": []}),
    "a-list": http_json([_answer()]),
    "no-utf8": http(b'{"answer": "caf\xe9"}'),
    "no-json": http(b'{"answer": "It is so."'),
    "empty": http_json(_answer(answer=" \n")),
    "nothing": http(b""),
    "large": http_json(_answer(answer="It is so. " * 700_000)),
    "nan": http(
        json.dumps(_chunks({**_GOLD, "chunk_id": "c1", "score_final": float("nan")})).encode()
    ),
    "same-ids": http_json(_chunks(*[{**_GOLD, "chunk_id": "c1"}] * 3)),
    "no-ids": http_json(_chunks(_GOLD, {"rel_path": "b.md"})),
    "no-debug": http_json({"answer": "It is so.", "abstained": False, "references": [_GOLD]}),
    "null-debug": http_json(_answer(debug=None)),
}
