"""Test sets and evaluation datasets of ragas, in JSON, JSON Lines or CSV.

Supports 0.1 (``question``, ``ground_truth``) and 0.2 and later (``user_input``, ``reference``). A
ragas row has the texts of its reference contexts, but seldom their source. With a source
(``reference_context_ids``, ``metadata[].source``) they become golds; otherwise they are kept in
metadata for labelling.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from pytest_rageval.authoring.interchange.cells import (
    parse_list,
    parse_names,
    parse_object,
    parse_texts,
    text_of,
)
from pytest_rageval.authoring.interchange.chats import take_history
from pytest_rageval.authoring.interchange.fields import take_answers
from pytest_rageval.authoring.interchange.ids import UniqueIds, clean_label
from pytest_rageval.authoring.interchange.suite import Converted, read_rows, recorded, with_id
from pytest_rageval.authoring.interchange.values import Imported, Ledger, Source, listed
from pytest_rageval.values.json_documents import word

_ROOM: Final = "ragas"
_QUESTION: Final = ("user_input", "question")
_REFERENCE: Final = ("reference", "ground_truth", "ground_truths", "expected_answer")
_CONTEXTS: Final = ("reference_contexts", "ground_truth_context")
_CATEGORY: Final = ("synthesizer_name", "evolution_type")
_ID: Final = ("id", "sample_id", "question_id")
_LEFT: Final[Mapping[str, str]] = {
    "approval_status": "a matter of its own tool",
    "episode_done": "a matter of its own tool",
    "multi_responses": "answers of a system, not of the case",
    "reference_tool_calls": "no tools are called here",
    "reference_topics": "belongs to conversations",
}
_ANSWER: Final = ("response", "answer")
_TEXTS: Final = ("retrieved_contexts", "contexts")


def read(source: Source) -> Imported:
    """Read test sets.

    Raises:
        DatasetError: a file has no rows, or a row has no question.
    """
    others = ("csv", "promptfoo", "beir", "squad")
    return read_rows(source, "row", partial(_sample, source), others=others)


def _sample(
    source: Source, row: dict[str, Any], ids: UniqueIds, ledger: Ledger
) -> Converted | None:
    given = ledger.full(_flat(row))
    asked = next((given[name] for name in _QUESTION if name in given), None)
    if isinstance(parse_object(asked), list):
        ledger.leave("user_input", "a conversation, and a case is one question")
        return None
    # In a test set of 0.1 `contexts` are the source of the question; elsewhere they were retrieved.
    is_testset = not set(_CATEGORY).isdisjoint(given)
    line: dict[str, Any] = {"question": _take(given, _QUESTION, ledger)}
    if (own := _take(given, _ID, ledger)) is not None:
        line["id"] = str(own)
    line |= take_answers(_take(given, _REFERENCE, ledger), ledger)
    if (category := _take(given, _CATEGORY, ledger)) is not None:
        line["category"] = clean_label(str(category), blank="_") or "general"
    # Golds take their names first, which say whether texts without a name can be scored.
    names = (*_ANSWER, "retrieved_context_ids", *(_TEXTS[:1] if is_testset else _TEXTS))
    retrieved = {name: given.pop(name) for name in names if name in given}
    _take_golds(given, line, ledger, is_testset=is_testset)
    response = _response(retrieved, line, source, ledger)
    ledger.leave_values(given, _LEFT)
    take_history(given, line, ledger)
    ledger.keep_values(line, _ROOM, given)
    return with_id(line, ids, room=_ROOM), response


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Unwrap a sample of a test set."""
    inner = row.get("eval_sample")
    if not isinstance(inner, dict):
        return dict(row)
    return {name: value for name, value in {**inner, **row}.items() if name != "eval_sample"}


def _take(given: dict[str, Any], names: tuple[str, ...], ledger: Ledger) -> Any:
    for name in names:
        if name in given:
            ledger.carry(name)
            return given.pop(name)
    return None


def _take_golds(
    given: dict[str, Any], line: dict[str, Any], ledger: Ledger, *, is_testset: bool
) -> None:
    names = (*_CONTEXTS, "contexts") if is_testset else _CONTEXTS
    contexts: list[str] = []
    for name in names:
        if name in given:
            contexts = parse_texts(given.pop(name))
            ledger.keep_values(line, _ROOM, {name: contexts})
            break
    paths = [str(one) for one in parse_names(given.pop("reference_context_ids", None))]
    if paths:
        ledger.carry("reference_context_ids")
    named = (word(one, "source") for one in listed(parse_object(given.get("metadata"))))
    sources = [source for source in named if source is not None]
    if sources and not paths:
        paths = sources
        del given["metadata"]
        ledger.carry("metadata[].source")
    golds = [{"rel_path": path} for path in dict.fromkeys(paths) if path.strip()]
    if golds:
        line["gold_supports"] = golds
    elif contexts:
        ledger.note(
            "reference contexts do not say which document they are of; label the cases to "
            "score retrieval"
        )


def _response(
    retrieved: Mapping[str, Any], line: dict[str, Any], source: Source, ledger: Ledger
) -> dict[str, Any] | None:
    """Return the answer of a system, if the dataset has one."""
    answer = next((name for name in _ANSWER if name in retrieved), None)
    contexts = next((name for name in _TEXTS if parse_list(retrieved.get(name))), _TEXTS[0])
    texts = parse_texts(retrieved.get(contexts))
    paths = [str(one) for one in parse_names(retrieved.get("retrieved_context_ids"))]
    if answer:
        ledger.carry(answer)
    if not paths:
        said = None if answer is None else retrieved[answer]
        return recorded(line, said, texts, contexts, source, ledger)
    ledger.carry("retrieved_context_ids")
    if texts:
        ledger.carry(contexts)
    padded = [*texts, *[""] * len(paths)]
    chunks = [
        {"rel_path": path, "rank": rank} | ({"text": text} if text else {})
        for rank, (path, text) in enumerate(zip(paths, padded, strict=False), 1)
    ]
    said = "" if answer is None else text_of(retrieved[answer])
    return {"answer": said, "debug": {"retrieved_chunks": chunks}}
