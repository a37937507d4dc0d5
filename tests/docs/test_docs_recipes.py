"""The recipe of each preset works as written, against a stand-in for its system."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from docs.site.recipes import recipes, recipes_page
from pytest_rageval.authoring.scaffold.plan import read_templates
from pytest_rageval.cli import main as cli
from pytest_rageval.project.presets.preset import load_preset, preset_names
from tests.build.presets import SystemCase, stand_in, system_case
from tests.build.setting_values import as_toml
from tests.docs.examples import DOCS, heading_slug, link_targets, read_document, sections
from tests.docs.test_docs_recipes_frameworks import APPS
from tests.plugin.scratch import QUIET

_AS_WRITTEN = "dify"
"""Its commands are those of a shell."""


RECIPES = {one.name: one for one in recipes()}


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


def run_in_process(pytester: pytest.Pytester, commands: str) -> tuple[int, str]:
    """Run the same lines without a shell and processes, which take most of the time."""
    codes, out = [], []
    for line in commands.splitlines():
        command, *arguments = shlex.split(line)
        if command == "rageval":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                codes.append(cli.run(arguments))
            out.append(printed.getvalue())
        else:
            assert command == "pytest"
            result = pytester.runpytest_inprocess(*arguments, *QUIET)
            codes.append(int(result.ret))
            out.append(result.stdout.str())
    return max(codes), "\n".join(out)


@pytest.mark.parametrize("preset", preset_names())
def test_the_settings_and_commands_of_a_recipe_work(
    preset: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = system_case(preset, "success")
    assert set(load_preset(preset).environment) == set(case.environ)
    given = f"vars = {as_toml(case.vars)}" if case.vars else ""
    settings = re.sub(r"^vars = .*\n", "", RECIPES[preset].settings, flags=re.MULTILINE) + given
    (commands,) = [one.text for one in sections(recipes_page())[0].blocks]
    write_project(pytester.path, settings, case)
    with stand_in(case) as server:
        environ = {**case.environ, "RAGEVAL_RAG_URL": server.url}
        if preset == _AS_WRITTEN:
            code, out = run_commands(pytester.path, commands, environ)
        else:
            for name, value in {**environ, "COLUMNS": "100"}.items():
                monkeypatch.setenv(name, value)
            code, out = run_in_process(pytester, commands)
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


def test_every_preset_has_a_recipe_that_says_what_it_needs_and_what_is_lost() -> None:
    assert sorted(RECIPES) == sorted(preset_names())
    for name, one in RECIPES.items():
        assert all(variable.name in one.settings for variable in load_preset(name).required)
        assert "**Lost**" in one.text


def test_links_of_recipes_lead_to_a_page_and_a_heading() -> None:
    titles = {heading_slug(one.title) for one in sections(recipes_page())}
    for target in link_targets(recipes_page()):
        path, _, fragment = target.partition("#")
        if not path.startswith("http"):
            assert fragment in titles if not path else (DOCS / "recipes" / path).exists(), target


def test_there_is_a_recipe_of_each_framework() -> None:
    assert len(sections(read_document("recipes/frameworks.md"))[1:]) == len(APPS)
