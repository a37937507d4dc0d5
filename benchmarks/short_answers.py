"""Rates of the offline judge on short answers that are known to be right or wrong.

python -m benchmarks.short_answers --answers ../shared/data/short_answers.jsonl
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_rageval.judges.offline.grounding import PASS
from pytest_rageval.judges.offline.judge import OfflineJudge
from pytest_rageval.values.verdict import JudgeRequest

ROOT = Path(__file__).resolve().parents[1]
Row = Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class Rates:
    """Counts of one part of the answers."""

    n: int = 0
    mistaken: int = 0
    """Wrong ones that pass, or right ones that fail."""
    unsure: int = 0

    def add(self, score: float | None, *, correct: bool) -> None:
        """Take the score of one answer; None: the judge is unsure."""
        self.n += 1
        self.unsure += score is None
        self.mistaken += score is not None and (score >= PASS) != correct


def measure(rows: Iterable[Row]) -> dict[tuple[bool, str], Rates]:
    """Return rates by whether answers are right, and by kind and by language."""
    judge = OfflineJudge()
    found: dict[tuple[bool, str], Rates] = {}
    for row in rows:
        request = JudgeRequest(
            question=row["question"],
            answer=row["answer"],
            expected_answer=row.get("expected_answer"),
            expected_key_facts=tuple(row.get("expected_key_facts", ())),
        )
        verdict = judge.judge("correctness", request).verdict
        score = None if verdict is None else verdict.scores.get("correctness")
        language = "all other languages" if row.get("language") else "all in English"
        for part in (row["kind"], language):
            rates = found.setdefault((row["correct"], part), Rates())
            rates.add(score, correct=row["correct"])
    return found


def render(found: Mapping[tuple[bool, str], Rates]) -> str:
    """Return the tables of ``docs/judges.md``."""
    lines = []
    for correct, verb in ((False, "pass"), (True, "fail")):
        lines += [f"| {'right' if correct else 'wrong'} answers | n | {verb} | unsure |"]
        lines += ["|---|---|---|---|"]
        for (right, part), rates in sorted(found.items(), key=lambda item: item[0][1]):
            if right == correct:
                lines.append(f"| {part} | {rates.n} | {rates.mistaken} | {rates.unsure} |")
        lines.append("")
    return "\n".join(lines).rstrip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge the answers of a file and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    shared = Path(os.environ.get("RAGEVAL_SHARED", ROOT.parent / "shared"))
    default = shared / "data" / "short_answers.jsonl"
    parser.add_argument("--answers", type=Path, default=default, help="file of labelled answers")
    options = parser.parse_args(arguments)
    lines = options.answers.read_text(encoding="utf-8").splitlines()
    print(render(measure(map(json.loads, lines))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
