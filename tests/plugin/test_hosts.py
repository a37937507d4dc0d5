"""Workers on other hosts: reached over execnet sockets, on loopback and in network namespaces."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.plugin.long_runs import (
    ask_server,
    document,
    figures,
    lines_of,
    numbered_cases,
    wait_until,
)
from tests.plugin.rag_server import rag_server
from tests.plugin.scratch import Project

pytestmark = pytest.mark.slow

RSYNC = ("-W", "ignore:The --rsyncdir command line argument:DeprecationWarning")
NAMESPACES = 2


@contextlib.contextmanager
def socket_host(folder: Path, address: str, *, within: Sequence[str] = ()) -> Iterator[str]:
    """Offer an interpreter on a socket; yield what ``--tx`` calls it."""
    folder.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [*within, sys.executable, "-m", "execnet.script.socketserver", f"{address}:{port}"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        wait_until(lambda: listens(address, port), f"{address}:{port}")
        yield f"socket={address}:{port}"
    finally:
        server.kill()
        server.communicate()


def listens(address: str, port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex((address, port)) == 0


def call_on(project: Project, hosts: Sequence[str], *arguments: str) -> pytest.RunResult:
    """Run the project's cases on these hosts, listed as a shell reads their file, and none here."""
    pool = "".join(f"--tx={host}\n" for host in hosts)
    return project.pytester.runpytest_subprocess(
        # Both absolute, or xdist does not find the one below the other.
        str(project.path / "evals"), f"--rsyncdir={project.path}", *RSYNC, "--dist", "load",
        *pool.split(), *arguments,
    )  # fmt: skip


def run_on(project: Project, hosts: Sequence[str], run_id: str) -> Path:
    """Run the project's cases on these hosts without a fault, and return the run's folder."""
    result = call_on(project, hosts, "--rageval-run-id", run_id)
    assert result.ret == 0, result.stdout.str()
    return project.path / "evals" / "results" / run_id


def test_another_host_completes_the_run_of_one_that_was_killed(
    project: Project, tmp_path: Path
) -> None:
    project.cases(numbered_cases(60))
    with rag_server(delay_s=0.05) as server, contextlib.ExitStack() as stack:
        ask_server(project, server.url)
        assert project.run("--rageval-run-id", "here").ret == 0
        asked = server.calls
        stays = stack.enter_context(socket_host(tmp_path / "a", "127.0.0.1"))
        dies = stack.enter_context(contextlib.ExitStack())
        killed = dies.enter_context(socket_host(tmp_path / "b", "127.0.0.1"))

        def kill() -> None:
            wait_until(lambda: server.calls >= asked + 8, "some cases are asked")
            dies.close()
            server.let_through()

        killer = threading.Thread(target=kill)
        killer.start()
        # Neither host has answers to all of its half before one of them is gone.
        server.let_through(24)
        limits = ("--max-worker-restart=0", "--rageval-concurrency", "2")
        result = call_on(project, [stays, killed], *limits, "--rageval-run-id", "there")
        killer.join()
        folder = project.path / "evals" / "results" / "there"
        assert result.ret == 1
        assert document(folder, "gate.json")["complete"] is False
        n_done = len([line for line in lines_of(folder) if line["status"] == "ok"])
        assert 0 < n_done < 60
        assert "--rageval-resume there" in " ".join(result.stdout.str().split())

        # Who works on another host writes no results there.
        assert not list(tmp_path.glob("?/pyexecnetcache/**/there"))

        before = server.calls
        assert call_on(project, [stays], *limits, "--rageval-resume", "there").ret == 0
        assert server.calls - before == 60 - n_done
    assert figures(document(folder)) == figures(document(folder.parent / "here"))
    assert document(folder, "gate.json")["complete"] is True


def test_another_host_serves_the_embedded_target_itself(project: Project, tmp_path: Path) -> None:
    project.write("conftest.py", "")
    project.write("vault/a.md", "# A\n\nHits are reported as they are.\n")
    project.write(
        "pyproject.toml",
        '[tool.rageval]\njudge = "none"\n[tool.rageval.target]\nvault = "vault"\n',
    )
    project.write("thresholds.toml", "")
    project.cases(
        [{"id": "a", "question": "How are hits reported?", "gold_supports": [{"rel_path": "a.md"}]}]
    )
    with socket_host(tmp_path / "host", "127.0.0.1") as host:
        folder = run_on(project, [host], "there")
    assert [line["outcome"] for line in lines_of(folder)] == ["passed"]


# --- network namespaces: hosts whose loopback interface is not ours ------------------------------


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture
def namespaces() -> Iterator[list[tuple[str, str, str]]]:
    """Network namespaces: name, our address and theirs."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("network namespaces take the program ip and the rights of root")
    found = []
    with contextlib.ExitStack() as stack:
        for number in range(NAMESPACES):
            name = f"re{secrets.token_hex(3)}"
            try:
                ip("netns", "add", name)
                stack.callback(ip, "netns", "delete", name)
                ours, theirs = f"10.213.{number}.1", f"10.213.{number}.2"
                ip("link", "add", f"{name}a", "type", "veth", "peer", f"{name}b", "netns", name)
                ip("address", "add", f"{ours}/30", "dev", f"{name}a")
                ip("link", "set", f"{name}a", "up")
                ip("-n", name, "address", "add", f"{theirs}/30", "dev", f"{name}b")
                ip("-n", name, "link", "set", f"{name}b", "up")
                ip("-n", name, "link", "set", "lo", "up")
            except subprocess.CalledProcessError as error:
                pytest.skip(f"this machine allows no network namespaces: {error.stderr.decode()}")
            found.append((name, ours, theirs))
        yield found


def test_hosts_in_other_networks_measure_what_one_process_measures(
    project: Project, tmp_path: Path, namespaces: list[tuple[str, str, str]]
) -> None:
    project.cases(numbered_cases(40))
    with rag_server(delay_s=0.01, host="0.0.0.0") as server, contextlib.ExitStack() as stack:
        # One address of ours that every namespace reaches through its own.
        target = server.url.replace("0.0.0.0", namespaces[0][1])
        for name, ours, _ in namespaces:
            ip("-n", name, "route", "add", "default", "via", ours)
        ask_server(project, target)
        assert project.run("--rageval-run-id", "here").ret == 0
        hosts = [
            stack.enter_context(
                socket_host(tmp_path / name, theirs, within=("ip", "netns", "exec", name))
            )
            for name, _, theirs in namespaces
        ]
        folder = run_on(project, hosts, "there")
    assert figures(document(folder)) == figures(document(folder.parent / "here"))
    assert len(lines_of(folder)) == 40
