"""Conversion of fields with other tools' names to case fields.

For formats that are one object or row per case: tables, and suites in JSON or YAML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields as fields_of
from typing import Any, Final

from pytest_rageval.authoring.interchange.ids import clean_label
from pytest_rageval.authoring.interchange.parsing import parse_list, parse_object
from pytest_rageval.authoring.interchange.values import Ledger, keep_in_metadata
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
        named = columns.get(field)
        name = _first(rest, (named,) if named else aliases)
        # The exact name of one of our fields is not used as an alias of another.
        if name is None or (name != field and name in ALIASES and not named):
            continue
        if field == "gold_supports" and not _names_documents(rest[name]):
            continue
        value = rest.pop(name)
        reader: _Reader = _READERS.get(field, _plain)
        try:
            if field in _SAID_BY:
                value = _said(value, name, field, ledger)
            found = reader(value, name, ledger, line, room)
        except BadFieldError as error:
            faults.append(error)
            continue
        line[field] = {**found, **line.get(field, {})} if field == "metadata" else found
        ledger.carry(name)
    if faults:
        raise BadFieldError(faults[0].name, str(faults[0]), faults[1:])
    _take_anchor_columns(rest, line, ledger, columns)
    ledger.keep_values(line, room, rest)
    return line


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


def as_field(header: str) -> str:
    """Return a header as fields are written: ``Is answerable?`` is ``is_answerable``."""
    return header.strip(" ?:").casefold().replace(" ", "_").replace("-", "_")


def _first(given: Mapping[str, Any], names: tuple[str | None, ...]) -> str | None:
    folded = {as_field(name): name for name in given}
    for name in filter(None, names):
        if name in given:
            return name
        if (found := folded.get(name.casefold())) is not None:
            return found
    return None


# --- readers of single fields ----------------------------------------------------------------

_SAID_BY: Final = {"question": "user", "expected_answer": "assistant"}
"""Role whose message in a chat is the value of a field."""


def _said(value: Any, name: str, field: str, ledger: Ledger) -> Any:
    """Return the text that a chat ends with; a value that is not a chat as it is."""
    found = parse_object(value) if field == "question" else value
    chat = [found] if isinstance(found, dict) else found
    if not isinstance(chat, list) or not chat or not all(isinstance(one, dict) for one in chat):
        return value
    if not isinstance(chat[-1].get("content"), str):
        if not isinstance(found, dict):
            return value
        key = next((key for key, inside in found.items() if isinstance(inside, str)), "KEY")
        hint = f"expected a text; name the one inside with --column {field}={name}.{key}"
        raise BadFieldError(name, f"{shown(found)}, {hint}")
    said = [one for one in chat if one.get("role") == _SAID_BY[field]]
    if said[-1:] != chat[-1:] or (field == "question" and said[1:]):
        message = (
            f"a chat of {counted(len(chat), 'message')}, expected one of role {_SAID_BY[field]}"
        )
        raise BadFieldError(name, f"{message} at its end{' alone' if field == 'question' else ''}")
    if chat[1:]:
        ledger.leave(f"{name}[]", "another message of the chat", len(chat) - 1)
    return chat[-1]["content"]


_Reader = Callable[[Any, str, Ledger, dict[str, Any], str], Any]


def _text(value: Any, name: str, *_: Any) -> str:
    if isinstance(value, bool | dict | list):
        raise BadFieldError(name, f"{shown(value)}, expected a text")
    return str(value)


def _answer(value: Any, name: str, ledger: Ledger, line: dict[str, Any], room: str) -> str:
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        if len(value) > 1:
            keep_in_metadata(line, room, f"more_{name}", value[1:])
            ledger.keep(f"{name}[1:]", len(value) - 1)
        return str(value[0])
    return _text(value, name)


def _anchors(
    value: Any, name: str, ledger: Ledger, line: dict[str, Any], room: str
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for item in _items(value):
        anchor = parse_anchor(item) if isinstance(item, str) else _anchor(item, name, ledger)
        if anchor not in found:
            found.append(anchor)
        else:
            ledger.leave(f"{name}[]", "stands twice in its case")
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
    return [item for item in items if item is not None and str(item).strip()]


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
        for item in _items(value)
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
    given = [] if path is None else [one for one in _items(rest[path]) if isinstance(one, str)]
    if path is None or not given:
        return
    del rest[path]
    ledger.carry(path)
    golds: list[dict[str, Any]] = [
        parse_anchor(one) if _INSIDE.search(one) else {"rel_path": one}
        for one in dict.fromkeys(given)
    ]
    line["gold_supports"] = golds
    if golds[1:]:  # of which one a heading, a snippet or a page is, no column says
        return
    (anchor,) = golds
    if heading is not None and isinstance(rest[heading], str):
        anchor["heading_path"] = rest.pop(heading)
        ledger.carry(heading)
    if snippet is not None:
        anchor["snippets"] = [str(item) for item in parse_list(rest.pop(snippet))]
        ledger.carry(snippet)
    if (column := names["pages"]) is not None:
        # A data frame with an empty cell in the column writes 12 as 12.0.
        pages = [str(item).strip().removesuffix(".0") for item in parse_list(rest[column])]
        if all(re.fullmatch(r"\d{1,9}", page) and int(page) for page in pages):
            anchor["pages"] = [int(page) for page in pages]
            del rest[column]
            ledger.carry(column)
