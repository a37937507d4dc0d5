"""Measure what replaying cached verdicts costs, beside plain sqlite3 on the same file.

Every verdict goes the whole way of a judged answer: its prompt is rendered, its key made, its
document fetched and read. Nobody is asked, and a verdict that is not found in the cache ends the
run. All times are CPU time of this process.

    python benchmarks/cached_verdicts.py --verdicts 2000 --repeats 5
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from pytest_rageval.judges.cache import JudgeCache
from pytest_rageval.judges.model.endpoint import ChatEndpoint
from pytest_rageval.judges.model.judge import OpenAIJudge
from pytest_rageval.judges.model.memory import document_of
from pytest_rageval.values.settings import JudgeSettings
from pytest_rageval.values.verdict import (
    Claim,
    Judgement,
    JudgeRequest,
    JudgeUsage,
    Passage,
    Verdict,
)

MODEL = "judge-2026-01-01"
SETTINGS = JudgeSettings(base_url="http://127.0.0.1:9/v1", retries=0, api_key_env="KEY")
"""Nobody listens there: a question that is asked after all fails."""
ENVIRON = {"KEY": "none"}
PASSAGES = 5
_WORDS = (
    "the retry budget of a client is spent when a request fails with status 503 and settings "
    "name another limit so that documents are indexed in batches before each search begins"
).split()

Ask = tuple[str, JudgeRequest]
"""A rubric and an answer to judge."""


# --- data ----------------------------------------------------------------------------------


def _text(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words))


def questions(n: int, seed: int = 0) -> list[Ask]:
    """Answers of 100 words over 5 passages of 150, each under every default rubric in turn."""
    chance = random.Random(seed)
    asks: list[Ask] = []
    while len(asks) < n:
        request = JudgeRequest(
            question=f"{_text(chance, 12)}?",
            answer=f"{_text(chance, 100)} [1][2].",
            context=tuple(
                Passage(text=_text(chance, 150), rel_path=f"docs/{i}.md", chunk_id=f"c{i}")
                for i in range(PASSAGES)
            ),
            expected_key_facts=(_text(chance, 8), _text(chance, 8)),
            expected_answer=_text(chance, 30),
        )
        asks += [(rubric, request) for rubric in JudgeSettings().rubrics]
    return asks[:n]


def verdict(rubric: str, chance: random.Random) -> Judgement:
    """Return a possible verdict of a model, of about 2 kB."""
    claims = tuple(
        Claim(text=_text(chance, 20), supported=True, passage=i + 1, reason=_text(chance, 12))
        for i in range(PASSAGES)
    )
    return Judgement(
        rubric=rubric,
        rubric_version=f"{rubric}-0123456789ab",
        judge=f"{MODEL} at 127.0.0.1:9",
        verdict=Verdict(
            scores={rubric: float(chance.randint(0, 5))},
            reasoning=_text(chance, 60),
            claims=claims if rubric == "groundedness" else (),
            key_facts_found=(True, False) if rubric == "correctness" else None,
        ),
        usage=JudgeUsage(prompt_tokens=1500, completion_tokens=300, calls=1),
        level="json_schema",
        prompt_hash="0" * 64,
        model=MODEL,
        parameters={"temperature": 0.0, "seed": 0, "max_tokens": 1024},
    )


class _Keys:
    """A cache that holds nothing and notes what is looked for."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def get(self, key: str) -> None:
        self.found.append(key)

    def put(self, key: str, document: Mapping[str, Any], *, identity: str) -> bool:
        raise AssertionError("nothing is judged here")

    def get_level(self, endpoint: str, model: str) -> None:
        """Nothing is known of any endpoint."""

    def put_level(self, endpoint: str, model: str, document: Mapping[str, Any]) -> bool:
        raise AssertionError("nothing is judged here")


def fill(file: Path, asks: Sequence[Ask], seed: int = 0) -> list[str]:
    """Put one verdict for each question into a new cache; return their keys."""
    keys, chance = _Keys(), random.Random(seed)
    with OpenAIJudge(ChatEndpoint(MODEL, SETTINGS, environ=ENVIRON), cache=keys) as judge:
        for rubric, request in asks:
            judge.plan(rubric, request)
        with JudgeCache(file) as cache:
            for (rubric, _), key in zip(asks, keys.found, strict=True):
                cache.put(key, document_of(verdict(rubric, chance)), identity=judge.identity)
    return keys.found


# --- contenders ----------------------------------------------------------------------------


class _FullCache(JudgeCache):
    """Ends the run before anybody is asked."""

    def get(self, key: str) -> dict[str, Any]:
        document = super().get(key)
        if document is None:
            raise ValueError(f"{self.shown}: no verdict under {key[:12]}, expected one each")
        return document


def replay_verdicts(file: Path, asks: Sequence[Ask]) -> list[Judgement]:
    """Judge every answer from the cache alone.

    Raises:
        ValueError: a verdict was not there, or could not be read.
    """
    with (
        _FullCache(file) as cache,
        OpenAIJudge(ChatEndpoint(MODEL, SETTINGS, environ=ENVIRON), cache=cache) as judge,
    ):
        judgements = [judge.judge(rubric, request) for rubric, request in asks]
    if not all(judgement.usage.cached for judgement in judgements):
        raise ValueError(f"{file}: a verdict could not be read")
    return judgements


def read_cache(file: Path, keys: Sequence[str]) -> list[Any]:
    with JudgeCache(file) as cache:
        return [cache.get(key) for key in keys]


def read_plainly(file: Path, keys: Sequence[str]) -> list[Any]:
    """Read each verdict by one query, as plain code without the package does."""
    query = "SELECT document, used_at FROM rageval_judge_verdicts WHERE key = ?"
    connection = sqlite3.connect(file)
    try:
        return [json.loads(connection.execute(query, (key,)).fetchone()[0]) for key in keys]
    finally:
        connection.close()


# --- measuring -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Cost of reading all verdicts in one way."""

    name: str
    cpu_s: float
    """Median over the repeats."""
    ratio: float
    """Its time divided by that of plain sqlite3 in the same repeat; median."""


def cpu_seconds(work: Callable[[], object]) -> float:
    gc.collect()
    begin = time.process_time()
    work()
    return time.process_time() - begin


def measure(file: Path, asks: Sequence[Ask], keys: Sequence[str], repeats: int) -> list[Row]:
    """Let all ways take turns, after a first round that does not count.

    Raises:
        ValueError: two of them do not read the same.
    """
    if read_cache(file, keys) != read_plainly(file, keys):
        raise ValueError("the cache and plain sqlite3 do not read the same documents")
    ways: dict[str, Callable[[], object]] = {
        "whole judge path": lambda: replay_verdicts(file, asks),
        "cache alone": lambda: read_cache(file, keys),
        "plain sqlite3": lambda: read_plainly(file, keys),
    }
    replay_verdicts(file, asks)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            times[name].append(cpu_seconds(way))
    plain = times["plain sqlite3"]
    return [
        Row(
            name=name,
            cpu_s=median(taken),
            ratio=median(mine / theirs for mine, theirs in zip(taken, plain, strict=True)),
        )
        for name, taken in times.items()
    ]


def replay_once(file: Path, n: int) -> float:
    """CPU time of this process up to the last verdict, but for making up the questions."""
    making = time.process_time()
    asks = questions(n)
    making = time.process_time() - making
    replay_verdicts(file, asks)
    return time.process_time() - making


def cold_start(file: Path, n: int) -> float:
    """CPU time of a process of its own that replays all verdicts, interpreter and imports too."""
    program = [sys.executable, str(Path(__file__).resolve()), "--replay", str(file)]
    done = subprocess.run(
        [*program, "--verdicts", str(n)], capture_output=True, encoding="utf-8", check=True
    )
    return float(done.stdout)


# --- output --------------------------------------------------------------------------------


def describe_machine() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "sqlalchemy": version("sqlalchemy"),
    }


def render(rows: Sequence[Row], cold_s: float) -> str:
    lines = [f"{'':18} {'CPU s':>7} {'time / plain sqlite3':>21}"]
    lines += [f"{row.name:18} {row.cpu_s:>7.3f} {row.ratio:>21.2f}" for row in rows]
    return "\n".join([*lines, f"{'new process':18} {cold_s:>7.3f}   interpreter and imports too"])


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--verdicts", type=int, default=2000, metavar="N")
    parser.add_argument("--repeats", type=int, default=5, metavar="R")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--replay", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    for name in ("verdicts", "repeats"):
        if getattr(given, name) < 1:
            parser.error(f"--{name}: got {getattr(given, name)}, expected at least 1")
    return given


def main(arguments: Sequence[str] | None = None) -> int:
    given = parse(arguments)
    if given.replay is not None:
        print(replay_once(given.replay, given.verdicts))
        return 0
    asks = questions(given.verdicts)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "judge.sqlite"
        keys = fill(file, asks)
        rows = measure(file, asks, keys, given.repeats)
        cold_s = cold_start(file, given.verdicts)
    if given.json:
        document = {
            "verdicts": given.verdicts,
            "repeats": given.repeats,
            "machine": describe_machine(),
            "results": [asdict(row) for row in rows],
            "new_process_cpu_s": cold_s,
        }
        print(json.dumps(document, indent=2))
    else:
        machine = ", ".join(f"{name} {value}" for name, value in describe_machine().items())
        print(f"{given.verdicts} verdicts, {given.repeats} repeats in turn; {machine}\n")
        print(render(rows, cold_s))
    return 0


if __name__ == "__main__":
    sys.exit(main())
