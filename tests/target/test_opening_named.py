"""Clients that the settings name."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from pytest_rageval.target.opening import open_named_client
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.reply import AskRequest
from tests.build.asking import ask_client

CODE = """
closed = []

def answer(request):
    return {"answer": f"sync {request.question}"}

async def answer_later(request):
    return {"answer": f"async {request.question}"}

class Engine:
    def __init__(self, name="engine"):
        self.name = name
    def ask(self, request):
        return {"answer": f"{self.name} {request.question}"}
    def close(self):
        closed.append(self.name)

class AsyncEngine(Engine):
    async def ask(self, request):
        return {"answer": f"async {self.name} {request.question}"}
    close = None
    async def aclose(self):
        closed.append("async")

ready = Engine("ready")

def make():
    return Engine("made")

async def make_later():
    return AsyncEngine("made")

def make_function(k=5):
    return answer

def make_nothing():
    return None
number = 7
"""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = ModuleType("client_of_13")
    exec(CODE, vars(made))
    monkeypatch.setitem(sys.modules, "client_of_13", made)
    return made


@pytest.mark.parametrize(
    ("name", "answer", "closed"),
    [
        ("answer", "sync q", []),
        ("answer_later", "async q", []),
        ("Engine", "engine q", ["engine"]),
        ("ready", "ready q", []),
        ("ready.ask", "ready q", []),
        ("make", "made q", ["made"]),
        ("make_later", "async made q", ["async"]),
        ("make_function", "sync q", []),
    ],
)
def test_a_client_or_a_factory_is_opened_and_closed(
    module: Any, name: str, answer: str, closed: list[str]
) -> None:
    with open_named_client(f"client_of_13:{name}") as client:
        result = ask_client(client, AskRequest(question="q"))
        assert module.closed == []
    assert result.response is not None, result.error
    assert result.response.answer == answer
    assert module.closed == closed


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("number", "got an int, expected an object with ask(request)"),
        ("make_nothing", "got None, expected an object with ask(request)"),
        ("other", "has no attribute 'other'"),
    ],
)
def test_what_cannot_be_asked_is_refused(module: Any, name: str, fault: str) -> None:
    with pytest.raises(ConfigError) as caught, open_named_client(f"client_of_13:{name}"):
        pass
    assert str(caught.value).startswith("[tool.rageval.target] client: ")
    assert fault in str(caught.value)
