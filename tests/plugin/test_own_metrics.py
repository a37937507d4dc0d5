"""Metrics in a project's own code, in every place where built-in ones count."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.build.files import write_lines
from tests.plugin.own_code import (
    CASES,
    CLIENT,
    METRICS,
    SETTINGS,
    documents,
    numbers,
    rageval,
    records,
    said,
)
from tests.plugin.scratch import Project, case, checks, summary_lines

pytestmark = pytest.mark.slow

# --- one run -----------------------------------------------------------------------------------


def test_a_run_keeps_definitions_scores_and_details(own: Project) -> None:
    assert own.run("--rageval-run-id", "one").ret == 0
    defined = documents(own, "one", "config.json")["metric_definitions"]
    assert defined == {
        "acme.words": {
            "title": "Words <b>of</b> the answer",
            "direction": "lower",
            "scale": [0.0, None],
            "binary": False,
            "population": "cases that were answered",
            "level": "own",
            "version": "1",
            "source": "acme.metrics:words",
        },
        "acme.pii_free": {
            "title": "No personal data",
            "direction": "higher",
            "scale": [0.0, 1.0],
            "binary": True,
            "population": "answerable cases",
            "level": "own",
            "version": "2",
            "source": "acme.metrics:pii_free",
        },
    }
    stored = records(own)
    assert stored["c02"]["metrics"]["acme.words"] == 5.0
    assert stored["c02"]["metric_details"]["acme.words"]["detail"] == "5 words <i>here</i>"
    assert stored["none"]["not_applicable"]["acme.pii_free"] == "The case is unanswerable."
    found = documents(own, "one", "metrics.json")["metrics"]
    assert (found["acme.words"]["n"], found["acme.words"]["mean"]) == (25, 3.96)
    assert (found["acme.pii_free"]["n"], found["acme.pii_free"]["mean"]) == (24, 1.0)
    assert found["acme.pii_free"]["method"] == found["hit_at_k"]["method"]


def test_own_metrics_are_limited_and_shown(
    own: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own.write_pages()
    monkeypatch.setenv("LEAKS", "1")
    own.write(
        "thresholds.toml",
        "[overall]\n\"acme.pii_free\" = '>= 0.9'\nacme.words = '<= 9'\n"
        "[category.odd]\nacme.pii_free = { min = 1 }\n",
    )
    result = own.run(
        "-v",
        "--rageval-run-id",
        "one",
        "--gate",
        "acme.words[even]<=4.5",
        "--junitxml",
        "junit.xml",
    )
    assert result.ret == 1
    assert checks(documents(own, "one", "gate.json")) == {
        "acme.pii_free": "fail",
        "acme.words": "pass",
        "acme.words [even]": "fail",
        "acme.pii_free [odd]": "pass",
        "error_rate": "pass",
    }
    lines = "\n".join(summary_lines(result))
    assert re.search(r"acme\.pii_free +24 +0\.500 +\d\.\d\d-\d\.\d\d +>= 0\.9 +FAIL", lines)
    summary = (own.folder("one") / "summary.md").read_text(encoding="utf-8")
    assert re.search(r"\| acme\.pii\\_free \| 24 \| 0\.500 \|", summary)
    junit = ElementTree.parse(own.path / "junit.xml")
    failed = [one.get("name") for one in junit.iter("testcase") if one.find("failure") is not None]
    assert "acme.pii_free" in " ".join(map(str, failed))
    page = (own.folder("one") / "report.html").read_text(encoding="utf-8")
    assert "Words &lt;b&gt;of&lt;/b&gt; the answer" in page
    assert "<b>of</b>" not in page
    code, shown = rageval(capsys, "explain", "one", "c02", "--all")
    assert code == 0
    assert re.search(r"metrics: the project's\n +acme\.words +6\.000 += 6 words <i>here</i>", shown)
    assert "\x1b[31m<i>" not in shown
    assert re.search(r"acme\.pii_free +0\.000 += by acme\.metrics:pii_free", shown)


# --- faults of a metric --------------------------------------------------------------------------

FAULTS = """
import time
from pytest_rageval import NA, Scored, metric

@metric("bad.raises")
def raises(case, reply):
    token = "s3cret-value"
    raise ValueError(f"lost {token} \\x1b[31m<b>")

@metric("bad.nan")
def nan(case, reply):
    return Scored(float("nan"))

@metric("bad.huge", scale=(0, None))
def huge(case, reply):
    return Scored(1e308)

@metric("bad.seven")
def seven(case, reply):
    return Scored(7)

@metric("bad.half", binary=True)
def half(case, reply):
    return Scored(0.5)

@metric("bad.kind")
def kind(case, reply):
    return 0.5

@metric("bad.text")
def text(case, reply):
    return Scored("1")

@metric("bad.blank")
def blank(case, reply):
    return NA(" ")

@metric("bad.later")
async def later(case, reply):
    return Scored(1)

@metric("bad.sleeps")
def sleeps(case, reply):
    time.sleep(3600)

@metric("bad.exits")
def exits(case, reply):
    raise SystemExit("bye")

@metric("bad.changes_reply")
def changes_reply(case, reply):
    reply.answer = "better"

@metric("bad.arguments")
def arguments(case):
    return Scored(1)

@metric("good.one")
def one(case, reply):
    assert case.metadata == {"tags": ["a"]} and reply.answer
    return Scored(1)
"""
ERRORS = {
    "bad.raises": r"ValueError: lost \*\*\* <b>",
    "bad.nan": r"returned Scored\(nan\), expected a finite number .*",
    "bad.seven": r"returned Scored\(7\), expected 0 to 1",
    "bad.half": r"returned Scored\(0\.5\), expected 0 or 1: it is binary",
    "bad.kind": r"returned 0\.5, expected Scored\(value\) or NA\(reason\); .*",
    "bad.huge": r"returned Scored\(1e\+308\), expected a finite number of at most 1e\+50",
    "bad.text": r"returned Scored\('1'\), expected a finite number .*",
    "bad.blank": r"returned NA\(' '\), expected a reason in words",
    "bad.later": r"returned <coroutine object .*, expected Scored\(value\) .*",
    "bad.sleeps": r"no result after 2 s \(metric_timeout_s of \[tool\.rageval\]\)",
    "bad.exits": "SystemExit: bye",
    "bad.changes_reply": "FrozenInstanceError: cannot assign to field 'answer'",
    "bad.arguments": r"TypeError: .*takes 1 positional argument but 2 were given",
}


@pytest.fixture
def bad(own: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("ACME_TOKEN", "s3cret-value")
    own.write("pyproject.toml", SETTINGS.replace("timeout_s = 5", "timeout_s = 2").replace(
        '["acme.metrics"]', '["acme.metrics", "acme.bad"]'
    ))  # fmt: skip
    own.write("acme/bad.py", FAULTS)
    own.cases([case("c01", "hit a1", metadata={"tags": ["a"]}, gold_supports=[{"rel_path": "a1"}])])
    return own


def test_every_fault_is_an_error_of_its_metric_that_names_its_origin(
    bad: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    result = bad.run("--rageval-run-id", "one")
    assert result.ret == 0, said(result)
    record = records(bad)["c01"]
    details = record["metric_details"]
    errors = {key: found["error"] for key, found in details.items() if found["error"]}
    assert errors.keys() == ERRORS.keys()
    for key, pattern in ERRORS.items():
        assert re.fullmatch(pattern, errors[key]), errors[key]
        assert record["metrics"][key] is None
        assert key not in record["not_applicable"]
        name = key.partition(".")[2]
        assert re.fullmatch(rf"acme\.bad:{name} \(acme/bad\.py:\d+\)", details[key]["place"])
    assert details["bad.raises"]["traceback"].startswith("acme/bad.py:8: in raises\n    raise")
    assert record["metrics"]["good.one"] == record["metrics"]["acme.pii_free"] == 1.0
    assert record["metrics"]["recall_at_k"] == 0.0
    found = documents(bad, "one", "metrics.json")["metrics"]
    assert (found["bad.nan"]["n_error"], found["bad.nan"]["mean"]) == (1, None)
    everything = "".join(p.read_text("utf-8") for p in bad.folder("one").iterdir() if p.is_file())
    assert "s3cret" not in everything
    assert "ValueError" not in (bad.folder("one") / "summary.md").read_text("utf-8")
    shown = said(result)
    assert "bad.raises: 1 error of acme.bad:raises (acme/bad.py:" in shown
    code, shown = rageval(capsys, "explain", "one", "c01", "--all")
    assert code == 0
    assert re.search(r"acme\.bad:raises \(acme/bad\.py:\d+\): ValueError: lost \*\*\* <b>", shown)
    assert "acme/bad.py:8: in raises" in shown
    assert 'raise ValueError(f"lost {token}' in shown


def test_a_question_that_failed_is_an_error_of_own_metrics(own: Project) -> None:
    own.cases([*CASES[:3], case("dead", "refuse q1")])
    own.run("--rageval-run-id", "one")
    dead = records(own)["dead"]
    assert dead["metrics"]["acme.words"] is None
    assert not {"acme.words", "acme.pii_free"} & dead["not_applicable"].keys()
    assert dead["metric_details"] == {}
    found = documents(own, "one", "metrics.json")["metrics"]["acme.words"]
    assert (found["n"], found["n_error"], found["mean_errors_as_worst"]) == (3, 1, None)


# --- where metrics come from ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "told"),
    [
        (
            "from pytest_rageval import metric\n\n1 / 0\n",
            "[tool.rageval] plugins: 'acme.metrics': ZeroDivisionError: division by zero\n"
            "  acme/metrics.py:3: in <module>\n      1 / 0",
        ),
        (
            "import lost_module\n",
            "[tool.rageval] plugins: 'acme.metrics': ModuleNotFoundError: No module named "
            "'lost_module'\n  acme/metrics.py:1: in <module>",
        ),
        ("x = 1\n", "'acme.metrics': got <module 'acme.metrics' from"),
        (METRICS.replace("acme.words", "words"), "acme.metrics:words: got metric 'words'"),
        (
            METRICS.replace("acme.words", "recall_at_k.mine"),
            "metric 'recall_at_k.mine' is already 'recall_at_k' of built-in",
        ),
        (
            METRICS.replace('"lower"', '"down"'),
            "direction: got 'down', expected one of higher",
        ),
        (
            METRICS.replace("(0, None)", "(2, 1)"),
            "metric 'acme.words': scale: got (2, 1)",
        ),
        (
            METRICS.replace("acme.words", "acme.pii_free"),
            "acme.metrics:pii_free: metric 'acme.pii_free' is already 'acme.pii_free' of "
            "acme.metrics:words",
        ),
    ],
)
def test_a_plug_in_that_cannot_be_used_is_a_usage_error(
    own: Project, capsys: pytest.CaptureFixture[str], module: str, told: str
) -> None:
    own.write("acme/metrics.py", module)
    result = own.run()
    assert result.ret == 4
    assert told in said(result)
    assert not own.run_folders()


@pytest.mark.parametrize("name", ["Acme_More", "acme_extra"])
def test_entry_points_are_loaded_only_if_they_are_named(
    own: Project, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    info = "site/acme_more-1.0.dist-info"
    own.write(f"{info}/METADATA", "Metadata-Version: 2.1\nName: acme-more\nVersion: 1.0\n")
    own.write(f"{info}/entry_points.txt", "[pytest_rageval]\nacme_extra = acme_hidden\n")
    module = METRICS.replace("acme.", "more.").replace("Words", "More words")
    own.write("site/acme_hidden.py", module)
    monkeypatch.syspath_prepend(own.path / "site")
    own.run("--rageval-run-id", "one")
    assert "more.words" not in records(own)["c01"]["metrics"]
    own.write("pyproject.toml", SETTINGS.replace('s"]', f's", "{name}"]'))
    result = own.run("--rageval-run-id", "two")
    assert records(own, "two")["c01"]["metrics"]["more.words"] == 4.0, said(result)


REGISTER = """
from acme import metrics

def pytest_rageval_register(registry):
    registry.add(metrics)
"""


def test_a_hook_in_conftest_registers_metrics(
    own: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    own.write("pyproject.toml", SETTINGS.replace('plugins = ["acme.metrics"]', ""))
    own.write("conftest.py", CLIENT + REGISTER)
    result = own.run("--rageval-run-id", "one", "--gate", "acme.words<=3")
    assert result.ret == 1, said(result)
    code, shown = rageval(capsys, "gate", "one", "--gate", "acme.words<=9")
    assert (code, "acme.words" in shown) == (0, True)
    own.write("conftest.py", CLIENT + REGISTER.replace("(metrics)", "(1 / 0)"))
    result = own.run()
    assert result.ret == 4
    assert "pytest_rageval_register in conftest.py: ZeroDivisionError" in said(result)
    assert "conftest.py:25: in pytest_rageval_register" in said(result)


def test_commands_accept_limits_of_metrics_that_only_conftest_registers(
    own: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    own.write("pyproject.toml", SETTINGS.replace('plugins = ["acme.metrics"]', ""))
    own.write("conftest.py", CLIENT + REGISTER)
    limits = "[overall]\nacme.words = '<= 9'\n[category.odd]\nacme.pii_free = { min = 0.5 }\n"
    own.write("thresholds.toml", limits)
    reply = {"answer": "Thirty.", "debug": {"retrieved_chunks": []}}
    own.write("replies.jsonl", json.dumps({"id": "c01", "response": reply}) + "\n")
    for command in (["score", "replies.jsonl"], ["runs", "prune", "--keep", "5"], ["doctor"]):
        code, shown = rageval(capsys, *command)
        assert code == 0, shown
    assert "ok    project thresholds: thresholds.toml: 3 checks" in shown
    own.write("thresholds.toml", limits.replace("words", "wrds"))
    code, shown = rageval(capsys, "doctor")
    assert code == 1
    assert 'FAIL  target pytest: thresholds.toml:2: unknown metric "acme.wrds"' in shown


def test_a_run_that_is_older_than_a_metric_of_conftest_has_no_data_for_its_limit(
    own: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    own.write("pyproject.toml", SETTINGS.replace('plugins = ["acme.metrics"]', ""))
    own.write("conftest.py", CLIENT)
    for name in ("r1", "r2"):
        assert own.run("--rageval-run-id", name).ret == 0
    own.write("conftest.py", CLIENT + REGISTER)
    own.write("thresholds.toml", "[overall]\nacme.words = { max = 9 }\nhit_at_k = '>= 0'\n")
    code, shown = rageval(capsys, "gate", "r2", "--gate", "acme.pii_free>=0.5")
    assert code == 1, shown
    for metric in ("acme.words", "acme.pii_free"):
        assert f"FAIL     {metric}: no data: the run did not measure {metric}" in shown
    assert rageval(capsys, "compare", "r1", "r2")[0] == 0


def test_a_session_without_cases_neither_calls_the_hook_nor_imports_a_plug_in(own: Project) -> None:
    own.write("acme/metrics.py", "raise AssertionError\n")
    own.write("conftest.py", "def pytest_rageval_register(registry): raise AssertionError\n")
    own.write("test_it.py", "def test_it(): pass\n")
    own.run("test_it.py").assert_outcomes(passed=1)


# --- the same numbers in every way ---------------------------------------------------------------


def test_shards_a_resumed_run_and_retrieval_alone_give_the_numbers_of_the_whole(
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
    assert records(own, "again")["c02"]["metric_details"]["acme.words"]
    own.run("--rageval-run-id", "retrieval", "--retrieval-only")
    one, other = (
        documents(own, name, "metrics.json")["metrics"]["acme.words"]
        for name in ("whole", "retrieval")
    )
    assert one == other


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
                "debug": {"retrieved_chunks": [
                    {key: chunk[key] for key in ("rel_path", "text", "rank")}
                    for chunk in record["retrieved_chunks"]
                ]},
            },
        }
        for record in records(own, "whole").values()
    ]  # fmt: skip
    write_lines(own.path / "responses.jsonl", *recorded)
    code, shown = rageval(
        capsys, "score", "evals/eval_set.jsonl", "responses.jsonl", "--save", "scored"
    )
    assert code in {0, 1}, shown
    one, other = (documents(own, name, "metrics.json")["metrics"] for name in ("whole", "scored"))
    for key in ("acme.words", "acme.pii_free"):
        assert one[key] == other[key]


# --- stored runs ---------------------------------------------------------------------------------


@pytest.fixture
def fallen(own: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Two runs, the later of which leaks, of a project that has lost its plug-in since."""
    own.run("--rageval-run-id", "r1")
    monkeypatch.setenv("LEAKS", "1")
    own.run("--rageval-run-id", "r2")
    (own.path / "acme" / "metrics.py").unlink()
    return own


def test_a_planted_fall_is_found_without_the_plug_in(
    fallen: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    code, shown = rageval(capsys, "compare", "r1", "r2")
    assert code == 0, shown
    assert re.search(r"acme\.pii_free +24 +1\.000 +0\.500 +-0\.500 .* worse", shown)
    code, shown = rageval(capsys, "compare", "r1", "r2", "--json")
    found = json.loads(shown)["metrics"]
    assert found["acme.pii_free"]["verdict"] == found["acme.words"]["verdict"] == "worse"
    fallen.write("thresholds.toml", '[overall]\n"acme.pii_free" = { min = 0, max_drop = 0.2 }\n')
    assert rageval(capsys, "compare", "r1", "r2")[0] == 1
    assert rageval(capsys, "gate", "r2", "--baseline", "r1")[0] == 1
    assert rageval(capsys, "gate", "r1", "--gate", "acme.words<=3")[0] == 1


def test_another_version_is_not_compared_and_the_rest_is(
    own: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    own.run("--rageval-run-id", "r1")
    own.write("acme/metrics.py", METRICS.replace('version="2"', 'version="3.0"'))
    own.run("--rageval-run-id", "r2")
    code, shown = rageval(capsys, "compare", "r1", "r2", "--json")
    assert code == 3
    found = json.loads(shown)["metrics"]
    assert "acme.words" in found
    assert "acme.pii_free" not in found
    path: Path = own.folder("r1") / "results.jsonl"
    text = path.read_text(encoding="utf-8")
    path.write_text("\n".join(text.splitlines()[:5]) + "\n", encoding="utf-8")
    result = own.run("--rageval-resume", "r1")
    assert result.ret == 4
    assert re.search(r"metric acme\.pii_free: 'version 2, ", said(result))
