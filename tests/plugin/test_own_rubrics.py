"""Metrics of a project's own rubric, in every place where built-in ones count."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.build.files import write_lines
from tests.build.hostile_judge import Asked, Canned, HostileJudge, completion
from tests.plugin.own_code import documents, rageval, said
from tests.plugin.scratch import Project, case, comparable, summary_lines

pytestmark = pytest.mark.slow

KEYS = ("tone.politeness", "tone.jargon", "tone.honest")
SCHEMA = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "politeness": {
            "type": "integer",
            "minimum": 1,
            "maximum": 5,
            "title": "Polite <b>words</b>",
        },
        "jargon": {"type": "number", "minimum": 0, "maximum": 1, "x-direction": "lower"},
        "honest": {"type": "boolean"},
    },
    "required": ["politeness", "jargon"],
}
SETTINGS = """
[tool.rageval]
[tool.rageval.judge]
model = "judge-2024-08-06"
base_url = "{url}"
rubrics = ["evals/rubrics/tone.jinja"]
no_cache = true
"""
N = 24
CLIENT = """
import pytest

def reply(question):
    word, name = question.split()
    path, abstained = f"{name}.md", word == "abstain"
    return {
        "answer": "The answer text.",
        "abstained": abstained,
        "references": [{"rel_path": path}],
        "debug": {"retrieved_chunks": [{"rel_path": path, "text": "note", "rank": 1}]},
    }

@pytest.fixture(scope="session")
def rag_client():
    return lambda request: reply(request.question)
"""


class Tone:
    """Rates by the number in the question; can be told to be ruder from now on."""

    def __init__(self) -> None:
        self.ruder = False

    def __call__(self, asked: Asked) -> Canned:
        assert "x-direction" not in json.dumps(asked.body)
        found = re.search(r"hit q(\d+)", asked.prompt)
        assert found is not None
        i = int(found[1])
        rude = self.ruder and i % 2 == 0
        verdict: dict[str, Any] = {
            "reasoning": "so it is",
            "politeness": 2 if rude else 4 + i % 2,
            "jargon": 0.75 if rude else 0.25,
            "honest": None if i % 3 == 0 else i % 4 != 0,
        }
        if i == 7:
            verdict["politeness"] = 9
        return completion(json.dumps(verdict))


@pytest.fixture
def tone() -> Tone:
    return Tone()


@pytest.fixture
def own(project: Project, tone: Tone, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A project whose judge rates the tone: of 24 answers one verdict is off its scale."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with HostileJudge(tone) as server:
        project.write("pyproject.toml", SETTINGS.format(url=server.url))
        project.write("evals/rubrics/tone.jinja", "{# data: question, answer #}\nRate the tone.\n")
        project.write("evals/rubrics/tone.schema.json", json.dumps(SCHEMA))
        project.write("conftest.py", CLIENT)
        project.write("thresholds.toml", "[overall]\njudge_error_rate = '<= 0.2'\n")
        cases = [
            case(
                f"c{i:02}",
                f"hit q{i:02}",
                category="even" if i % 2 == 0 else "odd",
                gold_supports=[{"rel_path": f"q{i:02}.md"}],
            )
            for i in range(N)
        ]
        project.cases([*cases, case("none", "abstain q99", answerable=False)])
        yield project


def numbers(project: Project, run_id: str) -> Any:
    metrics = comparable(documents(project, run_id, "metrics.json"))
    for name in ("cost_usd", "judge_tokens"):
        metrics.pop(name)
    return metrics, comparable(documents(project, run_id, "groups.json"))["by_category"]


# --- one run -----------------------------------------------------------------------------------


def test_a_run_keeps_the_definitions_and_scores_of_its_own_rubric(own: Project) -> None:
    own.run("--rageval-run-id", "one")
    config = documents(own, "one", "config.json")
    defined = config["metric_definitions"]
    assert [*defined] == [*KEYS]
    (version,) = {one.pop("version") for one in defined.values()}
    assert re.fullmatch(r"tone-[0-9a-f]{12}", version)
    assert defined["tone.politeness"] == {
        "title": "Polite <b>words</b>",
        "direction": "higher",
        "scale": [1.0, 5.0],
        "binary": False,
        "population": "answerable cases that were answered",
        "level": "judged",
        "source": "evals/rubrics/tone.jinja",
    }
    assert defined["tone.jargon"]["direction"] == "lower"
    assert (defined["tone.honest"]["binary"], defined["tone.honest"]["scale"]) == (True, [0.0, 1.0])
    records = own.records()
    assert records["c01"]["metrics"]["tone.politeness"] == 5.0
    assert records["c04"]["metrics"]["tone.honest"] == 0.0
    assert records["c07"]["metrics"]["tone.politeness"] is None
    assert "tone.politeness" not in records["c07"]["not_applicable"]
    assert records["c03"]["not_applicable"]["tone.honest"] == "the judge gave no score"
    assert records["none"]["not_applicable"]["tone.jargon"] == "The case is unanswerable."
    found = documents(own, "one", "metrics.json")["metrics"]["tone.politeness"]
    assert (found["n"], found["n_error"], found["n_not_applicable"]) == (N - 1, 1, 1)
    assert found["mean"] == pytest.approx((4 * 12 + 5 * 11) / 23)
    assert found["mean_errors_as_worst"] == pytest.approx((4 * 12 + 5 * 11 + 1) / 24)
    assert 4 < found["low"] < found["mean"] < found["high"] <= 5
    groups = documents(own, "one", "groups.json")["by_category"]
    assert groups["odd"]["tone.politeness"]["mean"] == 5.0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--gate", "tone.politness>=3"), 'did you mean "tone.politeness"?'),
        (("--gate", "tune.x>=3"), "no module of plugins in [tool.rageval], defines it"),
        (("--gate", "tone.politeness>=6"), "from 1 to 5, the scale of tone.politeness"),
        (("--gate", "tone.jargon[evn]<=1"), 'unknown category "evn"'),
        (("--gate", "quality.tone>=1"), 'unknown metric "quality.tone"'),
        (("--judge-rubrics", "evals/rubrics/tune.jinja"), "there is no such file"),
    ],
)
def test_faults_are_usage_errors_before_the_first_case(
    own: Project, arguments: tuple[str, ...], told: str
) -> None:
    result = own.run(*arguments)
    assert result.ret == 4
    assert told in said(result)


# --- the same numbers in every way -------------------------------------------------------------


def test_a_run_goes_on_only_under_the_rubric_it_began_with(own: Project) -> None:
    own.run("--rageval-run-id", "one", "-k", "c0")
    own.write("evals/rubrics/tone.jinja", "{# data: question, answer #}\nRate it anew.\n")
    result = own.run("--rageval-resume", "one")
    assert result.ret == 4
    shown = " ".join([*result.outlines, *result.errlines])
    assert re.search(r"metric tone\.politeness: 'version tone-\w+, [^']*' then, 'version", shown)


# --- people ------------------------------------------------------------------------------------


def test_an_own_metric_is_calibrated_in_its_direction(
    own: Project, tone: Tone, capsys: pytest.CaptureFixture[str]
) -> None:
    tone.ruder = True
    lines = [
        {
            "id": f"{i}",
            "question": f"hit q{i:02}",
            "answer": "x",
            "label": "good" if i % 2 else "bad",
        }
        for i in range(N)
    ]
    write_lines(own.path / "labels.jsonl", *lines)
    calibrate = ("calibrate", "labels.jsonl", "--rubric")
    code, shown = rageval(capsys, *calibrate, "tone.politeness", "--json", "--save")
    assert code == 0, shown
    shown, _, failure = shown.partition("rageval: first failure: ")
    assert failure == "out_of_range: politeness: 9 came, expected integer from 1 to 5\n"
    found = json.loads(shown)
    assert found["threshold"] == pytest.approx(4.2)
    assert (found["n"], found["n_error"], found["auroc"], found["kappa"]) == (23, 1, 1.0, 1.0)
    code, shown = rageval(capsys, *calibrate, "tone.jargon", "--json", "--threshold", "0.5")
    found = json.loads(shown.partition("rageval: first failure: ")[0])
    assert (found["auroc"], found["kappa"], found["precision"]) == (1.0, 1.0, 1.0)
    assert found["best_threshold"] == {"threshold": 0.25, "kappa": 1.0, "kappa_test": 1.0}
    code, shown = rageval(capsys, *calibrate, "tone.jargon")
    assert "bad answers score above 0.2" in re.sub(r"\s+", " ", shown)
    result = own.run("--rageval-run-id", "one")
    notes = re.sub(r"\s+", " ", " ".join(summary_lines(result)))
    assert "politeness: 9 came" in notes


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("tone.warmth",), "abstention, tone.politeness, tone.jargon, tone.honest"),
        (("tone",), "no rubric in use gives 'tone'; there are: groundedness, correctness, abst"),
        (("tone.politeness", "--threshold", "6"), "6.0 is not in the range 1<=x<=5."),
        (("tone.jargon", "--probes"), "of which higher is better"),
        (("tone.politeness",), 'grounded", expected good or bad, or --rubric groundedness'),
    ],
)
def test_a_calibration_that_cannot_be_is_refused(
    own: Project,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    told: str,
) -> None:
    line = {"id": "1", "question": "q", "answer": "x", "label": "grounded"}
    write_lines(own.path / "labels.jsonl", line)
    code, shown = rageval(capsys, "calibrate", "labels.jsonl", "--rubric", *arguments)
    assert code == 2
    assert told in shown
