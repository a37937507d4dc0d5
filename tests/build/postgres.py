"""A PostgreSQL server of our own: on a socket, without a port, gone when the tests are.

Where there is none to start, its tests are skipped, unless RAGEVAL_REQUIRE_POSTGRES says that it
must be there.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

# Before pytester takes a snapshot of the modules: a driver that a run within the process loads is
# dropped after it, and the errors of its second copy are not those that SQLAlchemy knows.
with suppress(ImportError):
    importlib.import_module("psycopg")

_SOCKET_CHARS = 100
"""Longest path of a socket that every system takes, less its name."""


def find_program(name: str) -> str | None:
    """Find a program of the server, which Debian keeps off the path."""
    found = shutil.which(name)
    if found is not None:
        return found
    places = sorted(Path(os.sep, "usr", "lib", "postgresql").glob(f"*/bin/{name}"))
    return str(places[-1]) if places else None


def _unavailable(reason: str) -> None:
    if os.environ.get("RAGEVAL_REQUIRE_POSTGRES"):
        pytest.fail(f"RAGEVAL_REQUIRE_POSTGRES is set, and {reason}")
    pytest.skip(reason)


@contextmanager
def postgres_server(user: str, password: str) -> Iterator[str]:
    """Start a server and give its URL; the password is never asked for."""
    try:
        importlib.import_module("psycopg")
    except ImportError:
        _unavailable("psycopg is not installed")
    programs = {name: find_program(name) for name in ("initdb", "pg_ctl", "postgres")}
    if None in programs.values():
        _unavailable("there is no PostgreSQL server (initdb, pg_ctl, postgres)")
    folder = Path(tempfile.mkdtemp(prefix="rageval-pg-"))
    try:
        if len(str(folder)) > _SOCKET_CHARS - len("/.s.PGSQL.5432"):
            _unavailable("the temporary folder has too long a path for a socket")
        # A server does not run as root.
        account = "nobody" if getattr(os, "geteuid", lambda: 1)() == 0 else None
        if account is not None:
            shutil.chown(folder, account)
        yield from _serve(folder, programs, account, user, password)
    finally:
        shutil.rmtree(folder)


def _serve(
    folder: Path, programs: dict[str, str | None], account: str | None, user: str, password: str
) -> Iterator[str]:
    def run(name: str, *arguments: str) -> None:
        program = [str(programs[name]), "-D", str(folder / "data"), *arguments]
        log = folder / f"{name}.log"
        with log.open("w", encoding="utf-8") as output:
            # Not through a pipe, which the server would keep open.
            done = subprocess.run(
                program, stdout=output, stderr=output, user=account, cwd=folder, timeout=120
            )
        assert done.returncode == 0, log.read_text(encoding="utf-8")

    run("initdb", "-U", user, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
    safe = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off"
    options = f"-c listen_addresses= {safe} -c max_connections=40 -k {folder}"
    run("pg_ctl", "-w", "-l", str(folder / "server.log"), "-o", options, "start")
    try:
        yield f"postgresql+psycopg://{user}:{password}@/postgres?host={folder}"
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            run("pg_ctl", "-w", "-m", "immediate", "stop")


@contextmanager
def stopped(url: str) -> Iterator[None]:
    """End a server of ``postgres_server``; start it again after the block."""
    data = Path(url.partition("host=")[2]) / "data"
    program = find_program("pg_ctl")
    assert program is not None
    account = data.owner() if os.geteuid() == 0 else None
    options = (data / "postmaster.opts").read_text(encoding="utf-8").split(maxsplit=1)[1].strip()

    def call(*arguments: str) -> None:
        subprocess.run(
            [program, "-D", str(data), "-w", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=account,
            cwd=data.parent,
            check=True,
        )

    call("-m", "fast", "stop")
    yield
    call("-o", options, "start")


def execute(url: str, statement: str) -> list[Any]:
    """Run one statement and return its rows, if it has any."""
    psycopg: Any = importlib.import_module("psycopg")
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        cursor = connection.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []
