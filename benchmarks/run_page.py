"""Write the page of a run of many cases, and open, filter and search it in headless Chromium.

Every case has a question, an answer, a key fact, a quoted gold and five chunks of random words,
some with accents, dashes, curly quotes or Japanese (``--ascii``: none); a quarter is missed. CPU
time is that of ``rageval report``, and of a script that only reads the same records by
``json.loads`` and writes them again by ``json.dumps``. Times in the browser end with the second
frame after the action.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from benchmarks.measuring import positive, run_process
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import CaseRecord
from tests.build.browser import chromium
from tests.build.runs import write_run
from tests.report.html.builders import chunk, missed, passed

_FLOOR: Final = """
import json, sys
with open(sys.argv[1], encoding="utf-8") as lines, open(sys.argv[2], "w", encoding="utf-8") as copy:
    for line in lines:
        copy.write(json.dumps(json.loads(line), ensure_ascii=False))
"""
_ASCII: Final = [
    f"{first}{last}"
    for first in ("re", "over", "out", "back", "un", "down")
    for last in (
        "set",
        "load",
        "line",
        "hold",
        "shard",
        "fold",
        "index",
        "key",
        "plan",
        "drive",
        "date",
        "cast",
    )
]
_WORDS: Final = [
    *_ASCII,
    *(
        "déjà",
        "Größe",
        "naïve",
        "l’hôtel",
        "“señal”",
        "São",
        "–",
        "—",
        "re…set",
        "再起動",
        "鍵の一覧",
    ),
]
"""One in eight is of a kind that real notes have beside ASCII."""
_ACTIONS: Final = {
    "list of the cases": "#cases",
    "filter": "#outcome=missed",
    "filter and sort": "#outcome=missed&sort=mrr",
    "search in questions and ids": "#q=case-77",
    "search in answers and chunks": "#q=ticket77",
}
_GO: Final = """async (place) => {
  const begun = performance.now();
  location.hash = place;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - begun;
}"""
_PAINTED: Final = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Cost of one page."""

    cases: int
    megabytes: float
    cpu_s: float
    floor_cpu_s: float
    ms: dict[str, float]
    """Milliseconds of each action in the browser."""


def records(many: int, vocabulary: Sequence[str]) -> Iterator[CaseRecord]:
    """Records with texts, the same for the same number and words."""
    rng = random.Random(17)

    def words(count: int) -> str:
        return " ".join(rng.choices(vocabulary, k=count))

    for number in range(many):
        build = missed if number % 4 == 3 else passed
        golds = () if build is missed else (0,)
        texts = [words(80) for _ in range(5)]
        first = texts[0].split()
        gold = Anchor(rel_path="docs/file1.md", snippets=(" ".join(first[20:32]),))
        question, fact = f"{words(14)}?", " ".join(first[40:44])
        yield build(
            f"case-{number}",
            question=question,
            answer=f"{words(30)} {fact} {words(30)} ticket{number}.",
            category=f"category {number % 7}",
            retrieved_chunks=tuple(
                chunk(rank, text=text, matched_golds=golds if rank == 1 else ())
                for rank, text in enumerate(texts, start=1)
            ),
            case=Case(
                id=f"case-{number}",
                question=question,
                expected_key_facts=(fact,),
                gold_supports=(gold,),
            ),
        )


def measure(many: int, vocabulary: Sequence[str]) -> Figures:
    """Write and open the page of a run of so many cases."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = write_run(folder, "run", list(records(many, vocabulary)))
        output = folder / "output"
        report = [sys.executable, "-m", "pytest_rageval.cli.main", "report", str(run)]
        ours = run_process(report, folder, output)
        if ours.exit_code:
            raise RuntimeError(output.read_text(encoding="utf-8"))
        copied = [sys.executable, "-c", _FLOOR, str(run / "results.jsonl"), str(folder / "copy")]
        page = run / "report.html"
        return Figures(
            cases=many,
            megabytes=page.stat().st_size / 1e6,
            cpu_s=ours.cpu_s,
            floor_cpu_s=run_process(copied, folder, output).cpu_s,
            ms=browse(page),
        )


def browse(page: Path) -> dict[str, float]:
    """Milliseconds of opening the page and of each action."""
    with chromium() as browser:
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        tab.goto(page.as_uri())
        tab.wait_for_timeout(2000)  # texts are read ahead while the reader reads
        found = {"first paint": tab.evaluate(_PAINTED)}
        return found | {name: tab.evaluate(_GO, place) for name, place in _ACTIONS.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=positive, default=10_000)
    parser.add_argument("--ascii", action="store_true", help="texts of ASCII alone, to compare")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    given = parser.parse_args(arguments)
    found = measure(given.cases, _ASCII if given.ascii else _WORDS)
    if given.json:
        print(json.dumps(asdict(found)))
        return 0
    print(f"{found.cases} cases, {found.megabytes:.1f} MB")
    ratio = found.cpu_s / found.floor_cpu_s
    print(f"CPU {found.cpu_s:.2f} s, {ratio:.1f} times that of reading and writing the records")
    for name, ms in found.ms.items():
        print(f"{name:30} {ms:>6.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
