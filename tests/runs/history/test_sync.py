"""The index says what the folders say, whatever has happened to them."""

from __future__ import annotations

import json
import random
import shutil
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.runs.documents import record_line
from pytest_rageval.runs.history.database import IndexDatabase
from pytest_rageval.runs.history.run_rows import read_run_rows
from pytest_rageval.runs.history.sync import Origin
from pytest_rageval.runs.store import RunWriter
from pytest_rageval.runs.tags import remove_tag, write_tag
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.reply import ErrorInfo
from pytest_rageval.values.verdict import Claim
from tests.build.postgres import postgres_server, stopped
from tests.build.records import changed
from tests.build.root_rights import without_root_rights
from tests.build.runs import write_run
from tests.build.verdicts import judged_by
from tests.runs.history.builders import (
    OURS,
    RESULTS,
    TABLES,
    cases,
    change,
    indexed_runs,
    rows,
    some_runs,
    sync,
)


def metrics_on_disk(run_id: str) -> dict[str, Any]:
    names = ("groups.json", "metrics.json")
    groups, metrics = (json.loads((RESULTS / run_id / name).read_bytes()) for name in names)
    return {**groups, **metrics}


# --- what is in it -------------------------------------------------------------------------------


def test_every_figure_of_the_folders_is_in_the_index_under_the_names_that_thresholds_have(
    url: str,
) -> None:
    some_runs()
    sync(url)
    columns = "value, n, n_not_applicable, n_error, median, low, high, se"
    names = ("mean", "n", "n_not_applicable", "n_error", "median", "low", "high", "se")
    compared = 0
    for run_id in ("r1", "r2", "r3"):
        document = metrics_on_disk(run_id)
        places = {("overall", ""): document["metrics"]}
        for scope in ("tag", "category", "difficulty", "answerable", "vault", "turn"):
            for group, found in document[f"by_{scope}"].items():
                places[scope, group] = found
        for (scope, group), statistics in places.items():
            where = f"WHERE run_id = '{run_id}' AND scope = '{scope}' AND group_name = '{group}'"
            stored = {row[0]: row[1:] for row in rows(url, "metrics", f"metric, {columns}", where)}
            for key, told in statistics.items():
                assert stored[key] == tuple(told[name] for name in names), (run_id, scope, key)
                compared += 1
            assert {k for k in stored if k in BUILT_IN.cases} == set(statistics)
    assert compared > 150
    where = "WHERE scope = 'overall' AND run_id = 'r1'"
    found, told = dict(rows(url, "metrics", "metric, value", where)), metrics_on_disk("r1")
    assert found["error_rate"] == told["rates"]["error_rate"] > 0
    assert found["pass_rate"] == told["rates"]["pass_rate"]
    assert found["latency_ms.p95"] == told["latency"]["p95_ms"] == 10.0
    assert found["judge_tokens"] == told["judge_tokens"] == 50
    assert found["cost_usd.total"] is told["cost_usd"] is None
    assert found["suite_wall_s"] == 2.5


def test_every_record_of_the_folders_is_in_the_index(url: str) -> None:
    some_runs()
    sync(url)
    for day in (1, 2, 3):
        records = cases(missed=range(day))
        columns = "case_id, case_hash, category, tags, status, outcome, failure_stage, error_kind"
        stored = rows(
            url,
            "test_results",
            f"{columns}, total_ms, judge_prompt_tokens, metrics",
            f"WHERE run_id = 'r{day}' ORDER BY case_id",
        )
        assert len(stored) == len(records) == 6
        for row, record in zip(stored, records, strict=True):
            error = record.error.kind if record.error else None
            tokens = record.verdicts.usage and record.verdicts.usage.prompt_tokens
            assert row[:-1] == (
                record.case.id,
                record.case_hash,
                record.case.category,
                " ".join(record.case.tags),
                record.status,
                record.scores.outcome,
                record.scores.failure_stage,
                error,
                record.latency.get("total_ms"),
                tokens,
            )
            assert json.loads(row[-1]) == record.scores.metrics


def test_a_run_says_what_it_was_made_with(url: str) -> None:
    write_run(RESULTS, "r1", cases(), git={"commit": "abc", "dirty": True}, answerer_version="m2")
    write_tag(RESULTS, "main", "r1")
    write_tag(RESULTS, "best", "r1")
    sync(url)
    document = json.loads((RESULTS / "r1" / "config.json").read_bytes())
    columns = "project, run_id, tags, verdict, judge, config_hash, dataset_hash, git_commit"
    columns += ", answerer_version, k, n_cases, passed, missed, errored"
    assert rows(url, "evaluation_runs", columns) == [
        (
            *("acme/bot", "r1", "best main", "pass", "j"),
            *(document["config_hash"], document["dataset_hash"], "abc", "m2", 5, 6, 5, 0, 1),
        )
    ]


def test_no_text_of_questions_answers_or_documents_enters_the_index(url: str) -> None:
    secret = "the-launch-code"
    records = [
        changed(
            record,
            question=f"What is {secret}?",
            answer=f"It is {secret}.",
            judgements=judged_by(reasoning=secret, claims=(Claim(text=secret, supported=True),)),
            abstain_reason=secret,
            not_applicable={"mrr": secret},
            context_chunk_ids=(secret,),
            models={"llm_model": "m"},
        )
        for record in cases()
    ]
    records[-1] = replace(
        records[-1], error=ErrorInfo(kind="http", message=f"500: {secret}", attempts=4)
    )
    folder = write_run(RESULTS, "r1", records, notes=secret, set={"files": [secret]})
    (folder / "results.jsonl").write_text(
        (folder / "results.jsonl").read_text(encoding="utf-8") + f'{{"question": "{secret}"}}\n',
        encoding="utf-8",
    )
    write_run(RESULTS, "r2", records, notes=secret, day=2)
    assert list(sync(url).broken) == ["r1"]
    for table in TABLES:
        assert secret not in repr(rows(url, table))
    assert len(rows(url, "test_results")) == 6


# --- again and again -----------------------------------------------------------------------------


def everything(url: str) -> list[list[tuple[Any, ...]]]:
    """Return all rows, without the times at which they were written."""
    columns = {"evaluation_runs": "run_id, content_hash, config, passed"}
    return [sorted(rows(url, one, columns.get(one, "*")), key=repr) for one in TABLES]


def test_a_second_sync_reads_and_writes_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    some_runs()
    assert sync(url).added == ["r1", "r2", "r3"]
    stamps = dict(rows(url, "evaluation_runs", "run_id, synced_at"))

    def read(*_: object) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr("pytest_rageval.runs.history.sync.read_run_rows", read)
    again = sync(url)
    assert (again.added, again.changed, again.removed) == ([], [], [])
    assert again.unchanged == ["r1", "r2", "r3"]
    assert dict(rows(url, "evaluation_runs", "run_id, synced_at")) == stamps


def test_a_changed_run_is_written_again_and_others_are_not(url: str) -> None:
    some_runs()
    sync(url)
    path = RESULTS / "r2" / "metrics.json"
    path.write_text(json.dumps({**metrics_on_disk("r2"), "passed": 99}), encoding="utf-8")
    found = sync(url)
    assert (found.changed, found.unchanged) == (["r2"], ["r1", "r3"])
    assert rows(url, "evaluation_runs", "passed", "WHERE run_id = 'r2'") == [(99,)]


def test_a_resumed_run_is_written_again(url: str) -> None:
    records = cases()
    with RunWriter(RESULTS, "r1") as writer:
        writer.append(records[0])
    sync(url)
    assert len(rows(url, "test_results")) == 1
    assert rows(url, "evaluation_runs", "has_metrics, verdict") in ([(0, None)], [(False, None)])
    with RunWriter(RESULTS, "r1", resume=True) as writer:
        for record in records[1:]:
            writer.append(record)
    assert sync(url).changed == ["r1"]
    assert len(rows(url, "test_results")) == 6


def test_a_run_that_got_a_tag_or_lost_it_is_written_again(url: str) -> None:
    some_runs()
    sync(url)
    write_tag(RESULTS, "main", "r1")
    assert sync(url).changed == ["r1"]
    write_tag(RESULTS, "main", "r2")
    assert sync(url).changed == ["r1", "r2"]
    remove_tag(RESULTS, "main")
    assert sync(url).changed == ["r2"]
    assert {row[0] for row in rows(url, "evaluation_runs", "tags")} == {""}


def test_a_run_whose_folder_is_gone_is_taken_out(url: str) -> None:
    some_runs()
    sync(url)
    shutil.rmtree(RESULTS / "r2")
    assert sync(url).removed == ["r2"]
    assert indexed_runs(url) == ["r1", "r3"]
    for table in ("test_results", "metrics"):
        assert rows(url, table, "run_id", "WHERE run_id = 'r2'") == []
    shutil.rmtree(RESULTS)
    assert sync(url).removed == ["r1", "r3"]
    assert [rows(url, table) for table in TABLES[:3]] == [[], [], []]


def test_a_rebuilt_index_is_the_same(url: str) -> None:
    some_runs()
    sync(url)
    before = everything(url)
    change(url, "DELETE FROM metrics WHERE run_id = 'r1'")
    change(url, "UPDATE test_results SET outcome = 'passed'")
    assert sync(url).changed == []
    assert sync(url, rebuild=True).added == ["r1", "r2", "r3"]
    assert everything(url) == before


# --- what cannot be read -------------------------------------------------------------------------


def test_a_broken_run_is_named_and_the_others_are_there(url: str) -> None:
    some_runs()
    with (RESULTS / "r2" / "results.jsonl").open("r+b") as file:
        file.write(b"nonsense")
    (RESULTS / "r3" / "gate.json").write_text("[1]", encoding="utf-8")
    found = sync(url)
    assert found.added == ["r1", "r2", "r3"]
    assert list(found.broken) == ["r2", "r3"]
    assert "results.jsonl:1: JSON is malformed" in found.broken["r2"][0]
    assert "gate.json: Expected `object`, got `array`" in found.broken["r3"][0]
    unreadable = dict(rows(url, "evaluation_runs", "run_id, unreadable"))
    assert unreadable == {"r1": "", "r2": "results.jsonl", "r3": "gate.json"}
    # Its figures are in metrics.json, which can be read.
    assert rows(url, "metrics", "value", "WHERE run_id = 'r2' AND metric = 'pass_rate'")


@pytest.mark.slow
def test_a_row_that_a_database_refuses_leaves_the_other_runs_alone(postgres: str) -> None:
    some_runs(2)
    # Longer than a page of its index, and not to be made shorter.
    long = changed(cases()[0], case_id=random.Random(1).randbytes(9000).hex())
    write_run(RESULTS, "r0", [long], day=3)
    found = sync(postgres)
    assert found.added == ["r1", "r2"]
    assert "cannot be kept: index row" in found.broken["r0"][0]


def test_a_folder_that_nobody_lets_us_open_is_named_and_stays(tmp_path: Path) -> None:
    url = str(tmp_path / "history.sqlite")
    some_runs(2)
    sync(url)
    (RESULTS / "r1").chmod(0)
    try:
        with without_root_rights():
            found = sync(url)
    finally:
        (RESULTS / "r1").chmod(0o755)
    assert found.broken == {"r1": [f"{Path.cwd() / RESULTS / 'r1'}: cannot be opened"]}
    assert found.removed == []
    assert indexed_runs(url) == ["r1", "r2"]


def test_a_run_that_changes_while_it_is_read_is_read_again_by_the_next_sync(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(RESULTS, "r1", cases(3))

    def read_and_write(folder: Path, tags: tuple[str, ...]) -> Any:
        found = read_run_rows(folder, tags)
        with (folder / "results.jsonl").open("ab") as lines:
            lines.write(record_line(changed(cases(3)[0], case_id="late")) + b"\n")
        return found

    with monkeypatch.context() as patch:
        patch.setattr("pytest_rageval.runs.history.sync.read_run_rows", read_and_write)
        assert sync(url).added == ["r1"]
    assert sync(url).changed == ["r1"]
    assert len(rows(url, "test_results")) == 4


@pytest.mark.slow
def test_a_server_that_dies_in_a_sync_keeps_whole_runs_and_the_next_sync_goes_on() -> None:
    some_runs()
    with postgres_server("lead", "hunter2secret") as url, ExitStack() as held:

        def read_while_it_dies(folder: Path, tags: tuple[str, ...]) -> Any:
            if folder.name == "r2":
                held.enter_context(stopped(url))
            return read_run_rows(folder, tags)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("pytest_rageval.runs.history.sync.read_run_rows", read_while_it_dies)
            with pytest.raises(StorageError) as caught:
                sync(url)
        message = str(caught.value)
        assert message.startswith("postgresql+psycopg://")
        assert "hunter2secret" not in message
        assert "\n" not in message
        held.close()
        assert indexed_runs(url) == ["r1"]
        assert len(rows(url, "test_results")) == len(cases())
        found = sync(url)
        assert (found.unchanged, found.added) == (["r1"], ["r2", "r3"])


# --- several projects, several folders -----------------------------------------------------------


def test_projects_in_one_database_are_kept_apart(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some_runs(2)
    sync(url)
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    write_run(RESULTS, "r1", cases(3), day=9)
    theirs = Origin(project="acme/search", source="there")
    assert sync(url, origin=theirs).added == ["r1"]
    assert (indexed_runs(url), indexed_runs(url, "acme/search")) == (["r1", "r2"], ["r1"])
    sync(url, origin=theirs, rebuild=True)
    shutil.rmtree(RESULTS)
    assert sync(url, origin=theirs).removed == ["r1"]
    assert (indexed_runs(url), indexed_runs(url, "acme/search")) == (["r1", "r2"], [])


def test_a_folder_that_has_the_same_run_answers_for_it_from_then_on(url: str) -> None:
    some_runs(1)
    sync(url, origin=replace(OURS, source="before it was moved"))
    assert sync(url).unchanged == ["r1"]
    shutil.rmtree(RESULTS / "r1")
    assert sync(url).removed == ["r1"]


# --- versions and tables of others ---------------------------------------------------------------


def test_an_index_of_another_version_is_refused_and_can_be_made_anew(url: str) -> None:
    some_runs(1)
    sync(url)
    change(url, "UPDATE rageval_history SET version = 7")
    change(url, "ALTER TABLE metrics DROP COLUMN se")
    with pytest.raises(StorageError, match="an index of version 7, expected 6; `rageval runs sync"):
        sync(url)
    with pytest.raises(StorageError, match="an index of version 7"):
        IndexDatabase(url, rootdir=Path.cwd(), write=False)
    assert sync(url, rebuild=True).added == ["r1"]
    assert sync(url).unchanged == ["r1"]


def test_reading_makes_no_index(url: str) -> None:
    with pytest.raises(StorageError, match="`rageval runs sync` makes one"):
        IndexDatabase(url, rootdir=Path.cwd(), write=False)
    assert "://" in url or not Path(url).exists()
