"""Passes of cases over the stored runs of a repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.runs.read import read_documents
from pytest_rageval.runs.stability import CaseStability, case_stability, runs_of_main
from pytest_rageval.values.settings import Settings
from tests.build.repository import NEEDS_GIT, Repository, forget_git
from tests.build.runs import scored

pytestmark = NEEDS_GIT


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A repository whose main branch has six runs of three cases, and a branch with one."""
    forget_git(monkeypatch)
    found = Repository(tmp_path / "project")
    for n in range(6):
        found.commit(f"step {n}")
        cases = [scored("good", 1.0), scored("never", 0.0), scored("varies", float(n % 2))]
        found.store(f"main-{n}", cases, day=n + 1)
    found.branch("change")
    found.commit("mine")
    found.store("new", [scored("varies", 0.0)], day=10)
    return found


def test_only_runs_of_the_main_branch_count_and_only_what_varies_is_unstable(
    here: Repository,
) -> None:
    main, runs = runs_of_main(Settings(rootdir=str(here.path)))
    assert (main, [run.run_id for run in runs]) == ("main", [f"main-{n}" for n in range(5, -1, -1)])
    found = {one.nodeid.split("::")[1]: one for one in case_stability(runs)}
    shown = {name: (one.rate, one.runs, one.unstable) for name, one in found.items()}
    assert shown == {
        "never": (0.0, 6, False), "varies": (0.5, 6, True), "good": (1.0, 6, False),
    }  # fmt: skip
    assert [one.runs for one in case_stability(runs, last=2)] == [2, 2, 2]


@pytest.mark.parametrize(
    ("rate", "runs", "unstable"),
    [(0.8, 5, False), (0.79, 5, True), (0.79, 4, False), (0.01, 9, True), (0.0, 9, False)],
)
def test_a_case_is_unstable_that_passed_in_some_of_five_runs_and_not_in_four_of_five(
    rate: float, runs: int, unstable: bool
) -> None:
    assert CaseStability(nodeid="a", rate=rate, runs=runs).unstable is unstable


def test_a_run_is_compared_with_those_of_its_own_history(here: Repository) -> None:
    new = read_documents(here.path / "evals" / "results" / "main-3")
    _, runs = runs_of_main(Settings(rootdir=str(here.path)), new)
    assert [run.run_id for run in runs] == ["main-2", "main-1", "main-0"]


def test_a_case_with_new_content_begins_anew_and_chosen_repeats_do_not_count(
    here: Repository,
) -> None:
    here.git("checkout", "-q", "main")
    here.commit("step 7")
    changed = [
        scored("good", 1.0, case_hash="other"),
        scored("varies", 0.0, again="failed"),
        *(scored("varies", 1.0, again="failed", repeat=n) for n in range(1, 5)),
    ]
    here.store("main-7", changed, day=8)
    _, runs = runs_of_main(Settings(rootdir=str(here.path)))
    found = {one.nodeid.split("::")[1]: (one.rate, one.runs) for one in case_stability(runs)}
    assert found["good"] == (1.0, 1)
    assert found["varies"] == (3 / 7, 7)
