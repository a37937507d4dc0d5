"""Conversion of fields with other tools' names to case fields, by a declared map.

For formats that are one object or row per case: tables, suites in JSON or YAML, and the rows of
other tools. A field that the map does not name is kept in metadata and counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from dataclasses import fields as fields_of
from typing import Any, Final

from pytest_rageval.authoring.interchange.cells import (
    has_no_text,
    looks_like_document,
    parse_answers,
    parse_list,
    parse_names,
    parse_object,
    parse_texts,
    snake,
)
from pytest_rageval.authoring.interchange.chats import (
    keep_history,
    read_chat,
    read_messages,
    take_history,
)
from pytest_rageval.authoring.interchange.ids import clean_label
from pytest_rageval.authoring.interchange.values import Ledger, is_missing, keep_in_metadata
from pytest_rageval.project.case_fields import ALIASES, ANCHOR_COLUMNS
from pytest_rageval.support.reading import Unfit
from pytest_rageval.support.text import counted, shown
from pytest_rageval.values.case import Anchor

# A spreadsheet writes true and false in its own language.
_YES: Final = frozenset(
    "true yes y 1 t wahr ja vrai oui verdadero sí si vero sì verdadeiro sim waar".split()
)
_NO: Final = frozenset("false no n 0 f falsch nein faux non falso não onwaar nee".split())
_INSIDE: Final = re.compile(r"\.[a-z]\w*#", re.IGNORECASE)
"""Part of a document after its suffix, unlike the name in ``C# guide.md``."""
_ORIGINS: Final = frozenset({"source", "sources", "references", "document"})
"""Names of columns of documents, or of the set that a row is from."""
_PAGE: Final = re.compile(r"page=0*([1-9]\d{0,8})", re.ASCII)
_SAID_BY: Final = {"question": "user", "expected_answer": "assistant"}
"""Role whose message in a chat is the value of a field."""


class BadFieldError(ValueError):
    """Invalid values of a case, by field of the source."""

    def __init__(self, faults: Mapping[str, Unfit]) -> None:
        super().__init__(", ".join(faults))
        self.faults = faults


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldMap:
    """Declares how the fields of a format become those of a case."""

    room: str
    """Key in metadata for the fields that have no place in a case."""
    names: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: ALIASES)
    """Their names by our field, in the order of reading; the first one present is used."""
    anchors: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: ANCHOR_COLUMNS)
    """Their names by part of the one gold that some columns define together."""
    left: Mapping[str, str] = field(default_factory=dict)
    """Reason by field that is left out."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Header by our field, before all names; ``inputs.question`` is inside an object."""


def read_fields(given: Mapping[str, Any], ledger: Ledger, form: FieldMap) -> dict[str, Any]:
    """Return the fields of a case line from an object or row, without a valid id.

    Args:
        given: values by field name or header; null and blank ones are absent.
        ledger: counts how every field was handled.
        form: of the source.

    Raises:
        BadFieldError: with every value that cannot be read.
    """
    row = _Row(ledger.full(lifted(given, form.columns.values())), ledger, form)
    faults: dict[str, Unfit] = {}
    for ours in form.names:
        name = row.name_of(ours)
        if name is None:
            continue
        try:
            row.take(ours, name)
        except Unfit as error:
            faults[name] = error
    if not faults:
        row.take_anchor_columns()
        unused = Unfit("", code="unused_column")
        faults = {name: unused for name in form.columns.values() if name in row.rest}
    if faults:
        raise BadFieldError(faults)
    ledger.leave_values(row.rest, form.left)
    take_history(row.rest, row.line, ledger)
    ledger.keep_values(row.line, form.room, row.rest)
    return row.line


def lifted(given: Mapping[str, Any], paths: Iterable[str]) -> dict[str, Any]:
    """Return values with those inside an object beside it, under their path.

    >>> lifted({"inputs": {"question": "When?", "user": 1}}, ["inputs.question"])
    {'inputs.question': 'When?', 'inputs': {'user': 1}}
    """
    found = dict(given)
    for path in paths:
        outer, _, name = path.partition(".")
        inside = parse_object(found.get(outer))
        if path in found or not isinstance(inside, dict):
            continue
        inside = lifted(inside, [name])
        if name in inside:
            del found[outer]
            found[path] = inside.pop(name)
            found |= {outer: inside} if inside else {}
    return found


def parse_anchor(text: str) -> dict[str, Any]:
    """Parse a gold written as ``path#Heading > Sub``; without ``#``, the whole document.

    >>> parse_anchor("notes/setup.md#Setup > Install")
    {'rel_path': 'notes/setup.md', 'heading_path': 'Setup > Install'}
    >>> parse_anchor("notes/setup.md## Setup > ## Install")
    {'rel_path': 'notes/setup.md', 'heading_path': '# Setup > ## Install'}
    >>> parse_anchor("manual.pdf#page=12")
    {'rel_path': 'manual.pdf', 'pages': [12]}
    >>> parse_anchor("C# guide.md#Types")
    {'rel_path': 'C# guide.md', 'heading_path': 'Types'}
    """
    inside = _INSIDE.search(text)
    start = inside.end() - 1 if inside else 0
    path, _, heading = text[start:].partition("#")
    found: dict[str, Any] = {"rel_path": (text[:start] + path).strip()}
    if page := _PAGE.fullmatch(heading.strip()):  # the fragment of a link to a page of a PDF
        found["pages"] = [int(page[1])]
    elif heading.strip():
        found["heading_path"] = heading.strip()
    return found


def take_answers(value: Any, ledger: Ledger) -> dict[str, Any]:
    """Return the fields of a case for its accepted answers, or for the statement that none is."""
    found, is_absent = parse_answers(value)
    if not is_absent:
        return {} if found is None else {"expected_answer": found}
    ledger.note(
        f"an expected answer such as {shown(value)} says that there is no answer: its case is "
        "unanswerable"
    )
    return {"answerable": False}


class _Row:
    """One row, its case line so far, and the fields that are not yet used."""

    def __init__(self, rest: dict[str, Any], ledger: Ledger, form: FieldMap) -> None:
        self.rest = rest
        self.line: dict[str, Any] = {}
        self._ledger, self._form = ledger, form

    def name_of(self, ours: str) -> str | None:
        """Return the name under which the row has a field; None: it has not."""
        columns = self._form.columns
        if ours in columns:
            return _first(self.rest, (columns[ours],))
        # A column that is named for one field is not an alias of another.
        free = self.rest.keys() - columns.values() if columns else self.rest
        name = _first([one for one in self.rest if one in free], self._form.names[ours])
        # The exact name of one of our fields is not used as an alias of another.
        if name is None or (name != ours and name in self._form.names):
            return None
        is_guess = ours == "gold_supports" and self._form.names is ALIASES
        if is_guess and (
            not ANCHOR_COLUMNS.keys().isdisjoint(columns) or not _names_documents(self.rest[name])
        ):
            return None
        return name

    def take(self, ours: str, name: str) -> None:
        """Convert a value to a field of the case.

        Raises:
            Unfit: what came and what was expected.
        """
        value, line = self.rest.pop(name), self.line
        if ours in _SAID_BY:
            value = self._said(value, name, ours)
        if ours == "expected_answer":
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, bool | list) or (isinstance(one, dict) and has_no_text(one)):
                    raise Unfit("a text, or a list of texts", shown(value))
            line |= take_answers(value, self._ledger)
        elif ours in {"gold_supports", "irrelevant_supports"}:
            line[ours] = self._anchors(value, name)
        elif ours == "category":
            text = _text(value)
            line[ours] = clean_label(text, blank="_") or "general"
            if line[ours] != text:
                keep_in_metadata(line, self._form.room, name, text)
        elif ours == "metadata":
            line[ours] = {**_metadata(value), **line.get(ours, {})}
        else:
            read: Callable[[Any], Any] = _READERS.get(ours, _plain)
            line[ours] = read(value)
        self._ledger.carry(name)

    def _said(self, value: Any, name: str, ours: str) -> Any:
        """Return the text that a chat ends with; a value that is not a chat as it is."""
        is_question, ledger = ours == "question", self._ledger
        messages = read_messages(value) if is_question or not isinstance(value, str) else None
        if messages is None:
            found = parse_object(value) if is_question else value
            if isinstance(found, dict) and (is_question or has_no_text(found)):
                key = next((key for key, text in found.items() if isinstance(text, str)), "KEY")
                hint = f"name the one inside with --column {ours}={name}.{key}"
                raise Unfit(f"a text; {hint}", shown(found))
            return value
        if messages[-1]["role"] != _SAID_BY[ours]:
            came = f"a chat of {counted(len(messages), 'message')}"
            raise Unfit(f"one of role {_SAID_BY[ours]} at its end", came)
        n_left = len(messages) - 1
        if is_question and (chat := read_chat(messages)):
            keep_history(self.line, chat.before, f"{name}[]", ledger)
            n_left = chat.n_others
        if n_left:
            ledger.leave(f"{name}[]", "another message of the chat", n_left)
        return messages[-1]["content"]

    def _anchors(self, value: Any, name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for item in parse_names(value):
            is_name = isinstance(item, str | int | float) and not isinstance(item, bool)
            anchor = parse_anchor(_name(item)) if is_name else self._anchor(item, name)
            if anchor not in found:
                found.append(anchor)
            else:
                self._ledger.leave(f"{name}[]", "is repeated in its case")
        self._note_odd(found, name)
        return found

    def _anchor(self, item: Any, name: str) -> dict[str, Any]:
        if not isinstance(item, dict):
            raise Unfit("an anchor such as 'a.md#Heading'", shown(item))
        known = {one.name for one in fields_of(Anchor)}
        anchor = {key: value for key, value in item.items() if key in known and value is not None}
        for key in ("path", "file", "source"):
            if "rel_path" not in anchor and isinstance(item.get(key), str):
                anchor["rel_path"] = item[key]
                known.add(key)
        for key in item.keys() - known:
            self._ledger.leave(f"{name}[].{key}", "an anchor has no such field")
        if "rel_path" not in anchor:
            raise Unfit("an anchor with rel_path", shown(item))
        return anchor

    def take_anchor_columns(self) -> None:
        """Take the golds that the columns of a table define together, unless there are others."""
        rest, columns = self.rest, self._form.columns
        names = {
            part: _first(rest, (columns[part],) if part in columns else aliases)
            for part, aliases in self._form.anchors.items()
        }
        path, heading = names.get("rel_path"), names.get("heading_path")
        if path is None or self.line.get("gold_supports"):
            return
        types = (str, int, float) if path in columns.values() else (str,)
        given = [_name(one) for one in parse_names(rest[path]) if type(one) in types]
        golds: list[dict[str, Any]] = [
            parse_anchor(one) if _INSIDE.search(one) else {"rel_path": one}
            for one in dict.fromkeys(given)
        ]
        if not golds:
            return
        self.line["gold_supports"] = golds
        used = [path]
        self._note_odd(golds, path)
        if not golds[1:]:  # no column says which of several a heading, snippet or page is of
            anchor = golds[0]
            if heading is not None and isinstance(rest[heading], str):
                anchor["heading_path"] = rest[heading]
                used.append(heading)
            if (snippet := names["snippet"]) is not None:
                anchor["snippets"] = parse_texts(rest[snippet])
                used.append(snippet)
            if (column := names["pages"]) is not None:
                # A data frame with an empty cell in the column writes 12 as 12.0.
                pages = [str(item).strip().removesuffix(".0") for item in parse_list(rest[column])]
                if all(re.fullmatch(r"\d{1,9}", page) and int(page) for page in pages):
                    anchor["pages"] = [int(page) for page in pages]
                    used.append(column)
        for name in used:
            del rest[name]
            self._ledger.carry(name)

    def _note_odd(self, golds: Iterable[Mapping[str, Any]], name: str) -> None:
        """Note golds of a column whose name may mean the origin of a row, and that look like it."""
        odd = (gold["rel_path"] for gold in golds if not looks_like_document(gold["rel_path"]))
        if snake(name) in _ORIGINS and (first := next(odd, None)) is not None:
            self._ledger.note(
                f"golds such as {shown(first)} in {name} look like no document: a case whose gold "
                "the target never reports is missed; remove the column if it says where the rows "
                "are from"
            )


def _first(given: Collection[str], names: Iterable[str]) -> str | None:
    folded = {snake(name): name for name in given}
    for name in names:
        if name in given:
            return name
        if (found := folded.get(name.casefold())) is not None:
            return found
    return None


def _names_documents(value: Any) -> bool:
    """Whether a value contains anchors, and not just texts in a field such as ``references``."""
    return all(
        isinstance(item, dict) or (isinstance(item, str) and len(item) < 300)
        for item in parse_names(value)
    )


def _name(item: Any) -> str:
    """Return the name of a document; a data frame writes the id 12 as 12.0."""
    return str(item).removesuffix(".0") if isinstance(item, float) else str(item)


# --- readers of single fields ----------------------------------------------------------------


def _text(value: Any) -> str:
    if isinstance(value, bool | dict | list):
        raise Unfit("a text", shown(value))
    return str(value)


def _plain(value: Any) -> str:
    return _text(value).strip()


def _groups(value: Any) -> Any:
    return parse_list(value) if isinstance(value, str) else value


def _flag(value: Any) -> bool:
    word = str(value).strip().casefold()
    if word in _YES or word in _NO:
        return word in _YES
    raise Unfit("true or false", shown(value))


def _difficulty(value: Any) -> str:
    word = _plain(value).casefold()
    if word not in {"easy", "medium", "hard"}:
        raise Unfit("easy, medium or hard", shown(value))
    return word


def _tags(value: Any) -> list[str]:
    tags = (clean_label(_text(item), blank="_") for item in _items(value, "[,;|]"))
    return list(dict.fromkeys(filter(None, tags)))


def _texts(value: Any) -> list[str]:
    return list(map(_text, _items(value, r"[\n|]")))


def _facts(value: Any) -> list[Any]:
    """Return texts, and the objects of our own format as they are."""
    items = _items(value, r"[\n|]")
    return [one if isinstance(one, dict) and "text" in one else _text(one) for one in items]


def _items(value: Any, between: str) -> list[Any]:
    items = parse_list(value)
    if isinstance(value, str) and items == [value]:  # no list, whose one text may hold a bar
        items = [part.strip() for part in re.split(between, value)]
    return [item for item in items if not is_missing(item)]


def _count(value: Any) -> int:
    try:
        number = float(value)
        if number.is_integer() and number >= 1 and not isinstance(value, bool):
            return int(number)
    except (TypeError, ValueError, OverflowError):
        pass
    raise Unfit("an integer of at least 1", shown(value))


def _metadata(value: Any) -> dict[str, Any]:
    found = parse_object(value)
    if not isinstance(found, dict):
        raise Unfit("an object", shown(value))
    return found


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "question": _text,
    "expected_key_facts": _facts,
    "answer_rules": _groups,
    "required_support_groups": _groups,
    "answerable": _flag,
    "difficulty": _difficulty,
    "tags": _tags,
    "vaults": _texts,
    "folders": _texts,
    "k": _count,
    "required": _flag,
    "notes": _text,
}
"""Readers by field; any other field is a text without blanks around it."""
