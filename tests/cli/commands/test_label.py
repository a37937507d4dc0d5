"""``rageval label`` as it is typed, with the embedded reference server as its target."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.authoring.labelling.store import labels_path
from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.metrics.deciding import decide_chunks
from pytest_rageval.project.case_reader import load_cases
from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.server import ServerHandle, start_in_thread
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import AskRequest
from pytest_rageval.values.settings import TargetSettings
from tests.build.files import write_lines
from tests.build.targets import fake_target, json_reply, unused_port
from tests.server.builders import NOTES, write_vault

Output = pytest.CaptureFixture[str]
Label = Callable[..., int]
SET = "evals/set.jsonl"
CASES: list[dict[str, Any]] = [
    {"id": "queue", "question": "What is the retry limit of the ingest queue?", "category": "ops"},
    {"id": "garden", "question": "When are tomatoes planted?",
     "gold_supports": [{"rel_path": "home/garden.md", "heading_path": "# Garden"}]},
    {"id": "made", "question": "What is compost?", "review": "generated"},
    {"id": "moon", "question": "How far is the moon?", "answerable": False},
]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHandle]:
    vault = write_vault(tmp_path_factory.mktemp("vault"), NOTES)
    with start_in_thread(ReferenceConfig(vault=vault)) as handle:
        yield handle


@pytest.fixture
def project(project: Path, server: ServerHandle) -> Path:
    (project / "pyproject.toml").write_text(
        f'[tool.rageval.target]\nurl = "{server.url}"\nretries = 0\n', encoding="utf-8"
    )
    write_lines(project / SET, *CASES)
    return project


@pytest.fixture
def label(project: Path, monkeypatch: pytest.MonkeyPatch) -> Label:
    def run(*arguments: str, typed: str = "Q\n") -> int:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        return cli.run(["label", SET, *arguments])

    return run


def written(project: Path) -> dict[str, dict[str, Any]]:
    lines = (project / SET).read_text(encoding="utf-8").splitlines()
    return {case["id"]: case for case in map(json.loads, lines)}


def ids_shown(output: Output) -> list[str]:
    lines = output.readouterr().out.splitlines()
    return [line.split()[1] for line in lines if "[answerable" in line or "[UNANSW" in line]


# --- marking -------------------------------------------------------------------------------------


def test_what_is_marked_is_found_when_the_target_is_asked_again(
    project: Path, label: Label, server: ServerHandle
) -> None:
    """The written anchor matches the chunk that was marked, under every matching setting."""
    from pytest_rageval.target.client import HttpRagClient

    assert label("--plain", "--case", "queue", typed="s 1\n\nq y\n") == ExitCode.YES
    (gold,) = written(project)["queue"]["gold_supports"]
    assert set(gold) >= {"rel_path", "heading_path", "snippets"}
    assert "chunk_id" not in gold
    case = load_cases(project / SET).cases[0].case
    client = HttpRagClient(TargetSettings(url=server.url))
    try:
        response = client.ask(AskRequest(question=case.question, k=5))
    finally:
        client.close()
    assert response.retrieved_chunks
    for snippets in ("off", "any", "all"):
        decided = decide_chunks(case, response.retrieved_chunks, ScoreSettings(snippets=snippets))
        assert decided[0].matched_golds == (0,)


def test_other_lines_stay_byte_for_byte(project: Path, label: Label) -> None:
    before = (project / SET).read_bytes().splitlines()
    label("--plain", typed="1\n\nQ\n")
    after = (project / SET).read_bytes().splitlines()
    assert after[1:] == before[1:]
    assert json.loads(after[0]).items() >= json.loads(before[0]).items()


def test_twenty_chunks_are_asked_for_with_debug(label: Label) -> None:
    with fake_target(json_reply({"answer": "x", "debug": {"retrieved_chunks": []}})) as target:
        assert label("--plain", "--rag-url", target.url, "--case", "queue") == ExitCode.YES
    (request,) = target.received
    assert request.line.startswith("POST /api/v1/ask?debug=true ")
    assert request.json["k"] == 20


# --- the queue -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ((), ["queue", "garden", "made", "moon"]),
        (("--case", "moon", "--case", "queue"), ["queue", "moon"]),
        (("--category", "ops"), ["queue"]),
        (("--unlabeled",), ["queue", "made"]),
        (("--review",), ["made"]),
        (("--unlabeled", "--category", "general"), ["made"]),
    ],
)
def test_options_choose_the_cases(
    label: Label, capsys: Output, options: tuple[str, ...], ids: list[str]
) -> None:
    assert label("--plain", *options, typed="n\n" * 4 + "Q\n") == ExitCode.YES
    assert ids_shown(capsys) == ids


def test_what_failed_in_a_run_is_labelled(project: Path, label: Label, capsys: Output) -> None:
    from tests.build.records import record

    folder = project / "evals" / "results" / "r1"
    folder.mkdir(parents=True)
    from pytest_rageval.runs.record_json import record_to_json

    records = [
        record("queue", file=SET, outcome="passed"),
        record("moon", file=SET, outcome="missed"),
        record("gone", file=SET, outcome="missed"),
        record("other", file="evals/other.jsonl", outcome="missed"),
    ]
    lines = [json.dumps(record_to_json(one)) for one in records]
    (folder / "results.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert label("--plain", "--failed-from", "r1") == ExitCode.YES
    assert ids_shown(capsys) == ["moon"]
    assert label("--plain", "--failed-from", "r1") == ExitCode.YES
    said = "1 of the 2 cases that did not pass in run r1 is not in the set any more: gone"
    assert capsys.readouterr().err == f"note: {said}\n"
    assert label("--plain", "--failed-from", "r2") == ExitCode.USAGE


def test_nothing_to_label_is_said(label: Label, capsys: Output) -> None:
    assert label("--plain", "--unlabeled", "--case", "moon") == ExitCode.YES
    assert capsys.readouterr().out == "no case to label\n"


def test_a_rejected_case_is_removed_and_no_other_byte_changes(
    project: Path, label: Label, capsys: Output
) -> None:
    before = (project / SET).read_bytes().splitlines(keepends=True)
    label("--plain", "--review", typed="d\n\nescape\nQ\n")
    assert "y removes it, escape keeps it" in capsys.readouterr().out
    assert (project / SET).read_bytes().splitlines(keepends=True) == before
    assert label("--plain", "--review", typed="e\nd y\n") == ExitCode.YES
    lines = capsys.readouterr().out.splitlines()
    # As one line, which can be copied; broken at 80 columns it was two commands.
    assert f"rageval case edit -f {SET} --question TEXT made" in lines
    assert lines[-1] == "0 saved, 1 removed"
    assert (project / SET).read_bytes().splitlines(keepends=True) == [*before[:2], before[3]]


def test_a_reviewed_case_loses_its_mark(project: Path, label: Label) -> None:
    label("--plain", "--review", typed="\nq\n")
    assert written(project)["made"]["review"] == "reviewed"
    assert label("--plain", "--review") == ExitCode.YES


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--case", "quueue"), "--case: no case has the id 'quueue', did you mean 'queue'?"),
        (("--category", "opps"), "did you mean 'ops'?"),
        (("--annotator", "../x"), "--annotator: '../x', expected a name of letters"),
        (("--annotator", "a", "--adjudicate"), "expected one of them"),
        (("--adjudicate", "--review"), "expected one of them"),
        (("--json",), "--json: goes with --agreement only"),
        (("--adjudicate",), "fewer than two annotators have labelled it"),
        (("--agreement",), "fewer than two annotators have labelled it"),
        (("--k", "0"), "--k"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    label: Label, capsys: Output, options: tuple[str, ...], message: str
) -> None:
    assert label("--plain", *options) == ExitCode.USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_file_with_faults_is_refused_with_all_of_them(
    project: Path, label: Label, capsys: Output
) -> None:
    (project / SET).write_text('{"id": "a"}\nx\n', encoding="utf-8")
    assert label("--plain") == ExitCode.USAGE
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"{SET}:1: question: missing")
    assert lines[1].startswith(f"{SET}:2: Expecting value at column 1")
    (project / SET).unlink()
    assert label("--plain") == ExitCode.USAGE
    assert "cannot be read" in capsys.readouterr().err


def test_a_command_to_copy_names_the_file_as_it_was_given(
    project: Path, label: Label, capsys: Output
) -> None:
    assert label("--agreement") == ExitCode.USAGE
    assert f"`rageval label {SET} --annotator NAME`" in capsys.readouterr().err
    (project / "my set.jsonl").write_bytes((project / SET).read_bytes())
    assert cli.run(["label", "my set.jsonl", "--adjudicate", "--plain"]) == ExitCode.USAGE
    assert "`rageval label 'my set.jsonl' --annotator NAME`" in capsys.readouterr().err


def test_without_a_target_only_ways_that_help_are_named(
    project: Path, label: Label, capsys: Output
) -> None:
    (project / "pyproject.toml").write_text("[tool.rageval]\n", encoding="utf-8")
    (project / "conftest.py").write_text(
        "import pytest\n@pytest.fixture\ndef rag_client(): return None\n", encoding="utf-8"
    )
    assert label("--plain") == ExitCode.USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert "a rag_client fixture is not reached from here" in line
    assert "RAGEVAL_RAG_URL" in line


def test_unknown_keys_are_a_warning(project: Path, label: Label, capsys: Output) -> None:
    (project / SET).write_text('{"id": "a", "question": "q", "mine": 1}\n', encoding="utf-8")
    assert label("--plain", typed="1\nq\n") == ExitCode.YES
    assert f"warning: {SET}:1: unknown field 'mine', left as it is" in capsys.readouterr().err
    assert written(project)["a"]["mine"] == 1


def test_a_target_that_nobody_serves_is_exit_4(label: Label, capsys: Output) -> None:
    url = f"http://127.0.0.1:{unused_port()}"
    assert label("--plain", "--rag-url", url) == ExitCode.UNREACHABLE
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_input_that_ends_early_is_exit_1_and_leaves_the_file(
    project: Path, label: Label, capsys: Output
) -> None:
    before = (project / SET).read_bytes()
    assert label("--plain", typed="1\n") == ExitCode.NO
    assert "before these were saved: queue" in capsys.readouterr().err
    assert (project / SET).read_bytes() == before
    assert label("--plain", typed="") == ExitCode.YES


def test_input_that_ends_while_sentences_are_picked_is_exit_1(
    project: Path, label: Label, capsys: Output
) -> None:
    before = (project / SET).read_bytes()
    assert label("--plain", typed="s 1\n") == ExitCode.NO
    shown = capsys.readouterr()
    assert "before these were saved: queue" in shown.err
    assert shown.out.endswith("\n0 saved\n")
    assert (project / SET).read_bytes() == before


def test_without_a_terminal_the_app_names_the_plain_face(label: Label, capsys: Output) -> None:
    assert label() == ExitCode.USAGE
    assert "add --plain" in capsys.readouterr().err


def test_without_textual_one_line_names_the_extra(
    label: Label, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "textual", None)
    assert label() == ExitCode.USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert "pip install 'pytest-rageval[label]'" in line
    assert "--plain" in line


# --- several annotators --------------------------------------------------------------------------


def test_annotators_label_apart_agree_and_are_decided_between(
    project: Path, label: Label, capsys: Output
) -> None:
    before = (project / SET).read_bytes()
    label("--plain", "--annotator", "ann", typed="1\n\n1\n\nQ\n")
    label("--plain", "--annotator", "bob", typed="1\n\n2\n\nQ\n")
    assert (project / SET).read_bytes() == before
    assert len(labels_path(project / SET, "ann").read_text(encoding="utf-8").splitlines()) == 2
    capsys.readouterr()
    assert label("--agreement", "--json") == ExitCode.YES
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 1
    assert document["annotators"] == {"ann": 2, "bob": 2}
    assert document["chunks"]["statistic"] == "cohen_kappa"
    assert document["chunks"]["n_cases"] == 2
    assert document["answerable"]["observed"] == 1
    assert label("--agreement") == ExitCode.YES
    assert "Cohen's kappa" in capsys.readouterr().out
    assert label("--plain", "--adjudicate", typed="\n\n\nQ\n") == ExitCode.YES
    assert (project / SET).read_bytes() != before
    assert label("--plain", "--adjudicate") == ExitCode.YES
    assert capsys.readouterr().out.endswith("no case to label\n")


def test_what_an_annotator_has_still_to_do_comes_first(label: Label, capsys: Output) -> None:
    label("--plain", "--annotator", "ann", "--case", "queue", typed="\nQ\n")
    capsys.readouterr()
    label("--plain", "--annotator", "ann", typed="n\n" * 4 + "Q\n")
    assert ids_shown(capsys) == ["garden", "made", "moon", "queue"]
