"""Key facts and cited claims of one case, looked up in the texts of single passages.

A passage states a key fact if the look-up for the correctness of an answer finds it there, and the
one for claims agrees: the former is fitted on answers of a few sentences, and alone finds one fact
in thirty-six in a passage of another document, and both together one in a hundred and fifty. A
passage supports a claim by the rule for groundedness, with that passage as the only context.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_rageval.judges.offline.comparison import look_up
from pytest_rageval.judges.offline.facts import Expected, read_question, stated_passage
from pytest_rageval.judges.offline.grounding import statements, support_odds
from pytest_rageval.judges.offline.lexicon import language_of, read_words
from pytest_rageval.judges.offline.parameters import load_parameters
from pytest_rageval.judges.offline.support import (
    ReadClaim,
    find_support,
    question_keys,
    read_passage,
)
from pytest_rageval.metrics.matching import PathCase, cited_ranks
from pytest_rageval.metrics.view import located_citations
from pytest_rageval.values.record import CheckedClaim, CitationCheck
from pytest_rageval.values.reply import RetrievedChunk


def find_facts(
    question: str, facts: Sequence[str], chunks: Sequence[RetrievedChunk]
) -> tuple[tuple[int, ...], ...]:
    """Return for each key fact the ranks, from 1, of the chunks whose text states it."""
    language = language_of(" ".join(facts), *[chunk.text or "" for chunk in chunks[:1]], question)
    asked, layer = read_question(question, language), load_parameters().correct
    passages = [stated_passage(chunk.text or "", chunk.heading_path, language) for chunk in chunks]

    def ranks(fact: Expected) -> tuple[int, ...]:
        found = [look_up(fact, text, layer).state for text in passages]
        return tuple(rank for rank, state in enumerate(found, 1) if state == "stated")

    return tuple(ranks(Expected(fact, asked)) for fact in facts)


def check_claims(
    question: str,
    answer: str,
    chunks: Sequence[RetrievedChunk],
    k: int,
    path_case: PathCase = "sensitive",
) -> tuple[CheckedClaim, ...]:
    """Look every citation in the text of an answer up in the chunks that it points at.

    Args:
        question: its words need not be supported.
        answer: whole text of the answer.
        chunks: retrieved chunks in rank order.
        k: cutoff below which ``CheckedClaim.stated_at`` is looked for.
        path_case: comparison of paths.
    """
    language = language_of(answer, question, *[chunk.text or "" for chunk in chunks[:1]])
    keys, found = question_keys(question, language), []
    for raw in statements(answer, question):
        claim = ReadClaim(read_words(raw.text, language), keys, language)
        if claim.weights:
            checks = tuple(
                CitationCheck(ranks=ranks, supports=_any_supports(ranks, chunks, claim))
                for ranks in _cited_ranks(raw.written, chunks, path_case)
            )
            lost = bool(checks) and not any(check.supports for check in checks)
            cut = enumerate(chunks[:k] if lost else (), 1)
            stated_at = next((rank for rank, chunk in cut if _supports(chunk, claim)), None)
            found.append(CheckedClaim(text=raw.text, citations=checks, stated_at=stated_at))
    return tuple(found)


def _cited_ranks(
    written: str, chunks: Sequence[RetrievedChunk], path_case: PathCase
) -> list[tuple[int, ...]]:
    """Return the ranks of each distinct citation in a sentence; empty: of nothing retrieved."""
    found: dict[object, tuple[int, ...]] = {}
    for rank, citation in located_citations(written, chunks, path_case):
        if rank is not None:
            found[rank] = (rank,) if 1 <= rank <= len(chunks) else ()
        else:
            found[citation] = tuple(cited_ranks(citation, chunks, path_case))
    return list(found.values())


def _any_supports(
    ranks: Iterable[int], chunks: Sequence[RetrievedChunk], claim: ReadClaim
) -> bool | None:
    """Whether any of some chunks supports a claim; None: no, and one has no whole text."""
    found = [_supports(chunks[rank - 1], claim) for rank in ranks]
    return True if True in found else None if None in found else False


def _supports(chunk: RetrievedChunk, claim: ReadClaim) -> bool | None:
    if chunk.text is None or chunk.text_truncated:
        return None
    support = find_support(claim, read_passage(chunk.text, chunk.heading_path, claim.language))
    return support is not None and support_odds(support, load_parameters().grounded) >= 0
