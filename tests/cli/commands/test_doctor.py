"""``rageval doctor`` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from tests.authoring.doctor.test_target import but
from tests.plugin.rag_server import rag_server

Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _made(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    monkeypatch.setenv("COLUMNS", "2000")
    assert cli.run(["init"]) == ExitCode.YES
    capsys.readouterr()


def test_a_fresh_project_is_all_well_and_every_check_is_in_the_json(capsys: Output) -> None:
    assert cli.run(["doctor"]) == ExitCode.YES
    out, err = capsys.readouterr()
    lines = out.splitlines()
    # Of an old pytest, which does not know all that the documentation shows.
    warned = [line for line in lines[:-1] if line.startswith("warn  project pytest: pytest 8.")]
    assert (lines[-1].endswith(f" ok, {len(warned)} warn, 0 FAIL"), err) == (True, "")
    assert len(warned) == int(pytest.version_tuple < (8, 3))
    assert all(line.startswith(("ok    ", "      ")) for line in lines[:-1] if line not in warned)

    assert cli.run(["doctor", "--json"]) == ExitCode.YES
    document = json.loads(capsys.readouterr().out)
    assert (document["ok"], document["schema_version"]) == (True, 1)
    assert {one["area"] for one in document["checks"]} == {"project", "target", "judge"}
    assert set(document["checks"][0]) == {
        "level", "area", "check", "message", "fix", "unreachable", "shown", "settings",
    }  # fmt: skip


def test_a_fault_exits_with_1_and_what_a_target_says_acts_on_no_terminal(capsys: Output) -> None:
    def renamed(reply: object, chunks: list[dict[str, str]], n: int) -> None:
        chunks[0].update(chunk_id=str(n), rel_path="a\x1b[2J\u202e.md")

    with rag_server(but(renamed)) as server:
        assert cli.run(["doctor", "--rag-url", server.url]) == ExitCode.NO
    out = capsys.readouterr().out
    assert "FAIL  target same twice: the same chunks came with other chunk ids; fix: derive" in out
    assert "\x1b" not in out
    assert "\u202e" not in out


@pytest.mark.parametrize(
    "flags",
    [
        ["--rag-url", "http://127.0.0.1:9"],
        ["--judge", "m-1", "--judge-base-url", "http://127.0.0.1:9/v1"],
    ],
)
def test_nobody_at_an_address_exits_with_4(project: Path, flags: list[str], capsys: Output) -> None:
    (project / "evals/eval_set.jsonl").unlink()  # so that no session of pytest is needed
    assert cli.run(["doctor", *flags]) == ExitCode.UNREACHABLE
    assert "FAIL" in capsys.readouterr().out


def test_a_project_without_a_target_fails_as_pytest_does(project: Path, capsys: Output) -> None:
    (project / "pyproject.toml").unlink()
    assert cli.run(["doctor"]) == ExitCode.NO
    assert "FAIL  target none: no target to ask" in capsys.readouterr().out


RAGFLOW = '[tool.rageval.target]\npreset = "ragflow"\nvars = { chat_id = "chat-7", usr = 1 }\n'


def test_a_preset_is_shown_with_its_variables_and_what_it_cannot_know(
    project: Path, capsys: Output
) -> None:
    (project / "pyproject.toml").write_text(RAGFLOW, encoding="utf-8")
    assert cli.run(["doctor"]) == ExitCode.NO
    out = capsys.readouterr().out
    assert "project preset: ragflow (RAGFlow chat assistants), vars chat_id = 'chat-7'\n" in out
    assert "project preset: it cannot know: versions before 0.25 have another path" in out
    assert "warn  project settings: [tool.rageval.target] vars usr: ignored, because" in out
    assert "fix: remove it, or write the name as the preset does" in out
    assert "FAIL  target none: preset 'ragflow': needs the address of your server" in out
