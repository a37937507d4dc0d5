"""``rageval compare``: two stored runs, the exit code, and what is printed and written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.verdict import Judgement
from tests.build.records import changed, failed
from tests.build.runs import SETTINGS, run_of, scored, write_run
from tests.build.verdicts import judged_by

Output = pytest.CaptureFixture[str]
RESULTS = Path("evals/results")
DROPPED = range(100, 130)
KEYS = {"base", "new", "delta", "low", "high", "p", "tests", "n", "verdict"}


@pytest.fixture(autouse=True)
def _base(project: Path) -> None:
    write_run(RESULTS, "base", run_of(200))


def compared(capsys: Output, *arguments: str, code: int = 0) -> dict[str, Any]:
    assert cli.run(["compare", *arguments, "--json"]) == code
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def printed(capsys: Output, *arguments: str, code: int = 0) -> list[str]:
    assert cli.run(["compare", *arguments]) == code
    return capsys.readouterr().out.splitlines()


def title(lines: list[str]) -> str:
    """Return the sentence above the first fact, on one line."""
    end = next(n for n, line in enumerate(lines) if line.startswith(("base ", "lost ")))
    return " ".join(" ".join(lines[:end]).split())


def flips(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith(("worse ", "better "))]


def test_runs_whose_cases_all_erred_say_why_nothing_is_compared(capsys: Output) -> None:
    erred = [failed(f"c{n}") for n in range(3)]
    write_run(RESULTS, "e1", erred, day=2)
    write_run(RESULTS, "e2", erred, day=3)
    said = "no metric of the 3 paired cases is scored in both runs: 3 erred in base, 3 in new"
    lines = printed(capsys, "e1", "e2", code=ExitCode.CANNOT_TELL)
    assert lines[0] == "incomplete: 3 of 3 cases got no answer in the new run"
    assert said in " ".join(line.strip() for line in lines)


def thresholds(text: str) -> None:
    Path("thresholds.toml").write_text(text, encoding="utf-8")


def test_json_holds_what_the_contract_names_and_files_and_the_step_of_a_ci_say_it(
    capsys: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = tmp_path / "step-summary"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    write_run(RESULTS, "new", run_of(200, missed=DROPPED), day=2)
    found = compared(capsys, "base", "new")
    assert found["schema_version"] == 1
    assert (found["base"], found["new"], found["comparable"]) == ("base", "new", True)
    assert (found["n_paired"], found["n_left_out"]) == (200, 0)
    assert (found["differing_invariants"], found["config_diff"]) == ({}, {})
    change = found["metrics"]["recall_at_k"]
    assert KEYS <= change.keys()
    assert change["delta"] == pytest.approx(change["new"] - change["base"])
    assert (change["verdict"], change["n"]) == ("worse", 200)
    assert change["low"] < change["delta"] < change["high"] < 0
    assert change["p"] < 0.01
    assert len(found["flips"]) == 24
    assert found["flips"][0]["case_id"] == "c-101"
    assert found["flips"][0]["direction"] == "worse"
    assert {"base", "new", "delta", "n_base", "n_new"} <= found["latency"]["latency_ms.p95"].keys()
    printed(capsys, "base", "new", "--md", "out/diff.md", "--out-dir", "deep/er")
    markdown = Path("out/diff.md").read_text(encoding="utf-8")
    assert markdown == Path("deep/er/diff.md").read_text(encoding="utf-8")
    assert markdown.startswith("## rageval: worse: 24 broke, 0 fixed, of 200")
    assert "| recall\\_at\\_k | 200 | 0.800 | 0.680 | -0.120 |" in markdown
    assert "| worse | c-101 | general | hit 1.00 -\\> 0.00 |" in markdown
    assert json.loads(Path("deep/er/diff.json").read_text(encoding="utf-8")) == found
    assert step.read_text(encoding="utf-8") == f"{markdown}\n{markdown}"


def test_a_regression_beyond_the_thresholds_is_exit_1_and_what_passes_them_is_worse_all_the_same(
    capsys: Output,
) -> None:
    write_run(RESULTS, "new", run_of(200, missed=DROPPED), day=2)
    thresholds("[overall]\nrecall_at_k = { max_drop = 0.05 }\n")
    lines = printed(capsys, "base", "new", code=ExitCode.NO)
    said = "FAIL     recall_at_k max_drop: drop 0.120 is above max_drop 0.050 (n 200)"
    assert said in lines
    assert title(lines).endswith("; regression: 1 of 1 check failed")
    found = compared(capsys, "base", "new", code=ExitCode.NO)
    assert [check["status"] for check in found["checks"]] == ["fail"]
    thresholds("[overall]\nhit_at_k = { max_drop = 0.5 }\n")
    said = title(printed(capsys, "base", "new"))
    assert said.startswith("worse: 24 broke, 0 fixed, of 200; ")
    assert said.endswith("; 1 limit on changes met (thresholds.toml)")


def test_a_lost_document_is_worse_and_named(capsys: Output) -> None:
    def run(lost: frozenset[int]) -> list[CaseRecord]:
        return [
            scored(f"c{i:02}", float(i % 10 != 9 and i not in lost), cluster=f"d{i // 10}.md")
            for i in range(60)
        ]

    write_run(RESULTS, "whole", run(frozenset()), day=2)
    write_run(RESULTS, "lost", run(frozenset({*range(9), 10, 21, 32})), day=3)
    lines = printed(capsys, "whole", "lost", "--fail-on", "worse", code=ExitCode.NO)
    assert "9 of 9 about d0.md" in title(lines)
    assert "         60 paired cases about 6 documents" in lines
    lines = printed(capsys, "whole", "lost", "-v")
    assert any(line.startswith("question pass_rate over these documents: p 0.0") for line in lines)
    found = compared(capsys, "whole", "lost")
    assert (found["verdict"], found["unit"], found["n_documents"]) == ("worse", "document", 6)
    (group,) = found["headline"]["patterns"]
    assert (group["code"], group["facts"]["where"]) == ("group", "about d0.md")
    assert found["pass_rate"]["p"] < 0.05 < found["p_of_documents"]
    for row in (found["pass_rate"], *found["metrics"].values()):
        decided = row["verdict"] in {"better", "worse"}
        assert decided == (row["p"] < 0.05) == (row["low"] > 0 or row["high"] < 0)


@pytest.mark.parametrize(
    ("other", "name", "values"),
    [
        (replace(SETTINGS, k=10), "k", (5, 10)),
        (replace(SETTINGS, judge="offline"), "judge", ("none", "offline")),
        (replace(SETTINGS, params={"mode": "x"}), "payload.mode", (None, "x")),
        (replace(SETTINGS, snippets="any"), "matching.snippets", ("off", "any")),
    ],
    ids=["k", "judge", "payload", "matching"],
)
def test_runs_made_otherwise_are_refused_with_exit_3(
    other: Settings, name: str, values: tuple[object, object], capsys: Output
) -> None:
    write_run(RESULTS, "new", run_of(200), other, day=2)
    found = compared(capsys, "base", "new", code=ExitCode.NOT_COMPARABLE)
    assert found["comparable"] is False
    invariant = found["differing_invariants"][name]
    assert (invariant["base"], invariant["new"]) == values
    lines = printed(capsys, "base", "new", code=ExitCode.NOT_COMPARABLE)
    assert "NOT COMPARABLE: made under different conditions" in lines
    assert any(line.strip().startswith(f"{name}: ") for line in lines)


def judged(*versions: str) -> dict[str, Any]:
    judgements: dict[str, Judgement] = {}
    for version in versions:
        rubric = version.partition("/")[0]
        judgements |= judged_by(rubric, judge="offline/7", rubric_version=version)
    return {"judgements": judgements}


def test_another_prompt_is_refused_and_leaves_the_metrics_of_retrieval(capsys: Output) -> None:
    offline = replace(SETTINGS, judge="offline")
    for run, version in (("one", "groundedness/a"), ("two", "groundedness/b")):
        records = run_of(200, **judged(version))
        records = [changed(r, metrics={**r.scores.metrics, "groundedness": 4.0}) for r in records]
        write_run(RESULTS, run, records, offline, day=3)
    found = compared(capsys, "one", "two", code=ExitCode.NOT_COMPARABLE)
    prompt = found["differing_invariants"]["prompt"]
    assert (prompt["base"], prompt["new"]) == ("groundedness/a", "groundedness/b")
    assert prompt["affects"] == "judged"
    assert "recall_at_k" in found["metrics"]
    assert "groundedness" not in found["metrics"]


def test_a_run_without_records_is_a_data_error(capsys: Output) -> None:
    (write_run(RESULTS, "new", run_of(5), day=2) / "results.jsonl").unlink()
    assert cli.run(["compare", "base", "new"]) == ExitCode.USAGE
    assert "run new: there is no results.jsonl" in capsys.readouterr().err


def test_cases_of_one_document_decide_by_themselves_and_it_is_said(capsys: Output) -> None:
    write_run(RESULTS, "one", run_of(20, cluster="a.md"), day=2)
    found = compared(capsys, "one", "one")
    assert found["metrics"]["mrr"]["low"] < 0 < found["metrics"]["mrr"]["high"]
    assert found["unit"] == "case"
    assert found["notes"] == [
        "both names are of one run",
        "all cases are about one section: its cases decide",
    ]


# --- by group ----------------------------------------------------------------------------------


def of_two_groups(missed: range) -> list[CaseRecord]:
    tagged = ("work", "a|b`c`<b>@octo")
    return [
        scored(
            f"c-{i:03}",
            float(i not in missed),
            category="multi_hop" if i < 30 else "few" if i < 35 else "factual",
            tags=tagged if i < 30 else (),
        )
        for i in range(90)
    ]


def test_groups_are_shown_on_request_those_that_changed_first(capsys: Output) -> None:
    write_run(RESULTS, "one", of_two_groups(range(0)))
    write_run(RESULTS, "two", of_two_groups(range(15, 32)), day=2)
    assert "groups" not in printed(capsys, "one", "two")
    lines = printed(capsys, "one", "two", "-v")
    at = lines.index("groups")
    assert " ".join(line[9:] for line in lines[at + 1 : at + 3]) == (
        "exploratory, not adjusted for looking at many groups; no verdict below 20 pairs"
    )
    rows = {tuple(line.split()[:2]): line.split()[2:] for line in lines[at:]}
    multi_hop = rows["recall_at_k", "multi_hop"]
    assert (multi_hop[0], multi_hop[3], multi_hop[-1]) == ("30", "-0.500", "worse")
    listed = [*rows]
    assert listed.index(("recall_at_k", "multi_hop")) < listed.index(("recall_at_k", "factual"))
    assert all(len(line) <= 80 for line in lines)
    assert not any("more row" in line for line in lines)


def test_a_drop_beyond_a_limit_that_is_not_proven_is_called_so_twice(capsys: Output) -> None:
    write_run(RESULTS, "few", run_of(13), day=2)
    write_run(RESULTS, "one", run_of(13, missed=[1]), day=3)
    thresholds("[overall]\nrecall_at_k = { max_drop = 0.05 }\n")
    lines = printed(capsys, "few", "one")
    [row] = [line for line in lines if line.startswith("recall_at_k  ")][:1]
    assert row.endswith("  beyond")
    text = " ".join(" ".join(printed(capsys, "few", "one", "-v")).split())
    assert "beyond: past the limit of thresholds.toml, and not proven" in text
    assert "warn recall_at_k max_drop: drop 0.077 is above max_drop 0.050, not proven" in text


def test_latency_is_compared_only_at_equal_concurrency(capsys: Output) -> None:
    write_run(RESULTS, "at8", run_of(20), day=2, concurrency=8)
    write_run(RESULTS, "also8", run_of(20), day=3, concurrency=8)
    write_run(RESULTS, "at32", run_of(20), day=4, concurrency=32)
    assert compared(capsys, "at8", "also8")["latency"].keys() == {
        "latency_ms.p50", "latency_ms.p95",
    }  # fmt: skip
    thresholds("[overall]\nlatency_ms.p95 = { max_rise = 1 }\nmrr = { max_drop = 0.1 }\n")
    found = compared(capsys, "at8", "at32")
    said = "times are not compared: concurrency 8 in base, 32 in new"
    assert (found["comparable"], found["latency"], found["latency_problem"]) == (True, {}, said)
    assert {one["name"]: (one["status"], one["message"]) for one in found["checks"]}[
        "latency_ms.p95 max_rise"
    ] == ("skip", said)
    lines = printed(capsys, "at8", "at32")
    assert f"note     {said}" in lines
    assert not any(line.startswith("latency_ms") for line in lines)
