"""A stored run as scripts see it: how it is named, its figures, and its rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_rageval import StorageError, load_run
from pytest_rageval.api.run import ROW_KEYS
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.runs.tags import write_tag
from tests.build.records import failed, record
from tests.build.runs import run_of, write_run

RESULTS = Path("evals/results")


def test_a_run_is_found_by_the_names_that_commands_take(project: Path) -> None:
    write_run(RESULTS, "first", run_of(3), day=1)
    write_run(RESULTS, "second", run_of(5), day=2)
    write_tag(RESULTS, "main", "first")
    names: list[str | Path] = [
        "second",
        "sec",
        "last",
        RESULTS / "second",
        project / RESULTS / "second",
    ]
    assert {load_run(name).run_id for name in names} == {"second"}
    assert load_run().run_id == "second"
    found = load_run("main")
    assert (found.run_id, found.tags, len(found.records)) == ("first", ("main",), 3)
    assert found.folder == project / RESULTS / "first"
    with pytest.raises(StorageError, match="not found"):
        load_run("third")


def test_the_results_folder_is_that_of_the_project_in_the_root(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, away = project / "home", project / "away"
    away.mkdir()
    write_run(home / "elsewhere", "one", run_of(2))
    (home / "pyproject.toml").write_text('[tool.rageval]\nresults = "elsewhere"\n', "utf-8")
    monkeypatch.chdir(away)
    assert load_run("last", root=home).run_id == load_run("last", root="../home").run_id == "one"


def test_a_run_has_the_content_of_its_files() -> None:
    folder = write_run(RESULTS, "one", run_of(10))
    run = load_run("one")
    stored = json.loads((folder / "metrics.json").read_text("utf-8"))
    assert run.aggregate is not None
    assert run.aggregate.total == stored["total"] == 10
    assert run.config.settings.k == 5
    assert run.stored.verdict == "pass"
    assert run.means["recall_at_k"] == stored["metrics"]["recall_at_k"]["mean"] == 0.8
    assert repr(run) == "<Run one: 10 cases, gate pass>"


def rows(*records: object) -> list[dict[str, object]]:
    write_run(RESULTS, "one", records)  # type: ignore[arg-type]
    return load_run("one").rows()


def test_a_row_has_the_documented_keys_and_every_metric() -> None:
    one = record("a", {"recall_at_k": 0.5, "mrr": None}, not_applicable={"mrr": "no gold"})
    two = record("b", {"recall_at_k": 1.0, "tone.politeness": 4.0}, repeat=1)
    first, second = rows(one, two)
    assert list(first) == list(second) == [*ROW_KEYS, "recall_at_k", "mrr", "tone.politeness"]
    assert (first["case_id"], first["repeat"], first["recall_at_k"]) == ("a", 0, 0.5)
    assert (first["mrr"], first["not_applicable"]) == (None, {"mrr": "no gold"})
    assert (second["repeat"], second["mrr"], second["tone.politeness"]) == (1, None, 4.0)
    assert (first["run_id"], first["status"], first["error_kind"]) == ("one", "ok", None)
    json.dumps([first, second], allow_nan=False)


def test_a_case_that_erred_has_its_error_in_its_row_and_no_score() -> None:
    (row,) = rows(failed("a"))
    assert row["status"] == row["outcome"] == "error"
    assert row["error_kind"]
    assert row["error_message"]
    assert (row["answer"], row["n_chunks"]) == (None, None)
    assert [key for key in BUILT_IN.cases if row.get(key) is not None] == []
