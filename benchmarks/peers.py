"""The package, scripts by hand and other tools on the same work, in one table.

Per case one question, two verdicts of a model, retrieval scored, one record written, as in
``throughput.py``, by those of its contenders whose environment exists; ``--install`` makes the
others.

    python -m benchmarks.peers --install
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from benchmarks.measuring import positive
from benchmarks.throughput import Result, measure_all, slopes
from benchmarks.throughput_contenders import (
    CONTENDERS,
    RIVALS,
    ROOT,
    Contender,
    Rival,
    environments,
    find_rivals,
)

OURS: Final = "ours"
PACKAGE: Final = Rival(name="pytest-rageval", requirements=(str(ROOT),), script="")
"""Its environment is measured, not started: contenders of ours have this interpreter."""
FEW_AT_ONCE: Final = 32
MANY_AT_ONCE: Final = 128
_MB: Final = 1024 * 1024
_BLOCK: Final = 512
"""Unit of ``st_blocks``, by POSIX."""
_INSTALLER: Final = {"pip", "setuptools", "pkg_resources", "_distutils_hack"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Figures of one contender."""

    contender: str
    case_ms: float
    """CPU time of one more case, without latency."""
    start_s: float
    """CPU time of a run of one case, without latency."""
    ideal_few: float
    """Wall time / ideal with `FEW_AT_ONCE` requests in flight."""
    ideal_many: float
    """The same with `MANY_AT_ONCE`."""
    in_flight: int
    """Most at once in that run, as the server saw it."""
    rss_mb: float
    """Peak of the largest process, with `FEW_AT_ONCE` in flight."""
    distributions: int | None
    """In the environment, with what the work needs besides; None: it has no environment."""
    installed_mb: float | None


def installed(folder: Path) -> tuple[int, float]:
    """Return the number of distributions of an environment, and what they take on disk in MB.

    The installer itself and compiled modules, which not every installer makes, do not count.
    """
    (root,) = (*folder.glob("lib/python*/site-packages"), *folder.glob("node_modules"))
    tops = [path for path in root.iterdir() if path.name.partition("-")[0] not in _INSTALLER]
    distributions = [path for path in tops if path.suffix == ".dist-info"]
    distributions += folder.glob("**/node_modules/*/package.json")
    distributions += folder.glob("**/node_modules/@*/*/package.json")
    files = (file for top in tops for file in (top, *top.rglob("*")))
    found = (file.lstat() for file in files if "__pycache__" not in file.parts)
    # A file that is linked twice, as some installers do, is one file.
    sizes = {(stat.st_dev, stat.st_ino): stat.st_blocks * _BLOCK for stat in found}
    return len(distributions), sum(sizes.values()) / _MB


def measure(
    contenders: Sequence[Contender],
    cases: Sequence[int],
    repeats: int,
    folder: Path,
    failed: dict[str, str],
) -> Iterator[Row]:
    """Measure all contenders in turns.

    Args:
        contenders: which.
        cases: two numbers of cases; wall times and memory are those of the larger.
        repeats: runs, of which the median by CPU time counts.
        folder: of the environments.
        failed: gets the contenders that fail, with their last words; they have no row.
    """
    few, many = cases

    def turns(numbers: Sequence[int], at_once: int, runs: int, zero: bool) -> list[Result]:
        return measure_all(contenders, numbers, at_once, repeats=runs, zero=zero, failed=failed)

    more = slopes(turns([few, many], FEW_AT_ONCE, repeats, True))
    one = {result.contender: result for result in turns([1], 1, max(3, repeats), True)}
    narrow = {result.contender: result for result in turns([many], FEW_AT_ONCE, repeats, False)}
    wide = {result.contender: result for result in turns([many], MANY_AT_ONCE, repeats, False)}
    for contender in contenders:
        if contender.name in failed:
            continue
        start, at_few, at_many = (found[contender.name] for found in (one, narrow, wide))
        rival = PACKAGE if contender.name == OURS else RIVALS.get(contender.name)
        own = folder / rival.folder if rival is not None else None
        size = installed(own) if own is not None and own.is_dir() else (None, None)
        yield Row(
            contender=contender.name,
            case_ms=more[contender.name],
            start_s=start.cpu_s,
            ideal_few=at_few.wall_s / at_few.ideal_s,
            ideal_many=at_many.wall_s / at_many.ideal_s,
            in_flight=at_many.in_flight,
            rss_mb=at_few.rss_mb,
            distributions=size[0],
            installed_mb=size[1],
        )


def install(folder: Path) -> None:
    """Make the environments that are missing; one that cannot be made is left out."""
    for rival in (PACKAGE, *RIVALS.values()):
        own = folder / rival.folder
        if not rival.program(own).exists():
            command = rival.installation(own)
            print(command, file=sys.stderr, flush=True)
            subprocess.run(command, shell=True, check=False, stdout=sys.stderr)


def render(rows: Sequence[Row], left_out: Mapping[str, str]) -> str:
    """Return a Markdown table, ours first and the others by CPU time."""
    lines = [
        "| contender | CPU ms of one more case | CPU s of one case | wall / ideal, "
        f"{FEW_AT_ONCE} in flight | {MANY_AT_ONCE} in flight | most at once | peak MB "
        "| distributions | MB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda row: (row.contender != OURS, row.case_ms)):
        size = "| - | - |"
        if row.installed_mb is not None:
            size = f"| {row.distributions} | {row.installed_mb:.0f} |"
        lines.append(
            f"| {row.contender} | {row.case_ms:.1f} | {row.start_s:.2f} | {row.ideal_few:.2f} "
            f"| {row.ideal_many:.2f} | {row.in_flight} | {row.rss_mb:.0f} {size}"
        )
    lines += [f"{name}: left out; {why.splitlines()[0]}" for name, why in left_out.items()]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    names = [OURS, "plain pytest -n 16", *RIVALS]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=positive, nargs=2, default=[100, 500])
    parser.add_argument("--repeats", type=positive, default=1)
    parser.add_argument("--contenders", nargs="+", choices=names, default=names)
    parser.add_argument("--install", action="store_true", help="make missing environments first")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    folder = environments()
    if options.install:
        install(folder)
    rivals, left_out = find_rivals(folder)
    known = {**CONTENDERS, **rivals}
    chosen = [known[name] for name in options.contenders if name in known]
    left_out = {name: left_out[name] for name in options.contenders if name in left_out}
    rows = list(measure(chosen, sorted(options.cases), options.repeats, folder, left_out))
    if options.json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "left_out": left_out}))
    else:
        print(render(rows, left_out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
