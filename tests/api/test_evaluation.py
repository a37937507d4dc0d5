"""A function evaluated over cases in one call, with the records and numbers of a pytest session."""

from __future__ import annotations

import _thread
import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import (
    AskRequest,
    AskResponse,
    Case,
    ConfigError,
    DatasetError,
    Judgement,
    JudgeRequest,
    RetrievedChunk,
    Run,
    Verdict,
    compare_runs,
    evaluate,
    load_cases,
    load_run,
)
from tests.build.files import write_lines
from tests.build.run_files import documents
from tests.build.shared_data import shared_path
from tests.plugin.scratch import CASES, CONFTEST, THRESHOLDS, case

ROOT = Path(__file__).parents[2]
SET = Path("evals/eval_set.jsonl")
RESULTS = Path("evals/results")


def verdict(run: Run) -> str:
    """Verdict of the gate of a run."""
    assert run.gate is not None
    return run.gate.verdict


def reply(request: AskRequest) -> AskResponse:
    """Answer as the target of the scratch project does."""
    word = request.question.split()[0]
    if word == "abstain":
        return AskResponse(answer="I do not know.", abstained=True, retrieved_chunks=())
    path = "a.md" if word == "hit" else "b.md"
    chunk = RetrievedChunk(rel_path=path, heading_path="# A", text="the note says what it says.")
    return AskResponse(answer="The answer text.", abstained=False, retrieved_chunks=(chunk,))


@pytest.fixture(autouse=True)
def _cases(project: Path) -> None:
    Path("pyproject.toml").write_text("[tool.rageval]\nno_report = true\n", encoding="utf-8")
    Path("thresholds.toml").write_text(THRESHOLDS, encoding="utf-8")
    write_lines(SET, *CASES)


def by_pytest(*arguments: str, run_id: str = "session") -> Path:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    subprocess.run([*command, "--rageval-run-id", run_id], capture_output=True, check=False)
    return RESULTS / run_id


# --- as pytest does it ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [1, 2])
def test_a_function_has_the_records_and_numbers_of_a_session_with_it_as_a_fixture(
    repeats: int,
) -> None:
    Path("conftest.py").write_text(CONFTEST, encoding="utf-8")
    namespace: dict[str, Any] = {}
    exec(CONFTEST, namespace)
    session = documents(by_pytest("evals", "--rageval-repeats", str(repeats)))
    run = evaluate(
        "evals", lambda request: namespace["reply"](request.question), repeats=repeats, run_id="two"
    )
    assert run.folder is not None
    assert documents(run.folder) == session
    assert len(run.rows()) == len(session["results"]) == 4 * repeats
    assert verdict(run) == "pass"


def copy_example(root: Path) -> None:
    """Bring the example of the repository, of which every fourth case is asked."""
    lines = (ROOT / "evals/eval_set.jsonl").read_text("utf-8").splitlines(keepends=True)
    SET.write_text("".join(lines[::4]), encoding="utf-8")
    text = f'[tool.rageval.target]\nvault = "{ROOT / "evals/vault"}"\n'
    Path("pyproject.toml").write_text(text, encoding="utf-8")


@pytest.mark.slow
def test_the_target_of_the_settings_has_the_records_and_numbers_of_a_session(
    project: Path,
) -> None:
    copy_example(project)
    session = documents(by_pytest("evals"))
    run = evaluate("evals", root=project, run_id="notebook")
    assert run.folder == project / RESULTS / "notebook"
    assert documents(run.folder) == session
    assert {path.name for path in run.folder.iterdir()} >= {"report.html", "summary.md"}


@pytest.mark.slow
def test_the_shared_cases_have_the_records_and_numbers_of_a_session() -> None:
    shared = shared_path("data", "rag")
    lines = (shared / "eval_set.jsonl").read_text("utf-8").splitlines(keepends=True)
    SET.write_text("".join(lines[::5]), encoding="utf-8")
    shutil.copytree(shared / "vault", "dev")  # as its cases name it
    Path("pyproject.toml").write_text('[tool.rageval.target]\nvault = "dev"\n', encoding="utf-8")
    session = documents(by_pytest("evals"))
    run = evaluate("evals", run_id="notebook")
    assert run.folder is not None
    assert [record.status for record in run.records] == ["ok"] * 31
    assert documents(run.folder) == session
    assert load_run("notebook").rows() == run.rows()


def test_a_run_is_read_again_as_it_was_returned() -> None:
    run = evaluate(SET, reply)
    again = load_run("last")
    assert (run.run_id, run.folder) == (again.run_id, again.folder)
    assert run.rows() == again.rows()
    assert (run.aggregate, run.gate, run.config) == (again.aggregate, again.gate, again.config)
    assert run.config.asked == ("reply(), given to evaluate()",)


# --- cases ------------------------------------------------------------------------------------


def test_cases_of_a_file_that_are_given_as_values_are_the_cases_of_that_file() -> None:
    whole = evaluate(SET, reply)
    some = [one for one in load_cases(SET) if one.category == "multi_hop"]
    part = evaluate(some, reply)
    assert [row["file"] for row in part.rows()] == ["evals/eval_set.jsonl"] * 2
    assert [record.lineno for record in part.records] == [2, 3]
    assert len(compare_runs(whole, part).view.found.comparison.pairing.pairs) == 2
    assert part.config.set == whole.config.set


def test_other_cases_make_up_a_set_of_their_own() -> None:
    given: list[Any] = [
        Case(id="new", question="hit new"),
        {"id": "two", "question": "miss two", "k": 3},
    ]
    run = evaluate(given, reply)
    assert [(r["file"], r["case_id"], r["k"]) for r in run.rows()] == [
        ("in-memory", "new", 5),
        ("in-memory", "two", 3),
    ]
    assert run.config.set.n_cases == 2
    mixed = evaluate([*given, load_cases(SET)[0]], reply)
    assert [row["file"] for row in mixed.rows()] == ["evals/eval_set.jsonl", *["in-memory"] * 2]
    assert mixed.config.set.n_cases == 6


def test_faults_of_given_cases_name_their_places() -> None:
    given: list[Any] = [
        Case(id="a", question=""), {"id": "b", "question": "?", "gold": []},
        Case(id="c", question="?"), Case(id="c", question="!"), "d",
    ]  # fmt: skip
    with pytest.raises(DatasetError) as found:
        evaluate(given, reply)
    lines = str(found.value).splitlines()
    assert [line.split(":")[0] for line in lines] == [f"cases[{n}]" for n in (0, 1, 3, 4)]
    assert "'c' is already that of cases[2]" in lines[2]
    with pytest.raises(DatasetError, match="expected at least one case"):
        evaluate([], reply)
    assert not RESULTS.exists()


# --- target and judge -------------------------------------------------------------------------


def test_as_many_cases_as_asked_for_are_in_flight() -> None:
    meeting = threading.Barrier(4, timeout=30)

    def client(request: AskRequest) -> AskResponse:
        meeting.wait()
        return reply(request)

    run = evaluate(SET, client, concurrency=4)
    assert {record.status for record in run.records} == {"ok"}
    assert run.config.concurrency == 4


def test_an_exception_of_the_function_is_an_error_of_its_case() -> None:
    def client(request: AskRequest) -> AskResponse:
        if request.question == "hit two":
            raise ValueError("no such note")
        return reply(request)

    rows = {row["case_id"]: row for row in evaluate(SET, client).rows()}
    assert rows["ok-2"]["error_kind"] == "raised"
    assert "no such note" in rows["ok-2"]["error_message"]
    assert rows["ok-2"]["recall_at_k"] is None
    assert rows["ok-1"]["recall_at_k"] == 1


class Judge:
    """A judge of a user."""

    identity = "mine/1"

    def judge(self, rubric: str, request: JudgeRequest, *, repeat: int = 0) -> Judgement:
        verdict = Verdict(scores={rubric: 4.0}, abstained=False)
        return Judgement(rubric=rubric, rubric_version="1", judge=self.identity, verdict=verdict)


def test_the_judge_is_that_of_the_settings_a_name_or_an_object() -> None:
    judged = {row["case_id"]: row for row in evaluate(SET, reply, judge=Judge()).rows()}
    assert judged["ok-1"]["groundedness"] == 4.0
    assert evaluate(SET, reply).config.settings.judge == "offline"
    unjudged = evaluate(SET, reply, judge="none")
    assert unjudged.config.settings.judge == "none"
    assert {row["groundedness"] for row in unjudged.rows()} == {None}
    wrong: Any = 3
    with pytest.raises(ConfigError, match=r"judge: got an int, expected an object with judge\("):
        evaluate(SET, reply, judge=wrong)


def test_metrics_of_an_own_rubric_count() -> None:
    folder = Path("evals/rubrics")
    folder.mkdir()
    (folder / "tone.jinja").write_text("{# data: question, answer #}\nRate it.\n", "utf-8")
    schema = {
        "type": "object",
        "properties": {"polite": {"type": "integer", "minimum": 1, "maximum": 5}},
        "required": ["polite"],
    }
    (folder / "tone.schema.json").write_text(json.dumps(schema), "utf-8")

    class Tone(Judge):
        def judge(self, rubric: str, request: JudgeRequest, *, repeat: int = 0) -> Judgement:
            verdict = Verdict(scores={"tone.polite": 4.0}, abstained=False)
            return Judgement(rubric=rubric, rubric_version="1", judge="t/1", verdict=verdict)

    run = evaluate(SET, reply, judge=Tone(), judge_rubrics=["evals/rubrics/tone.jinja"])
    assert run.means["tone.polite"] == 4.0
    assert {row["tone.polite"] for row in run.rows()} >= {4.0}
    assert "tone.polite" in run.config.metric_definitions
    assert "tone.polite" in run._repr_html_()


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (None, r"evaluate\(\): no target given, and the settings name none; expected a function"),
        ("acme:client", r"evaluate\(\): target: got a str, expected an object with ask\(request\)"),
    ],
)
def test_a_target_that_cannot_be_asked_is_an_error_before_the_run(
    target: object, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        evaluate(SET, target)
    assert not RESULTS.exists()


# --- settings ---------------------------------------------------------------------------------


def test_options_win_over_the_settings_of_the_project() -> None:
    Path("pyproject.toml").write_text("[tool.rageval]\nk = 2\nparams = {a = 1}\n", "utf-8")
    seen: list[AskRequest] = []

    def client(request: AskRequest) -> AskResponse:
        seen.append(request)
        return reply(request)

    options: dict[str, Any] = {"k": 3, "params": {"b": True}, "judge_rubrics": ["correctness"]}
    run = evaluate(SET, client, gates=["hit_at_k>=0.99"], no_report=True, **options)
    assert {(r.k, r.params["a"], r.params["b"]) for r in seen} == {(3, 1, True)}
    assert run.config.settings.judging.rubrics == ("correctness",)
    assert verdict(run) == "fail"
    assert evaluate(SET, client).records[0].k == 2


# --- files ------------------------------------------------------------------------------------


def test_a_run_that_is_not_saved_leaves_nothing_and_can_be_compared(project: Path) -> None:
    before = sorted(project.rglob("*"))
    run = evaluate(SET, reply, save=False)
    assert sorted(project.rglob("*")) == before
    assert run.folder is None
    assert run.means == evaluate(SET, reply).means
    assert compare_runs(run, "last").to_dict()["n_paired"] == 4
    run._repr_html_()


def interrupting(after: int, how: Callable[[], object]) -> Callable[[AskRequest], AskResponse]:
    """A client that presses Ctrl-C while it answers a question."""
    asked: Iterator[int] = iter(range(1000))

    def client(request: AskRequest) -> AskResponse:
        if (number := next(asked)) == after:
            how()
        if number > after:
            time.sleep(0.02)  # or all end on a busy machine before the main thread is interrupted
        return reply(request)

    return client


def press() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("concurrency", "how"), [(1, press), (2, _thread.interrupt_main)], ids=["one", "two"]
)
def test_an_interrupted_run_keeps_what_was_measured_and_can_be_continued(
    concurrency: int, how: Callable[[], object]
) -> None:
    write_lines(SET, *(case(f"c{n:03}", "hit it") for n in range(100)))
    with pytest.raises(KeyboardInterrupt) as stopped:
        evaluate(SET, interrupting(20, how), concurrency=concurrency, run_id="cut")
    cut = load_run("cut")
    # At most two other threads had a case in flight.
    assert 18 <= len(cut.records) < 100
    assert verdict(cut) == "not_evaluated"
    (note,) = stopped.value.__notes__
    assert f"run cut keeps the {len(cut.records)} of 100 cases" in note
    whole = evaluate(SET, reply, concurrency=concurrency, resume="cut")
    assert (whole.run_id, len(whole.records)) == ("cut", 100)
    assert whole.means == evaluate(SET, reply).means
    assert verdict(whole) == "pass"


def test_an_interrupted_run_keeps_the_answers_that_were_received_but_not_judged() -> None:
    both, stopped = threading.Barrier(2), threading.Event()

    def stop(*_: object) -> None:
        stopped.set()
        raise KeyboardInterrupt

    class Waiting(Judge):
        def judge(self, rubric: str, request: JudgeRequest, *, repeat: int = 0) -> Judgement:
            if not stopped.is_set():
                if both.wait(10) == 0:
                    signal.pthread_kill(
                        threading.main_thread().ident or 0, signal.SIGINT
                    )  # wakes its wait
                stopped.wait(10)
                time.sleep(0.05)  # the caller ends the run meanwhile, unless it waits for this case
            return super().judge(rubric, request, repeat=repeat)

    write_lines(SET, *(case(f"c{n}", "hit it") for n in range(200)))
    before = signal.signal(signal.SIGINT, stop)
    try:
        with pytest.raises(KeyboardInterrupt):
            evaluate(SET, reply, judge=Waiting(), concurrency=2, run_id="cut")
    finally:
        signal.signal(signal.SIGINT, before)
    assert {record.status for record in load_run("cut").records} == {"ok"}
