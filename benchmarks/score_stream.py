"""Score many recorded responses, beside reading them and beside a script without the package.

Each contender works through the same two files in a process of its own, in turn, so that a ratio
compares neighbours in time. Importing is left out of the CPU time. The retrieval means of all must
agree before anything is reported.

- ``floor``: ``json.loads`` of every line, nothing kept;
- ``ours``: what ``rageval score`` does without ``--save``: every metric, interval and group, and
  the lines that it prints;
- ``rival``: pydantic models, dictionaries of the whole set, four means by ir_measures.

``--stages`` adds the parts of ours, each of which holds the one before.

    python benchmarks/score_stream.py --cases 20000 --repeats 3
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from statistics import median
from typing import Any, Final

SEED: Final = 20251122
TOLERANCE: Final = 1e-9
K: Final = 10
"""Chunks of a response, and the cutoff."""
MEASURES: Final[Mapping[str, str]] = {
    "recall_at_k": f"R@{K}",
    "mrr": f"RR@{K}",
    "ndcg_at_k": f"nDCG@{K}",
    "precision_at_k": f"P@{K}",
}
"""Our names of the means that are compared, and those of ir_measures."""

Numbers = tuple[int, Mapping[str, float]]
"""Responses read, and the means where the contender has any."""
Contender = Callable[[Path, Path], Numbers]


# --- data ----------------------------------------------------------------------------------

_DOCUMENTS: Final = 500
_SECTIONS: Final = 6
_WORDS: Final = (
    "retention backup index replica vector cluster snapshot restore token policy limit shard "
    "zurück Größe naïve 索引 after before each every must never only when while the of to in"
).split()


def _text(rng: random.Random, chars: int) -> str:
    words: list[str] = []
    while chars > 0:
        words.append(rng.choice(_WORDS))
        chars -= len(words[-1]) + 1
    return " ".join(words)


def _place(section: int) -> dict[str, str]:
    document, place = divmod(section, _SECTIONS)
    return {
        "rel_path": f"handbook/area-{document % 20}/page-{document}.md",
        "heading_path": f"# Page {document} > ## Section {place}",
    }


def synthetic_case(rng: random.Random, i: int) -> tuple[dict[str, Any], list[int]]:
    """A case with one to three graded golds, or with none in one of ten."""
    golds = rng.sample(range(_DOCUMENTS * _SECTIONS), rng.randint(1, 3)) if i % 10 else []
    supports = [{**_place(gold), "grade": rng.randint(1, 3)} for gold in golds]
    case = {
        "id": f"case-{i:06}",
        "question": _text(rng, 80),
        "answerable": bool(golds),
        "gold_supports": supports,
        "category": rng.choice(["howto", "limits", "errors", "concepts"]),
        "difficulty": rng.choice(["easy", "medium", "hard"]),
        "tags": rng.sample(["de", "en", "long", "table", "code"], 2),
    }
    return case, golds


def synthetic_response(rng: random.Random, golds: Sequence[int]) -> dict[str, Any]:
    """Ten chunks of distinct sections, each gold among them three times in four."""
    found = [gold for gold in golds if rng.random() < 0.75]
    others = [s for s in rng.sample(range(_DOCUMENTS * _SECTIONS), 2 * K) if s not in golds]
    sections = [*found, *others[: K - len(found)]]
    rng.shuffle(sections)
    chunks = [_chunk(rng, section, rank) for rank, section in enumerate(sections, start=1)]
    phases = {"retrieval_ms": rng.uniform(5, 80), "generation_ms": rng.uniform(300, 3000)}
    return {
        "answer": _text(rng, 400),
        "abstained": not golds,
        "references": [{**_place(section), "chunk_index": 0} for section in sections[:2]],
        "debug": {
            "retrieved_chunks": chunks,
            "latency": {**phases, "total_ms": sum(phases.values())},
            "models": {"llm_model": "a-model", "embedding_model": "an-embedder"},
        },
    }


def _chunk(rng: random.Random, section: int, rank: int) -> dict[str, Any]:
    return {
        "chunk_id": f"{rng.getrandbits(128):032x}",
        **_place(section),
        "start_line": 40 * (section % _SECTIONS) + 1,
        "end_line": 40 * (section % _SECTIONS) + 30,
        "score_vector": rng.random(),
        "score_lexical": 20 * rng.random(),
        "score_final": 1 - rank / 100 + rng.random() / 1000,
        "text": _text(rng, 200),
        "rank": rank,
        "token_count": rng.randint(40, 60),
        "rank_before_rerank": None,
    }


def write_files(folder: Path, n: int) -> tuple[Path, Path]:
    """Write CASES and RESPONSES of ``n`` cases, one case in memory at a time."""
    rng = random.Random(SEED)
    cases, responses = folder / f"cases-{n}.jsonl", folder / f"responses-{n}.jsonl"
    with cases.open("w", encoding="utf-8") as c, responses.open("w", encoding="utf-8") as r:
        for i in range(n):
            case, golds = synthetic_case(rng, i)
            line = {"id": case["id"], "response": synthetic_response(rng, golds)}
            c.write(json.dumps(case, ensure_ascii=False) + "\n")
            r.write(json.dumps(line, ensure_ascii=False) + "\n")
    return cases, responses


# --- contenders: each imports what it needs, and gives back what to time ----------------------


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        yield from file


def floor() -> Contender:
    def run(cases: Path, responses: Path) -> Numbers:
        for line in _lines(cases):
            json.loads(line)
        n = 0
        for line in _lines(responses):
            json.loads(line)
            n += 1
        return n, {}

    return run


def ours() -> Contender:
    from pytest_rageval.engine.judging import JudgeWatch
    from pytest_rageval.engine.recorded import RecordedRun
    from pytest_rageval.engine.scored import ScoredRun
    from pytest_rageval.report.view.judging import score_lines
    from pytest_rageval.values.settings import Settings

    def run(cases: Path, responses: Path) -> Numbers:
        settings = Settings(rootdir=".", k=K, judge="none")
        watch = JudgeWatch(settings.max_errors)
        with ScoredRun(settings, run_id=None, cases=cases) as scored:
            for record in RecordedRun(cases, responses, settings, stored=False).records():
                watch.see(record)
                scored.add(record)
            totals = scored.finish()
        list(score_lines(totals, scored.failures, watch.facts.notes(settings)))
        means = {key: totals.metrics[key].mean for key in MEASURES}
        return totals.total, {key: mean for key, mean in means.items() if mean is not None}

    return run


def rival() -> Contender:
    import ir_measures
    from pydantic import BaseModel

    class Gold(BaseModel):
        rel_path: str
        heading_path: str
        grade: int = 1

    class Case(BaseModel):
        id: str
        question: str
        gold_supports: list[Gold] = []

    class Chunk(BaseModel):
        chunk_id: str
        rel_path: str
        heading_path: str
        score_final: float
        text: str

    class Debug(BaseModel):
        retrieved_chunks: list[Chunk]

    class Response(BaseModel):
        answer: str
        debug: Debug

    class Recorded(BaseModel):
        id: str
        response: Response

    def key(where: Gold | Chunk) -> str:
        return f"{where.rel_path} {where.heading_path}"

    def run(cases: Path, responses: Path) -> Numbers:
        # Kind to it: the texts of a line are dropped once its dictionary is built.
        qrels = {}
        for line in _lines(cases):
            case = Case.model_validate_json(line)
            if case.gold_supports:
                qrels[case.id] = {key(gold): gold.grade for gold in case.gold_supports}
        found, n = {}, 0
        for line in _lines(responses):
            recorded = Recorded.model_validate_json(line)
            n += 1
            if recorded.id in qrels:
                chunks = recorded.response.debug.retrieved_chunks
                found[recorded.id] = {key(chunk): chunk.score_final for chunk in chunks}
        measures = {name: ir_measures.parse_measure(one) for name, one in MEASURES.items()}
        means = ir_measures.calc_aggregate(measures.values(), qrels, found)
        return n, {name: means[measure] for name, measure in measures.items()}

    return run


def stage_cases() -> Contender:
    from pytest_rageval.project.case_reader import CaseReader

    def run(cases: Path, responses: Path) -> Numbers:
        return sum(1 for _ in CaseReader(cases)), {}

    return run


def stage_read() -> Contender:
    from pytest_rageval.engine.recorded import RecordedResponses
    from pytest_rageval.project.case_reader import CaseReader

    def run(cases: Path, responses: Path) -> Numbers:
        with closing(RecordedResponses(responses, display=responses.name)) as recorded:
            return sum(recorded.first(one.case.id)[0] for one in CaseReader(cases)), {}

    return run


def stage_scored() -> Contender:
    from pytest_rageval.engine.recorded import RecordedRun
    from pytest_rageval.values.settings import Settings

    def run(cases: Path, responses: Path) -> Numbers:
        settings = Settings(rootdir=".", k=K, judge="none")
        records = RecordedRun(cases, responses, settings, stored=False).records()
        return sum(1 for _ in records), {}

    return run


CONTENDERS: Final[Mapping[str, Callable[[], Contender]]] = {
    "floor": floor,
    "ours": ours,
    "rival": rival,
}
STAGES: Final[Mapping[str, Callable[[], Contender]]] = {
    "stage: cases read": stage_cases,
    "stage: and responses": stage_read,
    "stage: and scored": stage_scored,
}


# --- one process -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Figures that one process reports."""

    n: int
    means: Mapping[str, float]
    cpu_s: float
    """Of the work, without imports."""
    peak_kb: int
    """Of the whole process: imports, work and all."""


def peak_kb() -> int:
    """The largest resident memory of this process so far."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        import resource  # not on Windows, where the rest of this module can be used

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak // 1024 if sys.platform == "darwin" else peak
    # ru_maxrss is not lower than what the parent held when it started this process.
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def contend(name: str, cases: Path, responses: Path) -> Outcome:
    """Run one contender in this process."""
    run = {**CONTENDERS, **STAGES}[name]()
    started = time.process_time()
    n, means = run(cases, responses)
    cpu_s = time.process_time() - started
    return Outcome(n=n, means=means, cpu_s=cpu_s, peak_kb=peak_kb())


def in_fresh_process(name: str, cases: Path, responses: Path) -> Outcome:
    """Run one contender in a process of its own."""
    command = [sys.executable, __file__, "--contender", name, str(cases), str(responses)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8")
    return Outcome(**json.loads(done.stdout))


# --- measuring -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Result of one contender."""

    name: str
    us_per_case: float
    """CPU time, median over the repeats."""
    ratio: float
    """Its CPU time divided by that of the floor in the same repeat; median."""
    ratio_low: float
    ratio_high: float
    """Lowest and highest ratio of the repeats."""
    peak_mb: float
    """Peak resident memory of its process; median."""
    peak_mb_tenth: float
    """The same with a tenth of the cases."""
    kb_per_case: float
    """By how much the peak grows with each further case."""


def check_agreement(outcomes: Mapping[str, Outcome], n: int) -> None:
    """Hold all contenders against the rival.

    Raises:
        ValueError: a contender read too few responses, or a mean departs by more than
            ``TOLERANCE``.
    """
    for name, outcome in outcomes.items():
        if outcome.n != n:
            raise ValueError(f"{name}: {outcome.n} responses read, expected {n}")
    expected = outcomes["rival"].means
    for key in MEASURES:
        mean = outcomes["ours"].means.get(key, float("nan"))
        gap = abs(mean - expected.get(key, float("nan")))
        if not isfinite(gap) or gap > TOLERANCE:
            raise ValueError(
                f"{key}: ours {mean!r}, rival {expected.get(key)!r}, "
                f"expected {TOLERANCE} apart at most"
            )


def measure(n: int, repeats: int, names: Sequence[str], folder: Path) -> list[Row]:
    """Run the contenders in turn, ``repeats`` times, and once with a tenth of the cases."""
    few = max(1, n // 10)
    small = write_files(folder, few)
    tenth = {name: in_fresh_process(name, *small) for name in names}
    check_agreement(tenth, few)
    large = write_files(folder, n)
    rounds: list[dict[str, Outcome]] = []
    for repeat in range(repeats):
        shift = repeat % len(names)
        order = [*names[shift:], *names[:shift]]
        rounds.append({name: in_fresh_process(name, *large) for name in order})
        check_agreement(rounds[-1], n)
    return [summarise(name, rounds, tenth[name]) for name in names]


def summarise(name: str, rounds: Sequence[Mapping[str, Outcome]], tenth: Outcome) -> Row:
    ratios = [outcomes[name].cpu_s / outcomes["floor"].cpu_s for outcomes in rounds]
    n = rounds[0][name].n
    peak = median([outcomes[name].peak_kb for outcomes in rounds])
    return Row(
        name=name,
        us_per_case=median([outcomes[name].cpu_s for outcomes in rounds]) / n * 1e6,
        ratio=median(ratios),
        ratio_low=min(ratios),
        ratio_high=max(ratios),
        peak_mb=peak / 1024,
        peak_mb_tenth=tenth.peak_kb / 1024,
        kb_per_case=(peak - tenth.peak_kb) / max(1, n - tenth.n),
    )


# --- output --------------------------------------------------------------------------------


def describe_machine() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        **{name: version(name) for name in ("pydantic", "ir-measures", "pytrec-eval-terrier")},
    }


def render(rows: Sequence[Row]) -> str:
    heads = ("us/case", "CPU / floor (low to high)", "peak MB", "of a tenth", "kB/case")
    width = max(len(row.name) for row in rows)
    lines = [f"{'':{width}} {heads[0]:>8} {heads[1]:>26}" + "".join(f"{h:>11}" for h in heads[2:])]
    for row in rows:
        spread = f"{row.ratio:.2f} ({row.ratio_low:.2f} to {row.ratio_high:.2f})"
        lines.append(
            f"{row.name:{width}} {row.us_per_case:>8.0f} {spread:>26}"
            f"{row.peak_mb:>11.1f}{row.peak_mb_tenth:>11.1f}{row.kb_per_case:>11.2f}"
        )
    return "\n".join(lines)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=20_000, metavar="N")
    parser.add_argument("--repeats", type=int, default=3, metavar="R")
    parser.add_argument("--stages", action="store_true", help="measure the parts of ours as well")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    # How a process of one contender is started.
    parser.add_argument("--contender", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    for name, least in (("cases", 2), ("repeats", 1)):
        if getattr(given, name) < least:
            parser.error(f"--{name}: got {getattr(given, name)}, expected at least {least}")
    return given


def main(arguments: Sequence[str] | None = None) -> int:
    given = parse(arguments)
    if given.contender is not None:
        name, cases, responses = given.contender
        print(json.dumps(asdict(contend(name, Path(cases), Path(responses)))))
        return 0
    names = [*CONTENDERS, *(STAGES if given.stages else ())]
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(given.cases, given.repeats, names, Path(folder))
    if given.json:
        document = {
            "cases": given.cases,
            "repeats": given.repeats,
            "seed": SEED,
            "machine": describe_machine(),
            "results": [asdict(row) for row in rows],
        }
        print(json.dumps(document, indent=2))
    else:
        machine = ", ".join(f"{name} {value}" for name, value in describe_machine().items())
        print(f"{given.cases} cases, {given.repeats} repeats in turn; {machine}\n")
        print(render(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
