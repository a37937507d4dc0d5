"""Every benchmark runs with tiny arguments and prints its table.

A benchmark refuses to print where its contenders disagree, so a run that ends well says that they
did the same work.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import (
    cached_verdicts,
    collection,
    comparison_units,
    embedding_map,
    gate_error_rates,
    offline_judge_speed,
    peers,
    retrieval_kernels,
    run_page,
    score_stream,
    sequential_gate,
    throughput,
)

Main = Callable[[list[str]], int]

SCRIPTS: dict[str, tuple[Main, str, tuple[str, ...]]] = {
    "cached_verdicts": (
        cached_verdicts.main,
        "--verdicts 4 --repeats 1",
        ("whole judge path", "new process"),
    ),
    "collection": (collection.main, "--cases 5 --repeats 1", tuple(collection.CONTENDERS)),
    "embedding_map": (
        embedding_map.main,
        "--points 20 --frames 3",
        ("drawing", "frame to frame"),
    ),
    "comparison_units": (comparison_units.main, "--runs 1", ("| `auto` |",)),
    "gate_error_rates": (gate_error_rates.main, "--runs 1 --jobs 1", ("| `hit_at_k` | 50 ",)),
    "offline_judge_speed": (offline_judge_speed.main, "--answers 3", ("groundedness",)),
    "peers": (
        peers.main,
        "--repeats 1 --cases 2 6 --contenders ours",
        ("CPU ms of one more case", "| ours | "),
    ),
    "retrieval_kernels": (
        retrieval_kernels.main,
        "--queries 5 --repeats 1",
        tuple(retrieval_kernels.CONTENDERS),
    ),
    "run_page": (run_page.main, "--cases 8", ("times that of reading", "first paint", "search")),
    "score_stream": (score_stream.main, "--cases 20 --repeats 1", tuple(score_stream.CONTENDERS)),
    "sequential_gate": (sequential_gate.main, "--runs 20", ("| 60 | 4 % |", "0 of 6 rows")),
    "throughput": (
        throughput.main,
        "--cases 2 6 --concurrency 2 --zero-latency --contenders ours",
        ("ours",),
    ),
}
"""Name of a script to its function, its arguments and what its output names."""

QUICK = {"offline_judge_speed"}


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in SCRIPTS]
)
def test_a_small_run_prints_its_table(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RAGEVAL_SHARED", str(tmp_path))
    main, arguments, named = SCRIPTS[name]
    code = main(arguments.split())
    out = capsys.readouterr().out
    assert [word for word in named if word not in out] == []
    # Two runs a cell are too few to keep what is promised of many.
    assert code == 0 or name == "gate_error_rates"


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name != "gate_error_rates"])
def test_a_number_below_one_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main, arguments, _ = SCRIPTS[name]
    with pytest.raises(SystemExit, match="2"):
        main([arguments.split()[0], "0"])
    assert "expected at least" in capsys.readouterr().err
