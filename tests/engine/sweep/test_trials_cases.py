"""Cases of a sweep and the faults that end it before the first question."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_rageval.engine.sweep.trials import cases_hash, planned_cases, read_cases
from pytest_rageval.project.documents import documents_path
from pytest_rageval.project.settings import load_settings
from pytest_rageval.values.errors import ConfigError, DatasetError
from pytest_rageval.values.settings import Settings
from tests.build.files import write_lines
from tests.build.projects import work_in
from tests.plugin.scratch import case


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return work_in(tmp_path, monkeypatch)


def settings(target: str = 'url = "http://127.0.0.1:9"') -> Settings:
    Path("pyproject.toml").write_text(f"[tool.rageval.target]\n{target}\n", encoding="utf-8")
    return load_settings(Path.cwd(), flags={}, environ=os.environ)


def test_all_case_files_are_asked_and_files_of_answers_left_alone() -> None:
    write_lines(Path("evals/a.jsonl"), case("a-1", "one?"))
    write_lines(Path("evals/sub/b.jsonl"), case("b-1", "two?"))
    write_lines(Path("evals/answers.jsonl"), {"id": "a-1", "response": {"answer": "x"}})
    found = read_cases(settings())
    assert list(found.cases) == ["evals/a.jsonl::a-1", "evals/sub/b.jsonl::b-1"]
    before = cases_hash(found)
    write_lines(Path("evals/a.jsonl"), case("a-1", "another?"))
    assert cases_hash(read_cases(settings())) != before


def test_faults_are_named_before_the_first_question() -> None:
    with pytest.raises(DatasetError, match=r"no case: expected case files \(.jsonl\) below evals"):
        read_cases(settings())
    write_lines(Path("evals/a.jsonl"), case("a-1", "one?"), {"id": "a-2", "question": 7})
    with pytest.raises(DatasetError, match=r"a\.jsonl:2"):
        read_cases(settings())
    with pytest.raises(ConfigError, match="no target to ask"):
        read_cases(settings(""))


def test_the_plan_knows_which_metrics_a_case_can_have() -> None:
    write_lines(
        Path("evals/a.jsonl"),
        case("a-1", "one?"),
        case("a-2", "two?", answerable=False, tags=["far"]),
        case("a-3", "three?", gold_supports=[]),
        case("a-4", "four?", review="generated"),
    )
    found = {
        one.id.split("::")[1]: one for one in planned_cases(read_cases(settings()), settings())
    }
    keys = ("recall_at_k", "negative_accuracy", "over_abstention_rate", "correctness")
    without = {id: [key for key in keys if key in one.without] for id, one in found.items()}
    assert without == {
        "a-1": ["negative_accuracy"],
        "a-2": ["recall_at_k", "over_abstention_rate"],
        "a-3": ["recall_at_k", "negative_accuracy"],
    }
    assert found["a-2"].tags == ("far",)
    assert all("recall_at_tokens" in one.without for one in found.values())
    # Whether a target reports vectors is known when it has replied.
    assert not any("similarity_margin" in one.without for one in found.values())


def test_documents_of_cases_are_refused() -> None:
    write_lines(Path("evals/a.jsonl"), case("a-1", "one?"))
    file = documents_path(Path("evals/a.jsonl"))
    write_lines(file, {"rel_path": "a.md", "text": "# A"})
    with pytest.raises(ConfigError, match="the cases have documents of their own"):
        read_cases(settings())
