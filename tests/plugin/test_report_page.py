"""The page that a session writes at its end."""

from __future__ import annotations

import pytest

from tests.plugin.scratch import Project


@pytest.fixture(autouse=True)
def _with_pages(project: Project) -> None:
    project.write_pages()


def test_a_session_writes_the_page_with_what_flipped_and_names_it(project: Project) -> None:
    result = project.run("--rageval-run-id", "one")

    (folder,) = project.run_folders()
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert 'id="case-short-1"' in html
    assert "PASS" in html
    result.stdout.fnmatch_lines(["report * evals/results/one/report.html"])

    project.run("--rageval-run-id", "two", "--rageval-baseline", "one")
    html = (project.folder("two") / "report.html").read_text(encoding="utf-8")
    assert "Compared with one" in html
    assert "Trend" in html


def test_a_page_that_cannot_be_made_costs_neither_verdict_nor_figures(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no page today")

    monkeypatch.setattr("pytest_rageval.report.html.run.page.write_report", broken)
    result = project.run()

    (folder,) = project.run_folders()
    assert result.ret == 0
    assert (folder / "gate.json").is_file()
    result.stdout.fnmatch_lines(
        ["note * report.html was not written: RuntimeError: no page today*"]
    )
