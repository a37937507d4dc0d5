""""""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_rageval.judges.offline.abstention import read_abstention
from pytest_rageval.server.answer import MIN_COVERAGE, answer_from
from pytest_rageval.server.chunking import chunk_note
from pytest_rageval.server.config import ReferenceConfig, fault_text
from pytest_rageval.server.engine import ReferenceEngine, in_full
from pytest_rageval.server.terms import TermFrequencies, terms
from tests.build.shared_data import shared_path
from tests.server.builders import NOTES, ask, make_engine, paths, retrieved, write_vault


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> ReferenceEngine:
    return make_engine(write_vault(tmp_path_factory.mktemp("vault")))


def test_the_response_has_the_fields_of_the_contract(engine: ReferenceEngine) -> None:
    response = ask(engine, "What is the retry limit of the ingest queue?", k=2)
    assert set(response) == {"answer", "references", "abstained", "abstain_reason", "debug"}
    debug = response["debug"]
    assert set(debug) == {
        "retrieved_chunks",
        "folder_selection",
        "latency",
        "indexing_coverage",
        "models",
    }
    assert set(debug["retrieved_chunks"][0]) == {
        *("chunk_id", "rel_path", "heading_path", "start_line", "end_line", "score_vector"),
        *("score_lexical", "score_final", "text", "rank", "token_count", "rank_before_rerank"),
    }
    assert set(response["references"][0]) == {"vault", "rel_path", "heading_path", "chunk_index"}
    assert set(debug["latency"]) == {
        *("folder_selection_ms", "retrieval_ms", "rerank_ms", "generation_ms", "total_ms"),
    }
    assert debug["latency"]["total_ms"] >= debug["latency"]["retrieval_ms"] > 0
    assert set(debug["models"]) == {"llm_model", "embedding_model", "prompt_version"}


def test_coverage_adds_up(engine: ReferenceEngine) -> None:
    coverage = engine.index.coverage
    attempted, embedded = coverage["chunks_attempted"], coverage["chunks_embedded"]
    assert attempted == embedded + coverage["chunks_skipped"] == 8
    assert sum(coverage["chunks_skipped_reasons"].values()) == coverage["chunks_skipped"]
    (of_type,) = coverage["by_doc_type"].values()
    assert all(coverage[name] == value for name, value in of_type.items())
    stats = coverage["chunk_token_stats"]
    assert 0 < stats["min"] <= stats["mean"] <= stats["p95"] <= stats["max"]


def test_the_answer_quotes_the_passage_and_cites_it(engine: ReferenceEngine) -> None:
    response = ask(engine, "What is the retry limit of the ingest queue?")
    assert response["answer"].startswith(
        "The retry limit of the ingest queue is seven attempts. [1]"
    )
    assert response["references"][0] == {
        "vault": engine.config.vault.name,
        "rel_path": "work/queue.md",
        "heading_path": "# Queue",
        "chunk_index": 0,
    }
    assert (response["abstained"], response["abstain_reason"]) == (False, None)


def test_every_reference_is_a_retrieved_chunk(engine: ReferenceEngine) -> None:
    response = ask(engine, "When is an alert raised on the queue?")
    known = {(chunk["rel_path"], chunk["heading_path"]) for chunk in retrieved(response)}
    assert response["references"]
    assert {(r["rel_path"], r["heading_path"]) for r in response["references"]} <= known


@pytest.mark.parametrize(
    "question", ["zxqv blorp frobnicate?", "who won the snooker championship in 1987", "?!"]
)
def test_a_question_the_notes_do_not_hold_is_refused(
    engine: ReferenceEngine, question: str
) -> None:
    response = ask(engine, question)
    assert response["abstained"] is True
    assert response["abstain_reason"]
    assert response["references"] == []
    assert response["answer"].strip()


def test_k_limits_the_results(engine: ReferenceEngine) -> None:
    few = paths(ask(engine, "queue refund garden dough", k=2))
    assert len(few) == 2
    assert few == paths(ask(engine, "queue refund garden dough", k=4))[:2]


def test_weights_choose_the_side_that_decides(engine: ReferenceEngine) -> None:
    lexical = retrieved(ask(engine, "queue jobs", k=9, rerank_weights={"vector": 0, "lexical": 1}))
    assert all(chunk["score_lexical"] > 0 for chunk in lexical)
    best = max(chunk["score_lexical"] for chunk in lexical)
    for chunk in lexical:
        assert chunk["score_final"] == pytest.approx(chunk["score_lexical"] / best, abs=2e-6)
    vector = retrieved(ask(engine, "queue jobs", k=9, rerank_weights={"vector": 1, "lexical": 0}))
    cosines = [chunk["score_vector"] for chunk in vector]
    assert cosines == sorted(cosines, reverse=True)
    assert len(vector) > len(lexical)


def test_the_folder_filter_limits_the_search(engine: ReferenceEngine) -> None:
    response = ask(engine, "queue garden dough", folders=["home"], k=50)
    assert {path.split("/")[0] for path in paths(response)} == {"home"}
    assert response["debug"]["folder_selection"]["available_folders"] == ("home",)
    nowhere = ask(engine, "queue garden dough", folders=["hom"])
    assert paths(nowhere) == []
    assert "hom" in nowhere["abstain_reason"]
    assert read_abstention(nowhere["answer"]).abstained


@pytest.fixture(scope="module")
def misleading(tmp_path_factory: pytest.TempPathFactory) -> ReferenceEngine:
    """A vault whose folder `noise` has many half matches, and `deep` the one whole match."""
    notes = {f"noise/{n}.md": f"# Note {n}\n\nAmber hull, amber hull.\n" for n in range(3)}
    notes |= {f"other/{n}.md": f"# Other {n}\n\nSomething else, number {n}.\n" for n in range(30)}
    filler = "Other things follow here and there. " * 30
    notes["deep/hull.md"] = f"# Boat\n\n{filler} The amber hull paint dries slowly. {filler}"
    return make_engine(write_vault(tmp_path_factory.mktemp("vault"), notes))


def test_fallback_searches_everything_when_the_selection_is_weak(
    misleading: ReferenceEngine,
) -> None:
    response = ask(misleading, "amber hull paint dries", folder_mode="on_with_fallback")
    selection = response["debug"]["folder_selection"]
    assert selection["fallback_used"] is True
    assert selection["selected_folders"] == ("noise",)
    assert "deep/hull.md" in paths(response)


def test_rerank_reports_the_ranks_before_it(engine: ReferenceEngine) -> None:
    question = "alert raised queue jobs"
    before = [chunk["chunk_id"] for chunk in retrieved(ask(engine, question, k=50))]
    chunks = retrieved(ask(engine, question, k=50, rerank=True))
    assert [chunk["rank"] for chunk in chunks] == list(range(1, len(chunks) + 1))
    for chunk in chunks:
        assert before[chunk["rank_before_rerank"] - 1] == chunk["chunk_id"]


def test_questions_to_another_vault_are_refused(tmp_path: Path) -> None:
    root = write_vault(tmp_path / "vault")
    response = ask(make_engine(root), "refund", vaults=["vault"])
    assert response["references"][0]["vault"] == "vault"
    with pytest.raises(ValueError, match=r"vaults: got \['dev'\], expected .*'vault'"):
        ask(make_engine(root), "refund", vaults=["dev"])
    named = make_engine(root, vault_name="dev")
    assert ask(named, "refund", vaults=["dev", "x"])["references"][0]["vault"] == "dev"
    with pytest.raises(ValueError, match=r"vaults: got \['vault'\], expected .*'dev'"):
        ask(named, "refund", vaults=["vault"])


def test_abstention_turns_on_how_much_of_the_question_is_covered() -> None:
    note = b"# A\n\nThe heron nests in April.\n"
    chunks = chunk_note(vault="v", rel_path="a.md", data=note, max_tokens=400, overlap=0)
    frequencies = TermFrequencies.count([terms(chunk.text) for chunk in chunks])
    assert not answer_from("When does the heron nest?", chunks, frequencies, {}).abstained
    refused = answer_from("heron habits abroad, wingspan and diet?", chunks, frequencies, {})
    assert refused.abstained
    assert f"below the limit of {MIN_COVERAGE:.0%}" in str(refused.abstain_reason)
    assert read_abstention(refused.text).abstained


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        (
            "Lamps are lent by the desk. They may be kept for 14 days.",
            "How long can I keep a lamp?",
            "They may be kept for 14 days. [1]",
        ),
        (
            "Who sharpens the chisels?\n\nVolunteers do, in May.",
            "Who sharpens the chisels?",
            "Volunteers do, in May. [1]",
        ),
    ],
)
def test_the_sentence_that_answers_is_quoted_in_place_of_the_one_that_asks_alike(
    text: str, question: str, answer: str
) -> None:
    data = f"# Notes\n\n{text}\n".encode()
    chunks = chunk_note(vault="v", rel_path="a.md", data=data, max_tokens=99, overlap=0)
    frequencies = TermFrequencies.count([terms(chunk.text) for chunk in chunks])
    assert answer_from(question, chunks, frequencies, {}).text == answer


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"k": 0}, "k"),
        ({"chunk_tokens": 5}, "chunk_tokens"),
        ({"chunk_overlap": 300}, "chunk_overlap"),
        ({"fusion": "max"}, "fusion"),
        ({"folder_mode": "maybe"}, "folder_mode"),
        ({"vector_weight": -1.0}, "vector_weight"),
        ({"vector_weight": 0.0, "lexical_weight": 0.0}, "vector_weight"),
        ({"embedder": "endpoint"}, "embedder"),
        ({"llm_url": "http://x"}, "llm_model"),
    ],
)
def test_a_bad_setting_is_refused_by_name(
    tmp_path: Path, settings: dict[str, Any], field: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        ReferenceConfig(vault=tmp_path, **settings)
    assert fault_text(caught.value).startswith(f"{field}: ")


@pytest.mark.parametrize("chunk_tokens", [20, 400])
def test_chunk_size_is_a_setting(tmp_path: Path, chunk_tokens: int) -> None:
    text = "# A\n\n" + "Herons nest in tall trees near the river. " * 30
    write_vault(tmp_path, {**NOTES, "long.md": text})
    engine = make_engine(tmp_path, chunk_tokens=chunk_tokens, chunk_overlap=5)
    assert engine.index.coverage["chunk_token_stats"]["max"] <= chunk_tokens
    assert paths(ask(engine, "where do herons nest?"))[0] == "long.md"


# ---

BEFORE = ["How do I get a refund?", "Which colours are there?"]


@pytest.mark.parametrize(
    "question",
    [
        "How long does it take?",
        "And in winter?",
        "Why?",
        "What about those that are broken?",
        "When?",
    ],
)
def test_a_follow_up_is_searched_with_the_question_before_it(question: str) -> None:
    assert in_full(question, BEFORE) == f"{BEFORE[-1]} {question}"
    assert in_full(question, []) == question


@pytest.mark.parametrize("question", ["Which port does the gateway listen on?", *BEFORE[:1]])
def test_a_question_that_stands_alone_stays(question: str) -> None:
    assert in_full(question, ["Who leads the team?"]) == question


def test_the_answer_to_a_follow_up_is_that_of_its_topic(tmp_path: Path) -> None:
    engine = make_engine(write_vault(tmp_path))
    history = [
        {"role": "user", "content": "When are tomatoes planted?"},
        {"role": "assistant", "content": "In May."},
    ]

    alone = ask(engine, "And after what?", k=1)
    found = ask(engine, "And after what?", k=1, history=history)

    assert "home/garden.md" not in paths(alone)
    assert paths(found) == ["home/garden.md"]


# ---


def segments(heading_path: str) -> list[str]:
    return [part.lstrip("# ") for part in heading_path.split(" > ")]


def matches(chunk: dict[str, Any], gold: dict[str, Any]) -> bool:
    wanted = segments(gold["heading_path"])
    return (
        chunk["rel_path"] == gold["rel_path"].removeprefix("claude_docs/")
        and segments(chunk["heading_path"])[: len(wanted)] == wanted
    )


@pytest.mark.slow
def test_most_questions_on_real_pages_find_their_section() -> None:
    """A floor, not a target: hit rate 0.97 and MRR 0.88 when this was written."""
    engine = make_engine(shared_path("data", "rag", "vault", "claude_docs"))
    lines = shared_path("data", "rag", "eval_set.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if case["folders"] == ["claude_docs"]]
    ranks = []
    for case in cases:
        chunks = retrieved(ask(engine, case["question"]))
        hits = [
            c["rank"] for c in chunks if any(matches(c, gold) for gold in case["gold_supports"])
        ]
        ranks.append(min(hits, default=0))
    assert len(ranks) >= 30
    assert sum(rank > 0 for rank in ranks) / len(ranks) >= 0.85
    assert sum(1 / rank for rank in ranks if rank) / len(ranks) >= 0.7
