"""Metrics of a project's own rubric, in every place where built-in ones count."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.build.files import write_lines
from tests.build.hostile_judge import Asked, Canned, HostileJudge, completion
from tests.plugin.own_code import documents, rageval, said
from tests.plugin.scratch import Project, case, checks, comparable, summary_lines

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


def limit(project: Project, *lines: str) -> None:
    head = "[overall]\njudge_error_rate = '<= 0.2'\n"
    project.write("thresholds.toml", head + "".join(f"{line}\n" for line in lines))


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


def test_own_metrics_are_limited_by_file_and_option_and_shown(
    own: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    limit(own, '"tone.politeness" = ">= 4.8"', 'tone.jargon = "<= 0.3"')
    own.write("thresholds.toml", (own.path / "thresholds.toml").read_text() + (
        "[category.even]\ntone.politeness = { min = 4 }\n"
    ))  # fmt: skip
    result = own.run(
        "-v", "--rageval-run-id", "one", "--gate", "tone.honest>=0.1", "--junitxml", "junit.xml"
    )
    assert result.ret == 1
    found = checks(documents(own, "one", "gate.json"))
    assert found == {
        "tone.politeness": "fail",
        "tone.jargon": "pass",
        "tone.politeness [even]": "pass",
        "tone.honest": "pass",
        "judge_error_rate": "pass",
        "error_rate": "pass",
    }
    lines = "\n".join(summary_lines(result))
    assert re.search(r"tone\.politeness of 5 +23 +4\.478 +\d\.\d\d-\d\.\d\d +>= 4\.8 +FAIL", lines)
    assert re.search(r"tone\.jargon +23 +0\.250", lines)
    summary = (own.folder("one") / "summary.md").read_text(encoding="utf-8")
    assert re.search(r"\| tone\.politeness of 5 \| 23 \| 4\.478 \|", summary)
    assert "**FAIL**" in summary
    junit = ElementTree.parse(own.path / "junit.xml")
    failed = [one.get("name") for one in junit.iter("testcase") if one.find("failure") is not None]
    assert "tone.politeness" in " ".join(map(str, failed))
    page = (own.folder("one") / "report.html").read_text(encoding="utf-8")
    assert "Polite &lt;b&gt;words&lt;/b&gt;" in page
    assert "<b>words" not in page
    code, shown = rageval(capsys, "gate", "one", "--gate", "tone.jargon<=0.2")
    assert code == 1
    assert "tone.jargon: 0.250 is above max 0.2" in shown


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--gate", "tone.politness>=3"), 'did you mean "tone.politeness"?'),
        (("--gate", "tune.x>=3"), "no module of plugins in [tool.rageval], defines it"),
        (("--gate", "tone.politeness>=6"), "from 1 to 5, the scale of tone.politeness"),
        (("--gate", "tone.jargon[evn]<=1"), 'unknown category "evn"'),
        (("--gate", "quality.tone>=1"), 'unknown metric "quality.tone"'),
        (("--judge-rubrics", "evals/rubrics/tune.jinja"), "no such file"),
    ],
)
def test_faults_are_usage_errors_before_the_first_case(
    own: Project, arguments: tuple[str, ...], told: str
) -> None:
    result = own.run(*arguments)
    assert result.ret == 4
    assert told in said(result)


def test_two_rubrics_of_one_name_are_refused_with_both_origins(own: Project) -> None:
    for name in ("tone.jinja", "tone.schema.json"):
        text = (own.path / "evals" / "rubrics" / name).read_text(encoding="utf-8")
        own.write(f"evals/other/{name}", text)
    result = own.run("--judge-rubrics", "evals/rubrics/tone.jinja,evals/other/tone.jinja")
    assert result.ret == 4
    shown = said(result)
    assert (
        "evals/other/tone.jinja: metric 'tone.politeness' is taken by 'tone.politeness' of "
        "evals/rubrics/tone.jinja"
    ) in shown


# --- the same numbers in every way -------------------------------------------------------------


def test_shards_and_a_resumed_run_give_the_numbers_of_the_whole(
    own: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    own.run("--rageval-run-id", "whole")
    for shard in ("1/2", "2/2"):
        own.run("--rageval-run-id", f"s{shard[0]}", "--rageval-shard", shard)
    assert rageval(capsys, "merge", "s1", "s2", "--run-id", "merged")[0] == 0
    assert numbers(own, "merged") == numbers(own, "whole")
    own.run("--rageval-run-id", "again", "-k", "c0")
    own.run("--rageval-resume", "again")
    assert numbers(own, "again") == numbers(own, "whole")
    defined = [documents(own, name, "config.json")["metric_definitions"] for name in
               ("whole", "merged", "again")]  # fmt: skip
    assert defined[0] == defined[1] == defined[2] != {}


def test_workers_give_the_numbers_of_one_process(own: Project) -> None:
    own.run("--rageval-run-id", "whole", "--rageval-repeats", "2")
    own.run("--rageval-run-id", "two", "--rageval-repeats", "2", "-n", "2")
    assert numbers(own, "two") == numbers(own, "whole")


def test_recorded_responses_are_scored_alike(
    own: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    own.run("--rageval-run-id", "whole")
    recorded = [
        {
            "id": record["case_id"],
            "response": {
                "answer": record["answer"],
                "abstained": record["abstained"],
                "references": record["citations"],
                "debug": {
                    "retrieved_chunks": [
                        {key: chunk[key] for key in ("rel_path", "text", "rank")}
                        for chunk in record["retrieved_chunks"]
                    ]
                },
            },
        }
        for record in own.records().values()
    ]
    write_lines(own.path / "responses.jsonl", *recorded)
    code, shown = rageval(
        capsys, "score", "evals/eval_set.jsonl", "responses.jsonl", "--judge", "judge-2024-08-06",
        "--save", "scored",
    )  # fmt: skip
    assert code in {0, 1}, shown
    one, other = (documents(own, name, "metrics.json")["metrics"] for name in ("whole", "scored"))
    assert {key: one[key] for key in KEYS} == {key: other[key] for key in KEYS}
    assert documents(own, "scored", "config.json")["metric_definitions"].keys() == {*KEYS}


def test_a_run_goes_on_only_under_the_rubric_it_began_with(own: Project) -> None:
    own.run("--rageval-run-id", "one", "-k", "c0")
    own.write("evals/rubrics/tone.jinja", "{# data: question, answer #}\nRate it anew.\n")
    result = own.run("--rageval-resume", "one")
    assert result.ret == 4
    shown = " ".join([*result.outlines, *result.errlines])
    assert re.search(r"metric tone\.politeness: 'version tone-\w+, [^']*' then, 'version", shown)


# --- stored runs -------------------------------------------------------------------------------


@pytest.fixture
def fallen(own: Project, tone: Tone) -> Project:
    """Two runs, the later of ruder answers, of a project that has lost its rubric since."""
    own.run("--rageval-run-id", "r1")
    tone.ruder = True
    own.run("--rageval-run-id", "r2")
    for path in (own.path / "evals" / "rubrics").iterdir():
        path.unlink()
    return own


def test_a_planted_fall_is_found_without_the_rubric(
    fallen: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    code, shown = rageval(capsys, "compare", "r1", "r2")
    assert code == 0, shown
    assert re.search(r"tone\.politeness +23 +4\.478 +3\.435 +-1\.043 .* worse", shown)
    assert re.search(r"tone\.jargon +23 .* worse", shown)
    code, shown = rageval(capsys, "compare", "r1", "r2", "--json")
    found = json.loads(shown)["metrics"]
    assert found["tone.politeness"]["verdict"] == found["tone.jargon"]["verdict"] == "worse"
    assert found["tone.jargon"]["margin"] == pytest.approx(0.05)
    limit(fallen, '"tone.politeness" = { min = 3, max_drop = 0.2 }')
    code, shown = rageval(capsys, "compare", "r1", "r2")
    assert code == 1
    assert "tone.politeness" in shown
    code, shown = rageval(capsys, "gate", "r2", "--baseline", "r1")
    assert (code, "tone.politeness (max_drop)" in shown or "max_drop" in shown) == (1, True), shown


def test_stored_runs_are_read_without_the_rubric(
    fallen: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    code, shown = rageval(capsys, "runs", "trend", "tone.jargon")
    assert code == 0
    assert "tone.jargon, lower is better" in shown
    assert re.search(r"r1 .* 23 +0\.250 +\d\.\d\d-\d\.\d\d", shown)
    code, shown = rageval(capsys, "explain", "r1", "c01", "--json")
    (found,) = [m for m in json.loads(shown)["repeats"][0]["metrics"] if m["key"] == KEYS[0]]
    assert (found["level"], found["value"]) == ("judged", 5.0)
    assert found["population"] == "answerable cases that were answered"
    assert rageval(capsys, "report", "r2", "--baseline", "r1")[0] == 0
    page = (fallen.folder("r2") / "report.html").read_text(encoding="utf-8")
    assert "Polite &lt;b&gt;words" in page


def test_another_version_of_a_rubric_is_not_compared_and_the_rest_is(
    own: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    own.run("--rageval-run-id", "r1")
    own.write("evals/rubrics/tone.jinja", "{# data: question, answer #}\nRate it anew.\n")
    own.run("--rageval-run-id", "r2")
    code, shown = rageval(capsys, "compare", "r1", "r2")
    assert code == 3
    said = re.sub(r"\s+", " ", shown)
    assert re.search(
        r"metric tone\.politeness: version tone-\w+, higher is better, 1 to 5 in base, "
        r"version tone-\w+, higher is better, 1 to 5 in new",
        said,
    )
    code, shown = rageval(capsys, "compare", "r1", "r2", "--json")
    found = json.loads(shown)["metrics"]
    assert "recall_at_k" in found
    assert not {*KEYS} & found.keys()
    code, shown = rageval(capsys, "runs", "trend", "tone.jargon")
    assert "metric tone.jargon: version" in shown
    assert "---" not in rageval(capsys, "runs", "trend", "recall_at_k")[1]


def test_a_run_of_a_version_without_definitions_is_read(
    fallen: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    path: Path = fallen.folder("r1") / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    del config["metric_definitions"]
    path.write_text(json.dumps(config), encoding="utf-8")
    for command in (("compare", "r1", "r2"), ("gate", "r1"), ("explain", "r1", "c01"),
                    ("report", "r1"), ("runs", "trend", "tone.politeness")):  # fmt: skip
        code, shown = rageval(capsys, *command)
        assert code in {0, 1}, shown


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
    assert found["best_threshold"] == {"threshold": 0.25, "kappa": 1.0}
    code, shown = rageval(capsys, *calibrate, "tone.jargon")
    assert "bad answers, which score above 0.2" in re.sub(r"\s+", " ", shown)
    result = own.run("--rageval-run-id", "one")
    notes = re.sub(r"\s+", " ", " ".join(summary_lines(result)))
    assert "tone.politeness: fewer than 50 labels" in notes


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


# --- other commands ----------------------------------------------------------------------------


def test_the_index_shows_the_trend_of_an_own_metric_with_its_interval(
    fallen: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    index = ("--db", f"sqlite:///{fallen.path / 'index.sqlite'}")
    assert rageval(capsys, "runs", "sync", *index)[0] == 0
    code, shown = rageval(capsys, "runs", "trend", "tone.jargon", "--json", *index)
    assert code == 0, shown
    runs = json.loads(shown)["runs"]
    assert [run["value"] for run in runs] == [0.25, pytest.approx(0.5108695652)]
    assert runs[1]["low"] < runs[1]["value"] < runs[1]["high"]
    assert runs[1]["breaks"] == []


def test_a_stored_run_is_judged_again_by_the_rubric(
    own: Project, tone: Tone, capsys: pytest.CaptureFixture[str]
) -> None:
    own.run("--rageval-run-id", "r1")
    tone.ruder = True
    code, shown = rageval(capsys, "judge", "r1", "--json")
    assert code == 0, shown
    found = json.loads(shown)
    assert [*found["statistics"]] == [*found["before"]] == [*KEYS]
    now, then = found["statistics"]["tone.jargon"], found["before"]["tone.jargon"]
    assert (then["mean"], now["mean"] > 0.5) == (0.25, True)
    assert (now["n"], now["n_error"], now["n_not_applicable"]) == (23, 1, 1)


def test_parts_under_different_rubrics_are_not_merged(
    own: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    own.run("--rageval-run-id", "s1", "--rageval-shard", "1/2")
    own.write("evals/rubrics/tone.jinja", "{# data: question, answer #}\nRate it anew.\n")
    own.run("--rageval-run-id", "s2", "--rageval-shard", "2/2")
    code, shown = rageval(capsys, "merge", "s1", "s2")
    assert code != 0
    assert "metric tone.politeness: 'version tone-" in shown


def test_own_metrics_have_their_place_in_the_schema_the_doctor_and_otlp(
    own: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    limit(own, '"tone.politeness" = ">= 4"')
    schema = json.loads(rageval(capsys, "schema", "thresholds")[1])
    tone = schema["$defs"]["overall"]["properties"]["tone"]["properties"]
    assert [*tone] == ["politeness", "jargon", "honest"]
    shown = rageval(capsys, "doctor")[1]
    assert "thresholds.toml: 3 checks" in re.sub(r"\s+", " ", shown)
    own.run("--rageval-run-id", "r1", "-k", "c01")
    assert "tone.politeness" in rageval(capsys, "export", "otlp", "r1")[1]


def test_a_run_older_than_the_rubric_has_no_data_for_its_limits(
    own: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    own.run("--rageval-run-id", "r1", "--judge-rubrics", "correctness", "--judge", "offline")
    limit(own, '"tone.politeness" = { min = 4, max_drop = 0.1 }')
    code, shown = rageval(capsys, "gate", "r1", "--baseline", "r1")
    assert code == 1
    assert "no data: the run did not measure tone.politeness" in re.sub(r"\s+", " ", shown)
