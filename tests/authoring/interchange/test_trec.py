from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.authoring.interchange import trec
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.errors import DatasetError
from tests.authoring.interchange.sources import (
    SAMPLES,
    cases_of,
    left_out,
    read_samples,
    read_texts,
)
from tests.authoring.interchange.strategies import TREC_CASES, unique
from tests.build.shared_data import shared_path
from tests.oracles.trec_files import read_qrels


def test_topics_and_qrels_become_cases() -> None:
    g1, g2 = cases_of(read_samples("trec", "topics.tsv", "qrels.txt"))
    assert (g1.id, g1.question) == ("g1", "When are roses pruned?")
    assert g1.gold_supports == (Anchor(rel_path="garden/roses.md", grade=2),)
    assert g1.metadata == {"trec": {"judged_not_relevant": {"garden/beans.md": 0}}}
    assert g2.gold_supports == (
        Anchor(rel_path="garden/beans.md", heading_path="# Beans > ## Sowing"),
        Anchor(rel_path="odd%zz"),
    )


def test_a_run_becomes_responses_in_the_order_of_its_scores() -> None:
    found = read_samples("trec", "topics.tsv", "qrels.txt", "demo.run")
    chunks = found.responses[0]["response"]["debug"]["retrieved_chunks"]
    assert [(one["rel_path"], one["rank"]) for one in chunks] == [
        ("garden/roses.md", 1),
        ("garden/beans.md", 2),
    ]


def test_public_files_go_out_as_they_came_in() -> None:
    qrels = shared_path("data", "ir", "trec_eval", "qrels.rel_level")
    topics = "".join(f"{topic}\tquestion {topic}\n" for topic in read_qrels(qrels))
    text = qrels.read_text(encoding="utf-8")
    found = read_texts("trec", {"topics.tsv": topics, "qrels": text})
    files, report = trec.write(cases_of(found))
    rows = sorted(" ".join(line.split()) for line in text.splitlines())
    assert sorted(files["qrels.txt"].splitlines()) == rows
    assert files["topics.tsv"] == topics
    assert report.left_out == ()


@pytest.mark.parametrize("names", [("topics.tsv", "qrels.txt")])
def test_our_samples_go_out_as_they_came_in(names: tuple[str, ...]) -> None:
    files, _ = trec.write(cases_of(read_samples("trec", *names)))
    for name in names:
        theirs = (SAMPLES / name).read_text(encoding="utf-8")
        assert sorted(files[name].splitlines()) == sorted(theirs.splitlines())


@settings(deadline=None)
@given(cases=st.lists(TREC_CASES, min_size=1, max_size=4).map(unique))
def test_out_and_in_again_is_the_identity(cases: list[Case]) -> None:
    files, report = trec.write(cases)
    kept = {name: text for name, text in files.items() if text}
    assert list(cases_of(read_texts("trec", kept))) == cases
    assert report.left_out == ()


def test_what_no_column_holds_is_counted() -> None:
    case = Case(
        id="a",
        question="two\nlines",
        answerable=False,
        category="odd",
        tags=("t",),
        metadata={"own": 1},
    )
    gold = Case(id="b", question="c", gold_supports=(Anchor(rel_path="x", snippets=("s",)),))
    _, report = trec.write([case, gold])
    assert left_out(report) == {
        "question": 1,
        "answerable: false": 1,
        "category": 1,
        "tags": 1,
        "metadata": 1,
        "gold_supports[].snippets": 1,
    }


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"q": "1 0 doc 1\n"}, "qrels without topics"),
        ({"x": "some words that are none of them here\n"}, "x:1: .*expected qrels"),
        ({"t": "1\twhy?\n", "q": "1 0 doc 1\n1 0 doc\n"}, "q:2: .*expected topic, iteration"),
        ({"t": "1\twhy?\nbroken\n"}, "t:2: got 'broken', expected an id, a tab and a question"),
        ({"r": "1 Q0 d 1 0.5 tag\n1 Q0 d 1 nan tag\n"}, "r:2: got 'nan', expected a number"),
        ({"t": "<top>\n<title> no number\n</top>"}, "t:1: got .* expected a topic with a number"),
        ({"t": "<top>\n<num>1<title>a\n" * 2 + "</top>"}, "t:2: '1 +a' is text between topics"),
        (
            {"t": "1\twhy?\n", "q": "1 0 a 1\n1 0 b 1\n1 0 a 0\n"},
            "q:3: 'a' has grade 0 for '1', but 1 at q:1; expected one grade",
        ),
        (
            {"t": "1\twhy?\n", "q": "1 0 a 1\n", "r": "1 0 a 2\n"},
            "r:1: 'a' has grade 2 for '1', but 1 at q:1",
        ),
        (
            {"t": "1\twhy?\n2\thow?\n1\twhen?\n", "u": "2\twho?\n"},
            r"t:3: '1' is already .* t:1\nu:1: '2' is already .* t:2",
        ),
        (
            {"t": "<top>\n<num>1<title>a\n</top>\n<top><num>1<title>b\n</top>"},
            "t:4: '1' is already the id of the topic at t:1",
        ),
    ],
)
def test_a_faulty_file_names_the_line(files: dict[str, str], message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        read_texts("trec", files)


TOPIC = {"t.tsv": "301\tWhat?\n"}


@pytest.mark.parametrize(
    "line",
    [
        "301\tQ0\td1\t1\t2.5\tRUN with words",
        "301 Q0 d1 1 2.5 RUN with words",
        "301\tQ0\td1\t1\t2.5",
        "301\t0\td1\t1\t2.5\tRUN with words",
    ],
)
def test_a_run_that_is_not_one_of_six_columns_is_named_and_never_read_as_topics(line: str) -> None:
    message = "r:2: .*a line of a run but has .* columns instead of six .* pass topics .* and qrels"
    with pytest.raises(DatasetError, match=message):
        read_texts("trec", {**TOPIC, "r": f"# made by me\n{line}\n"})
    with pytest.raises(DatasetError, match=r"t:2: .*a run but has .* columns instead of six"):
        read_texts("trec", {"t": f"301\tWhat?\n{line}\n"})
