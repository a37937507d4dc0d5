"""Stored replies of the systems that have a preset, and a server that answers with them."""

from __future__ import annotations

import contextlib
import json
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.build.setting_values import as_toml
from tests.build.targets import FakeTarget, Received, fake_target, http_reply, json_reply
from tests.docs.examples import read_document, sections

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
DATA = Path(__file__).parents[1] / "data"
FOLDERS = (DATA / "presets", DATA / "systems")
"""Replies of systems with a preset, and of those with settings in docs/systems.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemCase:
    """A question to a system: how it is to be asked, and one reply."""

    preset: str
    """Name of the system; that of a preset unless there is a section."""
    question: str
    vars: dict[str, Any] = field(default_factory=dict)
    section: str = ""
    """Heading of docs/systems.md with the settings for a system that has no preset."""
    environ: dict[str, str]
    request: dict[str, Any]
    """Method, path, headers in small letters and body that the system expects."""
    gold: str
    """Document that the reply ``success`` rests on."""
    reply: Any
    expected: dict[str, Any]

    @property
    def toml(self) -> str:
        """Settings of a project that asks the system."""
        if self.section:
            page = read_document("systems.md")
            return next(one.blocks[0].text for one in sections(page) if one.title == self.section)
        lines = ["[tool.rageval.target]", f"preset = {as_toml(self.preset)}"]
        return "\n".join([*lines, *([f"vars = {as_toml(self.vars)}"] if self.vars else []), ""])

    def refused(self, received: Received) -> str:
        """Return the difference between a request and the expected one; empty: none."""
        method, path, _ = received.line.split(" ")
        sent: dict[str, Any] = {"method": method, "path": path}
        sent["headers"] = {name: received.headers.get(name) for name in self.request["headers"]}
        if "body" in self.request:
            sent["body"] = json.loads(_UUID.sub("<uuid>", received.body.decode()))
        return "" if sent == self.request else f"expected {self.request}, got {sent}"


def _folder(system: str) -> Path:
    (found,) = (folder / system for folder in FOLDERS if (folder / system).is_dir())
    return found


def system_case(system: str, name: str) -> SystemCase:
    """Read a stored reply."""
    case = json.loads((_folder(system) / "case.json").read_text(encoding="utf-8"))
    reply = json.loads((_folder(system) / f"{name}.json").read_text(encoding="utf-8"))
    return SystemCase(preset=system, **case, **reply)


def stored_replies() -> list[tuple[str, str]]:
    """Return system and name of every stored reply."""
    found = sorted(path for folder in FOLDERS for path in folder.glob("*/*.json"))
    return [(path.parent.name, path.stem) for path in found if path.stem != "case"]


def _written(reply: Any) -> bytes:
    """Return a stored reply as bytes of HTTP."""
    if isinstance(reply, dict) and reply.keys() == {"sse"}:
        body = "".join(f"{line}\n\n" for line in reply["sse"])
        return http_reply(body.encode(), content_type="text/event-stream")
    if isinstance(reply, dict) and reply.keys() == {"lines"}:
        body = "".join(f"{line}\n" for line in reply["lines"])
        return http_reply(body.encode(), content_type="text/plain; charset=utf-8")
    return json_reply(reply, content_type="application/json")


@dataclass(frozen=True, slots=True)
class Systems:
    """Every stored system behind one address, each reply below a path of its own."""

    target: FakeTarget
    replies: dict[tuple[str, str], Any]
    """Replies in place of stored ones, by system and name."""

    def url(self, system: str, name: str) -> str:
        """Address at which a system answers with one of its replies."""
        return f"{self.target.url}/{system}/{name}"

    def received(self, system: str, name: str) -> list[Received]:
        """Requests for one reply so far, as the system itself would receive them."""
        place = f" /{system}/{name}/"
        return [
            replace(one, line=one.line.replace(place, " /", 1))
            for one in self.target.received
            if place in one.line
        ]


@contextlib.contextmanager
def all_systems() -> Iterator[Systems]:
    """Serve every stored reply below ``/SYSTEM/NAME``."""

    def answer(connection: socket.socket) -> None:
        system, name = target.received[-1].line.split(" ")[1].split("/")[1:3]
        own = systems.replies.get((system, name))
        connection.sendall(_written(system_case(system, name).reply if own is None else own))

    with fake_target(answer) as target:
        systems = Systems(target, {})
        yield systems


@contextlib.contextmanager
def stand_in(case: SystemCase) -> Iterator[FakeTarget]:
    """Serve the reply of a case to every request."""
    with fake_target(_written(case.reply)) as target:
        yield target
