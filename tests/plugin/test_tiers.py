"""``--rageval-tier``: a named part of the cases with settings and limits of its own."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest

from pytest_rageval.api.evaluation import evaluate
from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.values.errors import ConfigError
from tests.plugin.scratch import PYPROJECT, Project, checks

SMOKE = """
[tool.rageval.tier.smoke]
select = "tag:work"
repeats = 2
judge = "none"
thresholds = "smoke.toml"
"""
LIMITS = '[overall]\nrecall_at_k = ">= 0.9"\n'
WHOLE = """[overall]
recall_at_k = ">= 0.1"
[category.adversarial]
doc_hit_at_k = { min = 0.5, severity = "warn" }
"""


@pytest.fixture
def tiered(project: Project) -> Project:
    project.write(
        "pyproject.toml", PYPROJECT.replace('judge = "none"', 'judge = "offline"') + SMOKE
    )
    project.write("thresholds.toml", WHOLE)
    project.write("smoke.toml", LIMITS)
    return project


def config(project: Project) -> dict[str, Any]:
    found: dict[str, Any] = project.stored("config.json")
    return found


def test_a_tier_is_a_set_with_settings_and_limits_of_its_own(
    tiered: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tiered.run("--rageval-tier", "smoke").ret == 0
    stored = config(tiered)
    assert (stored["set"]["n_cases"], stored["settings"]["tier"]) == (1, "smoke")
    assert (stored["settings"]["repeats"], stored["settings"]["judge"]) == (2, "none")
    found = tiered.stored("gate.json")
    assert checks(found) == {"recall_at_k": "pass", "error_rate": "pass"}
    capsys.readouterr()
    assert cli.run(["gate", "last", "--json"]) == 0
    assert checks(json.loads(capsys.readouterr().out)) == checks(found)


def test_a_failed_check_names_the_file_of_the_tier(tiered: Project) -> None:
    tiered.write("smoke.toml", "\n[overall]\nrecall_at_k = { max = 0.1 }\n")
    result = tiered.run("--rageval-tier", "smoke", "-v")
    assert result.ret == 1
    assert "smoke.toml:3  metric recall_at_k" in result.stdout.str()


def test_limits_of_a_tier_that_are_absent_are_an_error_that_names_the_key(
    tiered: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tiered.run("--rageval-tier", "smoke", "--rageval-run-id", "r1").ret == 0
    (tiered.path / "smoke.toml").unlink()
    result = tiered.run("--rageval-tier", "smoke")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    line = PYPROJECT.count("\n") + SMOKE.count("\n")
    assert f"pyproject.toml:{line}: [tool.rageval.tier.smoke] thresholds: " in result.stderr.str()
    with contextlib.chdir(tiered.path):
        assert cli.run(["gate", "r1"]) == ExitCode.USAGE
    assert "smoke.toml" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("table", "tier", "says"),
    [
        (SMOKE, "smok", 'did you mean "smoke"?'),
        ("", "smoke", "expected a table [tool.rageval.tier.smoke] in pyproject.toml"),
        (SMOKE.replace("tag:work", "tag:wrk"), "smoke", 'did you mean "tag:work"?'),
        (SMOKE.replace("tag:work", "work"), "smoke", 'expected a list of "tag:NAME"'),
        (SMOKE.replace("smoke.toml", "../x.toml"), "smoke", "expected a path below the rootdir"),
        (SMOKE.replace("repeats", "repeat"), "smoke", 'unknown key, did you mean "repeats"?'),
    ],
)
def test_a_fault_of_a_tier_is_one_clear_line(
    tiered: Project, table: str, tier: str, says: str
) -> None:
    tiered.write("pyproject.toml", PYPROJECT + table)
    result = tiered.run("--rageval-tier", tier)
    assert result.ret == 4
    assert says in " ".join(result.stderr.str().split())


def test_a_function_that_passes_over_a_selection_refuses_it(
    tiered: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tiered.path)
    with pytest.raises(ConfigError, match="select: got tag:work, and only pytest"):
        evaluate("evals", lambda request: "An answer.", tier="smoke")
