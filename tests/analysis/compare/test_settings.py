"""May two runs be compared: what they were made with decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from pytest_rageval.analysis.compare.settings import (
    Comparability,
    Invariant,
    compare_configs,
    current_config,
    judge_dependent_keys,
    rules_difference,
    setting_differences,
    shown,
    unaffected_keys,
)
from pytest_rageval.metrics.built_in import BUILT_IN, stored_registry
from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.project.options import OPTIONS, VERSIONS
from pytest_rageval.project.settings import config_hash
from pytest_rageval.values.declared import Setting
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import JudgeUsed, RunConfig
from pytest_rageval.values.settings import JudgeSettings, Settings, TargetSettings
from tests.build.records import record
from tests.build.runs import config_of
from tests.build.scores import case, chunk
from tests.build.setting_values import another_value, with_value
from tests.build.verdicts import judged_by

BASE = Settings(rootdir=".", judge="none")
MODEL = replace(BASE, judge="m-1")
JUDGED = judge_dependent_keys(abstention=False, conflict=False)


def compared(
    one: Settings,
    other: Settings,
    base: list[CaseRecord] | None = None,
    new: list[CaseRecord] | None = None,
) -> Comparability:
    return compare_configs(config_of(base or [], one), config_of(new or [], other))


def stored(settings: Settings) -> RunConfig:
    named = {name: getattr(settings, name) for name in VERSIONS}
    config = replace(current_config(settings), **named)
    return msgspec.json.decode(msgspec.json.encode(config), type=RunConfig)


def judged(judge: str = "m-1", model: str | None = "m-1-2026", version: str = "g/1") -> CaseRecord:
    found = judged_by(judge=judge, model=model, rubric_version=version)
    return record("a", {"groundedness": 5.0}, judgements=found)


def test_runs_of_the_same_settings_are_comparable() -> None:
    found = compared(BASE, replace(BASE, concurrency=1, store_full_text=True, run_id="x"))
    assert found.comparable
    assert (found.invariants, found.versions, found.config, found.warning) == ((), (), (), None)


@pytest.mark.parametrize("row", OPTIONS, ids=lambda row: row.name)
def test_a_difference_in_a_setting_does_what_its_row_says(row: Setting) -> None:
    one = replace(MODEL, rootdir="a")
    other = with_value(one, row, another_value(row))
    found = compare_configs(stored(one), stored(other))
    affected = {row.affects} - {None}
    if row.name == "retrieval_only":  # then nobody judges
        affected.add("judged")
    assert {invariant.affects for invariant in found.invariants} == affected
    listed = row.role in {"subject", "effort"}
    assert bool(found.versions) == (row.name in VERSIONS)
    assert bool(found.config) == (listed and row.name not in VERSIONS)
    numbers_differ = row.affects is not None or row.role == "subject"
    assert (config_hash(one) != config_hash(other)) == numbers_differ
    assert bool(setting_differences(stored(one), stored(other))) == numbers_differ


@pytest.mark.parametrize(
    ("change", "name", "value"),
    [
        ({"k": 10}, "k", 10),
        ({"path_case": "insensitive"}, "matching.path_case", "insensitive"),
        ({"snippets": "all"}, "matching.snippets", "all"),
        ({"coarse_chunks": True}, "matching.coarse_chunks", True),
        ({"folder_mode": "on"}, "payload.folder_mode", "on"),
        ({"vector_weight": 0.5}, "payload.vector_weight", 0.5),
        ({"lexical_weight": 0.5}, "payload.lexical_weight", 0.5),
        ({"params": {"mode": "deep"}}, "payload.mode", "deep"),
    ],
)
def test_what_every_number_depends_on_leaves_nothing(
    change: dict[str, Any], name: str, value: object
) -> None:
    found = compared(BASE, replace(BASE, **change))
    (invariant,) = found.invariants
    before = getattr(BASE, name.rsplit(".", maxsplit=1)[-1], None)
    assert (invariant.name, invariant.base, invariant.new) == (name, before, value)
    assert unaffected_keys(found, JUDGED) == frozenset()
    assert name in found.sentence()


TONE = MetricInfo(
    key="tone.warm",
    title="Warm",
    population="answers",
    level="judged",
    version="tone-1",
    source="tone.jinja",
)
JARGON = replace(TONE, key="tone.jargon", direction="lower")


def defined(*infos: MetricInfo) -> RunConfig:
    registry = BUILT_IN.with_(infos)
    judge = JudgeUsed(judge="m-1", model="m-1", rubrics={i.source: i.version for i in infos})
    return replace(current_config(BASE, registry), judges=(judge,))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": "tone-2"}, "version tone-2, higher is better, 0 to 1"),
        ({"direction": "neutral"}, "version tone-1, neither is better, 0 to 1"),
        ({"scale": (0.0, None)}, "version tone-1, higher is better, from 0"),
        ({"binary": True}, "version tone-1, higher is better, 0 or 1"),
    ],
)
def test_another_definition_of_an_own_metric_leaves_all_others(
    change: dict[str, Any], said: str
) -> None:
    base, new = defined(TONE, JARGON), defined(replace(TONE, **change), JARGON)
    found = compare_configs(base, new)
    (invariant,) = found.invariants
    before = "version tone-1, higher is better, 0 to 1"
    assert (invariant.name, invariant.base, invariant.new) == ("metric tone.warm", before, said)
    registry = stored_registry(base, new)
    keys = judge_dependent_keys(abstention=True, conflict=True, registry=registry)
    assert {*keys} >= {"tone.warm", "tone.jargon", "groundedness"}
    assert unaffected_keys(found, keys, registry) == frozenset({*registry.cases} - {"tone.warm"})
    assert [one.name for one in setting_differences(base, new)] == ["metric tone.warm"]


def test_another_budget_of_tokens_leaves_all_metrics_but_the_one_that_it_defines() -> None:
    found = compared(replace(BASE, token_budget=400), replace(BASE, token_budget=100))
    (invariant,) = found.invariants
    assert (invariant.name, invariant.base, invariant.new) == ("token_budget", 400, 100)
    assert unaffected_keys(found, JUDGED) == frozenset({*BUILT_IN.cases} - {"recall_at_tokens"})
    assert found.config == ()
    # A run without a budget has no such score to compare.
    unset = compared(BASE, replace(BASE, token_budget=100))
    assert (unset.comparable, [one.name for one in unset.config]) == (True, ["token_budget"])


def test_another_version_of_the_metric_definitions_leaves_nothing() -> None:
    one = config_of([], BASE)
    found = compare_configs(one, replace(one, metric_definitions_version=99))
    assert [i.name for i in found.invariants] == ["metric_definitions_version"]
    assert unaffected_keys(found, JUDGED) == frozenset()


@pytest.mark.parametrize(
    ("other", "records"),
    [
        (replace(BASE, judge="m-2"), []),
        (replace(BASE, judge="offline"), []),
        (BASE, []),
        (MODEL, [judged(model="m-1-2027")]),
    ],
    ids=["another model", "the offline judge", "no judge", "another version of the model"],
)
def test_another_judge_leaves_the_metrics_of_retrieval(
    other: Settings, records: list[CaseRecord]
) -> None:
    found = compared(MODEL, other, [judged()], records)
    assert [i.name for i in found.invariants] == ["judge"]
    left = unaffected_keys(found, JUDGED)
    assert left is not None
    assert {"recall_at_k", "mrr", "scope_miss_rate", "attribution_hit_rate"} <= left
    assert left.isdisjoint({"groundedness", "correctness", "five.composite"})


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"temperature": 0.7}, "temperature"),
        ({"seed": 7}, "judge.seed"),
        ({"max_tokens": 9}, "judge.max_tokens"),
        ({"base_url": "http://x"}, "judge.base_url"),
        ({"structured_output": "text"}, "judge.structured_output"),
        ({"extra_body": {"reasoning_effort": "low"}}, "judge.extra_body"),
    ],
)
def test_a_setting_of_the_judge_is_an_invariant(change: dict[str, Any], name: str) -> None:
    found = compared(MODEL, replace(MODEL, judging=JudgeSettings(**change)))
    assert [(i.name, i.affects) for i in found.invariants] == [(name, "judged")]


def test_answers_are_not_compared_with_a_run_of_retrieval_alone() -> None:
    found = compared(BASE, replace(BASE, retrieval_only=True))
    assert [i.name for i in found.invariants] == ["retrieval_only"]
    left = unaffected_keys(found, JUDGED)
    assert left is not None
    assert "recall_at_k" in left
    assert left.isdisjoint({"attribution_hit_rate", "abstention_accuracy", "groundedness"})


def test_abstention_goes_with_the_judge_where_the_judge_told_it() -> None:
    found = compared(MODEL, BASE)
    keys = judge_dependent_keys(abstention=True, conflict=True)
    left = unaffected_keys(found, keys)
    assert left is not None
    assert left.isdisjoint({"abstention_accuracy", "recency_conflict_accuracy"})
    assert "abstention_accuracy" in (unaffected_keys(found, JUDGED) or ())


def test_more_than_one_version_that_changed_is_warned_about() -> None:
    found = compared(
        replace(BASE, retriever_version="r1", index_build_version="i1", answerer_version="a"),
        replace(BASE, retriever_version="r2", index_build_version="i2", answerer_version="a"),
    )
    assert [v.name for v in found.versions] == ["index_build_version", "retriever_version"]
    assert found.warning == (
        "index build and retriever changed at once, so no difference can be put down to one of them"
    )


def test_the_target_and_its_models_may_differ_and_are_listed() -> None:
    found = compared(
        BASE,
        replace(BASE, target=TargetSettings(url="http://x")),
        [record("a", models={"llm_model": "a"})],
        [record("a", models={"llm_model": "b"})],
    )
    assert found.comparable
    assert [(d.name, d.base, d.new) for d in found.config] == [
        ("target.url", None, "http://x"),
        ("target_models.llm_model", "a", "b"),
    ]
    assert [v.name for v in found.versions] == ["answerer_version"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "not set"),
        ("plain", "plain"),
        ("x" * 99, "x" * 57 + "..."),
        (5, "5"),
        (True, "True"),
        ({"a": 1}, "a 1"),
        ({}, "none"),
        (
            ["groundedness", "correctness", "quality", "five_dimensions", "own"],
            "groundedness, correctness, quality, five_dimensions, own",
        ),
        ([], "none"),
    ],
)
def test_values_are_shown_in_one_short_piece(value: object, text: str) -> None:
    assert shown(value) == text


# --- rules of matching that differ between two runs


def decided(number: int, rules: Sequence[Any] | None, **fields: Any) -> CaseRecord:
    one = chunk("a.md", matched_golds=None if rules is None else (0,))
    if rules:
        one = chunk("a.md", matched_golds=(0,), matched_by=tuple(rules))
    name = f"c{number}"
    return record(name, case=case("a.md | # A"), retrieved_chunks=(one,), lineno=number, **fields)


def run(*rules: Sequence[Any] | None) -> list[CaseRecord]:
    return [decided(number, of, file=f"evals/{number}.jsonl") for number, of in enumerate(rules)]


def test_records_of_older_versions_were_decided_by_headings() -> None:
    assert rules_difference(run([]), run(["heading"])) is None
    found = rules_difference(run([], []), run(["snippet"], ["document"]))
    assert isinstance(found, Invariant)
    assert (found.name, found.affects) == ("matching.rules", "everything")
    assert found.base == "heading (2 of 2 cases)"
    assert found.new == "snippet, document (2 of 2 cases)"


def test_cases_without_anchors_to_compare_are_undecided_by_every_version() -> None:
    reason = {"recall_at_k": "No chunk of the run reports a heading, and the case names one."}
    old, new = decided(1, [], not_applicable=reason), decided(1, None, not_applicable=reason)
    assert rules_difference([old], [new]) is None
    found = rules_difference([old], [decided(1, ["snippet"])])
    assert found is not None
    assert found.base == "undecided (1 of 1 case)"
