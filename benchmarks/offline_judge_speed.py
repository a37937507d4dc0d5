"""Number of answers per second that the offline judge decides.

Answers of four sentences against five passages of 200 words, judged in one process for
groundedness, against passages that are all new and against passages that were read before, as most
are in a run, and for correctness. Texts are made of a fixed vocabulary by a fixed seed.

    python benchmarks/offline_judge_speed.py --answers 500
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from typing import Final

from pytest_rageval.judges.offline.judge import OfflineJudge
from pytest_rageval.judges.offline.support import _read_sentences
from pytest_rageval.values.verdict import JudgeRequest, Passage

SEED: Final = 20251122
PASSAGES: Final = 5
WORDS: Final = 200
SENTENCE: Final = 20
CLAIMS: Final = 4
FEW: Final = 100
_SYLLABLES: Final = "ba ke li mo nu pra ste tri vo zen dal fer gim hop jun".split()
_GRAMMAR: Final = "the of and to in is for with that not by on 30 2024 1,000".split()


def make_requests(count: int) -> list[JudgeRequest]:
    """Return requests whose answers quote, shorten and invent."""
    rng = random.Random(SEED)
    content = ["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4))) for _ in range(5_000)]
    return [_make_request(rng, content) for _ in range(count)]


def _make_request(rng: random.Random, content: Sequence[str]) -> JudgeRequest:
    def sentence() -> list[str]:
        return [rng.choice(_GRAMMAR if rng.random() < 0.4 else content) for _ in range(SENTENCE)]

    texts = [[sentence() for _ in range(WORDS // SENTENCE)] for _ in range(PASSAGES)]
    quoted = [rng.choice(rng.choice(texts)) for _ in range(CLAIMS - 1)]
    claims = [words[: rng.randint(8, SENTENCE)] for words in quoted] + [sentence()[:12]]
    return JudgeRequest(
        question=" ".join(quoted[0][:8]) + "?",
        answer=" ".join(f"{' '.join(words).capitalize()} [1]." for words in claims),
        context=tuple(Passage(text=_join(text)) for text in texts),
        expected_answer=" ".join(quoted[0]),
    )


def _join(text: Sequence[Sequence[str]]) -> str:
    return " ".join(f"{' '.join(words).capitalize()}." for words in text)


def measure(requests: Sequence[JudgeRequest], rubric: str) -> float:
    """Return answers per second of CPU time."""
    judge = OfflineJudge()
    start = time.process_time()
    for request in requests:
        judge.judge(rubric, request)
    return len(requests) / (time.process_time() - start)


def measure_all(requests: Sequence[JudgeRequest]) -> dict[str, float]:
    """Return answers per second by what is judged."""
    measure(requests, "groundedness")  # each word is stemmed once
    _read_sentences.cache_clear()
    new = measure(requests, "groundedness")
    few = requests[:FEW]  # whose passages are remembered all at once
    measure(few, "groundedness")
    return {
        "groundedness, new passages": new,
        "groundedness, known passages": measure(few, "groundedness"),
        "correctness": measure(requests, "correctness"),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--answers", type=int, default=500)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    if options.answers < 1:
        parser.error(f"{options.answers} answers, expected at least 1")
    requests = make_requests(options.answers)
    rates = measure_all(requests)
    if options.json:
        print(json.dumps({"answers": options.answers, "per_second": rates}))
    else:
        for what, rate in rates.items():
            print(f"{what}: {rate:,.0f} answers a second of CPU time")
    return 0


if __name__ == "__main__":
    sys.exit(main())
