"""Whatever a user's ``rag_client`` fixture returns can be asked."""

from __future__ import annotations

import asyncio
import math
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from functools import partial
from typing import Any

import pytest

from pytest_rageval.target.adapters import from_documents
from pytest_rageval.target.calling import answered
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.reply import (
    AskRequest,
    AskResponse,
    AskResult,
    Citation,
    FolderSelection,
    RetrievedChunk,
    Search,
)
from tests.target.calls import call, error_of, response_of


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
        RetrievedChunk(
            rel_path="a.md", rank=1, text="t", text_truncated=True, embedding=(0.0, 1.0)
        ),
    )
    full = AskResponse(
        answer="a",
        references=(Citation(rel_path="a.md", chunk_index=0),),
        abstained=False,
        retrieved_chunks=chunks,
        folder_selection=FolderSelection(selected_folders=("x",), fallback_used=True),
        latency={"total_ms": 3.0},
        models={"llm_model": "m"},
        query_embedding=(1.0, 0.0),
    )
    response = response_of(call(lambda request: full))
    assert response.retrieved_chunks == (
        chunks[1],
        RetrievedChunk(rel_path="b.md", rank=2, score_final=None),
    )
    assert response.references == full.references
    assert response.query_embedding == full.query_embedding
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
        "ask() returned a generator; expected an AskResponse or a dict with the key answer, "
        "built from what it yields",
    )


@dataclass
class NotAClient:
    ask: str = "me"


@pytest.mark.parametrize("client", [None, "http://localhost", NotAClient(), SyncClient])
def test_a_fixture_that_returns_no_client_is_a_config_error(client: object) -> None:
    if client is SyncClient:
        # The class instead of an instance: `ask` is there but has no self.
        assert error_of(call(client))[0] == "raised"
        return
    with pytest.raises(ConfigError, match=r"rag_client: got .*, expected an object with ask"):
        call(client)
    assert threading.current_thread() is threading.main_thread()


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
    assert error_of(call(lambda request: {"error": "quota spent"})) == ("target", "quota spent")


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
            "; pytest_rageval.from_documents turns the documents of a framework into chunks",
        ),
        ({"answer": "Yes.", "debug": {"retrieved_chunks": [7]}}, ""),
    ],
)
def test_objects_of_a_framework_are_advised_on(reply: dict[str, object], advice: str) -> None:
    kind, message = error_of(call(lambda request: reply))
    assert kind == "protocol"
    assert message.partition("got ")[2].partition(";")[1:] == advice.partition(";")[1:]


def test_a_call_that_reaches_no_line_of_a_client_names_the_client() -> None:
    def answer() -> None:
        """Take no question."""

    for client in (answer, partial(answer)):
        result = call(client)
        assert result.error is not None
        assert result.error.kind == "raised"
        assert re.fullmatch(r"\S*test_calling\.py:\d+: in answer", result.error.traceback)


def test_a_reply_beyond_the_limit_of_characters_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pytest_rageval.target.calling.MOST_CHARS", 50)
    error = call(lambda request: {"answer": "x" * 51}).error
    assert error is not None
    assert (error.kind, error.code) == ("protocol", "reply_too_long")
    assert response_of(call(lambda request: {"answer": "x" * 20})).answer == "x" * 20
