"""Cost of a request by HTTP client and by requests in flight, on the loopback interface.

Each client sends the same requests from a process of its own, to a server in another: first to one
that answers at once, for the CPU time of a request, then to one that takes 200 ms, for the wall
time beside the ideal (latencies of all requests / requests in flight). Connections are open before
the clock starts. A client that this Python lacks is taken from an environment (``transports`` in
``RAGEVAL_BENCH_ENVS``); else the command that makes it is printed.

    python -m benchmarks.transports --in-flight 1 8 32 128 512
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.measuring import positive
from benchmarks.throughput import mock
from benchmarks.throughput_contenders import environments

ASK_MS: Final = 200.0
ROUNDS: Final = 5
"""Requests of each thread, one after the other, while the server takes its time."""
CLIENTS: Final[Mapping[str, tuple[str, str]]] = {
    "ours": ("", ""),
    "httpx-one-pool": ("httpx", "httpx==0.28.1"),
    "httpx-small-pools": ("httpx", "httpx==0.28.1"),
    "urllib3": ("urllib3", "urllib3==2.8.0"),
    "aiohttp": ("aiohttp", "aiohttp==3.14.5"),
    "pyreqwest": ("pyreqwest", "pyreqwest==0.15.1"),
}
"""Module and requirement of each client; empty: none."""
_WORKER: Final = Path(__file__).parent / "transports_worker.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One client at one number of requests in flight."""

    client: str
    in_flight: int
    cpu_us: float
    """CPU time of one request, in microseconds."""
    wall_ratio: float
    """Wall time / ideal, with a server that takes 200 ms."""


def find_clients(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the Python of each client, and of those without one the command that makes it."""
    found, left_out = {}, {}
    for name, (module, requirement) in CLIENTS.items():
        own = folder / "bin" / "python"
        if not module or importlib.util.find_spec(module) is not None:
            found[name] = sys.executable
        elif own.exists() and _has(own, module):
            found[name] = str(own)
        else:
            venv = f"{sys.executable} -m venv {folder}"
            left_out[name] = f"{venv} && {folder}/bin/pip install {requirement}"
    return found, left_out


def _has(python: Path, module: str) -> bool:
    code = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
    return subprocess.run([str(python), "-c", code], check=False).returncode == 0


def time_of(
    python: str, client: str, url: str, *, in_flight: int, requests: int
) -> tuple[float, float]:
    """Return wall and CPU seconds of so many requests.

    Raises:
        RuntimeError: a request failed.
    """
    command = [python, str(_WORKER), client, url, f"--in-flight={in_flight}"]
    done = subprocess.run(
        [*command, f"--requests={requests}"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{client}: {done.stderr[-2000:]}")
    found = json.loads(done.stdout)
    return found["wall_s"], found["cpu_s"]


def measure(
    clients: Mapping[str, str], in_flight: Sequence[int], *, requests: int, repeats: int
) -> tuple[list[Result], dict[str, str]]:
    """Let clients take turns; of each the medians count.

    Returns:
        The results, and by name why a rival is not among them: one of its requests failed.

    Raises:
        RuntimeError: a request of ours failed.
    """
    found, failed = [], {}

    def once(name: str, url: str, count: int, n: int) -> tuple[float, float]:
        try:
            return time_of(clients[name], name, url, in_flight=count, requests=n)
        except RuntimeError as error:
            if name == "ours":
                raise
            failed[name] = f"{count} in flight: {error}"
            return math.nan, math.nan

    with mock(0.0, 0.0) as at_once, mock(ASK_MS, 0.0) as slow:
        for count in in_flight:
            cpu: dict[str, list[float]] = {name: [] for name in clients}
            wall: dict[str, list[float]] = {name: [] for name in clients}
            for _ in range(repeats):
                for name in [one for one in clients if one not in failed]:
                    n = max(requests, 8 * count)
                    cpu[name].append(once(name, at_once.url, count, n)[1] / n * 1e6)
                    wall_s, _ = once(name, slow.url, count, ROUNDS * count)
                    wall[name].append(wall_s / (ROUNDS * ASK_MS / 1000))
            found += [
                Result(
                    client=name,
                    in_flight=count,
                    cpu_us=median(cpu[name]),
                    wall_ratio=median(wall[name]),
                )
                for name in clients
                if name not in failed
            ]
    return [one for one in found if one.client not in failed], failed


def render(results: Sequence[Result], left_out: Mapping[str, str]) -> str:
    """Return a table, and the clients that were left out."""
    counts = sorted({result.in_flight for result in results})
    lines = []
    for title, digits, values in (
        ("CPU us of a request", 0, {(r.client, r.in_flight): r.cpu_us for r in results}),
        ("wall / ideal", 2, {(r.client, r.in_flight): r.wall_ratio for r in results}),
    ):
        lines.append(f"{title:<22}" + "".join(f"{count:>9}" for count in counts))
        for name in dict.fromkeys(result.client for result in results):
            cells = (f"{values[name, count]:>9.{digits}f}" for count in counts)
            lines.append(f"{name:<22}" + "".join(cells))
        lines.append("")
    lines += [f"{name}: left out; {command}" for name, command in left_out.items()]
    return "\n".join(lines).rstrip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    clients, left_out = find_clients(environments() / "transports")
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--in-flight", type=positive, nargs="+", default=[1, 8, 32, 128, 512])
    parser.add_argument("--requests", type=positive, default=2000)
    parser.add_argument("--repeats", type=positive, default=1)
    parser.add_argument(
        "--clients", nargs="+", choices=list(CLIENTS), help="default: all that are installed"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    for name in options.clients or ():
        if name in left_out:
            parser.error(f"{name} is not installed; {left_out[name]}")
    chosen = {name: clients[name] for name in options.clients or clients}
    results, failed = measure(
        chosen, options.in_flight, requests=options.requests, repeats=options.repeats
    )
    left_out |= failed
    if options.json:
        print(json.dumps({"results": [asdict(one) for one in results], "left_out": left_out}))
    else:
        print(render(results, failed if options.clients else left_out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
