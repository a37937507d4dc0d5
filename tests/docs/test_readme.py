"""The documents say what the program does: their examples are run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.tutorials import missing_part, scrub

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def shown_lines(text: str) -> list[str]:
    """Return the lines of a summary without those that differ from run to run."""
    dropped = ("slowest", "note", "results", "report ")
    return [line for line in scrub(text) if not line.startswith(dropped)]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.slow
def test_the_summary_in_the_readme_is_what_the_example_prints(tmp_path: Path) -> None:
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
    shown = "\n".join(shown_lines(blocks("text")[0]))
    assert missing_part(shown, "\n".join(shown_lines(printed))) is None


def test_the_readme_is_short_and_starts_with_the_way_of_a_user() -> None:
    assert len(README.splitlines()) <= 130
    assert blocks("console")[0].splitlines()[0] == "pip install pytest-rageval"
    assert README.index("pip install") < README.index("make test")


def test_the_index_lists_every_page_once() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    folder = ROOT / "docs"
    pages = sorted(page.relative_to(folder).as_posix() for page in folder.rglob("*.md"))
    listed = re.findall(r"^- \[[^\]]+\]\(((?!\.\.)[\w/-]+\.md)\)", index, re.MULTILINE)
    assert sorted(listed) == [page for page in pages if page != "index.md"]


def test_the_case_lines_of_the_readme_are_valid(tmp_path: Path) -> None:
    from pytest_rageval.project.case_reader import load_cases

    path = tmp_path / "eval_set.jsonl"
    path.write_text(blocks("json")[0], encoding="utf-8")
    assert [c.case.id for c in load_cases(path).cases] == ["refunds_001", "refunds_002"]


def test_right_answers_to_the_cases_of_the_readme_pass(tmp_path: Path) -> None:
    from pytest_rageval import AskRequest, AskResponse, RetrievedChunk, evaluate

    def answer(request: AskRequest) -> AskResponse:
        if "refunds" not in request.question:
            return AskResponse(answer="I do not know.", abstained=True, retrieved_chunks=())
        text = "Refunds are paid within 14 days of the return."
        chunk = RetrievedChunk(
            rel_path="policies/refunds.md", heading_path="# Refunds > ## Timing", text=text
        )
        return AskResponse(answer=f"{text} [1]", abstained=False, retrieved_chunks=(chunk,))

    cases = [json.loads(line) for line in blocks("json")[0].splitlines()]
    run = evaluate(cases, answer, judge="offline", root=tmp_path, save=False)
    assert [row["outcome"] for row in run.rows()] == ["passed", "passed"]


def test_the_thresholds_of_the_documents_are_valid(tmp_path: Path) -> None:
    from pytest_rageval.project.threshold_keys import KnownNames
    from pytest_rageval.project.thresholds import parse_thresholds

    guide = (ROOT / "docs" / "thresholds.md").read_text(encoding="utf-8")
    found = [*blocks("toml"), *re.findall(r"```toml\n(.*?)```", guide, flags=re.DOTALL)]
    parsed = [
        parse_thresholds(
            text,
            display="t.toml",
            known=KnownNames(categories={"multi_hop", "policies"}, tags={"work"}),
        )
        for text in found
        if "[overall]" in text
    ]
    assert [len(thresholds.checks) for thresholds in parsed] == [3, 7]


def test_every_link_of_the_documents_leads_somewhere() -> None:
    links = [
        (page, target)
        for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    ]
    assert len(links) > 20
    for page, target in links:
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_page_on_runs_names_the_group_of_options_that_pytest_prints() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--help"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    page = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")
    (group,) = re.findall(r"`pytest --help`, group \*([^*]+)\*", page)
    assert f"\n{group}:\n" in done.stdout
