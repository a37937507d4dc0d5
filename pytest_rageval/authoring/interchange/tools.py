"""Rows of other tools in JSON, JSON Lines or CSV: ragas, deepeval and SQuAD.

Read in the sources of ragas 0.1 to 0.3 and of ``EvaluationDataset.save_as`` of deepeval 2 and 3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pytest_rageval.authoring.interchange.cells import (
    parse_answers,
    parse_object,
    parse_texts,
    snake,
)
from pytest_rageval.authoring.interchange.fields import BadFieldError, FieldMap, read_fields
from pytest_rageval.authoring.interchange.ids import DocumentPaths, UniqueIds
from pytest_rageval.authoring.interchange.parsing import parse_document
from pytest_rageval.authoring.interchange.rows import (
    Converted,
    RowMap,
    Rows,
    read_cases,
    read_rows,
    with_id,
)
from pytest_rageval.authoring.interchange.values import (
    Imported,
    Ledger,
    Source,
    SourceFile,
    is_missing,
    listed,
    unfit,
)
from pytest_rageval.project.documents import Document
from pytest_rageval.support.reading import Unfit
from pytest_rageval.values.lenient import items, part, word

_SOURCES: Final = "metadata[].source"
_TOOL: Final = "a matter of its own tool"
_RAGAS: Final = RowMap(
    room="ragas",
    others=("csv", "promptfoo", "beir", "squad"),
    names={
        "id": ("id", "sample_id", "question_id"),
        "question": ("user_input", "question"),
        "expected_answer": ("reference", "ground_truth", "ground_truths", "expected_answer"),
        "gold_supports": ("reference_context_ids", _SOURCES),
        "category": ("synthesizer_name", "evolution_type"),
    },
    anchors={},
    left={
        "approval_status": _TOOL,
        "episode_done": _TOOL,
        "multi_responses": "answers of a system, not of the case",
        "reference_tool_calls": "no tools are called here",
        "reference_topics": "a matter of its own tool",
    },
    passages=("reference_contexts", "ground_truth_context"),
    answer=("response", "answer"),
    retrieved=("retrieved_contexts", "contexts"),
    retrieved_ids="retrieved_context_ids",
)
_RAGAS_TESTSET: Final = replace(
    _RAGAS, passages=(*_RAGAS.passages, "contexts"), retrieved=_RAGAS.retrieved[:1]
)
"""In a test set of 0.1 ``contexts`` are the source of the question; elsewhere retrieved."""


def read_ragas(source: Source) -> Imported:
    """Read test sets and evaluation datasets of ragas.

    Supports 0.1 (``question``, ``ground_truth``) and 0.2 and later (``user_input``, ``reference``).
    A row has the texts of its reference contexts, but seldom their source. With a source
    (``reference_context_ids``, ``metadata[].source``) they become golds; otherwise they are kept in
    metadata for labelling.

    Raises:
        DatasetError: a file has no rows, or a row has no question.
    """
    return read_rows(source, _RAGAS, _sample)


def _sample(row: dict[str, Any]) -> tuple[dict[str, Any], RowMap]:
    inner = row.get("eval_sample")
    if isinstance(inner, dict):
        row = {name: value for name, value in (inner | row).items() if name != "eval_sample"}
    sources = [word(one, "source") for one in listed(parse_object(row.get("metadata")))]
    if any(sources) and not row.get("reference_context_ids"):
        row = {name: value for name, value in row.items() if name != "metadata"}
        row[_SOURCES] = [path for path in dict.fromkeys(sources) if path and path.strip()]
    is_testset = not all(is_missing(row.get(name)) for name in _RAGAS.names["category"])
    return row, _RAGAS_TESTSET if is_testset else _RAGAS


# --- deepeval --------------------------------------------------------------------------------

_TOOLS: Final = "no tools are called here"
_GOLDEN: Final = RowMap(
    room="deepeval",
    row="golden",
    names={
        "id": ("name",),
        "question": ("input",),
        "expected_answer": ("expected_output",),
        "gold_supports": ("source_file",),
        "notes": ("comments",),
    },
    anchors={},
    left={"tools_called": _TOOLS, "expected_tools": _TOOLS},
    conversation=("turns", "scenario", "expected_outcome", "user_description"),
    passages=("context",),
    answer=("actual_output",),
    retrieved=("retrieval_context",),
)


def read_deepeval(source: Source) -> Imported:
    """Read goldens of deepeval, with names in snake_case or, as its API writes them, in camelCase.

    Raises:
        DatasetError: a file holds no goldens, or a golden has no input.
    """
    return read_rows(source, _GOLDEN, _golden)


def _golden(row: dict[str, Any]) -> tuple[dict[str, Any], RowMap]:
    given = {snake(name): value for name, value in row.items()}
    for name in ("context", "retrieval_context"):
        value = given.get(name)
        # Texts of a table; not a list, whose one text may contain a table.
        if isinstance(value, str) and parse_texts(value) == [value]:
            given[name] = value.split("|")
    return given, _GOLDEN


# --- SQuAD ------------------------------------------------------------------------------------

_TURNS: Final = 40
"""Messages kept of a conversation before a question."""
_SQUAD: Final = FieldMap(room="squad", names={"id": ("id",), "question": ("question",)}, anchors={})
_IMPOSSIBLE: Final = replace(_SQUAD, left={"plausible_answers": "the question has no answer"})


def read_squad(source: Source) -> Imported:
    """Read questions on paragraphs, which become documents.

    A file nests questions in paragraphs in articles, as annotation tools write it too; on the
    Hugging Face Hub a row is one question with its paragraph.

    Raises:
        DatasetError: a file holds no questions, or with every one that cannot be read.
    """
    options = source.options
    keeps = options.ids == "keep"
    paths = DocumentPaths("", options.scope_prefix or f"squad/{options.set_name}/")
    documents: dict[tuple[str, str], Document] = {}

    def case(row: dict[str, Any], ids: UniqueIds, ledger: Ledger) -> Converted:
        own = {"title", "context", "answers", "is_impossible"}
        has_title, text, answers = bool(row.get("title")), row.get("context"), row.get("answers")
        title = str(row["title"]) if has_title else "paragraph"
        if not isinstance(text, str):
            raise BadFieldError({"context": Unfit("the text of a paragraph", code="missing")})
        found, is_absent = parse_answers(answers)
        is_impossible = row.get("is_impossible", is_absent or (answers is not None and not found))
        asked = {name: value for name, value in row.items() if name not in own}
        line = read_fields(asked, ledger, _IMPOSSIBLE if is_impossible else _SQUAD)
        line = with_id(line, ids, room="squad")
        ledger.carry("context")
        ledger.carry("answers", answers is not None)
        name = f"{title}:{len(documents) + 1}"
        whole = f"# {' '.join(title.split())}\n\n{text}" if has_title else text
        document = documents.setdefault(
            (title, text), Document(rel_path=paths.path(name), text=whole, source_id=name)
        )
        if is_impossible:
            line["answerable"] = False
            ledger.note("unanswerable is said of a question's own paragraph; others may answer it")
        elif found is not None:
            path = title if keeps else document.rel_path
            line["expected_answer"] = found
            line["gold_supports"] = [{"rel_path": path, "snippets": _spans(answers)[:1]}]
        return line if keeps else {**line, "folders": [paths.folder.rstrip("/")]}, []

    imported = read_cases(source, _questions, case)
    if keeps:
        return imported
    return replace(imported, documents=tuple(documents.values()), scope_prefix=paths.folder)


def _questions(file: SourceFile, source: Source, ledger: Ledger) -> Rows:
    """Yield each question with what its paragraph and its article have."""
    value, found = parse_document(file, ledger), []
    for a, article in enumerate(value if isinstance(value, list) else items(value, "data")):
        if isinstance(article, dict) and "paragraphs" not in article:
            found.append((0, f"row {a + 1}: ", article))
        for p, paragraph in enumerate(items(article, "paragraphs")):
            before: list[dict[str, str]] = []
            for q, asked in enumerate(items(paragraph, "qas")):
                row = {**article, **part(paragraph), **part(asked)}
                del row["paragraphs"], row["qas"]
                if "followup" in row:  # QuAC: the questions of a paragraph are one conversation
                    row["history"] = before[-_TURNS:]
                    said = "".join(_spans(row.get("answers"))[:1])
                    before += [
                        {"role": "user", "content": str(row.get("question"))},
                        {"role": "assistant", "content": said},
                    ]
                found.append((0, f"data[{a}].paragraphs[{p}].qas[{q}].", row))
    if not found:
        raise unfit(file, value, "SQuAD: articles under data, or rows with a context")
    yield from found


def _spans(answers: Any) -> list[str]:
    return parse_texts(answers.get("text") if isinstance(answers, dict) else answers)
