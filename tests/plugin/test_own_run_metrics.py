"""Metrics of a whole run in a project's own code, in every place where others count."""

from __future__ import annotations

import json
import re
import sys

import pytest

from tests.plugin.own_code import CASES, METRICS, N, documents, rageval
from tests.plugin.scratch import Project, case, checks, summary_lines

pytestmark = pytest.mark.slow

WHOLE = """
from collections.abc import Sequence
from pytest_rageval import NA, CaseRecord, Scored, run_metric

@run_metric("acme.documents", title="Distinct <b>documents</b>", version="3")
def documents(records: Sequence[CaseRecord]) -> Scored:
    found = {c.rel_path for r in records for c in r.reply.retrieved_chunks or ()}
    return Scored(len(found))

@run_metric("acme.length", direction="lower")
def length(records):
    return Scored(sum(len(r.answer) for r in records))

@run_metric("acme.nothing")
def nothing(records):
    return NA("nothing to count")

@run_metric("acme.broken")
def broken(records):
    raise ValueError("the answer was " + records[0].answer)
"""


@pytest.fixture
def whole(own: Project) -> Project:
    own.write("acme/metrics.py", METRICS + WHOLE)
    own.cases([*CASES, case("draft", "hit q70", review="generated")])
    return own


def test_a_metric_of_the_run_is_stored_limited_and_shown(
    whole: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole.write_pages()
    result = whole.run("-v", "--rageval-run-id", "r1", "--gate", "acme.documents>=25")
    assert result.ret == 1
    assert checks(documents(whole, "r1", "gate.json"))["acme.documents"] == "fail"
    stored = documents(whole, "r1", "metrics.json")["run_metrics"]
    given = {key: {k: v for k, v in one.items() if v is not None} for key, one in stored.items()}
    assert given == {
        "acme.documents": {"value": 24.0},
        "acme.length": {"value": 16.0 * N + 8 * 15},
        "acme.nothing": {"not_applicable": "nothing to count"},
        "acme.broken": {
            "error": "acme.metrics:broken (acme/metrics.py:34): ValueError at acme/metrics.py:36"
        },
    }
    lines = "\n".join(summary_lines(result))
    assert re.search(r"acme\.documents +24 +24\.000 +- +>= 25 +FAIL", lines)
    assert re.search(r"acme\.length +24 +504\.000", lines)
    assert "acme.broken: acme.metrics:broken (acme/metrics.py:34): ValueError" in " ".join(
        lines.split()
    )
    assert "acme.nothing: nothing to count" in lines
    summary = (whole.folder("r1") / "summary.md").read_text(encoding="utf-8")
    assert "| acme.documents | 24 | 24.000 | - |" in summary
    assert "answer was" not in summary
    page = (whole.folder("r1") / "report.html").read_text(encoding="utf-8")
    assert "Distinct &lt;b&gt;documents" in page
    monkeypatch.setenv("LEAKS", "1")
    whole.run("--rageval-run-id", "r2")
    (whole.path / "acme" / "metrics.py").unlink()
    assert rageval(capsys, "gate", "r1", "--gate", "acme.documents>=24")[0] == 0
    assert rageval(capsys, "gate", "r2", "--gate", "acme.length<=504")[0] == 1
    code, shown = rageval(capsys, "compare", "r1", "r2")
    assert re.search(r"acme\.length +24 +504\.000 +660\.000 +\+156\.000 ", shown), shown
    code, shown = rageval(capsys, "compare", "r1", "r2", "--json")
    assert json.loads(shown)["run_metrics"]["acme.length"]["delta"] == 156
    assert json.loads(shown)["latency"].keys() == {"latency_ms.p50", "latency_ms.p95"}
    code, shown = rageval(capsys, "runs", "trend", "acme.length")
    assert re.search(r"r2 .* 660\.000", shown), shown
    whole.write("thresholds.toml", '[overall]\n"acme.length" = { max = 900, max_rise = 100 }\n')
    code, shown = rageval(capsys, "gate", "r2", "--baseline", "r1")
    assert (code, "acme.length" in shown) == (1, True)


def test_a_metric_of_the_run_is_the_same_in_every_way(
    whole: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole.run("--rageval-run-id", "whole")
    for shard in ("1/2", "2/2"):
        whole.run("--rageval-run-id", f"s{shard[0]}", "--rageval-shard", shard)
    assert rageval(capsys, "merge", "s1", "s2", "--run-id", "merged")[0] == 0
    whole.run("--rageval-run-id", "again", "-k", "c0")
    whole.run("--rageval-resume", "again")
    found = [documents(whole, name, "metrics.json")["run_metrics"]
             for name in ("whole", "merged", "again")]  # fmt: skip
    assert found[0] == found[1] == found[2]
    (whole.path / "acme" / "metrics.py").unlink()
    monkeypatch.delitem(sys.modules, "acme.metrics", raising=False)
    assert rageval(capsys, "merge", "s1", "s2", "--run-id", "bare")[0] == 0
    bare = documents(whole, "bare", "metrics.json")["run_metrics"]["acme.documents"]
    assert bare["value"] is None
    assert bare["error"] == "acme.metrics:documents: its code of version 3 is not there"
