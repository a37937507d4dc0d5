from __future__ import annotations

from dataclasses import replace

import msgspec

from pytest_rageval.analysis.compare.settings import (
    ConfigDifference,
    current_config,
    listed,
    setting_differences,
)
from pytest_rageval.values.run import RunConfig
from pytest_rageval.values.settings import JudgeSettings, Settings, TargetSettings

BASE = Settings(rootdir="a", params={"mode": "fast", "deep": {"x": 1}})


def config(settings: Settings) -> RunConfig:
    stored = msgspec.json.encode(current_config(settings))
    return msgspec.json.decode(stored, type=RunConfig)


def names(one: Settings, other: Settings, *also: str) -> list[str]:
    found = setting_differences(config(one), current_config(other), also=also)
    return [one.name for one in found]


def test_settings_are_named_by_their_flags_or_their_own_names() -> None:
    other = replace(
        BASE,
        k=9,
        params={"mode": "slow", "deep": {"x": 1}},
        target=TargetSettings(url="http://x"),
        snippets="all",
    )
    assert sorted(names(BASE, other)) == ["--rag-k", "--rag-url", "params.mode", "snippets"]


def test_what_changes_no_number_does_not_differ() -> None:
    other = replace(
        BASE,
        rootdir="b",
        run_id="x",
        concurrency=1,
        max_errors=1,
        shard="1/2",
        resume="last",
        target=TargetSettings(timeout_s=1.0, retries=0),
        judging=JudgeSettings(timeout_s=1.0, seed=3),
    )
    assert names(BASE, other) == []
    assert names(BASE, other, "shard") == ["--rageval-shard"]


def test_a_difference_is_listed_with_both_values() -> None:
    (found,) = setting_differences(config(BASE), current_config(replace(BASE, repeats=2)))
    assert found == ConfigDifference(name="--rageval-repeats", base=1, new=2)
    assert listed([found], "then", "now") == "--rageval-repeats: 1 then, 2 now"


def test_other_definitions_of_the_metrics_differ() -> None:
    old = replace(config(BASE), metric_definitions_version=0)
    assert [one.name for one in setting_differences(old, current_config(BASE))] == [
        "metric_definitions_version"
    ]
