from __future__ import annotations

import pytest

from tests.plugin.scratch import (
    CASES,
    CONFTEST,
    FROM_8_3,
    QUIET,
    REFUSED,
    Project,
    case,
    checks,
    outcomes,
)

EVALS = "evals/eval_set.jsonl"


def run_exactly(project: Project, *arguments: str) -> pytest.RunResult:
    """Run with these arguments, which need not name the cases."""
    if "-n" in arguments:
        return project.pytester.runpytest_subprocess(*arguments, *QUIET)
    return project.pytester.runpytest_inprocess(*arguments, *QUIET)


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (("-k", "multi_hop"), ["ok-2", "short-1"]),
        (("-k", "unanswerable"), ["out-1"]),
        (("-k", "answerable"), ["ok-1", "ok-2", "out-1", "short-1"]),
        (("-k", "work"), ["ok-2"]),
        (("-k", "hard"), ["short-1"]),
        *(
            pytest.param(("-m", f"case({text})"), asked, marks=FROM_8_3)
            for text, asked in (
                ("category='multi_hop'", ["ok-2", "short-1"]),
                ("category='multi_hop', difficulty='hard'", ["short-1"]),
                ("answerable=False", ["out-1"]),
            )
        ),
        ((f"{EVALS}::ok-2",), ["ok-2"]),
        ((f"{EVALS}::ok-2", f"{EVALS}::out-1"), ["ok-2", "out-1"]),
    ],
)
def test_only_selected_cases_are_asked(
    project: Project, arguments: tuple[str, ...], asked: list[str]
) -> None:
    assert project.run(*arguments).ret == 0
    assert sorted(project.records()) == asked


def test_last_failed_reruns_misses_and_errors_and_no_check(project: Project) -> None:
    project.cases([*CASES, REFUSED])
    assert project.run("--rageval-run-id", "first").ret == 1
    result = project.run("--lf", "-v", "--rageval-results", "again")
    rerun = [line.split()[0] for line in result.outlines if line.startswith(f"{EVALS}::")]
    assert rerun == [f"{EVALS}::short-1", f"{EVALS}::dead-1"]
    result.stdout.fnmatch_lines(["run-last-failure: rerun previous 2 failures"])


def test_a_check_over_a_part_of_the_set_is_skipped(project: Project) -> None:
    result = project.run("-k", "ok-1", "-rs")
    assert result.ret == 0
    assert checks(project.stored("gate.json")) == {"recall_at_k": "skip", "error_rate": "pass"}
    result.stdout.fnmatch_lines(["*needs the whole set (1 of 4 cases selected)*"])


def test_a_category_with_a_case_left_out_is_not_decided(project: Project) -> None:
    project.write("thresholds.toml", '[category.multi_hop]\nrecall_at_k = ">= 0.9"\n')
    assert project.run("-k", "short").ret == 0
    assert checks(project.stored("gate.json"))["recall_at_k [multi_hop]"] == "skip"


LIMITS = """
[overall]
recall_at_k = ">= 0.9"
[category.multi_hop]
recall_at_k = ">= 0.4"
[category.other]
recall_at_k = ">= 0.4"
"""


def test_a_file_that_is_named_is_the_set_of_its_run(project: Project) -> None:
    project.cases([case("other-1", "hit", category="other"), case("b", "hit")], "second")
    project.write("thresholds.toml", LIMITS)
    assert project.run(EVALS, "--rageval-run-id", "one").ret == 1
    found = project.stored("gate.json")
    # One of three recalls is missing; the other category is in the other file.
    assert checks(found) == {
        "recall_at_k": "fail",
        "recall_at_k [multi_hop]": "pass",
        "recall_at_k [other]": "skip",
        "error_rate": "pass",
    }
    assert project.run("evals/second.jsonl").ret == 0
    assert project.run(EVALS, "-k", "ok", "--rageval-results", "part").ret == 0


def test_selecting_nothing_is_exit_5(project: Project) -> None:
    assert project.run("-k", "no_such_case").ret == 5
    assert project.run_folders() == []


@pytest.mark.slow
def test_selecting_nothing_is_exit_5_with_workers(project: Project) -> None:
    assert project.run("-k", "no_such_case", "-n", "2").ret == 5


def test_collect_only_asks_nothing_and_writes_nothing(project: Project) -> None:
    project.write("conftest.py", "raise_if_asked = True\n" + ASKED)
    assert project.run("--collect-only", "-q").ret == 0
    assert not (project.path / "asked").exists()
    assert project.run_folders() == []


ASKED = """
import pathlib, pytest
@pytest.fixture(scope="session")
def rag_client():
    def ask(request):
        pathlib.Path("asked").write_text(request.question, encoding="utf-8")
        return {"answer": "something"}
    return ask
"""


def test_jsonl_files_outside_the_test_paths_are_left_alone(project: Project) -> None:
    project.write("data/rows.jsonl", '{"row": 1}\n')
    project.write("evals/results/old.jsonl", '{"row": 1}\n')
    assert project.run().ret == 0
    assert sorted(project.records()) == sorted(c["id"] for c in CASES)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (".",),
        ("-k", "ok"),
        pytest.param(("tests", "-n", "2"), marks=pytest.mark.slow),
        ("-m", "not case"),
        ("--lf",),
    ],
)
def test_a_session_that_does_not_name_the_cases_leaves_them_out(
    project: Project, arguments: tuple[str, ...]
) -> None:
    project.write("tests/test_unit.py", "def test_ok(): pass\n")
    result = run_exactly(project, *arguments)
    assert result.ret == 0
    assert result.parseoutcomes()["passed"] == 1
    assert project.run_folders() == []
    if arguments[:1] != ("tests",):
        result.stdout.fnmatch_lines(
            ["rageval: evaluation cases skipped; run `pytest evals` to include them"]
        )


def test_cases_of_a_project_below_the_rootdir_are_said_to_be_left_out(project: Project) -> None:
    settings = '[tool.rageval]\njudge = "none"\nno_report = true\n'
    project.write("packages/a/pyproject.toml", settings)
    project.write("packages/a/conftest.py", CONFTEST)
    project.write("packages/a/tests/test_unit.py", "def test_ok(): pass\n")
    project.cases(CASES, "../packages/a/evals/eval_set")
    result = project.run("packages/a/evals")
    assert result.ret == 5
    advice = (
        "rageval: cases left out, since their project is not the rootdir of pytest: give --rootdir "
        "packages/a, or run it alone with a table [tool.pytest.ini_options] in its pyproject.toml"
    )
    assert advice in result.outlines
    assert advice in project.run("packages/a").outlines
    assert "left out" not in project.run("packages/a/tests").stdout.str()
    assert outcomes(project.run("--rootdir", "packages/a", "packages/a/evals"))["passed"] == 3
    project.write("packages/a/pyproject.toml", settings + "[tool.pytest.ini_options]\n")
    assert outcomes(project.run("packages/a/evals"))["passed"] == 3
    both = ("packages/a/evals", "packages/b/tests")
    project.write("packages/b/tests/test_unit.py", "def test_ok(): pass\n")
    assert advice in project.run(*both).outlines
    assert outcomes(project.run("--rootdir", "packages/a", *both))["passed"] == 4


@pytest.mark.parametrize(
    "arguments",
    [
        ("evals",),
        ("tests", "evals"),
        ("evals/eval_set.jsonl::ok-1",),
        pytest.param(("-m", "case(category='multi_hop')"), marks=FROM_8_3),
        ("--rageval-concurrency", "2"),
        pytest.param(("-n", "2", "evals"), marks=pytest.mark.slow),
    ],
)
def test_a_path_the_marker_or_an_option_asks_for_cases(
    project: Project, arguments: tuple[str, ...]
) -> None:
    project.write("tests/test_unit.py", "def test_ok(): pass\n")
    run_exactly(project, *arguments)
    assert len(project.run_folders()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("-m", "case(failure='wrong_date')"), marks=FROM_8_3),
        ("-k", "failure:wrong_date"),
    ],
)
def test_cases_are_selected_by_the_failure_that_a_reader_named(
    project: Project, arguments: tuple[str, ...]
) -> None:
    tagged = {"id": "read", "question": "hit one", "tags": ["failure:wrong_date", "failure:rude"]}
    project.cases([*CASES, tagged])
    project.run(*arguments)
    assert list(project.records()) == ["read"]


def test_last_failed_asks_for_the_cases_that_missed(project: Project) -> None:
    project.run("--rageval-results", "before")
    run_exactly(project, "--lf")
    assert list(project.records()) == ["short-1"]


def test_a_file_of_answers_beside_the_cases_is_left_alone_with_one_note(project: Project) -> None:
    lines = '{"id": "ok-1", "question": "hit one", "answer": "yes"}\n{"broken\n'
    project.write("evals/responses.jsonl", lines)
    project.write("evals/labels_of_people.jsonl", '{"case": "ok-1", "verdict": 1}\n')
    result = project.run("evals")
    assert result.ret == 0
    assert sorted(project.records()) == ["ok-1", "ok-2", "out-1", "short-1"]
    text = " ".join(result.stdout.str().split())
    for name, keys in (
        ("responses", "id, question, answer"),
        ("labels_of_people", "case, verdict"),
    ):
        note = f"evals/{name}.jsonl is not a case file (its lines hold {keys}), so it was left"
        assert text.count(note) == 1
    assert project.run("evals/responses.jsonl").ret == 2


def test_a_case_with_a_misspelled_field_is_a_fault_of_its_file(project: Project) -> None:
    project.write("evals/more.jsonl", '{"id": "x", "qestion": "hit one", "gold_supports": []}\n')
    result = project.run("evals")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*evals/more.jsonl:1:*qestion*"])
