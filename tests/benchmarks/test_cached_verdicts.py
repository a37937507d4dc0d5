from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from benchmarks import cached_verdicts as bench
from pytest_rageval.values.verdict import DEFAULT_RUBRICS

N = 12


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache") / "judge.sqlite"


@pytest.fixture(scope="module")
def keys(file: Path) -> list[str]:
    return bench.fill(file, bench.questions(N))


def test_every_question_has_a_verdict_of_its_own(file: Path, keys: list[str]) -> None:
    assert len(set(keys)) == N
    assert all(document["verdict"]["scores"] for document in bench.read_cache(file, keys))


def test_the_whole_path_gives_the_verdicts_that_were_put(file: Path, keys: list[str]) -> None:
    judgements = bench.replay_verdicts(file, bench.questions(N))
    assert [judgement.rubric for judgement in judgements] == list(DEFAULT_RUBRICS) * (N // 2)
    documents = bench.read_plainly(file, keys)
    for judgement, document in zip(judgements, documents, strict=True):
        assert judgement.verdict is not None
        assert judgement.verdict.scores == document["verdict"]["scores"]
        assert judgement.usage.calls == 0


@pytest.mark.usefixtures("keys")
def test_a_verdict_that_is_not_in_the_cache_is_not_measured(file: Path) -> None:
    others = bench.questions(2, seed=1)
    with pytest.raises(ValueError, match=r"no verdict under [0-9a-f]{12}, expected one each"):
        bench.replay_verdicts(file, others)


def test_ratios_are_those_to_plain_sqlite3(file: Path, keys: list[str]) -> None:
    rows = {row.name: row for row in bench.measure(file, bench.questions(N), keys, repeats=1)}
    assert list(rows) == ["whole judge path", "cache alone", "plain sqlite3"]
    plain = rows["plain sqlite3"]
    assert plain.ratio == 1
    for row in rows.values():
        assert row.cpu_s > 0
        assert row.ratio == pytest.approx(row.cpu_s / plain.cpu_s)


def test_documents_that_differ_are_not_measured(
    file: Path, keys: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "read_plainly", lambda file, keys: [{}] * len(keys))
    with pytest.raises(ValueError, match="do not read the same documents"):
        bench.measure(file, bench.questions(N), keys, repeats=1)


def test_a_replay_reads_and_writes_nothing_else(file: Path, keys: list[str]) -> None:
    connection = sqlite3.connect(file)
    (entries,) = connection.execute("SELECT count(*) FROM rageval_judge_verdicts").fetchone()
    (levels,) = connection.execute("SELECT count(*) FROM rageval_judge_levels").fetchone()
    connection.close()
    assert (entries, levels) == (len(keys), 0)


@pytest.mark.slow
def test_a_small_run_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--verdicts", "4", "--repeats", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["verdicts"], document["repeats"]) == (4, 1)
    assert len(document["results"]) == 3
    assert document["new_process_cpu_s"] > 0


def test_a_table_shows_all_rows() -> None:
    rows = [bench.Row(name="whole judge path", cpu_s=0.5, ratio=4.0)]
    assert bench.render(rows, 1.25).splitlines()[1:] == [
        "whole judge path     0.500                  4.00",
        "new process          1.250   interpreter and imports too",
    ]


@pytest.mark.parametrize("option", ["--verdicts", "--repeats"])
def test_a_number_below_one_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main([option, "0"])
    assert f"{option}: got 0, expected at least 1" in capsys.readouterr().err
