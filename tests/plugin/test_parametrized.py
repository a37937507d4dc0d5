"""A parametrized fixture: one run of several systems, each case once for each of them."""

from __future__ import annotations

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.runs.read import read_run
from tests.plugin.long_runs import document, figures, lines_of
from tests.plugin.scratch import CASES, CONFTEST, Project

TWO_SYSTEMS = CONFTEST.replace(
    '@pytest.fixture(scope="session")\ndef rag_client():\n'
    "    return lambda request: reply(request.question)\n",
    """
@pytest.fixture(scope="session", params=["old", "new"])
def rag_client(request):
    def answer(ask):
        with open(f"asked-{request.param}", "a", encoding="utf-8") as asked:
            asked.write(ask.question + "\\n")
        question = ask.question
        return reply(question if request.param == "new" else question.replace("hit", "miss"))
    return answer
""",
)
NAMES = sorted(f"{one['id']}[{system}]" for one in CASES for system in ("old", "new"))


@pytest.fixture
def two_systems(project: Project) -> Project:
    assert TWO_SYSTEMS.count("request.param") == 2
    project.write("conftest.py", TWO_SYSTEMS)
    return project


def names_of(project: Project, run_id: str) -> list[str]:
    records = lines_of(project.folder(run_id))
    return sorted(record["case_id"] + record["parameters"] for record in records)


def test_the_failures_of_each_system_are_selected_on_their_own(two_systems: Project) -> None:
    two_systems.run("--rageval-run-id", "one")
    two_systems.run("--rageval-failed-from", "one", "--rageval-run-id", "two")
    assert names_of(two_systems, "two") == [
        "ok-1[old]",
        "ok-2[old]",
        "short-1[new]",
        "short-1[old]",
    ]


def test_shards_together_are_the_whole_run(two_systems: Project) -> None:
    for shard in ("1/2", "2/2"):
        two_systems.run("--rageval-shard", shard, "--rageval-run-id", f"s{shard[0]}")
    whole = two_systems.run("--rageval-run-id", "whole")
    assert cli.run(["merge", "s1", "s2", "--run-id", "merged"]) == whole.ret
    assert names_of(two_systems, "merged") == NAMES
    merged = document(two_systems.folder("merged"))
    assert figures(merged) == figures(document(two_systems.folder("whole")))


def test_each_system_counts_on_its_own_and_commands_tell_them_apart(
    two_systems: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    two_systems.run("--rageval-run-id", "one")
    two_systems.run("--rageval-run-id", "two")
    assert names_of(two_systems, "two") == NAMES
    recall = document(two_systems.folder("two"))["metrics"]["recall_at_k"]
    assert (recall["n"], recall["mean"]) == (6, pytest.approx(2 / 6))
    names = [record.name for record in read_run(two_systems.folder("two")).records]
    assert names.count("ok-1[old]") == 1
    capsys.readouterr()
    assert cli.run(["compare", "one", "two", "--json"]) == 0
    assert '"n_paired": 8' in capsys.readouterr().out
    assert cli.run(["explain", "one", "ok-1[old]"]) == 0
    assert "not_retrieved" in capsys.readouterr().out
    assert cli.run(["explain", "one", "ok-1[new]"]) == 0
    assert "ok-1[new]" in capsys.readouterr().out
    assert cli.run(["explain", "one", "ok-1"]) == 2
    assert "ok-1[old]" in capsys.readouterr().err
