"""One table of what a run costs: ours beside others in the same minutes, with a bound for each.

Each row is a ratio, a difference of two ratios, or a figure of one process. The first column names
the row for ``--rows``.

    python -m benchmarks.table
    python -m benchmarks.table --rows cpu wall
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from benchmarks import instructions, score_stream
from benchmarks.measuring import Usage, positive, run_process
from benchmarks.throughput import Result, measure_all, slopes
from benchmarks.throughput_contenders import CONTENDERS, Contender, environment

AIOHTTP: Final = "aiohttp script"
OPENAI: Final = "openai script"
COMPARED: Final = 10_000
SCORED: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure."""

    name: str
    measure: str
    ours: float
    other: float | None
    """Of the contender, in the same unit; None: the figure is ours alone."""
    figure: float
    """Compared with the bound."""
    bound: float


Contenders = Mapping[str, Contender]


# --- rows ----------------------------------------------------------------------------------------


def _of(found: Sequence[Result], name: str, cases: int) -> Result:
    return next(one for one in found if (one.contender, one.cases) == (name, cases))


def _ratio(name: str, measure: str, ours: float, other: float, bound: float) -> Row:
    return Row(
        name=name,
        measure=measure,
        ours=ours,
        other=other,
        figure=ours / other,
        bound=bound,
    )


def cpu(known: Contenders, repeats: int) -> Iterator[Row]:
    three = [known["ours"], known[AIOHTTP], known[OPENAI]]
    more = slopes(measure_all(three, [100, 1000], 32, repeats=repeats, zero=True))
    for name, bound in ((AIOHTTP, 2.6), (OPENAI, 0.85)):
        yield _ratio("cpu", f"CPU ms of one more case / {name}", more["ours"], more[name], bound)


def wall(known: Contenders, repeats: int) -> Iterator[Row]:
    both = [known["ours"], known[AIOHTTP]]

    def ideals(found: Sequence[Result]) -> tuple[float, float]:
        ours, floor = (_of(found, one.name, 1000) for one in both)
        return ours.wall_s / ours.ideal_s, floor.wall_s / floor.ideal_s

    found = measure_all(both, [1000], 32, repeats=repeats, zero=False)
    ours, floor = ideals(found)
    yield Row(
        name="wall",
        measure=f"wall / ideal, N=1000 C=32, above the {AIOHTTP}",
        ours=ours,
        other=floor,
        figure=ours - floor,
        bound=0.1,
    )
    peak = _of(found, "ours", 1000).rss_mb
    yield Row(
        name="wall",
        measure=f"peak MB, N=1000 C=32 with a judge (other: {AIOHTTP})",
        ours=peak,
        other=_of(found, AIOHTTP, 1000).rss_mb,
        figure=peak,
        bound=175,
    )
    found = measure_all(both, [1000], 128, repeats=repeats, zero=False)
    yield _ratio("wall", f"wall / ideal, N=1000 C=128 / {AIOHTTP}", *ideals(found), 1.8)


def selected(known: Contenders, repeats: int) -> Iterator[Row]:
    ours, bare = instructions.STARTS[:2]
    found = instructions.figures([ours, bare], [20], instructions.CONCURRENCY)
    ours_m, bare_m = (found[one.name][20] / 1e6 for one in (ours, bare))
    yield _ratio("select", "M instructions of -k one_case / bare pytest", ours_m, bare_m, 2.4)


def scored(known: Contenders, repeats: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        files = score_stream.write_files(Path(folder), SCORED)
        ours, floor = (score_stream.in_fresh_process(name, *files) for name in ("ours", "floor"))
    measure = f"CPU s of scoring {SCORED:,} recorded cases / json.loads"
    yield _ratio("score", measure, ours.cpu_s, floor.cpu_s, 5)


def compared(known: Contenders, repeats: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pyproject.toml").write_text("[tool.rageval]\n", encoding="utf-8")
        cases, base = score_stream.write_files(folder, COMPARED)
        new = folder / "new.jsonl"
        with base.open(encoding="utf-8") as lines, new.open("w", encoding="utf-8") as out:
            for place, line in enumerate(lines):
                row = json.loads(line)
                if place % 3 == 0:
                    row["response"]["debug"]["retrieved_chunks"].reverse()
                out.write(json.dumps(row) + "\n")
        for responses, run in ((base, "base"), (new, "new")):
            _rageval(folder, "score", str(cases), str(responses), "--save", run, "--no-report")
        usage = _rageval(folder, "compare", "base", "new", allowed=(0, 1))
    for measure, figure, bound in (("CPU s", usage.cpu_s, 6), ("peak MB", usage.rss_mb, 300)):
        measure = f"{measure} of comparing two runs of {COMPARED:,} cases"
        yield Row(
            name="compare",
            measure=measure,
            ours=figure,
            other=None,
            figure=figure,
            bound=bound,
        )


def _rageval(folder: Path, *arguments: str, allowed: Sequence[int] = (0,)) -> Usage:
    output = folder / "output.txt"
    command = [str(Path(sys.executable).with_name("rageval")), *arguments]
    usage = run_process(command, folder, output, environment(CONTENDERS["ours"], "", folder))
    if usage.exit_code not in allowed:
        said = output.read_text(encoding="utf-8", errors="replace")[-2000:]
        raise RuntimeError(f"rageval {arguments[0]}: exit {usage.exit_code}\n{said}")
    return usage


GROUPS: Final[Mapping[str, Callable[[Contenders, int], Iterator[Row]]]] = {
    "cpu": cpu,
    "wall": wall,
    "select": selected,
    "score": scored,
    "compare": compared,
}
_NEEDS_VALGRIND: Final = "select"


# --- the table -----------------------------------------------------------------------------------


def render(row: Row) -> str:
    """Return the line of a row."""
    other = "-" if row.other is None else f"{row.other:,.2f}"
    met = "met" if row.figure <= row.bound else "over"
    return (
        f"{row.name:<13}{row.measure:<62}{row.ours:>9,.2f}{other:>9}{row.figure:>9,.2f}"
        f"{row.bound:>8g}  {met}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print each row once it is known."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", nargs="+", choices=list(GROUPS), default=list(GROUPS))
    parser.add_argument("--repeats", type=positive, default=1, help="of runs that are timed")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    missing: dict[str, str] = {}
    if not options.json:
        heads = f"{'ours':>9}{'other':>9}{'figure':>9}{'at most':>8}"
        print(f"{'row':<13}{'measure':<62}{heads}", flush=True)
    for name in options.rows:
        if name == _NEEDS_VALGRIND and shutil.which("valgrind") is None:
            missing[name] = "valgrind is not installed"
            continue
        for row in GROUPS[name](CONTENDERS, options.repeats):
            rows.append(row)
            if not options.json:
                print(render(row), flush=True)
    if options.json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "left_out": missing}))
    else:
        print("\n".join(f"{name}: left out; {reason}" for name, reason in missing.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
