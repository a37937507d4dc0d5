"""Conversion of fields with other tools' names to case fields.

For formats that are one object or row per case: tables, and suites in JSON or YAML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
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
from pytest_rageval.project.field_names import ALIASES, ANCHOR_COLUMNS
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
_UNUSED: Final = (
    "named with --column, but nothing can be made of it: the case has other golds, several, or no "
    "document"
)
_PAGE: Final = re.compile(r"page=0*([1-9]\d{0,8})", re.ASCII)


class BadFieldError(ValueError):
    """An invalid value of a field.

    Args:
        name: of the field in its source.
        message: what came and what was expected.
        others: errors of other fields of the same case.
    """

    def __init__(self, name: str, message: str, others: Iterable[BadFieldError] = ()) -> None:
        super().__init__(message)
        self.name = name
        self.all = (self, *others)


def read_fields(
    given: Mapping[str, Any], ledger: Ledger, *, room: str, columns: Mapping[str, str]
) -> dict[str, Any]:
    """Return the fields of a case line from an object or row, without id.

    Args:
        given: values by field name or header; null and blank ones are absent.
        ledger: counts how every field was handled.
        room: key in metadata for the remaining fields.
        columns: header by case field, before all aliases; ``inputs.question`` is inside an object.

    Raises:
        BadFieldError: with every value that cannot be read.
    """
    rest = ledger.full(lifted(given, columns.values()))
    line: dict[str, Any] = {}
    faults: list[BadFieldError] = []
    for field, aliases in ALIASES.items():
        name = _column_of(field, aliases, rest, columns)
        if name is None:
            continue
        value = rest.pop(name)
        reader: _Reader = _READERS.get(field, _plain)
        try:
            if field in _SAID_BY:
                value = _said(value, name, field, ledger, line)
            found = reader(value, name, ledger, line, room)
        except BadFieldError as error:
            faults.append(error)
            continue
        if field == "metadata":
            found = {**found, **line.get(field, {})}
        if found is not None:
            line[field] = found
        ledger.carry(name)
    if not faults:
        _take_anchor_columns(rest, line, ledger, columns)
        faults = [BadFieldError(name, _UNUSED) for name in columns.values() if name in rest]
    if faults:
        raise BadFieldError(faults[0].name, str(faults[0]), faults[1:])
    take_history(rest, line, ledger)
    ledger.keep_values(line, room, rest)
    return line


def _column_of(
    field: str, aliases: tuple[str, ...], rest: Mapping[str, Any], columns: Mapping[str, str]
) -> str | None:
    """Return the name under which a row has a field; None: it has not."""
    if field in columns:
        return _first(rest, (columns[field],))
    # A column that is named for one field is not an alias of another.
    named = columns.values()
    name = _first([one for one in rest if one not in named] if named else rest, aliases)
    # The exact name of one of our fields is not used as an alias of another.
    if name is None or (name != field and name in ALIASES):
        return None
    if field == "gold_supports":
        is_named = not ANCHOR_COLUMNS.keys().isdisjoint(columns)
        return None if is_named or not _names_documents(rest[name]) else name
    return name


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
    path, mark, heading = text[start:].partition("#")
    path = text[:start] + path
    found: dict[str, Any] = {"rel_path": path.strip()}
    if page := _PAGE.fullmatch(heading.strip()):  # the fragment of a link to a page of a PDF
        found["pages"] = [int(page[1])]
    elif mark and heading.strip():
        found["heading_path"] = heading.strip()
    return found


def _first(given: Collection[str], names: tuple[str | None, ...]) -> str | None:
    folded = {snake(name): name for name in given}
    for name in filter(None, names):
        if name in given:
            return name
        if (found := folded.get(name.casefold())) is not None:
            return found
    return None


# --- readers of single fields ----------------------------------------------------------------

_SAID_BY: Final = {"question": "user", "expected_answer": "assistant"}
"""Role whose message in a chat is the value of a field."""


def _said(value: Any, name: str, field: str, ledger: Ledger, line: dict[str, Any]) -> Any:
    """Return the text that a chat ends with; a value that is not a chat as it is."""
    messages = read_messages(value) if field == "question" or not isinstance(value, str) else None
    if messages is None:
        return _text_inside(value, name, field)
    if messages[-1]["role"] != _SAID_BY[field]:
        message = f"a chat of {counted(len(messages), 'message')}, expected one of role"
        raise BadFieldError(name, f"{message} {_SAID_BY[field]} at its end")
    n_left = len(messages) - 1
    if field == "question" and (chat := read_chat(messages)):
        keep_history(line, chat.before, f"{name}[]", ledger)
        n_left = chat.n_others
    if n_left:
        ledger.leave(f"{name}[]", "another message of the chat", n_left)
    return messages[-1]["content"]


def _text_inside(value: Any, name: str, field: str) -> Any:
    found = parse_object(value) if field == "question" else value
    if isinstance(found, dict) and (field == "question" or has_no_text(found)):
        key = next((key for key, inside in found.items() if isinstance(inside, str)), "KEY")
        hint = f"expected a text; name the one inside with --column {field}={name}.{key}"
        raise BadFieldError(name, f"{shown(found)}, {hint}")
    return value


_Reader = Callable[[Any, str, Ledger, dict[str, Any], str], Any]


def _text(value: Any, name: str, *_: Any) -> str:
    if isinstance(value, bool | dict | list):
        raise BadFieldError(name, f"{shown(value)}, expected a text")
    return str(value)


def _answer(value: Any, name: str, ledger: Ledger, line: dict[str, Any], *_: Any) -> Any:
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, bool | list) or (isinstance(one, dict) and has_no_text(one)):
            raise BadFieldError(name, f"{shown(value)}, expected a text, or a list of texts")
    line |= take_answers(value, ledger)
    return line.get("expected_answer")


def take_answers(value: Any, ledger: Ledger) -> dict[str, Any]:
    """Return the fields of a case for its accepted answers, or for the statement that none is."""
    found, is_absent = parse_answers(value)
    if not is_absent:
        return {} if found is None else {"expected_answer": found}
    ledger.note(
        f"an expected answer such as {shown(value)} says that there is none: its case is "
        "unanswerable"
    )
    return {"answerable": False}


def _anchors(
    value: Any, name: str, ledger: Ledger, line: dict[str, Any], room: str
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for item in parse_names(value):
        is_name = isinstance(item, str | int | float) and not isinstance(item, bool)
        anchor = parse_anchor(_name(item)) if is_name else _anchor(item, name, ledger)
        if anchor not in found:
            found.append(anchor)
        else:
            ledger.leave(f"{name}[]", "stands twice in its case")
    _note_odd_golds(found, name, ledger)
    return found


def _anchor(item: Any, name: str, ledger: Ledger) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise BadFieldError(name, f"{shown(item)}, expected an anchor such as 'a.md#Heading'")
    known = {one.name for one in fields_of(Anchor)}
    anchor = {key: value for key, value in item.items() if key in known and value is not None}
    for key in ("path", "file", "source"):
        if "rel_path" not in anchor and isinstance(item.get(key), str):
            anchor["rel_path"] = item[key]
            known.add(key)
    for key in item.keys() - known:
        ledger.leave(f"{name}[].{key}", "an anchor has no such field")
    if "rel_path" not in anchor:
        raise BadFieldError(name, f"{shown(item)}, expected an anchor with rel_path")
    return anchor


def _groups(value: Any, *_: Any) -> Any:
    return parse_list(value) if isinstance(value, str) else value


def _flag(value: Any, name: str, *_: Any) -> bool:
    word = str(value).strip().casefold()
    if word in _YES or word in _NO:
        return word in _YES
    raise BadFieldError(name, f"{shown(value)}, expected true or false")


def _label(value: Any, name: str, ledger: Ledger, line: dict[str, Any], room: str) -> str:
    text = _text(value, name)
    cleaned = clean_label(text, blank="_") or "general"
    if cleaned != text:
        keep_in_metadata(line, room, name, text)
    return cleaned


def _difficulty(value: Any, name: str, *_: Any) -> str:
    word = _text(value, name).strip().casefold()
    if word not in {"easy", "medium", "hard"}:
        raise BadFieldError(name, f"{shown(value)}, expected easy, medium or hard")
    return word


def _tags(value: Any, name: str, *_: Any) -> list[str]:
    tags = (clean_label(_text(item, name), blank="_") for item in _items(value, "[,;|]"))
    return list(dict.fromkeys(filter(None, tags)))


def _texts(value: Any, name: str, *_: Any) -> list[str]:
    return [_text(item, name) for item in _items(value)]


def _count(value: Any, name: str, *_: Any) -> int:
    try:
        number = float(value)
        if number.is_integer() and number >= 1 and not isinstance(value, bool):
            return int(number)
    except (TypeError, ValueError, OverflowError):
        pass
    raise BadFieldError(name, f"{shown(value)}, expected an integer of at least 1")


def _metadata(value: Any, name: str, *_: Any) -> dict[str, Any]:
    found = parse_object(value)
    if not isinstance(found, dict):
        raise BadFieldError(name, f"{shown(value)}, expected an object")
    return dict(found)


def _items(value: Any, between: str = r"[\n|]") -> list[Any]:
    items = parse_list(value)
    if isinstance(value, str) and items == [value]:  # no list, whose one text may hold a bar
        items = [part.strip() for part in re.split(between, value)]
    return [item for item in items if not is_missing(item)]


def _name(item: Any) -> str:
    """Return the name of a document; a data frame writes the id 12 as 12.0."""
    return str(item).removesuffix(".0") if isinstance(item, float) else str(item)


def _plain(value: Any, name: str, *_: Any) -> str:
    return _text(value, name).strip()


_READERS: Final[Mapping[str, _Reader]] = {
    "question": _text,
    "expected_answer": _answer,
    "expected_key_facts": _texts,
    "gold_supports": _anchors,
    "irrelevant_supports": _anchors,
    "answer_rules": _groups,
    "required_support_groups": _groups,
    "answerable": _flag,
    "category": _label,
    "difficulty": _difficulty,
    "tags": _tags,
    "vaults": _texts,
    "folders": _texts,
    "k": _count,
    "required": _flag,
    "notes": _text,
    "metadata": _metadata,
}
"""Readers by field; any other field is a text without blanks around it."""


def _names_documents(value: Any) -> bool:
    """Whether a value contains anchors, and not just texts in a field such as ``references``."""
    return all(
        isinstance(item, dict) or (isinstance(item, str) and len(item) < 300)
        for item in parse_names(value)
    )


def _note_odd_golds(golds: Iterable[Mapping[str, Any]], name: str, ledger: Ledger) -> None:
    """Note golds of a column whose name may mean the origin of a row, and that look like that."""
    odd = (gold["rel_path"] for gold in golds if not looks_like_document(gold["rel_path"]))
    if snake(name) in _ORIGINS and (first := next(odd, None)) is not None:
        ledger.note(
            f"golds such as {shown(first)} in {name} look like no document: a case whose gold the "
            "target never reports is missed; remove the column if it says where the rows are from"
        )


def _take_anchor_columns(
    rest: dict[str, Any], line: dict[str, Any], ledger: Ledger, columns: Mapping[str, str]
) -> None:
    if line.get("gold_supports"):
        return
    names = {
        part: _first(rest, (columns[part],) if part in columns else aliases)
        for part, aliases in ANCHOR_COLUMNS.items()
    }
    path, heading, snippet = names["rel_path"], names["heading_path"], names["snippet"]
    types = (str, int, float) if path in columns.values() else (str,)
    items = [] if path is None else parse_names(rest[path])
    given = [_name(one) for one in items if type(one) in types]
    if path is None or not given:
        return
    del rest[path]
    ledger.carry(path)
    golds: list[dict[str, Any]] = [
        parse_anchor(one) if _INSIDE.search(one) else {"rel_path": one}
        for one in dict.fromkeys(given)
    ]
    line["gold_supports"] = golds
    _note_odd_golds(golds, path, ledger)
    if golds[1:]:  # of which one a heading, a snippet or a page is, no column says
        return
    (anchor,) = golds
    if heading is not None and isinstance(rest[heading], str):
        anchor["heading_path"] = rest.pop(heading)
        ledger.carry(heading)
    if snippet is not None:
        anchor["snippets"] = parse_texts(rest.pop(snippet))
        ledger.carry(snippet)
    if (column := names["pages"]) is not None:
        # A data frame with an empty cell in the column writes 12 as 12.0.
        pages = [str(item).strip().removesuffix(".0") for item in parse_list(rest[column])]
        if all(re.fullmatch(r"\d{1,9}", page) and int(page) for page in pages):
            anchor["pages"] = [int(page) for page in pages]
            del rest[column]
            ledger.carry(column)
