"""Scoring in shards gives the numbers, warnings and faults of scoring at once."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.analysis.aggregate.run import aggregate_rows
from pytest_rageval.engine.distributed import ScoredShards, joined, score_shard, shards_of
from pytest_rageval.engine.recorded import RecordedRun
from pytest_rageval.engine.scored import ScoredRun
from pytest_rageval.judges.opening import open_judge
from pytest_rageval.values.errors import DatasetError
from pytest_rageval.values.settings import Settings


def case_line(i: int) -> dict[str, Any]:
    golds = [{"rel_path": f"d{i % 7}.md", "heading_path": "# A"}] if i % 5 else []
    return {
        "id": f"ä-{i}",
        "question": f"q {i}?",
        "answerable": bool(golds),
        "gold_supports": golds,
        "category": f"c{i % 3}",
        "tags": ["x"] if i % 2 else ["x", "y"],
        **({"expected_answer": f"{i} days"} if i % 4 == 0 else {}),
        **({"translation_of": f"ä-{i - 1}"} if i % 9 == 8 else {}),
    }


def response_line(i: int, repeat: int = 0) -> dict[str, Any]:
    draw = random.Random(i * 10 + repeat)
    paths = draw.sample([f"d{n}.md" for n in range(7)], 4)
    chunks = [{"rel_path": path, "heading_path": "# A", "text": path} for path in paths]
    if i % 17 == 3:
        return {"id": f"ä-{i}", "repeat": repeat, "error": {"kind": "timeout", "message": "late"}}
    debug = {
        "retrieved_chunks": chunks,
        "latency": {"total_ms": draw.uniform(5, 90)},
        "indexing_coverage": {"files_total": 7, "files_indexed": 7 - i % 2},
    }
    answer = "I do not know." if i % 5 == 0 else f"{i} days. [1]"
    return {
        "id": f"ä-{i}",
        "repeat": repeat,
        "response": {"answer": answer, "abstained": i % 5 == 0, "debug": debug},
    }


def write_both(folder: Path, *, more: Sequence[str] = ()) -> tuple[Path, Path]:
    cases = [json.dumps(case_line(i), ensure_ascii=False) for i in range(80)]
    lines = [response_line(i) for i in range(80) if i % 13 != 4]
    lines += [response_line(i, repeat) for i in range(0, 80, 6) for repeat in (1, 2)]
    lines += [{"id": f"nobody-{i}", "response": {"answer": "x"}} for i in range(30)]
    random.Random(1).shuffle(lines)
    texts = [*(json.dumps(line, ensure_ascii=False) for line in lines), *more]
    files = folder / "cases.jsonl", folder / "responses.jsonl"
    files[0].write_bytes(b"\xef\xbb\xbf" + "\r\n\r\n".join(cases).encode())
    files[1].write_bytes("\n".join(texts).encode())
    return files


def at_once(cases: Path, responses: Path, settings: Settings) -> tuple[Any, ScoredRun, Any]:
    """Score in one process."""
    with open_judge(settings, environ={}) as judge:
        run = RecordedRun(cases, responses, settings, judge=judge, stored=False)
        with ScoredRun(settings, run_id=None, cases=cases) as scored:
            for record in run.records():
                scored.add(record)
            return scored.finish(), scored, run.findings.warnings


def in_shards(cases: Path, responses: Path, settings: Settings) -> ScoredShards:
    """Score as the workers of a cluster do, which return their results in any order."""
    shards = shards_of(cases, responses, settings, 7)
    assert len(shards) == 7
    sent = [pickle.loads(pickle.dumps(shard)) for shard in shards]
    found = [
        pickle.loads(pickle.dumps(score_shard(one, cases, responses, settings))) for one in sent
    ]
    return joined(random.Random(3).sample(found, len(found)), settings, cases)


@pytest.mark.parametrize("judge", ["none", "offline"])
def test_shards_have_the_numbers_and_warnings_of_the_whole(tmp_path: Path, judge: str) -> None:
    settings = Settings(rootdir=str(tmp_path), k=3, judge=judge)
    files = write_both(tmp_path)
    totals, scored, warnings = at_once(*files, settings)
    assert totals.total == 80
    assert totals.repeats is not None
    found = in_shards(*files, settings)
    assert aggregate_rows(found.columns) == totals
    assert found.findings.warnings == warnings
    assert found.failures.more == scored.failures.more
    names = [(record.name, record.repeat) for record in scored.failures.shown]
    assert [(record.name, record.repeat) for record in found.failures.shown] == names


def test_every_fault_is_reported_with_its_line(tmp_path: Path) -> None:
    more = ["{", '{"id": "ä-1"}', '{"id": "ä-2", "repeat": -1, "response": {}}', '{"id": 3}']
    files = write_both(tmp_path, more=more)
    with files[0].open("ab") as file:
        file.write(b'\n{"id": "\xc3\xa4-5", "question": "again?"}\n{"id": "n"}\n\xff\n')
    settings = Settings(rootdir=str(tmp_path))
    with pytest.raises(DatasetError) as whole:
        at_once(*files, settings)
    with pytest.raises(DatasetError) as shards:
        in_shards(*files, settings)
    assert str(shards.value) == str(whole.value)
    assert shards.value.faults == whole.value.faults
