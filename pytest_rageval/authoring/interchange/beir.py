"""BEIR datasets, both ways: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/<split>.tsv``.

As the ``beir`` package reads them (2.x): ``_id``, ``title`` and ``text`` of a document, ``_id`` and
``text`` of a query, and judgements with the header ``query-id corpus-id score``. Other fields of a
case are stored in the ``metadata`` of its query under ``rageval``, so that export and import
round-trip without loss.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from pytest_rageval.authoring.interchange.ids import DocumentPaths, UniqueIds, anchor_fields, docno
from pytest_rageval.authoring.interchange.judgements import (
    Judgements,
    case_grades,
    graded_golds,
    json_judgements,
    judgement_columns,
    keep_low_grades,
    parse_judgement,
)
from pytest_rageval.authoring.interchange.parsing import parse_json_lines
from pytest_rageval.authoring.interchange.rows import with_id
from pytest_rageval.authoring.interchange.values import (
    NOT_BLANK,
    Imported,
    Ledger,
    Source,
    SourceFile,
    fault,
    json_text,
    keep_in_metadata,
    unfit,
)
from pytest_rageval.project.case_reader import case_fields, parse_case
from pytest_rageval.project.documents import Document
from pytest_rageval.support.text import shown
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.errors import DatasetError, faults_error
from pytest_rageval.values.lenient import part, word

_HEADER: Final = "query-id\tcorpus-id\tscore"
_TEXTS: Final = ("corpus.jsonl", "queries.jsonl")
_ROOM: Final = "beir"
_OURS: Final = "rageval"
_TITLED: Final = re.compile(r"# (?!\s*\n)([^\n]+)\n\n(.*)", re.DOTALL)
DEFAULT_SPLIT: Final = "test"


def read(source: Source) -> Imported:
    """Read a dataset.

    Raises:
        DatasetError: queries or judgements are missing, or a line cannot be read.
    """
    ledger = Ledger()
    queries = _lines(source, "queries.jsonl", ledger)
    splits = {
        PurePosixPath(file.name).stem: file
        for file in source.files
        if file.name.endswith((".tsv", ".jsonl")) and PurePosixPath(file.name).name not in _TEXTS
    }
    if not queries or not splits:
        missing = "queries.jsonl" if not queries else "qrels/*.tsv or .jsonl"
        names = ", ".join(file.name for file in source.files[:10])
        raise fault(
            names, "value", found=f"no {missing}, or an empty one", expected="a BEIR dataset"
        )
    corpus = _Corpus(source, ledger)
    lines = _cases(source, queries, splits, corpus, ledger)
    paths = {one.rel_path for one in corpus.documents}
    golds = [str(gold["rel_path"]) for line in lines for gold in line.get("gold_supports", ())]
    if paths and (absent := [path for path in golds if path not in paths]):
        ledger.note(f"golds that corpus.jsonl lacks: {len(absent)}, such as {shown(absent[0])}")
    return ledger.close(
        cases=tuple(lines), documents=tuple(corpus.documents), scope_prefix=corpus.scope_prefix
    )


def _lines(
    source: Source, name: str, ledger: Ledger
) -> list[tuple[SourceFile, int, dict[str, Any]]]:
    """Return the lines of all files of a name, each with its file and number."""
    return [
        (file, number, value)
        for file in source.files
        if PurePosixPath(file.name).name == name
        for number, value in parse_json_lines(file, ledger)
    ]


def _own_of_query(value: Mapping[str, Any]) -> tuple[Case, dict[str, Any]] | None:
    """Return the case of a query that our export wrote, and its fields; None: another tool's."""
    fields = part(value, "metadata", _OURS)
    own = {name: item for name, item in fields.items() if name not in {"id", "question"}}
    try:
        return (parse_case({"id": "q", "question": "?", **own}), own) if own else None
    except DatasetError:
        return None


def _own_of_document(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what our export added to a document; empty for that of another tool."""
    found = part(value, "metadata", _OURS)
    others = (found.get("scope_prefix"), found.get("source_id"))
    known = isinstance(found.get("rel_path"), str)
    return found if known and all(isinstance(one, str | None) for one in others) else {}


# --- documents -------------------------------------------------------------------------------


class _Corpus:
    """The documents, and the path of each id."""

    def __init__(self, source: Source, ledger: Ledger) -> None:
        self.documents: list[Document] = []
        self._options = source.options
        self._ledger = ledger
        self._own_paths: dict[str, str] = {}
        self._own_ids: dict[str, str] = {}
        """Id of each document that our export wrote, by its path."""
        given = _lines(source, "corpus.jsonl", ledger)
        folder = source.options.scope_prefix or next(
            (own.get("scope_prefix") for _, _, value in given if (own := _own_of_document(value))),
            None,
        )
        self._paths = DocumentPaths("", folder or f"beir/{source.options.set_name}/")
        wanted = source.options.ids
        self._makes_paths = wanted == "paths" or (wanted == "auto" and bool(given))
        if given and not self._makes_paths:
            ledger.leave("corpus[]", "with --ids keep the documents are the target's already",
                         len(given))  # fmt: skip
            return
        for file, number, value in given:
            self._take(file, number, value)

    def name(self, gold: Anchor) -> str:
        return corpus_name(gold, self._own_ids)

    @property
    def scope_prefix(self) -> str | None:
        return self._paths.folder if self.documents else None

    def anchor(self, corpus_id: str) -> dict[str, Any]:
        if corpus_id in self._own_paths:
            return {"rel_path": self._own_paths[corpus_id]}
        found: dict[str, Any] = dict(anchor_fields(corpus_id))
        if self._makes_paths and "heading_path" not in found:
            return {"rel_path": self._paths.path(corpus_id)}
        return found

    def _take(self, file: SourceFile, number: int, value: Mapping[str, Any]) -> None:
        corpus_id = _id(file, number, value)
        title, text = value.get("title") or "", value.get("text")
        if not isinstance(title, str) or not isinstance(text, str):
            raise unfit(file, text, "a text", line=number, field="text")
        metadata = dict(part(value, "metadata"))
        if own := _own_of_document(value):
            self._own_paths[corpus_id] = own["rel_path"]
            self._own_ids[own["rel_path"]] = corpus_id
            # The export leaves the document's own value of our key beside ours.
            del metadata[_OURS]
            metadata |= {_OURS: own["metadata"]} if "metadata" in own else {}
        if title.strip() and "\n" not in title:
            text = f"# {title}\n\n{text}"
        elif title:
            metadata["title"] = title
        for name in sorted(value.keys() - {"_id", "title", "text", "metadata"}):
            metadata[name] = value[name]
            self._ledger.keep(f"corpus[].{name}")
        path = self.anchor(corpus_id)["rel_path"]
        kept_id = own.get("source_id") if own else corpus_id
        self.documents.append(
            Document(rel_path=path, text=text, source_id=kept_id, metadata=metadata)
        )
        self._ledger.carry("corpus[]")


def _id(file: SourceFile, number: int, value: Mapping[str, Any]) -> str:
    found = value.get("_id")
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    if not isinstance(found, str) or not found.strip():
        raise unfit(file, found, "an id", line=number, field="_id")
    return found


# --- queries and judgements ------------------------------------------------------------------


def _cases(
    source: Source,
    queries: Sequence[tuple[SourceFile, int, dict[str, Any]]],
    splits: Mapping[str, SourceFile],
    corpus: _Corpus,
    ledger: Ledger,
) -> list[dict[str, Any]]:
    chosen = _chosen_splits(source, splits, ledger)
    judgements = Judgements(ledger, "qrels[]")
    split_of: dict[str, str] = {}
    for name in chosen:
        for number, query, document, grade in _judgements_of(splits[name], ledger):
            judgements.add(splits[name], number, query, document, grade)
        for query in judgements.grades:
            split_of.setdefault(query, name)
    if judgements.faults:
        raise faults_error(judgements.faults)
    judged = judgements.grades
    ids, seen = UniqueIds(), set[str]()
    lines = []
    for file, number, value in queries:
        query_id = _id(file, number, value)
        if query_id in seen:
            owner = "the id of another question"
            raise fault(
                file.name,
                "duplicate",
                line=number,
                field="_id",
                found=shown(query_id),
                owner=owner,
            )
        seen.add(query_id)
        if query_id not in judged and not _own_of_query(value):
            ledger.leave("queries[]", f"nothing is judged for it in {', '.join(chosen)}")
            continue
        if not isinstance(value.get("text"), str) or not value["text"].strip():
            raise unfit(file, value.get("text"), NOT_BLANK, line=number, field="text")
        line = _line(query_id, value, judged.pop(query_id, {}), corpus, ids, ledger)
        if split_of.get(query_id, DEFAULT_SPLIT) != DEFAULT_SPLIT:
            keep_in_metadata(line, _ROOM, "split", split_of[query_id])
        lines.append(line)
    judgements.leave("there is no query of this id")
    return lines


def _chosen_splits(source: Source, splits: Mapping[str, SourceFile], ledger: Ledger) -> list[str]:
    wanted = source.options.split
    if wanted == "all":
        return sorted(splits)
    if wanted is not None and wanted not in splits:
        expected = f"all or one of {', '.join(sorted(splits))}"
        raise fault("--split", "choice", found=shown(wanted), expected=expected)
    chosen = wanted or (DEFAULT_SPLIT if DEFAULT_SPLIT in splits else sorted(splits)[0])
    for name in sorted(splits.keys() - {chosen}):
        file = PurePosixPath(splits[name].name).name
        ledger.leave(f"qrels/{file}", f"another split than {chosen}; --split all takes every")
    return [chosen]


def _judgements_of(file: SourceFile, ledger: Ledger) -> Iterator[tuple[int, str, str, int]]:
    """Yield the judgements of a file, each with its line."""
    if file.name.endswith(".jsonl"):
        yield from json_judgements(file, ledger)
        return
    columns = [0, 1, 2]
    for number, text in enumerate(file.text.split("\n"), 1):
        cells = text.rstrip("\r").split("\t")
        if not text.strip():
            continue
        if number == 1 and (named := judgement_columns(cells)) is not None:
            columns = named
            continue
        found = parse_judgement(cells, columns) if len(cells) > 2 else None
        if found is None or len(cells) != 3:
            expected = "query-id, corpus-id and an integer between tabs"
            raise unfit(file, text, expected, line=number)
        yield (number, *found)


def _line(
    query_id: str,
    value: Mapping[str, Any],
    grades: Mapping[str, int],
    corpus: _Corpus,
    ids: UniqueIds,
    ledger: Ledger,
) -> dict[str, Any]:
    found = _own_of_query(value)
    own = found[1] if found else {}
    line = with_id({"id": query_id, "question": value["text"], **own}, ids, room=_ROOM)
    ledger.carry("queries[]")
    wanted = {name: grade for name, grade in grades.items() if grade > 0}
    # Golds of our export say more than the judgements, unless these were changed since.
    kept = {} if found is None else case_grades(found[0], "", corpus.name)
    if kept != wanted:
        line.pop("required_support_groups", None)  # its indices refer to other golds
        line.pop("gold_supports", None)
        golds = graded_golds(wanted, corpus.anchor)
        line |= {"gold_supports": golds} if golds else {}
    if corpus.scope_prefix and not own:
        line["folders"] = [corpus.scope_prefix.rstrip("/")]
    keep_low_grades(line, _ROOM, grades, ledger, "qrels[] with a score below 1")
    rest = dict(part(value, "metadata"))
    if found is not None:
        del rest[_OURS]
    rest |= {k: v for k, v in value.items() if k not in {"_id", "text", "metadata"}}
    if rest:
        keep_in_metadata(line, _ROOM, "query", rest)
        ledger.keep("queries[].metadata")
    return line


# --- writing ---------------------------------------------------------------------------------


def write(
    cases: Sequence[Case], documents: Sequence[Document], scope_prefix: str | None = None
) -> tuple[dict[str, str], Imported]:
    """Return the files of a dataset by name, and the counts of every field."""
    ledger = Ledger()
    names = {one.rel_path: _document_name(one) for one in documents}
    queries, qrels = [], {DEFAULT_SPLIT: [_HEADER]}
    for case in cases:
        line = case_fields(case)
        own = {name: value for name, value in line.items() if name not in {"id", "question"}}
        metadata = {_OURS: own} if own else {_OURS: {"answerable": True}}
        queries.append(json_text({"_id": case.id, "text": case.question, "metadata": metadata}))
        ledger.carry("case")
        rows = qrels.setdefault(_split(case), [_HEADER])
        grades = case_grades(case, _ROOM, lambda gold: corpus_name(gold, names))
        rows += [f"{case.id}\t{name}\t{grade}" for name, grade in grades.items()]
    files = {
        "queries.jsonl": "".join(f"{line}\n" for line in queries),
        **{f"qrels/{s}.tsv": "".join(f"{row}\n" for row in rows) for s, rows in qrels.items()},
    }
    texts = [_document_line(one, scope_prefix) for one in documents if one.text is not None]
    if texts:
        ledger.carry("document", len(texts))
        files["corpus.jsonl"] = "".join(f"{line}\n" for line in texts)
    else:
        ledger.note("no corpus.jsonl: the set brings no documents")
    if len(texts) < len(documents):
        ledger.leave("document", "its text is missing", len(documents) - len(texts))
    return files, ledger.close()


def corpus_name(gold: Anchor, names: Mapping[str, str]) -> str:
    """Return the name of a gold in judgements.

    Args:
        gold: its heading, if any, becomes part of the name.
        names: path of a document to its id in the corpus.
    """
    return (None if gold.heading_path else names.get(gold.rel_path)) or docno(gold)


def _document_name(document: Document) -> str:
    wanted = document.source_id or ""
    # Ids are separated by tabs.
    fits = bool(wanted.strip()) and not re.search(r"[\t\n\r]", wanted)
    return wanted if fits else docno(Anchor(rel_path=document.rel_path))


def _split(case: Case) -> str:
    found = word(case.metadata, _ROOM, "split")
    return found if found and re.fullmatch(r"[\w-]+", found) else DEFAULT_SPLIT


def _document_line(document: Document, scope_prefix: str | None) -> str:
    own: dict[str, Any] = {"rel_path": document.rel_path, "scope_prefix": scope_prefix}
    if document.source_id:
        own["source_id"] = document.source_id
    if _OURS in document.metadata:
        own["metadata"] = document.metadata[_OURS]
    titled = _TITLED.fullmatch(document.text or "")
    title, text = titled.groups() if titled else ("", document.text)
    metadata = {**document.metadata, _OURS: own}
    name = _document_name(document)
    return json_text({"_id": name, "title": title, "text": text, "metadata": metadata})
