"""``rageval judge --show-cache`` and ``--prune-cache``."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.judges.cache import JudgeCache

Output = pytest.CaptureFixture[str]
DAY = 86_400
OLD, NEW = "old-model at api.example.org", "new-model at api.example.org"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A project whose cache holds three verdicts, used 40, 20 and 0 days ago."""
    file = tmp_path / "evals" / "cache" / "judge.sqlite"
    for days, key, judge in ((40, "a", OLD), (20, "b", NEW), (0, "c", NEW)):
        with JudgeCache(file, clock=lambda days=days: time.time() - days * DAY) as opened:  # type: ignore[misc]
            assert opened.put(key * 64, {"score": 4}, identity=judge)
    return file


def document(*arguments: str, capsys: Output) -> dict[str, Any]:
    assert cli.run(["judge", *arguments, "--json"]) == ExitCode.YES
    out, err = capsys.readouterr()
    assert err == ""
    found: dict[str, Any] = json.loads(out)
    return found


def test_the_cache_is_shown_by_judge(cache: Path, capsys: Output) -> None:
    found = document("--show-cache", capsys=capsys)
    assert found["schema_version"] == 1
    assert Path(found["cache"]) == cache
    assert (found["entries"], found["pruned"]) == (3, None)
    assert found["by_judge"] == {NEW: 2, OLD: 1}
    assert found["document_bytes"] == 3 * len('{"score":4}')
    assert found["oldest_use"] < found["newest_use"]


@pytest.mark.parametrize(
    ("arguments", "pruned", "left"),
    [
        (("--prune-cache", "30"), 1, {NEW: 2}),
        (("--prune-cache", "0"), 3, {}),
        (("--prune-cache", "60"), 0, {NEW: 2, OLD: 1}),
        (("--prune-cache", "10", "--judge", "new-model"), 1, {NEW: 1, OLD: 1}),
        (("--prune-cache", "0", "--judge", OLD), 1, {NEW: 2}),
    ],
)
def test_pruning_goes_by_age_and_judge(
    cache: Path, capsys: Output, arguments: tuple[str, ...], pruned: int, left: dict[str, int]
) -> None:
    found = document(*arguments, capsys=capsys)
    assert (found["pruned"], found["by_judge"]) == (pruned, left)
    with JudgeCache(cache) as opened:
        assert opened.stats().by_identity == left


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("last", "--show-cache"), "got 'last', expected none"),
        (("last", "--prune-cache", "3"), "got 'last', expected none"),
        (("--show-cache", "--no-judge-cache"), "--no-judge-cache"),
        (("--prune-cache", "-1"), "-1"),
        ((), "run 'last': "),
    ],
)
def test_what_does_not_go_together_is_refused(
    cache: Path, capsys: Output, arguments: tuple[str, ...], words: str
) -> None:
    before = cache.read_bytes()
    assert cli.run(["judge", *arguments]) == ExitCode.USAGE
    assert words in capsys.readouterr().err
    assert cache.read_bytes() == before
