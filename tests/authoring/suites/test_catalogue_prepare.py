from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.authoring.suites.catalogue import (
    Names,
    PreparedSuite,
    Suite,
    find_suite,
    prepare_suite,
)
from pytest_rageval.project.case_reader import load_cases
from tests.build.ir_datasets import library, local_dataset

TINY = find_suite("tiny")


def prepare(folder: Path, names: Names = "paths", *, with_corpus: bool = True) -> PreparedSuite:
    return prepare_suite(TINY, folder, names, with_corpus=with_corpus)


def test_golds_are_notes_of_the_corpus(tmp_path: Path) -> None:
    prepared = prepare(tmp_path / "tiny")
    golds = {
        gold.rel_path
        for located in load_cases(prepared.cases).cases
        for gold in located.case.gold_supports
    }
    notes = {path.name for path in prepared.corpus.iterdir()}
    assert golds < notes
    assert len(notes) == TINY.n_documents
    assert (prepared.folder / ".gitignore").read_text(encoding="utf-8") == "*\n"
    assert (
        (prepared.corpus / "ferry.md").read_text(encoding="utf-8").startswith("# The chain ferry")
    )


def test_what_is_there_stays_and_a_missing_corpus_is_added(tmp_path: Path) -> None:
    prepared = prepare(tmp_path, with_corpus=False)
    assert not prepared.corpus.exists()
    written = prepared.cases.stat().st_mtime_ns
    assert prepare(tmp_path).corpus.is_dir()
    (prepared.corpus / "ferry.md").unlink()
    prepare(tmp_path)
    assert not (prepared.corpus / "ferry.md").exists()
    assert prepared.cases.stat().st_mtime_ns == written


def test_a_suite_of_the_library_is_read_from_it(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ir_datasets = library(tmp_path_factory)
    monkeypatch.setattr(ir_datasets.registry, "_registered", {})
    ir_datasets.registry.register("demo/test", local_dataset(ir_datasets, tmp_path / "demo"))
    suite = Suite(
        name="demo",
        title="Demo",
        kind="",
        dataset="demo/test",
        n_documents=3,
        n_questions=2,
        published=(),
        source="",
    )
    prepared = prepare_suite(suite, tmp_path / "s", "paths", with_corpus=True)
    assert len(load_cases(prepared.cases).cases) == 2
    assert (prepared.corpus / "d1.md").read_text(encoding="utf-8") == "The vault opens at nine."
