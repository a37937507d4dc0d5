"""Expressions for a request or a reply of another shape, by its structure. Pure.

They are advice for a mapping, and read no reply by themselves. The values decide: the longest text
is the answer, a list whose items have long texts holds the chunks. Names only break ties.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Any, Final

_ANSWERS: Final = (
    "answer", "answertext", "answerhtml", "finalanswer", "response", "output", "outputtext",
    "result", "reply", "completion", "generatedtext", "text", "content", "message", "delta",
    "data",
)  # fmt: skip
"""Plain names of fields of other APIs that hold the answer, which may be a single word."""
_DOCUMENTS: Final = ("path", "file", "document", "doc", "source", "uri", "url", "link", "title")
_HEADINGS: Final = ("heading", "section", "chapter", "abschnitt", "kapitel")
_SCORES: Final = ("final", "rerank", "relevance", "score", "similarity")
_PAGES: Final = ("pagelabel", "pagenumber", "pageno")  # of a "page" nobody knows where it begins
_SENT: Final[Mapping[str, Collection[str]]] = {
    "question": frozenset({
        "query", "q", "question", "input", "message", "prompt", "text", "content", "userinput",
        "usermessage", "userquery", "searchquery", "chatinput", "questiontext", "querytext",
        "userquestion",
    }),
    "[{role: 'user', content: question}]": frozenset({"messages"}),
    "k": frozenset({"k", "topk", "limit", "nresults", "numresults", "maxresults", "size"}),
    "uuid": frozenset({"sessionid", "conversationid", "threadid", "chatid", "requestid"}),
}  # fmt: skip
"""Expressions for a request, and names of the fields in other APIs that take their value."""
_NOT_ASKED: Final = re.compile("lang|locale|token|key|auth|secret|tenant|user|model|id$|stream")
"""Plain names of fields that take something else than the question."""
_NAMED: Final = re.compile(
    r"\bbody\.([\w.]+): Field required"
    r"|\b(?:KeyError|undefined index|undefined array key|missing field|reading)\W{1,3}(\w+)"
    r"|\b(?:field|key|parameter|property|validation for) ['\"`](\w+)"
    r"|['\"`](\w+)['\"`] (?:field|key|parameter|property)\b"
    r"|\b(\w+) should not be empty"
    r"|\"path\": ?\[\"(\w+)\"\]"
    r"|['\"`](\w+)['\"`] (?:is |are )?(?:a )?(?:required|missing|not present)"
    r"|(?:missing|required)\b[^'\"`]{0,60}['\"`](\w+)['\"`]",
    re.IGNORECASE,
)
"""A field of the request that a refusal names as missing, which is surely a name."""
_LACKING: Final = re.compile(
    r"\b(?!missing\b)(\w+) (?:is |are )?(?:required|missing)"
    r"|missing (?:required )?(?:(?:field|parameter|argument|key|property)s?:? )?(\w+)",
    re.IGNORECASE,
)
"""One that may be any other word."""
_MISSES: Final = re.compile("required|missing", re.IGNORECASE)
"""Word of a refusal that names such a field in any other form."""
_FILE: Final = re.compile(r"[^:\n]*\S\.[A-Za-z]\w{0,4}|[a-z][\w+.-]*://\S+")
_TITLE: Final = re.compile(r"[#\W\d]*[^\W\d_]{2}[^\n]{0,150}")
_HEADED: Final = re.compile(r"#{1,6} |.+ (?:>|›|»|/|::) ")
_ID: Final = re.compile(r"(?=.*\d)(?![\d.]+$)[^\s/]{1,80}|\d+")
_HEADER: Final = re.compile(r'(?:.*\.)?"Header [1-6]"')
"""Place at which a splitter of LangChain notes a heading in the metadata."""
_BRACKETS: Final = re.compile(r"\[\d*\]")
_PLAIN: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
"""A name that JMESPath reads without quotes."""
_NAME_CHARS: Final = 60
_LEVELS: Final = 6
"""Levels of a reply, and of an item in it, that are read."""
_ITEMS: Final = 20
"""Items of a list that are read."""
_LISTS: Final = 200
"""Lists of a reply that are read, and fields of an object."""
_PATH_CHARS: Final = 400
_LONG: Final = 25
"""Characters of the shortest text that is taken for one without its name."""


# --- the request -----------------------------------------------------------------------------


def likely_request(refusal: str, sent: Collection[str], *, asks: bool = True) -> dict[str, str]:
    """Return a mapping for the fields that a refusal names as missing.

    Empty: it names none that is known, or only those that were sent. The only field of an unknown
    name takes the question unless ``asks``: a field that was sent takes it already.

    >>> likely_request("HTTP 422: body.query: Field required: body.lang: Field required", {"k"})
    {'query': 'question'}
    >>> likely_request("HTTP 500: KeyError: 'utterance'", {"question"}, asks=False)
    {'utterance': 'question'}
    """
    named = [name for groups in _NAMED.findall(refusal) for name in groups if name]
    others = [name for groups in _LACKING.findall(refusal) for name in groups if name]
    found = {
        name: expression
        for name in dict.fromkeys([*named, *others])
        for expression, names in _SENT.items()
        if _plain(name.rpartition(".")[2]) in names and name not in sent
    }
    unknown = [n for n in dict.fromkeys(named) if n not in {*found, *sent}]
    unknown = [name for name in unknown if not _NOT_ASKED.search(_plain(name))]
    if not asks and len(unknown) == 1 and "question" not in "".join(found.values()):
        found[unknown[0]] = "question"
    return found


def missed_though_sent(refusal: str, sent: Collection[str]) -> str:
    """Return a field that was sent and that a refusal names as missing; empty if absent.

    A server that reads a form finds no field of JSON.

    >>> missed_though_sent("question is missing", {"question", "k"})
    'question'
    """
    named = (word for word in re.findall(r"\w+", refusal) if word in sent)
    return next(named, "") if _MISSES.search(refusal) else ""


# --- the answer ------------------------------------------------------------------------------


def likely_answer(reply: object, sent: object = None) -> str:
    """Return the expression of the longest text in a decoded reply, outside its chunks.

    A text with a usual name goes before. Empty without one of several words, or with such a
    name.

    Args:
        reply: decoded.
        sent: document whose texts, such as the question, a server may echo.

    >>> likely_answer({"id": "c-1", "choices": [{"message": {"content": "Yes."}}]})
    'choices[0].message.content'
    >>> likely_answer({"zug": {"sagt": "It opens at 8:15."}, "frage": "When?"})
    'zug.sagt'
    """
    if isinstance(reply, str) and reply.strip():
        return "@"
    chunks = _chunk_list(reply)
    passages = {text for item in chunks.items for _, text in _texts("", item, 1)}
    echoed = {text for _, text in _texts("", sent, _LEVELS)}
    found = []
    for here, text in dict(_texts("", reply, _LEVELS)).items():
        name, known = _last(here), _last(here) in _ANSWERS
        bare = _BRACKETS.sub("", here)
        inside = chunks.items and any(bare.startswith(f"{one}.") for one in chunks.places)
        data = text.lstrip()[:1] in {"{", "["} and text.rstrip()[-1:] in {"}", "]"}
        if not (inside or data or text in echoed) and (known or " " in text.strip()):
            context = any(text != one and one in text for one in passages if len(one) >= _LONG)
            rank = _ANSWERS.index(name) if known else len(_ANSWERS)
            found.append((context, rank, -len(text), here))
    best = _least(found)
    return f"{best} | [-1]" if "[]" in best else best


def _least(ranked: Sequence[tuple[Any, ...]]) -> str:
    """Return the expression at the end of the least tuple; empty if absent."""
    return str(min(ranked)[-1]) if ranked else ""


def _texts(place: str, value: object, levels: int) -> Iterator[tuple[str, str]]:
    """Yield the texts of a document, each with its place; of a list of several the last items."""
    if isinstance(value, str):
        if value.strip() and not place.endswith("]"):
            yield place, value
    elif isinstance(value, list):
        below = place if place.endswith("[]") else f"{place}[{'' if len(value) > 1 else 0}]"
        for item in value[-_ITEMS:] if levels else ():
            yield from _texts(below, item, levels)
    elif levels:
        for here, name, inner in _fields(place, value):
            if "error" not in name.lower():
                yield from _texts(here, inner, levels - 1)


# --- the chunks ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _List:
    """A list within a reply, or an object that stands for one."""

    place: str
    """Expression of it, which ends with ``[]``."""
    items: Sequence[Any]
    """Its first items."""
    own: Collection[str] = ()
    """Names that the items have by themselves and not from their parent; empty: all."""
    within: tuple[str, ...] = ()
    """Places of its parts in the reply, without brackets; empty: that of the list."""

    @property
    def places(self) -> tuple[str, ...]:
        """Places of its parts in the reply, without brackets."""
        return self.within or (_BRACKETS.sub("", self.place),)


def likely_chunks(reply: object, golds: Collection[str] = ()) -> str:
    """Return the expression of the list in a decoded reply that holds the chunks.

    Each of its items has a long text and the name of a document, or is the path of one. Lists in
    lists, lists below a document and parallel lists count, too. empty if absent.

    Args:
        reply: decoded.
        golds: paths and headings that chunks may name.

    >>> likely_chunks({"hits": [{"n": "a.md", "t": "The north gate opens at 8:15."}]})
    'hits[].{rel_path: n, text: t}'
    """
    found = _chunk_list(reply, golds)
    fields = ", ".join(f"{name}: {at}" for name, at in _chunk_fields(found, golds).items())
    return f"{found.place}.{{{fields}}}" if fields else ""


def likely_references(reply: object, paths: Collection[str], golds: Collection[str] = ()) -> str:
    """Return the expression of a further list whose items name documents that were retrieved.

    Args:
        reply: decoded.
        paths: documents that the chunks name.
        golds: as for ``likely_chunks``.
    """
    chunks = [f"{place}." for place in _chunk_list(reply, golds).places]
    for one in _lists(reply):
        pairs = [(f"{place}.", of) for place in one.places for of in chunks]
        apart = not any(a.startswith(b) or b.startswith(a) for a, b in pairs)
        for at, values in _columns(one.items).items() if apart else ():
            if all(isinstance(value, str) and value in paths for value in values):
                return f"{one.place}.{{rel_path: {at}}}"
    return ""


def _chunk_list(reply: object, golds: Collection[str] = ()) -> _List:
    """Return the likeliest list of chunks; one without items if absent."""
    found = []
    for one in _lists(reply):
        if fields := _chunk_fields(one, golds):
            columns = _columns(one.items)
            paths = columns[fields["rel_path"].split(" || ")[0]]
            file = any(_FILE.fullmatch(path or "") for path in paths)
            size = sum(len(str(text)) for text in columns.get(fields.get("text", ""), ()))
            # What was retrieved is more than what is cited of it.
            order = ("text" not in fields, not file, -len(one.items), -size, len(one.place))
            found.append((order, one))
    return min(found, key=lambda ranked: ranked[0], default=((), _List("", [])))[1]


def _lists(reply: object) -> Iterator[_List]:
    """Yield the lists of a reply that have items."""
    whole = _List("[]", reply[:_ITEMS]) if isinstance(reply, list) else _List("", [reply])
    for one in islice(chain([whole], _lists_below(whole, _LEVELS)), _LISTS):
        if one.place and any(isinstance(item, Mapping | str) for item in one.items):
            yield one


def _lists_below(above: _List, levels: int) -> Iterator[_List]:
    """Yield the lists within the objects at a place.

    Lists in lists are one, lists of one length beside each other are one of their rows, and an
    object whose keys are numbers is a list. Below an item its other fields count, too.
    """
    parents = [one for one in above.items if isinstance(one, Mapping)]
    names = dict.fromkeys(name for one in parents for _, name, _ in _fields("", one))
    lists: dict[str, int] = {}
    many = "[" in above.place
    for name in (above.own or names) if levels else ():
        here = _joined(above.place, name)
        inner = [one[name] for one in parents if name in one]
        objects = [one for one in inner if isinstance(one, Mapping) and one]
        if objects and all(map(str.isdecimal, map(str, objects[0]))) and not many:
            found = [_List(_ranked(here), [*objects[0].values()][:_ITEMS], (), (here,))]
        else:
            yield from _lists_below(_List(here, objects), levels - 1)
            items, depth = _flat([one for one in inner if isinstance(one, list)])
            if not depth:
                continue
            lists[name] = depth
            found = [_List(here + "[]" * (depth if many else max(1, depth - 1)), items[:_ITEMS])]
            if many and depth == 1 and "'" not in name:
                found.append(_unnested(above, parents, name))
        for one in found:
            yield one
            yield from _lists_below(one, levels - 1)
    if len(lists) > 1:
        yield from _rows(above, parents, lists)


def _flat(items: list[Any]) -> tuple[list[Any], int]:
    """Return the items of lists in lists, and the number of their levels."""
    depth = 0
    while items and depth <= _LEVELS and all(isinstance(one, list) for one in items):
        items, depth = [one for inner in items for one in inner], depth + 1
    return items, depth


def _unnested(above: _List, parents: Sequence[Mapping[str, Any]], name: str) -> _List:
    """Return the items of a nested list, each with the other fields of its parent."""
    children = [
        ({other: value for _, other, value in _fields("", one) if other != name}, child)
        for one in parents
        if isinstance(one.get(name), list)
        for child in one[name][:_ITEMS]
    ][:_ITEMS]
    items = [
        {**others, **(child if isinstance(child, Mapping) else {name: child})}
        for others, child in children
    ]
    keys = {key: None for _, child in children for _, key, _ in _fields("", child)}
    places = tuple(_joined(place, name) for place in above.places)
    return _List(f"unnest({above.place}, '{name}')[]", items, (*keys, name), places)


def _rows(
    above: _List, parents: Sequence[Mapping[str, Any]], lists: Mapping[str, int]
) -> Iterator[_List]:
    """Yield the rows of parallel lists; none if they differ in length."""
    rows: list[Any] = []
    for parent in parents:
        given = {n: v for n in lists if isinstance(v := parent.get(n), list)}
        columns = {n: v if lists[n] == 1 else _flat(v)[0] for n, v in given.items()}
        if len(columns) < len(lists) or len({*map(len, columns.values())}) != 1:
            return
        rows += [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]
    keys = ", ".join(f"{_key(n)}: {_key(n)}{'[]' * (depth - 1)}" for n, depth in lists.items())
    places = tuple(_joined(place, name) for place in above.places for name in lists)
    listed = f"{above.place}{above.place and '.'}rows({{{keys}}})[]"
    yield _List(listed, rows[:_ITEMS], (), places)


def _ranked(place: str) -> str:
    """Return an object under numbers as the list of its values in their order.

    A server may write ``{"2": ..., "10": ..., "1": ...}``, and the order of a list is its ranking.
    """
    return f"{place}.* && sort_by(rows({{n: keys({place}), of: {place}.*}}), &to_number(n))[].of"


# --- the fields of a chunk -------------------------------------------------------------------

_Columns = Mapping[str, Sequence[Any]]
"""Values by place in the items of a list, None for an item that has none there."""


def _chunk_fields(found: _List, golds: Collection[str]) -> dict[str, str]:
    """Return the expression of each field of a chunk; empty if the items are no chunks."""
    items, columns = found.items, _columns(found.items)
    words = {
        at: values
        for at, values in columns.items()
        if all(isinstance(one, str | None) for one in values) and any(values)
    }
    varied = {at for at, values in columns.items() if len({*map(str, values)}) > 1}
    long = {at: max(len(v or "") for v in values) for at, values in words.items()}
    own = [at for at in words if not found.own or at.split(".")[0].strip('"') in found.own]
    passages = [at for at in own if long[at] >= _LONG and (at in varied or len(items) == 1)]
    passages = [at for at in passages if any(" " in (v or "").strip() for v in words[at])]
    text = max(
        passages, key=lambda at: (sum(len(v or "") for v in words[at]), -at.count(".")), default=""
    )
    names = {at: values for at, values in words.items() if at != text and long[at] <= _PATH_CHARS}
    path = _document(names, golds, varied)
    if not path or not (text or all(_FILE.fullmatch(str(one)) for one in items)):
        return {}
    rest = {at: v for at, v in columns.items() if at != text and at not in path.split(" || ")}
    sections = {at: names[at] for at in rest if at in names and at in varied}
    fields = {
        "rel_path": path,
        "text": text,
        "chunk_id": _identifier(rest),
        "heading_path": _heading(rest, sections, columns[path.split(" || ")[0]], golds),
        "page": next((at for at in rest if _last(at) in _PAGES), ""),
        "score_final": _score(rest),
    }
    return {name: at for name, at in fields.items() if at}


def _document(names: _Columns, golds: Collection[str], varied: Collection[str]) -> str:
    """Return the place of paths, else of names, of documents."""
    found = []
    for at, values in names.items():
        file = any(_FILE.fullmatch(one or "") for one in values)
        rank = next((n for n, word in enumerate(_DOCUMENTS) if word in _last(at)), len(_DOCUMENTS))
        proper = at in varied and any(re.search("[A-Z /]", one or "") for one in values)
        if file or proper or rank < len(_DOCUMENTS):
            identifies = _last(at).endswith("id")
            found.append((not _meets(values, golds), not file, identifies, rank, at.count("."), at))
    places: list[str] = []
    missing = {*range(len(next(iter(names.values()), ())))}
    for met, no_file, *_, at in sorted(found):
        if (met, no_file) == min(found)[:2] and (filled := {n for n in missing if names[at][n]}):
            missing -= filled
            places.append(at)
    return "" if missing else " || ".join(places)


def _heading(
    rest: _Columns, sections: _Columns, paths: Sequence[Any], golds: Collection[str]
) -> str:
    """Return the expression of headings: lists of them, or a text that differs in a document."""
    if headers := sorted(at for at in rest if _HEADER.fullmatch(at)):
        return f"some(join(' > ', [{', '.join(headers)}][?@]))"
    found = []
    for at, values in rest.items():
        if any(isinstance(one, list) and any(map(_TITLE.fullmatch, one)) for one in values):
            found.append((not _meets(values, golds), 0, f"some(join(' > ', {at} || `[]`))"))
    for at, values in sections.items():
        named = any(word in _last(at) for word in _HEADINGS)
        written = any(_HEADED.match(one or "") for one in values)
        # A title of the document itself is the same wherever its path is.
        inner = len({*zip(paths, values, strict=True)}) > len({*paths})
        known = not any(one and not _TITLE.fullmatch(one) for one in values)
        if named or written or _meets(values, golds) or (inner and known):
            found.append((not _meets(values, golds), 1 if named else 2, at))
    return _least(found)


def _identifier(rest: _Columns) -> str:
    """Return the place of ids, which differ between all items; one of one item is named so."""
    found = []
    for at, values in rest.items():
        named = _last(at).endswith("id")
        texts = all(isinstance(one, str) and _ID.fullmatch(one) for one in values)
        usable = texts or (named and all(isinstance(one, int | str) for one in values))
        if usable and len({*map(str, values)}) == len(values) and (named or len(values) > 1):
            found.append((not named, at.count("."), at))
    return _least(found)


def _score(rest: _Columns) -> str:
    """Return the expression of numbers that fall with the rank, or of a distance that rises."""
    found = []
    for at, values in rest.items():
        if not all(isinstance(one, int | float) for one in values):
            continue
        falls = all(a >= b for a, b in pairwise(values)) and values[0] > values[-1]
        rises = all(a <= b for a, b in pairwise(values)) and values[0] < values[-1]
        rank = next((n for n, word in enumerate(_SCORES) if word in _last(at)), len(_SCORES))
        named, broken = rank < len(_SCORES), any(isinstance(one, float) for one in values)
        if falls and broken:
            found.append((0, rank, at))
        elif named and not rises:
            found.append((1, rank, at))
        elif rises and broken:
            found.append((2, rank, f"negative({at})"))
    return _least(found)


def _meets(values: Sequence[Any], golds: Collection[str]) -> bool:
    """Return whether a value names a gold, which may have neither folders nor marks in front."""
    listed = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return any(str(one).endswith(gold) for one in listed if one for gold in golds)


def _columns(items: Sequence[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for index, item in enumerate(items):
        for at, value in [("@", item)] if isinstance(item, str) else _leaves("", item, _LEVELS):
            found.setdefault(at, [None] * len(items))[index] = value
    return found


def _leaves(place: str, value: object, levels: int) -> Iterator[tuple[str, Any]]:
    """Yield the texts, numbers and lists of texts of an object and of those within it."""
    for here, _, inner in _fields(place, value) if levels else ():
        listed = isinstance(inner, list) and inner and all(isinstance(one, str) for one in inner)
        if listed or (isinstance(inner, str | int | float) and not isinstance(inner, bool)):
            yield here, inner
        yield from _leaves(here, inner, levels - 1)


# --- names -----------------------------------------------------------------------------------


def _fields(place: str, value: object) -> Iterator[tuple[str, str, Any]]:
    """Yield place, name and value of each field of an object that an expression can name."""
    if isinstance(value, Mapping):
        for name, inner in islice(value.items(), _LISTS):
            if _key(name):
                yield _joined(place, name), name, inner


def _joined(place: str, name: str) -> str:
    return f"{place}.{_key(name)}" if place else _key(name)


def _key(name: object) -> str:
    """Return a name as an expression has it; empty: it is too long or not printable."""
    if not isinstance(name, str) or len(name) > _NAME_CHARS or not name.isprintable():
        return ""
    return name if _PLAIN.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _last(place: str) -> str:
    return _plain(place.rpartition(".")[2].strip('"'))


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
