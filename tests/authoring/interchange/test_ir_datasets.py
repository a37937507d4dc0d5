"""The reader against the library itself, with datasets that it reads from files."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.authoring.interchange import ir_datasets as reader
from pytest_rageval.authoring.interchange.values import Imported, ReadOptions, Source
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.errors import ConfigError, DatasetError, EndpointError
from tests.authoring.interchange.sources import cases_of
from tests.build.ir_datasets import library, local_dataset

KEEP, PATHS = ReadOptions(ids="keep"), ReadOptions(with_documents=True)


@pytest.fixture(scope="module")
def ir_datasets(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return library(tmp_path_factory)


@pytest.fixture
def named(ir_datasets: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of a registered dataset."""
    found = dict(ir_datasets.registry._registered)
    monkeypatch.setattr(ir_datasets.registry, "_registered", found)
    ir_datasets.registry.register("demo/test", local_dataset(ir_datasets, tmp_path / "demo"))
    return "demo/test"


def read(name: str, options: ReadOptions = KEEP) -> Imported:
    return reader.read(Source(files=(), names=(name,), options=options))


def test_questions_become_cases_with_graded_golds(named: str) -> None:
    one, two = cases_of(read(named))
    assert (one.id, one.question) == ("1", "When does the vault open?")
    assert one.gold_supports == (Anchor(rel_path="d1", grade=2),)
    assert one.metadata["ir-datasets"] == {"judged_not_relevant": {"d2": 0}}
    assert two.gold_supports == (Anchor(rel_path="a/odd#id"),)
    assert two.metadata["ir-datasets"]["id"] == "q::2"


def test_with_documents_golds_are_the_paths_of_notes(named: str) -> None:
    found = read(named, PATHS)
    dataset = reader.open_dataset(named)
    documents = list(reader.iterate_documents(dataset, named, PATHS))
    assert [one.rel_path for one in documents[:2]] == ["d1.md", "d2.md"]
    golds = [gold.rel_path for case in cases_of(found) for gold in case.gold_supports]
    assert golds == [documents[0].rel_path, documents[2].rel_path]
    assert documents[2].source_id == "a/odd#id"
    kept = list(reader.iterate_documents(dataset, named, KEEP))
    assert [one.rel_path for one in kept] == ["d1", "d2", "a/odd#id"]


def test_an_unknown_dataset_is_refused_with_the_nearest_name(ir_datasets: Any) -> None:
    with pytest.raises(DatasetError, match=r"dataset 'beir/scifakt/test'.*beir/scifact/test"):
        read("beir/scifakt/test")


def test_where_the_network_is_closed_the_message_says_what_to_do(
    ir_datasets: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # A proxy at a closed port of this machine: nothing leaves it.
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("IR_DATASETS_DL_TRIES", "1")
    monkeypatch.setenv("IR_DATASETS_HOME", "/data/ir")
    with pytest.raises(EndpointError) as caught:
        read("beir/scifact/test")
    assert caught.value.kind == "connection"
    message = str(caught.value)
    assert caught.value.code == "dataset_lost"
    assert "copy that folder from a machine that has the dataset" in message
    assert "into /data/ir: " in message
    assert capfd.readouterr().err == ""


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "ir_datasets":
            raise ImportError("No module named 'ir_datasets'")
        return real(name, *rest, **more)

    monkeypatch.delitem(sys.modules, "ir_datasets", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match=r"pip install 'pytest-rageval\[suites\]'"):
        read("beir/scifact/test")
