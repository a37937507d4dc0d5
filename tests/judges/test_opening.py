from __future__ import annotations

from pathlib import Path

from pytest_rageval.judges.opening import open_cache
from pytest_rageval.values.settings import Settings


def test_verdicts_are_kept_beside_a_test_path_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_text("", encoding="utf-8")
    with open_cache(Settings(rootdir=str(tmp_path), testpaths=("set.jsonl",))) as cache:
        assert cache is not None
        assert cache.put("k", {"a": 1}, identity="m")
    assert (tmp_path / "cache/judge.sqlite").is_file()
