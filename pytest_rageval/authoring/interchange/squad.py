"""Questions on paragraphs, as SQuAD 1.1 and 2.0 and the sets after them have them.

A file nests questions in paragraphs in articles, as annotation tools write it too; on the Hugging
Face Hub a row is one question with its paragraph. Paragraphs become documents.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pytest_rageval.authoring.interchange.cells import parse_answers, parse_texts
from pytest_rageval.authoring.interchange.chats import take_history
from pytest_rageval.authoring.interchange.fields import BadFieldError
from pytest_rageval.authoring.interchange.ids import DocumentPaths, UniqueIds
from pytest_rageval.authoring.interchange.parsing import parse_document
from pytest_rageval.authoring.interchange.suite import Converted, Rows, read_cases, with_id
from pytest_rageval.authoring.interchange.values import Imported, Ledger, Source, SourceFile, fault
from pytest_rageval.project.documents import Document
from pytest_rageval.values.json_documents import items, part

_ROOM: Final = "squad"
_TURNS: Final = 40
"""Messages kept of a conversation before a question."""


def read(source: Source) -> Imported:
    """Read questions and their paragraphs.

    Raises:
        DatasetError: a file holds no questions, or with every one that cannot be read.
    """
    options = source.options
    keeps = options.ids == "keep"
    paths = DocumentPaths("", options.scope_prefix or f"squad/{options.set_name}/")
    documents: dict[tuple[str, str], Document] = {}

    def case(row: dict[str, Any], ids: UniqueIds, ledger: Ledger) -> Converted:
        answers = row.get("answers")
        given = ledger.full({name: row[name] for name in row if name != "answers"})
        title, text = str(given.pop("title", "paragraph")), given.pop("context", None)
        if not isinstance(text, str):
            raise BadFieldError("context", "missing, expected the text of a paragraph")
        line = _case(given, answers, ids, ledger)
        ledger.carry("context")
        name = f"{title}:{len(documents) + 1}"
        whole = f"# {' '.join(title.split())}\n\n{text}" if "title" in row else text
        document = documents.setdefault(
            (title, text), Document(rel_path=paths.path(name), text=whole, source_id=name)
        )
        if line.get("expected_answer"):
            path = title if keeps else document.rel_path
            line["gold_supports"] = [{"rel_path": path, "snippets": _spans(answers)[:1]}]
        return line if keeps else {**line, "folders": [paths.folder.rstrip("/")]}, None

    found = read_cases(source, _rows, case)
    if keeps:
        return found
    return replace(found, documents=tuple(documents.values()), scope_prefix=paths.folder)


def _rows(file: SourceFile, source: Source, ledger: Ledger) -> Rows:
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
                    said = {
                        "user": str(row.get("question")),
                        "assistant": "".join(_spans(row.get("answers"))[:1]),
                    }
                    before += [{"role": one, "content": text} for one, text in said.items()]
                found.append((0, f"data[{a}].paragraphs[{p}].qas[{q}].", row))
    if not found:
        raise fault(file.name, "expected SQuAD: articles under data, or rows with a context")
    yield from found


def _spans(answers: Any) -> list[str]:
    return parse_texts(answers.get("text") if isinstance(answers, dict) else answers)


def _case(given: dict[str, Any], answers: Any, ids: UniqueIds, ledger: Ledger) -> dict[str, Any]:
    line: dict[str, Any] = {"question": given.pop("question", None)}
    line |= {"id": str(given.pop("id"))} if "id" in given else {}
    found, is_absent = parse_answers(answers)
    if given.pop("is_impossible", is_absent or (answers is not None and found is None)):
        line["answerable"] = False
        ledger.note("unanswerable is said of a question's own paragraph; others may answer it")
        ledger.leave_values(given, {"plausible_answers": "the question has no answer"})
    elif found is not None:
        line["expected_answer"] = found
    ledger.carry("question")
    ledger.carry("answers", answers is not None)
    take_history(given, line, ledger)
    ledger.keep_values(line, _ROOM, given)
    return with_id(line, ids, room=_ROOM)
