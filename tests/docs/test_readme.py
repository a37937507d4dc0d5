"""The documents say what the program does: their examples are run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def scrub(text: str) -> list[str]:
    """Return the lines of a summary without what differs from run to run."""
    lines = []
    for line in text.splitlines():
        if line.startswith(("slowest", "note", "results", "report ")) or "latency_ms" in line:
            continue
        line = re.sub(r"\d{8}-\d{4}-[0-9a-f]{4}", "RUN", line)
        lines.append(re.sub(r"\d+\.\d+ ?s\b", "T", line).strip("= "))
    return lines


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.slow
def test_the_summary_in_the_readme_is_what_make_eval_prints(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "evals/"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "80", "RAGEVAL_RESULTS": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 0, done.stdout
    printed = done.stdout[done.stdout.index("evals/eval_set.jsonl ") :]
    assert scrub(blocks("text")[0]) == scrub(printed)


def test_the_case_lines_of_the_readme_are_valid(tmp_path: Path) -> None:
    from pytest_rageval.project.case_reader import load_cases

    path = tmp_path / "eval_set.jsonl"
    path.write_text(blocks("json")[0], encoding="utf-8")
    assert [c.case.id for c in load_cases(path).cases] == ["refunds_001", "refunds_002"]


def test_the_thresholds_of_the_documents_are_valid(tmp_path: Path) -> None:
    from pytest_rageval.project.thresholds import parse_thresholds

    guide = (ROOT / "docs" / "thresholds.md").read_text(encoding="utf-8")
    found = [*blocks("toml"), *re.findall(r"```toml\n(.*?)```", guide, flags=re.DOTALL)]
    parsed = [
        parse_thresholds(
            text, display="t.toml", categories={"multi_hop", "policies"}, tags={"work"}
        )
        for text in found
        if "[overall]" in text
    ]
    assert [len(thresholds.checks) for thresholds in parsed] == [3, 7]


def test_every_link_of_the_documents_leads_somewhere() -> None:
    links = [
        (page, target)
        for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    ]
    assert len(links) > 20
    for page, target in links:
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_readme_names_the_group_of_options_that_pytest_prints() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--help"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    (group,) = re.findall(r"`pytest --help`, group \*([^*]+)\*", README)
    assert f"\n{group}:\n" in done.stdout
