"""Requests of one HTTP client from one process, for ``transports.py``; prints its time as JSON.

    python benchmarks/transports_worker.py urllib3 http://127.0.0.1:8000 --in-flight 8

Clients that block are used from threads, as the package does; aiohttp from its event loop.
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import asyncio
import json
import queue
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

BODY: Final = b'{"question": "How often does the pump need oil?", "k": 5}'
HEADERS: Final = {"Content-Type": "application/json"}
SMALL_POOL: Final = 4
"""Requests in flight of each of many small clients."""

Ask = Callable[[], int]
"""Sends one request, reads the whole reply and returns its status."""


def ours(url: str, in_flight: int) -> Ask:
    """The package's own client, whose threads compute in turn as those of a run do."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

    from pytest_rageval.support.http.address import join_url
    from pytest_rageval.support.http.exchange import Request, open_client, send
    from pytest_rageval.support.slots import Turns

    address = join_url(url, "/ask")
    client = open_client(address, headers=HEADERS, connect_s=60, read_s=60)
    turns = Turns()

    def ask() -> int:
        with turns.computing():
            return send(client, Request(address=address, content=BODY, limit_s=120)).status or 0

    return ask


def httpx_clients(url: str, n_clients: int) -> Ask:
    """Clients of httpx that threads take in turns."""
    import httpx

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    clients: queue.SimpleQueue[httpx.Client] = queue.SimpleQueue()
    tls = httpx.create_ssl_context()
    for _ in range(n_clients):
        clients.put(httpx.Client(limits=limits, timeout=60, trust_env=False, verify=tls))

    def ask() -> int:
        client = clients.get()
        clients.put(client)
        return client.post(f"{url}/ask", content=BODY, headers=HEADERS).status_code

    return ask


def httpx_one_pool(url: str, in_flight: int) -> Ask:
    """One client of httpx."""
    return httpx_clients(url, 1)


def httpx_small_pools(url: str, in_flight: int) -> Ask:
    """A client of httpx for each few requests in flight."""
    return httpx_clients(url, -(-in_flight // SMALL_POOL))


def urllib3(url: str, in_flight: int) -> Ask:
    """One pool of urllib3, the client below requests."""
    import urllib3 as library

    pool = library.connection_from_url(
        url, maxsize=in_flight, block=True, timeout=60, retries=False
    )

    def ask() -> int:
        return int(pool.urlopen("POST", "/ask", body=BODY, headers=HEADERS).status)

    return ask


def pyreqwest(url: str, in_flight: int) -> Ask:
    """One client of pyreqwest, which is written in Rust."""
    from datetime import timedelta

    from pyreqwest.client import SyncClientBuilder

    client = SyncClientBuilder().timeout(timedelta(seconds=60)).max_connections(in_flight).build()

    def ask() -> int:
        request = client.post(f"{url}/ask").headers(HEADERS).body_bytes(BODY).build()
        reply = request.send()
        reply.bytes()
        return int(reply.status)

    return ask


THREADED: Final[dict[str, Callable[[str, int], Ask]]] = {
    "ours": ours,
    "httpx-one-pool": httpx_one_pool,
    "httpx-small-pools": httpx_small_pools,
    "urllib3": urllib3,
    "pyreqwest": pyreqwest,
}


def from_threads(open_client: Callable[[str, int], Ask], url: str, in_flight: int, n: int) -> Any:
    """Return wall and CPU seconds of ``n`` requests; connections are open before."""
    ask = open_client(url, in_flight)
    left = iter(range(n))
    together = threading.Barrier(in_flight + 1)
    failed: list[object] = []

    def work() -> None:
        try:
            checked(ask())
            together.wait()  # all have a connection
            together.wait()  # and the clock runs
            for _ in left:
                checked(ask())
        except BaseException as error:
            failed.append(error)
            together.abort()

    threads = [threading.Thread(target=work) for _ in range(in_flight)]
    for thread in threads:
        thread.start()
    try:
        together.wait()
        began = time.perf_counter(), time.process_time()
        together.wait()
    except threading.BrokenBarrierError:
        began = 0.0, 0.0
    for thread in threads:
        thread.join()
    if failed:
        raise SystemExit(f"{failed[0]!r}")
    return time.perf_counter() - began[0], time.process_time() - began[1]


async def from_event_loop(url: str, in_flight: int, n: int) -> Any:
    """Return the same of aiohttp."""
    import aiohttp

    left = iter(range(n))
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def ask() -> None:
            async with session.post(f"{url}/ask", data=BODY, headers=HEADERS) as reply:
                await reply.read()
                checked(reply.status)

        async def work() -> None:
            for _ in left:
                await ask()

        await together(in_flight, ask)
        began = time.perf_counter(), time.process_time()
        await together(in_flight, work)
        return time.perf_counter() - began[0], time.process_time() - began[1]


async def together(count: int, work: Callable[[], Awaitable[None]]) -> None:
    """Wait for several of the same."""
    await asyncio.gather(*(work() for _ in range(count)))


def checked(status: int) -> None:
    """Raise an error unless a status is 200."""
    if status != 200:
        raise RuntimeError(f"status {status}")


def allow_open_files(count: int) -> None:
    """Raise the limit of open files of this process, where there is one."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count <= hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


def main() -> int:
    """Send the requests and print their time."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("client", choices=[*THREADED, "aiohttp"])
    parser.add_argument("url")
    parser.add_argument("--in-flight", type=int, default=8)
    parser.add_argument("--requests", type=int, default=1000)
    options = parser.parse_args()
    allow_open_files(options.in_flight * 2 + 100)
    if options.client == "aiohttp":
        found = asyncio.run(from_event_loop(options.url, options.in_flight, options.requests))
    else:
        found = from_threads(
            THREADED[options.client], options.url, options.in_flight, options.requests
        )
    print(json.dumps({"wall_s": found[0], "cpu_s": found[1]}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
