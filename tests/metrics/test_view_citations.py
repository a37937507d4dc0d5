from __future__ import annotations

import time
from dataclasses import replace

import pytest

from pytest_rageval.metrics.view import distinct_citations, located_citations, view_case
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import AskResponse, Citation, RetrievedChunk
from tests.build.scores import case, chunk, cite, response

CHUNKS = (
    chunk("a.md | # Guide > ## Setup (Linux)"),
    chunk("b.md | # Intro"),
    chunk("b.md | # Notes"),
)


def cited(reply: AskResponse) -> tuple[Citation, ...] | None:
    return view_case(case(), reply, ScoreSettings()).citations


def read(answer: str) -> list[tuple[str | None, str | None]]:
    return [(c.rel_path, c.heading_path) for _, c in located_citations(answer, CHUNKS)]


@pytest.mark.parametrize(
    ("answer", "citations"),
    [
        ("See [File: x.md, Section: New].", [("x.md", "New")]),
        ("See (File: x.md, Section: New).", [("x.md", "New")]),
        ("See [docs/x.md, Section: New].", [("docs/x.md", "New")]),
        ("See [file: x.md].", [("x.md", None)]),
        ("See (file: x.md).", [("x.md", None)]),
        ("[File: x.md, Section: ]", [("x.md", None)]),
        ('[File: `x y.md`, Section: "New"]', [("x y.md", "New")]),
        ("(see [File: x.md, Section: New] for more)", [("x.md", "New")]),
        ("[File: x.md; File: y.md, Section: New]", [("x.md", None), ("y.md", "New")]),
        ("[x.md, Section: A; y.md, Section: B]", [("x.md", "A"), ("y.md", "B")]),
        ("[File: x.md, Section: Arrays [1]]", [("x.md", "Arrays [1]")]),
        ("[File: x.md, Section: A, Section: B]", [("x.md", "A, Section: B")]),
        ('[File: "", Section: New]', []),
        ("[see above, Section: 3] [x.md](x.md) (x.md, Section: y)", []),
        ("[File: unclosed", []),
    ],
)
def test_named_citations_are_read_from_the_text(
    answer: str, citations: list[tuple[str, str | None]]
) -> None:
    assert read(answer) == citations


@pytest.mark.parametrize(
    ("answer", "citations"),
    [
        ("30 days.\nFile: x.md, Section: New", [("x.md", "New")]),
        ("30 days. File: x.md, Section: New.", [("x.md", "New")]),
        ("Source: file: docs/x y.md, section: New", [("docs/x y.md", "New")]),
        ("(see File: x.md, Section: New) for more", [("x.md", "New")]),
        ("As File: x.md, Section: New says, it is so.", [("x.md", "New says")]),
        ("File: x.md, Section: New. It holds for all.", [("x.md", "New")]),
        ("File: x.md, Section: 1. New. It holds.", [("x.md", "1. New")]),
        ("File: x.md, Section: A; File: y.md, Section: B", [("x.md", "A"), ("y.md", "B")]),
        ("File: x.md, Section: A, File: y.md, Section: B", [("x.md", "A"), ("y.md", "B")]),
        ('File: `x.md`, Section: "New"', [("x.md", "New")]),
        ("File: a.md, Section: Setup (Linux), it is so", [("a.md", "# Guide > ## Setup (Linux)")]),
        ("File: b.md, Section: Intro - and more.", [("b.md", "# Intro")]),
        ("[File: x.md, Section: New] File: y.md, Section: B", [("x.md", "New"), ("y.md", "B")]),
        # prose
        ("File: see below, Section: 3", []),
        ("File: x.md", []),
        ("The Profile: x.md, Section: New", []),
        ("File: x.md\nSection: New", []),
        ("x.md, Section: New", []),
        ("```\nFile: x.md, Section: New\n```", []),
        ("Open the file, section by section.", []),
    ],
)
def test_a_file_and_section_need_no_brackets(
    answer: str, citations: list[tuple[str, str | None]]
) -> None:
    assert read(answer) == citations


def test_the_longest_part_that_names_a_retrieved_section_is_the_section() -> None:
    chunks = (chunk("a.md | Beans, Peas"), chunk("a.md | Beans"))
    answers = ["File: a.md, Section: Beans, Peas, it says", "File: a.md, Section: Beans, it says"]
    found = [next(located_citations(answer, chunks))[1].heading_path for answer in answers]
    assert found == ["Beans, Peas", "Beans"]


@pytest.mark.parametrize("section", ["Setup (Linux)", "## setup (linux)", "Guide > Setup (Linux)"])
def test_a_section_name_finds_the_retrieved_chunk_that_ends_with_it(section: str) -> None:
    found = [("a.md", "# Guide > ## Setup (Linux)")]
    assert read(f"(File: ./a.md, Section: {section})")[0][1] == found[0][1]


@pytest.mark.parametrize("section", ["up (Linux)", "Guide"])
def test_a_section_name_that_ends_no_chunk_is_a_heading_path(section: str) -> None:
    assert read(f"[File: a.md, Section: {section}]") == [("a.md", section)]


def test_a_section_name_is_looked_up_in_its_own_document_only() -> None:
    assert read("[File: c.md, Section: Intro]") == [("c.md", "Intro")]


@pytest.mark.parametrize(
    ("answer", "paths"),
    [
        ("Paris[1].", ["a.md"]),
        ("Both [1][2]", ["a.md", "b.md"]),
        ("Both [1, 2]; again [ 1 ]", ["a.md", "b.md", "a.md"]),
        ("Both [1-2]; again [1 – 2]", ["a.md", "b.md", "a.md", "b.md"]),
        ("Any of [0-9], [2-1] or [1-900]", []),
        ("Invented [4], [0]", [None, None]),
        ("(as in [2])", ["b.md"]),
        ("In [2024] and [x] and [1a]", []),
        ("Call `items[1]` or\n```\nitems[2]\n```\n", []),
    ],
)
def test_numbers_count_the_retrieved_chunks(answer: str, paths: list[str | None]) -> None:
    assert [path for path, _ in read(answer)] == paths


def test_numbers_follow_the_rank_order() -> None:
    ranked = (chunk("a.md", rank=2), chunk("b.md", rank=1))
    citations = cited(response(answer="[1]", retrieved_chunks=ranked))
    assert citations == (Citation(rel_path="b.md", chunk_rank=1),)


def test_a_reference_to_a_document_adds_nothing_to_a_citation_of_its_chunk() -> None:
    found = (chunk("a.md", rank=1), chunk("b.md", rank=2))
    references = (cite("a.md"), cite("b.md"), cite("a.md | # S"))
    reply = response(answer="[1]", retrieved_chunks=found, references=references)
    assert cited(reply) == (*references[1:], Citation(rel_path="a.md", chunk_rank=1))


def test_a_reference_to_a_document_of_another_vault_is_another_citation() -> None:
    found = (replace(chunk("a.md", rank=1), vault="home"),)
    references = (Citation(rel_path="a.md", vault="work"), Citation(rel_path="a.md", vault="home"))
    reply = response(answer="[1]", retrieved_chunks=found, references=references)
    of_chunk = Citation(rel_path="a.md", vault="home", chunk_rank=1)
    assert cited(reply) == (references[0], of_chunk)


def test_numbers_mean_nothing_where_no_chunks_are_reported() -> None:
    assert cited(response(answer="[1]", retrieved_chunks=None)) is None


def test_citations_are_not_reported_without_references_and_without_any_in_the_text() -> None:
    assert cited(response(answer="plain")) is None
    assert cited(response(answer="plain", references=())) == ()


def test_numbers_out_of_range_are_one_citation_of_nothing() -> None:
    citations = cited(response("a.md", answer="[1] [7] [9]"))
    assert citations == (Citation(rel_path="a.md", chunk_rank=1), Citation(rel_path=None))


def test_an_answer_is_read_without_the_root_of_the_corpus() -> None:
    reply = response(answer="See [File: /srv/docs/a.md].")
    for root, shown in (("/srv/docs",), "a.md"), ((), "/srv/docs/a.md"):
        seen = view_case(case(), reply, ScoreSettings(strip_root=root))
        assert seen.response is not None
        assert seen.response.answer == f"See [File: {shown}]."


def test_citations_in_the_text_join_the_references() -> None:
    reply = response(answer="[File: b.md] [File: a.md]", references=(cite("a.md"),))
    assert cited(reply) == (cite("a.md"), cite("b.md"))


def test_citations_are_distinct_by_path_and_heading() -> None:
    same = (cite("a.md | # S"), cite("./a.md | s"))
    other = (cite("a.md"), cite("a.md | "), cite("b.md | # S"))
    nothing = (Citation(rel_path=None), Citation(rel_path=None))
    assert distinct_citations((*same, *other, *nothing)) == (same[0], *other, nothing[0])


def test_vaults_part_citations_only_where_both_are_known() -> None:
    home, work = Citation(rel_path="a.md", vault="home"), Citation(rel_path="a.md", vault="work")
    assert distinct_citations((home, work, Citation(rel_path="a.md"))) == (home, work)


@pytest.mark.parametrize(
    "piece",
    [
        "[",
        "(File:",
        "[File: (",
        "[a, Section:",
        "`",
        "[b]",
        "[1]",
        "File: a.md, Section: , , , - ",
        "File: a.md",
        "File: a.md, Section: b",
    ],
)
def test_an_answer_full_of_brackets_is_read_in_linear_time(piece: str) -> None:
    begin = time.process_time()
    list(located_citations(piece * 20_000, CHUNKS))
    assert time.process_time() - begin < 2


def test_many_numbers_beside_many_references_are_read_in_linear_time() -> None:
    references = tuple(cite(f"x{number}.md") for number in range(8_000))
    chunks = tuple(RetrievedChunk(rel_path=f"d{number}.md") for number in range(999))
    numbers = "".join(f"[{number % 999 + 1}]" for number in range(8_000))
    reply = AskResponse(answer=numbers, references=references, retrieved_chunks=chunks)
    begin = time.process_time()
    found = view_case(case(), reply, ScoreSettings(headings_reported=False)).citations
    assert time.process_time() - begin < 4
    assert len(found or ()) == 8_999
