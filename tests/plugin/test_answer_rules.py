"""Rules of answers end to end: the outcome, the explanation and the gate."""

from __future__ import annotations

import pytest

from pytest_rageval.cli.main import run as rageval
from tests.plugin.scratch import Project, case

RULES = [{"contains": "answer"}, {"not_contains": "TEXT"}, {"matches": r"\d{3}-\d{4}"}]


def test_an_answer_that_breaks_a_rule_is_flawed_explained_and_gated(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project.write("thresholds.toml", 'version = 1\n[overall]\nanswer_rules_pass_rate = ">= 0.9"\n')
    project.cases(
        [
            case("good", "hit one", answer_rules=[{"contains": "answer text"}]),
            case("bad", "hit two", answer_rules=RULES),
        ]
    )
    result = project.run("--rageval-run-id", "one")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*answer_rules_pass_rate*0.500*below min 0.900*"])
    records = project.records()
    assert [records[name]["outcome"] for name in ("good", "bad")] == ["passed", "flawed"]
    assert records["bad"]["failure_stage"] == "incorrect"
    monkeypatch.chdir(project.path)
    assert rageval(["explain", "one", "bad", "--all"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert '1 of 3 rules kept; rule 2: "TEXT" is in "the answer text."' in shown
    assert r"rule 3: the pattern \d{3}-\d{4} is not in the answer" in shown
    assert "The answer breaks a rule of answer_rules" in shown


def test_a_faulty_rule_names_its_file_line_and_field(project: Project) -> None:
    project.cases([case("a", "hit one"), case("b", "hit two", answer_rules=[{"matches": "(?=a)"}])])
    result = project.run()
    assert result.ret != pytest.ExitCode.OK
    lines = "\n".join((*result.outlines, *result.errlines))
    assert "eval_set.jsonl:2:" in lines
    assert "answer_rules[0].matches" in lines
    assert "look-around" in lines
