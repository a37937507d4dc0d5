"""The pages over the runs of a folder on a real socket."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from pytest_rageval.authoring.loopback import GuardedServer
from pytest_rageval.authoring.viewing import ProjectRuns, create_app


@dataclass
class Shown:
    """A project that is shown, and a browser of sorts that was let in."""

    address: str
    client: httpx.Client

    @property
    def origin(self) -> str:
        return "/".join(self.address.split("/")[:3])

    @property
    def base(self) -> str:
        """The folder of the pages, without the last slash."""
        return self.address.partition("/?")[0]

    def post(self, path: str, body: object, **headers: str) -> httpx.Response:
        return self.client.post(path, json=body, headers={"Origin": self.origin, **headers})


@contextlib.contextmanager
def showing(results: Path, *, start: str = "./", admit: bool = True) -> Iterator[Shown]:
    """Serve the runs of a folder until the block ends."""
    addresses: list[str] = []
    started = threading.Event()

    def announce(address: str) -> None:
        addresses.append(address)
        started.set()

    app = create_app(ProjectRuns(results, title="project"), start=start)
    server = GuardedServer(app, name="view", port=0, announce=announce)
    thread = threading.Thread(target=server.run, name="view-server", daemon=True)
    thread.start()
    try:
        assert started.wait(10)
        with httpx.Client(base_url=addresses[0].partition("/?")[0], timeout=30) as client:
            if admit:
                assert client.get(addresses[0]).status_code == 200
            yield Shown(addresses[0], client)
    finally:
        server.stop()
        thread.join(10)
        assert not thread.is_alive()
