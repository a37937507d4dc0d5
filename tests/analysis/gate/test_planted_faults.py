"""Faults that are planted in replies."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from pytest_rageval.analysis.gate.planted import FAULTS, chosen
from pytest_rageval.values.reply import AskResponse, Citation, RetrievedChunk

FAULT = {fault.name: fault for fault in FAULTS}
PLANT = {name: fault.plant for name, fault in FAULT.items()}


def reply(answer: str = "It takes 30 days [1]. Then 2 more [3].", n: int = 3) -> AskResponse:
    """A reply with chunks a/0.md, b/1.md, a/2.md ... that cites the first and the third."""
    folders = "ab"
    chunks = tuple(
        RetrievedChunk(rel_path=f"{folders[i % 2]}/{i}.md", rank=i + 1, text=f"text {i}")
        for i in range(n)
    )
    cited = tuple(Citation(rel_path=chunks[i].rel_path, chunk_rank=i + 1) for i in (0, 2))
    return AskResponse(answer=answer, references=cited, abstained=False, retrieved_chunks=chunks)


def paths(of: AskResponse) -> list[str]:
    return [chunk.rel_path for chunk in of.retrieved_chunks or ()]


def cited(of: AskResponse) -> list[tuple[str | None, int | None]]:
    return [(one.rel_path, one.chunk_rank) for one in of.references or ()]


@pytest.mark.parametrize(
    ("name", "lost", "left", "citations"),
    [
        ("documents lost", {"a/0.md"}, ["b/1.md", "a/2.md"], [("a/2.md", 2)]),
        ("folders lost", {"a"}, ["b/1.md"], []),
        ("ranks reversed", (), ["a/2.md", "b/1.md", "a/0.md"], [("a/0.md", 3), ("a/2.md", 1)]),
        ("first chunk dropped", (), ["b/1.md", "a/2.md"], [("a/0.md", None), ("a/2.md", 2)]),
        ("k halved", (), ["a/0.md", "b/1.md"], [("a/0.md", 1), ("a/2.md", None)]),
    ],
)
def test_faults_of_retrieval_leave_the_answer_and_what_it_cites(
    name: str, lost: set[str], left: list[str], citations: list[tuple[str, int | None]]
) -> None:
    found = PLANT[name](reply(), lost)
    assert paths(found) == left
    assert [chunk.rank for chunk in found.retrieved_chunks or ()] == [*range(1, len(left) + 1)]
    assert (cited(found), found.answer) == (citations, reply().answer)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("citations dropped", "It takes 30 days. Then 2 more."),
        ("figure changed", "It takes 40 days [1]. Then 2 more [3]."),
    ],
)
def test_faults_of_an_answer_leave_what_was_retrieved(name: str, answer: str) -> None:
    found = PLANT[name](reply(), ())
    assert (found.answer, paths(found)) == (answer, paths(reply()))


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("Page [2] says 9.", "Page [2] says 1."),
        ("Version v2, in 0.5 s", "Version v2, in 1.5 s"),
        ("Section 1/2 of x-7", None),
        ("No figure [1].", None),
    ],
)
def test_the_first_figure_that_stands_alone_gets_another_first_digit(
    answer: str, found: str | None
) -> None:
    assert PLANT["figure changed"](reply(answer), ()).answer == (found or answer)


def test_chunks_without_ranks_and_citations_without_places_stay_so() -> None:
    plain = RetrievedChunk(rel_path="a/0.md", text="t")
    for references in (None, (Citation(rel_path=None), Citation(rel_path="b/1.md"))):
        one = AskResponse(answer="5", references=references, retrieved_chunks=(plain, plain, plain))
        dropped = PLANT["first chunk dropped"](one, ())
        assert dropped == replace(one, retrieved_chunks=(plain, plain))
        assert PLANT["documents lost"](one, {"c.md"}) is one
        lost = PLANT["documents lost"](one, {"b/1.md"})
        assert lost.references == (references and references[:1])
        assert PLANT["refusals"](one, ()).references == (None if references is None else ())
        assert PLANT["refusals"](one, ()).abstained is None


@pytest.mark.parametrize("name", ["refusals", "thoughts left in", "figure changed"])
def test_an_answer_that_refuses_stays_the_same(name: str) -> None:
    one = replace(reply(), abstained=True)
    assert PLANT[name](one, ()) is one


@pytest.mark.parametrize(("n", "left"), [(1, 1), (2, 1), (4, 2), (5, 3)])
def test_half_of_k_is_rounded_up(n: int, left: int) -> None:
    whole = reply(n=5)
    cut = replace(whole, retrieved_chunks=(whole.retrieved_chunks or ())[:n])
    assert len(paths(PLANT["k halved"](cut, ()))) == left


def test_a_refusal_has_the_flag_of_a_target_that_reports_it_and_cites_nothing() -> None:
    found = PLANT["refusals"](reply(), ())
    assert (found.abstained, found.references) == (True, ())


def test_a_thought_of_the_first_three_passages_comes_before_the_answer() -> None:
    found = PLANT["thoughts left in"](reply(n=4), ())
    seen = "Passage 1 is from 0.md. Passage 2 is from 1.md. Passage 3 is from 2.md. I"
    assert seen in found.answer
    assert found.answer.endswith(reply().answer)
    assert len(found.answer) > 2 * len(reply().answer)


@pytest.mark.parametrize("name", PLANT)
def test_a_reply_without_what_a_fault_changes_stays_the_same(name: str) -> None:
    one = AskResponse(answer="", abstained=True, retrieved_chunks=())
    assert PLANT[name](one, {"a/0.md"}) is one


@pytest.mark.parametrize("n", [1, 7, 60])
def test_a_larger_dose_holds_every_smaller_one(n: int) -> None:
    names = [f"case-{i}" for i in range(n)]
    doses = [chosen(names, share, share=True) for share in (0.0, 0.03, 0.1, 0.3, 1.0)]
    assert [*map(len, doses)] == [0, *(-(-n * p // 100) for p in (3, 10, 30, 100))]
    assert all(set(one) <= set(other) for one, other in pairwise(doses))
    assert [chosen(names, k, share=False) for k in range(n)] == [doses[-1][:k] for k in range(n)]


def test_draws_differ() -> None:
    draws = [chosen(range(20), 10, share=False, draw=draw) for draw in (0, 1, 2)]
    assert len({frozenset(draw) for draw in draws}) == 3


@pytest.mark.parametrize(
    ("name", "dose", "text"),
    [
        ("refusals", 0.03, "3 %"),
        ("refusals", 1, "100 %"),
        ("documents lost", 3, "3 documents"),
        ("folders lost", 1, "1 folder"),
    ],
)
def test_a_dose_is_a_share_or_a_number(name: str, dose: float, text: str) -> None:
    assert FAULT[name].dose_text(dose) == text
