from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.analysis.trust.admission import is_dev
from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.judges.calibrations import read_admissions
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.verdict import Judge, JudgeRequest, Verdict
from tests.build.judges import Opened, ScriptedJudge, scores, word_overlap
from tests.docs.examples import read_document
from tests.plugin.long_runs import WAIT_S

Output = pytest.CaptureFixture[str]
Open = Callable[[Judge], Opened]
PAGE = read_document("calibration.md")
LABELS, _, _ = PAGE.partition("\n## Corrected means\n")
"""The part of the page about this command's labels; those of a run are others."""

ROWS = [
    {"id": "a", "answer": "One. Two.", "label": "grounded", "source": "s"},
    {"id": "b", "answer": "Three.", "label": "grounded", "source": "s"},
    {"id": "c", "answer": "Four.", "label": "not_grounded", "source": "s"},
    {"id": "d", "answer": "Five.", "label": "not_grounded", "source": "t"},
]
SCORES: Mapping[str, float] = {"One. Two.": 5, "Three.": 3, "Four.": 1, "Five.": 4}


@pytest.fixture
def opened(project: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Put a fake judge in the place of the one that the settings name, asked in order."""
    monkeypatch.setenv("RAGEVAL_CONCURRENCY", "1")

    def put(judge: Judge) -> Opened:
        found = Opened(judge)
        monkeypatch.setattr("pytest_rageval.judges.opening.open_judge", found)
        return found

    return put


def write(rows: list[dict[str, Any]], name: str = "labels.jsonl") -> str:
    lines = (json.dumps({"question": "", **row}) for row in rows)
    Path(name).write_text("\n".join(lines), encoding="utf-8")
    return name


def calibrate(*arguments: str, rubric: str = "groundedness") -> int:
    return cli.run(["calibrate", "labels.jsonl", "--rubric", rubric, "--judge", "m", *arguments])


def run_json(capsys: Output, *arguments: str, rubric: str = "groundedness") -> dict[str, Any]:
    assert calibrate(*arguments, "--json", rubric=rubric) == ExitCode.YES
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


# --- figures -------------------------------------------------------------------------------------


def test_the_figures_are_one_document(opened: Open, capsys: Output) -> None:
    opened(scores(SCORES))
    write(ROWS)
    document = run_json(capsys)
    expected = {
        "schema_version": 1,
        "judge": "fake/1",
        "rubric": "groundedness",
        "rubric_version": "groundedness-v1",
        "n": 4,
        "n_error": 0,
        "auroc": 1.0,
        "auroc_pooled": 0.75,
        "kappa": 0.0,
        "accuracy": 0.5,
        "precision": 0.5,
        "recall": 0.5,
        "f1": 0.5,
        "threshold": 4.0,
        "left_out": {},
        "errors": {},
        "probes": None,
        "drift": None,
    }
    assert {name: document[name] for name in expected} == expected
    assert document["kappa_low"] <= 0.0 <= document["kappa_high"]
    found = {
        name: (row["n"], row["auroc"], row["kappa"]) for name, row in document["by_source"].items()
    }
    assert found == {"s": (3, 1.0, pytest.approx(0.4)), "t": (1, None, 0.0)}


# --- the judge -----------------------------------------------------------------------------------


def test_a_judge_that_cannot_be_reached_is_code_4(opened: Open, capsys: Output) -> None:
    judge = scores(dict.fromkeys(SCORES, "unreachable"))
    opened(judge)
    write(ROWS)
    assert calibrate() == ExitCode.UNREACHABLE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "the judge cannot be reached: no luck (2 failures in a row)" in err
    assert len(judge.asked) == 2


def test_several_answers_are_judged_at_once(
    opened: Open, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGEVAL_CONCURRENCY", "4")
    together = threading.Barrier(4)

    def say(rubric: str, request: JudgeRequest) -> Verdict:
        together.wait(WAIT_S)
        return Verdict(scores={rubric: SCORES[request.answer]})

    opened(ScriptedJudge(say))
    write(ROWS)
    document = run_json(capsys)
    assert (document["n"], document["errors"]) == (4, {})


# --- probes --------------------------------------------------------------------------------------


def test_probes_tell_how_often_longer_or_reordered_answers_win(
    opened: Open, capsys: Output
) -> None:
    def by_length(rubric: str, request: JudgeRequest) -> Verdict:
        return Verdict(scores={rubric: min(5.0, len(request.answer) / 40)})

    judge = ScriptedJudge(by_length)
    opened(judge)
    write(ROWS)
    probes = run_json(capsys, "--probes")["probes"]
    assert (probes["verbosity"]["n"], probes["verbosity"]["n_higher"]) == (4, 4)
    assert probes["verbosity"]["mean_shift"] > 3
    assert probes["verbosity"]["n_newly_passed"] == 4
    order = probes["order"]
    assert (order["n"], order["n_not_applicable"], order["n_higher"]) == (1, 3, 0)
    assert order["mean_shift"] == 0
    assert len(judge.asked) == 4 + 4 + 1
    assert judge.asked[-1][1].answer == "Two. One."


# --- what is kept --------------------------------------------------------------------------------


def test_a_saved_calibration_holds_figures_and_no_text(opened: Open, capsys: Output) -> None:
    opened(scores(SCORES))
    write([{**row, "question": "Who knows?"} for row in ROWS])
    shown = run_json(capsys, "--save")
    path = Path("evals/judge_calibration/fake%2F1-groundedness.json")
    text = path.read_text(encoding="utf-8")
    stored = json.loads(text)
    assert sorted(stored.pop("scores").values()) == [1, 3, 4, 5]
    assert stored == shown
    assert not any(word in text for word in ("Three", "Four", "Who knows"))
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_the_same_answers_judged_again_show_drift(opened: Open, capsys: Output) -> None:
    rows = [{**ROWS[0], "id": f"r{i}", "answer": f"Answer {i}."} for i in range(40)]
    opened(scores({row["answer"]: 3.0 for row in rows}))
    write(rows)
    assert run_json(capsys, "--save")["drift"] is None
    again = run_json(capsys)["drift"]
    assert (again["n"], again["drift"], again["mean_shift"]) == (40, False, 0.0)
    mild = scores({row["answer"]: 4.0 for row in rows})
    mild.version = "v2"
    opened(mild)
    moved = run_json(capsys)["drift"]
    assert (moved["drift"], moved["flip_rate"], moved["n_lost"]) == (True, 1.0, 0)
    assert (moved["rubric_version_before"], moved["mean_shift"]) == (
        "groundedness-v1",
        pytest.approx(0.2),
    )
    assert calibrate() == ExitCode.YES
    assert "the judge has drifted: mean shift +0.200 of the" in capsys.readouterr().out


# --- usage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["labels.jsonl", "--judge", "m", "--rubric", "quality"], "there are: groundedness, corr"),
        (["labels.jsonl", "--rubric", "correctness", "--judge", "none"], "no judge: expected"),
        (
            ["labels.jsonl", "--judge", "m", "--rubric", "groundedness", "--threshold", "6"],
            "6.0 is not in the range",
        ),
        (
            ["labels.jsonl", "--judge", "m", "--rubric", "abstention", "--threshold", "1"],
            "--threshold: the abstention rubric says yes or no",
        ),
        (
            ["labels.jsonl", "--judge", "m", "--rubric", "abstention", "--probes"],
            "--probes: the abstention rubric says yes or no",
        ),
        (
            ["labels.jsonl", "--judge", "m", "--rubric", "groundedness", "--judge-base-url", "h"],
            "--judge-base-url: ",
        ),
        (["none.jsonl", "--judge", "m", "--rubric", "groundedness"], "cannot be read"),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(
    opened: Open, arguments: list[str], message: str, capsys: Output
) -> None:
    opened(word_overlap())
    write(ROWS)
    assert cli.run(["calibrate", *arguments]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err


# --- disagreements -------------------------------------------------------------------------------


def test_disagreements_are_listed_the_clearest_first_and_without_texts(
    opened: Open, capsys: Output
) -> None:
    dev, test = (
        [f"Q{i}" for i in range(60) if is_dev(f"Q{i}") == chosen][:5] for chosen in (True, False)
    )
    rows = [*ROWS, {"id": "e", "answer": "Six.", "label": "grounded"}]
    both = [
        {**row, "id": f"{row['id']}{part}", "question": question}
        for part, questions in enumerate((dev, test))
        for row, question in zip(rows, questions, strict=True)
    ]
    write(both)
    opened(scores({**SCORES, "Six.": 0.5}))
    document = run_json(capsys)
    assert document["disagreements"] == [
        {"id": "e0", "label": "grounded", "score": 0.5},
        {"id": "b0", "label": "grounded", "score": 3},
        {"id": "d0", "label": "not_grounded", "score": 4},
    ]
    assert calibrate() == ExitCode.YES
    text = " ".join(capsys.readouterr().out.split())
    assert "disagree on 3 of 5 answers of dev, the clearest first: e0 (grounded, scored" in text
    assert "Six." not in text


# --- admission -----------------------------------------------------------------------------------


def labelled(n: int, wrong: int = 0, **fields: Any) -> list[dict[str, Any]]:
    """``n`` answers of each class, of which the judge puts ``wrong`` on the other side."""
    return [
        {
            "id": f"{fields.get('source', '')}{label}{i}",
            "question": f"{fields.get('source', '')}{label} {i}?",
            "answer": "Good." if (label == "grounded") != (i < wrong) else "Bad.",
            "label": label,
            **fields,
        }
        for label in ("grounded", "not_grounded")
        for i in range(n)
    ]


SIDES: Mapping[str, float] = {"Good.": 5, "Bad.": 1}


def test_a_judge_is_admitted_by_the_labels_of_the_part_test_alone(
    opened: Open, capsys: Output, project: Path
) -> None:
    opened(scores(SIDES))
    write(labelled(40))
    document = run_json(capsys, "--save")
    parts = {part: document[part]["en"]["n_bad"] for part in ("test", "dev")}
    assert sum(parts.values()) == 40
    assert parts["test"] > parts["dev"] > 0
    assert (document["admitted"], document["admit_at"]) == ({"en": True}, 0.8)
    known = read_admissions(Settings(rootdir=str(project)))
    found = known.find("fake/1", {"groundedness"}, "groundedness-v1")
    assert found is not None
    assert found.admits("en", known.bar)
    assert not found.admits("de", known.bar)


@pytest.mark.parametrize("rows", [labelled(12), labelled(40, wrong=20)])
def test_few_labels_or_many_errors_admit_no_judge(
    opened: Open, capsys: Output, rows: list[dict[str, Any]]
) -> None:
    opened(scores(SIDES))
    write(rows)
    assert run_json(capsys)["admitted"] == {"en": False}


def test_strict_refuses_a_judge_that_errs_both_ways(opened: Open, capsys: Output) -> None:
    def lenient(row: dict[str, Any]) -> dict[str, Any]:
        wrong = row["label"] == "not_grounded" and row["id"][-1] == "0"
        return {**row, "answer": "Good."} if wrong else row

    def strict(row: dict[str, Any]) -> dict[str, Any]:
        wrong = row["label"] == "grounded" and row["id"][-1] == "0"
        return {**row, "answer": "Bad."} if wrong else row

    opened(scores(SIDES))
    rows = [*map(lenient, labelled(150, source="a")), *map(strict, labelled(150, source="b"))]
    write(rows)
    assert run_json(capsys)["admitted"] == {"en": True}
    document = run_json(capsys, "--strict")
    assert document["admitted"] == {"en": False}
    bias = document["bias"]["en"]
    assert bias["a"]["low"] > 0 > bias["b"]["high"]
    write(rows[:300])
    assert run_json(capsys, "--strict")["admitted"] == {"en": True}
