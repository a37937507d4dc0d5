from __future__ import annotations

import json
import time
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.target.likely import (
    likely_answer,
    likely_chunks,
    likely_references,
    likely_request,
)
from pytest_rageval.target.mapping import compile_expression
from tests.build.presets import stored_replies, system_case


@pytest.mark.parametrize(
    ("reply", "expression"),
    [
        ({"text": "Yes.", "docs": []}, "text"),
        ({"choices": [{"message": {"content": "Yes."}}]}, "choices[0].message.content"),
        ({"data": {"answer": "Yes."}, "message": "ok"}, "data.answer"),
        ({"message": "Yes.", "sources": []}, "message"),
        ({"answer": "", "output": {"text": "Yes."}}, "output.text"),
        ({"answerHtml": "<p>Yes.</p>", "answerFound": True}, "answerHtml"),
        ({"data": {"ask": {"answer": {"text": "Yes."}, "sources": []}}}, "data.ask.answer.text"),
        ({"data": {"ask": "Yes."}}, ""),  # a word of another name
        ({"data": {"ask": "Yes. It is."}, "state": "all done"}, "data.ask"),
        ({"Antwort": "Yes. It is."}, "Antwort"),
        ({"the reply": "Yes. It is."}, '"the reply"'),
        ({"x": "Yes. It is.", "y": '{"z": "Yes. It is, too."}'}, "x"),
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
        ({"id": "7", "docs": ["a"]}, ""),
        (
            {"messages": [{"content": "Q?"}, {"content": "Yes."}]},
            "messages[].content | [-1]",
        ),
        ({"data": {"ask": {"text": "Yes. It is.", "sources": []}}}, "data.ask.text"),
        ({"payload": {"final_answer": "Yes. It is.", "text": "A source."}}, "payload.final_answer"),
        ({"job": {"state": "queued"}, "error": {"message": "It failed."}}, ""),
        ({"hits": [{"file": "a.md", "text": "A text of some length, and more."}]}, ""),
        (["Yes."], ""),
        ("Yes.", "@"),
        (" ", ""),
    ],
)
def test_a_likely_answer_is_a_text_with_a_usual_name_or_the_longest(
    reply: object, expression: str
) -> None:
    assert likely_answer(reply) == expression
    assert not expression or "Yes." in str(compile_expression(expression, "")(reply))


def test_a_question_that_is_echoed_is_no_answer() -> None:
    reply = {"asked": "When does the gate open?", "said": "It opens at 8:15."}
    assert likely_answer(reply) == "asked"
    assert likely_answer(reply, {"q": reply["asked"]}) == "said"


TEXTS = (
    "The north gate opens at 8:15 and closes at 17:40.",
    "The south gate is shut in winter, from November on.",
)


def two(**columns: Any) -> list[dict[str, Any]]:
    """Items of a list, one for each text, of columns that hold two values or one for both."""
    return [
        {name: value[n] if isinstance(value, tuple) else value for name, value in columns.items()}
        for n in range(2)
    ]


PATHS = ("a.md", "b.md")
FOUND = two(at=PATHS, words=TEXTS)
PLAIN = "x[].{rel_path: at, text: words}"
SCORED = "x[].{rel_path: at, text: words, score_final: score}"


@pytest.mark.parametrize(
    ("reply", "expression"),
    [
        ({"x": FOUND}, "x[].{rel_path: at, text: words}"),
        (FOUND, "[].{rel_path: at, text: words}"),
        ({"a": {"b": [{"c": FOUND}]}}, "a.b[].c[].{rel_path: at, text: words}"),
        ({"x": [FOUND]}, "x[].{rel_path: at, text: words}"),
        ({"x": [[[*FOUND[:1]], [*FOUND[1:]]]]}, "x[][].{rel_path: at, text: words}"),
        (
            {"x": two(at=PATHS, parts=([{"words": TEXTS[0]}], [{"words": TEXTS[1]}]))},
            "unnest(x[], 'parts')[].{rel_path: at, text: words}",
        ),
        (
            {"x": two(at=PATHS, parts=([TEXTS[0]], [TEXTS[1]]))},
            "unnest(x[], 'parts')[].{rel_path: at, text: parts}",
        ),
        (
            {"words": TEXTS, "meta": [{"at": "a.md"}, {"at": "b.md"}]},
            "rows({words: words, meta: meta})[].{rel_path: meta.at, text: words}",
        ),
        (
            {"x": [{"words": [*TEXTS], "at": [*PATHS]}]},
            "x[].rows({words: words, at: at})[].{rel_path: at, text: words}",
        ),
        (
            {"x": {"2": FOUND[1], "1": FOUND[0]}},
            "x.* && sort_by(rows({n: keys(x), of: x.*}), &to_number(n))[].of"
            ".{rel_path: at, text: words}",
        ),
        ({"Stücke": two(Ort=PATHS, Wörter=TEXTS)}, '"Stücke"[].{rel_path: Ort, text: "Wörter"}'),
        ({"x": [{"at": "a.md", "words": TEXTS[0]}]}, "x[].{rel_path: at, text: words}"),
        # Of several names: a file, then an address, then what is named like a document.
        (
            {"x": two(title=("Gates", "Fees"), at=PATHS, words=TEXTS)},
            "x[].{rel_path: at, text: words}",
        ),
        (
            {"x": two(title=("Gates", "Fees"), kind="note", words=TEXTS)},
            "x[].{rel_path: title, text: words}",
        ),
        (
            {"x": two(at=("a.md", None), url=(None, "https://a.example/b"), words=TEXTS)},
            "x[].{rel_path: url || at, text: words}",
        ),
        # Headings: lists, those that differ within a document, and those of LangChain.
        (
            {"x": two(at="a.md", under=(["Gates"], ["Gates", "South"]), words=TEXTS)},
            "x[].{rel_path: at, text: words, heading_path: some(join(' > ', under || `[]`))}",
        ),
        (
            {"x": two(at="a.md", part=("North", "South"), words=TEXTS)},
            "x[].{rel_path: at, text: words, heading_path: part}",
        ),
        (
            {"x": two(at=PATHS, part=("North", "South"), words=TEXTS)},  # may be their titles
            "x[].{rel_path: at, text: words}",
        ),
        (
            {"x": two(at=PATHS, section=("North", "South"), words=TEXTS)},
            "x[].{rel_path: at, text: words, heading_path: section}",
        ),
        (
            [{"m": {"source": "a", "Header 2": "B", "Header 1": "A"}, "page_content": TEXTS[0]}],
            "[].{rel_path: m.source, text: page_content, heading_path: "
            """some(join(' > ', [m."Header 1", m."Header 2"][?@]))}""",
        ),
        # Scores fall, distances rise, and a count or a rank is neither.
        (
            {"x": two(at=PATHS, s=(0.9, 0.4), n=(1, 2), words=TEXTS)},
            "x[].{rel_path: at, text: words, score_final: s}",
        ),
        (
            {"x": two(at=PATHS, s=(0.1, 0.4), n=(7, 3), words=TEXTS)},
            "x[].{rel_path: at, text: words, score_final: negative(s)}",
        ),
        (
            {"x": two(at=PATHS, far=(0.1, 0.4), score=(0.9, 0.6), words=TEXTS)},
            "x[].{rel_path: at, text: words, score_final: score}",
        ),
        (
            {"x": two(at=PATHS, key=("n-1", "n-2"), page_label="3", words=TEXTS)},
            "x[].{rel_path: at, text: words, chunk_id: key, page: page_label}",
        ),
        (
            {"x": two(at=PATHS, score=("0.9", "0.4"), words=TEXTS)},
            "x[].{rel_path: at, text: words}",
        ),
        (
            {"x": two(at=PATHS, ref=("n-1", "n-2"), uid=("x-1", "x-2"), words=TEXTS)},
            "x[].{rel_path: at, text: words, chunk_id: uid}",
        ),
        # Of two equal texts the outer one; of headings lists, and before texts those named so.
        (
            {"x": two(at=PATHS, m=tuple({"words": text} for text in TEXTS), words=TEXTS)},
            "x[].{rel_path: at, text: words}",
        ),
        (
            {"x": two(at="a.md", under=(["Gate"], ["Fee"]), section=("East", "West"), words=TEXTS)},
            "x[].{rel_path: at, text: words, heading_path: some(join(' > ', under || `[]`))}",
        ),
        (
            {"x": two(at="a.md", part=("North", "South"), section=("East", "West"), words=TEXTS)},
            "x[].{rel_path: at, text: words, heading_path: section}",
        ),
        # What is named as a score need not fall or have fractions, and is not a distance.
        ({"x": two(at=PATHS, score=(5, 3), words=TEXTS)}, SCORED),
        ({"x": two(at=PATHS, score=5, words=TEXTS)}, SCORED),
        ({"x": two(at=PATHS, score=(3, 5), words=TEXTS)}, PLAIN),
        (
            {"x": two(at=PATHS, rerank_distance=(0.1, 0.4), score=(7, 3), words=TEXTS)},
            SCORED,
        ),
        (
            {"words": [[*TEXTS]], "meta": [[{"at": "a.md"}, {"at": "b.md"}]]},
            "rows({words: words[], meta: meta[]})[].{rel_path: meta.at, text: words}",
        ),
        # An id of one item is known by its name only.
        ({"x": [{"at": "a.md", "key": "n-1", "words": TEXTS[0]}]}, PLAIN),
        (
            {"x": [{"at": "a.md", "uid": "n-1", "words": TEXTS[0]}]},
            "x[].{rel_path: at, text: words, chunk_id: uid}",
        ),
        # What all items share names none of them.
        ({"x": two(kind="Type A", words=TEXTS)}, ""),
        (FOUND[0], ""),  # no list
        ({"x": two(at=PATHS, **{"it's": tuple([{"words": one}] for one in TEXTS)})}, ""),
        ({"x": two(at=PATHS)}, ""),  # no texts
        ({"x": two(words=TEXTS)}, ""),  # of no document
        ({"x": two(role=("user", "bot"), words=TEXTS)}, ""),
        ({"x": [*TEXTS]}, ""),
        ({"x": []}, ""),
    ],
)
def test_likely_chunks_are_a_list_whose_items_have_long_texts_of_documents(
    reply: object, expression: str
) -> None:
    reply = json.loads(json.dumps(reply))
    assert likely_chunks(reply) == expression
    if expression:
        texts = [chunk["text"] for chunk in _read(expression, reply)]
        assert texts == [*TEXTS][: len(texts)]


def test_a_list_of_paths_is_proposed_where_no_list_has_texts() -> None:
    reply = {"answer": "Yes.", "sources": ["docs/a.md", "b c.pdf"], "contexts": ["T."]}
    assert likely_chunks(reply) == "sources[].{rel_path: @}"
    assert _read("sources[].{rel_path: @}", reply) == [
        {"rel_path": "docs/a.md"},
        {"rel_path": "b c.pdf"},
    ]


def test_what_was_retrieved_is_more_than_what_is_cited() -> None:
    reply = {"cited": FOUND[:1], "seen": FOUND}
    assert likely_chunks(reply).startswith("seen[]")
    assert likely_references(reply, {*PATHS}) == "cited[].{rel_path: at}"
    assert likely_references({"seen": FOUND, "of": ["b.md"]}, {*PATHS}) == "of[].{rel_path: @}"
    assert likely_references({"seen": FOUND, "of": ["c.md"]}, {*PATHS}) == ""


@pytest.mark.parametrize(
    ("values", "score"),
    [
        ((0.9, 0.4, 0.4), "s"),
        ((0.1, 0.4, 0.4), "negative(s)"),
        ((0.1, 0.4, 0.2), None),
        ((0.4, 0.9, 0.1), None),
        ((0.4, 0.4), None),
    ],
)
def test_scores_may_be_equal_but_not_fall_and_rise(
    values: tuple[float, ...], score: str | None
) -> None:
    items = [{**FOUND[n % 2], "at": f"{n}.md", "s": value} for n, value in enumerate(values)]
    more = f", score_final: {score}" if score else ""
    assert likely_chunks(items) == f"[].{{rel_path: at, text: words{more}}}"


def test_values_that_golds_name_decide_between_several() -> None:
    reply = {"x": two(file=PATHS, key=("Gates", "Fees"), part=("North", "South"), words=TEXTS)}
    assert likely_chunks(reply) == "x[].{rel_path: file, text: words}"
    assert likely_chunks(reply, ["Gates", "North"]) == (
        "x[].{rel_path: key, text: words, heading_path: part}"
    )
    lists = {"above": (["Open"], ["Shut"]), "below": (["North"], ["South"])}
    reply = {"x": two(file="a.md", words=TEXTS, **lists)}
    assert "join(' > ', above" in likely_chunks(reply)
    assert "join(' > ', below" in likely_chunks(reply, ["South"])


def test_chunks_under_numbers_are_proposed_in_the_order_of_the_numbers() -> None:
    chunks = {n: {"path": f"{n}.md", "text": f"{TEXTS[0]} {n}"} for n in ("2", "10", "1")}
    expression = likely_chunks({"found": {"citations": chunks}})
    read = _read(expression, {"found": {"citations": chunks}})
    assert [chunk["rel_path"] for chunk in read] == ["1.md", "2.md", "10.md"]
    assert _read(expression, {"found": {"citations": {}}}) == []
    assert _read(expression, {"found": {}}) is None


def test_the_answer_proposed_for_a_stored_reply_is_not_a_comment_before_it() -> None:
    stored = system_case("openai-responses", "commentary")
    found = compile_expression(likely_answer(stored.reply), "")(stored.reply)
    assert found == stored.expected["answer"]


@pytest.mark.parametrize("named", [True, False])
def test_stored_replies_of_systems_have_proposals_that_read_them_whatever_their_names(
    named: bool,
) -> None:
    found = set()
    for system, name in stored_replies():
        case = system_case(system, name)
        reply = case.reply if named else renamed(case.reply, {})
        known = {one.get("text") for one in case.expected.get("retrieved_chunks") or ()}
        answer, chunks = likely_answer(reply, {"q": case.question}), likely_chunks(reply)
        if name != "success" or not chunks or not answer or not known:
            continue
        if {one["text"] for one in _read(chunks, reply)} == known:
            found |= {system} if _read(answer, reply) == case.expected["answer"] else set()
    assert len(found) >= 15 + 2 * named, found


def renamed(value: Any, names: dict[str, str]) -> Any:
    """Give all fields other names, which mean nothing."""
    if isinstance(value, dict):
        return {
            names.setdefault(key, f"x{len(names)}"): renamed(inner, names)
            for key, inner in value.items()
        }
    return [renamed(one, names) for one in value] if isinstance(value, list) else value


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
    assert likely_request(refusal, {"question", "k"}) == tomllib.loads(lines.replace('", ', '"\n'))


@pytest.mark.parametrize(
    ("refusal", "name"),
    [
        ("HTTP 500: KeyError: 'utterance'", "utterance"),
        ("HTTP 422: body.utterance: Field required", "utterance"),
        ("HTTP 422: body.turn.utterance: Field required", "turn.utterance"),
        ("HTTP 400: 'utterance' is a required property", "utterance"),
        ("HTTP 400: missing field `utterance` at line 1 column 9", "utterance"),
        ("HTTP 500: f() missing 1 required positional argument: 'utterance'", "utterance"),
        ("HTTP 500: Cannot read properties of undefined (reading 'utterance')", "utterance"),
        ("HTTP 400: Required request parameter 'utterance' is not present", "utterance"),
        ('HTTP 400: Undefined array key "utterance"', "utterance"),
        ("HTTP 400: you must provide a 'utterance' parameter", "utterance"),
        ("HTTP 400: Bad Request: utterance should not be empty", "utterance"),
        ("Field validation for 'utterance' failed on the 'required' tag", "utterance"),
        ('{"received": "undefined", "path": ["utterance"], "message": "Required"}', "utterance"),
        ("HTTP 401: a token is required", ""),
        ("HTTP 500: KeyError: 'session_token'", ""),
        ("HTTP 422: body.tenant: Field required: body.utterance: Field required", "utterance"),
        ("HTTP 422: body.first: Field required: body.second: Field required", ""),
        ("HTTP 500: Internal Server Error", ""),
    ],
)
def test_the_only_field_of_an_unknown_name_takes_the_question_unless_one_does(
    refusal: str, name: str
) -> None:
    expected = {name: "question"} if name else {}
    assert likely_request(refusal, {"question", "k"}, asks=False) == expected
    assert likely_request(refusal, {"question", "k"}) == {}


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


def test_a_reply_of_many_levels_is_read_to_the_sixth() -> None:
    reply: dict[str, Any] = {"says": "Yes. It is.", "seen": FOUND}
    for _ in range(4):
        reply = {"data": reply}
    assert likely_answer(reply) == "data.data.data.data.says"
    assert likely_chunks(reply) == "data.data.data.data.seen[].{rel_path: at, text: words}"
    for _ in range(900):
        reply = {"data": reply}
    assert likely_answer(reply) == likely_chunks(reply) == ""


@pytest.mark.parametrize("levels", [5, 6])
def test_lists_and_items_of_many_levels_are_read_to_the_sixth(levels: int) -> None:
    seen: Any = {"seen": FOUND}
    item: Any = {"at": "a.md", "words": TEXTS[0]}
    for _ in range(levels):
        seen, item = {"a": [seen]}, {"m": item}
    inner = "m." * levels
    assert likely_chunks({"x": [item]}) == (
        f"x[].{{rel_path: {inner}at, text: {inner}words}}" if levels == 5 else ""
    )
    lists = "a[]." * levels
    assert likely_chunks(seen) == (
        f"{lists}seen[].{{rel_path: at, text: words}}" if levels == 5 else ""
    )


@pytest.mark.parametrize(("size", "answer"), [(25, "said"), (24, "prompt")])
def test_a_passage_has_25_characters_and_a_text_around_one_is_not_the_answer(
    size: int, answer: str
) -> None:
    passage = "b c" * 8 + "d" * (size - 24)
    found = [{"at": "a.md", "words": passage}, {"at": "b.md", "words": TEXTS[0]}]
    reply = {"x": found, "prompt": f"Context: {passage}. Be brief.", "said": "It opens."}
    assert likely_answer(reply) == answer
    short = two(at=PATHS, words=(passage, passage[::-1]))
    assert likely_chunks({"x": short}) == (PLAIN if size == 25 else "")


def test_a_wide_reply_is_read_in_bounded_time() -> None:
    wide = {f"y{n}": TEXTS[0] for n in range(400)}
    item = {**{f"x{n}": [n, {"at": "a.md"}] for n in range(20)}, **wide}
    reply = {"a": [{"b": [item] * 3}] * 3, **item}
    started = time.process_time()
    likely_chunks(reply)
    likely_answer(reply)
    assert time.process_time() - started < 3
