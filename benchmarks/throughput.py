"""How close does a run come to the time that its requests take, and what does a case cost?

Contenders do the same work in turns, each in a process of its own, against a target and a judge on
the loopback interface: per case one question, two verdicts, retrieval scored, one record written.
Times are given beside the ideal (latencies of all requests / requests in flight).

    python -m benchmarks.throughput --cases 100 1000 --concurrency 32
    python -m benchmarks.throughput --cases 100 1000 --concurrency 32 --zero-latency
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
ASK_MS: Final = 200.0
JUDGE_MS: Final = 300.0
WORKERS: Final = 16
_MB: Final = 1024

PLAIN_TEST: Final = """
import json, os, pathlib
import httpx, openai, pytest

URL = os.environ["MOCK_URL"]
CASES = [json.loads(line) for line in pathlib.Path("evals/eval_set.jsonl").open(encoding="utf-8")]

@pytest.fixture(scope="session")
def target():
    with httpx.Client() as client:
        yield client

@pytest.fixture(scope="session")
def judge():
    with openai.OpenAI(api_key="none", base_url=f"{URL}/v1") as client:
        yield client

@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case, target, judge, record_property):
    answer = target.post(f"{URL}/ask", json={"question": case["question"], "k": 5}).json()
    chunks = answer["debug"]["retrieved_chunks"]
    verdicts = []
    for what in ("groundedness", "correctness"):
        prompt = f"Rate the {what}: {answer['answer']} " + " ".join(c["text"] for c in chunks)
        message = {"role": "user", "content": prompt}
        reply = judge.chat.completions.create(model="m-1", temperature=0, messages=[message])
        verdicts.append(json.loads(reply.choices[0].message.content))
    record_property("answer", json.dumps({"answer": answer, "verdicts": verdicts}))
    gold = {support["rel_path"] for support in case["gold_supports"]}
    assert gold <= {chunk["rel_path"] for chunk in chunks}
"""


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


def write_project(folder: Path, cases: int, *, missed: bool = False) -> None:
    """Write a project of so many cases, whose gold is found, or never is."""
    (folder / "evals").mkdir(parents=True)
    gold = "docs/elsewhere.md" if missed else "docs/d0.md"
    with (folder / "evals" / "eval_set.jsonl").open("w", encoding="utf-8") as file:
        for place in range(cases):
            case = {
                "id": f"c{place:06}",
                "question": f"What does fox number {place} do?",
                "category": "single_hop",
                "gold_supports": [{"rel_path": gold}],
                "expected_key_facts": ["jumps over the lazy dog"],
            }
            file.write(json.dumps(case) + "\n")
    (folder / "pyproject.toml").write_text("[tool.rageval]\n", encoding="utf-8")
    thresholds = "version = 1\n[overall]\nmrr = '>= 0.0'\n"
    (folder / "thresholds.toml").write_text(thresholds, encoding="utf-8")
    (folder / "plain_test.py").write_text(PLAIN_TEST, encoding="utf-8")


def ours(url: str, concurrency: int) -> list[str]:
    target = ["--rag-url", f"{url}/ask", "--rageval-concurrency", str(concurrency)]
    judge = ["--judge", "m-1", "--judge-base-url", f"{url}/v1"]
    return ["-m", "pytest", "-q", "-p", "no:cacheprovider", "evals", *target, *judge]


def script(url: str, concurrency: int) -> list[str]:
    own = str(ROOT / "benchmarks" / "throughput_script.py")
    return [own, url, "evals/eval_set.jsonl", str(concurrency), "records.jsonl"]


def plain(url: str, concurrency: int) -> list[str]:
    workers = ["-n", str(min(concurrency, WORKERS)), "-p", "no:rageval"]
    return ["-m", "pytest", "-q", "-p", "no:cacheprovider", "plain_test.py", *workers]


CONTENDERS: Final[Mapping[str, Callable[[str, int], list[str]]]] = {
    "ours": ours,
    "ours, all missed": ours,
    "asyncio script": script,
    "plain pytest -n 16": plain,
}


@contextmanager
def mock(ask_ms: float, judge_ms: float) -> Iterator[str]:
    """Serve target and judge from a process of their own."""
    limits = ["--ask-ms", str(ask_ms), "--judge-ms", str(judge_ms)]
    command = [sys.executable, str(ROOT / "benchmarks" / "loopback_mock.py"), *limits]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


def measure(contender: str, cases: int, concurrency: int, url: str, case_ms: float) -> Result:
    """Run one contender once.

    Raises:
        RuntimeError: it did not ask every case once, or failed.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_project(folder, cases, missed="missed" in contender)
        _stats(url)
        began = time.perf_counter()
        with (folder / "output.txt").open("w", encoding="utf-8") as output:
            process = subprocess.Popen(
                [sys.executable, *CONTENDERS[contender](url, concurrency)],
                cwd=folder,
                env={**os.environ, "OPENAI_API_KEY": "none", "MOCK_URL": url},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.perf_counter() - began
        stats = _stats(url)
        if process.returncode != 0 or stats["asked"] != cases or stats["judged"] != 2 * cases:
            said = (folder / "output.txt").read_text(encoding="utf-8")[-2000:]
            raise RuntimeError(f"{contender}: exit {process.returncode}, {stats}\n{said}")
    wanted = min(concurrency, WORKERS) if "-n" in contender else concurrency
    return Result(
        contender=contender,
        cases=cases,
        in_flight_wanted=wanted,
        wall_s=wall_s,
        ideal_s=cases * case_ms / 1000 / wanted,
        cpu_s=usage.ru_utime + usage.ru_stime,
        rss_mb=usage.ru_maxrss / _MB,
        in_flight=stats["peak"],
    )


def _stats(url: str) -> dict[str, int]:
    with urllib.request.urlopen(f"{url}/stats", timeout=10) as reply:
        found: dict[str, int] = json.load(reply)
        return found


def measure_all(
    contenders: Sequence[str], cases: Sequence[int], concurrency: int, *, repeats: int, zero: bool
) -> list[Result]:
    """Let contenders take turns; of each the run with the median of CPU time counts."""
    ask_ms, judge_ms = (0.0, 0.0) if zero else (ASK_MS, JUDGE_MS)
    found: dict[tuple[str, int], list[Result]] = {}
    with mock(ask_ms, judge_ms) as url:
        for _ in range(repeats):
            for count in cases:
                for one in contenders:
                    result = measure(one, count, concurrency, url, ask_ms + 2 * judge_ms)
                    found.setdefault((one, count), []).append(result)
    return [_middle(results) for results in found.values()]


def _middle(results: Sequence[Result]) -> Result:
    middle = median(result.cpu_s for result in results)
    return min(results, key=lambda result: abs(result.cpu_s - middle))


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


def render(results: Sequence[Result]) -> str:
    """A table, and below it what one more case costs."""
    lines = [
        f"{'contender':<20}{'cases':>7}{'wall s':>9}{'/ ideal':>9}{'CPU s':>8}{'ms/case':>9}"
        f"{'peak MB':>9}{'in flight':>11}"
    ]
    for r in results:
        ratio = f"{r.wall_s / r.ideal_s:.2f}" if r.ideal_s else "-"
        lines.append(
            f"{r.contender:<20}{r.cases:>7}{r.wall_s:>9.2f}{ratio:>9}{r.cpu_s:>8.2f}"
            f"{r.cpu_ms:>9.2f}{r.rss_mb:>9.0f}{r.in_flight:>7} of {r.in_flight_wanted}"
        )
    lines += [
        f"{name}: {slope:.2f} ms of CPU for one more case"
        for name, slope in slopes(results).items()
    ]
    return "\n".join(lines)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"got {number}, expected at least 1")
    return number


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=_positive, nargs="+", default=[100, 1000])
    parser.add_argument("--concurrency", type=_positive, default=32)
    parser.add_argument("--repeats", type=_positive, default=1)
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=[*CONTENDERS])
    parser.add_argument("--zero-latency", action="store_true", help="the mock answers at once")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    results = measure_all(
        options.contenders,
        options.cases,
        options.concurrency,
        repeats=options.repeats,
        zero=options.zero_latency,
    )
    if options.json:
        rows: list[dict[str, Any]] = [asdict(result) for result in results]
        print(json.dumps({"results": rows, "cpu_ms_per_more_case": slopes(results)}))
    else:
        print(render(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
