from __future__ import annotations

import pytest

from pytest_rageval.authoring.interchange.ir_datasets import open_dataset
from pytest_rageval.authoring.suites.catalogue import SUITES, find_suite
from pytest_rageval.values.errors import ConfigError
from tests.build.ir_datasets import library
from tests.docs.examples import read_chapter

PAGE = read_chapter("studies.md", "Standard suites")


def test_every_dataset_is_one_of_the_library_and_of_the_size_that_it_gives(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    library(tmp_path_factory)
    for suite in SUITES.values():
        if suite.dataset is None:
            continue
        dataset = open_dataset(suite.dataset)
        sizes = [
            getattr(dataset, f"{part}_metadata")()["count"]  # bundled: nothing is downloaded
            for part in ("docs", "queries")
        ]
        assert sizes == [suite.n_documents, suite.n_questions], suite.name


def test_every_figure_is_of_the_page_that_it_cites() -> None:
    for suite in SUITES.values():
        assert all(0 < value <= 1 for one in suite.published for value in one.values.values())
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{suite.name}` |"))
        for one in suite.published:
            for value in one.values.values():
                assert f"{value:.4f}" in row, (suite.name, one.key)


def test_an_unknown_name_gets_a_hint() -> None:
    assert find_suite("tiny").dataset is None
    with pytest.raises(ConfigError, match="unknown suite 'scifakt', did you mean"):
        find_suite("scifakt")
