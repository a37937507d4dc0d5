from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.metrics.built_in import BUILT_IN, FIVE_WEIGHTS
from pytest_rageval.metrics.registry import MetricInfo, unit_of
from pytest_rageval.support.text import Unit
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.own_code import Section


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("recall_any_at_k", "hit_at_k"),
        ("success_at_k", "hit_at_k"),
        ("doc_hit", "doc_hit_at_k"),
        ("doc_recall", "doc_recall_at_k"),
        ("doc_precision", "doc_precision_at_k"),
        ("doc_precision_returned", "doc_precision_returned_at_k"),
        ("doc_ndcg", "doc_ndcg_at_k"),
        ("doc_mrr", "doc_mrr"),
        ("mrr", "mrr"),
        ("latency_ms.p95", "latency_ms.p95"),
        ("recall", None),
        ("", None),
    ],
)
def test_names_and_aliases_resolve_to_one_key(name: str, key: str | None) -> None:
    assert BUILT_IN.resolve(name) == key
    info = BUILT_IN.info(name)
    assert (info.key if info else None) == key


def test_no_alias_hides_a_key() -> None:
    assert not BUILT_IN.aliases.keys() & (BUILT_IN.cases.keys() | BUILT_IN.runs.keys())
    assert not BUILT_IN.cases.keys() & BUILT_IN.runs.keys()


def test_every_metric_is_described() -> None:
    infos = [*BUILT_IN.cases.values(), *BUILT_IN.runs.values()]
    titles = [info.title for info in infos]
    assert len(set(titles)) == len(titles)
    assert all(info.title and info.population for info in infos)
    assert all(info.scale == (0.0, 1.0) for info in BUILT_IN.cases.values() if info.binary)


def test_a_judged_metric_is_a_share_or_one_of_five_points() -> None:
    scales = {key: info.scale for key, info in BUILT_IN.cases.items() if info.judged}
    points = {key for key, scale in scales.items() if scale == (0.0, 5.0)}
    assert points == {"groundedness", "correctness"}
    assert {scales[key] for key in scales.keys() - points} == {(0.0, 1.0)}


def test_only_judged_and_answer_metrics_judge_the_answer() -> None:
    answer_side = {key for key, info in BUILT_IN.cases.items() if info.answer_side}
    assert {"attribution_hit_rate", "over_abstention_rate", "groundedness"} <= answer_side
    assert not answer_side & {"hit_at_k", "doc_map", "negative_accuracy", "scope_miss_rate"}
    judged = {key for key, info in BUILT_IN.cases.items() if info.judged}
    assert "five.composite" in judged
    assert "abstention_accuracy" not in judged


@pytest.mark.parametrize(
    ("key", "worst"), [("mrr", 0), ("scope_miss_rate", 1), ("groundedness", 0)]
)
def test_the_worst_value_follows_the_direction(key: str, worst: float) -> None:
    assert BUILT_IN.cases[key].worst == worst


def test_the_weights_of_the_five_dimensions_sum_to_one() -> None:
    assert sum(FIVE_WEIGHTS.values()) == pytest.approx(1)
    assert {f"five.{name}" for name in FIVE_WEIGHTS} <= BUILT_IN.cases.keys()


def test_the_registry_imports_only_the_standard_library() -> None:
    code = (
        "import sys; import pytest_rageval.metrics.built_in;"
        "foreign = {m.partition('.')[0] for m in sys.modules} - set(sys.stdlib_module_names);"
        "print(sorted(m for m in foreign if not m.startswith(('_', 'pytest_rageval'))))"
    )
    shown = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        ("recall_at_k", "score"),
        ("error_rate", "score"),
        ("latency_ms.p95", "ms"),
        ("latency_ms.retrieval.p95", "ms"),
        ("cost_usd.total", "usd"),
        ("newly_missed", "count"),
        ("judge_tokens", "count"),
    ],
)
def test_unit_of_a_metric(metric: str, unit: Unit) -> None:
    assert unit_of(metric) == unit


# --- metrics of a project ----------------------------------------------------------------------


def own(key: str, **fields: Any) -> MetricInfo:
    given: dict[str, Any] = {"level": "own", "population": "cases", "source": "acme.metrics"}
    return MetricInfo(key=key, title=key, **{**given, **fields})


def test_own_metrics_come_after_the_built_in_ones() -> None:
    found = BUILT_IN.with_(
        [own("acme.b"), own("acme.a", direction="lower"), own("acme.n", level="run")]
    )
    assert [*found.cases] == [*BUILT_IN.cases, "acme.b", "acme.a"]
    assert [*found.runs] == [*BUILT_IN.runs, "acme.n"]
    assert [*found.own] == ["acme.b", "acme.a", "acme.n"]
    info = found.info("acme.a")
    assert info is not None
    assert (info.direction, info.built_in) == ("lower", False)
    assert found.resolve("acme.n") == "acme.n"
    assert not BUILT_IN.own
    assert BUILT_IN.resolve("acme.a") is None


def test_the_metrics_of_a_source_are_those_of_cases() -> None:
    found = BUILT_IN.with_([own("acme.a"), own("acme.n", level="run"), own("b.c", source="b")])
    assert (found.of("acme.metrics"), found.of("b"), found.of("c")) == (("acme.a",), ("b.c",), ())


def test_records_are_read_by_sections_and_by_figures_that_code_computes() -> None:
    total = own("acme.n", level="run")
    computed = replace(total, compute=lambda run: 1.0)
    section = Section(title="S")
    assert not BUILT_IN.with_([own("acme.a"), total]).reads_records
    assert BUILT_IN.with_([own("acme.a"), computed]).reads_records
    assert replace(BUILT_IN, sections=(section,)).reads_records


@pytest.mark.parametrize(
    ("key", "taken"),
    [
        ("mrr", "'mrr' of built-in"),
        ("success_at_k", "'hit_at_k' of built-in"),
        ("quality.tone", "'quality.correctness' of built-in"),
        ("latency_ms.sum", "'latency_ms.p50' of built-in"),
        ("stage.x", "of built-in"),
        ("acme.a", "'acme.a' of acme.metrics"),
    ],
)
def test_a_taken_name_is_refused_with_both_origins(key: str, taken: str) -> None:
    before = BUILT_IN.with_([own("acme.a")])
    with pytest.raises(ConfigError) as caught:
        before.with_([own(key, source="evals/tone.jinja")])
    assert str(caught.value).startswith(f"evals/tone.jinja: metric {key!r} is already ")
    assert taken in str(caught.value)


@pytest.mark.parametrize("key", ["pii_free", "", "acme.", ".a", "acme.pii free", "acme.[x]", "a.é"])
def test_an_own_name_has_a_dot_and_plain_signs(key: str) -> None:
    with pytest.raises(ConfigError, match="expected two names or more"):
        BUILT_IN.with_([own(key)])
