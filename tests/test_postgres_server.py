"""Where there is no PostgreSQL server its tests say so, and fail where one must be there."""

from __future__ import annotations

import pytest

from tests import postgres_server as module
from tests.postgres_server import execute, postgres_server


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_program", lambda name: None)


@pytest.mark.usefixtures("absent")
def test_tests_are_skipped_where_there_is_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAGEVAL_REQUIRE_POSTGRES", raising=False)
    with (
        pytest.raises(pytest.skip.Exception, match="there is no PostgreSQL server"),
        postgres_server("lead", "hunter2secret"),
    ):
        pass


@pytest.mark.usefixtures("absent")
def test_a_server_that_must_be_there_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGEVAL_REQUIRE_POSTGRES", "1")
    with (
        pytest.raises(pytest.fail.Exception, match="RAGEVAL_REQUIRE_POSTGRES is set, and there"),
        postgres_server("lead", "hunter2secret"),
    ):
        pass


@pytest.mark.slow
def test_a_server_opens_no_port() -> None:
    with postgres_server("lead", "hunter2secret") as url:
        assert execute(url, "SHOW listen_addresses") == [("",)]
        assert execute(url, "SHOW fsync") == [("off",)]
