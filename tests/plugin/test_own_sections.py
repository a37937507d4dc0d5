"""Sections of the report in a project's own code."""

from __future__ import annotations

import re

import pytest

from tests.plugin.own_code import METRICS, documents, rageval, said
from tests.plugin.scratch import Project

pytestmark = pytest.mark.slow

SECTIONS = """
from pytest_rageval import Bars, Run, Table, section

@section("By <b>category</b>")
def by_category(run: Run) -> Table:
    n = {}
    for row in run.rows():
        n[row["category"]] = n.get(row["category"], 0) + 1
    rows = [[f"<u>{k}</u>", v, v / len(run.records)] for k, v in sorted(n.items())]
    return Table(["category|", "<i>cases</i>", "share"], [*rows, ["x", None, 0]])

@section("Mean words")
def mean_words(run: Run) -> Bars:
    return Bars({"<script>": run.means["acme.words"], "none": 0}, unit="words")

@section("Broken")
def broken(run):
    raise KeyError(run.records[0].answer)

@section("Changes")
def changes(run):
    run.records[0].scores.metrics["recall_at_k"] = 0

@section("Uneven")
def uneven(run):
    return Table(["a"], [[1, 2]])

@section("Markup")
def markup(run):
    return "<script>alert(1)</script>"
"""


def test_sections_are_shown_and_stored_with_the_run(
    own: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    own.write_pages()
    own.write("acme/metrics.py", METRICS + SECTIONS)
    result = own.run("--rageval-run-id", "one")
    assert result.ret == 0, said(result)
    stored = documents(own, "one", "sections.json")["sections"]
    assert stored[0]["rows"][0] == ["<u>even</u>", 12, 0.48]
    assert [one.get("error", "").partition(" at ")[0] for one in stored[2:]] == [
        "acme.metrics:broken: KeyError",
        "acme.metrics:changes: returned a NoneType, expected Table or Bars",
        "acme.metrics:uneven: a row is not as long as the columns",
        "acme.metrics:markup: returned a str, expected Table or Bars",
    ]
    summary = (own.folder("one") / "summary.md").read_text(encoding="utf-8")
    assert "### By \\<b\\>category\\</b\\>" in summary
    assert "| category\\| | \\<i\\>cases\\</i\\> | share |" in summary
    assert "| \\<u\\>even\\</u\\> | 12 | 0.480 |" in summary
    assert "The answer" not in summary
    first = (own.folder("one") / "report.html").read_text(encoding="utf-8")
    (own.path / "acme" / "metrics.py").unlink()
    assert rageval(capsys, "report", "one")[0] == 0
    again = (own.folder("one") / "report.html").read_text(encoding="utf-8")
    for page in (first, again):
        assert ">By &lt;b&gt;category&lt;/b&gt;</h2>" in page
        row = r"<t[dh][^>]*>&lt;u&gt;even&lt;/u&gt;</t[dh]>\s*<td[^>]*>12</td>"
        assert re.search(row, page)
        assert "<u>even" not in page
        assert re.search(r"&lt;script&gt;</th>\s*<td[^>]*>3\.960 words</td>", page)
        assert "<script>alert" not in page
        assert "This section could not be made: acme.metrics:broken: KeyError" in page
    assert rageval(capsys, "report", "one", "--redact")[0] == 0
    page = (own.folder("one") / "report.html").read_text(encoding="utf-8")
    assert "Mean words" not in page
