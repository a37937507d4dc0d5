from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from tests.build.files import write_lines
from tests.build.targets import fake_target, http_reply, json_reply, unused_port
from tests.server.builders import NOTES, write_vault

Output = pytest.CaptureFixture[str]
QUESTION = "What is the retry limit of the ingest queue?"
CASE = {
    "id": "queue",
    "question": QUESTION,
    "gold_supports": [{"rel_path": "work/queue.md", "heading_path": "# Queue"}],
}


@pytest.fixture
def cases(project: Path) -> Path:
    write_vault(project / "vault", NOTES)
    (project / "pyproject.toml").write_text(
        '[tool.rageval.target]\nvault = "vault"\n', encoding="utf-8"
    )
    (project / "evals").mkdir()
    return write_lines(project / "evals/eval_set.jsonl", CASE)


def type_lines(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def test_one_question_is_answered_with_its_chunks(cases: Path, capsys: Output) -> None:
    assert cli.run(["ask", QUESTION, "-k", "2"]) == ExitCode.YES
    out = capsys.readouterr().out
    assert "answer" in out
    assert "work/queue.md" in out
    assert "chunks   2\n" in out


def test_json_holds_the_answer_and_the_chunks_of_a_case(cases: Path, capsys: Output) -> None:
    assert cli.run(["ask", "--case", "queue", "--judged", "--json"]) == ExitCode.YES
    document = json.loads(capsys.readouterr().out)
    assert (document["schema_version"], document["case_id"]) == (1, "queue")
    assert document["metrics"]["recall_at_k"] == 1.0
    assert document["chunks"][0]["rank"] == 1
    assert any(one["matched_golds"] == [0] for one in document["chunks"])
    assert "groundedness" in document["judgements"]


@pytest.mark.parametrize(
    ("answer", "verdict", "outcome"),
    [("I do not know.", "abstained", "passed"), ("Five.", "answered", "missed: hallucinated")],
)
def test_an_unanswerable_case_has_an_outcome_once_it_is_judged(
    cases: Path, capsys: Output, answer: str, verdict: str, outcome: str
) -> None:
    write_lines(cases, {"id": "none", "question": "Who pays?", "answerable": False})
    with fake_target(json_reply({"answer": answer})) as target:
        arguments = ["ask", "--case", "none", "--rag-url", target.url, "--judged"]
        assert cli.run(arguments) == ExitCode.YES
        asked, _, judged = capsys.readouterr().out.partition("\njudge ")
        assert cli.run([*arguments, "--json"]) == ExitCode.YES
    assert "outcome  unchecked\n" in asked
    assert f"abstention: {verdict}\n" in judged
    assert judged.endswith(f"\noutcome  {outcome}\n")
    assert json.loads(capsys.readouterr().out)["outcome"] == outcome.split(":")[0]


@pytest.mark.parametrize("judged", [[], ["--judged"]])
def test_a_target_that_is_down_has_an_exit_code_of_its_own(
    project: Path, capsys: Output, judged: list[str]
) -> None:
    url = f"http://127.0.0.1:{unused_port()}"
    (project / "pyproject.toml").write_text(
        f'[tool.rageval.target]\nurl = "{url}"\nretries = 0\n', encoding="utf-8"
    )
    assert cli.run(["ask", "Which?", *judged]) == ExitCode.UNREACHABLE
    assert "connection refused" in capsys.readouterr().out
    assert cli.run(["ask", "Which?", *judged, "--json"]) == ExitCode.UNREACHABLE
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "connection"


def test_lines_of_a_pipe_are_carried_out_in_order(
    cases: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_lines(
        monkeypatch, ":k 1", QUESTION, ":k 2", ":again", ":diff", ":nope", ":save limit 1", ":quit",
        "never asked",
    )  # fmt: skip
    assert cli.run(["ask"]) == ExitCode.YES
    found = capsys.readouterr()
    assert "chunks   1\n" in found.out
    assert "new at 2" in found.out
    assert "saved    limit added to evals/eval_set.jsonl" in found.out
    assert "never asked" not in found.out
    assert found.err.strip() == "unknown command :nope, see :help"
    (_, added) = map(json.loads, cases.read_text(encoding="utf-8").splitlines())
    assert (added["id"], added["question"]) == ("limit", QUESTION)
    assert added["gold_supports"][0]["rel_path"] == "work/queue.md"


def test_a_failed_line_of_a_pipe_ends_in_its_exit_code_and_the_rest_is_asked(
    project: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_lines(monkeypatch, "one", "two")
    refused = http_reply(b"{}", "401 Unauthorized")
    with fake_target(refused, json_reply({"answer": "second"})) as target:
        assert cli.run(["ask", "--rag-url", target.url]) == ExitCode.UNREACHABLE
    assert "second" in capsys.readouterr().out


def test_a_case_file_with_a_fault_costs_its_own_cases_alone(cases: Path, capsys: Output) -> None:
    write_lines(cases.with_name("broken.jsonl"), {"id": "x", "question": 3})
    assert cli.run(["ask", "--case", "queue"]) == ExitCode.YES
    assert "warning: cases left out:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["Which?", "--case", "queue"], "QUESTION and --case: expected one of them"),
        ([" "], "QUESTION: expected a question, got blanks"),
        (["--json"], "--json: goes with QUESTION or --case"),
        (["--case", "queu"], "unknown case 'queu', did you mean \"queue\"?"),
        (["Which?", "--set", "rerank"], "--set: got 'rerank', expected NAME=VALUE"),
        (["Which?", "--set", "question=y"], "--set: got 'question'"),
        (["Which?", "--judged", "--judge", "none"], "expected --judge offline"),
    ],
)
def test_wrong_arguments_are_named(
    cases: Path, capsys: Output, arguments: list[str], says: str
) -> None:
    assert cli.run(["ask", *arguments]) == ExitCode.USAGE
    assert says in capsys.readouterr().err
