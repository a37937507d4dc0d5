"""Headers of a function of the project, over real sockets."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_rageval.support.http.address import learned_secrets
from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.target.documents import RUNNING
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.reply import AskRequest, AskResult
from pytest_rageval.values.settings import TargetSettings
from tests.build.asking import ask_client
from tests.build.targets import Received, Reply, fake_target, http_reply, json_reply

QUESTION = AskRequest(question="q")
GOOD = json_reply({"answer": "Monthly."})
REFUSED = http_reply(b"no", "401 Unauthorized")


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    made = ModuleType("auth_of_13")
    monkeypatch.setitem(sys.modules, "auth_of_13", made)
    return made


def tokens(seconds: object = None) -> tuple[Callable[[], Any], list[str]]:
    """A function that counts its tokens, and those it returned."""
    given: list[str] = []

    def headers() -> Any:
        assert RUNNING.is_set()
        given.append(f"tok-{len(given)}-abcdef")
        found = {"Authorization": f"Bearer {given[-1]}"}
        return found if seconds is None else (found, seconds)

    return headers, given


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def asked(
    *replies: Reply, times: int = 1, clock: Clock | None = None, step: float = 0.0, **target: Any
) -> tuple[list[AskResult], list[Received]]:
    clock = clock or Clock()
    with fake_target(*replies) as fake:
        settings = TargetSettings(**{"url": fake.url, "auth": "auth_of_13:headers", **target})
        client = HttpRagClient(settings, clock=clock, sleep=lambda _: None)
        results = []
        for _ in range(times):
            results.append(ask_client(client, QUESTION))
            clock.now += step
        client.close()
    return results, fake.received


def sent(received: list[Received]) -> list[str | None]:
    return [one.headers.get("authorization") for one in received]


def test_headers_are_asked_for_once_and_sent_with_every_request(module: ModuleType) -> None:
    module.headers, given = tokens()  # type: ignore[attr-defined]
    fixed = {"X-Team": "blue", "authorization": "replaced"}
    _, received = asked(GOOD, times=3, step=1e6, headers=fixed)
    assert sent(received) == ["Bearer tok-0-abcdef"] * 3
    assert len(given) == 1
    assert received[0].headers["x-team"] == "blue"
    assert not RUNNING.is_set()


def test_headers_are_asked_for_again_when_they_expire(module: ModuleType) -> None:
    module.headers, _ = tokens(10)  # type: ignore[attr-defined]
    _, received = asked(GOOD, times=5, step=4)
    first, second = "Bearer tok-0-abcdef", "Bearer tok-1-abcdef"
    assert sent(received) == [first, first, first, second, second]


def test_an_async_function_is_awaited(module: ModuleType) -> None:
    async def headers() -> dict[str, str]:
        return {"Authorization": "Bearer later"}

    module.headers = headers  # type: ignore[attr-defined]
    assert sent(asked(GOOD)[1]) == ["Bearer later"]


def test_a_401_gets_new_headers_once(module: ModuleType) -> None:
    module.headers, given = tokens(3600)  # type: ignore[attr-defined]
    (first, second), received = asked(REFUSED, GOOD, times=2)
    assert first.response is not None
    assert second.response is not None
    assert [one and one[-10:] for one in sent(received)] == [
        "k-0-abcdef", "k-1-abcdef", "k-1-abcdef",
    ]  # fmt: skip
    assert len(given) == 2


def test_a_second_401_is_an_error_and_nothing_is_asked_again(module: ModuleType) -> None:
    module.headers, given = tokens()  # type: ignore[attr-defined]
    (result,), received = asked(REFUSED)
    assert result.error is not None
    assert result.error.kind == "http"
    assert (len(received), len(given)) == (2, 2)


def test_headers_that_expire_are_renewed_by_one_of_many_threads(module: ModuleType) -> None:
    module.headers, given = tokens()  # type: ignore[attr-defined]
    arrived = threading.Barrier(8, timeout=30)

    def refuse(connection: Any) -> None:
        arrived.wait()
        connection.sendall(REFUSED)

    with fake_target(*[refuse] * 8, GOOD) as fake, ThreadPoolExecutor(8) as threads:
        client = HttpRagClient(TargetSettings(url=fake.url, auth="auth_of_13:headers"))
        results = list(threads.map(client.ask_result, [QUESTION] * 8))
        client.close()
    assert [result.error for result in results] == [None] * 8
    assert len(given) == 2


def test_secrets_of_the_headers_do_not_come_out_of_a_reply_or_an_error(module: ModuleType) -> None:
    def headers() -> dict[str, str]:
        return {
            "Authorization": "Bearer n3w-secret",
            "X-Session": "s3ss10n-abcdef",
            "X-User": "ann",
            "X-Auth-User": "bert",
            "X-Auth-Request-Email": "bert-2024@example.com",
        }

    module.headers = headers  # type: ignore[attr-defined]
    echo = "ann, bert-2024@example.com, n3w-secret and s3ss10n-abcdef"
    shown = "ann, bert-2024@example.com, *** and ***"
    (result,), _ = asked(json_reply({"answer": echo}))
    assert result.response is not None
    assert result.response.answer == shown
    (result,), _ = asked(http_reply(echo.encode(), "403 Forbidden"))
    assert result.error is not None
    assert shown in result.error.message
    assert {"n3w-secret", "s3ss10n-abcdef"} <= set(learned_secrets())


def test_what_the_function_raises_is_an_error_of_the_case_with_its_place(
    module: ModuleType,
) -> None:
    def headers() -> None:
        raise LookupError("no token for ann")

    module.headers = headers  # type: ignore[attr-defined]
    (result,), received = asked(GOOD)
    assert result.error is not None
    assert (result.error.kind, result.error.message) == ("raised", "LookupError: no token for ann")
    assert Path(__file__).name in result.error.traceback
    assert received == []


@pytest.mark.parametrize(
    ("returned", "fault"),
    [
        ("Bearer s3cret", "returned str, expected a mapping of headers, or (headers, seconds)"),
        (({}, "soon"), "returned str for the seconds after its headers"),
        ({"Bad Name": "s3cret"}, "returned 'Bad Name', which cannot be sent"),
        ({"X-Key": "s3cret\n"}, "returned 'X-Key', which cannot be sent"),
        ({"X-Key": 7}, "returned 'X-Key', which cannot be sent"),
    ],
)
def test_a_result_that_is_no_headers_is_refused_without_showing_it(
    module: ModuleType, returned: object, fault: str
) -> None:
    module.headers = lambda: returned  # type: ignore[attr-defined]
    with pytest.raises(ConfigError) as caught:
        asked(GOOD)
    assert fault in str(caught.value)
    assert "s3cret" not in str(caught.value)
    module.headers = returned  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="got 'auth_of_13:headers', expected a function"):
        asked(GOOD)
