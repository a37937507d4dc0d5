"""The recipe of each preset works as written, against a stand-in for its system."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_rageval.authoring.scaffold.plan import read_templates
from pytest_rageval.project.presets.preset import load_preset, preset_names
from tests.build.presets import SystemCase, stand_in, system_case
from tests.docs.examples import DOCS, link_targets, read_document, sections
from tests.docs.test_docs_recipes_frameworks import APPS

RECIPES = DOCS / "recipes"
_EXPORT = re.compile(r"^export (\w+)=\S+\n", re.MULTILINE)
_QUICK = "dify"
"""Run always; the others take a few seconds each."""


def block(preset: str, language: str) -> str:
    """Return the one block of a recipe in a language."""
    (recipe,) = sections(read_document(f"recipes/{preset}.md"))
    (found,) = [one.text for one in recipe.blocks if one.language == language]
    return found


def write_project(folder: Path, preset: str, case: SystemCase) -> None:
    line = {"id": "shoes_001", "question": case.question}
    golds = [{"rel_path": case.gold}]
    (folder / "evals").mkdir()
    (folder / "evals/eval_set.jsonl").write_text(json.dumps({**line, "gold_supports": golds}))
    (folder / "thresholds.toml").write_bytes(read_templates()["thresholds-own-cases.toml"])
    (folder / "pyproject.toml").write_text(
        "[tool.pytest.ini_options]\nminversion = '8.0'\n" + block(preset, "toml"), encoding="utf-8"
    )


def run_commands(folder: Path, commands: str, environ: dict[str, str]) -> tuple[int, str]:
    """Run lines of a shell whose commands are those of this Python."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAGEVAL_")}
    done = subprocess.run(
        ["bash", "-e", "-c", commands],
        cwd=folder,
        env={**kept, "PATH": path, "COLUMNS": "100", **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    "preset",
    [pytest.param(n, marks=[] if n == _QUICK else pytest.mark.slow) for n in preset_names()],
)
def test_the_settings_and_commands_of_a_recipe_work(preset: str, tmp_path: Path) -> None:
    case = system_case(preset, "success")
    commands = block(preset, "bash")
    assert set(_EXPORT.findall(commands)) == set(case.environ)
    write_project(tmp_path, preset, case)
    with stand_in(case) as server:
        environ = {**case.environ, "RAGEVAL_RAG_URL": server.url}
        code, out = run_commands(tmp_path, _EXPORT.sub("", commands), environ)
        received = list(server.received)
    assert code == 0, out
    assert " 0 FAIL" in out
    words = re.sub(r"\s+", " ", out)
    assert re.search(r" 1 case, 0 missed, [01] flawed, 0 errors ", words), out
    if case.expected["retrieved_chunks"]:
        assert " hit_at_k 1 1.000 " in words, out
    # Two of doctor and one of pytest; doctor looks up golds by other words.
    asked = [one for one in received if not case.refused(one)]
    assert len(asked) >= 3, [case.refused(one) for one in received]


@pytest.mark.parametrize("preset", preset_names())
def test_a_recipe_names_what_the_preset_needs_and_is_linked(preset: str) -> None:
    page = read_document(f"recipes/{preset}.md")
    assert all(one.name in block(preset, "toml") for one in load_preset(preset).required)
    assert "**Lost**" in page
    assert f"recipes/{preset}.md" in link_targets(read_document("target.md"))
    for target in link_targets(page):
        if not target.startswith("http"):
            assert (RECIPES / target.partition("#")[0]).exists(), target


def test_there_is_no_recipe_without_a_preset_or_a_framework() -> None:
    assert {page.stem for page in RECIPES.glob("*.md")} == {*preset_names(), *APPS}
