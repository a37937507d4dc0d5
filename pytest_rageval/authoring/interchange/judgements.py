"""Relevance judgements of a set: reading of rows, and grades as golds of cases."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from pytest_rageval.authoring.interchange.cells import snake
from pytest_rageval.authoring.interchange.parsing import parse_json_lines
from pytest_rageval.authoring.interchange.values import Ledger, SourceFile, keep_in_metadata, unfit
from pytest_rageval.support.text import shown
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.diagnoses.table import Fact
from pytest_rageval.values.errors import Fault
from pytest_rageval.values.lenient import part

_NAMES: Final = (
    frozenset({"query_id", "qid", "queryid", "query", "topic", "topic_id"}),
    frozenset(
        {"corpus_id", "doc_id", "docid", "docno", "document_id", "passage_id", "pid", "document"}
    ),
    frozenset({"score", "relevance", "rel", "grade", "label"}),
)
"""Names of the query, the document and the grade in a row."""
GRADE: Final = r"[-+]?\d{1,18}(?:\.0*)?"
"""Pattern of a grade, which data frames write as ``2.0``."""
Judgement = tuple[str, str, int]
"""Query, document and grade."""


def parse_grade(value: object) -> int | None:
    """Return a grade, which data frames write as ``2.0``; None: it is not an integer."""
    text = str(value).strip()
    return int(text.partition(".")[0]) if re.fullmatch(GRADE, text, re.ASCII) else None


def judgement_columns(names: list[str]) -> list[int] | None:
    """Return where a header names query, document and grade; None: it does not."""
    places = [next((i for i, one in enumerate(names) if snake(one) in known), -1)
              for known in _NAMES]  # fmt: skip
    return None if -1 in places else places


def parse_judgement(cells: list[Any], columns: list[int]) -> Judgement | None:
    """Return the judgement of a row; None: a part of it is missing, or the grade is no integer."""
    if max(columns) >= len(cells):
        return None
    query, document, score = (str(cells[at]).strip() for at in columns)
    grade = parse_grade(score)
    return None if grade is None or not query or not document else (query, document, grade)


def json_judgements(file: SourceFile, ledger: Ledger) -> Iterator[tuple[int, str, str, int]]:
    """Yield the judgements of JSON Lines, each with its line.

    Raises:
        DatasetError: a line is not a judgement.
    """
    for number, row in parse_json_lines(file, ledger):
        columns = judgement_columns(list(row))
        found = columns and parse_judgement(list(row.values()), columns)
        if not found:
            expected = "query-id, corpus-id and an integer as score"
            raise unfit(file, row, expected, line=number)
        yield (number, *found)


class Judgements:
    """Grades of a set, without contradictions.

    Args:
        ledger: counts judgements carried over, and repeated ones.
        name: of a judgement in the ledger.
    """

    def __init__(self, ledger: Ledger, name: str) -> None:
        self._ledger = ledger
        self._name = name
        self._places: dict[tuple[str, str], tuple[str, int]] = {}
        self.grades: dict[str, dict[str, int]] = {}
        """Query to document to grade."""
        self.faults: list[Fault] = []

    def add(self, file: SourceFile, line: int, query: str, document: str, grade: int) -> None:
        """Take one judgement; another grade for a judged document is a fault."""
        grades = self.grades.setdefault(query, {})
        if document not in grades:
            grades[document] = grade
            self._places[query, document] = file.name, line
            self._ledger.carry(self._name)
        elif grades[document] == grade:
            self._ledger.leave(self._name, "the same judgement again")
        else:
            name, number = self._places[query, document]
            facts: dict[str, Fact] = {
                "document": shown(document),
                "grade": grade,
                "query": shown(query),
                "other": grades[document],
                "at": f"{name}:{number}",
            }
            self.faults.append(Fault(code="other_grade", facts=facts, file=file.name, line=line))

    def leave(self, why: str) -> None:
        """Count the judgements of the queries that no case has taken as left out, not carried."""
        if n := sum(map(len, self.grades.values())):
            self._ledger.carried -= Counter({self._name: n})
            self._ledger.leave(self._name, why, n)


def graded_golds(
    grades: Mapping[str, int], anchor: Callable[[str], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the golds of judgements: the documents with a grade of at least 1.

    Args:
        grades: document to grade.
        anchor: returns the fields of a gold for a document.
    """
    return [
        {**anchor(name), **({"grade": grade} if grade != 1 else {})}
        for name, grade in grades.items()
        if grade > 0
    ]


def keep_low_grades(
    line: dict[str, Any], room: str, grades: Mapping[str, int], ledger: Ledger, counted_as: str
) -> None:
    """Store the judgements below 1 in the metadata of a case, from where an export takes them."""
    if below := {name: grade for name, grade in grades.items() if grade < 1}:
        keep_in_metadata(line, room, "judged_not_relevant", below)
        ledger.keep(counted_as, len(below))


def case_grades(case: Case, room: str, name_of: Callable[[Anchor], str]) -> dict[str, int]:
    """Return the judgements of a case: document name to grade, including grades below 1."""
    found: dict[str, int] = {}
    for gold in case.gold_supports:
        name = name_of(gold)
        found[name] = max(gold.grade, found.get(name, 0))
    low = part(case.metadata, room, "judged_not_relevant").items()
    return {name: grade for name, grade in low if type(grade) is int} | found
