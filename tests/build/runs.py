"""Short ways to say two runs over the same cases, in memory and on disk."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.engine.case import CaseRepeat, record_of
from pytest_rageval.project.case_reader import LocatedCase, dataset_hash
from pytest_rageval.runs.documents import RunFacts, run_config
from pytest_rageval.runs.store import RunWriter, write_document, write_numbers
from pytest_rageval.support.threads import at_once
from pytest_rageval.values.case import Case
from pytest_rageval.values.gate import GateResult
from pytest_rageval.values.numbers import Aggregate
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import AskResponse, AskResult
from pytest_rageval.values.run import RunConfig, StoredRun
from pytest_rageval.values.settings import Settings
from tests.build.records import record

SETTINGS = Settings(rootdir=".", judge="none")
STARTED = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def answered(case: Case, response: AskResponse, settings: Settings = SETTINGS) -> CaseRecord:
    """Record of a case as the engine scores it."""
    result = AskResult(response=response, error=None, total_ms=5.0)
    located = LocatedCase(case=case, lineno=1)
    return at_once(record_of(CaseRepeat(located, "evals/set.jsonl", settings), result))


def scored(case_id: str, value: float, **fields: Any) -> CaseRecord:
    """Record whose recall, hit and reciprocal rank are one value."""
    given: dict[str, Any] = {
        "outcome": "passed" if value == 1 else "missed",
        "case_hash": f"{case_id}-content",
        "latency": {"total_ms": 10.0},
    }
    metrics: dict[str, float | None] = {"hit_at_k": value, "recall_at_k": value, "mrr": value}
    return record(case_id, metrics, **given | fields)


def run_of(
    n: int, missed: Collection[int] = (), *, churn: Collection[int] = (), **fields: Any
) -> list[CaseRecord]:
    """Records of n cases of which every fifth, and those named, are missed; churn turns some."""
    found = []
    for i in range(n):
        hit = i % 5 != 0 and i not in missed
        found.append(scored(f"c-{i:03}", float(hit != (i in churn)), **fields))
    return found


def random_churn(n: int, share: float, seed: int) -> set[int]:
    """Places of a random share of n cases."""
    return set(random.Random(seed).sample(range(n), round(share * n)))


def config_from(**fields: Any) -> RunConfig:
    """``config.json`` that holds these JSON values, and defaults."""
    if "settings" in fields:
        fields["settings"] = {"rootdir": ".", "judge": "none", **fields["settings"]}
    return msgspec.convert(fields, RunConfig)


def numbers_with(**fields: Any) -> Aggregate:
    """Numbers of a run without cases, some of them changed."""
    return replace(aggregate([]), **fields)


def config_of(records: Sequence[CaseRecord], settings: Settings = SETTINGS) -> RunConfig:
    """``config.json`` of a run of these records."""
    facts = RunFacts()
    for one in records:
        facts.add(one)
    hashes = {(r.file, r.case.id): r.case_hash for r in records}
    config = run_config(
        settings,
        run_id="run",
        started_at=STARTED,
        dataset_hash=dataset_hash(hashes.values()),
        facts=facts,
    )
    return replace(config, concurrency=8)


def side(
    records: Sequence[CaseRecord], settings: Settings = SETTINGS, run_id: str = "run"
) -> StoredRun:
    """One run, in memory."""
    return StoredRun(
        folder=Path(run_id),
        records=records,
        config=config_of(records, settings),
        settings=settings,
    )


def write_run(
    results: Path,
    run_id: str,
    records: Sequence[CaseRecord],
    settings: Settings = SETTINGS,
    *,
    day: int = 1,
    **config: Any,
) -> Path:
    """Write a run to disk with every figure and return its folder.

    Args:
        results: folder of all runs.
        run_id: name of the run.
        records: of the run.
        settings: that it was made with.
        day: of January 2026, by which runs are ordered.
        config: further entries of ``config.json``.
    """
    whole = {
        **msgspec.to_builtins(config_of(records, settings)),
        "run_id": run_id,
        "timestamp": f"2026-01-{day:02}T00:00:00+00:00",
        "wall_s": 2.5,
        **config,
    }
    stored = config_from(**whole)
    with RunWriter(results, run_id) as writer:
        for one in records:
            writer.append(one)
        write_document(writer.path, "config.json", stored)
        write_numbers(writer.path, aggregate(records))
        write_document(writer.path, "gate.json", GateResult(verdict="pass", sentence="PASS"))
    return results / run_id
