"""Whatever a user's ``rag_client`` fixture returns can be asked."""

from __future__ import annotations

import asyncio
import json
import math
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from enum import Enum
from functools import partial
from io import BytesIO
from typing import Any
from urllib.error import HTTPError

import pytest

from pytest_rageval.target.adapters import from_documents
from pytest_rageval.target.calling import answered, call_client
from pytest_rageval.values.errors import ConfigError, EndpointError
from pytest_rageval.values.reply import (
    AskRequest,
    AskResponse,
    AskResult,
    Citation,
    FolderSelection,
    RetrievedChunk,
    Search,
)

QUESTION = AskRequest(question="q")


def call(client: object) -> AskResult:
    ticks = iter([1.0, 1.5])
    return call_client(client, QUESTION, clock=lambda: next(ticks))


def response_of(result: AskResult) -> AskResponse:
    assert result.error is None
    assert result.response is not None
    return result.response


def error_of(result: AskResult) -> tuple[str, str]:
    assert result.response is None
    assert result.error is not None
    return result.error.kind, result.error.message


class SyncClient:
    def ask(self, request: AskRequest) -> AskResponse:
        return AskResponse(answer=f"to {request.question}")


class AsyncClient:
    async def ask(self, request: AskRequest) -> AskResponse:
        await asyncio.sleep(0)
        return AskResponse(answer=f"to {request.question}")


def sync_function(request: AskRequest) -> dict[str, object]:
    return {"answer": f"to {request.question}"}


async def async_function(request: AskRequest) -> dict[str, object]:
    await asyncio.sleep(0)
    return {"answer": f"to {request.question}"}


class CallableClient:
    async def __call__(self, request: AskRequest) -> dict[str, object]:
        return await async_function(request)


def hidden_coroutine(request: AskRequest) -> object:
    return async_function(request)


@pytest.mark.parametrize(
    "client",
    [
        SyncClient(),
        AsyncClient(),
        sync_function,
        async_function,
        CallableClient(),
        hidden_coroutine,
    ],
)
def test_every_form_of_client_is_asked_and_timed(client: object) -> None:
    result = call(client)
    assert response_of(result).answer == "to q"
    assert (result.total_ms, result.attempts) == (500.0, 1)


def test_an_async_client_works_while_another_loop_runs_in_the_same_thread() -> None:
    async def under_pytest_asyncio() -> AskResult:
        return call(AsyncClient())

    assert response_of(asyncio.run(under_pytest_asyncio())).answer == "to q"


def test_every_call_runs_on_the_loop_of_the_session_which_is_kept() -> None:
    loops = []

    async def client(request: AskRequest) -> dict[str, object]:
        loops.append(asyncio.get_running_loop())
        return {"answer": "a"}

    call(client)
    call(client)
    assert loops[0] is loops[1]
    assert not loops[0].is_closed()


def test_a_client_that_times_itself_is_recognised_by_ask_result() -> None:
    theirs = AskResult(response=AskResponse(answer="a"), error=None, total_ms=7.0, attempts=3)

    class Rich(SyncClient):
        def ask_result(self, request: AskRequest) -> AskResult:
            return theirs

    assert call(Rich()) is theirs


def test_a_response_built_by_hand_is_read_as_strictly_as_a_reply() -> None:
    chunks = (
        RetrievedChunk(rel_path="b.md", rank=2, score_final=math.nan),
        RetrievedChunk(rel_path="a.md", rank=1, text="t", text_truncated=True),
    )
    full = AskResponse(
        answer="a",
        references=(Citation(rel_path="a.md", chunk_index=0),),
        abstained=False,
        retrieved_chunks=chunks,
        folder_selection=FolderSelection(selected_folders=("x",), fallback_used=True),
        latency={"total_ms": 3.0},
        models={"llm_model": "m"},
    )
    response = response_of(call(lambda request: full))
    assert response.retrieved_chunks == (
        chunks[1],
        RetrievedChunk(rel_path="b.md", rank=2, score_final=None),
    )
    assert response.references == full.references
    assert response.folder_selection == full.folder_selection
    assert (response.latency, response.models) == (full.latency, full.models)

    wrong = AskResponse(answer=None)  # type: ignore[arg-type]
    assert error_of(call(lambda request: wrong)) == (
        "protocol",
        "answer: expected a string, got null",
    )


def test_a_dictionary_may_hold_values_of_this_package() -> None:
    chunks = from_documents([({"source": "a.md", "text": "t"}, 0.5), {"source": "b.md"}])
    debug = {
        "retrieved_chunks": chunks,
        "folder_selection": FolderSelection(selected_folders=("x",)),
        "searches": [Search(query="q", chunks=("c-1",))],
    }
    reply = {"answer": "a", "references": [Citation(rel_path="a.md")], "debug": debug}
    response = response_of(call(lambda request: reply))
    assert response.retrieved_chunks == chunks
    assert response.references == (Citation(rel_path="a.md"),)
    assert response.folder_selection == debug["folder_selection"]
    assert response.searches == (Search(query="q", chunks=("c-1",)),)


def test_a_generator_may_yield_values_of_this_package() -> None:
    given: Any = (RetrievedChunk(rel_path=path) for path in ("a.md", "b.md"))
    chunks = response_of(call(lambda request: AskResponse(answer="a", retrieved_chunks=given)))
    assert [chunk.rel_path for chunk in chunks.retrieved_chunks or ()] == ["a.md", "b.md"]


def test_an_empty_answer_keeps_its_response_beside_the_error() -> None:
    result = call(lambda request: {"answer": " "})
    assert result.response == AskResponse(answer=" ", reply_keys=("answer",))
    assert result.error is not None
    assert result.error.kind == "empty"


def test_answered_carries_time_and_attempts_into_the_error() -> None:
    result = answered(AskResponse(answer=""), total_ms=5.0, attempts=2)
    assert result.error is not None
    assert (result.total_ms, result.attempts, result.error.attempts) == (5.0, 2, 2)


@pytest.mark.parametrize("returned", ["an answer", None, 7, ["answer"]])
def test_another_type_is_a_protocol_error_that_says_what_came(returned: object) -> None:
    def my_client(request: AskRequest) -> object:
        return returned

    kind, message = error_of(call(my_client))
    assert kind == "protocol"
    assert "my_client() returned" in message
    assert "None" in message if returned is None else type(returned).__name__ in message
    assert "expected an AskResponse or a dict" in message


def test_a_client_that_yields_is_told_that_it_returned_a_generator() -> None:
    def ask(request: AskRequest) -> Iterator[str]:
        yield "part of an answer"

    assert error_of(call(ask)) == (
        "protocol",
        "ask() returned a generator; expected an AskResponse or a dict with answer",
    )


class ApiTimeoutError(Exception):
    """As HTTP libraries do: a type of its own around what the socket raised."""


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (TimeoutError(), "timeout", "TimeoutError"),
        (TimeoutError("late"), "timeout", "TimeoutError: late"),
        (ConnectionRefusedError("no"), "connection", "ConnectionRefusedError: no"),
        (OSError("no route"), "connection", "OSError: no route"),
        (KeyError("answer"), "raised", "KeyError: 'answer'"),
        (ValueError("one\n\ttwo\x1b[2J"), "raised", "ValueError: one two"),
        (RuntimeError(), "raised", "RuntimeError"),
        (EndpointError("http", "HTTP 500", attempts=4), "http", "HTTP 500"),
        (
            ExceptionGroup("searches failed", [ConnectionResetError("gone"), ValueError("bad")]),
            "connection",
            "ExceptionGroup: searches failed (2 sub-exceptions), which holds ConnectionResetError: "
            "gone",
        ),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_what_a_client_raises_becomes_an_error_of_a_kind(
    raised: Exception, kind: str, message: str, is_async: bool
) -> None:
    def sync_client(request: AskRequest) -> AskResponse:
        raise raised

    async def async_client(request: AskRequest) -> AskResponse:
        raise raised

    result = call(async_client if is_async else sync_client)
    assert error_of(result) == (kind, message)
    assert result.total_ms == 500.0
    assert result.attempts == (4 if kind == "http" else 1)


class Grpc(Enum):
    UNAVAILABLE = 14
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (lambda _: Grpc.UNAVAILABLE, "connection"),
        (lambda _: Grpc.DEADLINE_EXCEEDED, "timeout"),
        (lambda _: Grpc.NOT_FOUND, "raised"),
        (None, "raised"),
    ],
)
def test_the_status_of_a_grpc_error_tells_its_kind(code: object, kind: str) -> None:
    base = type("RpcError", (Exception,), {"__module__": "grpc", "code": code})
    raised = type("_InactiveRpcError", (base,), {"__module__": "grpc._channel"})

    def client(request: AskRequest) -> AskResponse:
        raise ApiTimeoutError("search failed") from raised()

    assert error_of(call(client))[0] == kind


def test_the_cause_of_an_error_tells_its_kind() -> None:
    def client(request: AskRequest) -> AskResponse:
        try:
            raise TimeoutError("read timed out")
        except TimeoutError as error:
            raise ApiTimeoutError("Request failed") from error

    assert error_of(call(client)) == ("timeout", "ApiTimeoutError: Request failed")


@pytest.mark.parametrize(
    ("package", "cause", "kind"),
    [
        ("botocore.exceptions", ConnectionRefusedError(111, "refused"), "connection"),
        ("botocore.exceptions", TimeoutError("timed out"), "timeout"),
        ("qdrant_client.http.exceptions", TimeoutError("timed out"), "timeout"),
        ("redis.exceptions", ConnectionRefusedError(111, "refused"), "connection"),
        ("requests.exceptions", TimeoutError("timed out"), "timeout"),
        ("my_engine", TimeoutError("timed out"), "raised"),
    ],
)
def test_the_error_that_a_client_library_replaces_tells_the_kind(
    package: str, cause: OSError, kind: str
) -> None:
    replacing = type("LibraryError", (Exception,), {"__module__": package})

    def client(request: AskRequest) -> AskResponse:
        try:
            raise cause
        except OSError:
            raise replacing("no reply")  # noqa: B904

    assert error_of(call(client)) == (kind, "LibraryError: no reply")


def test_wrong_settings_stop_the_run_instead_of_failing_each_case() -> None:
    def client(request: AskRequest) -> AskResponse:
        raise ConfigError("the variable RAG_KEY is not set")

    with pytest.raises(ConfigError, match="RAG_KEY"):
        call(client)


def test_ctrl_c_in_a_client_is_not_swallowed() -> None:
    def client(request: AskRequest) -> AskResponse:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call(client)


@dataclass
class NotAClient:
    ask: str = "me"


@pytest.mark.parametrize("client", [None, "http://localhost", NotAClient(), SyncClient])
def test_a_fixture_that_returns_no_client_is_a_config_error(client: object) -> None:
    if client is SyncClient:
        # The class instead of an instance: `ask` is there but has no self.
        assert error_of(call(client))[0] == "raised"
        return
    with pytest.raises(ConfigError, match="rag_client: expected an object with ask"):
        call(client)
    assert threading.current_thread() is threading.main_thread()


def test_vectors_of_a_response_built_by_hand_are_kept() -> None:
    chunk = RetrievedChunk(rel_path="a.md", embedding=(0.0, 1.0))
    reply = AskResponse(answer="a", query_embedding=(1.0, 0.0), retrieved_chunks=(chunk,))
    assert response_of(call(lambda request: reply)) == reply


def test_numbers_and_truth_values_of_numpy_are_read() -> None:
    import numpy as np

    numbers = {"chunk_id": 7, "rank": 1, "page": 2, "token_count": 3}
    typed = {name: np.int64(n) for name, n in numbers.items()} | {"score_final": np.float32(0.5)}
    debug = {"latency": {"retrieval_ms": np.float32(3)}, "usage": {"input_tokens": np.int64(4)}}
    chunks = {"retrieved_chunks": [{"rel_path": "a.md", **typed}]}
    reply = {"answer": "a", "abstained": np.bool_(False), "debug": {**debug, **chunks}}
    found = response_of(call(lambda request: reply))
    assert (found.abstained, found.latency, found.usage) == (
        False,
        {"retrieval_ms": 3.0},
        {"input_tokens": 4.0},
    )
    assert found.retrieved_chunks == (
        RetrievedChunk(
            rel_path="a.md", chunk_id="7", rank=1, pages=(2,), token_count=3, score_final=0.5
        ),
    )


def test_a_reply_without_chunks_keeps_the_names_of_its_fields() -> None:
    import numpy as np

    plain = response_of(call(lambda request: {"answer": "a", "docs": [], "debug": {"hits": []}}))
    assert plain.reply_keys == ("answer", "docs", "debug.hits")
    built = AskResponse(answer="a", references=(), query_embedding=np.ones(2))  # type: ignore[arg-type]
    assert response_of(call(lambda request: built)).reply_keys == (
        "answer",
        "references",
        "debug.query_embedding",
    )
    chunk = {"rel_path": "a.md"}
    full = call(lambda request: {"answer": "a", "debug": {"retrieved_chunks": [chunk]}})
    assert response_of(full).reply_keys == ()


class _Refused(OSError):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status} Client Error")
        self.response = type("Response", (), {"status_code": status, "text": text})()


def test_an_exception_with_the_status_of_a_reply_is_an_http_error() -> None:
    def refuse(status: int, text: str) -> AskResult:
        def ask(request: AskRequest) -> None:
            raise _Refused(status, text)

        return call(ask)

    kind, message = error_of(refuse(429, '{"detail": "slow down"}'))
    assert (kind, message) == ("http", "_Refused: 429 Client Error; the reply says: slow down")
    assert error_of(refuse(500, "plain"))[1].endswith("; the reply says: plain")
    assert error_of(refuse(502, "<h1>Bad Gateway</h1>"))[1].endswith(
        "; the reply says: Bad Gateway"
    )
    assert error_of(refuse(200, "fine"))[0] == "connection"


def test_an_exception_whose_reply_cannot_be_read_any_more_keeps_the_kind_of_its_status() -> None:
    import httpx

    def closed(request: AskRequest) -> None:
        error = HTTPError("http://x.example", 429, "Too Many Requests", Message(), BytesIO(b"slow"))
        error.close()
        raise error

    def streamed(request: AskRequest, *, status: int) -> None:
        asked = httpx.Request("POST", "http://x.example")
        reply = httpx.Response(status, request=asked, content=iter([b"slow"]))
        raise httpx.HTTPStatusError("no", request=asked, response=reply)

    assert error_of(call(closed)) == ("http", "HTTPError: HTTP Error 429: Too Many Requests")
    assert error_of(call(partial(streamed, status=429))) == ("http", "HTTPStatusError: no")
    assert error_of(call(partial(streamed, status=200)))[0] == "raised"


def test_the_page_about_a_status_that_httpx_names_is_left_out() -> None:
    import httpx

    def refused(request: AskRequest) -> None:
        asked = httpx.Request("POST", "http://x.example")
        httpx.Response(403, request=asked).raise_for_status()

    expected = "HTTPStatusError: Client error '403 Forbidden' for url 'http://x.example'"
    assert error_of(call(refused)) == ("http", expected)


def test_an_error_that_a_reply_reports_leads_the_message() -> None:
    kind, message = error_of(call(lambda request: {"code": 7, "message": "no index"}))
    assert kind == "protocol"
    assert message.startswith("the reply reports an error: no index (answer: expected a string")
    empty = call(lambda request: {"answer": "", "code": 7, "message": "no index"})
    assert empty.error is not None
    assert empty.error.message.startswith("the reply reports an error: no index (the answer is")


def test_a_reply_with_an_error_is_an_error_of_the_target_without_its_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAG_API_KEY", "hushhush")
    reply = {"answer": "It failed.", "error": "no index for hushhush"}
    assert error_of(call(lambda request: reply)) == ("target", "no index for ***")


def test_a_refused_connection_of_httpx_is_a_connection_error() -> None:
    import httpx

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        assert error_of(call(lambda request: httpx.get(url)))[0] == "connection"


def test_a_secret_across_the_cut_of_a_reason_leaves_no_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAG_API_KEY", "hushed" * 5)
    text = "x " * 145 + "hushed" * 5

    def ask(request: AskRequest) -> None:
        raise _Refused(401, json.dumps({"detail": text}))

    assert "hush" not in error_of(call(ask))[1]
    assert "hush" not in error_of(call(lambda request: {"error": text}))[1]
    assert "hush" not in str(call(lambda request: {"error": text, "answer": ""}).error)


def test_a_secret_across_the_end_of_what_is_read_of_a_page_leaves_no_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAG_API_KEY", "hushed" * 5)
    page = f"<style>{'x' * 4000}</style>"

    def ask(request: AskRequest) -> None:
        raise _Refused(401, f"{page}{'- ' * 32}{'hushed' * 5}")

    kind, message = error_of(call(ask))
    assert (kind, message.endswith("- ***")) == ("http", True)


def test_the_message_of_an_endpoint_error_is_cleaned_and_cut() -> None:
    def ask(request: AskRequest) -> None:
        raise EndpointError("http", "\x1b[31mred\n::error::no " + "x" * 5000)

    message = error_of(call(ask))[1]
    assert message.startswith("red ")
    assert "::error::" not in message
    assert len(message) <= 400


class Unprintable(Exception):
    def __str__(self) -> str:
        raise self.args[0]

    @property
    def response(self) -> object:
        raise self.args[0]


@pytest.mark.parametrize("fault", [RuntimeError, SystemExit, GeneratorExit])
def test_an_exception_whose_text_raises_is_still_an_error_of_the_target(
    fault: type[BaseException],
) -> None:
    def ask(request: AskRequest) -> None:
        raise ValueError("outer") from Unprintable(fault)

    def alone(request: AskRequest) -> None:
        raise Unprintable(fault)

    for client, name in ((ask, "ValueError: outer"), (alone, "Unprintable: (its text cannot be")):
        error = call_client(client, AskRequest(question="q")).error
        assert error is not None
        assert error.message.startswith(name)


class Hostile(dict[str, object]):
    """A mapping that raises whatever is asked of it."""

    fault: type[BaseException] = ZeroDivisionError

    def __iter__(self) -> Any:
        raise self.fault("keys")

    items = keys = values = __iter__

    def __contains__(self, name: object) -> bool:
        raise self.fault("contains")

    def __getitem__(self, name: str) -> object:
        raise self.fault("getitem")

    get = __getitem__  # type: ignore[assignment]


@pytest.mark.parametrize("fault", [ZeroDivisionError, GeneratorExit, SystemExit])
def test_a_mapping_that_raises_is_an_error_of_its_case(fault: type[BaseException]) -> None:
    reply = Hostile(answer="", text="x")
    reply.fault = fault
    kind, message = error_of(call(lambda request: reply))
    assert kind in {"raised", "protocol"}
    assert message


def test_ctrl_c_while_a_reply_is_read_comes_through() -> None:
    reply = Hostile(answer="x")
    reply.fault = KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        call(lambda request: reply)


def test_a_reply_with_other_names_is_advised_on_its_answer() -> None:
    def answer(request: AskRequest) -> dict[str, object]:
        return {"text": "Yes.", "docs": []}

    assert error_of(call(answer)) == (
        "protocol",
        "answer: expected a string, got nothing (fields: docs, text); return `text` as answer",
    )


@pytest.mark.parametrize(
    ("reply", "advice"),
    [
        ({"answer": Message()}, "; return its text as answer"),
        ({"answer": {"text": "Yes."}}, "; return `answer.text` as answer"),
        (
            {"answer": "Yes.", "debug": {"retrieved_chunks": [Message()]}},
            "; from_documents of pytest_rageval makes chunks of the documents of a framework",
        ),
        ({"answer": "Yes.", "debug": {"retrieved_chunks": [7]}}, ""),
    ],
)
def test_objects_of_a_framework_are_advised_on(reply: dict[str, object], advice: str) -> None:
    kind, message = error_of(call(lambda request: reply))
    assert kind == "protocol"
    assert message.partition("got ")[2].partition(";")[1:] == advice.partition(";")[1:]


def test_an_error_of_a_reply_without_an_answer_is_its_text_alone() -> None:
    assert error_of(call(lambda request: {"error": "quota spent"})) == ("target", "quota spent")


def test_a_call_that_reaches_no_line_of_a_client_names_the_client() -> None:
    def answer() -> None:
        """Take no question."""

    for client in (answer, partial(answer)):
        result = call(client)
        assert result.error is not None
        assert result.error.kind == "raised"
        assert re.fullmatch(r"\S*test_calling\.py:\d+: in answer", result.error.traceback)
