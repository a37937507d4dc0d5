""""""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_rageval.authoring.scaffold.plan import (
    Addition,
    Scaffold,
    ScaffoldError,
    plan_scaffold,
    read_project,
    read_templates,
    write_scaffold,
)
from pytest_rageval.project.case_reader import load_cases
from pytest_rageval.project.presets.preset import load_preset, preset_names
from pytest_rageval.project.settings import config_warnings, load_settings
from tests.build.root_rights import without_root_rights

TEMPLATES = read_templates()
PYTEST_TABLE = b"[tool.pytest.ini_options]\n"


def plan(**existing: bytes) -> Scaffold:
    """Files of the root by name, with ``_`` for the dot."""
    return plan_scaffold(
        TEMPLATES, {name.replace("_", "."): content for name, content in existing.items()}
    )


def content(scaffold: Scaffold, path: str) -> str:
    return scaffold.files[path].decode()


def additions(**existing: bytes) -> list[Addition]:
    return list(plan(**existing).additions)


def test_an_empty_folder_needs_every_file_and_no_addition() -> None:
    scaffold = plan()
    assert [*scaffold.files][:5] == [
        "evals/eval_set.jsonl",
        "thresholds.toml",
        "pyproject.toml",
        ".gitignore",
        ".github/workflows/evals.yml",
    ]
    assert sum(path.startswith("evals/vault/") for path in scaffold.files) == 7
    assert (scaffold.additions, scaffold.notes) == ((), ())


def test_a_project_on_gitlab_has_its_job_there() -> None:
    scaffold = plan_scaffold(TEMPLATES, {}, ci="gitlab")
    assert ".gitlab-ci.yml" in scaffold.files
    assert ".github/workflows/evals.yml" not in scaffold.files
    existing = {".gitlab-ci.yml": b"stages: [test]\n"}
    (added,) = plan_scaffold(TEMPLATES, existing).additions
    assert (added.path, added.lines[0]) == (".gitlab-ci.yml", "include:")
    existing = {".gitlab-ci.yml": TEMPLATES["gitlab.yml"]}
    assert plan_scaffold(TEMPLATES, existing).additions == ()


def test_no_template_holds_a_path_of_a_machine() -> None:
    assert len(TEMPLATES) > 5
    for name, data in TEMPLATES.items():
        assert not any(part in data for part in (b"/home", b"/tmp", b"/work", b"C:\\")), name


def test_cases_of_the_users_own_are_asked_of_a_system_and_get_no_notes() -> None:
    own = {"evals/eval_set.jsonl": b'{"id": "a", "question": "q"}\n'}
    scaffold = plan_scaffold(TEMPLATES, {**own, "pyproject.toml": PYTEST_TABLE})
    assert not any(path.startswith("evals/vault/") for path in scaffold.files)
    assert scaffold.additions[0].lines[-1] == 'url = "http://127.0.0.1:8000"'
    assert scaffold.first == (
        "add the lines above, with the address of your system, to pyproject.toml"
    )


CLIENT = b"import pytest\n\n@pytest.fixture(scope='session')\ndef rag_client():\n    return print\n"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("conftest.py", CLIENT),
        ("evals/conftest.py", b"@pytest.fixture(name='rag_client')\nasync def mine(): ...\n"),
    ],
)
def test_a_project_with_a_client_of_its_own_gets_no_target(path: str, text: bytes) -> None:
    scaffold = plan_scaffold(TEMPLATES, {path: text})
    assert "target" not in content(scaffold, "pyproject.toml")
    assert not any(name.startswith("evals/vault/") for name in scaffold.files)
    assert scaffold.notes == (f"{path} has a rag_client fixture, so no target is configured",)
    assert scaffold.first == "put your own questions into evals/eval_set.jsonl"
    beside = plan_scaffold(TEMPLATES, {path: text, "pyproject.toml": b""})
    (addition,) = beside.additions
    assert (addition.needed, "target" in "".join(addition.lines)) == (False, False)


def test_a_pyproject_without_a_target_is_told_what_it_needs() -> None:
    [found] = additions(pyproject_toml=b"[project]\nname = 'x'\n")
    assert found.lines == (
        "[tool.pytest.ini_options]",
        'minversion = "8.0"',
        "",
        "[tool.rageval.target]",
        'vault = "evals/vault"',
    )
    assert found.needed


@pytest.mark.parametrize(
    "existing",
    [
        {"pyproject_toml": PYTEST_TABLE},
        {"pyproject_toml": b"[tool.pytest]\nminversion = '9'\n"},
        {"pyproject_toml": b"", "pytest_ini": b""},
        {"pyproject_toml": b"", "setup_cfg": b"[tool:pytest]\n"},
        {"pyproject_toml": b"\xef\xbb\xbf", "tox_ini": b"[pytest]\n"},
    ],
)
def test_pytests_own_settings_are_asked_for_only_where_there_are_none(
    existing: dict[str, bytes],
) -> None:
    [found] = additions(**existing)
    assert found.lines == ("[tool.rageval.target]", 'vault = "evals/vault"')


@pytest.mark.parametrize(
    "existing",
    [
        {"pyproject_toml": PYTEST_TABLE + b"[tool.rageval.target]\nurl = 'http://x'\n"},
        {"_gitignore": TEMPLATES["gitignore.txt"]},
        {"_gitignore": b"/evals/cache\n" + TEMPLATES["gitignore.txt"].partition(b"\n")[2]},
    ],
)
def test_nothing_is_added_to_what_is_complete(existing: dict[str, bytes]) -> None:
    assert additions(**existing) == []


@pytest.mark.parametrize("broken", [b"[tool", b"\xff\xfe", b"tool = 3\n[tool.x]\n"])
def test_a_broken_pyproject_is_named_and_nothing_guessed(broken: bytes) -> None:
    scaffold = plan(pyproject_toml=broken)
    assert scaffold.additions == ()
    assert len(scaffold.notes) == 1
    assert scaffold.notes[0].startswith("pyproject.toml: not TOML")


@pytest.mark.parametrize("name", preset_names())
def test_the_settings_of_a_preset_are_written_ready_to_fill_in(name: str, tmp_path: Path) -> None:
    preset = load_preset(name)
    scaffold = plan_scaffold(TEMPLATES, {}, preset)
    assert not any(path.startswith("evals/vault/") for path in scaffold.files)
    assert b"What is this about?" in scaffold.files["evals/eval_set.jsonl"]
    text = content(scaffold, "pyproject.toml")
    assert all(f"# {one}: " in text for one in preset.variables)
    assert all(f"export {one}=..." in text for one in preset.environment)
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    settings = load_settings(tmp_path, flags={}, environ={})
    assert settings.target.preset == name
    assert settings.target.url
    assert config_warnings(settings) == []
    assert all(one in scaffold.first for one in preset.environment)


# ---


def start(folder: Path) -> dict[str, bool]:
    return dict(write_scaffold(folder, read_project(folder)))


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_second_start_changes_nothing(tmp_path: Path) -> None:
    start(tmp_path)
    before = tree(tmp_path)
    assert not any(start(tmp_path).values())
    assert tree(tmp_path) == before


@pytest.mark.parametrize("path", ["evals/eval_set.jsonl", "thresholds.toml", ".gitignore"])
def test_a_file_that_exists_stays_byte_for_byte(path: str, tmp_path: Path) -> None:
    kept = tmp_path / path
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(b"\xff mine\r\n")
    done = start(tmp_path)
    assert [name for name, created in done.items() if not created] == [path]
    assert kept.read_bytes() == b"\xff mine\r\n"


def test_a_file_that_appears_meanwhile_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def be_late(source: Path, target: Path) -> None:
        if target.name == "thresholds.toml":
            target.write_bytes(b"theirs")
        link(source, target)

    monkeypatch.setattr(os, "link", be_late)
    assert start(tmp_path)["thresholds.toml"] is False
    assert (tmp_path / "thresholds.toml").read_bytes() == b"theirs"


def test_an_interrupted_start_leaves_no_part_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(source: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "link", interrupt)
    with pytest.raises(KeyboardInterrupt):
        start(tmp_path)
    assert tree(tmp_path) == {}


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with without_root_rights(), pytest.raises(ScaffoldError, match=r"cannot be written: Perm"):
            start(tmp_path)
    finally:
        tmp_path.chmod(0o700)


def test_the_example_cases_are_sound_and_of_every_kind(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(read_templates()["cases.jsonl"])
    loaded = load_cases(path)
    assert loaded.warnings == ()
    cases = [one.case for one in loaded.cases]
    assert any(case.category == "multi_hop" and case.required_support_groups for case in cases)
    assert sum(not case.answerable for case in cases) >= 3
