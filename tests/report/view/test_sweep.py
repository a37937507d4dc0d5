"""A sweep as a view, on a terminal and in Markdown, and its winner as settings."""

import tomllib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.cells import cell_len

from pytest_rageval.analysis.sweep.outcome import SweepOutcome
from pytest_rageval.report.faces.markdown import render
from pytest_rageval.report.faces.terminal import draw, show
from pytest_rageval.report.view.blocks import Fact
from pytest_rageval.report.view.sweep import (
    best_toml,
    other_figures,
    row_notes,
    view_of_sweep,
    weights_text,
)
from tests.build.sweeps import HOSTILE, TWELVE, hostile, noisy, planned, swept


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
    assert "and 10 more rows" in found
    assert found.startswith("NO CLEAR WINNER: ")


def test_the_ranking_is_a_table_with_a_row_for_each_configuration() -> None:
    outcome = swept(planned(n_cases=150), noisy(1))
    html = MarkdownIt().enable("table").render(render(view_of_sweep(outcome)))
    assert html.count("<tr>") == 1 + 12 + 1 + len(outcome.effects)
    assert "<h2>rageval: NO CLEAR WINNER: " in html
    assert f"<td>{outcome.ranking[0].name}" in html


def test_hostile_parameters_stay_text() -> None:
    outcome = hostile()
    text = render(view_of_sweep(outcome))
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert "<script" not in html
    assert html.count("<tr>") == 1 + len(outcome.ranking) + 1 + len(outcome.effects)
    assert "on the Pareto front" in html


TEXT = st.text(st.characters(exclude_categories=["Cs"]))


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


def test_without_a_winner_the_settings_are_a_comment() -> None:
    text = best_toml(swept(planned(n_cases=150), lambda one, id: 1.0))
    assert text.startswith("# No clear winner: ")
    assert tomllib.loads(text) == {}


def test_a_tie_above_the_baseline_has_its_settings_as_comments() -> None:
    plan = planned(n_cases=150)
    pair = [plan.configurations[7].key, plan.configurations[8].key]
    outcome = swept(plan, lambda one, id: float(one.key in pair or id.endswith("7")))
    assert outcome.verdict == "no_clear_winner"
    assert " is better than the baseline, but not shown to be better than the runner" in (
        outcome.sentence
    )
    text = best_toml(outcome)
    assert tomllib.loads(text) == {}
    settings = text.partition("of the same names.\n")[2]
    found = tomllib.loads(settings.replace("# ", "").replace("#", ""))["tool"]["rageval"]
    assert {"k": found["k"], **found["params"], **found["target"]["embedded"]} == (
        outcome.ranking[0].parameters
    )


def test_the_usual_difference_names_the_scale_that_it_is_of() -> None:
    outcome = swept(planned(n_cases=150), lambda one, id: 1.0)
    assert facts(outcome)["can show"] == (
        "150 cases can show a difference of 0.09 or more (80 % power); "
        "a 0/1 metric has to get better in at least 7 cases"
    )


def test_hostile_names_and_values_are_settings_as_they_are() -> None:
    assert tomllib.loads(best_toml(hostile()))["tool"]["rageval"]["params"] == {HOSTILE: HOSTILE}


@given(st.dictionaries(TEXT, TEXT | st.integers(-(2**63), 2**63 - 1) | st.booleans(), min_size=1))
def test_any_parameter_is_read_back(values: dict[str, Any]) -> None:
    outcome = hostile()
    winner = replace(outcome.ranking[0], query=values, index={}, key="w")
    found = tomllib.loads(best_toml(replace(outcome, ranking=(winner,), winner_key="w")))["tool"][
        "rageval"
    ]
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


def test_a_limit_of_a_group_is_another_figure_than_the_objective() -> None:
    limits = ("hit_at_k >= 0.5", "hit_at_k [work] >= 0.5", "mrr >= 0.1")
    outcome = replace(hostile(), constraints=limits)
    assert other_figures(outcome) == ["context_tokens", "hit_at_k [work] >= 0.5", "mrr >= 0.1"]
