"""Time of a run, compared with the time of its requests, and the cost of a case.

Contenders do the same work in turns, each in a process of its own, against a target and a judge on
the loopback interface: per case one question, two verdicts, retrieval scored, one record written.
Times are given beside the ideal (latencies of all requests / requests in flight). Other tools take
part where an environment of theirs exists (``RAGEVAL_BENCH_ENVS``); else the command that makes it
is printed.

    python -m benchmarks.throughput --cases 100 1000 --concurrency 32
    python -m benchmarks.throughput --cases 100 1000 --concurrency 32 --zero-latency
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.measuring import middle, positive, run_process
from benchmarks.throughput_contenders import (
    CONTENDERS,
    RIVALS,
    ROOT,
    Contender,
    environment,
    environments,
    find_rivals,
    write_project,
)

ASK_MS: Final = 200.0
JUDGE_MS: Final = 300.0
_WARM_UP: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One contender on one number of cases."""

    contender: str
    cases: int
    in_flight_wanted: int
    wall_s: float
    ideal_s: float
    cpu_s: float
    """Of all its processes."""
    rss_mb: float
    """Of the largest of them."""
    in_flight: int
    """Most at once, as the server saw it."""

    @property
    def cpu_ms(self) -> float:
        """Per case, start and end of the process included."""
        return self.cpu_s * 1000 / self.cases


# --- the work ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Mock:
    """A target and a judge that answer after a fixed time."""

    url: str
    case_ms: float
    """Time of a question and two verdicts, one after the other."""

    def take_stats(self) -> dict[str, int]:
        """Return the numbers of requests since the last call."""
        with urllib.request.urlopen(f"{self.url}/stats", timeout=10) as reply:
            found: dict[str, int] = json.load(reply)
            return found


@contextmanager
def mock(ask_ms: float, judge_ms: float) -> Iterator[Mock]:
    """Serve target and judge from a process of their own."""
    limits = ["--ask-ms", str(ask_ms), "--judge-ms", str(judge_ms)]
    command = [sys.executable, str(ROOT / "benchmarks" / "loopback_mock.py"), *limits]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = f"http://127.0.0.1:{int(process.stdout.readline())}"
            yield Mock(url=url, case_ms=ask_ms + 2 * judge_ms)
        finally:
            process.terminate()


def measure(contender: Contender, cases: int, concurrency: int, mock: Mock, home: Path) -> Result:
    """Run one contender once.

    Raises:
        RuntimeError: it failed, or did not ask every case once and judge it twice.
    """
    wanted = min(concurrency, contender.most or concurrency)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_project(folder, cases, missed=contender.missed)
        mock.take_stats()
        command = contender.command(mock.url, concurrency)
        output = folder / "output.txt"
        usage = run_process(command, folder, output, environment(contender, mock.url, home))
        stats = mock.take_stats()
        if usage.exit_code or stats["asked"] != cases or stats["judged"] != 2 * cases:
            said = output.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise RuntimeError(f"{contender.name}: exit {usage.exit_code}, {stats}\n{said}")
    return Result(
        contender=contender.name,
        cases=cases,
        in_flight_wanted=wanted,
        wall_s=usage.wall_s,
        ideal_s=cases * mock.case_ms / 1000 / wanted,
        cpu_s=usage.cpu_s,
        rss_mb=usage.rss_mb,
        in_flight=stats["peak"],
    )


def measure_all(
    contenders: Sequence[Contender],
    cases: Sequence[int],
    concurrency: int,
    *,
    repeats: int,
    zero: bool,
    failed: dict[str, str] | None = None,
) -> list[Result]:
    """Let contenders take turns; of each the run with the median of CPU time counts.

    Each runs once before, on a few cases: its modules are compiled then, its home is made, and
    one that does not work is an error before anything was measured.

    Args:
        contenders: those to measure.
        cases: numbers of cases.
        concurrency: requests at once.
        repeats: of each.
        zero: whether target and judge answer at once.
        failed: gets the contenders that fail, with their last words, and goes on without them;
            None: the first failure is an error.
    """
    latencies = (0.0, 0.0) if zero else (ASK_MS, JUDGE_MS)
    found: dict[tuple[str, int], list[Result]] = {}
    with mock(*latencies) as served, tempfile.TemporaryDirectory() as name:
        home = Path(name)
        turns = [(one, count) for count in cases for one in contenders] * repeats
        for one, count in [*((one, _WARM_UP) for one in contenders), *turns]:
            if failed is not None and one.name in failed:
                continue
            try:
                result = measure(one, count, concurrency, served, home)
            except RuntimeError as error:
                if failed is None:
                    raise
                failed[one.name] = str(error)
                continue
            found.setdefault((one.name, count), []).append(result)
    counted = {key: results for key, results in found.items() if key[1] in cases}
    return [middle(results) for results in counted.values()]


def slopes(results: Sequence[Result]) -> dict[str, float]:
    """CPU milliseconds of one more case by contender; none where one number was measured."""
    found = {}
    for name in dict.fromkeys(result.contender for result in results):
        own = sorted((r for r in results if r.contender == name), key=lambda r: r.cases)
        if len(own) > 1:
            few, many = own[0], own[-1]
            found[name] = (many.cpu_s - few.cpu_s) * 1000 / (many.cases - few.cases)
    return found


# --- the figures ---------------------------------------------------------------------------------


def render(results: Sequence[Result], left_out: Mapping[str, str]) -> str:
    """Return a table, the cost of one more case, and contenders over the limit or left out.

    Args:
        results: of whom and what was measured.
        left_out: by contender the command that makes its environment.
    """
    lines = [
        f"{'contender':<20}{'cases':>7}{'wall s':>9}{'/ ideal':>9}{'CPU s':>8}{'ms/case':>9}"
        f"{'peak MB':>9}{'in flight':>12}"
    ]
    for r in results:
        ratio = f"{r.wall_s / r.ideal_s:.2f}" if r.ideal_s else "-"
        lines.append(
            f"{r.contender:<20}{r.cases:>7}{r.wall_s:>9.2f}{ratio:>9}{r.cpu_s:>8.2f}"
            f"{r.cpu_ms:>9.2f}{r.rss_mb:>9.0f}{r.in_flight:>6} of {r.in_flight_wanted}"
        )
    lines += [
        f"{name}: {slope:.2f} ms of CPU for one more case"
        for name, slope in slopes(results).items()
    ]
    lines += [
        f"{name}: had more in flight than it was asked to; the ideal is that of what was asked"
        for name in dict.fromkeys(r.contender for r in results if r.in_flight > r.in_flight_wanted)
    ]
    lines += [f"{name}: left out; {command}" for name, command in left_out.items()]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    rivals, left_out = find_rivals(environments())
    known = {**CONTENDERS, **rivals}
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=positive, nargs="+", default=[100, 1000])
    parser.add_argument("--concurrency", type=positive, default=32)
    parser.add_argument("--repeats", type=positive, default=1)
    parser.add_argument(
        "--contenders",
        nargs="+",
        choices=[*CONTENDERS, *RIVALS],
        help="default: all whose environment exists",
    )
    parser.add_argument("--zero-latency", action="store_true", help="the mock answers at once")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    for name in options.contenders or ():
        if name in left_out:
            parser.error(f"{name} has no environment; {left_out[name]}")
    results = measure_all(
        [known[name] for name in options.contenders or known],
        options.cases,
        options.concurrency,
        repeats=options.repeats,
        zero=options.zero_latency,
    )
    if options.contenders:
        left_out = {}
    if options.json:
        rows: list[dict[str, Any]] = [asdict(result) for result in results]
        more = {"cpu_ms_per_more_case": slopes(results), "left_out": left_out}
        print(json.dumps({"results": rows, **more}))
    else:
        print(render(results, left_out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
