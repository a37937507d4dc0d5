"""Instructions that a process executes: of one more case, and of the start of a session.

Counted by valgrind (cachegrind), so other work on the machine does not change them. The cost of
one more case is the difference of two runs of different size, divided by the difference of their
cases; contenders, target and judge are those of ``throughput.py``, without latency.

    python -m benchmarks.instructions
    python -m benchmarks.instructions --contenders ours "aiohttp script" --cases 20 120 --no-starts
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.collection import PARAMETRIZED
from benchmarks.measuring import positive, run_process
from benchmarks.throughput import mock
from benchmarks.throughput_contenders import (
    CONTENDERS,
    PYTEST,
    RIVALS,
    Contender,
    environment,
    environments,
    find_rivals,
    write_project,
)

SIZES: Final = (20, 120)
CONCURRENCY: Final = 8
FLOOR: Final = "aiohttp script"
"""Contender that one more case is compared with."""
_VALGRIND: Final = "valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null"
_COUNTED: Final = re.compile(r"I\s+refs:\s+([\d,]+)")
_UNIT_TESTS: Final = """
import pytest

@pytest.mark.parametrize("number", range(100))
def test_number(number):
    assert number >= 0
"""
_SELECTED: Final = ("-k", "c000007")


def _session(name: str, *arguments: str) -> Contender:
    return Contender(name=name, command=lambda _url, _many: [sys.executable, *PYTEST, *arguments])


_OURS: Final = CONTENDERS["ours"]
EMPTY_TEST: Final = _session("empty test", "-p", "no:rageval", "parametrized_test.py")
"""Pytest alone with parametrized tests that do nothing, their collection included."""
_DEFAULT: Final = ("ours", FLOOR, "openai script", EMPTY_TEST.name)
STARTS: Final = (
    replace(
        _OURS,
        name="-k one_case, ours",
        command=lambda url, _: [
            sys.executable,
            *PYTEST,
            "evals",
            "--rag-url",
            f"{url}/ask",
            "--judge",
            "offline",
            *_SELECTED,
        ],
    ),
    _session("-k one_case, bare pytest", "-p", "no:rageval", "parametrized_test.py", *_SELECTED),
    _session("100 unit tests, plugin loaded", "unit_test.py"),
    _session("100 unit tests, -p no:rageval", "-p", "no:rageval", "unit_test.py"),
)
"""Sessions in a project of the smaller size; every second one is the floor of the one before."""


# --- counting ------------------------------------------------------------------------------------


def run(contender: Contender, cases: int, url: str, concurrency: int, *, prefix: str = "") -> None:
    """Run one contender in a new project, as a command after those of the prefix.

    Raises:
        RuntimeError: the run failed.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_project(folder, cases)
        (folder / "parametrized_test.py").write_text(PARAMETRIZED, encoding="utf-8")
        (folder / "unit_test.py").write_text(_UNIT_TESTS, encoding="utf-8")
        command = [*prefix.split(), *contender.command(url, concurrency)]
        # The hash decides the order of a set of strings, and so the instructions.
        variables = {**environment(contender, url, folder), "PYTHONHASHSEED": "0"}
        output = folder / "output.txt"
        usage = run_process(command, folder, output, variables)
        if usage.exit_code:
            said = output.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise RuntimeError(f"{contender.name}: exit {usage.exit_code}\n{said}")


def count(contender: Contender, sizes: Sequence[int], url: str, concurrency: int) -> dict[int, int]:
    """Return the instructions of a run by number of cases, without processes that it starts.

    It runs once before, uncounted, so that its modules are compiled.
    """
    run(contender, sizes[0], url, concurrency)
    found = {}
    for size in sizes:
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as log:
            prefix = f"{_VALGRIND} --log-file={log.name}"
            run(contender, size, url, concurrency, prefix=prefix)
            (counted,) = _COUNTED.findall(log.read())
            found[size] = int(counted.replace(",", ""))
    return found


def one_more_case(counted: Mapping[int, int]) -> float:
    """Return the instructions that a case adds, from the smallest and the largest run."""
    few, many = min(counted), max(counted)
    return (counted[many] - counted[few]) / (many - few)


# --- the figures ---------------------------------------------------------------------------------

Figures = dict[str, dict[int, int]]


def figures(contenders: Sequence[Contender], sizes: Sequence[int], concurrency: int) -> Figures:
    """Return the instructions by contender and number of cases."""
    with mock(0, 0) as served:
        return {one.name: count(one, sizes, served.url, concurrency) for one in contenders}


def render(found: Figures, starts: Figures) -> str:
    """Return a table of the contenders and one of the sessions of the everyday."""
    sizes = list(next(iter(found.values())))
    floor = FLOOR if FLOOR in found else next(iter(found))
    least = one_more_case(found[floor])
    heads = "".join(f"{f'{size} cases, M':>15}" for size in sizes)
    lines = [f"{'contender':<16}{heads}{'one more, M':>13}  / {floor}"]
    for name, counted in found.items():
        more = one_more_case(counted)
        totals = "".join(f"{counted[size] / 1e6:>15,.1f}" for size in sizes)
        lines.append(f"{name:<16}{totals}{more / 1e6:>13.2f}{more / least:>8.2f}")
    if starts:
        lines.append(f"\n{'session':<34}{'M':>10}  / the next line")
    totals_of = [(name, min(counted.items())[1]) for name, counted in starts.items()]
    for place, (name, total) in enumerate(totals_of):
        ratio = "" if place % 2 else f"{total / totals_of[place + 1][1]:>8.2f}"
        lines.append(f"{name:<34}{total / 1e6:>10,.1f}{ratio}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Count and print."""
    rivals, left_out = find_rivals(environments())
    known = {**CONTENDERS, **rivals, EMPTY_TEST.name: EMPTY_TEST}
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=positive, nargs="+", default=SIZES)
    parser.add_argument("--concurrency", type=positive, default=CONCURRENCY)
    parser.add_argument("--contenders", nargs="+", choices=[*CONTENDERS, *RIVALS, EMPTY_TEST.name])
    parser.add_argument("--no-starts", action="store_true", help="count the contenders only")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    sizes = sorted({*options.cases})
    if len(sizes) < 2:
        parser.error("--cases: one number was given, expected at least two")
    if shutil.which("valgrind") is None:
        parser.error("valgrind is not installed")
    names = options.contenders or [name for name in _DEFAULT if name not in left_out]
    for name in names:
        if name in left_out:
            parser.error(f"{name} has no environment; {left_out[name]}")
    found = figures([known[name] for name in names], sizes, options.concurrency)
    starts = {} if options.no_starts else figures(STARTS, sizes[:1], options.concurrency)
    if options.json:
        more = {name: one_more_case(counted) for name, counted in found.items()}
        print(json.dumps({"runs": found, "one_more_case": more, "starts": starts}))
    else:
        missing = [f"{name}: left out; {left_out[name]}" for name in _DEFAULT if name in left_out]
        print("\n".join([render(found, starts), *([] if options.contenders else missing)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
