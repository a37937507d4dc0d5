"""Stored replies of the systems that have a preset, and a server that answers with them."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.build.setting_values import as_toml
from tests.build.targets import FakeTarget, Received, fake_target, http_reply, json_reply

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
FOLDER = Path(__file__).parents[1] / "data" / "presets"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemCase:
    """A question to a system: how it is to be asked, and one reply."""

    preset: str
    question: str
    vars: dict[str, Any]
    environ: dict[str, str]
    request: dict[str, Any]
    """Method, path, headers in small letters and body that the system expects."""
    gold: str
    """Document that the reply ``success`` rests on."""
    reply: Any
    expected: dict[str, Any]

    @property
    def toml(self) -> str:
        """Settings of a project that uses the preset."""
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


def system_case(preset: str, name: str) -> SystemCase:
    """Read a stored reply."""
    case = json.loads((FOLDER / preset / "case.json").read_text(encoding="utf-8"))
    reply = json.loads((FOLDER / preset / f"{name}.json").read_text(encoding="utf-8"))
    return SystemCase(preset=preset, **case, **reply)


def stored_replies() -> list[tuple[str, str]]:
    """Return preset and name of every stored reply."""
    found = sorted(FOLDER.glob("*/*.json"))
    return [(path.parent.name, path.stem) for path in found if path.stem != "case"]


@contextlib.contextmanager
def stand_in(case: SystemCase) -> Iterator[FakeTarget]:
    """Serve the reply of a case to every request."""
    reply = json_reply(case.reply, content_type="application/json")
    if isinstance(case.reply, dict) and case.reply.keys() == {"sse"}:
        body = "".join(f"{line}\n\n" for line in case.reply["sse"])
        reply = http_reply(body.encode(), content_type="text/event-stream")
    with fake_target(reply) as target:
        yield target
