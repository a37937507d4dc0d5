from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from pytest_rageval.server import index
from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.engine import ReferenceEngine
from pytest_rageval.server.index import Index
from pytest_rageval.server.vault import Note
from tests.server.builders import ask, make_engine, retrieved, write_vault

QUESTION = "What is the retry limit of the queue?"


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Number of notes of each index that was built, and not loaded."""
    found: list[int] = []
    build = index.build_index

    def noted(config: ReferenceConfig, notes: Sequence[Note]) -> Index:
        found.append(len(notes))
        return build(config, notes)

    monkeypatch.setattr(index, "build_index", noted)
    return found


def entries(cache: Path) -> list[Path]:
    return sorted(cache.glob("*.npz"))


def ids(engine: ReferenceEngine) -> list[str]:
    return [chunk.chunk_id for chunk in engine.index.chunks]


def test_an_index_is_built_once_and_then_loaded(tmp_path: Path, builds: list[int]) -> None:
    root, cache = write_vault(tmp_path / "vault"), tmp_path / "cache"
    built = make_engine(root, cache_dir=cache)
    loaded = make_engine(root, cache_dir=cache)
    assert builds == [5]
    assert built.index.chunks == loaded.index.chunks
    np.testing.assert_array_equal(built.index.vectors, loaded.index.vectors)
    one, two = ask(built, QUESTION, rerank=True), ask(loaded, QUESTION, rerank=True)
    one["debug"].pop("latency")
    two["debug"].pop("latency")
    assert one == two


def test_the_cache_folder_is_ignored_by_git_and_holds_no_leftovers(tmp_path: Path) -> None:
    root, cache = write_vault(tmp_path / "vault"), tmp_path / "a" / "cache"
    make_engine(root, cache_dir=cache)
    assert (cache / ".gitignore").read_text(encoding="utf-8") == "*\n"
    assert {*cache.iterdir()} == {cache / ".gitignore", *entries(cache)}


def test_a_changed_note_or_setting_builds_another_index(tmp_path: Path, builds: list[int]) -> None:
    root, cache = write_vault(tmp_path / "vault"), tmp_path / "cache"
    make_engine(root, cache_dir=cache)
    make_engine(root, cache_dir=cache, chunk_tokens=50, chunk_overlap=0)
    assert len(builds) == 2
    make_engine(root, cache_dir=cache, k=9, min_score=0.1)
    assert len(builds) == 2
    (root / "readme.md").write_text("changed\n", encoding="utf-8")
    make_engine(root, cache_dir=cache)
    assert len(builds) == 3
    assert len(entries(cache)) == 3


def test_ids_are_the_same_after_a_rebuild_and_when_another_file_changes(tmp_path: Path) -> None:
    root = write_vault(tmp_path / "vault")
    first = ids(make_engine(root))
    assert ids(make_engine(root)) == first
    (root / "readme.md").write_text("changed\n", encoding="utf-8")
    changed = ids(make_engine(root))
    assert len(changed) == len(first)
    assert len(set(first) - set(changed)) == 1


@pytest.mark.parametrize("kept", [0, 500, -100])
def test_a_damaged_entry_is_built_again_and_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, builds: list[int], kept: int
) -> None:
    root, cache = write_vault(tmp_path / "vault"), tmp_path / "cache"
    make_engine(root, cache_dir=cache)
    (entry,) = entries(cache)
    entry.write_bytes(entry.read_bytes()[:kept] + b"garbage")
    with caplog.at_level(logging.WARNING):
        make_engine(root, cache_dir=cache)
    assert "is damaged" in caplog.text
    assert entries(cache) == [entry]
    make_engine(root, cache_dir=cache)
    assert len(builds) == 2


def test_several_builders_at_once_end_with_one_good_entry(tmp_path: Path) -> None:
    root, cache = write_vault(tmp_path / "vault"), tmp_path / "cache"
    found: list[list[str]] = []
    start = threading.Barrier(4)

    def build() -> None:
        start.wait()
        found.append(ids(make_engine(root, cache_dir=cache)))

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(one == found[0] for one in found)
    assert len(entries(cache)) == 1


def test_a_cache_that_cannot_be_written_costs_only_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = write_vault(tmp_path / "vault")
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        engine = make_engine(root, cache_dir=blocked / "cache")
    assert retrieved(ask(engine, QUESTION))
    assert "index not cached" in caplog.text


def test_the_oldest_entries_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "KEPT_INDEXES", 2)
    root, cache = write_vault(tmp_path / "vault"), tmp_path / "cache"
    for size in (30, 40, 50):
        make_engine(root, cache_dir=cache, chunk_tokens=size, chunk_overlap=0)
    assert len(entries(cache)) == 2
