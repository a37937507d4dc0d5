from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.authoring.interchange import beir
from pytest_rageval.authoring.interchange.values import Imported, ReadOptions, Source, SourceFile
from pytest_rageval.project.documents import Document
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.errors import DatasetError
from tests.authoring.interchange.sources import (
    SAMPLES,
    cases_of,
    left_out,
    read_samples,
    read_texts,
)
from tests.authoring.interchange.strategies import CASES, DOCUMENTS, unique


def read_files(files: dict[str, str], **options: object) -> Imported:
    given_files = tuple(SourceFile(name=f"out/{name}", text=text) for name, text in files.items())
    return beir.read(Source(files=given_files, options=ReadOptions(**options)))  # type: ignore[arg-type]


def test_queries_become_cases_with_graded_golds_in_the_corpus() -> None:
    found = read_samples("beir", "beir", set_name="garden")
    q1, q2 = cases_of(found)
    assert (q1.id, q1.question) == ("q1", "When are roses pruned?")
    assert q1.gold_supports == (Anchor(rel_path="beir/garden/GARDEN-1.md", grade=2),)
    assert q1.folders == ("beir/garden",)
    assert [one.rel_path for one in q2.gold_supports] == [
        "beir/garden/GARDEN-2.md",
        "beir/garden/9-odd-6653d4/id.md",
    ]
    assert q1.metadata["beir"] == {
        "judged_not_relevant": {"GARDEN-2": 0},
        "query": {"source": "club"},
    }


def test_judgements_of_other_splits_and_unjudged_queries_are_counted() -> None:
    assert left_out(read_samples("beir", "beir")) == {"qrels/train.tsv": 1, "queries[]": 1}
    found = read_samples("beir", "beir", split="all")
    assert [case.id for case in cases_of(found)] == ["q1", "q2", "q3"]
    assert cases_of(found)[2].metadata["beir"]["split"] == "train"
    assert [case.id for case in cases_of(read_samples("beir", "beir", split="train"))] == ["q3"]


def test_a_foreign_dataset_goes_out_as_it_came_in() -> None:
    found = read_samples("beir", "beir", split="all", set_name="garden")
    files, _ = beir.write(cases_of(found), found.documents, found.scope_prefix)
    for name in ("qrels/test.tsv", "qrels/train.tsv"):
        theirs = (SAMPLES / "beir" / name).read_text(encoding="utf-8")
        assert sorted(files[name].splitlines()) == sorted(theirs.splitlines())
    for name in ("corpus.jsonl", "queries.jsonl"):
        theirs = (SAMPLES / "beir" / name).read_text(encoding="utf-8")
        ours = [json.loads(line) for line in files[name].splitlines()]
        for mine, other in zip(ours, map(json.loads, theirs.splitlines()), strict=True):
            assert mine.items() >= {k: v for k, v in other.items() if k != "metadata"}.items()


@settings(deadline=None)
@given(cases=st.lists(CASES, min_size=1, max_size=4).map(unique), documents=DOCUMENTS)
def test_out_and_in_again_is_the_identity(cases: list[Case], documents: list[Document]) -> None:
    files, _ = beir.write(cases, documents, "evals/set/")
    found = read_files(files)
    assert list(cases_of(found)) == cases
    assert list(found.documents) == documents
    assert found.scope_prefix == ("evals/set/" if documents else None)


@pytest.mark.parametrize(
    "document",
    [
        Document(rel_path="evals/s/x.md", text="a", metadata={"rageval": "theirs"}),
        Document(rel_path="evals/s/x.md", text="a", metadata={"rageval": {"rel_path": "y.md"}}),
        Document(rel_path="evals/s/x.md", text="#  \n\nbelow a blank title", source_id="X"),
    ],
)
def test_a_document_with_our_key_or_a_blank_title_comes_back_whole(document: Document) -> None:
    case = Case(id="a", question="b", gold_supports=(Anchor(rel_path=document.rel_path),))
    files, _ = beir.write([case], [document], "evals/s/")
    found = read_files(files)
    assert (list(cases_of(found)), list(found.documents)) == ([case], [document])


@pytest.mark.parametrize("theirs", ["a text", {"about": "other things"}])
def test_what_another_tool_kept_under_our_key_stays(theirs: object) -> None:
    document = {"_id": "x", "text": "because", "metadata": {"rageval": theirs}}
    query = {"_id": "q1", "text": "why?", "metadata": {"rageval": theirs}}
    files = {
        "queries.jsonl": json.dumps(query),
        "qrels/test.tsv": "q1\tx\t1\n",
        "corpus.jsonl": json.dumps(document),
    }
    found = read_texts("beir", files)
    assert found.documents[0].metadata == {"rageval": theirs}
    assert cases_of(found)[0].metadata["beir"]["query"] == {"rageval": theirs}


def test_golds_of_documents_go_out_under_the_ids_of_the_corpus() -> None:
    case = Case(
        id="a",
        question="b",
        gold_supports=(Anchor(rel_path="evals/s/x.md", snippets=("word",)),),
    )
    document = Document(rel_path="evals/s/x.md", text="a word", source_id="X-1")
    files, _ = beir.write([case], [document], "evals/s/")
    assert files["qrels/test.tsv"].splitlines()[1] == "a\tX-1\t1"
    assert cases_of(read_files(files)) == (case,)


def test_judgements_that_were_changed_since_win_over_what_we_put_down() -> None:
    case = Case(
        id="a",
        question="b",
        gold_supports=(Anchor(rel_path="x.md"), Anchor(rel_path="y.md")),
        required_support_groups=((0, 1),),
    )
    files, _ = beir.write([case], [])
    files["qrels/test.tsv"] = files["qrels/test.tsv"].replace("y.md\t1", "z.md\t3")
    (changed,) = cases_of(read_files(files))
    assert changed.gold_supports == (Anchor(rel_path="x.md"), Anchor(rel_path="z.md", grade=3))
    assert changed.required_support_groups is None


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\tx\n", r"test\.tsv:2: got 'q1\\tx'"),
        ("qrels/test.tsv", "q1\tx\tmuch\n", "an integer between tabs"),
        ("qrels/test.tsv", "q1\tx\t1\nq1\tx\t0\n", r"tsv:2: 'x' has grade 0 .* but 1 at .*tsv:1"),
        ("queries.jsonl", '{"_id": "q1"}\n', r"queries\.jsonl:1: text: missing"),
        ("queries.jsonl", "", "no queries.jsonl, or an empty one"),
        (
            "queries.jsonl",
            '{"_id": "q1", "text": "a"}\n' * 2,
            "2: _id: 'q1' is already the id",
        ),
        ("corpus.jsonl", '{"_id": " ", "text": "x"}\n', r"corpus\.jsonl:1: _id: got ' '"),
        ("corpus.jsonl", "[1]\n", "expected a JSON object"),
    ],
)
def test_a_faulty_dataset_names_the_place(name: str, text: str, message: str) -> None:
    files = {
        "queries.jsonl": '{"_id": "q1", "text": "why?"}\n',
        "qrels/test.tsv": "q1\tx\t1\n",
        "corpus.jsonl": '{"_id": "x", "text": "because"}\n',
    }
    with pytest.raises(DatasetError, match=message):
        read_texts("beir", files | {name: text})


BEIR = {
    "corpus.jsonl": '{"_id": "d1", "text": "Open at nine."}\n{"_id": "d2", "text": "No."}\n',
    "queries.jsonl": '{"_id": "q1", "text": "When is it open?"}\n',
}


@pytest.mark.parametrize("grade", ["0.5", "nan", ""])
def test_a_grade_that_is_no_integer_is_refused_with_its_line(grade: str) -> None:
    text = f"query-id\tcorpus-id\tscore\nq1\td1\t{grade}\n"
    with pytest.raises(DatasetError, match=r"qrels/test\.tsv:2: .* an integer between tabs"):
        read_files({**BEIR, "qrels/test.tsv": text})
