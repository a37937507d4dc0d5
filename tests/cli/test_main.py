from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import CommandError, ExitCode
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.numbers import Aggregate
from tests.build.files import write_lines
from tests.build.targets import fake_target, http_reply

GOOD = {"id": "good", "question": "q", "gold_supports": [{"rel_path": "a.md"}]}
HEAVY = (
    "httpx", "openai", "pydantic", "numpy", "starlette", "uvicorn", "jinja2", "sqlalchemy",
    "jmespath", "markdown_it", "pytest", "rich",
)  # fmt: skip
CASED = ("auto: ", "promptfoo: ")
Output = pytest.CaptureFixture[str]


def write(path: Path, *lines: object) -> str:
    return str(write_lines(path, *lines))


# --- the group -------------------------------------------------------------------------------


def test_help_names_every_command_and_costs_no_more_than_click() -> None:
    code = (
        "import sys; from pytest_rageval.cli.main import run; code = run(['--help']);"
        f"print(code, [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "0 []"
    assert all(f"\n  {name} " in done.stdout for name in cli.COMMANDS)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_explains_itself(name: str, capsys: Output) -> None:
    assert cli.run([name, "--help"]) == ExitCode.YES
    assert capsys.readouterr().out.startswith(f"Usage: rageval {name} ")


def described(command: click.Command, context: click.Context) -> Iterator[tuple[str, str, Any]]:
    """Yield path, help and default of the options of a command and of its subcommands."""
    for one in command.params:
        record = one.get_help_record(context)
        if isinstance(one, click.Option) and record is not None:
            yield f"{context.command_path} {one.opts[0]}", record[1], one.get_default(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            sub = command.get_command(context, name)
            assert sub is not None
            yield from described(sub, click.Context(sub, info_name=name, parent=context))


@cache
def all_options() -> list[tuple[str, str, Any]]:
    # click keeps the help option that it makes first.
    names = cli.cli.context_settings["help_option_names"]
    return [*described(cli.cli, click.Context(cli.cli, None, "rageval", help_option_names=names))]


def test_every_option_is_described_and_shows_its_default() -> None:
    assert len(all_options()) > 150
    for path, text, default in all_options():
        assert text[:1].isupper() or text.startswith(CASED), path
        assert "(default" not in text, path
        if isinstance(default, str | int | Path) and not isinstance(default, bool):
            assert "[default: " in text, path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chek"], "rageval: no command 'chek', did you mean 'check'?"),
        (["bogus"], f"rageval: no command 'bogus', expected one of {', '.join(cli.COMMANDS)}"),
        (["--bogus"], "rageval: No such option"),
        (["merge"], "rageval merge: Missing argument"),
        (["runs", "lst"], "rageval runs: no command 'lst', did you mean 'list'?"),
        (["case", "x"], "rageval case: no command 'x', expected one of add, edit, promote"),
        (["check", "--jsn", "x"], "rageval check: No such option"),
        (["schema", "cases"], "rageval schema: Invalid value"),
        (["score", "a.jsonl", "b.jsonl", "-k", "0"], "rageval score: Invalid value for '-k'"),
        (["serve", "--vault", "none"], "rageval serve: Invalid value for '--vault'"),
    ],
)
def test_a_usage_error_is_one_line_and_code_2(
    arguments: list[str], message: str, capsys: Output
) -> None:
    assert cli.run(arguments) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(message)


@pytest.mark.parametrize(
    ("raised", "code", "shown"),
    [
        (ConfigError("one\ntwo \x1b[31mred"), ExitCode.USAGE, "one\ntwo red\n"),
        (CommandError("one\ntwo"), ExitCode.USAGE, "rageval: one\ntwo\n"),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED, ""),
        (click.Abort(), ExitCode.INTERRUPTED, ""),
    ],
)
def test_errors_of_every_command_become_lines_and_codes_in_one_place(
    raised: BaseException, code: int, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    def fail(**_: object) -> None:
        raise raised

    monkeypatch.setattr("pytest_rageval.cli.commands.check.command.callback", fail)
    assert cli.run(["check", "x"]) == code
    assert capsys.readouterr() == ("", shown)


@pytest.mark.skipif(os.name != "posix", reason="closed pipes are reported otherwise")
def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "pytest_rageval.cli.main", "schema", "case"],
            stdout=closed,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device of a full disk")
@pytest.mark.parametrize("arguments", [["schema", "case"], ["--help"]])
def test_output_to_a_full_disk_is_one_line(tmp_path: Path, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "pytest_rageval.cli.main", *arguments]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False
        )
    assert done.stderr == "rageval: the output cannot be written: No space left on device\n"
    assert done.returncode == ExitCode.USAGE


@pytest.mark.skipif(os.name != "posix", reason="closed by a shell")
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_are_none(tmp_path: Path, closed: str) -> None:
    path = write(tmp_path / "a.jsonl", GOOD)
    command = f'"$@" {closed}'
    for arguments, code in ((["check", path], ExitCode.YES), (["check", "x"], ExitCode.USAGE)):
        given = [sys.executable, "-m", "pytest_rageval.cli.main", *arguments]
        done = subprocess.run(["sh", "-c", command, "sh", *given], capture_output=True, check=False)
        assert done.returncode == code
        assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("table", "folder", "is_warned"),
    [("[tool.rageval.target]", "evals", True), ("[tool.rageval.target]", ".", False),
     ("[tool.ruff]", "evals", False)],
)  # fmt: skip
def test_a_subfolder_of_a_project_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output, table: str, folder: str,
    is_warned: bool,
) -> None:  # fmt: skip
    (tmp_path / "pyproject.toml").write_text(f"{table}\n", encoding="utf-8")
    (tmp_path / "evals").mkdir()
    monkeypatch.chdir(tmp_path / folder)
    assert cli.run(["runs", "list"]) == 0
    warning = f"warning: commands work in the project's folder: go to {tmp_path}\n"
    assert capsys.readouterr().err == (warning if is_warned else "")


# --- check -----------------------------------------------------------------------------------


def test_a_sound_file_says_what_it_holds_and_can_show(tmp_path: Path, capsys: Output) -> None:
    other = {"id": "other", "question": "who", "answerable": False, "category": "factual"}
    path = write(tmp_path / "a.jsonl", GOOD, other, {**other, "id": "third", "question": "why"})
    assert cli.run(["check", path]) == ExitCode.YES
    out, err = capsys.readouterr()
    pattern = (
        r": 3 cases \(1 answerable, 2 unanswerable\); factual 2, general 1; hash [0-9a-f]{16}\n"
    )
    assert re.match(re.escape(Path(path).as_posix()) + pattern, out)
    assert out.splitlines()[1:] == [
        f"{Path(path).as_posix()}: with this 1 case a drop of 0.88 in recall can be seen; 0.05 "
        "takes about 303 cases",
        "ok",
    ]
    assert err == ""


def test_all_faults_of_all_files_are_shown(tmp_path: Path, capsys: Output) -> None:
    good = write(tmp_path / "good.jsonl", GOOD)
    bad = write(tmp_path / "bad.jsonl", {**GOOD, "k": 0}, {**GOOD, "kk": "\x1b[31m\u202e"})
    assert cli.run(["check", bad, good]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out.startswith(Path(good).as_posix())
    assert [line.split(": ")[1] for line in err.splitlines()] == ["k", "kk", "id"]
    assert "\x1b" not in err


def test_check_as_json_is_one_object_and_nothing_else(tmp_path: Path, capsys: Output) -> None:
    good = write(tmp_path / "good.jsonl", GOOD)
    bad = write(tmp_path / "bad.jsonl", GOOD, {**GOOD, "id": "b", "category": "\u202e x"})
    assert cli.run(["check", "--json", good, bad]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (err, out.isascii()) == ("", True)
    assert (document["schema_version"], document["ok"]) == (1, False)
    first, second = document["files"]
    assert len(first.pop("dataset_hash")) == 16
    assert first.pop("power")["n"] == 1
    assert first == {
        "file": Path(good).as_posix(),
        "ok": True,
        "n_cases": 1,
        "n_turns": 0,
        "n_conversations": 0,
        "n_answerable": 1,
        "n_unanswerable": 0,
        "n_generated": 0,
        "categories": {"general": 1},
        "faults": [],
        "warnings": [],
    }
    (fault,) = second.pop("faults")
    assert fault.pop("text").startswith(f"{Path(bad).as_posix()}:2:")
    assert (fault["line"], fault["field"]) == (2, "category")
    assert second == {
        "file": Path(bad).as_posix(),
        "ok": False,
        "n_cases": None,
        "n_turns": None,
        "n_conversations": None,
        "n_answerable": None,
        "n_unanswerable": None,
        "n_generated": None,
        "categories": {},
        "dataset_hash": None,
        "power": None,
        "warnings": [],
    }
    assert document["findings"] == []


# --- schema ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "key"), [("case", "gold_supports"), ("thresholds", "overall")])
def test_schemas_are_printed_or_written(
    kind: str, key: str, tmp_path: Path, capsys: Output
) -> None:
    assert cli.run(["schema", kind]) == ExitCode.YES
    printed = json.loads(capsys.readouterr().out)
    assert key in printed["properties"]
    path = tmp_path / "new" / "schema.json"
    assert cli.run(["schema", kind, "-o", str(path)]) == ExitCode.YES
    assert json.loads(path.read_text(encoding="utf-8")) == printed
    assert capsys.readouterr() == ("", "")


# --- score -----------------------------------------------------------------------------------


def chunk(rel_path: str) -> dict[str, str]:
    return {"chunk_id": rel_path, "rel_path": rel_path, "heading_path": "# A", "text": "t"}


@pytest.fixture
def recorded(tmp_path: Path) -> list[str]:
    """Four cases: the second chunk is right, no answer, unreadable, silent."""
    cases = [
        GOOD,
        {"id": "absent", "question": "q", "answerable": False},
        {**GOOD, "id": "broken"},
        {**GOOD, "id": "unasked"},
    ]
    found = {"answer": "Yes.", "debug": {"retrieved_chunks": [chunk("x.md"), chunk("a.md")]}}
    responses = [
        {"id": "good", "response": found},
        {"id": "absent", "response": {"answer": "I do not know.", "abstained": True}},
        {"id": "broken", "response": {"answer": 7}},
        {"id": "ghost", "response": {"answer": "Who?"}},
    ]
    return [
        write(tmp_path / "cases.jsonl", *cases),
        write(tmp_path / "responses.jsonl", *responses),
    ]


def test_recorded_responses_are_scored(recorded: list[str], capsys: Output) -> None:
    assert cli.run(["score", *recorded, "--json"]) == ExitCode.YES
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert err.splitlines() == [
        "warning: 1 of 4 cases have no recorded response",
        "warning: no case has the id 'ghost' of a response",
    ]
    assert document.keys() == {"cases", *(one.name for one in fields(Aggregate))}
    outcomes = {case["id"]: case["outcome"] for case in document["cases"]}
    assert outcomes == {"good": "passed", "absent": "passed", "broken": "error", "unasked": "error"}
    good, absent, broken, _ = document["cases"]
    assert (good["metrics"]["hit_at_k"], good["metrics"]["mrr"]) == (1.0, 0.5)
    assert good["metrics"]["precision_at_k"] == 0.2
    assert "hit_at_k" in absent["not_applicable"]
    assert absent["metrics"]["abstention_accuracy"] == 1.0
    assert broken["metrics"]["hit_at_k"] is None
    assert "hit_at_k" not in broken["not_applicable"]
    assert all([*case["metrics"]] == [*BUILT_IN.cases] for case in document["cases"])
    assert document["metrics"]["mrr"]["mean"] == 0.5
    assert (document["metrics"]["mrr"]["n"], document["metrics"]["mrr"]["n_error"]) == (1, 2)


def test_the_cutoff_is_that_of_the_command_line(recorded: list[str], capsys: Output) -> None:
    assert cli.run(["score", *recorded, "--json", "-k", "1"]) == ExitCode.YES
    good = json.loads(capsys.readouterr().out)["cases"][0]
    assert (good["outcome"], good["metrics"]["hit_at_k"]) == ("missed", 0.0)


def test_faulty_responses_are_all_named(
    recorded: list[str], capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(recorded[1]).parent)
    lines = ['{"id": "good"}', "[]", '{"id" "good"}', '{"id": 1, "response": {}}']
    twice = '{"id": "good", "response": {"answer": "a"}}'
    Path(recorded[1]).write_bytes("\n".join([*lines, twice, twice]).encode() + b"\n\xff")
    assert cli.run(["score", *recorded]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    expected = 'expected {"id": case id, "response": an ask response}'
    file = Path(recorded[1]).name
    assert err.splitlines() == [
        f"{file}:1: got no response, {expected}; found the keys id",
        f"{file}:2: got no JSON object, {expected}",
        f"{file}:3: not JSON: Expecting ':' delimiter at column 7, {expected}",
        f"{file}:4: id: got 1, expected a string",
        f"{file}:6: id: 'good' is already that of the response on line 5",
        f"{file}:7: byte 0xff is not UTF-8; save the file in UTF-8",
    ]


@pytest.mark.parametrize("missing", [0, 1])
def test_files_that_are_not_there_are_a_data_error(
    missing: int, recorded: list[str], capsys: Output
) -> None:
    Path(recorded[missing]).unlink()
    assert cli.run(["score", *recorded, "--json"]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert (out, "cannot be read" in err) == ("", True)


# --- serve -----------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent as a signal")
def test_the_server_answers_at_the_url_it_prints_until_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("# Cats\n\nCats sleep all day.\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest_rageval.cli.main", "serve", "--port", "0"]
    with subprocess.Popen(
        [*command, "--vault", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            assert found is not None, line
            request = urllib.request.Request(
                f"{found[0]}/api/v1/ask?debug=true",
                data=b'{"question": "When do cats sleep?"}',
                headers={"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=10) as reply:
                answer = json.load(reply)
            assert answer["debug"]["retrieved_chunks"][0]["rel_path"] == "note.md"
            server.send_signal(signal.SIGINT)
            rest, errors = server.communicate(timeout=20)
        finally:
            server.kill()
    assert (server.returncode, rest, errors) == (130, "", "")


def test_a_model_endpoint_that_repeats_its_key_escaped_is_an_error_without_it(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "a/b+c4ret-2")
    (tmp_path / "note.md").write_text("# Cats\n\nCats sleep.\n", encoding="utf-8")
    with fake_target(http_reply(b"no a%2fb%2bc4ret-2", "401 No")) as model:
        endpoint = ["--embedder", "endpoint", "--embedder-url", model.url, "--embedder-model", "m"]
        arguments = ["--vault", str(tmp_path), *endpoint, "--embedder-api-key-env", "MINE"]
        assert cli.run(["serve", "--port", "0", *arguments]) == ExitCode.UNREACHABLE
    assert capsys.readouterr().err.endswith("HTTP 401: no ***\n")


def test_each_error_ends_with_its_code_where_it_is_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text('{"id": "a"}\n', encoding="utf-8")
    for command in (["check"], ["export", "trec", "-o", "out"]):
        assert cli.run(["-v", *command, str(file)]) == ExitCode.USAGE
        first = capsys.readouterr().err.splitlines()[0]
        assert first.endswith("question: missing [input.missing]")
    assert cli.run(["check", str(file)]) == ExitCode.USAGE
    assert capsys.readouterr().err.splitlines()[0] == f"{file}:1: question: missing"
