"""Scoring in parts gives the numbers, warnings and faults of scoring at once."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.distributed import job as jobs
from pytest_rageval.engine.distributed.job import Job, open_job
from pytest_rageval.engine.distributed.run import DistributedScores, Step, score_parts
from pytest_rageval.engine.recorded import RecordedRun
from pytest_rageval.engine.scored import ScoredRun
from pytest_rageval.judges.opening import open_judge
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.values.errors import ConfigError, DatasetError, StorageError
from pytest_rageval.values.settings import Settings
from tests.build.jobs import Here


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide small files into several parts and ranges."""
    monkeypatch.setattr(jobs, "_PART_BYTES", 2_000)
    monkeypatch.setattr(jobs, "_RANGE_BYTES", 1_500)


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
    """Score in one process; parts do not list the ids of failed cases."""
    with open_judge(settings, environ={}) as judge:
        run = RecordedRun(cases, responses, settings, judge=judge, stored=False)
        with ScoredRun(settings, run_id=None, cases=cases) as scored:
            for record in run.records():
                scored.add(record)
            return replace(scored.finish(), failed_cases={}), scored, run.findings.warnings


def in_parts(
    cases: Path, responses: Path, settings: Settings, pool: Here | None = None
) -> DistributedScores:
    job = open_job(cases, responses, settings, BUILT_IN, None)
    with job.claimed():
        return score_parts(job, pool or Here(), BUILT_IN, Step())


@pytest.mark.parametrize("judge", ["none", "offline"])
def test_parts_have_the_numbers_and_warnings_of_the_whole(tmp_path: Path, judge: str) -> None:
    settings = Settings(rootdir=str(tmp_path), k=3, judge=judge)
    files = write_both(tmp_path)
    totals, scored, warnings = at_once(*files, settings)
    assert totals.total == 80
    assert totals.repeats is not None
    found = in_parts(*files, settings)
    assert found.totals == totals
    assert list(found.totals.metrics) == list(totals.metrics)
    assert found.scored.findings.warnings == warnings
    assert found.scored.failures.more == scored.failures.more
    names = [(record.name, record.repeat) for record in scored.failures.shown]
    assert [(record.name, record.repeat) for record in found.scored.failures.shown] == names


def test_a_file_that_changes_during_the_job_ends_it(tmp_path: Path) -> None:
    settings = Settings(rootdir=str(tmp_path))
    files = write_both(tmp_path)
    job = open_job(*files, settings, BUILT_IN, None)
    content = files[1].read_bytes()
    files[1].write_bytes(content[:-5] + b" " * 5)
    os.utime(files[1], ns=(1, 1))
    with job.claimed(), pytest.raises(StorageError, match="not the file that the job began with"):
        score_parts(job, Here(), BUILT_IN, Step())


def test_files_without_cases_or_responses_have_no_numbers(tmp_path: Path) -> None:
    files = tmp_path / "cases.jsonl", tmp_path / "responses.jsonl"
    for file in files:
        file.write_text("")
    settings = Settings(rootdir=str(tmp_path))
    totals, _, warnings = at_once(*files, settings)
    found = in_parts(*files, settings)
    assert (found.totals, found.scored.findings.warnings) == (totals, warnings)


def test_every_fault_is_reported_with_its_line(tmp_path: Path) -> None:
    more = ["{", '{"id": "ä-1"}', '{"id": "ä-2", "repeat": -1, "response": {}}', '{"id": 3}']
    files = write_both(tmp_path, more=more)
    with files[0].open("ab") as file:
        file.write(b'\n{"id": "\xc3\xa4-5", "question": "again?"}\n{"id": "n"}\n\xff\n')
    settings = Settings(rootdir=str(tmp_path))
    with pytest.raises(DatasetError) as whole:
        at_once(*files, settings)
    with pytest.raises(DatasetError) as parts:
        in_parts(*files, settings)
    assert str(parts.value) == str(whole.value)
    assert parts.value.faults == whole.value.faults


def test_a_killed_job_goes_on_from_its_finished_parts(tmp_path: Path) -> None:
    settings = Settings(rootdir=str(tmp_path), k=3)
    files = write_both(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        in_parts(*files, settings, Here(killed_after=4))
    folder = open_job(*files, settings, BUILT_IN, None).folder
    finished = {
        path: path.stat().st_mtime_ns for path in folder.glob("*") if path.suffix != ".json"
    }
    assert len([path for path in finished if re.fullmatch(r"part-\d+", path.name)]) == 4
    assert in_parts(*files, settings).totals == at_once(*files, settings)[0]
    assert {path: path.stat().st_mtime_ns for path in finished} == finished


@pytest.mark.slow
@pytest.mark.parametrize("cut", [3, 800, None])
@pytest.mark.parametrize(
    "pattern", ["*.index", "cases-?", "part-?", "part-*.columns", "part-*.metrics", "table"]
)
def test_a_torn_file_of_the_folder_is_named_or_written_again(
    tmp_path: Path, pattern: str, cut: int | None
) -> None:
    settings = Settings(rootdir=str(tmp_path))
    files = write_both(tmp_path)
    in_parts(*files, settings)
    folder = open_job(*files, settings, BUILT_IN, None).folder
    torn = list(folder.glob(pattern))
    assert torn
    for path in torn:
        path.write_bytes(b"" if cut is None else path.read_bytes()[:-cut])
    if pattern == "table":
        assert in_parts(*files, settings).totals == at_once(*files, settings)[0]
        return
    if pattern == "*.index":  # not read once every part is finished
        for path in [*folder.glob("part-*"), *folder.glob("reported-*")]:
            path.unlink()
    with pytest.raises(StorageError, match="remove the folder and score again"):
        in_parts(*files, settings)


@pytest.mark.parametrize("step", [0, 1, 2, 3, 4])
def test_every_step_checks_the_worker_that_takes_it(tmp_path: Path, step: int) -> None:
    settings = Settings(rootdir=str(tmp_path))
    job = open_job(*write_both(tmp_path), settings, BUILT_IN, None)

    class OtherWorker(Here):
        """A pool whose worker is exchanged for an older one before a step."""

        steps = -1

        def each(
            self, function: Callable[[Job, Any], Any], job: Job, tasks: Sequence[Any]
        ) -> Iterator[Any]:
            self.steps += 1
            old = {"python": "0"} if self.steps == step else job.versions
            return super().each(function, replace(job, versions=old), tasks)

    with job.claimed(), pytest.raises(ConfigError, match=r"a worker has python 3\..* expected 0"):
        score_parts(job, OtherWorker(), BUILT_IN, Step())


def test_a_worker_that_does_not_share_the_folder_is_named(tmp_path: Path) -> None:
    settings = Settings(rootdir=str(tmp_path))
    job = open_job(*write_both(tmp_path), settings, BUILT_IN, None)

    class Elsewhere(Here):
        """A pool of a host that has an empty folder of the same name."""

        def each(
            self, function: Callable[[Job, Any], Any], job: Job, tasks: Sequence[Any]
        ) -> Iterator[Any]:
            elsewhere = tmp_path / "elsewhere"
            elsewhere.mkdir(exist_ok=True)
            return super().each(function, replace(job, folder=elsewhere), tasks)

    with job.claimed(), pytest.raises(StorageError, match=r"elsewhere.*not seen by this process"):
        score_parts(job, Elsewhere(), BUILT_IN, Step())


def test_half_a_surrogate_pair_in_an_id_is_named_as_by_one_process(tmp_path: Path) -> None:
    odd = {"answer": "\ud800", "debug": {"retrieved_chunks": [], "latency": {"\ud800_ms": 1}}}
    more = [json.dumps({"id": name, "response": odd}) for name in ("\ud800", "ä-4")]
    files = write_both(tmp_path, more=more)
    settings = Settings(rootdir=str(tmp_path))
    totals, scored, warnings = at_once(*files, settings)
    found = in_parts(*files, settings)
    assert (found.totals, found.scored.findings.warnings) == (totals, warnings)
    assert found.scored.failures == scored.failures
    with files[1].open("a") as file:
        file.write("\n" + "\n".join(more * 2))
    with pytest.raises(DatasetError) as whole:
        at_once(*files, settings)
    with pytest.raises(DatasetError) as parts:
        in_parts(*files, settings)
    assert str(parts.value) == str(whole.value)
    assert r"'\ud800' already has its response" in str(whole.value)
