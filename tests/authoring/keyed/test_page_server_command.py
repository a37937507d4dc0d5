"""``rageval label --web`` as a process of its own, from its address to its end."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.server import ServerHandle, start_in_thread
from tests.build.files import write_lines
from tests.build.loopback import Question, http_json, loopback_server
from tests.server.builders import NOTES, write_vault

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/[\w-]{43}/\?token=[\w-]{43}(?= )")


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHandle]:
    vault = write_vault(tmp_path_factory.mktemp("vault"), NOTES)
    with start_in_thread(ReferenceConfig(vault=vault)) as handle:
        yield handle


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    path = tmp_path / "cases.jsonl"
    lines = [
        {"id": "queue", "question": "What is the retry limit of the ingest queue?"},
        {"id": "garden", "question": "When are tomatoes planted?"},
    ]
    return write_lines(path, *lines)


class Command:
    """A running command and a browser of sorts that was let in."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process = process
        self.address = address
        self.client = httpx.Client(base_url=address.partition("?")[0], timeout=30)
        self._revision = 0

    def press(self, *keys: str) -> httpx.Response:
        origin = "/".join(str(self.client.base_url).split("/")[:3])
        for key in keys:
            reply = self.client.post(
                "/key", json={"key": key, "revision": self._revision}, headers={"Origin": origin}
            )
            reply.raise_for_status()
            self._revision = reply.json()["revision"]
        return reply

    def end(self) -> tuple[int, str, str]:
        """Wait for the end and return exit code and what was printed meanwhile."""
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err


@contextmanager
def labelling(cases: Path, url: str, *options: str, **environ: str) -> Iterator[Command]:
    command = [sys.executable, "-m", "pytest_rageval.cli.main", "label", cases.name, "--web"]
    with subprocess.Popen(
        [*command, "--rag-url", url, *options],
        cwd=cases.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={name: v for name, v in os.environ.items() if name != "SSH_CONNECTION"} | environ,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = ADDRESS.search(line)
            assert found is not None, line + process.communicate(timeout=20)[1]
            running = Command(process, found[0])
            with running.client:
                assert running.client.get(found[0]).status_code == 200
                yield running
        finally:
            process.kill()


def recording_browser(folder: Path) -> tuple[Path, str]:
    """Return a command for BROWSER, after the file into which it writes what it is to open."""
    opened, browser = folder / "opened", folder / "browser.sh"
    browser.write_text(f'#!/bin/sh\necho "$1" >> {opened}\n', encoding="utf-8")
    browser.chmod(0o755)
    return opened, f"{browser} %s"


def golds(cases: Path) -> list[int]:
    lines = cases.read_text(encoding="utf-8").splitlines()
    return [len(json.loads(line).get("gold_supports", [])) for line in lines]


def test_ctrl_c_ends_the_command_and_says_what_was_saved(cases: Path, target: ServerHandle) -> None:
    opened, browser = recording_browser(cases.parent)
    with labelling(cases, target.url, BROWSER=browser) as command:
        command.press("1", "enter", "1")
        command.process.send_signal(signal.SIGINT)
        assert command.end() == (130, "1 saved\n", "not saved: garden\n")
    assert golds(cases) == [1, 0]
    assert not opened.exists()


def test_ctrl_c_does_not_wait_for_a_slow_target(cases: Path) -> None:
    async def answer(question: Question, writer: asyncio.StreamWriter) -> bytes:
        if "tomatoes" in question.text:
            await asyncio.sleep(600)
        return http_json({"answer": "x", "debug": {"retrieved_chunks": []}})

    with loopback_server(answer) as slow, labelling(cases, slow.url) as command:
        origin, _, folder = str(command.client.base_url).rstrip("/").rpartition("/")
        with socket.create_connection(("127.0.0.1", command.client.base_url.port or 0)) as line:
            body = b'{"key": "n", "revision": 0}'
            cookie = "; ".join(f"{k}={v}" for k, v in command.client.cookies.items())
            head = (
                f"POST /{folder}/key HTTP/1.1\r\n"
                f"Host: {origin.partition('//')[2]}\r\nOrigin: {origin}\r\n"
                f"Cookie: {cookie}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
            line.sendall(head.encode() + body)
            while len(slow.asked) < 2:
                assert command.process.poll() is None
            command.process.send_signal(signal.SIGINT)
            line.settimeout(30)
            reply = b"".join(iter(lambda: line.recv(65536), b""))
            assert command.end() == (130, "0 saved\n", "")
    assert reply.startswith(b"HTTP/1.1 503 ")
    assert b"has ended" in reply


@pytest.mark.posix
def test_a_browser_is_opened_when_asked_for(cases: Path, target: ServerHandle) -> None:
    opened, browser = recording_browser(cases.parent)
    with labelling(cases, target.url, "--open", BROWSER=browser) as command:
        while not opened.exists():
            assert command.process.poll() is None
        command.press("Q")
        assert command.end()[0] == 0
    assert opened.read_text(encoding="utf-8").split() == [command.address]
