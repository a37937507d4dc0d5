from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.server import ServerHandle, start_in_thread
from tests.server.builders import write_vault


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHandle]:
    """A server over the notes that most tests ask about."""
    vault = write_vault(tmp_path_factory.mktemp("vault"))
    with start_in_thread(ReferenceConfig(vault=vault)) as handle:
        yield handle


@pytest.fixture
def client(server: ServerHandle) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=30) as client:
        yield client
