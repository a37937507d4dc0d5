"""Imports once what tests that run pytest inside pytest would import anew.

pytester forgets every module that a run inside it was the first to import. httpx finds its
exceptions by class, so a second copy of httpcore would no longer be recognised; a test that
replaces a function by its module's name would replace it in the forgotten copy; importing our own
packages anew for every inner run would take most of its time; and a compiled module that is loaded
a second time, such as rpds under jsonschema, may end the process with a segmentation fault.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import filelock  # noqa: F401
import httpcore  # noqa: F401
import httpx  # noqa: F401
import httpx_aiohttp  # noqa: F401
import jinja2  # noqa: F401
import jmespath  # noqa: F401
import jsonschema  # noqa: F401
import numpy as np  # noqa: F401
import pydantic  # noqa: F401
import pytest
import text_to_num  # noqa: F401
import yaml  # type: ignore[import-untyped]  # noqa: F401
from hypothesis import HealthCheck, settings
from pytest_recording import _vcr  # noqa: F401
from sqlalchemy.dialects import postgresql, sqlite  # noqa: F401

from pytest_rageval.analysis.aggregate import run as aggregate  # noqa: F401
from pytest_rageval.engine import finish, judging, preparing  # noqa: F401
from pytest_rageval.judges import cache  # noqa: F401
from pytest_rageval.judges import opening as judges  # noqa: F401
from pytest_rageval.judges.model import judge as model_judge  # noqa: F401
from pytest_rageval.judges.offline import judge  # noqa: F401
from pytest_rageval.judges.rubrics import load as rubric  # noqa: F401
from pytest_rageval.plugin import cassettes, controller, loading, lookahead, session  # noqa: F401
from pytest_rageval.project import thresholds  # noqa: F401
from pytest_rageval.report.html.run import page  # noqa: F401
from pytest_rageval.server import server  # noqa: F401
from pytest_rageval.support.http import address, transport  # noqa: F401
from pytest_rageval.target import client  # noqa: F401
from tests.build.browser import Watched, chromium
from tests.build.postgres import execute, postgres_server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# How long an example takes depends on the machine, and on its other tests.
settings.register_profile(
    "any_machine",
    deadline=None,
    max_examples=int(os.environ.get("RAGEVAL_EXAMPLES", "40")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any_machine")
# Runs inside a test are not what the step of a CI job is about.
os.environ.pop("GITHUB_STEP_SUMMARY", None)
# A job in the background of a script ignores Ctrl-C, and so would all processes that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests of what the system does not have."""
    if os.name != "posix":
        for item in items:
            if item.get_closest_marker("posix"):
                item.add_marker(pytest.mark.skip(reason="needs a POSIX system"))


@pytest.fixture(autouse=True)
def own_secrets() -> Iterator[None]:
    """Forget the secrets that came up in a test, which may be words of another one's messages."""
    yield
    address._learned.clear()


@pytest.fixture
def over() -> Iterator[threading.Event]:
    """Set when the test ends, so that no fake outlives it."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """URL of the database of a PostgreSQL server of our own, which starts when it is first used."""
    with postgres_server("lead", "hunter2secret") as url:
        yield url


@pytest.fixture
def postgres(postgres_url: str) -> str:
    """URL of a PostgreSQL database that holds nothing."""
    execute(postgres_url, "DROP SCHEMA public CASCADE")
    execute(postgres_url, "CREATE SCHEMA public")
    return postgres_url
