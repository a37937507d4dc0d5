"""Questions on paragraphs, as SQuAD 1.1 and 2.0 and the sets after them have them.

A file nests questions in paragraphs in articles, as annotation tools write it too; on the Hugging
Face Hub a row is one question with its paragraph. Paragraphs become documents.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pytest_rageval.authoring.interchange.fields import BadFieldError
from pytest_rageval.authoring.interchange.ids import DocumentPaths, UniqueIds
from pytest_rageval.authoring.interchange.parsing import parse_document, parse_list
from pytest_rageval.authoring.interchange.suite import Converted, Rows, read_cases, with_id
from pytest_rageval.authoring.interchange.values import Imported, Ledger, Source, SourceFile, fault
from pytest_rageval.project.documents import Document
from pytest_rageval.values.json_documents import items, part

_ROOM: Final = "squad"


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
        given = ledger.full(row)
        title, text = str(given.pop("title", "paragraph")), given.pop("context", None)
        if not isinstance(text, str):
            raise BadFieldError("context", "missing, expected the text of a paragraph")
        line = _case(given, ids, ledger)
        ledger.carry("context")
        name = f"{title}:{len(documents) + 1}"
        whole = f"# {' '.join(title.split())}\n\n{text}" if "title" in row else text
        document = documents.setdefault(
            (title, text), Document(rel_path=paths.path(name), text=whole, source_id=name)
        )
        if answer := line.get("expected_answer"):
            path = title if keeps else document.rel_path
            line["gold_supports"] = [{"rel_path": path, "snippets": [answer]}]
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
            for q, asked in enumerate(items(paragraph, "qas")):
                row = {**article, **part(paragraph), **part(asked)}
                del row["paragraphs"], row["qas"]
                found.append((0, f"data[{a}].paragraphs[{p}].qas[{q}].", row))
    if not found:
        raise fault(file.name, "expected SQuAD: articles under data, or rows with a context")
    yield from found


def _case(given: dict[str, Any], ids: UniqueIds, ledger: Ledger) -> dict[str, Any]:
    line: dict[str, Any] = {"question": given.pop("question", None)}
    line |= {"id": str(given.pop("id"))} if "id" in given else {}
    answers = given.pop("answers", None)
    spans = answers.get("text") if isinstance(answers, dict) else answers
    found = [part(one).get("text", one) for one in parse_list(spans)]
    if given.pop("is_impossible", answers is not None and not found):
        line["answerable"] = False
        ledger.note("unanswerable is said of a question's own paragraph; others may answer it")
        ledger.leave_values(given, {"plausible_answers": "the question has no answer"})
    elif found:
        line["expected_answer"], *others = dict.fromkeys(map(str, found))
        ledger.keep_values(line, _ROOM, {"more_answers": others} if others else {})
    ledger.carry("question")
    ledger.carry("answers", answers is not None)
    ledger.keep_values(line, _ROOM, given)
    return with_id(line, ids, room=_ROOM)
