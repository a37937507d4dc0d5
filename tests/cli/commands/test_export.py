from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.project.case_reader import load_cases
from pytest_rageval.project.documents import read_document_set
from tests.authoring.interchange.sources import SAMPLES

Output = pytest.CaptureFixture[str]


@pytest.fixture
def garden() -> Path:
    text = (SAMPLES / "unrag-dataset.json").read_text(encoding="utf-8")
    dataset = json.loads(text)
    dataset["documents"][3] = {"sourceId": "eval:garden:rules:fees", "content": "Ten pounds."}
    Path("d.json").write_text(json.dumps(dataset), encoding="utf-8")
    report = str(SAMPLES / "unrag-report.json")
    arguments = ["unrag", "d.json", report, "-o", "evals/garden.jsonl", "--responses", "r.jsonl"]
    assert cli.run(["import", *arguments]) == 0
    return Path("evals/garden.jsonl")


@pytest.mark.parametrize("name", ["beir", "trec"])
def test_a_set_goes_out_and_comes_in_again(name: str, garden: Path) -> None:
    assert cli.run(["export", name, str(garden), "-o", "out"]) == 0
    files = ["out"] if name == "beir" else ["out/topics.tsv", "out/qrels.txt"]
    assert cli.run(["import", name, *files, "-o", "back/garden.jsonl"]) == 0
    theirs, ours = (
        [one.case for one in load_cases(path).cases] for path in (Path("back/garden.jsonl"), garden)
    )
    if name == "beir":
        assert theirs == ours
        there, here = (
            read_document_set(path.parent / "documents" / "garden.jsonl")
            for path in (Path("back/x"), garden)
        )
        assert (there.documents, there.scope_prefix) == (here.documents, here.scope_prefix)
    else:
        assert [(one.id, one.question) for one in theirs] == [
            (one.id, one.question) for one in ours
        ]
        assert [[gold.rel_path for gold in one.gold_supports] for one in theirs] == [
            [gold.rel_path for gold in one.gold_supports] for one in ours
        ]


def test_a_turn_goes_out_as_its_question_in_full() -> None:
    turns = [{"question": "Where?"}, {"question": "When?", "standalone": "When is it open?"}]
    golds = [{"rel_path": "a.md"}]
    line = {"id": "t", "turns": [{**turn, "gold_supports": golds} for turn in turns]}
    Path("t.jsonl").write_text(json.dumps(line), encoding="utf-8")
    for name in ("beir", "trec"):
        assert cli.run(["export", name, "t.jsonl", "-o", name]) == 0
    queries = Path("beir/queries.jsonl").read_text(encoding="utf-8").splitlines()
    found = [(one["_id"], one["text"]) for one in map(json.loads, queries)]
    assert found == [("t#1", "Where?"), ("t#2", "When is it open?")]
    topics = Path("trec/topics.tsv").read_text(encoding="utf-8")
    assert [*map(tuple, (row.split("\t") for row in topics.splitlines()))] == found
    assert cli.run(["import", "beir", "beir", "-o", "back.jsonl"]) == 0
    back = [one.case for one in load_cases(Path("back.jsonl")).cases]
    assert [(one.question, len(one.gold_supports)) for one in back] == [
        (text, 1) for _, text in found
    ]


def test_a_stored_run_goes_out_for_trec_eval_and_as_spans(garden: Path, capsys: Output) -> None:
    scored = ["score", str(garden), "r.jsonl", "--retrieval-only", "--save", "first"]
    assert cli.run(scored) == 0
    capsys.readouterr()
    assert cli.run(["export", "trec", "--run", "last", "-o", "out"]) == 0
    out = capsys.readouterr().out
    assert "trec: 2 cases of first" in out
    assert "the cases are cut at different k (2, 4), and trec_eval at one" in out
    assert "next    trec_eval -c -m success.2" in out
    run = Path("out/run.txt").read_text(encoding="utf-8").splitlines()
    assert run[0] == "q_roses Q0 eval/garden/doc/roses.md 1 3 first"
    assert cli.run(["export", "trec", "--run", "first", "-o", "again", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["run_id"], document["n_cases"]) == ("first", 2)
    assert cli.run(["export", "otlp"]) == 0
    out, err = capsys.readouterr()
    assert err == "assumed RUN: first, the last run\n"
    (resource,) = json.loads(out)["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    assert [span["name"] for span in scope["spans"]] == ["rageval case"] * 4
    assert out.isascii()
    assert cli.run(["export", "otlp", "first", "--content"]) == 0
    assert "gen_ai.input.messages" in capsys.readouterr().out
    assert "gen_ai.input.messages" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trec", "a.jsonl", "--run", "last", "-o", "out"], "expected case files, or --run RUN"),
        (["beir", "--run", "last", "-o", "out"], "rageval export beir: No such option"),
        (["trec", "--run", "last", "-o", "out"], "yet: run `pytest"),
        (["trec", "no.jsonl", "-o", "out"], "cannot be read"),
        (["trec", "a.jsonl", "a.jsonl", "-o", "out"], "already an id of another file"),
        (["otlp", "last"], "yet: run `pytest"),
        (["otlp", "last", "--json"], "--json: expected -o FILE beside it"),
        (["csv", "a.jsonl", "-o", "out"], "no command 'csv', expected one of beir, otlp, trec"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], message: str, capsys: Output) -> None:
    Path("a.jsonl").write_text('{"id": "a", "question": "b"}\n', encoding="utf-8")
    assert cli.run(["export", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not Path("out").exists()
