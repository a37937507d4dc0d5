from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import pytest

from pytest_rageval.engine.recorded import RecordedRun
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.errors import DatasetError
from pytest_rageval.values.settings import Settings
from tests.authoring.interchange.sources import (
    SAMPLES,
    cases_of,
    left_out,
    read_samples,
    read_texts,
)

DATASET = "unrag-dataset.json"
REPORT = "unrag-report.json"
KEYS = {
    "hitAtK": "hit_at_k",
    "recallAtK": "recall_at_k",
    "precisionAtK": "precision_at_k",
    "mrrAtK": "mrr",
}


def test_queries_become_cases_below_the_folder_of_their_scope() -> None:
    roses, sow, frost, fees = cases_of(read_samples("unrag", DATASET))
    assert (roses.id, roses.question, roses.k) == ("q_roses", "When are roses pruned?", 4)
    assert roses.gold_supports == (Anchor(rel_path="eval/garden/doc/roses.md"),)
    assert roses.folders == ("eval/garden",)
    assert roses.notes == "asked every year"
    assert (sow.k, len(sow.gold_supports)) == (2, 2)
    assert (frost.id, frost.metadata) == ("q-frost-old", {"unrag": {"id": "q frost [old]"}})
    assert fees.required_support_groups == ((0,),)


def test_documents_come_along_below_the_scope_prefix() -> None:
    found = read_samples("unrag", DATASET)
    assert found.scope_prefix == "eval/garden/"
    assert [one.rel_path for one in found.documents] == [
        "eval/garden/doc/roses.md",
        "eval/garden/doc/beans.md",
        "eval/garden/doc/peas.md",
        "eval/garden/rules/fees.md",
    ]
    assert found.documents[0].text == "Roses are pruned in late winter, before the buds open."
    assert (found.documents[3].text, found.documents[3].ref) == (None, "fees.md")
    assert found.documents[0].source_id == "eval:garden:doc:roses"


def test_what_any_of_several_documents_may_hold_becomes_groups_and_snippets() -> None:
    frost = cases_of(read_samples("unrag", DATASET))[2]
    # The matcher by text is read first, then the one by metadata adds the other vegetable.
    assert {one.rel_path: one.snippets for one in frost.gold_supports} == {
        "eval/garden/doc/peas.md": ("stand some frost",),
        "eval/garden/doc/beans.md": (),
    }
    assert frost.required_support_groups == ((0,), (1,))


def test_limits_of_the_dataset_are_told_in_our_words() -> None:
    assert read_samples("unrag", DATASET).thresholds == {
        "hit_at_k": ">= 0.9",
        "recall_at_k": ">= 0.75",
        "mrr": ">= 0.5",
        "latency_ms.p95": "<= 800",
    }


@pytest.mark.parametrize("stage", ["retrieved", "reranked"])
def test_scoring_a_report_again_gives_its_own_figures(tmp_path: Path, stage: str) -> None:
    report = json.loads((SAMPLES / REPORT).read_text(encoding="utf-8"))
    queries = report["results"]["queries"]
    if stage == "retrieved":
        for query in queries:
            del query["reranked"]
    dataset = (SAMPLES / DATASET).read_text(encoding="utf-8")
    found = read_texts("unrag", {"d.json": dataset, "r.json": json.dumps(report)})
    figures = rescore(tmp_path, found.cases, found.responses)
    for query in queries:
        expected = query[stage]["metrics"]
        assert {name: figures[query["id"]][key] for name, key in KEYS.items()} == expected
    for name, mean in report["results"]["aggregates"][stage]["mean"].items():
        assert fmean(figures[query["id"]][KEYS[name]] or 0 for query in queries) == mean


def test_every_field_of_a_report_is_counted() -> None:
    report = json.loads((SAMPLES / REPORT).read_text(encoding="utf-8"))
    report["engine"] = {"embeddingModel": "e"}
    report["results"] |= {"passed": True, "timings": {"wallMs": 3}}
    query = report["results"]["queries"][0]
    query["retrieved"]["own"] = 1
    dataset = (SAMPLES / DATASET).read_text(encoding="utf-8")
    found = read_texts("unrag", {"d.json": dataset, "r.json": json.dumps(report)})
    left, of = left_out(found), "results.queries[]"
    expected = {
        **dict.fromkeys(("version", "createdAt", "dataset", "engine"), 1),
        **dict.fromkeys((f"config.{name}" for name in report["config"]), 1),
        **dict.fromkeys(("results.aggregates", "results.timings", "results.passed"), 1),
        **dict.fromkeys((f"{of}.{name}" for name in ("query", "topK", "relevant")), 2),
        **dict.fromkeys((f"{of}.{stage}.metrics" for stage in ("retrieved", "reranked")), 2),
        **dict.fromkeys(
            (f"{of}.retrieved.durationsMs.{name}" for name in ("embeddingMs", "retrievalMs")), 2
        ),
        f"{of}.reranked.durationsMs.rerankMs": 2,
        f"{of}.retrieved.own": 1,
    }
    assert {name: left[name] for name in expected} == {**expected, "version": 1}
    for name in ("id", "retrieved.sourceIds", "reranked.sourceIds"):
        assert found.carried[f"{of}.{name}"] == 2
    for stage in ("retrieved", "reranked"):
        assert found.carried[f"{of}.{stage}.durationsMs.totalMs"] == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"defaults": {}}, "defaults.scopePrefix: missing"),
        ({"queries": [{"id": "a"}]}, "queries[0].query: missing"),
        ({"queries": [{"id": "a", "query": "b"}]}, "queries[0].relevant: missing"),
        ({"documents": [{"sourceId": "elsewhere", "content": "x"}]}, "below the scope prefix"),
        ({"documents": [{"sourceId": "eval:garden:x"}]}, "expected content or loaderRef"),
        ({"defaults": {"scopePrefix": "e:", "topK": "four"}}, "queries[1].topK"),
    ],
)
def test_a_faulty_dataset_names_the_place(changed: dict[str, object], message: str) -> None:
    dataset = json.loads((SAMPLES / DATASET).read_text(encoding="utf-8"))
    dataset["queries"][1].pop("topK", None)
    if "documents" not in changed:
        dataset["documents"] = []
    dataset["queries"][0]["topK"] = 3
    with pytest.raises(DatasetError, match=r"d\.json") as caught:
        read_texts("unrag", {"d.json": json.dumps(dataset | changed)})
    assert message in str(caught.value)


def rescore(
    folder: Path, cases: tuple[dict[str, object], ...], responses: tuple[dict[str, object], ...]
) -> dict[str, dict[str, float | None]]:
    """Score recorded responses as ``rageval score --retrieval-only`` does."""
    for name, lines in (("cases.jsonl", cases), ("responses.jsonl", responses)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / name).write_text(text, encoding="utf-8")
    settings = Settings(rootdir=str(folder), judge="none", retrieval_only=True)
    run = RecordedRun(folder / "cases.jsonl", folder / "responses.jsonl", settings)
    return {record.case.id: dict(record.scores.metrics) for record in run.records()}
