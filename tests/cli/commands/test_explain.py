"""``rageval explain`` from the command line, over run folders on disk."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.engine.case import CaseRepeat, record_of
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.project.case_reader import LocatedCase
from pytest_rageval.runs.store import RunWriter, write_document
from pytest_rageval.support.threads import at_once
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord, Outcome
from pytest_rageval.values.reply import AskResponse, AskResult
from pytest_rageval.values.settings import Settings
from tests.build.records import changed, talk
from tests.build.scores import chunk, gold
from tests.build.verdicts import judged_by

Output = pytest.CaptureFixture[str]
S, U = "a.md | # S", "a.md | # U"


def record(
    case_id: str, *chunks: str, file: str = "evals/set.jsonl", at: str = S, **fields: Any
) -> CaseRecord:
    of = Case(id=case_id, question="Where is it?", gold_supports=(gold(at),))
    response = AskResponse(answer="There.", retrieved_chunks=tuple(map(chunk, chunks)))
    result = AskResult(response=response, error=None, total_ms=1.0)
    scored = at_once(
        record_of(CaseRepeat(LocatedCase(case=of, lineno=3), file, Settings(rootdir=".")), result)
    )
    return changed(scored, **fields)


def write_run(
    records: Sequence[CaseRecord], run: str = "one", config: dict[str, Any] | None = None
) -> None:
    with RunWriter(Path("evals/results"), run) as writer:
        for one in records:
            writer.append(one)
        if config is not None:
            settings = {"rootdir": ".", "judge": "none", **config}
            write_document(writer.path, "config.json", {"settings": settings})


def explain(*arguments: str, capsys: Output) -> str:
    assert cli.run(["explain", *arguments]) == ExitCode.YES
    out, err = capsys.readouterr()
    assert err == ""
    return out


def document(*arguments: str, capsys: Output) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(explain(*arguments, "--json", capsys=capsys))
    return found


# --- traces ------------------------------------------------------------------------------------


def test_the_trace_of_a_case_is_an_address_on_one_line(capsys: Output) -> None:
    base = "https://traces.example.com/" + "long/" * 30
    write_run(
        [record("alpha", S, trace_id="a2f0", asked_at="2026-11-22T10:00:00+00:00")],
        config={"target": {"trace_url": base + "{trace_id}"}},
    )
    assert f"  trace  {base}a2f0" in explain("last", "alpha", "--all", capsys=capsys).splitlines()
    (found,) = document("last", "alpha", capsys=capsys)["repeats"]
    assert (found["trace_id"], found["trace_link"]) == ("a2f0", f"{base}a2f0")
    assert found["asked_at"] == "2026-11-22T10:00:00+00:00"


# --- the misses of a run ---------------------------------------------------------------------


def test_misses_are_listed_by_cause_with_the_command_for_one(capsys: Output) -> None:
    write_run([record("alpha", U), record("beta", S), record("gamma", U)], config={})
    listed = explain("last", capsys=capsys)
    assert listed.splitlines() == [
        "run one   2 of 3 cases to look at: 2 missed",
        "",
        "not_retrieved 2   None of the first k chunks contains the evidence.",
        "  alpha  Where is it?",
        "  gamma  Where is it?",
        "",
        "next     rageval explain last alpha   (the worst of 2)",
    ]
    assert cli.run(["explain"]) == ExitCode.YES
    assert capsys.readouterr() == (listed, "assumed RUN: one, the last run\n")


# --- naming run and case ---------------------------------------------------------------------


@pytest.mark.parametrize("run", ["one", "on", "last", "evals/results/one"])
@pytest.mark.parametrize(
    "case", ["alpha-1", "al", "evals/set.jsonl::alpha-1", "set.jsonl::alpha-1"]
)
def test_run_and_case_are_named_in_the_usual_ways(run: str, case: str, capsys: Output) -> None:
    write_run([record("alpha-1", S), record("beta-1", U)], config={})
    assert explain(run, case, capsys=capsys).startswith("alpha-1  PASSED")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["two", "alpha"], "run 'two': not found; the latest in "),
        (["last~1", "alpha"], "run 'last~1': "),
        (["one", "alhpa"], "rageval: case 'alhpa': not found, did you mean \"alpha\"?"),
        (["one", "zzz"], "rageval: case 'zzz': not found; there are: alpha, beta"),
        (["one", ""], "rageval: case '': not found"),
        (["one", "\x1b[31mx"], "rageval: case '"),
        (
            ["one", "alpha", "--repeat", "2"],
            "rageval: case 'alpha': got --repeat 2, expected",
        ),
        (["one", "--repeat", "0"], "rageval explain: --repeat: expected a CASE beside it"),
        (["alhpa"], "rageval: run 'alhpa': not found"),
        (["two"], "rageval: run 'two': not found"),
    ],
)
def test_what_is_not_there_is_one_line_and_code_2(
    arguments: list[str], message: str, capsys: Output
) -> None:
    write_run([record("alpha", S), record("beta", S)], config={})
    assert cli.run(["explain", *arguments]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(message)
    assert "\x1b" not in err


def test_a_name_alone_may_be_that_of_a_case_of_the_last_run(capsys: Output) -> None:
    write_run([record("alpha", U), record("beta", S)], config={})
    assert cli.run(["explain", "beta"]) == ExitCode.YES
    out, err = capsys.readouterr()
    assert (out.splitlines()[0], err) == ("beta  PASSED", "assumed RUN: one, the last run\n")
    assert cli.run(["explain", "alpah"]) == ExitCode.USAGE
    assert capsys.readouterr().err.endswith(
        'no case of the last run has this name, did you mean "alpha"?\n'
    )


@pytest.mark.parametrize(
    ("outcomes", "name", "turn"),
    [
        (("passed", "missed", "error"), "ada", 2),
        (("passed", "missed", "error"), "evals/set.jsonl::ada", 2),
        (("passed", "missed", "error"), "ada#", 2),
        (("passed", "missed", "error"), "ada#3", 3),
        (("error", "error"), "ada", 1),
        (("passed", "passed"), "ada", 2),
    ],
)
def test_a_conversation_is_explained_by_its_first_turn_that_did_not_pass(
    outcomes: Sequence[Outcome], name: str, turn: int, capsys: Output
) -> None:
    write_run([*talk("ada", *outcomes), *talk("bob", "error")], config={})
    assert cli.run(["explain", "last", name]) == ExitCode.YES
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith(f"ada#{turn}  ")
    assert f"turn {turn} of {len(outcomes)} of ada" in lines[1]
    before = [line[9:] for line in lines if ": ada" in line]
    assert before == [f"user: ada asks {turn - 1}?", f"assistant: ada#{turn - 1} answers."] * (
        turn > 1
    )
    assert err.startswith("assumed CASE: ada#") == ("#3" not in name)
    assert cli.run(["explain", "last", name, "--json"]) == ExitCode.YES
    (found,) = json.loads(capsys.readouterr().out)["repeats"]
    assert (found["turn"], len(found["history"])) == (turn, 2 * (turn - 1))


def test_a_broken_record_is_named_by_its_line(capsys: Output) -> None:
    write_run([record("alpha", S)])
    with Path("evals/results/one/results.jsonl").open("a", encoding="utf-8") as file:
        file.write("{}\n")
    assert cli.run(["explain", "one", "alpha"]) == ExitCode.USAGE
    assert "results.jsonl:2: Object missing required field `case`" in capsys.readouterr().err


# --- repeats and resumes ---------------------------------------------------------------------


def test_the_worst_repeat_is_shown_unless_another_is_chosen(capsys: Output) -> None:
    said = judged_by("correctness", unsure=("correctness",))
    unsure = record("c", S, repeat=2, judgements=said, unchecked=True)
    unsure = changed(unsure, not_applicable={"correctness": "It lacks one."})
    write_run([record("c", S), record("c", U, repeat=1), unsure], config={})
    for options in ((), ("--all",)):
        text = explain("one", "c", *options, capsys=capsys)
        assert text.startswith("c  FLAKY 1/2  MISSED")
        assert "repeat 1 (1 of 3 passed, 1 of 3 missed, 1 of 3 unchecked)" in text
        assert not re.search("c  (PASSED|UNCHECKED)", text)
    assert explain("one", "c", "--repeat", "2", capsys=capsys).startswith("c  UNCHECKED")
    both = document("one", "c", capsys=capsys)["repeats"]
    outcomes = [(one["outcome"], one["unchecked"]) for one in both]
    assert outcomes == [("passed", False), ("missed", False), ("passed", True)]
    (second,) = document("one", "c", "--repeat", "1", capsys=capsys)["repeats"]
    assert second["outcome"] == "missed"


# --- what is explained -----------------------------------------------------------------------


def test_json_is_one_object_with_every_metric(capsys: Output) -> None:
    write_run([record("c", "b.md | # X", S)], config={})
    found = document("one", "c", capsys=capsys)
    assert (found["schema_version"], found["run_id"]) == (1, "one")
    (one,) = found["repeats"]
    assert [metric["key"] for metric in one["metrics"]] == list(BUILT_IN.cases)
    (mrr,) = [metric for metric in one["metrics"] if metric["key"] == "mrr"]
    assert mrr["value"] == 0.5
    assert mrr["reason"] == "1 / rank 2, the first relevant chunk"
    assert [chunk["chunk"]["matched_golds"] for chunk in one["chunks"]] == [[], [0]]
    assert one["notes"] == []
