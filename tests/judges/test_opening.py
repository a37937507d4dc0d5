""""""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pytest_rageval.judges.opening import open_cache, open_judge
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import JudgeSettings, Settings
from tests.build.projects import clear_settings
from tests.docs.examples import read_document, sections
from tests.plugin.scratch import Project, case


def test_verdicts_are_kept_beside_a_test_path_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_text("", encoding="utf-8")
    with open_cache(Settings(rootdir=str(tmp_path), testpaths=("set.jsonl",))) as cache:
        assert cache is not None
        assert cache.put("k", {"a": 1}, identity="m")
    assert (tmp_path / "cache/judge.sqlite").is_file()


def test_every_case_hears_why_the_second_judge_cannot_be_opened() -> None:
    judging = JudgeSettings(spot_check=2, spot_check_model="model-1")
    settings = Settings(rootdir=".", judge="offline", judging=judging)
    with open_judge(settings, environ={}, second=True) as judge:
        for _ in range(2):
            with pytest.raises(ConfigError, match="OPENAI_API_KEY is not set"):
                _ = judge and judge.identity


# --- the judge that the settings name, in runs and commands; its files are those of docs/judges.

FILES = {
    match[1]: block.text
    for section in sections(read_document("judges.md"))
    for block in section.blocks
    if (match := re.match(r"# (\S+)\n", block.text))
}
NAMED = FILES["pyproject.toml"]


@pytest.fixture
def acme(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    clear_settings(monkeypatch)
    project = Project(pytester)
    project.write("pyproject.toml", NAMED)
    project.write("acme_judge.py", FILES["acme_judge.py"])
    project.write("thresholds.toml", "")
    project.cases([case("one", "hit one"), case("two", "hit two")])
    return project


def judged(project: Project) -> list[str]:
    config = json.loads((project.folder() / "config.json").read_text(encoding="utf-8"))
    return [one["judge"] for one in config["judges"]]


def test_the_judge_of_the_setting_judges_and_is_named(acme: Project) -> None:
    result = acme.run("--rageval-run-id", "one", "--gate", "groundedness>=5")
    assert result.ret == 0
    assert "judge acme-length/1" in result.stdout.str()
    assert judged(acme) == ["acme-length/1"]
    record = acme.records()["one"]
    assert record["metrics"]["groundedness"] == record["metrics"]["correctness"] == 5.0
    assert record["judgements"]["groundedness"]["verdict"]["reasoning"] == "3 words"


@pytest.mark.slow
def test_workers_open_it_too(acme: Project) -> None:
    acme.run("--rageval-run-id", "one", "-n", "2")
    assert judged(acme) == ["acme-length/1"]


def test_it_is_the_second_judge_where_it_is_named_as_that(acme: Project) -> None:
    acme.write("pyproject.toml", f'{NAMED}spot_check_model = "acme_judge:LengthJudge"\n')
    result = acme.run("--judge", "offline", "--judge-spot-check", "2", "--rageval-run-id", "one")
    second = acme.records()["one"]["spot_check"]["groundedness"]
    score = second["verdict"]["scores"]["groundedness"]
    assert (second["judge"], score) == ("acme-length/1", 5.0)
    assert "unpinned alias" not in result.stdout.str()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("acme_judge:Lost", "'acme_judge:Lost' cannot be imported: module"),
        ("acme_judge", "got 'acme_judge', expected module:function"),
        ("acme_judge:Judgement", "TypeError: "),
        ("json:dumps", "TypeError: dumps() missing 1 required positional argument"),
        ("json:decoder", "expected an object with an identity and judge(rubric, request, repe"),
    ],
)
def test_what_is_no_judge_is_an_error_of_the_settings(acme: Project, text: str, told: str) -> None:
    acme.write("pyproject.toml", NAMED.replace("acme_judge:LengthJudge", text))
    result = acme.run()
    assert result.ret == 4
    assert told in "\n".join([*result.outlines, *result.errlines])


def test_a_model_beside_it_and_a_spot_check_without_a_second_judge_are_refused(
    acme: Project,
) -> None:
    acme.write("pyproject.toml", NAMED + 'model = "gpt-x"\n')
    result = acme.run()
    assert (result.ret, "model and client: keep one of them" in result.stderr.str()) == (4, True)
    acme.write("pyproject.toml", NAMED)
    result = acme.run("--judge-spot-check", "1")
    assert "acme_judge:LengthJudge has one wording only" in result.stderr.str()


def test_what_it_raises_is_an_error_of_its_metrics_without_secrets(
    acme: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_TOKEN", "s3cret-value")
    text = FILES["acme_judge.py"].replace(
        "words = ", "raise ValueError('s3cret-value')\n        words = "
    )
    acme.write("acme_judge.py", text)
    acme.run("--rageval-run-id", "one")
    found = acme.records()["one"]
    assert found["metrics"]["correctness"] is None
    assert "correctness" not in found["not_applicable"]
    results = (acme.folder() / "results.jsonl").read_text(encoding="utf-8")
    assert "ValueError: ***" in results
    assert "s3cret-value" not in results
