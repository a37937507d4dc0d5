"""A server on the loopback interface that counts what is in flight, on an event loop of its own.

It takes many requests at once without a thread for each, and may answer with any bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.loopback_mock import completion
from tests.plugin.rag_server import hit_or_miss

BACKLOG: Final = 1024


@dataclass(frozen=True, slots=True)
class Question:
    """Request to the target or to a judge."""

    text: str
    """Of the target: the question. Of a judge: the prompt."""
    nth: int
    """Number of times that it was asked before."""
    of_judge: bool
    body: dict[str, Any]


Answer = Callable[[Question, asyncio.StreamWriter], Awaitable[bytes | None]]
"""A whole HTTP reply; None: it was written, and the connection is done with."""


@dataclass
class LoopbackServer:
    """A target and judge on loopback: the requests so far, and the function that answers them."""

    answer: Answer
    port: int = 0
    asked: list[str] = field(default_factory=list)
    """Questions of the target, in the order in which they came."""
    judged: int = 0
    in_flight: int = 0
    """Questions to target and judge that are not answered yet."""
    peak: int = 0
    times: list[tuple[float, int]] = field(default_factory=list)
    """When each request came, in monotonic seconds, and how many were in flight with it."""
    _counts: Counter[str] = field(default_factory=Counter)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def forget(self) -> None:
        """Begin to count anew."""
        self.asked.clear()
        self.times.clear()
        self._counts.clear()
        self.judged = self.peak = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (reply := await self._reply(reader, writer)) is not None:
                writer.write(reply)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # whoever asked is gone, or the test is over
        finally:
            writer.close()

    async def _reply(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes | None:
        question = await self._read(reader)
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        self.times.append((time.monotonic(), self.in_flight))
        try:
            return await self.answer(question, writer)
        finally:
            # Before the reply: whoever has it may ask again at once.
            self.in_flight -= 1

    async def _read(self, reader: asyncio.StreamReader) -> Question:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = next(
            int(line.partition(":")[2])
            for line in head.splitlines()
            if line.startswith("content-length:")
        )
        body = json.loads(await reader.readexactly(length))
        of_judge = "/chat/completions" in head.splitlines()[0]
        text = body["messages"][-1]["content"] if of_judge else body["question"]
        if of_judge:
            self.judged += 1
        else:
            self.asked.append(text)
        nth = self._counts[text]
        self._counts[text] += 1
        return Question(text, nth, of_judge, body)


@contextlib.contextmanager
def loopback_server(answer: Answer) -> Iterator[LoopbackServer]:
    """Serve until the block ends; what is then unanswered stays so."""
    served = LoopbackServer(answer)
    started = threading.Event()
    loop = asyncio.new_event_loop()

    async def run() -> None:
        server = await asyncio.start_server(served.serve, "127.0.0.1", 0, backlog=BACKLOG)
        served.port = server.sockets[0].getsockname()[1]
        started.set()
        with contextlib.suppress(asyncio.CancelledError):
            await server.serve_forever()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        await asyncio.sleep(0.01)  # closing a connection takes another turn of the loop

    def work() -> None:
        loop.run_until_complete(main)
        loop.close()

    main = loop.create_task(run())
    thread = threading.Thread(target=work, name="loopback-server", daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield served
    finally:
        loop.call_soon_threadsafe(main.cancel)
        thread.join(10)


# --- answers -------------------------------------------------------------------------------------


def http(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("ascii") + body


def http_json(payload: object, status: str = "200 OK", *headers: str) -> bytes:
    return http(json.dumps(payload).encode(), status, *headers)


def good_reply(question: Question) -> bytes:
    """Reply of a target that works, or of a judge that gives high scores."""
    if question.of_judge:
        return http(completion(question.body))
    return http_json(hit_or_miss(question.text, question.nth))


def after(ask_s: float, judge_s: float = 0.0) -> Answer:
    """Answer well, after a while."""

    async def answer(question: Question, writer: asyncio.StreamWriter) -> bytes:
        await asyncio.sleep(judge_s if question.of_judge else ask_s)
        return good_reply(question)

    return answer
