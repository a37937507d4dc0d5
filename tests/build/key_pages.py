"""The page of a session on a real socket, and a browser to open it in."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

from pytest_rageval.authoring.keyed.page import KeyPage, KeyServer

if TYPE_CHECKING:
    from playwright.sync_api import Page

NAMED = {
    "space": "Space", "enter": "Enter", "escape": "Escape", "backspace": "Backspace",
    "up": "ArrowUp", "down": "ArrowDown", "home": "Home", "end": "End",
}  # fmt: skip


@dataclass
class Served:
    """A session that is served, and what was said of it."""

    session: Any
    addresses: list[str] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)
    started: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def announce(self, address: str) -> None:
        self.addresses.append(address)
        self.started.set()

    @property
    def address(self) -> str:
        """The newest address, with its token."""
        return self.addresses[-1]

    @property
    def origin(self) -> str:
        return "/".join(self.addresses[0].split("/")[:3])

    @property
    def base(self) -> str:
        """The folder of the page, without the last slash."""
        return self.addresses[0].partition("/?")[0]

    @property
    def port(self) -> int:
        return int(self.origin.rpartition(":")[2])


@contextlib.contextmanager
def serving_page(face: KeyPage[Any]) -> Iterator[Served]:
    """Serve the page of a session until the block ends."""
    served = Served(face.session)
    server = KeyServer(face, announce=served.announce)

    def run() -> None:
        try:
            server.run()
        except Exception as error:  # the test that wants one looks for it
            served.errors.append(error)
        finally:
            served.ended.set()

    thread = threading.Thread(target=run, name="key-server", daemon=True)
    thread.start()
    try:
        assert served.started.wait(10)
        yield served
    finally:
        server.stop()
        thread.join(10)
        assert not thread.is_alive()


@contextlib.contextmanager
def admitted(served: Served) -> Iterator[httpx.Client]:
    """A client that has used up a token and holds the cookie."""
    with httpx.Client(base_url=served.base) as client:
        assert client.get(served.address).status_code == 200
        yield client


def press(tab: Page, keys: Sequence[str]) -> None:
    """Press keys on the keyboard, as fast as they come."""
    keyboard = tab.context.new_cdp_session(tab)
    for key in keys:
        if key in NAMED:
            tab.keyboard.press(NAMED[key])
        elif key.isascii():
            tab.keyboard.type(key)
        else:  # a key that keyboards of the United States do not have
            for kind in ("keyDown", "keyUp"):
                text = key if kind == "keyDown" else ""
                keyboard.send("Input.dispatchKeyEvent", {"type": kind, "key": key, "text": text})
    keyboard.detach()


def settled(tab: Page) -> None:
    """Wait until every key is worked off."""
    tab.wait_for_selector("body:not([data-busy])")
