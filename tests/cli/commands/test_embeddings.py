from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.engine.case import CaseRepeat
from pytest_rageval.project.case_reader import LocatedCase, parse_case
from pytest_rageval.runs.documents import redact
from pytest_rageval.runs.store import RunWriter, write_document
from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.server import ServerHandle, start_in_thread
from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.settings import Settings, TargetSettings
from tests.build.records import cut_to_begins, measure
from tests.build.targets import fake_target, json_reply, unused_port
from tests.server.builders import NOTES, write_vault

Output = pytest.CaptureFixture[str]
CASES: list[dict[str, Any]] = [
    {
        "id": "queue-en",
        "question": "What is the retry limit of the ingest queue?",
        "gold_supports": [{"rel_path": "work/queue.md", "heading_path": "# Queue"}],
    },
    {
        "id": "queue-de",
        "question": "Welches retry limit hat die ingest queue?",
        "gold_supports": [{"rel_path": "work/queue.md", "heading_path": "# Queue"}],
        "language": "de",
        "translation_of": "queue-en",
    },
    {
        "id": "garden-en",
        "question": "When are tomatoes planted?",
        "gold_supports": [{"rel_path": "home/garden.md", "heading_path": "# Garden"}],
        "translation_of": "nobody",
    },
    {"id": "moon", "question": "How far is the moon from the compost heap?", "answerable": False},
]
FILLER = "Neither the retry limit nor tomatoes are the subject of this sentence. " * 5
LONG = {path: f"{text}\n# More\n\n{FILLER}\n" for path, text in NOTES.items()}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHandle]:
    vault = write_vault(tmp_path_factory.mktemp("vault"), LONG)
    with start_in_thread(ReferenceConfig(vault=vault)) as handle:
        yield handle


@pytest.fixture(scope="module")
def measured(server: ServerHandle) -> list[CaseRecord]:
    """Every case, asked over a socket, and one that the target failed."""
    settings = Settings(rootdir=".", k=3)
    client = HttpRagClient(TargetSettings(url=server.url))
    located = [LocatedCase(case=parse_case(c), lineno=n) for n, c in enumerate(CASES, 1)]
    records = [
        measure(CaseRepeat(one, "evals/set.jsonl", settings), client, clock=time.monotonic)
        for one in located
    ]
    client.close()
    dead = HttpRagClient(TargetSettings(url=f"http://127.0.0.1:{unused_port()}", retries=0))
    lost = parse_case({**CASES[0], "id": "lost"})
    found = measure(
        CaseRepeat(LocatedCase(case=lost, lineno=9), "evals/set.jsonl", settings),
        dead,
        clock=time.monotonic,
    )
    dead.close()
    return [*records, found]


def store(
    project: Path, records: Sequence[CaseRecord], *, full_text: bool = True, **settings: Any
) -> Path:
    with RunWriter(project / "evals/results", "run-1") as writer:
        for one in records:
            writer.append(redact(one, full_text=True) if full_text else cut_to_begins(one))
        settings = {"rootdir": ".", "judge": "none", **settings}
        write_document(writer.path, "config.json", {"schema_version": 1, "settings": settings})
        return writer.path


def at(url: str, model: str = "lsa") -> list[str]:
    return ["--embeddings-url", url, "--embeddings-model", model]


def run_json(capsys: Output, *arguments: str) -> dict[str, Any]:
    assert cli.run(["embeddings", *arguments, "--json"]) == ExitCode.YES
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_a_run_is_analysed_with_the_vectors_of_a_server(
    project: Path, measured: list[CaseRecord], server: ServerHandle, capsys: Output
) -> None:
    store(project, measured)
    document = run_json(capsys, "run-1", *at(server.url))
    assert (document["schema_version"], document["run_id"]) == (1, "run-1")
    assert document["source"] == {
        "kind": "endpoint",
        "url": f"{server.url}/v1/embeddings",
        "model": "lsa",
        "dimensions": document["source"]["dimensions"],
    }
    assert document["source"]["dimensions"] >= 5
    assert (document["n_cases"], document["questions"]) == (5, {"n": 4, "n_with_vector": 4})
    assert document["chunks"]["n"] == document["chunks"]["n_with_vector"] >= 4
    figures = document["statistics"]
    counts = {key: (f["n"], f["n_not_applicable"], f["n_error"]) for key, f in figures.items()}
    assert counts == {
        "query_chunk_similarity": (4, 0, 1),
        "query_gold_similarity": (3, 1, 1),
        "query_other_similarity": (3, 1, 1),
        "similarity_margin": (3, 1, 1),
        "cross_lingual_consistency": (1, 0, 0),
    }
    gold, other = figures["query_gold_similarity"], figures["query_other_similarity"]
    assert 1 >= gold["mean"] > other["mean"] >= -1
    assert figures["similarity_margin"]["mean"] == pytest.approx(gold["mean"] - other["mean"])
    assert gold["low"] < gold["mean"] < gold["high"]
    (pair,) = document["translations"]["pairs"]
    assert (pair["case_id"], pair["translation_of"], pair["status"]) == (
        "queue-de",
        "queue-en",
        "scored",
    )
    documents = [
        {chunk.rel_path for chunk in (one.reply.retrieved_chunks or ())[:3]} for one in measured[:2]
    ]
    assert pair["value"] == len(documents[0] & documents[1]) / len(documents[0] | documents[1])
    assert document["translations"]["n_unpaired"] == 1
    silhouettes = document["embedding_silhouette"]
    assert [*silhouettes] == ["document", "folder", "top_folder", "gold_section"]
    assert silhouettes["document"]["n"] == document["chunks"]["n"]
    assert -1 <= silhouettes["document"]["value"] <= 1
    # Of "# Queue" a section and one below it, of "# Garden" one.
    assert (silhouettes["gold_section"]["n"], silhouettes["gold_section"]["n_labels"]) == (3, 2)


def test_the_similarity_is_that_of_the_served_vectors(
    project: Path, measured: list[CaseRecord], server: ServerHandle, capsys: Output
) -> None:
    store(project, measured[:1])
    document = run_json(capsys, "last", *at(server.url))
    model = server.engine.index.lsa
    assert model is not None
    query = model.embed(measured[0].case.question)
    cosines = [
        float(query @ model.embed(chunk.text or ""))
        for chunk in (measured[0].reply.retrieved_chunks or ())[:3]
    ]
    mean = document["statistics"]["query_chunk_similarity"]["mean"]
    assert mean == pytest.approx(sum(cosines) / len(cosines), abs=1e-5)


def write_vectors(path: Path, records: Sequence[CaseRecord]) -> list[str]:
    lines: dict[str, dict[str, Any]] = {}
    for number, one in enumerate(records):
        lines[one.case.question] = {"text": one.case.question, "embedding": [1, number]}
        for chunk in one.reply.retrieved_chunks or ():
            lines[str(chunk.chunk_id)] = {"chunk_id": chunk.chunk_id, "embedding": [1, 0]}
    path.write_text("\n".join(map(json.dumps, lines.values())), encoding="utf-8")
    return ["--vectors", str(path)]


def test_cut_texts_are_refused_and_vectors_from_a_file_need_neither_texts_nor_network(
    project: Path, measured: list[CaseRecord], capsys: Output
) -> None:
    store(project, measured, full_text=False)
    assert cli.run(["embeddings", "run-1", *at("http://127.0.0.1:9")]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "chunk texts were cut when they were stored" in err
    assert "--allow-cut-texts" in err
    document = run_json(capsys, "run-1", *write_vectors(project / "v.jsonl", measured[:1]))
    assert document["source"] == {"kind": "file", "file": "v.jsonl", "dimensions": 2}
    figure = document["statistics"]["query_chunk_similarity"]
    assert (figure["n"], figure["mean"], figure["n_not_applicable"]) == (1, 1.0, 3)
    silhouette = document["embedding_silhouette"]["gold_section"]
    assert (silhouette["n"], silhouette["n_labels"], silhouette["value"]) == (2, 1, None)
    assert "at least 2 labels" in silhouette["reason"]
    assert any(w.startswith("questions without vector: 3 of 4") for w in document["warnings"])
    assert any(w.startswith("chunks without vector: ") for w in document["warnings"])


def test_an_unreachable_endpoint_is_code_4(
    project: Path, measured: list[CaseRecord], capsys: Output
) -> None:
    store(project, measured)
    with fake_target(json_reply({"error": "no such model"}, "404 None")) as target:
        assert cli.run(["embeddings", "run-1", *at(target.url)]) == ExitCode.UNREACHABLE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "HTTP 404" in err
    assert "no such model" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected either --embeddings-url or --vectors"),
        ([*at("http://h"), "--vectors", "v.jsonl"], "expected either"),
        (["--embeddings-url", "http://h"], "expected --embeddings-model beside it"),
        (["--vectors", "v.jsonl", "--embeddings-model", "m"], "--vectors: takes neither"),
        (at("localhost:80"), "--embeddings-url: expected a URL"),
        ([*at("http://h"), "--embeddings-api-key-env", "sk-123"], "not a key"),
        (["--vectors", "none.jsonl"], "none.jsonl: cannot be read"),
        ([*at("http://h"), "--projection", "pca"], "expected --html beside them"),
        ([*at("http://h"), "--vault", "."], "expected --html beside them"),
        ([*at("http://h"), "--html", "m.html", "--vault", "gone"], "gone: is not a folder"),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(
    project: Path,
    measured: list[CaseRecord],
    arguments: list[str],
    message: str,
    capsys: Output,
) -> None:
    store(project, measured)
    assert cli.run(["embeddings", "run-1", *arguments]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
    assert "sk-123" not in err


def test_a_map_shows_chunks_questions_and_the_golds_of_a_vault(
    project: Path, measured: list[CaseRecord], server: ServerHandle, capsys: Output
) -> None:
    store(project, measured)
    vault = write_vault(project / "notes", LONG)
    arguments = ["--html", "out/map.html", "--vault", str(vault)]
    assert cli.run(["embeddings", "run-1", *at(server.url), *arguments]) == ExitCode.YES
    out, err = capsys.readouterr()
    assert out.startswith("run-1: 5 cases, ")
    assert err.splitlines()[-1] == "written: out/map.html"
    page = (project / "out/map.html").read_text(encoding="utf-8")
    assert "2 golds, 5 questions." in page
    assert "The retry limit" in page
    assert "golds without text" not in err


@pytest.mark.parametrize("drawn", [[], ["--html", "map.html"]])
def test_vectors_of_other_texts_are_refused(
    project: Path, measured: list[CaseRecord], capsys: Output, drawn: list[str]
) -> None:
    store(project, measured)
    (project / "v.jsonl").write_text('{"text": "?", "embedding": [1, 2]}', encoding="utf-8")
    assert cli.run(["embeddings", "run-1", "--vectors", "v.jsonl", *drawn]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert "no line has a vector of the run's 4 questions and " in err
    assert not (project / "map.html").exists()


def test_a_run_without_texts_or_without_a_folder_is_a_data_error(
    project: Path, measured: list[CaseRecord], capsys: Output
) -> None:
    assert cli.run(["embeddings", "run-1", *at("http://h")]) == ExitCode.USAGE
    assert "run 'run-1': not found" in capsys.readouterr().err
    store(project, measured[-1:])
    assert cli.run(["embeddings", "run-1", *at("http://h")]) == ExitCode.USAGE
    assert "no record contains the text of a chunk, so nothing was sent" in capsys.readouterr().err
