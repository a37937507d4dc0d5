"""``rageval init``, and the command it names, as a user meets them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.project.presets.preset import preset_names
from pytest_rageval.runs.store import resolve_run

Output = pytest.CaptureFixture[str]


def init(*arguments: str, capsys: Output) -> tuple[list[str], str]:
    assert cli.run(["init", *arguments]) == ExitCode.YES
    out, err = capsys.readouterr()
    return out.splitlines(), err


def run_last(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a shell whose `pytest` is that of this Python."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RAGEVAL_")}
    # No proxy and no resolver is needed: whoever asked one would fail.
    environ |= {"PATH": path, "http_proxy": "http://127.0.0.1:9", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        line,
        shell=True,
        cwd=folder,
        env=environ,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )


def results_in_git(folder: Path) -> set[str]:
    done = run_last("git init -q && git add -A && git ls-files evals/results", folder)
    assert done.returncode == 0, done.stderr
    return {line.removeprefix("evals/results/") for line in done.stdout.splitlines()}


@pytest.mark.slow
def test_the_command_that_an_empty_folder_is_left_with_passes(
    tmp_path: Path, capsys: Output
) -> None:
    lines, err = init(capsys=capsys)
    assert (lines[-2:], err) == (["Next:", "pytest evals/"], "")
    done = run_last(lines[-1], tmp_path)
    assert done.returncode == 0, done.stdout
    assert "\nPASS 7 checks, " in done.stdout
    assert re.search(r"^missed +1 ", done.stdout, re.M)

    # Git sees a run once it has a tag, and only what is small and without texts.
    assert results_in_git(tmp_path) == {".gitignore"}
    assert cli.run(["runs", "tag", "last", "main"]) == ExitCode.YES
    run_id = resolve_run(tmp_path / "evals" / "results", "main").name
    names = (".gitignore", "config.json", "gate.json", "metrics.json", "summary.md")
    small = {f"{run_id}/{name}" for name in names}
    assert results_in_git(tmp_path) == {".gitignore", "tags/main", *small}
    sizes = [(tmp_path / "evals" / "results" / name).stat().st_size for name in small]
    assert sum(sizes) < 60_000


@pytest.mark.slow
def test_the_command_of_a_folder_with_a_space_and_settings_of_its_own_passes(
    tmp_path: Path, capsys: Output
) -> None:
    folder = tmp_path / "my  evals"
    folder.mkdir()
    settings = folder / "pyproject.toml"
    settings.write_text("[project]\nname = 'x'\n", encoding="utf-8")
    lines, _ = init("my  evals", capsys=capsys)
    start = lines.index("Add to pyproject.toml (the cases need it):") + 2
    added = [line.strip() for line in lines[start:-2]]
    assert lines[-2] == "Next: add the lines above to pyproject.toml, then"
    assert "[tool.rageval.target]" in added
    with settings.open("a", encoding="utf-8") as file:
        file.write("\n".join(added))
    assert lines[-1] == "cd 'my  evals' && pytest evals/"
    done = run_last(lines[-1], tmp_path)
    assert done.returncode == 0, done.stdout


def test_whoever_has_cases_is_given_no_notes_and_told_to_name_a_target(
    tmp_path: Path, capsys: Output
) -> None:
    cases = tmp_path / "evals" / "eval_set.jsonl"
    cases.parent.mkdir()
    cases.write_text('{"id": "a", "question": "Who?"}\n', encoding="utf-8")
    lines, _ = init(str(tmp_path), capsys=capsys)
    assert "4 created, 1 kept as they are" in lines
    assert not (tmp_path / "evals" / "vault").exists()
    assert lines[-2] == "Next: put the address of your system into pyproject.toml, then"
    assert 'url = "' in (tmp_path / "pyproject.toml").read_text(encoding="utf-8")


def test_a_preset_that_is_not_known_lists_those_that_are(capsys: Output) -> None:
    assert cli.run(["init", "--preset", "difi"]) == ExitCode.USAGE
    err = capsys.readouterr().err
    assert "unknown preset 'difi', did you mean 'dify'? There are " in err
    assert all(name in err for name in preset_names())


def test_a_preset_writes_its_settings_and_no_notes(capsys: Output, tmp_path: Path) -> None:
    lines, err = init("--preset", "dify", str(tmp_path), capsys=capsys)
    assert (err, lines[5]) == ("", "5 created, 0 kept as they are")
    assert lines[-2].startswith("Next: fill in pyproject.toml, set DIFY_API_KEY, put your question")
    assert 'preset = "dify"' in (tmp_path / "pyproject.toml").read_text(encoding="utf-8")
    again, _ = init("--preset", "dify", str(tmp_path), capsys=capsys)
    assert again[5] == "0 created, 5 kept as they are"
