"""Sentences of a context that are close to a claim, found in two ways."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.judges.offline.judge import OfflineJudge
from pytest_rageval.judges.offline.lexicon import read_words
from pytest_rageval.judges.offline.support import (
    CLOSEST,
    ReadClaim,
    _closest_of_many,
    _closest_sentences,
    read_context,
)
from pytest_rageval.values.verdict import JudgeRequest, Passage

WORDS = st.sampled_from("lamp cable 12 37 invoice never roof the of Berlin".split())
SENTENCES = st.lists(WORDS, min_size=1, max_size=6).map(lambda words: f"{' '.join(words)}.")
CLAIM = SENTENCES.map(lambda text: ReadClaim(read_words(text), frozenset()))
CONTEXT = st.lists(SENTENCES, min_size=1, max_size=12).map(" ".join)


@given(CLAIM, CONTEXT)
def test_the_closest_of_many_are_the_closest(claim: ReadClaim, context: str) -> None:
    index = read_context([Passage(text=context)])
    found = _closest_sentences(claim.weights, index)
    assert _closest_of_many(claim.weights, index) == found
    assert len(found) <= CLOSEST


@given(CLAIM.filter(lambda claim: claim.keys), CONTEXT)
def test_the_first_sentence_with_all_words_is_whole(claim: ReadClaim, context: str) -> None:
    index = read_context([Passage(text=context)])
    wanted = [at for at, one in enumerate(index.sentences) if claim.keys <= one.read.keys]
    assert index.whole(claim.keys) == next(iter(wanted), None)


def test_time_grows_with_claims_and_sentences_and_not_with_their_product() -> None:
    def seconds(claims: int, sentences: int) -> float:
        answer = " ".join(f"Fact {n} says {n * 7}." for n in range(claims))
        text = " ".join(f"Fact {n} says {n * 9}." for n in range(sentences))
        passages = tuple(Passage(text=f"{text} {n}") for n in range(5))
        request = JudgeRequest(question="q", answer=answer, context=passages)
        started = time.process_time()
        OfflineJudge().judge("groundedness", request)
        return time.process_time() - started

    seconds(10, 10)  # loads what is loaded once
    assert seconds(1_000, 4_000) < 6 * seconds(250, 1_000)  # 16 by the product
