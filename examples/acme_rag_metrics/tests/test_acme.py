"""A metric is a function: its tests need no run."""

from acme_rag_metrics.judge import KeyFactJudge
from acme_rag_metrics.metrics import answer_words, distinct_documents, pii_free

from pytest_rageval import NA, AskResponse, Case, JudgeRequest

CASE = Case(id="refunds", question="How long does a refund take?")


def test_an_address_in_the_answer_is_found() -> None:
    assert pii_free(CASE, AskResponse(answer="It takes 14 days.")).value
    found = pii_free(CASE, AskResponse(answer="Ask jo@acme.test."))
    assert (found.value, found.detail) == (False, "1 e-mail addresses in the answer")


def test_an_abstention_has_no_length() -> None:
    assert answer_words(CASE, AskResponse(answer="It takes 14 days.")).value == 4
    abstained = AskResponse(answer="I do not know.", abstained=True)
    assert answer_words(CASE, abstained) == NA("The system abstained.")


def test_a_run_without_chunks_has_no_documents() -> None:
    assert distinct_documents([]) == NA("The system reports no chunks.")


def test_the_judge_counts_key_facts() -> None:
    request = JudgeRequest(
        question=CASE.question, answer="14 Days.", expected_key_facts=("14 days", "by card")
    )
    verdict = KeyFactJudge().judge("correctness", request).verdict
    assert verdict is not None
    assert verdict.scores == {"correctness": 2.5}
    assert verdict.key_facts_found == (True, False)
