from dataclasses import replace

import pytest
from rich.cells import cell_len

from pytest_rageval.report.faces.terminal import draw
from pytest_rageval.report.view.sweep import sweep_lines
from tests.build.sweeps import TWELVE, hostile, noisy, planned, swept


def printed(outcome: object, width: int = 80) -> str:
    return "\n".join(draw(sweep_lines(outcome), width=width))  # type: ignore[arg-type]


def test_a_winner_is_shown_with_its_figures_and_tests() -> None:
    plan = planned(n_cases=150)
    best = plan.configurations[7]
    outcome = swept(plan, noisy(1, rate=0.4, planted=best.key, gain=0.5))
    found = printed(outcome)
    value = f"{outcome.ranking[0].objective:.3f}"
    assert "asked    810 of the grid's 1,800 requests (45 %)" in found
    lines = found.split("\n")
    at = next(n for n, line in enumerate(lines) if line.split()[:1] == ["1"])
    assert lines[at].split()[1] == value
    assert "150" in lines[at].split()
    row = " ".join(f"{lines[at]} {lines[at + 1]} {lines[at + 2]}".split())
    assert all(part in row for part in (*best.name.split(), "winner"))
    assert "effects  k: 3 " in found
    assert "verdict  BETTER\n" in found


def test_a_limited_figure_stands_before_its_limit() -> None:
    outcome = swept(planned(n_cases=150), noisy(1))
    rows = tuple(replace(row, figures={"latency_ms.p95 <= 9": 7.25}) for row in outcome.ranking)
    found = printed(replace(outcome, ranking=rows, constraints=("latency_ms.p95 <= 9",)))
    assert "latency_ms.p95 7.2 (<= 9)" in found


@pytest.mark.parametrize("width", [60, 80, 200])
def test_lines_fit_and_hostile_parameters_do_no_harm(width: int) -> None:
    found = printed(hostile(), width)
    assert max(map(cell_len, found.split("\n"))) <= width
    assert all(line.isprintable() for line in found.split("\n"))


def test_a_long_ranking_is_cut() -> None:
    many = replace(TWELVE, method="grid", query={"k": tuple(range(1, 16))})
    found = printed(swept(planned(many, 40), lambda one, id: 1.0))
    assert "and 10 more, in sweep.md" in found
    assert "verdict  NO CLEAR WINNER" in found
