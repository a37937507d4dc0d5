"""A sweep as a view, on a terminal and in Markdown, and its winner as settings."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pytest_rageval.analysis.sweep.outcome import SweepOutcome
from pytest_rageval.engine.sweep.runner import forecast
from pytest_rageval.report.faces.markdown import render
from pytest_rageval.report.faces.terminal import draw, show
from pytest_rageval.report.view.blocks import Fact
from pytest_rageval.report.view.sweep import (
    best_toml,
    plan_lines,
    row_notes,
    view_of_sweep,
    weights_text,
)
from pytest_rageval.values.settings import Settings
from tests.build.sweeps import TWELVE, hostile, noisy, planned, swept


def printed(outcome: SweepOutcome, width: int = 80) -> str:
    return "\n".join(draw(show(view_of_sweep(outcome)), width=width))


def facts(outcome: SweepOutcome) -> dict[str, str]:
    return {b.name: b.text for b in view_of_sweep(outcome).blocks if isinstance(b, Fact)}


def test_a_winner_is_shown_with_its_figures_and_tests() -> None:
    plan = planned(n_cases=150)
    best = plan.configurations[7]
    outcome = swept(plan, noisy(1, rate=0.4, planted=best.key, gain=0.5))
    found = printed(outcome)
    value = f"{outcome.ranking[0].objective:.3f}"
    assert facts(outcome)["asked"].startswith("810 of the grid's 1,800 requests (45 %)")
    lines = found.split("\n")
    at = next(n for n, line in enumerate(lines) if line.split()[:1] == ["1"])
    assert lines[at].split()[1] == value
    assert "150" in lines[at].split()
    row = " ".join(f"{lines[at]} {lines[at + 1]} {lines[at + 2]}".split())
    assert all(part in row for part in (*best.name.split(), "winner"))
    assert ["k", "3"] in [line.split()[:2] for line in lines]
    assert found.startswith("BETTER: ")


def test_the_ranking_is_a_table_with_a_row_for_each_configuration() -> None:
    outcome = swept(planned(n_cases=150), noisy(1))
    html = MarkdownIt().enable("table").render(render(view_of_sweep(outcome)))
    assert html.count("<tr>") == 1 + 12 + 1 + len(outcome.effects)
    assert "<h2>rageval: NO CLEAR WINNER: " in html
    assert f"<td>{outcome.ranking[0].name}" in html


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
OUTCOME = hostile()


def test_the_settings_of_a_winner_are_those_of_pyproject() -> None:
    plan = planned(n_cases=150)
    best = plan.configurations[7]
    outcome = swept(plan, noisy(1, rate=0.4, planted=best.key, gain=0.5))
    assert outcome.winner == {"k": 3, "fusion": "rrf", "chunk_tokens": 400}
    assert tomllib.loads(best_toml(outcome)) == {
        "tool": {
            "rageval": {
                "k": 3,
                "params": {"fusion": "rrf"},
                "target": {"embedded": {"chunk_tokens": 400}},
            }
        }
    }
    commanded = best_toml(replace(outcome, builder="command"))
    assert "target" not in tomllib.loads(commanded)["tool"]["rageval"]
    assert "#   chunk_tokens = 400" in commanded


@given(st.dictionaries(TEXT, TEXT | st.integers(-(2**63), 2**63 - 1) | st.booleans(), min_size=1))
def test_any_parameter_is_read_back(values: dict[str, Any]) -> None:
    winner = replace(OUTCOME.ranking[0], query=values, index={}, key="w")
    written = best_toml(replace(OUTCOME, ranking=(winner,), winner_key="w"))
    found = tomllib.loads(written)["tool"]["rageval"]
    assert {**found.pop("params", {}), **found} == values


def test_what_is_said_of_rows() -> None:
    outcome = swept(planned(replace(TWELVE, objectives=("hit_at_k",)), 150), lambda one, id: 1.0)
    assert row_notes(outcome, outcome.ranking[0]) == ["baseline"]
    assert row_notes(outcome, outcome.ranking[-1]) == [
        "cut after 30 cases: a tie with one that went on"
    ]
    broken = replace(outcome.ranking[0], broken=("mrr 0.1 is below 0.2",), n_error=2)
    assert row_notes(outcome, broken)[1:] == [
        "cannot win: mrr 0.1 is below 0.2", "no answer in 2 cases",
    ]  # fmt: skip
    assert facts(outcome)["asked"].startswith("810 of the grid's 1,800 requests (45 %)")
    assert weights_text(outcome.objectives) == "hit_at_k"


def test_questions_builds_cost_and_the_smallest_difference_are_shown(tmp_path: Path) -> None:
    settings = Settings(rootdir=str(tmp_path), judge="gpt-x")
    document = forecast(settings, planned(n_cases=150), in_place=False)
    text = "\n".join(draw(plan_lines(document), width=120))
    assert "configurations  12, baseline k=3, fusion=weighted, chunk_tokens=200" in text
    assert "rung 2          6 configurations over 60 cases" in text
    assert "requests        810 of 1,800 of the whole grid (45%)" in text
    assert "index builds    2" in text
    assert "gpt-x, 450 answers, what that costs is not known" in text
    assert "at least 7 of 150 cases (4.7%)" in text
    assert text.endswith("nothing was asked")
