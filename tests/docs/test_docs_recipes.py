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
from tests.docs.examples import DOCS, Section, heading_slug, link_targets, read_document, sections
from tests.docs.test_docs_recipes_frameworks import APPS

RECIPES = DOCS / "recipes"
_EXPORT = re.compile(r"^# export (\w+)=\S+$", re.MULTILINE)
_QUICK = "dify"
"""Run always; the others take a few seconds each."""


def recipe(preset: str) -> tuple[Section, str, str]:
    """Return the recipe of a preset, its settings and the commands of its page."""
    found = []
    for name in ("services", "servers"):
        page = sections(read_document(f"recipes/{name}.md"))
        (commands,) = [one.text for one in page[0].blocks]
        for section in page[1:]:
            (toml,) = [one.text for one in section.blocks if one.language == "toml"]
            if f'\npreset = "{preset}"\n' in toml:
                found.append((section, toml, commands))
    (one,) = found
    return one


def write_project(folder: Path, settings: str, case: SystemCase) -> None:
    line = {"id": "shoes_001", "question": case.question}
    golds = [{"rel_path": case.gold}]
    (folder / "evals").mkdir()
    (folder / "evals/eval_set.jsonl").write_text(json.dumps({**line, "gold_supports": golds}))
    (folder / "thresholds.toml").write_bytes(read_templates()["thresholds-own-cases.toml"])
    (folder / "pyproject.toml").write_text(
        "[tool.pytest.ini_options]\nminversion = '8.0'\n" + settings, encoding="utf-8"
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
    _, settings, commands = recipe(preset)
    assert set(_EXPORT.findall(settings)) == set(case.environ)
    write_project(tmp_path, settings, case)
    with stand_in(case) as server:
        environ = {**case.environ, "RAGEVAL_RAG_URL": server.url}
        code, out = run_commands(tmp_path, commands, environ)
        received = list(server.received)
    assert code == 0, out
    assert " 0 FAIL" in out
    words = re.sub(r"\s+", " ", out)
    assert re.search(r" 1 case: 1 (passed|flawed); ", words), out
    if case.expected["retrieved_chunks"]:
        assert " recall_at_k 1.000, " in words, out
    # Two of doctor and one of pytest; doctor looks up golds by other words.
    asked = [one for one in received if not case.refused(one)]
    assert len(asked) >= 3, [case.refused(one) for one in received]


@pytest.mark.parametrize("preset", preset_names())
def test_a_recipe_names_what_the_preset_needs_and_what_is_lost(preset: str) -> None:
    section, settings, _ = recipe(preset)
    assert all(one.name in settings for one in load_preset(preset).required)
    assert "**Lost**" in section.text


@pytest.mark.parametrize("name", ["services", "servers", "frameworks"])
def test_links_of_recipes_lead_to_a_page_and_a_heading(name: str) -> None:
    assert f"recipes/{name}.md" in link_targets(read_document("target.md"))
    for target in link_targets(read_document(f"recipes/{name}.md")):
        path, _, fragment = target.partition("#")
        if not path.startswith("http"):
            page = sections((RECIPES / (path or f"{name}.md")).read_text(encoding="utf-8"))
            assert not fragment or fragment in {heading_slug(one.title) for one in page}, target


def test_there_is_no_recipe_without_a_preset_or_a_framework() -> None:
    pages = [sections(path.read_text(encoding="utf-8"))[1:] for path in RECIPES.glob("*.md")]
    assert sum(map(len, pages)) == len(preset_names()) + len(APPS)
