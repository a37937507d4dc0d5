"""Settings that ask a target of unknown shape and read its reply, tried on that reply. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from pytest_rageval.support.text import clean, counted
from pytest_rageval.target.contract import last_data, parse_ask_response
from pytest_rageval.target.likely import likely_chunks, likely_references, likely_request
from pytest_rageval.target.mapping import asks_question, compile_mapping, quoted
from pytest_rageval.target.stream import likely_stream_answer
from pytest_rageval.values.errors import ConfigError, EndpointError
from pytest_rageval.values.lenient import part
from pytest_rageval.values.reply import DEBUG_FIELDS, TOP_FIELDS, AskResponse, ErrorInfo
from pytest_rageval.values.settings import REQUEST_TABLE, RESPONSE_TABLE, TargetSettings

_BARE: Final = re.compile(r"[\w-]+", re.ASCII)
_OTHER_CAUSES: Final = frozenset({401, 403, 404, 405, 429})
"""Statuses whose cause is no field of the request."""
_FIELDS: Final = 8
"""Fields of a request that are found one after the other."""
_LINES: Final = 30
_LEVELS: Final = 4
_NO_ANSWER: Final = "'-'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Tables of settings, and what they gave."""

    request: Mapping[str, str] = field(default_factory=dict)
    """Expression by field; empty: the request stays as it is."""
    response: Mapping[str, str] = field(default_factory=dict)
    """Expression by field; empty: the reply is read as it is."""
    reads: str
    """Result of the trial."""

    @property
    def searches(self) -> bool:
        """Whether the reply has chunks and no answer."""
        return self.response.get("answer") == _NO_ANSWER

    @property
    def settings(self) -> str:
        """Tables as TOML, which take the place of those of their names."""
        tables = ((REQUEST_TABLE, self.request), (RESPONSE_TABLE, self.response))
        return "\n\n".join("\n".join([table, *toml_rows(rows)]) for table, rows in tables if rows)


def toml_rows(table: Mapping[str, str]) -> list[str]:
    r"""Return a table of expressions as lines of TOML.

    >>> toml_rows({"q": "question", "in.q": '"my text"'})
    ['q = "question"', '"in.q" = \'"my text"\'']
    """
    names = {name: name if _BARE.fullmatch(name) else quoted(name) for name in table}
    return [f"{names[name]} = {quoted(text)}" for name, text in table.items()]


def propose_request(
    target: TargetSettings, error: ErrorInfo | None, sent: object
) -> dict[str, str]:
    """Return the request table with the fields that a refusal misses; empty: it names none.

    Args:
        target: settings of the target.
        error: of the request.
        sent: its body.
    """
    if error is None or error.kind != "http" or error.facts.get("status") in _OTHER_CAUSES:
        return {}
    if target.preset is not None or isinstance(target.request, str):
        return {}
    said = str(error.facts.get("reason") or error.facts.get("begins") or "")
    written = target.request or {}
    names = {*written, *(sent if isinstance(sent, Mapping) else ())}
    missing = likely_request(said, names, asks=bool(written) and asks_question(target))
    return {**written, **missing} if missing and len(written) < _FIELDS else {}


def propose_response(
    target: TargetSettings, reply: object, sent: object, golds: Collection[str]
) -> Proposal | None:
    """Return a mapping of a reply that reads its answer and chunks; None: it is as it was, or none.

    Expressions of the settings that read the reply stay.

    Args:
        target: settings of the target.
        reply: decoded, before it was mapped.
        sent: request, whose texts a server may echo.
        golds: paths and headings that chunks may name.
    """
    written = _written(target, reply)
    kept = {name: text for name, text in written.items() if _read({name: text}, reply)}
    if (found := _read(kept, reply)) and not found.answer.strip():
        kept.pop("answer", None)
    if not found or not found.retrieved_chunks:
        kept.pop("retrieved_chunks", None)
    fields = {
        "answer": likely_stream_answer(reply, sent),
        "retrieved_chunks": likely_chunks(reply, golds),
    }
    fields = {name: text for name, text in fields.items() if text} | kept
    if not fields.keys() & {"answer", "retrieved_chunks"}:
        return None
    table = {"answer": _NO_ANSWER} | fields
    if (response := _read(table, reply)) is None:
        return None
    paths = {chunk.rel_path for chunk in response.retrieved_chunks or ()}
    if paths and "references" not in table and last_data(reply) is reply:
        table["references"] = likely_references(reply, paths, golds)
    table = {name: text for name, text in table.items() if text}
    changed = table != written and table != {"answer": "answer"}
    return Proposal(response=table, reads=read_from(response)) if changed else None


def read_from(response: AskResponse) -> str:
    """Describe what a mapping read from a reply."""
    chunks = response.retrieved_chunks or ()
    parts = [f"answer {_shown(response.answer, 60)}", counted(len(chunks), "chunk")]
    if chunks:
        parts[-1] += f" of {counted(len({chunk.rel_path for chunk in chunks}), 'document')}"
        parts.append(f"rel_path such as {_shown(chunks[0].rel_path, 60)}")
        headings = [chunk.heading_path for chunk in chunks if chunk.heading_path]
        parts += [f"heading_path such as {_shown(one, 60)}" for one in headings[:1]]
        scores = [chunk.score_final for chunk in chunks if chunk.score_final is not None]
        parts.append(f"scores {scores[0]:g} to {scores[-1]:g}" if scores else "no scores")
    if response.references:
        parts.append(counted(len(response.references), "reference"))
    return ", ".join(parts)


def skeleton(document: object) -> tuple[str, ...]:
    """Return the fields of a document, one a line, with shortened values.

    >>> skeleton({"turn": {"says": "It opens."}, "seen": [{"note": "a.md", "under": ["A"]}, {}]})
    ('turn.says "It opens."', 'seen[2] {note "a.md", under[1] "A"}')
    """
    lines = _outline("", document, 0) if document else ()
    found = [clean(line, 240) for line in islice(lines, _LINES + 1)]
    return (*found[:_LINES], "...") if len(found) > _LINES else tuple(found)


def _outline(place: str, value: object, level: int) -> Iterator[str]:
    if isinstance(value, Mapping) and value and level < _LEVELS:
        for name, inner in value.items():
            shown = clean(str(name), 60)
            yield from _outline(f"{place}.{shown}" if place else shown, inner, level + 1)
    else:
        yield f"{place}{_joint(value)}{_inline(value)}".strip()


def _joint(value: object) -> str:
    return "" if isinstance(value, list) else " "


def _inline(value: object, level: int = 0) -> str:
    if isinstance(value, Mapping):
        if level > 2:
            return "{...}"
        inner = islice(value.items(), 12)
        parts = (f"{clean(str(n), 40)}{_joint(v)}{_inline(v, level + 1)}" for n, v in inner)
        return f"{{{', '.join(parts)}{', ...' if len(value) > 12 else ''}}}"
    if isinstance(value, list):
        first = f"{_joint(value[0])}{_inline(value[0], level + 1)}" if value else ""
        return f"[{len(value)}]{first}" if level < _LEVELS else "[...]"
    return _shown(value, 60 if not level else 24)


def _shown(value: object, limit: int) -> str:
    if isinstance(value, str):
        return json.dumps(clean(value, limit), ensure_ascii=False)
    return clean(json.dumps(value, default=str), limit)


def _written(target: TargetSettings, reply: object) -> dict[str, str]:
    """Return the expression of each field as it is read now; a whole mapping has none."""
    if isinstance(target.response, Mapping):
        return {name.removeprefix("debug."): text for name, text in target.response.items()}
    if target.response is not None or not isinstance(reply, Mapping):
        return {}
    debug = part(reply, "debug")
    return {
        **{name: name for name in (*TOP_FIELDS, "error") if name in reply},
        **{name: f"debug.{name}" for name in DEBUG_FIELDS if name in debug},
    }


def _read(table: Mapping[str, str], reply: object) -> AskResponse | None:
    """Read a reply by a mapping; None: it cannot."""
    try:
        mapped = compile_mapping({"answer": _NO_ANSWER, **table}, "response")(reply)
        return parse_ask_response(mapped)
    except (ConfigError, EndpointError):
        return None
