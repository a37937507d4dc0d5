"""Values of single fields and cells as other tools write them, read alike for every format. Pure.

Libraries for data frames print what a cell cannot hold: missing values as ``nan``, arrays and lists
as their Python source. Sets have marks of their own for questions without an answer, and for items
that are no longer in use.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from pytest_rageval.authoring.interchange.values import is_missing, json_text, tidy

_QUOTED: Final = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_PRINTED: Final = re.compile(r"\s*(?:[A-Za-z_][\w.]*\()*[\[({]")
_PART: Final = re.compile(rf"({_QUOTED}|[\w.]+|[\])}}]|<NA>)(\s+(?=[\w'\"(\[{{<]))?", re.DOTALL)
"""Part of a printed value; a gap before the next one stands where NumPy writes no comma."""
_ARRAY: Final = re.compile(r"<\w+>\s*(\[.*\])\s*Length: \d+, dtype: \S+", re.DOTALL)
_SERIES: Final = re.compile(r"(?:\d++ {2,}+.*+\n)++(?:Name: .*, )?(?:Length: \d+, )?dtype: \S+")
"""Forms of an extension array and of a series of pandas."""
_CONSTANTS: Final = {"null": None, "true": True, "false": False, "inf": None}
_TEXTS: Final = ("page_content", "text", "content", "passage", "chunk", "value")
"""Names of the text in an object that stands for a passage or an answer."""
_DOCUMENT: Final = re.compile(r"\s*(?:[^\s#]+/|[^#]*\.[a-z]\w{0,4}\s*(?:#|$))", re.IGNORECASE)
"""Beginning of a name that looks like a document: a path, or a name with a suffix."""
_ANSWERS: Final = ("text", "value", "aliases")
"""Names of the answers in an object that stands for all of them."""
_NOT_A_LETTER: Final = re.compile(r"[\W_]+")
_NO_ANSWER: Final = frozenset(
    "noanswerpresent noanswer noansweravailable noanswerfound cannotanswer cantanswer unanswerable "
    "notanswerable insufficientinformation idontknow idonotknow".split()
)
"""Letters of the answers by which sets say that a question has no answer."""
_IN_USE: Final[Mapping[str, bool]] = {
    "archived": False, "is_archived": False, "archived_at": False, "deleted": False,
    "is_deleted": False, "deleted_at": False, "disabled": False, "is_disabled": False,
    "discarded": False, "active": True, "is_active": True, "enabled": True, "is_enabled": True,
}  # fmt: skip
"""Flags of an item, and their value while it is in use."""
_STATES: Final = ("status", "state", "approval_status", "item_status")
_OUT_OF_USE: Final = frozenset(
    "archived deleted discarded disabled inactive rejected removed retired".split()
)
_OFF: Final = frozenset("false no n 0 0.0".split())
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=4096)  # the names of all rows are the same
def snake(name: str) -> str:
    """Return a name as fields are written: ``Is answerable?`` and ``isAnswerable`` alike."""
    words = re.sub(r"[\s-]", "_", name.strip(" ?:"))
    return _CAMEL.sub("_", words).casefold()


def parse_list(value: Any) -> list[Any]:
    """Return the items of a list, also of one printed in a text, without missing ones.

    Another value is one item.

    >>> parse_list("array(['a', 'b'], dtype=object)")
    ['a', 'b']
    """
    found = _printed(value) if isinstance(value, str) else value
    items = found if isinstance(found, list | tuple) else [value]
    return [item for item in items if not is_missing(item)]


def parse_object(value: Any) -> Any:
    """Return an object or a list that a text contains; any other value is itself.

    >>> parse_object("{'a': 1}")
    {'a': 1}
    """
    found = _printed(value) if isinstance(value, str) else None
    return found if isinstance(found, dict | list) else value


def parse_texts(value: Any) -> list[str]:
    """Return the texts of a list; an object is the text in it, such as that of a passage."""
    return [text_of(item) for item in parse_list(value)]


def has_no_text(value: Mapping[str, Any]) -> bool:
    """Whether an object has none of the texts that stand for a passage or for answers."""
    return not any(name in value for name in (*_TEXTS, *_ANSWERS))


def looks_like_document(name: str) -> bool:
    """Whether a name is a path, or has a suffix."""
    return _DOCUMENT.match(name) is not None


def text_of(value: Any) -> str:
    """Return a text, a number as text, or the text in an object.

    >>> text_of({"page_content": "Two years.", "metadata": {}})
    'Two years.'
    """
    if isinstance(value, dict):
        inside = (value[name] for name in _TEXTS if isinstance(value.get(name), str))
        return next(inside, json_text(value))
    return json_text(value) if isinstance(value, list | bool) else str(value)


def parse_names(value: Any) -> list[Any]:
    """Return the items of a list of documents, or the names that a text separates.

    Tabs, lines, bars and semicolons separate, and commas if all names look like documents; what
    follows a heading is a part of it unless it looks like a document.

    >>> parse_names("a.md; b.md#Dates; times")
    ['a.md', 'b.md#Dates; times']
    """
    items = parse_list(value)
    if not isinstance(value, str) or items != [value]:
        return [one for item in items for one in parse_list(item)]
    text = value.strip()
    if text[0] + text[-1] in {"[]", "{}"}:  # an array of PostgreSQL or Spark
        text = text[1:-1].replace(",", "|")
    names = [name for line in re.split(r"[\t\n|]", text) for name in _named(line, ";")]
    return [one for name in names for one in _named(name, ",") if not is_missing(one)]


def _named(text: str, separator: str) -> list[str]:
    found: list[list[str]] = []
    in_heading = False
    for piece in text.split(separator):
        if not found or _DOCUMENT.match(piece) or (separator == ";" and not in_heading):
            found.append([])
            in_heading = False
        found[-1].append(piece)
        in_heading = in_heading or "#" in piece
    names = [separator.join(pieces).strip() for pieces in found]
    return names if separator == ";" or all(map(_DOCUMENT.match, names)) else [text.strip()]


def parse_answers(value: Any) -> tuple[str | None, bool]:
    r"""Return the accepted answers, one a line, and whether the value says "no answer".

    A text that prints a list is one only if all its items are texts, since ``[1, 2]`` may be the
    answer itself.

    >>> parse_answers(["Ann Ode", "A. Ode"])
    ('Ann Ode\nA. Ode', False)
    >>> parse_answers("No Answer Present.")
    (None, True)
    """
    found = parse_object(value)
    if isinstance(found, dict):  # of SQuAD or TriviaQA
        known = [name for name in _ANSWERS if name in found]
        found = [one for name in known for one in parse_list(found[name])] if known else [found]
    elif isinstance(value, str) and not all(isinstance(one, str) for one in parse_list(found)):
        found = [value]
    texts = parse_texts(found)
    said = [text for text in texts if _NOT_A_LETTER.sub("", text.casefold()) not in _NO_ANSWER]
    # NA is missing in a table of R, but the name of a place in other columns.
    given = [text for text in said if text.strip() != "NA"]
    return as_lines(given) or None, bool(texts) and not said


def as_lines(texts: Iterable[str]) -> str:
    """Return alternatives as lines of one text; a single one keeps its line breaks."""
    given = list(dict.fromkeys(texts))
    return "\n".join(" ".join(text.split()) if given[1:] else text for text in given)


def out_of_use(row: Mapping[str, Any]) -> str | None:
    """Return how a row says that it is archived, deleted or disabled; None: it is in use."""
    for name, value in row.items():
        field = snake(name)
        if field in _STATES and str(value).strip().casefold() in _OUT_OF_USE:
            return f"{name} {value}"
        if field in _IN_USE and not is_missing(value):
            is_on = str(value).strip().casefold() not in _OFF
            if is_on is not _IN_USE[field]:
                return name
    return None


# --- printed values --------------------------------------------------------------------------


def _printed(text: str) -> Any:
    """Return the value that JSON, Python, NumPy or pandas printed as a text, or None."""
    text = text.strip()
    if array := _ARRAY.fullmatch(text):
        text = array[1]
    elif _SERIES.fullmatch(text):
        return [line.split(maxsplit=1)[1] for line in text.splitlines()[:-1]]
    if not _PRINTED.match(text) or text[-1] not in "])}":
        return None
    try:
        return tidy(json.loads(text))
    except (ValueError, RecursionError):
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that Python does not know
            parsed = ast.parse(_PART.sub(_with_comma, text), mode="eval")
            return tidy(_value(parsed.body))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


def _with_comma(match: re.Match[str]) -> str:
    part = "None" if match[1] == "<NA>" else match[1]
    return f"{part},{match[2]}" if match[2] else part


def _value(node: ast.expr) -> Any:
    """Return the value of a literal, of a constructor around one, or of one with named parts.

    Raises:
        ValueError: it is another expression.
    """
    match node:
        case ast.Constant(value=bytes() as data):
            return data.decode("utf-8", "replace")
        case ast.Constant(value=value) if value is not ...:
            return value
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return [_value(part) for part in parts]
        case ast.Dict(keys=keys, values=values):
            return {str(_value(k)): _value(v) for k, v in zip(keys, values, strict=True) if k}
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name.startswith("_"):
            raise ValueError
        case ast.Call(args=[inside]):  # array([...], dtype=object), np.str_('...')
            return _value(inside)
        case ast.Call(args=[], keywords=named):  # Document(page_content='...', metadata={...})
            return {str(one.arg): _value(one.value) for one in named}
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Name(id=name) if name in _CONSTANTS or is_missing(name):
            return None if is_missing(name) else _CONSTANTS[name]
        case _:
            raise ValueError
