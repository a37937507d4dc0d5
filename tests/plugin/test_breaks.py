"""Five ways to break a chatbot, and a flaky one: the headline of each face says the cause."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import pytest

from pytest_rageval.cli.main import run as rageval
from pytest_rageval.runs.tags import write_tag
from tests.plugin.scratch import NO_PAGE, PYPROJECT, Project
from tests.plugin.small_bot import CASES, Fault, SmallBot, small_bot

LIMITS = """version = 1
baseline = "main"
[overall]
recall_at_k = ">= 0.9"
mrr = ">= 0.8"
abstention_accuracy = ">= 0.7"
latency_ms.p95 = "<= 500"
"""
LINES = 24


@pytest.fixture
def bot(project: Project) -> Iterator[SmallBot]:
    """A bot that works, whose run is the baseline of its project."""
    project.cases(CASES)
    project.write("thresholds.toml", LIMITS)
    project.write("conftest.py", "")
    with small_bot() as served:
        target = f'url = "{served.url}/ask"\nretries = 0'
        settings = PYPROJECT.replace("retries = 0", target).replace(NO_PAGE, "")
        project.write("pyproject.toml", settings)
        assert project.run("--rageval-run-id", "good").ret == 0
        write_tag(project.path / "evals" / "results", "main", "good")
        yield served


def unescaped(markdown: str) -> str:
    return re.sub(r"\\(?=\W)|\\(?=_)", "", markdown)


@pytest.mark.parametrize(
    ("fault", "verdict", "causes"),
    [
        ("one_chunk", "unproven", ["every reply held 1 of 5 chunks, main 5"]),
        ("reversed", "worse", ["the evidence came back for 11 of 11, at mean rank 4.4, main 1.3"]),
        ("answers_all", "worse", ["4 of 4 in category unanswerable", "all 4 hallucinated"]),
        ("slow", "worse", ["times slower ("]),
        ("crash", "worse", ["http in 4 of 15 cases: HTTP 500"]),
        ("flaky", "no difference", ["7 of 15 cases vary"]),
    ],
)
def test_the_cause_is_in_the_headline_of_each_face(
    project: Project,
    bot: SmallBot,
    capsys: pytest.CaptureFixture[str],
    fault: Fault,
    verdict: str,
    causes: list[str],
) -> None:
    bot.fault = fault
    repeats = ("--rageval-repeats", "5") if fault == "flaky" else ()
    result = project.run("--rageval-run-id", "broken", *repeats)
    assert result.ret == 1
    printed = result.stdout.str()
    end = printed[printed.index("= rageval =") :].splitlines()
    assert len(end) <= LINES
    capsys.readouterr()
    rageval(["compare", "main", "broken"])
    compared = capsys.readouterr().out.partition("\nbase ")[0]
    summary = (project.folder("broken") / "summary.md").read_text(encoding="utf-8")
    assert len(summary.splitlines()) < 60
    whole = (project.folder("broken") / "report.html").read_text(encoding="utf-8")
    first = whole.partition('id="verdict"')[2].partition('class="tiles"')[0]
    page = html.unescape(re.sub("<[^>]*>", "", first))
    for face in ("\n".join(end), compared, unescaped(summary.partition("<details>")[0]), page):
        said = " ".join(face.split())
        assert verdict in said
        for cause in causes:
            assert cause in said


def test_the_reason_of_the_server_is_in_the_terminal_and_in_no_comment(
    project: Project, bot: SmallBot
) -> None:
    bot.fault = "crash"
    printed = project.run("--rageval-run-id", "broken").stdout.str()
    assert "KeyError: 'embedding'" in printed
    assert "embedding" not in (project.folder("broken") / "summary.md").read_text(encoding="utf-8")


def test_without_a_baseline_the_last_full_run_is_compared(project: Project, bot: SmallBot) -> None:
    project.write("thresholds.toml", LIMITS.replace('baseline = "main"\n', ""))
    bot.fault = "answers_all"
    project.run("--rageval-run-id", "part", "-k", "fact")
    printed = " ".join(project.run("--rageval-run-id", "whole").stdout.str().split())
    assert "since main, worse: 4 newly failing; 0 fixed" in printed
    printed = " ".join(project.run("--rageval-run-id", "again").stdout.str().split())
    assert "since whole, no difference: 0 newly failing; 0 fixed" in printed
