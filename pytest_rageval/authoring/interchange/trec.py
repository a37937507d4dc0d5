"""TREC files, both ways: topics, qrels and runs, as trec_eval 9 reads them.

A document is one token there, so document and heading of an anchor are joined as
``path##heading``, with spaces escaped (``ids.docno``). Topics are ``id<TAB>question`` lines; the
older ``<top>`` files are read as well. Other fields of a case cannot be stored in these files.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.authoring.interchange.ids import UniqueIds, anchor_fields, docno
from pytest_rageval.authoring.interchange.judgements import (
    GRADE,
    Judgements,
    case_grades,
    graded_golds,
    json_judgements,
    keep_low_grades,
    parse_grade,
)
from pytest_rageval.authoring.interchange.values import (
    Imported,
    Ledger,
    Source,
    SourceFile,
    fault,
    keep_in_metadata,
    unfit,
)
from pytest_rageval.project.case_reader import case_fields
from pytest_rageval.support.text import shown
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.errors import DatasetError, Fault, faults_error
from pytest_rageval.values.lenient import texts

_ROOM: Final = "trec"
# None goes on past the next topic or tag: one without an end would be searched to the end of the
# file, again for each.
_TOP: Final = re.compile(
    r"<top(?:ic)?\b(?P<head>[^<>]*)>(?P<body>(?:[^<]|<(?!top(?:ic)?\b))*?)</top(?:ic)?\s*>",
    re.IGNORECASE,
)
_PART: Final = re.compile(r"<(?P<name>\w+)\b[^<>]*>(?P<text>[^<]*)")
_TAG: Final = re.compile(r"<[^<>\n]*>")
_NUMBER: Final = re.compile(r"\bnumber\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)
_LABEL: Final = re.compile(r"^\s*(?:Number|Topic|Description|Narrative)\s*:\s*", re.IGNORECASE)
_COMMENT: Final = re.compile(r"#(?!\S*\t)")
"""Start of a comment among topics, where ``#1<tab>question`` is a topic."""
_TOPIC: Final = re.compile(r"\S+\t[^\t]+")
"""Topic; a question such as ``2 plus 2`` makes the columns of qrels, but follows a single tab."""
_SCORE: Final = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,2})?"
_LIKE_RUN: Final = re.compile(
    rf"\S+\s+[qQ]?0\s+\S+\s+[-+]?\d{{1,18}}\s+{_SCORE}(?:\s.*)?", re.ASCII | re.DOTALL
)
"""First columns of a run; its tag may be missing or hold blanks."""
_JUDGED: Final = re.compile(rf"\S+\s+(?:[qQ]0|[-+]?\d{{1,18}})\s+\S+\s+{GRADE}\s*", re.ASCII)
"""Row of qrels."""
_SAID: Final = frozenset({"id", "question", "answerable", "gold_supports", "metadata"})
"""Fields of a case that are written, or reported by their values."""
_BREAKS: Final = re.compile(r"[\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")


def read(source: Source) -> Imported:
    """Read topics and qrels as cases, and runs as recorded retrievals, by file content.

    Raises:
        DatasetError: a line has another form, a topic or judgement contradicts an earlier one, or
            there are judgements without topics.
    """
    ledger = Ledger()
    topics: dict[str, _Topic] = {}
    judgements = Judgements(ledger, "qrels")
    runs: dict[str, list[tuple[float, str]]] = {}
    faults: list[Fault] = []
    kinds = [(_kind(file), file) for file in source.files]
    # Topics first: their ids tell a row of the topic #1 from a row that is commented out.
    for kind, file in sorted(kinds, key=lambda one: one[0] != "topics"):
        if kind == "topics":
            faults += _take_topics(file, topics, ledger)
        elif kind == "qrels":
            for number, query, document, grade in _qrels(file, topics, ledger):
                judgements.add(file, number, query, document, grade)
        else:
            for query, score, document in _run(file, topics, ledger):
                runs.setdefault(query, []).append((score, document))
    if faults := [*faults, *judgements.faults]:
        raise faults_error(faults)
    judged = judgements.grades
    names = ", ".join(file.name for file in source.files)
    if judged and not topics:
        raise fault(names, "no_topics")
    if runs and not judged:
        ledger.note(
            f"no qrels (4 columns: topic, iteration, document, grade) among {names}: a run of 6 "
            "columns is recorded retrieval, so no case has golds"
        )
    ids = UniqueIds()
    case_ids = {topic.id: ids.take(topic.id, topic.question) for topic in topics.values()}
    lines = [_line(t, case_ids[t.id], judged.pop(t.id, {}), ledger) for t in topics.values()]
    judgements.leave("there is no topic of this id")
    responses = [
        {"id": case_ids.get(query) or ids.take(query, query), "response": _response(hits)}
        for query, hits in runs.items()
    ]
    return ledger.close(cases=tuple(lines), responses=tuple(responses))


def _take_topics(file: SourceFile, topics: dict[str, _Topic], ledger: Ledger) -> Iterator[Fault]:
    """Add the topics of a file, and yield a fault for each whose id is taken."""
    for topic in _topics(file, ledger):
        first = topics.setdefault(topic.id, topic)
        if first is not topic:
            facts = {
                "found": shown(topic.id),
                "owner": f"the id of the topic at {first.file}:{first.line}",
            }
            yield Fault(code="duplicate", facts=facts, file=file.name, line=topic.line)


# --- reading ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Topic:
    id: str
    question: str
    more: Mapping[str, str]
    file: str
    line: int


def _is_object(line: str) -> bool:
    """Whether a line begins like a JSON object, and is no topic or row named ``{``."""
    return re.match(r'\{\s*(?:"|\}\s*$)', line) is not None


def _kind(file: SourceFile) -> str:
    if _TOP.search(file.text):
        return "topics"
    found = [(n, line) for n, line in enumerate(file.text.split("\n"), 1) if line.strip()]
    plain = (one for one in found if not one[1].startswith("#"))
    hashed = (one for one in found if _is_row(one[1]) or not _COMMENT.match(one[1]))
    number, first = next(plain, None) or next(hashed, (1, ""))
    if _is_object(first):
        return "qrels"
    if _TOPIC.fullmatch(first):
        return "topics"
    if _LIKE_RUN.fullmatch(first):
        if len(first.split()) != 6:
            raise _odd_run(file, number, first)
        return "run"
    if _JUDGED.fullmatch(first):
        return "qrels"
    if "\t" in first:
        return "topics"
    expected = "qrels (4 columns), a run (6 columns) or topics (id, tab, question)"
    raise unfit(file, first, expected, line=number)


def _is_row(line: str) -> bool:
    """Whether a line is one of qrels or of a run, also for a topic such as ``#1``."""
    is_run = len(line.split()) == 6 and _LIKE_RUN.fullmatch(line)
    return bool(is_run or _JUDGED.fullmatch(line))


def _odd_run(file: SourceFile, number: int, line: str) -> DatasetError:
    return fault(file.name, "odd_run", line=number, found=shown(line), n=len(line.split()))


def _topics(file: SourceFile, ledger: Ledger) -> Iterator[_Topic]:
    found = list(_TOP.finditer(file.text))
    at = 0
    for match in found:
        _refuse_text(file, at, match.start())
        yield _marked_topic(file, match)
        at = match.end()
    if found:
        _refuse_text(file, at, len(file.text))
    for number, line in enumerate([] if found else file.text.split("\n"), 1):
        line = line.removesuffix("\r")
        if not line.strip():
            continue
        if _COMMENT.match(line):
            ledger.leave("# lines", "a comment")
            continue
        if _LIKE_RUN.fullmatch(line) and not _TOPIC.fullmatch(line):
            raise _odd_run(file, number, line)
        name, _, question = line.partition("\t")
        # A third column makes it another table, such as the qrels of BEIR.
        if not name.strip() or not question.strip() or "\t" in question.strip():
            raise unfit(file, line, "an id, a tab and a question", line=number)
        yield _Topic(id=name, question=question, more={}, file=file.name, line=number)


def _refuse_text(file: SourceFile, start: int, end: int) -> None:
    """Refuse text between marked topics, which are those of another file."""
    between = _TAG.sub(lambda tag: " " * len(tag[0]), file.text[start:end])
    if text := between.strip():
        line = file.text.count("\n", 0, start + between.index(text)) + 1
        raise fault(file.name, "between_topics", line=line, found=shown(text))


def _marked_topic(file: SourceFile, match: re.Match[str]) -> _Topic:
    parts: dict[str, str] = {}
    for part in _PART.finditer(match["body"]):
        text = _LABEL.sub("", html.unescape(part["text"]))
        parts.setdefault(part["name"].lower(), " ".join(text.split()))
    number = _NUMBER.search(match["head"])
    name = number[1] if number else parts.pop("num", "")
    asked = next((key for key in ("question", "title", "query", "desc") if parts.get(key)), None)
    line = file.text.count("\n", 0, match.start()) + 1
    if not name or asked is None:
        raise unfit(file, match["body"], "a topic with a number and a title", line=line)
    question = parts.pop(asked)
    more = {key: text for key, text in parts.items() if text}
    return _Topic(id=name, question=question, more=more, file=file.name, line=line)


def _columns(
    file: SourceFile, n: int, expected: str, topics: Container[str], ledger: Ledger
) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(file.text.split("\n"), 1):
        words = line.split()
        if not words:
            continue
        if line.startswith("#") and not (_is_row(line) and words[0] in topics):
            ledger.leave("# lines", "a comment")
            continue
        if len(words) != n:
            raise unfit(file, line, expected, line=number)
        yield number, words


def _qrels(
    file: SourceFile, topics: Container[str], ledger: Ledger
) -> Iterator[tuple[int, str, str, int]]:
    if _is_object(file.text.lstrip().partition("\n")[0]):
        yield from json_judgements(file, ledger)
        return
    expected = "topic, iteration, document and grade"
    for number, (query, iteration, document, text) in _columns(file, 4, expected, topics, ledger):
        if (grade := parse_grade(text)) is None:
            raise unfit(file, text, "an integer as grade", line=number)
        if iteration not in {"0", "Q0"}:
            ledger.leave("qrels iteration", "no tool reads it")
        yield number, query, document, grade


def _run(
    file: SourceFile, topics: Container[str], ledger: Ledger
) -> Iterator[tuple[str, float, str]]:
    expected = "topic, Q0, document, rank, score and tag"
    for number, (query, _, document, _, score, _) in _columns(file, 6, expected, topics, ledger):
        if not re.fullmatch(_SCORE, score, re.ASCII):
            raise unfit(file, score, "a number as score", line=number)
        ledger.carry("run")
        yield query, float(score), document


def _line(topic: _Topic, case_id: str, grades: Mapping[str, int], ledger: Ledger) -> dict[str, Any]:
    line: dict[str, Any] = {"id": case_id, "question": topic.question}
    ledger.carry("topics")
    if golds := graded_golds(grades, anchor_fields):
        line["gold_supports"] = golds
    if case_id != topic.id:
        keep_in_metadata(line, _ROOM, "id", topic.id)
    keep_low_grades(line, _ROOM, grades, ledger, "qrels with a grade below 1")
    if odd := [name for name in grades if docno(Anchor(**anchor_fields(name))) != name]:
        keep_in_metadata(line, _ROOM, "docnos", odd)  # so that an export writes them again
    for name, text in topic.more.items():
        keep_in_metadata(line, _ROOM, name, text)
        ledger.keep(f"topics <{name}>")
    return line


def _response(hits: Iterable[tuple[float, str]]) -> dict[str, Any]:
    # trec_eval's order: by score, then document, both descending; it ignores the rank column.
    chunks = [
        {**anchor_fields(document), "rank": rank, "score_final": score}
        for rank, (score, document) in enumerate(sorted(hits, reverse=True), 1)
    ]
    return {"answer": "", "debug": {"retrieved_chunks": chunks}}


# --- writing cases ---------------------------------------------------------------------------


def write(cases: Sequence[Case]) -> tuple[dict[str, str], Imported]:
    """Return topics and qrels by file name, and the counts of every field."""
    ledger = Ledger()
    topics, rows = [], []
    for case in cases:
        question = _BREAKS.sub(" ", case.question)
        if question != case.question:
            ledger.leave("question", "line breaks and tabs became spaces")
        topics.append(f"{case.id}\t{question}\n")
        ledger.carry("case")
        grades = case_grades(case, _ROOM, _names_of(case))
        rows += [f"{case.id} 0 {name} {grade}\n" for name, grade in grades.items()]
        _leave_the_rest(case, ledger)
    return {"topics.tsv": "".join(topics), "qrels.txt": "".join(rows)}, ledger.close()


def _names_of(case: Case) -> Callable[[Anchor], str]:
    """Return the function that names a gold, as the qrels named it that the case came from."""
    kept = texts(case.metadata, _ROOM, "docnos")
    originals = {docno(Anchor(**anchor_fields(name))): name for name in kept}
    return lambda gold: originals.get(docno(gold)) or docno(gold)


def _leave_the_rest(case: Case, ledger: Ledger) -> None:
    if not case.answerable:
        ledger.leave("answerable: false", "a topic without judgements; TREC cannot say more")
    for anchor in case.gold_supports:
        for name in ("snippets", "pages", "vault"):
            if getattr(anchor, name):
                ledger.leave(f"gold_supports[].{name}", "no column holds it")
    for name in case_fields(case):
        if name not in _SAID:
            ledger.leave(name, "no column holds it")
    if case.metadata.keys() - {_ROOM}:
        ledger.leave("metadata", "no column holds it")
