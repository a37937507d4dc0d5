from __future__ import annotations

import json
import os
import warnings

import pytest

from tests.build.root_rights import without_root_rights
from tests.build.targets import unused_port
from tests.plugin.scratch import CASES, CONFTEST, SERIAL_AND_PARALLEL, Project, case


def test_a_misspelt_metric_is_a_usage_error_at_its_place(project: Project) -> None:
    project.write("thresholds.toml", 'version = 1\n[overall]\nrecal_at_k = ">= 0.9"\n')
    result = project.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*thresholds.toml:3: unknown metric*recal_at_k*did you mean*recall_at_k*"]
    )


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("thresholds.toml", 'version = 1\n"\\u202e\\u001b[2Jx\\u0007" = 1\n'),
        ("pyproject.toml", '[tool.rageval]\n"\\u202e\\u001b[2Jx\\u0007" = 1\n'),
    ],
)
def test_what_a_refusal_quotes_cannot_steer_a_terminal(
    project: Project, file: str, text: str
) -> None:
    project.write(file, text)
    result = project.run()
    assert result.ret == 4
    said = "\n".join(result.errlines)
    assert f"{file}" in said
    assert "x" in said
    assert not {"\u202e", "\x1b", "\x07"} & set(said)


OWN_JUDGE = """
from pytest_rageval import Judgement, Verdict

class Quality:
    identity = "quality/1"
    def __init__(self, inner=None):
        self.inner = inner
    def judge(self, rubric, request, *, repeat=0):
        if rubric != "quality" and self.inner is not None:
            return self.inner.judge(rubric, request, repeat=repeat)
        verdict = Verdict(scores={f"{rubric}.overall" if rubric == "quality" else rubric: 1.0})
        return Judgement(rubric=rubric, rubric_version="1", judge=self.identity, verdict=verdict)
"""
ALONE = "\n@pytest.fixture(scope='session')\ndef judge():\n    return Quality()\n"
AROUND = "\n@pytest.fixture(scope='session')\ndef judge(judge):\n    return Quality(judge)\n"


@pytest.mark.parametrize("fixture", [ALONE, AROUND], ids=["alone", "around"])
def test_a_fixture_may_judge_by_rubrics_that_the_offline_judge_lacks(
    project: Project, fixture: str
) -> None:
    project.write("conftest.py", CONFTEST + OWN_JUDGE + fixture)
    rubrics = ("--judge=offline", "--judge-rubrics=groundedness,quality")
    assert project.run("evals", *rubrics).ret == 0
    assert project.stored("metrics.json")["metrics"]["quality.overall"]["mean"] == 1.0


def test_every_fault_of_a_case_file_is_told_at_once(project: Project) -> None:
    good = json.dumps(CASES[0])
    lines = [
        good,
        '{"id": "broken", "question": "hit',
        json.dumps(case("typo", "hit") | {"catgory": "x"}),
        json.dumps({"id": "no-question"}),
        json.dumps(case("wrong", "hit") | {"k": "five"}),
    ]
    project.write("evals/eval_set.jsonl", "\n".join(lines) + "\n")
    result = project.run()
    assert result.ret == 2
    told = result.stdout.str() + result.stderr.str()
    for line in range(2, 6):
        assert f"evals/eval_set.jsonl:{line}" in told
    # Once: pytest writes the reason of an exit to both streams.
    assert told.count('catgory: unknown field, did you mean "category"') == 1
    assert project.run_folders() == []


@SERIAL_AND_PARALLEL
def test_no_target_is_a_usage_error_that_shows_the_three_ways(
    project: Project, workers: tuple[str, ...]
) -> None:
    (project.path / "conftest.py").unlink()
    result = project.run(*workers)
    assert result.ret == 4
    told = result.stderr.str()
    assert all(way in told for way in ("rag_client", "--rag-url", "vault"))


def unreachable(project: Project, n: int = 4) -> tuple[str, ...]:
    (project.path / "conftest.py").unlink()
    project.cases([case(f"q-{i}", "hit") for i in range(n)])
    return "--rag-url", f"http://127.0.0.1:{unused_port()}"


def test_an_unreachable_api_gives_an_error_record_for_every_case(project: Project) -> None:
    result = project.run(*unreachable(project))
    assert result.ret == 1
    assert result.parseoutcomes()["errored"] == 4
    result.stdout.fnmatch_lines(["FAILED thresholds.toml::error_rate*"])
    assert [r["error"]["kind"] for r in project.records().values()] == ["connection"] * 4


def test_the_run_gives_up_after_connection_errors_in_a_row(project: Project) -> None:
    one_by_one = ("--rageval-concurrency", "1")  # of many in flight, more have begun by then
    result = project.run(*unreachable(project, 5), "--rageval-max-errors", "2", *one_by_one)
    kinds = [r["error"]["kind"] for r in project.records().values()]
    assert kinds == ["connection"] * 2 + ["not_attempted"] * 3
    told = [line for line in result.outlines if line.startswith("note ")]
    assert len([line for line in told if "gave up after 2 connection errors" in line]) == 1


def test_a_missing_secret_is_one_usage_error(project: Project) -> None:
    project.write(
        "pyproject.toml",
        '[tool.rageval.target]\nurl = "http://127.0.0.1:9"\nheaders = {X-Key = "env:NOT_SET_X"}\n',
    )
    result = project.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*NOT_SET_X*"])


@pytest.mark.parametrize("made", ["evals", "evals/results"])
def test_a_results_folder_that_cannot_be_written_is_refused_before_anything_is_asked(
    project: Project, made: str
) -> None:
    folder = project.path / made
    folder.mkdir(exist_ok=True)
    folder.chmod(0o555)
    try:
        with without_root_rights():
            result = project.run()
    finally:
        folder.chmod(0o755)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*/{made} cannot be written*--rageval-results*"])


def test_a_project_that_cannot_be_written_is_warned_of_by_pytest_alone(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    results = tmp_path_factory.mktemp("elsewhere")
    options = (
        "-W",
        "default::pytest.PytestCacheWarning",
        "--rageval-results",
        str(results),
        "evals",
    )
    project.path.chmod(0o555)
    try:
        with without_root_rights(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = project.run(*options)
    finally:
        project.path.chmod(0o755)
    assert result.ret == 0
    assert "PytestCacheWarning" in result.stdout.str()
    assert caught == []


@pytest.mark.parametrize(
    ("direction", "line", "fault"),
    [
        ("response", 'anwser = "text"', "unknown field 'anwser'*did you mean*answer"),
        ("request", 'query = "question["', "request.query: bad JMESPath expression"),
    ],
)
def test_a_wrong_mapping_is_a_usage_error_before_anything_is_collected(
    project: Project, direction: str, line: str, fault: str
) -> None:
    project.write("conftest.py", "")
    project.write(
        "pyproject.toml",
        f'[tool.rageval.target]\nurl = "http://127.0.0.1:{unused_port()}"\n'
        f"[tool.rageval.target.{direction}]\n{line}\n",
    )
    result = project.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{fault}*".replace("[", "[[]")])
    assert "collected" not in result.stdout.str()
    assert project.run_folders() == []


LIMITED = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))\n"


@pytest.mark.skipif(os.name == "nt", reason="that system has no such limit")
def test_a_process_that_may_open_too_few_files_is_refused_before_the_first_case(
    project: Project,
) -> None:
    project.cases([case(f"c{n}", f"hit number {n}") for n in range(9)])
    project.write("conftest.py", CONFTEST + LIMITED.format(soft=24, hard=24))
    result = project.run_apart("--rageval-concurrency", "12")
    assert result.ret == 4
    text = result.stdout.str() + result.stderr.str()
    assert "24 files and connections may be open at once, and concurrency 12 needs 29" in text
    assert "ulimit -n" in text
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    assert project.run_folders() == []


def test_each_fault_ends_with_its_code_under_v(project: Project) -> None:
    project.write("evals/cases.jsonl", '{"id": "a"}\n')
    result = project.run("-v")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*cases.jsonl:1: question: missing [[]input.missing[]]"])
    project.write("pyproject.toml", "[tool.rageval]\ncutoff = 3\n")
    result = project.run("-v")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*pyproject.toml:2:*cutoff: unknown key*[[]input.unknown[]]"])
