"""Gold evidence survives every change of chunking: a perfect retriever stays perfect.

Where a gold section lies is read from the note's lines here, apart from the chunker's own heading
paths, so that what the chunks report is put to the test too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from pytest_rageval.metrics.matching import heading_text, norm_heading, norm_text
from pytest_rageval.project.case_reader import load_cases
from pytest_rageval.server.chunking import Chunk, chunk_note
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import AskResponse, RetrievedChunk
from tests.build.scores import score_reply
from tests.build.shared_data import shared_path

ROOT = Path(__file__).resolve().parents[2]
EVALS = ROOT / "evals"
HARD_SET = ROOT / "tests" / "data" / "hard_set" / "eval_set.jsonl"
SIZES = [(40, 15), (120, 0), (400, 50)]
"""Tokens of a chunk, and of the overlap between the pieces of a section."""
PERFECT = ("hit_at_k", "recall_at_k", "precision_returned_at_k", "doc_recall_at_k")


@cache
def chunks_of(note: Path, rel_path: str, size: int, overlap: int) -> tuple[Chunk, ...]:
    return chunk_note(
        vault="vault",
        rel_path=rel_path,
        data=note.read_bytes(),
        max_tokens=size,
        overlap=overlap,
    )


@cache
def sections(note: Path) -> tuple[tuple[tuple[str, ...], range], ...]:
    """Heading segments and lines, from 1, of every section; a section holds its subsections."""
    return tuple(_sections(note.read_text(encoding="utf-8")))


def _sections(text: str) -> Iterator[tuple[tuple[str, ...], range]]:
    tokens = MarkdownIt().parse(text)
    headings = [
        (int(token.tag[1:]), tokens[index + 1].content, token.map[0] + 1)
        for index, token in enumerate(tokens)
        if token.type == "heading_open" and token.map is not None and token.level == 0
    ]
    end = len(text.splitlines()) + 1
    yield (), range(1, end)
    trail: list[tuple[int, str]] = []
    for index, (level, title, first) in enumerate(headings):
        trail = [*((depth, name) for depth, name in trail if depth < level), (level, title)]
        after = [line for depth, _, line in headings[index + 1 :] if depth <= level]
        names = tuple(name for _, title in trail if (name := norm_text(heading_text(title))))
        yield names, range(first, after[0] if after else end)


def lies_at(chunk: Chunk, gold: Anchor, vault: Path) -> bool:
    """Tell by its lines whether a chunk lies in the section of a gold."""
    if chunk.rel_path != gold.rel_path:
        return False
    wanted = norm_heading(gold.heading_path)
    places = [lines for names, lines in sections(vault / gold.rel_path) if names == wanted]
    return any(chunk.start_line in lines and chunk.end_line in lines for lines in places)


def as_reported(chunk: Chunk) -> RetrievedChunk:
    return RetrievedChunk(
        rel_path=chunk.rel_path,
        heading_path=chunk.heading_path,
        chunk_id=chunk.chunk_id,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        text=chunk.text,
    )


def retrieve_perfectly(case: Case, vault: Path, size: int, overlap: int) -> AskResponse:
    """Return every chunk that lies at a gold, once."""
    chosen = dict.fromkeys(
        chunk
        for gold in case.gold_supports
        for chunk in chunks_of(vault / gold.rel_path, gold.rel_path, size, overlap)
        if lies_at(chunk, gold, vault)
    )
    return AskResponse(answer="text", retrieved_chunks=tuple(map(as_reported, chosen)))


def imperfections(
    cases: Sequence[Case], vault: Path, size: int, overlap: int
) -> dict[str, dict[str, float | None]]:
    """Metrics of a perfect retriever that are not 1, by case."""
    found = {}
    for case in cases:
        response = retrieve_perfectly(case, vault, size, overlap)
        k = max(1, len(response.retrieved_chunks or ()))
        metrics = score_reply(case, response, ScoreSettings(k=k)).metrics
        wrong = {key: metrics[key] for key in PERFECT if metrics[key] != 1}
        if case.required_support_groups and metrics["recall_all_at_k"] != 1:
            wrong["recall_all_at_k"] = metrics["recall_all_at_k"]
        if wrong:
            found[case.id] = wrong
    return found


@cache
def example_cases() -> tuple[Case, ...]:
    cases = (located.case for located in load_cases(HARD_SET).cases)
    # A case's own cutoff may be smaller than its evidence in small pieces.
    return tuple(case for case in cases if case.gold_supports and case.k is None)


def test_enough_example_cases_take_part() -> None:
    assert len(example_cases()) >= 60
    assert any(len(case.gold_supports) > 2 for case in example_cases())
    assert any(case.required_support_groups for case in example_cases())


@pytest.mark.parametrize(("size", "overlap"), SIZES)
def test_a_perfect_retriever_stays_perfect_at_every_chunk_size(size: int, overlap: int) -> None:
    assert imperfections(example_cases(), EVALS / "vault", size, overlap) == {}


def test_the_sizes_really_cut_the_notes_differently() -> None:
    notes = sorted((EVALS / "vault").rglob("*.md"))
    ids = [
        frozenset(chunk.chunk_id for note in notes for chunk in chunks_of(note, note.name, *size))
        for size in SIZES
    ]
    assert len(set(ids)) == 3
    golds = [gold for case in example_cases() for gold in case.gold_supports]
    cut = [
        gold
        for gold in golds
        if len(_at(gold, 40)) > len(_at(gold, 400)) and not _ids(gold, 40) & _ids(gold, 400)
    ]
    # Golds that name chunks by id would all be lost.
    assert len(cut) >= 10


def _at(gold: Anchor, size: int) -> list[Chunk]:
    vault = EVALS / "vault"
    chunks = chunks_of(vault / gold.rel_path, gold.rel_path, size, 0)
    return [chunk for chunk in chunks if lies_at(chunk, gold, vault)]


def _ids(gold: Anchor, size: int) -> set[str]:
    return {chunk.chunk_id for chunk in _at(gold, size)}


def test_a_retriever_that_misses_a_gold_would_be_seen() -> None:
    case = next(case for case in example_cases() if len(case.gold_supports) > 1)
    response = retrieve_perfectly(case, EVALS / "vault", 40, 0)
    lost = case.gold_supports[0]
    chunks = tuple(
        chunk for chunk in response.retrieved_chunks or () if chunk.rel_path != lost.rel_path
    )
    scores = score_reply(
        case, AskResponse(answer="t", retrieved_chunks=chunks), ScoreSettings(k=99)
    )
    assert scores.metrics["recall_at_k"] != 1


def has_text(gold: Anchor, vault: Path) -> bool:
    """Tell whether anything but headings stands in the section of a gold."""
    lines = (vault / gold.rel_path).read_text(encoding="utf-8").splitlines()
    wanted = norm_heading(gold.heading_path)
    places = [where for names, where in sections(vault / gold.rel_path) if names == wanted]
    inside = [lines[number - 1].strip() for where in places for number in where]
    return any(line and not line.startswith("#") for line in inside)


# --- without headings ------------------------------------------------------------------------

BARE = ScoreSettings(headings_reported=False, texts_reported=False, pages_reported=False)
SERVED = {
    "texts": replace(BARE, texts_reported=True),
    "paths": BARE,
    "pages": replace(BARE, pages_reported=True),
}
"""Parts that a target reports besides paths, and the facts of its run."""
_LINES_OF_A_PAGE = 30


def serve(chunk: Chunk, part: str) -> RetrievedChunk:
    """Report a chunk with one part of it; pages are blocks of lines, as in a printed note."""
    pages = range(chunk.start_line // _LINES_OF_A_PAGE, chunk.end_line // _LINES_OF_A_PAGE + 1)
    return RetrievedChunk(
        rel_path=chunk.rel_path,
        chunk_id=chunk.chunk_id,
        text=chunk.text if part == "texts" else None,
        pages=tuple(page + 1 for page in pages) if part == "pages" else None,
    )


def paged(gold: Anchor, vault: Path) -> Anchor:
    """Return an anchor with the pages of its section."""
    wanted = norm_heading(gold.heading_path)
    lines = [
        n for names, where in sections(vault / gold.rel_path) if names == wanted for n in where
    ]
    return replace(gold, pages=tuple(sorted({n // _LINES_OF_A_PAGE + 1 for n in lines})))


def knowable(case: Case, part: str) -> bool:
    """Tell whether a part suffices to find all evidence of a case."""
    anchors = (*case.gold_supports, *case.irrelevant_supports)
    needed = [anchor for anchor in anchors if anchor.heading_path or anchor.pages]
    if part == "texts":
        return all(anchor.snippets for anchor in needed)
    return not needed or (part == "pages" and all(anchor.pages for anchor in needed))


def wrongly_known(
    cases: Sequence[Case], vault: Path, part: str, size: int, overlap: int
) -> dict[str, object]:
    """Cases that a perfect retriever is not scored 1, or not declined with a reason."""
    found: dict[str, object] = {}
    for case in cases:
        if part == "pages":
            golds = tuple(paged(gold, vault) for gold in case.gold_supports)
            case = replace(case, gold_supports=golds, irrelevant_supports=())
        chosen = dict.fromkeys(
            chunk
            for gold in case.gold_supports
            for chunk in chunks_of(vault / gold.rel_path, gold.rel_path, size, overlap)
            if lies_at(chunk, gold, vault)
        )
        chunks = tuple(serve(chunk, part) for chunk in chosen)
        response = AskResponse(answer="text", retrieved_chunks=chunks)
        scores = score_reply(case, response, replace(SERVED[part], k=max(1, len(chunks))))
        recall, reason = scores.metrics["recall_at_k"], scores.not_applicable.get("recall_at_k", "")
        right = recall == 1 if knowable(case, part) else "No chunk of the run reports" in reason
        if not right or scores.metrics["doc_recall_at_k"] != 1:
            found[case.id] = recall, reason
    return found


@pytest.mark.parametrize("part", list(SERVED))
@pytest.mark.parametrize(("size", "overlap"), SIZES)
def test_a_perfect_retriever_without_headings_is_perfect_where_that_can_be_known(
    size: int, overlap: int, part: str
) -> None:
    assert wrongly_known(example_cases(), EVALS / "vault", part, size, overlap) == {}


def test_enough_examples_can_be_known_without_headings() -> None:
    for part, least in (("texts", 70), ("paths", 0)):
        assert sum(knowable(case, part) for case in example_cases()) >= least


def test_windows_of_characters_that_cut_anywhere_keep_a_perfect_retriever_perfect() -> None:
    cases = [case for case in example_cases() if knowable(case, "texts")]
    for case in cases:
        longest = max(len(s) for gold in case.gold_supports for s in gold.snippets)
        for size in (longest + 1, 1000):
            texts = {
                gold.rel_path: (EVALS / "vault" / gold.rel_path).read_text(encoding="utf-8")
                for gold in case.gold_supports
            }
            chunks = tuple(
                RetrievedChunk(rel_path=path, text=text[at : at + size])
                for path, text in texts.items()
                for at in range(0, len(text), size)
            )
            settings = replace(SERVED["texts"], k=len(chunks))
            bare = replace(case, irrelevant_supports=())
            reply = AskResponse(answer="text", retrieved_chunks=chunks)
            assert score_reply(bare, reply, settings).metrics["recall_at_k"] == 1, (case.id, size)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "overlap", "part"), [(40, 15, "texts"), (120, 0, "pages"), (400, 50, "paths")]
)
def test_real_notes_without_headings_are_scored_where_that_can_be_known(
    size: int, overlap: int, part: str
) -> None:
    folder = shared_path("data", "rag")
    cases = [located.case for located in load_cases(folder / "eval_set.jsonl").cases]
    whole = [
        case
        for case in cases
        if case.gold_supports
        and all(has_text(gold, folder / "vault") for gold in case.gold_supports)
    ]
    assert sum(knowable(case, "texts") for case in whole) > 80
    assert wrongly_known(whole, folder / "vault", part, size, overlap) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("size", "overlap"), SIZES)
def test_a_perfect_retriever_stays_perfect_on_real_notes(size: int, overlap: int) -> None:
    folder = shared_path("data", "rag")
    cases = [located.case for located in load_cases(folder / "eval_set.jsonl").cases]
    answered = [case for case in cases if case.gold_supports]
    assert len(answered) > 100
    # A heading without text gives no chunk, so a gold that names one is out of reach.
    hollow = {
        case.id
        for case in answered
        if not all(has_text(gold, folder / "vault") for gold in case.gold_supports)
    }
    assert len(hollow) < 5
    assert imperfections(answered, folder / "vault", size, overlap).keys() == hollow
