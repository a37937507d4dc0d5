"""Expressions for a reply of another shape, as the names of its fields suggest them. Pure.

They are advice for a mapping, and read no reply by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

_ANSWER_TEXTS: Final = (
    "answer", "answertext", "answerhtml", "finalanswer", "response", "output", "outputtext",
    "result", "reply", "completion", "generatedtext", "text", "content", "delta",
)  # fmt: skip
"""Plain names of fields of other APIs that hold the answer."""
_ANSWERS: Final = (*_ANSWER_TEXTS, "data", "message", "choices")
"""These and fields that may hold one of them; ``message`` is also the text of a status."""
_LISTS: Final = (
    "retriev", "chunk", "context", "passage", "hit", "match", "search", "document", "docs",
    "source", "result", "node", "edge", "reference", "citation", "data", "item",
)  # fmt: skip
"""Parts of the names of lists that hold the chunks, as ``_plain`` writes them, the likeliest
first: what was retrieved rather than what is cited of it."""
_TEXTS: Final = (
    "text", "pagecontent", "content", "body", "passage", "chunk", "chunktext", "chunkcontent",
    "passagetext", "excerpt", "snippet", "blurb",
)  # fmt: skip
_PATHS: Final = (
    "relpath", "path", "filepath", "documentpath", "filename", "file", "source", "documentname",
    "docname", "uri", "url", "link", "documenttitle", "title", "documentid", "docid", "sourceid",
    "fileid", "name", "doc", "document",
)  # fmt: skip
_FIELDS: Final[Mapping[str, Sequence[str]]] = {
    "chunk_id": ("chunkid", "nodeid", "id", "pointid"),
    "heading_path": ("headingpath", "heading", "sectiontitle", "section"),
    "page": ("pagelabel", "pagenumber", "pageno"),  # of a "page" nobody knows where it begins
}
"""Further fields of a chunk, and their names in other APIs."""
_SCORES: Final = (
    "scorefinal",
    "rerankscore",
    "relevancescore",
    "score",
    "similarity",
    "similarityscore",
)
"""Names of a number that is higher for a better chunk, which a distance is not."""
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
_LACKING: Final = re.compile(
    r"\bbody\.(\w+): Field required"
    r"|['\"`]?\b(?!missing\b)(\w+)['\"`]? (?:is |are )?(?:required|missing)"
    r"|missing (?:required )?(?:(?:field|parameter|argument|key|property)s?:? )?['\"`]?(\w+)",
    re.IGNORECASE,
)
"""A field of the request that a refusal names as missing."""
_MISSES: Final = re.compile("required|missing", re.IGNORECASE)
"""Word of a refusal that names such a field in any other form."""
_PATH_ALONE: Final = "rel_path: @"
_FILE: Final = re.compile(r"[^:]+\.[A-Za-z]\w{0,4}")
_NAME: Final = re.compile(r"[A-Za-z_]\w{0,60}", re.ASCII)
"""A name that JMESPath reads without quotes."""
_HEADER: Final = re.compile(r"Header [1-6]")
"""Name under which a splitter of LangChain notes a heading in the metadata."""
_LAST: Final = " | [-1]"
_LEVELS: Final = 3
"""Levels of an object whose fields are read."""
_REPLY_LEVELS: Final = 4
"""Levels of a reply in which an answer or a list is looked for."""
_ITEMS: Final = 20
"""Items of a list that are read."""


def likely_request(refusal: str, sent: Collection[str]) -> str:
    """Return lines of a mapping for the fields that a refusal names as missing.

    Empty: it names none that is known, or only those that were sent.

    >>> likely_request("HTTP 422: body.query: Field required: body.lang: Field required", {"k"})
    'query = "question"'
    """
    found = dict.fromkeys(match[match.lastindex or 0] for match in _LACKING.finditer(refusal))
    return ", ".join(
        f'{name} = "{expression}"'
        for name in found
        for expression, names in _SENT.items()
        if _plain(name) in names and name not in sent
    )


def missed_though_sent(refusal: str, sent: Collection[str]) -> str:
    """Return a field that was sent and that a refusal names as missing; empty: there is none.

    A server that reads a form finds no field of JSON.

    >>> missed_though_sent("question is missing", {"question", "k"})
    'question'
    """
    named = (word for word in re.findall(r"\w+", refusal) if word in sent)
    return next(named, "") if _MISSES.search(refusal) else ""


def likely_answer(reply: object) -> str:
    """Return the expression of a text in a decoded reply that its name suggests is the answer.

    What holds it may have an unknown name where the text has several words. Empty: there is none.

    >>> likely_answer({"id": "c-1", "choices": [{"message": {"content": "Yes."}}]})
    'choices[0].message.content'
    >>> likely_answer({"output": [{"queries": ["Q"]}, {"content": [{"text": "Yes."}]}]})
    'output[].content[0].text | [-1]'
    """
    if isinstance(reply, str) and reply.strip():
        return "@"
    if found := _answer(reply, _REPLY_LEVELS):
        return found
    leaves = _leaves("", reply, _LEVELS)
    texts = [leaf for leaf in leaves if isinstance(leaf[2], str) and " " in leaf[2].strip()]
    return _named(texts, _ANSWER_TEXTS)


def _answer(reply: object, depth: int) -> str:
    if not isinstance(reply, Mapping) or not depth:
        return ""
    fields = {_plain(name): (name, value) for _, name, value in _named_fields("", reply)}
    likely = [fields[plain] for plain in _ANSWERS if plain in fields]
    if len(reply) == 1 and isinstance(next(iter(reply.values())), Mapping):
        likely = [*fields.values()]  # of any name, as in GraphQL that of the query
    for name, value in likely:
        if isinstance(value, str) and value.strip():
            # Beside data it is that of a status, as in {"code": 0, "message": "success", "data"}.
            return "" if name == "message" and "data" in reply else name
        if not isinstance(value, list):
            if found := _answer(value, depth - 1):
                return f"{name}.{found}"
            continue
        items = value[:1] if _plain(name) == "choices" else value[-_ITEMS:]
        for item in reversed(items):  # calls of tools and comments come before the answer
            if found := _answer(item, depth - 1):
                if item is value[0]:
                    return f"{name}[0].{found}"
                return f"{name}[].{found.removesuffix(_LAST)}{_LAST}"
    return ""


def likely_chunks(reply: object) -> str:
    """Return the expression of a list in a decoded reply whose names suggest the chunks.

    Each of its items has a text and the name of its document, or is the path of one. Empty: there
    is no such list.

    >>> likely_chunks({"reply": "Yes.", "hits": [{"id": 7, "doc": {"path": "a.md", "body": "B"}}]})
    'hits[].{rel_path: doc.path, text: doc.body, chunk_id: id}'
    """
    if isinstance(reply, list):  # all of the reply, of a search that writes no answer
        return likely_chunks({"chunks": reply}).removeprefix("chunks")
    found = []
    for place, name, item in _lists("", reply, _REPLY_LEVELS):
        ranks = (rank for rank, word in enumerate(_LISTS) if word in _plain(name))
        if (rank := next(ranks, None)) is not None and (fields := _chunk_fields(item)):
            # A list of paths alone comes after any that has texts.
            order = (fields == _PATH_ALONE, rank, place.count("."), -len(fields))
            found.append((order, f"{_ranked(place)}[].{{{fields}}}"))
    return min(found, default=((), ""))[1]


def _ranked(place: str) -> str:
    """Return the place of a list, for an object of numbers that of its values in their order.

    A server may write ``{"2": ..., "10": ..., "1": ...}``, and the order of a list is its ranking.
    """
    numbered = place.removesuffix(".*")
    if numbered == place or "[" in place or "*" in numbered:
        return place
    rows = f"rows({{n: keys({numbered}), of: {place}}})"
    return f"{place} && sort_by({rows}, &to_number(n))[].of"


def _lists(place: str, value: object, levels: int) -> Iterator[tuple[str, str, object]]:
    """Yield the first items of the lists within a value, each with place and name of its list.

    An object whose keys are numbers, such as those of citations, is a list, too.
    """
    for here, name, inner in _named_fields(place, value) if levels else ():
        if isinstance(inner, Mapping) and inner and all(map(str.isdecimal, map(str, inner))):
            here, inner = f"{here}.*", list(inner.values())
        if not isinstance(inner, list):
            yield from _lists(here, inner, levels - 1)
            continue
        for item in inner[:_ITEMS]:  # an item may be of another kind than the first
            yield here, name, item
            yield from _lists(f"{here}[]", item, levels - 1)


def _chunk_fields(item: object) -> str:
    if isinstance(item, str):
        return _PATH_ALONE if _FILE.fullmatch(item) else ""
    found = [*_leaves("", item, _LEVELS)]
    leaves = [leaf for leaf in found if not isinstance(leaf[2], float)]
    numbers = [leaf for leaf in found if not isinstance(leaf[2], str)]
    texts = [leaf for leaf in leaves if isinstance(leaf[2], str)]
    files = [leaf for leaf in texts if _FILE.fullmatch(str(leaf[2]))]
    path, text = _named(files, _PATHS) or _named(texts, _PATHS), _named(texts, _TEXTS)
    if not path or not text:
        return ""
    others = {field: _named(leaves, names) for field, names in _FIELDS.items()}
    if headers := sorted(place for place, _, _ in texts if _HEADER.search(place)):
        others["heading_path"] = f"some(join(' > ', [{', '.join(headers)}][?@]))"
    fields = {"rel_path": path, "text": text, **others, "score_final": _named(numbers, _SCORES)}
    return ", ".join(f"{field}: {place}" for field, place in fields.items() if place)


_Leaf = tuple[str, str, object]
"""Place, plain name and value."""


def _leaves(place: str, value: object, levels: int) -> Iterator[_Leaf]:
    """Yield the texts and numbers of an object and of those within it, not of its lists."""
    for here, name, inner in _named_fields(place, value) if levels else ():
        if isinstance(inner, str | int | float) and not isinstance(inner, bool):
            yield here, _plain(name), inner
        yield from _leaves(here, inner, levels - 1)


def _named_fields(place: str, value: object) -> Iterator[tuple[str, str, object]]:
    """Yield place, name and value of each field that an expression can name; of no other value."""
    if isinstance(value, Mapping):
        for name in map(str, value):
            if _NAME.fullmatch(name) or _HEADER.fullmatch(name):
                here = name if _NAME.fullmatch(name) else f'"{name}"'
                yield f"{place}.{here}" if place else here, name, value.get(name)


def _named(leaves: Sequence[_Leaf], names: Sequence[str]) -> str:
    """Return the place of the likeliest name, of several the outermost; empty: there is none."""
    found = [(names.index(n), place.count("."), place) for place, n, _ in leaves if n in names]
    return min(found, default=(0, 0, ""))[2]


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
