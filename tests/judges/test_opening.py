from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.judges.opening import open_cache, open_judge
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import JudgeSettings, Settings


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
