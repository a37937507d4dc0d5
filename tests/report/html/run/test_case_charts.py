from __future__ import annotations

import re

import pytest

from pytest_rageval.report.html.run.case_charts import phase_bar, rank_moves
from pytest_rageval.report.html.run.values import ChunkView


def chunk(rank: int, elsewhere: int | None, golds: str = "") -> ChunkView:
    return ChunkView(
        rank=rank, in_cut=True, golds=golds, irrelevant=False, path="", heading="", facts="",
        text="", marks=(), truncated=False, elsewhere=elsewhere,
    )  # fmt: skip


def widths(html: str) -> list[float]:
    return [float(width) for width in re.findall(r'width="([\d.]+)"[^>]*class="p', html)]


def test_phases_share_the_bar_by_their_time() -> None:
    html = phase_bar([("retrieval", 30.0), ("rerank", 0.0), ("generation", 60.0)], 120.0)
    assert widths(html) == [150.0, 300.0]
    assert re.sub(r"<[^>]*>", "", html) == "retrieval 30 msgeneration 60 ms total 120 ms"


def test_phases_longer_than_the_total_still_fit_the_bar() -> None:
    assert sum(widths(phase_bar([("a", 30.0), ("b", 90.0)], 60.0))) == pytest.approx(600.0)


@pytest.mark.parametrize("phases", [[], [("a", 0.0)]])
def test_without_a_phase_the_total_is_said(phases: list[tuple[str, float]]) -> None:
    assert phase_bar(phases, 5.0) == '<p class="numbers">total 5.0 ms</p>'


def test_moves_are_drawn_and_said() -> None:
    old = [chunk(1, 2), chunk(2, 1, "gold [0]"), chunk(3, None)]
    new = [chunk(1, 2, "gold [0]"), chunk(2, 1), chunk(3, None)]

    html = rank_moves(old, new)

    words = "rank 1 is now rank 2; rank 2 is now rank 1; rank 3 is gone; rank 3 is new"
    assert f"<title>Ranks of the chunks in the baseline and now: {words}</title>" in html
    assert html.count("<line") == 2
    assert html.count('class="move gold"') == 1
    assert [html.count(f">{word}</text>") for word in ("gone", "new")] == [1, 1]


def test_a_chunk_that_comes_twice_moves_to_its_first_place() -> None:
    html = rank_moves([chunk(1, 2)], [chunk(1, None), chunk(2, 1), chunk(3, 1)])
    assert "rank 1 is now rank 2; rank 1 is new" in html
