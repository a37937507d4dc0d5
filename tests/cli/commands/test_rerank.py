from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.runs.documents import redact
from pytest_rageval.runs.store import RunWriter, write_document
from pytest_rageval.values.record import CaseRecord
from tests.build.records import cut_to_begins, record
from tests.build.scores import case, chunk
from tests.build.targets import fake_target, http_reply, json_reply, unused_port
from tests.docs.examples import read_chapter

Output = pytest.CaptureFixture[str]
PAGE = read_chapter("studies.md", "Reranking study")


def asked(case_id: str, texts: Sequence[str], gold: int, **fields: Any) -> CaseRecord:
    """Record whose chunk at one place matches its gold."""
    chunks = tuple(
        chunk(
            f"{case_id}-{place}.md | # A",
            text=text,
            matched_golds=(0,) if place == gold else (),
            irrelevant=False,
        )
        for place, text in enumerate(texts)
    )
    return record(
        case_id,
        {"hit_at_k": 1.0},
        question="where are tomatoes planted",
        case=replace(case(f"{case_id}-{gold}.md | # A"), id=case_id),
        retrieved_chunks=chunks,
        **fields,
    )


RECORDS = [
    asked("gains", ["about queues", "tomatoes are planted here"], 1, category="factual"),
    asked("harmed", ["the plot by the wall", "tomatoes are planted"], 0, category="multi_hop"),
]


def store(project: Path, records: Sequence[CaseRecord] = RECORDS, **rest: bool) -> Path:
    with RunWriter(project / "evals/results", "run-1") as writer:
        for one in records:
            writer.append(cut_to_begins(one) if rest else redact(one, full_text=True))
        settings = {"rootdir": ".", "judge": "none", "k": 1}
        write_document(writer.path, "config.json", {"schema_version": 1, "settings": settings})
        return writer.path


def run_json(capsys: Output, *arguments: str) -> dict[str, Any]:
    assert cli.run(["rerank", "run-1", *arguments, "--json"]) == ExitCode.YES
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def write_function(project: Path, body: str | None = None) -> None:
    """Write the function that the page shows, or another body of it."""
    page = PAGE.split("```python\n")[1].split("```")[0]
    text = page if body is None else f"def score(query, documents):\n    {body}\n"
    (project / "ranked.py").write_text(text, encoding="utf-8")


@pytest.fixture(autouse=True)
def own_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(__import__("sys").modules, "ranked", raising=False)


def test_without_a_reranker_the_ceiling_is_shown(project: Path, capsys: Output) -> None:
    store(project)
    document = run_json(capsys, "-k", "1", "-k", "2", "--at", "1")
    assert (document["delivered"]["recall@1"], document["ceiling"]["recall@1"]) == (0.5, 1.0)
    assert document["orders"] == {}
    assert cli.run(["rerank", "run-1"]) == ExitCode.YES
    out = capsys.readouterr().out
    assert "2 with golds and chunks, 2 to 2 candidates each" in out


def test_a_function_of_the_page_gains_and_breaks(project: Path, capsys: Output) -> None:
    store(project)
    write_function(project)
    document = run_json(capsys, "--reranker", "ranked:score", "--at", "1", "--price", "2")
    order = document["orders"]["ranked:score"]
    figures = order["metrics"]["recall@1"]
    assert (figures["before"], figures["after"], figures["ceiling"]) == (0.5, 0.5, 1.0)
    assert (figures["improved"], figures["worsened"], figures["gap_closed"]) == (1, 1, 0.0)
    assert [one["case_id"] for one in order["worsened"]] == ["harmed"]
    assert order["by_category"]["factual"]["recall@1"]["delta"] == 1.0
    assert order["queries"]["usd_per_query"] == 0.002
    assert order["queries"]["latency_ms"]["p50"] > 0


def test_an_endpoint_is_asked_with_the_texts_and_the_study_is_saved(
    project: Path, capsys: Output
) -> None:
    folder = store(project)
    reply = json_reply(
        {"results": [{"index": 1, "relevance_score": 1}, {"index": 0, "relevance_score": 0}]}
    )
    with fake_target(reply, reply) as target:
        arguments = ["--reranker", target.url, "--model", "m-1", "--concurrency", "1", "--save"]
        document = run_json(capsys, *arguments)
    sent = [json.loads(one.body)["documents"] for one in target.received]
    assert sent == [[c.text for c in one.reply.retrieved_chunks or ()] for one in RECORDS]
    assert document["orders"]["m-1"]["source"]["url"] == f"{target.url}/v1/rerank"
    saved = (folder / "rerank.json").read_text(encoding="utf-8")
    assert json.loads(saved) == document
    assert "tomatoes" not in saved
    assert cli.run(["report", "run-1"]) == ExitCode.YES
    assert "Reranking study" in (folder / "report.html").read_text(encoding="utf-8")


def test_the_embedded_server_ranks_by_words(project: Path, capsys: Output) -> None:
    store(project)
    (project / "notes").mkdir()
    (project / "notes/a.md").write_text("# A\n\nTomatoes are planted.\n", encoding="utf-8")
    (project / "pyproject.toml").write_text(
        '[tool.rageval.target]\nvault = "notes"\n', encoding="utf-8"
    )
    order = run_json(capsys, "--reranker", "embedded")["orders"]["embedded"]
    assert order["n"] == 2
    assert order["metrics"]["mrr@1"]["improved"] == 1


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return {}['x']", "ranked:score: KeyError: 'x'"),
        ("return [1.0]", "got [1.0], expected 2 finite numbers, one for each document"),
    ],
)
def test_a_function_that_fails_is_shown_with_its_place(
    project: Path, capsys: Output, body: str, says: str
) -> None:
    store(project)
    write_function(project, body)
    assert cli.run(["rerank", "run-1", "--reranker", "ranked:score"]) == ExitCode.USAGE
    err = capsys.readouterr().err
    assert says in err
    assert ("ranked.py:2: in score" in err) == ("KeyError" in says)


def test_an_endpoint_that_is_down_has_an_exit_code_of_its_own(
    project: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_rageval.support.http.pacing.MIN_BACKOFF_S", 0.0)
    store(project)
    url = f"http://127.0.0.1:{unused_port()}"
    assert cli.run(["rerank", "run-1", "--reranker", url]) == ExitCode.UNREACHABLE
    assert "connection refused" in capsys.readouterr().err


def test_a_case_without_an_order_is_left_out_and_named(project: Path, capsys: Output) -> None:
    store(project)
    good = json_reply({"results": [{"index": 0, "score": 1}, {"index": 1, "score": 0}]})
    with fake_target(good, http_reply(b"{}", "400 Bad Request")) as target:
        document = run_json(capsys, "--reranker", target.url, "--concurrency", "1")
    (order,) = document["orders"].values()
    assert order["n"] == 1
    assert [one["case_id"] for one in order["queries"]["failed"]] == ["harmed"]
    assert "no order for 1 case" in document["warnings"][-1]
