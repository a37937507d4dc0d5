"""Cost of collecting many cases, compared with a test parametrized over the same lines.

Each contender lists its tests (``--collect-only -q``) in a process of its own, in turns: ours from
the case file, and a test function parametrized over the same JSON lines, each read by
``json.loads``. With ``-k`` one in a hundred is selected.

    python -m benchmarks.collection --cases 10000 100000
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.measuring import middle, positive, run_process

PARAMETRIZED: Final = """
import json, pathlib, pytest

with pathlib.Path("evals/eval_set.jsonl").open(encoding="utf-8") as lines:
    CASES = [json.loads(line) for line in lines]

@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case):
    pass
"""
CONTENDERS: Final = {
    "ours": ["evals"],
    "parametrize": ["-p", "no:rageval", "parametrized_test.py"],
}
SELECTED: Final = "x00"
"""Part of the ids of one case in a hundred."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One contender on one number of cases."""

    contender: str
    cases: int
    selected: int
    wall_s: float
    cpu_s: float
    rss_mb: float


def write_project(folder: Path, cases: int) -> None:
    """Write a project of so many cases of about 500 bytes."""
    (folder / "evals").mkdir(parents=True)
    with (folder / "evals" / "eval_set.jsonl").open("w", encoding="utf-8") as file:
        for place in range(cases):
            case = {
                "id": f"c{place // 100:05}x{place % 100:02}",
                "question": f"What does paragraph {place} say about the retention of records?",
                "category": ("factual", "multi_hop", "recency")[place % 3],
                "difficulty": ("easy", "medium", "hard")[place % 3],
                "answerable": True,
                "tags": [f"team-{place % 7}"],
                "gold_supports": [
                    {"rel_path": f"policies/{place % 50}.md", "heading_path": "# Records > Keeping"}
                ],
                "expected_key_facts": ["seven years after the end of the contract", "on paper"],
                "expected_answer": f"Paragraph {place} says that records are kept seven years.",
            }
            file.write(json.dumps(case) + "\n")
    (folder / "pyproject.toml").write_text("[tool.rageval]\n", encoding="utf-8")
    (folder / "parametrized_test.py").write_text(PARAMETRIZED, encoding="utf-8")


def measure(contender: str, folder: Path, cases: int, *, select: bool) -> Result:
    """List the tests of one contender.

    Raises:
        RuntimeError: they are not as many as they should be.
    """
    chosen = ["-k", SELECTED] if select else []
    expected = len(range(0, cases, 100)) if select else cases
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q"]
    plugins = ["-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    output = folder / "output.txt"
    usage = run_process([*command, *plugins, *CONTENDERS[contender], *chosen], folder, output)
    with output.open(encoding="utf-8") as lines:
        listed = sum("::" in line for line in lines)
    if usage.exit_code or listed != expected:
        said = output.read_text(encoding="utf-8")[-2000:]
        raise RuntimeError(f"{contender}: exit {usage.exit_code}, {listed} listed\n{said}")
    return Result(
        contender=contender,
        cases=cases,
        selected=listed,
        wall_s=usage.wall_s,
        cpu_s=usage.cpu_s,
        rss_mb=usage.rss_mb,
    )


def measure_all(cases: Sequence[int], *, repeats: int) -> list[Result]:
    """Let contenders take turns; of each the run with the median of CPU time counts."""
    results = []
    for count in cases:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_project(folder, count)
            for select in (False, True):
                found: dict[str, list[Result]] = {one: [] for one in CONTENDERS}
                for _ in range(repeats):
                    for one in CONTENDERS:
                        found[one].append(measure(one, folder, count, select=select))
                results += [middle(own) for own in found.values()]
    return results


def render(results: Sequence[Result]) -> str:
    """A table."""
    lines = [
        f"{'contender':<12}{'cases':>8}{'selected':>10}{'wall s':>9}{'CPU s':>8}{'peak MB':>9}"
    ]
    lines += [
        f"{r.contender:<12}{r.cases:>8}{r.selected:>10}{r.wall_s:>9.2f}{r.cpu_s:>8.2f}"
        f"{r.rss_mb:>9.0f}"
        for r in results
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=positive, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--repeats", type=positive, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    results = measure_all(options.cases, repeats=options.repeats)
    if options.json:
        rows: list[dict[str, Any]] = [asdict(result) for result in results]
        print(json.dumps({"results": rows}))
    else:
        print(render(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
