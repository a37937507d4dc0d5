from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.judges.offline.claims import split_claims
from pytest_rageval.metrics.citation_markers import PRESETS, check_pattern, find_markers
from pytest_rageval.metrics.prepared import PreparedAnswer
from pytest_rageval.metrics.scoring import score_settings
from pytest_rageval.metrics.view import view_case
from pytest_rageval.values.record import CitationMarkers, ScoreSettings
from pytest_rageval.values.reply import AskResponse, Citation, RetrievedChunk
from pytest_rageval.values.settings import Settings
from tests.build.scores import case

CHUNKS = tuple(RetrievedChunk(rel_path=f"docs/{name}.md", text=name) for name in "abc")
REFERENCES = (
    Citation(rel_path="x/r1.pdf"),
    Citation(rel_path="x/r2.pdf", heading_path="# Part"),
    Citation(rel_path="odd[1].pdf"),
)


def read(
    answer: str,
    *presets: str,
    chunks: tuple[RetrievedChunk, ...] | None = CHUNKS,
    references: tuple[Citation, ...] = (),
    **options: Any,
) -> str:
    response = AskResponse(answer=answer, references=references)
    found = find_markers(response, chunks, CitationMarkers(presets=presets, **options))
    return PreparedAnswer(answer, found).read


@pytest.mark.parametrize(
    ("preset", "answer", "as_ours"),
    [
        ("doc", "Monthly [doc1][doc3].", "Monthly [1][3]."),
        ("doc", "Monthly [doc4] [Doc0].", "Monthly [0] [0]."),
        ("id", "Monthly [ID:0] [ID: 2].", "Monthly [1] [3]."),
        ("id", "Monthly ##1$$.", "Monthly [2]."),
        ("openai", "Monthly【4:0†source】.", "Monthly[1]."),
        ("openai", "Monthly【4:9†b.md】【1†source】.", "Monthly[File: docs/b.md][2]."),
        ("footnote", "Monthly[^1].\n\n[^1]: The manual", "Monthly[1].\n\n[^1]: The manual"),
        ("source", "Monthly [Source 1] (Sources 1, 2).", "Monthly [1] [1][2]."),
        ("source", "[Document 2 and Source #3] [source of truth]", "[2][3] [source of truth]"),
        (
            "path",
            "Monthly [a.md] [docs/b.md; c.md].",
            "Monthly [File: docs/a.md] [File: docs/b.md][File: docs/c.md].",
        ),
        ("doc", "Monthly [doc1, doc2] [doc2; 3].", "Monthly [1][2] [2][3]."),
        ("doc", "Monthly [doc1-doc3] [doc1–3].", "Monthly [1][2][3] [1][2][3]."),
        (
            "doc",
            "Monthly [doc3-doc1] [doc0-2] [doc1-900].",
            "Monthly [doc3-doc1] [doc0-2] [doc1-900].",
        ),
        ("id", "Monthly [ID:0, ID:1] [ID:0-2].", "Monthly [1][2] [1][2][3]."),
        ("footnote", "Monthly [^1, ^2].", "Monthly [1][2]."),
        ("source", "Monthly [Source 1, 2, and 3].", "Monthly [1][2][3]."),
        ("source", "Monthly (Sources 1-3) [#1].", "Monthly [1][2][3] [#1]."),
        ("cite", "Monthly <cite>1-3</cite>.", "Monthly [1][2][3]."),
        (
            "path",
            "[Node.js](https://nodejs.org) arr[obj.name] [a.b] [new.pdf] [src/main.py]",
            "[Node.js](https://nodejs.org) arr[obj.name] [a.b] [File: new.pdf] [src/main.py]",
        ),
        (
            "path",
            "Monthly [z.md] (see c.md) (c.md) (z.md) [3.5] [e.g.] [TODO]",
            "Monthly [File: z.md] (see c.md) [File: docs/c.md] (z.md) [3.5] [e.g.] [TODO]",
        ),
        (
            "path",
            "[a.md](https://w/a) [File: a.md] [a.md, Section: B]",
            "[File: docs/a.md] [File: a.md] [a.md, Section: B]",
        ),
        ("cite", "Monthly <cite>1</cite> <cite>[2, 3]</cite>.", "Monthly [1] [2][3]."),
        ("cite", '<cite index="0-1,0-2">Monthly.</cite> Then', "Monthly. [1] Then"),
        ("cite", '<cite id="2">Monthly</cite> <cite id=3/>', "Monthly [2] [3]"),
        ("cite", "<cite>b.md</cite> <cite>Title</cite>", "[File: docs/b.md] <cite>Title</cite>"),
        (
            "file",
            "[1] [File: a.md] File: a.md, Section: B",
            "[1] [File: a.md] File: a.md, Section: B",
        ),
    ],
)
def test_presets_read_the_forms_of_other_systems(preset: str, answer: str, as_ours: str) -> None:
    assert read(answer, preset) == as_ours


def test_a_name_of_two_documents_is_neither() -> None:
    chunks = (RetrievedChunk(rel_path="x/a.md"), RetrievedChunk(rel_path="y/a.md"))
    assert read("[a.md] (a.md)", "path", chunks=chunks) == "[File: a.md] (a.md)"


def test_a_retrieved_document_of_any_kind_is_cited_by_its_name() -> None:
    chunks = (RetrievedChunk(rel_path="src/main.py"), RetrievedChunk(rel_path="Node.js"))
    assert read("[main.py] [Node.js](https://w) [other.py]", "path", chunks=chunks) == (
        "[File: src/main.py] [File: Node.js] [other.py]"
    )


def test_numbers_may_count_the_references() -> None:
    answer = "One [doc1]. Two [doc2]. Odd [doc3]. Lost [doc4]."
    assert read(answer, "doc", references=REFERENCES, counts="references") == (
        "One [File: x/r1.pdf]. Two [File: x/r2.pdf, Section: # Part]. Odd . Lost [0]."
    )


def test_numbers_may_count_the_documents_of_the_chunks() -> None:
    paths = ("a.md", "a.md", "odd[1].md", "b.md", "a.md")
    chunks = tuple(RetrievedChunk(rel_path=path, text=str(n)) for n, path in enumerate(paths))
    answer = "One [doc1]. Odd [doc2]. Three [doc3]. Lost [doc4]."
    assert read(answer, "doc", chunks=chunks, references=REFERENCES, counts="documents") == (
        "One [File: a.md]. Odd [3]. Three [File: b.md]. Lost [0]."
    )
    assert read("One [doc1].", "doc", chunks=None, counts="documents") == "One [0]."


def test_a_pattern_of_the_project_comes_first_and_may_count_from_zero() -> None:
    assert read("[doc21]", "doc", pattern=r"\[doc(?P<n>\d)\d\]") == "[2]"
    assert read("See [0] and [1, 2].", pattern=r"\[(?P<n>\d[\d, ]*)\]", first=0) == (
        "See [1] and [2][3]."
    )
    pattern = r"\((?P<path>[^()§]{1,90}) § (?P<section>[^()]{1,90})\)"
    assert read("(docs/a.md § Oil) [doc1]", "doc", pattern=pattern) == (
        "[File: docs/a.md, Section: Oil] [1]"
    )


@pytest.mark.parametrize(
    ("answer", "as_ours"),
    [
        ("<a.md|Oil>", "[File: docs/a.md, Section: Oil]"),
        ("<a.md|Oil]>", "[File: docs/a.md]"),  # a section that could end a citation is left out
        ("<docs/a.md|>", "[File: docs/a.md]"),
        ("<x/a.md|>", "[File: x/a.md]"),
        ("<source|>", "<source|>"),
        ("<source|>9", "[0]"),
        ("<source|>2", "[2]"),
        ("<new.md|>2", "[2]"),  # beside a number a path counts if it is known
        ("<c.md|>2", "[File: docs/c.md]"),
    ],
)
def test_a_pattern_may_have_a_path_a_section_and_a_number(answer: str, as_ours: str) -> None:
    pattern = r"<(?P<path>[^<>|]*)\|(?P<section>[^<>|]*)>(?P<n>\d*)"
    assert read(answer, pattern=pattern) == as_ours


def test_an_answer_is_searched_up_to_a_number_of_places_and_a_length_of_markers() -> None:
    assert read("[doc1]" * 2001, "doc") == "[1]" * 2000 + "[doc1]"
    pattern = r"(?P<n>\d)\^ *!"
    for before, blanks, found in ((19_999, 0, 1), (20_000, 0, 0), (0, 297, 1), (0, 298, 0)):
        answer = f"{'x' * before}1^{' ' * blanks}!"
        assert read(answer, pattern=pattern) == (f"{'x' * before}[1]" if found else answer)


def test_a_path_cannot_write_another_citation() -> None:
    pattern = r"<(?P<path>[^<>]{1,90})>"
    for path in ("a.md] [File: b.md", "a.md; File: b.md", "a/\nb.md", "x.md, Section: y"):
        assert read(f"<{path}>", pattern=pattern) == f"<{path}>"


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        (r"\[(?P<n>\d+", "not a regular expression: missing )"),
        (r"\[\d+\]", "its groups: none"),
        (r"\[(?P<n>\d)(?P<page>\d)\]", "its groups: n, page"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused(pattern: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault.replace("(", r"\(").replace(")", r"\)")):
        check_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "answer", "as_ours"),
    [
        (r"(?:\[|<)doc(?P<n>\d)[]>]", "A [doc1] <doc2>.", "A [1] [2]."),
        (r"(?i:ref)(?P<n>\d+)", "Ref1, see ref2.", "[1], see [2]."),
        (r"(?P<path>\w+\.md)§", "In a.md§.", "In [File: docs/a.md]."),
        (r"(?P<n>\d)\^", "x" * 20_001 + "1^", "x" * 20_001 + "1^"),
    ],
)
def test_a_pattern_of_the_project_may_begin_with_anything(
    pattern: str, answer: str, as_ours: str
) -> None:
    check_pattern(pattern)
    assert read(answer, pattern=pattern) == as_ours


HOSTILE = [
    "[",
    "[a",
    "[a.b",
    "[Source 1, ",
    "【1:",
    "<cite index=1",
    "<cite id='",
    "[^",
    "[, ",
    "##1",
]


@pytest.mark.parametrize("name", [*PRESETS, "pattern"])
def test_no_answer_takes_long(name: str) -> None:
    own: dict[str, Any] = (
        {"pattern": r"\[(?P<path>.*), (?P<section>.*)\]"} if name == "pattern" else {}
    )
    for piece in HOSTILE:
        started = time.process_time()
        read(piece * 5_000, *([] if own else [name]), **own)
        read(piece + "x" * 20_000, *([] if own else [name]), **own)
        assert time.process_time() - started < 2


@pytest.mark.parametrize("answer", ["See [doc1].", "See also [doc1] and [doc2] for details."])
def test_a_sentence_that_only_cites_is_no_claim(answer: str) -> None:
    [claim] = split_claims(read(f"Oil it monthly. {answer}", "doc"))
    assert (claim.text, claim.cited) == ("Oil it monthly.", True)
    assert split_claims(read(answer, "doc")) == []


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(["[", "]", "doc1", "1", "a.md", "<cite>", "</cite>", "(", ")", "^", "x "])
    )
)
def test_any_answer_can_be_read_twice_with_the_same_result(parts: list[str]) -> None:
    once = read("".join(parts), *PRESETS)
    assert read(once, *PRESETS) == once


# --- scores and judges ---------------------------------------------------------------------


def test_without_markers_an_answer_is_read_as_always() -> None:
    response = AskResponse(answer="Monthly [doc1] [a.md] [^2].", retrieved_chunks=CHUNKS)
    view = view_case(case(), response, ScoreSettings())
    assert view.response is response
    assert view.citations is None
    assert score_settings(Settings(rootdir=".")).markers is None


def test_scores_and_judges_see_the_markers_and_the_response_keeps_them() -> None:
    response = AskResponse(answer="Oil it monthly [doc2].", retrieved_chunks=CHUNKS)
    scoring = score_settings(Settings(rootdir=".", citation_presets=("doc",)))
    view = view_case(case(), response, scoring)
    assert [one.rel_path for one in view.citations or ()] == ["docs/b.md"]
    assert response.answer == "Oil it monthly [doc2]."
    assert view.response is not None
    [claim] = split_claims(view.response.answer)
    assert (claim.text, claim.numbers) == ("Oil it monthly.", (2,))
