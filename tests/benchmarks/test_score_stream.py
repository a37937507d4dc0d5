from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import score_stream as bench

FINE = bench.Outcome(n=20, means=dict.fromkeys(bench.MEASURES, 0.5), cpu_s=1.0, peak_kb=2048)


def outcomes(**changed: bench.Outcome) -> dict[str, bench.Outcome]:
    return {"floor": replace(FINE, means={}), "ours": FINE, "rival": FINE} | changed


def read(path: Path) -> Iterator[Any]:
    return map(json.loads, path.read_text(encoding="utf-8").splitlines())


# --- the files -----------------------------------------------------------------------------------


def test_the_same_number_of_cases_gives_the_same_files(tmp_path: Path) -> None:
    first = [path.read_bytes() for path in bench.write_files(tmp_path, 12)]
    assert [path.read_bytes() for path in bench.write_files(tmp_path, 12)] == first


def test_a_response_holds_ten_distinct_sections_in_about_six_kilobytes(tmp_path: Path) -> None:
    _, responses = bench.write_files(tmp_path, 30)
    assert 5500 < responses.stat().st_size / 30 < 7500
    for line in read(responses):
        chunks = line["response"]["debug"]["retrieved_chunks"]
        assert len({(chunk["rel_path"], chunk["heading_path"]) for chunk in chunks}) == bench.K
        scores = [chunk["score_final"] for chunk in chunks]
        assert scores == sorted(scores, reverse=True)
        assert [chunk["rank"] for chunk in chunks] == [*range(1, bench.K + 1)]


def test_some_golds_are_found_and_some_are_not() -> None:
    rng = random.Random(1)
    found = 0
    for _ in range(200):
        reply = bench.synthetic_response(rng, [7])
        gold = bench._place(7)["rel_path"], bench._place(7)["heading_path"]
        chunks = reply["debug"]["retrieved_chunks"]
        found += gold in {(chunk["rel_path"], chunk["heading_path"]) for chunk in chunks}
    assert 120 < found < 180


# --- the contenders ------------------------------------------------------------------------------


def test_every_contender_reads_every_response_and_the_means_agree(tmp_path: Path) -> None:
    cases, responses = bench.write_files(tmp_path, 40)
    names = [*bench.CONTENDERS, *bench.STAGES]
    found = {name: bench.contend(name, cases, responses) for name in names}
    bench.check_agreement(found, 40)
    assert all(0.05 < mean < 1 for mean in found["ours"].means.values())
    assert len(set(found["ours"].means.values())) == len(bench.MEASURES)


@pytest.mark.slow
def test_a_contender_in_a_fresh_process_gives_the_same_means(tmp_path: Path) -> None:
    cases, responses = bench.write_files(tmp_path, 10)
    fresh = bench.in_fresh_process("ours", cases, responses)
    assert fresh.means == bench.contend("ours", cases, responses).means
    assert fresh.peak_kb > 1000


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_peak_of_a_fresh_process_is_not_that_of_its_parent(tmp_path: Path) -> None:
    paths = bench.write_files(tmp_path, 10)
    ballast = bytearray(b"x") * 200_000_000
    fresh = bench.in_fresh_process("floor", *paths)
    assert fresh.peak_kb < len(ballast) // 1024 < bench.peak_kb()


# --- what is refused -----------------------------------------------------------------------------


def test_agreement_is_agreement() -> None:
    bench.check_agreement(outcomes(), 20)


def test_a_contender_that_left_responses_out_is_refused() -> None:
    with pytest.raises(ValueError, match="rival: 19 responses read, expected 20"):
        bench.check_agreement(outcomes(rival=replace(FINE, n=19)), 20)


@pytest.mark.parametrize("wrong", [0.5 + 1e-8, float("nan"), None])
def test_another_mean_is_refused(wrong: float | None) -> None:
    means = {key: value for key, value in {**FINE.means, "mrr": wrong}.items() if value is not None}
    with pytest.raises(ValueError, match="mrr: ours "):
        bench.check_agreement(outcomes(ours=replace(FINE, means=means)), 20)


@pytest.mark.parametrize("argument", ["--cases", "--repeats"])
def test_nothing_to_measure_is_refused(argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main([argument, "0"])
    assert f"{argument}: got 0, expected at least" in capsys.readouterr().err


# --- figures -------------------------------------------------------------------------------------


def test_ratios_are_those_of_the_same_repeat_and_growth_is_that_of_the_added_cases() -> None:
    rounds = [
        outcomes(
            floor=replace(FINE, cpu_s=floor),
            ours=replace(FINE, cpu_s=ours, peak_kb=10_000),
        )
        for floor, ours in [(1.0, 2.0), (3.0, 9.0), (4.0, 4.0)]
    ]
    row = bench.summarise("ours", rounds, replace(FINE, n=2, peak_kb=9100))
    assert (row.ratio, row.ratio_low, row.ratio_high) == (2.0, 1.0, 3.0)
    assert row.us_per_case == 4.0 / 20 * 1e6
    assert row.kb_per_case == 50.0


@pytest.mark.slow
def test_a_small_run_prints_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--cases", "20", "--repeats", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["cases"], document["repeats"], document["seed"]) == (20, 1, bench.SEED)
    assert document["machine"].keys() >= {"python", "machine", "pydantic", "ir-measures"}
    rows = {row.pop("name"): row for row in document["results"]}
    assert rows.keys() == bench.CONTENDERS.keys()
    for row in rows.values():
        assert row.keys() == {
            "us_per_case", "ratio", "ratio_low", "ratio_high",
            "peak_mb", "peak_mb_tenth", "kb_per_case",
        }  # fmt: skip
    assert rows["floor"]["ratio"] == 1.0


def test_a_table_names_every_contender() -> None:
    rounds = [outcomes()]
    text = bench.render([bench.summarise(name, rounds, FINE) for name in bench.CONTENDERS])
    assert [line.split()[0] for line in text.splitlines()[1:]] == [*bench.CONTENDERS]
    assert "1.00 (1.00 to 1.00)" in text
