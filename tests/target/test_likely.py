from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.target.likely import likely_answer, likely_chunks, likely_request
from pytest_rageval.target.mapping import compile_expression
from tests.build.presets import stored_replies, system_case


@pytest.mark.parametrize(
    ("reply", "expression"),
    [
        ({"text": "Yes.", "docs": []}, "text"),
        ({"choices": [{"message": {"content": "Yes."}}]}, "choices[0].message.content"),
        ({"data": {"answer": "Yes."}, "message": "ok"}, "data.answer"),
        ({"data": {"final": "Yes."}, "message": "ok"}, ""),
        ({"message": "Yes.", "sources": []}, "message"),
        ({"answer": "", "output": {"text": "Yes."}}, "output.text"),
        ({"answerHtml": "<p>Yes.</p>", "answerFound": True}, "answerHtml"),
        ({"data": {"ask": {"answer": {"text": "Yes."}, "sources": []}}}, "data.ask.answer.text"),
        ({"data": {"ask": "Yes."}}, ""),
        (
            {"output": [{"type": "call"}, {"type": "message", "content": [{"text": "Yes."}]}]},
            "output[].content[0].text | [-1]",
        ),
        (
            {"output": [{"id": 1}, {"content": [{"id": 2}, {"text": "Yes."}]}]},
            "output[].content[].text | [-1]",
        ),
        (
            {"output": [{"content": [{"text": "Let me see."}]}, {"content": [{"text": "Yes."}]}]},
            "output[].content[0].text | [-1]",
        ),
        ({"choices": [{"text": "Yes."}, {"text": "No."}]}, "choices[0].text"),
        ({"id": "7", "docs": ["a"]}, ""),
        ({"messages": [{"type": "human", "content": "Yes."}]}, ""),  # of which is it?
        ({"data": {"ask": {"text": "Yes. It is.", "sources": []}}}, "data.ask.text"),
        ({"payload": {"final_answer": "Yes. It is.", "text": "A source."}}, "payload.final_answer"),
        ({"job": {"text": "queued"}, "error": {"message": "It failed."}}, ""),
        ({"meta": {"context": "A long text."}, "hits": [{"text": "A long text."}]}, ""),
        (["Yes."], ""),
        ("Yes.", "@"),
        (" ", ""),
    ],
)
def test_a_likely_answer_is_found_by_its_name(reply: object, expression: str) -> None:
    assert likely_answer(reply) == expression
    assert not expression or "Yes." in str(compile_expression(expression, "")(reply))


LLAMA_INDEX = {"text": "T.", "metadata": {"file_name": "a.md", "page_label": "3"}}
AZURE = {"citations": [{"content": "T.", "title": "A", "filepath": "a.md", "chunk_id": "0"}]}


@pytest.mark.parametrize(
    ("reply", "expression"),
    [
        ({"chunks": [{"text": "T.", "doc_id": "a.md"}]}, "chunks[].{rel_path: doc_id, text: text}"),
        (
            {"source_nodes": [{"node": {"id_": "n", **LLAMA_INDEX}, "score": 0.5}]},
            "source_nodes[].{rel_path: node.metadata.file_name, text: node.text, "
            "chunk_id: node.id_, page: node.metadata.page_label, score_final: score}",
        ),
        (
            {"source_documents": [{"page_content": "T.", "metadata": {"source": "a", "page": 0}}]},
            "source_documents[].{rel_path: metadata.source, text: page_content}",
        ),
        (
            {"choices": [{"message": {"role": "assistant", "content": "Yes.", "context": AZURE}}]},
            "choices[].message.context.citations[].{rel_path: filepath, text: content, "
            "chunk_id: chunk_id}",
        ),
        (
            {"data": {"hits": [{"_source": {"path": "a", "body": "T."}, "_id": "7"}]}},
            "data.hits[].{rel_path: _source.path, text: _source.body, chunk_id: _id}",
        ),
        (
            {"data": {"sources": [{"document": {"name": "a.md"}, "snippet": "T."}]}},
            "data.sources[].{rel_path: document.name, text: snippet}",
        ),
        (  # a stream, whose events differ
            {"events": [{"data": "Yes"}, {"data": {"sources": [{"url": "u", "text": "T."}]}}]},
            "events[].data.sources[].{rel_path: url, text: text}",
        ),
        (
            {"hits": [{"doc": "a.md", "content": "T."}]},
            "hits[].{rel_path: doc, text: content}",
        ),
        ({"hits": [{"document": "a.md", "text": "T."}]}, "hits[].{rel_path: document, text: text}"),
        # The list with the likelier name.
        (
            {"items": [{"text": "T.", "url": "u"}], "passages": [{"content": "T.", "file": "a"}]},
            "passages[].{rel_path: file, text: content}",
        ),
        (
            {"data": {"ask": {"sources": {"edges": [{"node": {"path": "a.md", "text": "T."}}]}}}},
            "data.ask.sources.edges[].{rel_path: node.path, text: node.text}",
        ),
        (
            {"sources": {"1": {"documentPath": "a.md", "passageText": "T."}}},
            "sources.* && sort_by(rows({n: keys(sources), of: sources.*}), &to_number(n))[].of[]"
            ".{rel_path: documentPath, text: passageText}",
        ),
        (
            {"hits": [{"score": "high", "rank": {"similarity": 2}, "file": "a.md", "text": "T."}]},
            "hits[].{rel_path: file, text: text, score_final: rank.similarity}",
        ),
        (
            [{"metadata": {"source": "a", "Header 2": "B", "Header 1": "A"}, "page_content": "T."}],
            "[].{rel_path: metadata.source, text: page_content, heading_path: "
            """some(join(' > ', [metadata."Header 1", metadata."Header 2"][?@]))}""",
        ),
        ({"messages": [{"role": "user", "content": "Q?", "source": "web"}]}, ""),
        ({"contexts": ["T."]}, ""),
        (
            {"documents": ["a.md"], "sources": [{"path": "a.md", "text": "T."}]},
            "sources[].{rel_path: path, text: text}",
        ),
        ({"chunks": [{"text": "T.", "score": 1}]}, ""),  # of no document
        ({"chunks": [{"text": "T.", "doc_id": 7}]}, ""),  # a path is a text
        ({"chunks": [{"my text": "T.", "my-path": "a"}]}, ""),
        ({"chunks": []}, ""),
        (["T."], ""),
    ],
)
def test_likely_chunks_are_a_list_whose_items_name_text_and_document(
    reply: object, expression: str
) -> None:
    assert likely_chunks(reply) == expression
    if expression:
        [chunk] = _read(expression, reply)
        assert chunk["text"] == "T."


def test_a_list_of_paths_is_proposed_where_no_list_has_texts() -> None:
    reply = {"answer": "Yes.", "sources": ["docs/a.md", "b c.pdf"], "contexts": ["T."]}
    assert likely_chunks(reply) == "sources[].{rel_path: @}"
    assert _read("sources[].{rel_path: @}", reply) == [
        {"rel_path": "docs/a.md"},
        {"rel_path": "b c.pdf"},
    ]
    assert likely_chunks({"sources": ["The first text.", "https://a.example/b.md"]}) == ""


def test_chunks_under_numbers_are_proposed_in_the_order_of_the_numbers() -> None:
    chunks = {n: {"path": f"{n}.md", "text": "T.", "distance": 0.2} for n in ("2", "10", "1")}
    expression = likely_chunks({"found": {"citations": chunks}})
    read = _read(expression, {"found": {"citations": chunks}})
    assert [chunk["rel_path"] for chunk in read] == ["1.md", "2.md", "10.md"]
    assert _read(expression, {"found": {"citations": {}}}) == []
    assert _read(expression, {"found": {}}) is None


def test_the_answer_proposed_for_a_stored_reply_is_not_a_comment_before_it() -> None:
    stored = system_case("openai-responses", "commentary")
    found = compile_expression(likely_answer(stored.reply), "")(stored.reply)
    assert found == stored.expected["answer"]


def test_stored_replies_of_systems_have_proposals_that_read_their_chunks() -> None:
    found = set()
    for system, name in stored_replies():
        case = system_case(system, name)
        known = {one.get("text") for one in case.expected.get("retrieved_chunks") or ()}
        expression = likely_chunks(case.reply)
        if name != "success" or not expression or not known:
            continue
        found.add(system)
        assert {one["text"] for one in _read(expression, case.reply)} <= known, system
    assert len(found) >= 17


def _read(expression: str, reply: object) -> Any:
    return compile_expression(expression, "response.retrieved_chunks")(reply)


@pytest.mark.parametrize(
    ("refusal", "lines"),
    [
        (
            "HTTP 422: body.query: Field required: body.session_id: Field required",
            'query = "question", session_id = "uuid"',
        ),
        ("HTTP 400: field q is required", 'q = "question"'),
        ('HTTP 400: Missing required parameter: "top_k"', 'top_k = "k"'),
        ("HTTP 422: Missing input", 'input = "question"'),
        ("HTTP 400: parameter q missing", 'q = "question"'),
        ("HTTP 400: the 'message' is missing; 'message' is required", 'message = "question"'),
        (
            "HTTP 422: body.messages: Field required",
            "messages = \"[{role: 'user', content: question}]\"",
        ),
        ("HTTP 400: Required property 'questionText' is missing", 'questionText = "question"'),
        ("HTTP 422: body.language: Field required", ""),
        ("HTTP 422: body.question: Field required", ""),  # sent, but maybe not as a form
        ("HTTP 400: a token is required", ""),
    ],
)
def test_fields_that_a_refusal_misses_are_mapped_by_their_names(refusal: str, lines: str) -> None:
    assert likely_request(refusal, {"question", "k"}) == lines


NAMES = st.sampled_from(["chunks", "text", "path", "a b", "data", "id", "results", "", "role"])
REPLIES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=20,
)


@given(REPLIES)
def test_an_expression_for_any_reply_can_be_applied_to_it(reply: object) -> None:
    if expression := likely_chunks(reply):
        assert _read(expression, reply)


def test_a_reply_of_many_levels_is_read_to_the_fourth() -> None:
    reply: dict[str, Any] = {"text": "Yes. It is.", "sources": [{"text": "T.", "path": "a.md"}]}
    for _ in range(3):
        reply = {"data": reply}
    assert likely_answer(reply) == "data.data.data.text"
    assert likely_chunks(reply) == "data.data.data.sources[].{rel_path: path, text: text}"
    for _ in range(900):
        reply = {"data": reply}
    assert likely_answer(reply) == likely_chunks(reply) == ""
