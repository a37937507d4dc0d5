from markdown_it import MarkdownIt

from pytest_rageval.report.markdown.sweep import render_sweep_markdown
from tests.build.sweeps import hostile, noisy, planned, swept


def test_the_ranking_is_a_table_with_a_row_for_each_configuration() -> None:
    outcome = swept(planned(n_cases=150), noisy(1))
    html = MarkdownIt().enable("table").render(render_sweep_markdown(outcome))
    assert html.count("<tr>") == 1 + 12 + 1 + len(outcome.effects)
    assert "<h2>rageval sweep: NO CLEAR WINNER</h2>" in html
    assert f"<td>{outcome.ranking[0].name}</td>" in html


def test_hostile_parameters_stay_text() -> None:
    outcome = hostile()
    text = render_sweep_markdown(outcome)
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert "<script" not in html
    assert html.count("<tr>") == 1 + len(outcome.ranking) + 1 + len(outcome.effects)
    assert "on the Pareto front" in html
