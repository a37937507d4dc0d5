from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import retrieval_kernels as bench


def always(value: float) -> bench.Contender:
    return lambda queries, k: [(value,) * 5] * len(queries)


def test_every_contender_gives_the_same_values() -> None:
    queries = bench.synthetic(50)
    expected = bench.ours(queries, 10)
    assert len(expected) == 50
    for name, contend in bench.CONTENDERS.items():
        assert bench.largest_difference(contend(queries, 10), expected) <= bench.TOLERANCE, name


@pytest.mark.parametrize("k", [1, 3, 20])
def test_the_values_agree_at_cutoffs_other_than_the_length_of_the_lists(k: int) -> None:
    queries = bench.synthetic(20)
    rows = bench.measure(queries, k=k, repeats=1)
    assert {row.name for row in rows} == bench.CONTENDERS.keys()


def test_a_wrong_contender_is_refused() -> None:
    wrong = {**bench.CONTENDERS, "wrong": always(0.0)}
    with pytest.raises(ValueError, match=r"wrong: differs by 1, expected 1e-09 at most"):
        bench.measure(bench.synthetic(20), k=10, repeats=1, contenders=wrong)


def test_a_value_that_is_not_a_number_is_refused() -> None:
    wrong = {**bench.CONTENDERS, "wrong": always(float("nan"))}
    with pytest.raises(ValueError, match="wrong: differs by nan"):
        bench.measure(bench.synthetic(1), k=10, repeats=1, contenders=wrong)


def test_ratios_are_those_of_the_same_repeat() -> None:
    row = bench.summarise("x", times=[2.0, 9.0, 4.0], our_times=[1.0, 3.0, 4.0], n=2, difference=0)
    assert (row.ratio, row.ratio_low, row.ratio_high) == (2.0, 1.0, 3.0)
    assert row.us_per_query == 2_000_000


def test_trec_files_are_read_in_the_order_of_their_scores(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q 0 a 2\nq 0 b 0\nz 0 a 1\n", encoding="utf-8")
    (tmp_path / "x.run").write_text("q Q0 b 1 0.5 x\nq Q0 a 2 0.9 x\nn Q0 a 1 1 x\n", "utf-8")
    (query,) = bench.read_trec(tmp_path / "qrels.txt", tmp_path / "x.run")
    assert (query.id, dict(query.grades), query.ranked) == ("q", {"a": 2}, ["a", "b"])


@pytest.mark.slow
def test_a_small_run_prints_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RAGEVAL_SHARED", str(tmp_path))
    assert bench.main(["--queries", "5", "--repeats", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (rows,) = document["results"].values()
    assert [row["name"] for row in rows] == list(bench.CONTENDERS)
    assert (document["k"], document["repeats"]) == (10, 2)


def test_recorded_runs_are_measured_where_they_are_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "data" / "ir" / "claude_docs"
    folder.mkdir(parents=True)
    (folder / "qrels.txt").write_text("q 0 a 1\n", encoding="utf-8")
    (folder / "base.run").write_text("q Q0 a 1 0.5 x\n", encoding="utf-8")
    monkeypatch.setenv("RAGEVAL_SHARED", str(tmp_path))
    assert bench.main(["--queries", "2", "--repeats", "1"]) == 0
    assert "claude_docs base, 1 queries" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--queries", "--repeats", "--k"])
def test_a_number_below_one_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main([option, "0"])
    assert f"{option}: got 0, expected at least 1" in capsys.readouterr().err
