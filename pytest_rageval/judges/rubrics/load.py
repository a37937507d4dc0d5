"""Rubrics, and prompts built from a template, a schema and fenced texts.

A rubric is a Jinja2 template of instructions (``<name>.jinja``) and a JSON schema of the reply
(``<name>.schema.json``). The template never sees a question, an answer or a document: those go
fenced into the second message, so their content cannot change the first one or the structure of
either. Replies are read by ``judges.rubrics.reply``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from pytest_rageval.judges.rubrics.fence import clean_text, derive_boundary, fence, one_line, quoted
from pytest_rageval.judges.rubrics.schema import (
    Scale,
    asked_schema,
    define_metrics,
    describe_shape,
    response_schema,
    scales,
    schema_faults,
)
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.support.files import read_plain
from pytest_rageval.support.reading import hint
from pytest_rageval.values.errors import ConfigError, Fault
from pytest_rageval.values.reply import Citation
from pytest_rageval.values.verdict import RUBRICS, JudgeFailure, JudgeRequest, OutputLevel, Passage

if TYPE_CHECKING:
    from hashlib import _Hash

    from jinja2 import Template
    from jinja2.sandbox import ImmutableSandboxedEnvironment


_MAX_CHARS: Final = 60_000
"""Characters of fenced text per prompt, about 15,000 tokens; passages beyond it are dropped whole,
from the last on, but never the first."""
_REPLY_CHARS: Final = 4_000
_NAME_CHARS: Final = 300

_FOLDER: Final = Path(__file__).parent / "templates"
_OWN_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}", re.ASCII)
_DATA_LINE: Final = re.compile(r"\{#-?\s*data:(?P<names>[^#]*?)-?#\}")
_DATA: Final = (
    "question",
    "answer",
    "key_facts",
    "expected_answer",
    "context",
    "context_without_reference",
    "citations",
)
_OWN_DATA: Final = tuple(name for name in _DATA if name != "context_without_reference")
_METRIC_PREFIX: Final = {"groundedness": None, "correctness": None, "five_dimensions": "five"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """Instructions for a judge and the schema of its reply."""

    name: str
    version: str
    """Name + first 12 hex digits of the sha256 of template (frame included) and schema."""
    template: str
    """Jinja2 text of the instructions."""
    schema: Mapping[str, Any]
    """JSON schema of replies."""
    data: tuple[str, ...]
    """Parts of a request that the judge is shown."""
    metrics: Mapping[str, str]
    """Property of the reply to the metric key of its score."""
    scales: Mapping[str, Scale]
    """Metric key to lowest and highest score."""
    own: bool = False
    """Whether it is a custom rubric, from a file of the user."""
    definitions: tuple[MetricInfo, ...] = ()
    """The metrics of a custom rubric; empty: those of the package are in ``BUILT_IN``."""
    alternate: bool = False
    """Whether it is the other wording, for spot checks."""
    path: str = ""
    """Path of the template, as shown to the user."""

    def __hash__(self) -> int:
        return hash((self.version, self.alternate))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shape:
    """Schemas of the reply to one kind of request."""

    asked: Mapping[str, Any]
    """By which a reply is checked."""
    strict: Mapping[str, Any]
    """In the form for ``response_format``."""
    text: str
    """The strict one as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMessage:
    """One message of a chat."""

    role: Literal["system", "user"]
    text: str


@dataclass(slots=True, kw_only=True)
class Prompt:
    """Messages and response schema for one answer under one rubric."""

    messages: tuple[PromptMessage, ...]
    """Instructions and scale; then the fenced data."""
    sha256: str
    """Hash of rubric version, response schema and messages: 64 hex digits, part of cache keys."""
    shape: Shape
    """Shape of the reply."""
    truncated_chunk_ids: tuple[str | None, ...] = ()
    """Ids of the last passages, dropped because the prompt would be too long."""


# --- loading -------------------------------------------------------------------------------


def load_rubric(
    name_or_path: str, *, alternate: bool = False, root: str | Path | None = None
) -> Rubric:
    """Load a rubric of the package by name, or a custom one by the path of its template.

    Args:
        name_or_path: one of ``RUBRICS``, or ``path/to/name.jinja`` with ``name.schema.json``
            beside it.
        alternate: load the other wording, ``name.alternate.jinja``; the schema is the same.
        root: base folder of a relative path; None: the working folder.

    Raises:
        ConfigError: a file is missing or cannot be read, or the rubric is not valid; the message
            names the file and what was expected.
    """
    if name_or_path in RUBRICS:
        return _load_packaged(name_or_path, alternate)
    path = Path(name_or_path)
    if path.suffix != ".jinja":
        raise ConfigError.of(
            f"rubric {name_or_path!r}",
            "no_such_rubric",
            names=", ".join(RUBRICS),
            **hint(name_or_path, RUBRICS),
        )
    _check_own_name(path.stem, name_or_path)
    return _load(path.stem, Path(root or ".") / path, name_or_path, alternate=alternate, own=True)


@cache
def _load_packaged(name: str, alternate: bool) -> Rubric:
    path = _FOLDER / f"{name}.jinja"
    return _load(name, path, f"rubrics/{name}.jinja", alternate=alternate, own=False)


def _check_own_name(name: str, shown: str) -> None:
    if not _OWN_NAME.fullmatch(name):
        raise ConfigError.of(
            shown, "value", found=repr(name), expected="a name of letters, digits, _ and -"
        )
    keys = (*BUILT_IN.cases, *BUILT_IN.runs, *BUILT_IN.aliases)
    taken = {key.split(".")[0] for key in keys} | set(RUBRICS)
    if name in taken:
        raise ConfigError.of(shown, "own_name", found=repr(name))


def _load(name: str, path: Path, shown: str, *, alternate: bool, own: bool) -> Rubric:
    beside = shown.removesuffix(".jinja")
    if alternate:
        shown = f"{beside}.alternate.jinja"
    # First, since it is the file that a setting names, and may misspell.
    template = _read(path.with_suffix(".alternate.jinja") if alternate else path, shown)
    schema_text = _read(path.with_suffix(".schema.json"), f"{beside}.schema.json")
    schema = _read_schema(schema_text, f"{beside}.schema.json", checked=own)
    found = scales(schema, own=own)
    if own and not found:
        raise ConfigError.of(f"{beside}.schema.json", "no_score")
    prefix = _METRIC_PREFIX.get(name, name)
    metrics = {prop: f"{prefix}.{prop}" if prefix else name for prop in found}
    digest = hashlib.sha256((_frame() + template + schema_text).encode()).hexdigest()
    version = f"{name}-{digest[:12]}"
    source = f"{beside}.jinja"
    defined = define_metrics(schema, metrics, version=version, source=source) if own else ()
    rubric = Rubric(
        name=name,
        version=version,
        template=template,
        schema=schema,
        data=_read_data(template, shown),
        metrics=metrics,
        scales={metrics[prop]: scale for prop, scale in found.items()},
        own=own,
        definitions=tuple(defined),
        alternate=alternate,
        path=shown,
    )
    if own:
        _check_template(template, shown)
    return rubric


def _read(path: Path, shown: str) -> str:
    try:
        return read_plain(path)  # also converts every line end to a newline
    except FileNotFoundError:
        raise ConfigError.of(shown, "absent", what="file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError.of(shown, "unreadable", reason=error) from error


def _read_schema(text: str, shown: str, *, checked: bool) -> dict[str, Any]:
    try:
        schema = json.loads(text)
        json.dumps(schema, ensure_ascii=False).encode()  # half a surrogate pair cannot be sent
    except json.JSONDecodeError as error:
        raise ConfigError.of(
            f"{shown}:{error.lineno}:{error.colno}", "not_json", reason=error.msg
        ) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError.of(shown, "not_json", reason="it cannot be read") from error
    if checked and (faults := list(schema_faults(schema))):
        raise ConfigError.of_faults(
            Fault(code="invalid", facts={"reason": one}, field=shown) for one in faults
        )
    return dict(schema)


def _read_data(template: str, shown: str) -> tuple[str, ...]:
    match = _DATA_LINE.match(template)
    if match is None:
        return _OWN_DATA
    names = tuple(re.split(r"[\s,]+", match["names"].strip()))
    for name in names:
        if name not in _DATA:
            raise ConfigError.of(
                f"{shown}:1",
                "choice",
                found=f"data {name!r}",
                expected=f"one of {', '.join(_DATA)}",
            )
    return names


# --- templates -----------------------------------------------------------------------------


@cache
def _frame() -> str:
    return _read(_FOLDER / "_frame.jinja", "rubrics/_frame.jinja")


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=False,  # plain text; untrusted texts are fenced, never rendered
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # The same request must give the same bytes, or cached verdicts would not be found.
    del environment.filters["random"], environment.globals["lipsum"]
    return environment


@lru_cache(maxsize=64)
def _compiled(template: str) -> Template:
    return _environment().from_string(template)


def _check_template(template: str, shown: str) -> None:
    """Find the faults of a template before the first answer is judged."""
    from jinja2 import TemplateSyntaxError, meta

    known = _variables(_FULL, 0)
    try:
        _compiled(template)
        unknown = meta.find_undeclared_variables(_environment().parse(template)) - known.keys()
    except TemplateSyntaxError as error:
        raise ConfigError.of(f"{shown}:{error.lineno}", "invalid", reason=error.message) from error
    except RecursionError:
        raise ConfigError.of(shown, "deep") from None
    except ValueError as error:  # a number of too many digits
        raise ConfigError.of(shown, "unreadable", reason=one_line(str(error), 200)) from None
    if unknown:
        raise ConfigError.of(
            shown, "template_name", found=repr(min(unknown)), names=", ".join(sorted(known))
        )
    for request in (JudgeRequest(question="", answer=""), _FULL):
        _instructions(template, _variables(request, len(request.context)), shown)


def _instructions(template: str, variables: Mapping[str, int], shown: str) -> str:
    """Render a template.

    Raises:
        ConfigError: it fails with any error: a template is a small program by the user.
    """
    try:
        text = _compiled(template).render(variables)
        text.encode()  # half a surrogate pair cannot be sent
    except Exception as error:
        said = one_line(str(error), 200) or type(error).__name__
        raise ConfigError.of(shown, "not_rendered", reason=said) from error
    return text.strip()


_FULL: Final = JudgeRequest(
    question="",
    answer="",
    context=(Passage(text=""), Passage(text="")),
    expected_key_facts=("", ""),
    expected_answer="-",
    citations=(Citation(rel_path=""),),
    asks_conflict=True,
)


def _variables(request: JudgeRequest, n_passages: int) -> dict[str, int]:
    """Return the variables of a template: counts and flags of a request, never a text."""
    return {
        "n_passages": n_passages,
        "n_citations": len(request.citations),
        "n_key_facts": len(request.expected_key_facts),
        "has_expected_answer": _expected_answer(request) is not None,
        "has_reference": _has_reference(request),
        "asks_conflict": request.asks_conflict,
    }


def _has_reference(request: JudgeRequest) -> bool:
    return bool(request.expected_key_facts) or _expected_answer(request) is not None


# --- prompts -------------------------------------------------------------------------------


def render_prompt(rubric: Rubric, request: JudgeRequest, *, level: OutputLevel) -> Prompt:
    """Render the prompt for a judge; the same input always gives the same bytes.

    Args:
        rubric: the rubric to judge by.
        request: the answer and its reference; its texts are cleaned and fenced.
        level: ``json_object`` and ``text`` put the schema into the prompt, since the model does
            not receive it otherwise.

    Raises:
        ConfigError: the template fails for this request.
    """
    shown = {*rubric.data, *([_HISTORY] if "question" in rubric.data else ())}
    texts = ((name, read(request)) for name, read in _TEXTS.items() if name in shown)
    rest = [(name.replace("_", " "), text) for name, text in texts if text is not None]
    passages = _passages(rubric, request)
    fitting = _fitting(passages, sum(len(text) for _, text in rest))
    shape = shape_of(rubric, request)
    variables = tuple(_variables(request, len(fitting)).items())
    system, digest = _render_system(rubric, variables, shape, level != "json_schema")
    data = _render_data(rest, fitting)
    digest = digest.copy()
    digest.update(data.encode())
    return Prompt(
        messages=(system, PromptMessage(role="user", text=data)),
        sha256=digest.hexdigest(),
        shape=shape,
        truncated_chunk_ids=tuple(passage.chunk_id for passage in passages[len(fitting) :]),
    )


def shape_of(rubric: Rubric, request: JudgeRequest) -> Shape:
    """Return the shape of the reply to a request; made once for requests of one kind."""
    return _shape(rubric, len(request.expected_key_facts), request.asks_conflict)


@lru_cache(maxsize=256)
def _shape(rubric: Rubric, n_facts: int, asks_conflict: bool) -> Shape:
    asked = (
        dict(rubric.schema) if rubric.own else asked_schema(rubric.schema, n_facts, asks_conflict)
    )
    strict = response_schema(asked)
    return Shape(asked=asked, strict=strict, text=json.dumps(strict, ensure_ascii=False))


@lru_cache(maxsize=256)
def _render_system(
    rubric: Rubric, variables: tuple[tuple[str, int], ...], shape: Shape, shows_schema: bool
) -> tuple[PromptMessage, _Hash]:
    """Render the first message, which depends on the shape of a request but on no text of it.

    Returns:
        The message, and the hash of a prompt up to the text of the second one.
    """
    frame = _compiled(_frame()).render(
        instructions=_instructions(rubric.template, dict(variables), rubric.path),
        shape=describe_shape(json.loads(shape.text)),
        schema=shape.text if shows_schema else "",
    )
    text = re.sub(r"\n{3,}", "\n\n", frame).strip()
    # Parts cannot run together: no text contains the separator.
    parts = (rubric.version, shape.text, "system", text, "user", "")
    return PromptMessage(role="system", text=text), hashlib.sha256("\x00".join(parts).encode())


def _key_facts(request: JudgeRequest) -> str | None:
    facts = [f"{n}. {one_line(fact)}" for n, fact in enumerate(request.expected_key_facts, 1)]
    return "\n".join(facts) or None


def _expected_answer(request: JudgeRequest) -> str | None:
    text = clean_text(request.expected_answer or "")
    return text if text.strip() else None


def _citations(request: JudgeRequest) -> str | None:
    return "\n".join(dict.fromkeys(map(_citation_line, request.citations))) or None


_HISTORY: Final = "earlier_messages"
_TEXTS: Final[Mapping[str, Callable[[JudgeRequest], str | None]]] = {
    _HISTORY: lambda request: "\n\n".join(map(clean_text, request.history)) or None,
    "question": lambda request: clean_text(request.question),
    "key_facts": _key_facts,
    "expected_answer": _expected_answer,
    "answer": lambda request: clean_text(request.answer),
    "citations": _citations,
}
"""Parts of a request that are one text, in the order of the prompt; None: left out."""


def _citation_line(citation: Citation) -> str:
    if citation.rel_path is None:
        return "- a number that no passage has"
    return f"- {_source(citation.rel_path, citation.heading_path)}"


@lru_cache(maxsize=1024)
def _source(rel_path: str, heading_path: str | None) -> str:
    names = {"file": rel_path, "heading": heading_path}
    return ", ".join(f"{what} {quoted(name, _NAME_CHARS)}" for what, name in names.items() if name)


def _passages(rubric: Rubric, request: JudgeRequest) -> tuple[Passage, ...]:
    bare = "context_without_reference" in rubric.data and not _has_reference(request)
    return request.context if bare or "context" in rubric.data else ()


def _fitting(passages: Sequence[Passage], used: int) -> list[tuple[str, str]]:
    """Return source line and clean text of the passages that fit, at least of the first."""
    shown: list[tuple[str, str]] = []
    for number, passage in enumerate(passages, 1):
        source = f"Passage [{number}] {_source(passage.rel_path, passage.heading_path)}".strip()
        text = clean_text(passage.text)
        used += len(source) + len(text)
        if shown and used > _MAX_CHARS:
            break
        shown.append((source, text))
    return shown


def _render_data(rest: Sequence[tuple[str, str]], passages: Sequence[tuple[str, str]]) -> str:
    texts = [text for _, text in (*rest, *passages)]
    boundary = derive_boundary(texts, avoid=[source for source, _ in passages])
    blocks = [f"Boundary: {boundary}"]
    # The passages come first, so that the judged answer is nearest to the reply.
    for number, (source, text) in enumerate(passages, 1):
        blocks.append(f"{source}\n{fence(f'passage {number}', text, boundary)}")
    blocks += [fence(label, text, boundary) for label, text in rest]
    return "\n\n".join(blocks)


def repair_messages(
    prompt: Prompt, reply_text: str, failure: JudgeFailure
) -> tuple[PromptMessage, ...]:
    """Return the messages of the one repair turn.

    The second message names the fault and contains the bad reply as fenced data: a reply may repeat
    instructions of an answer. No turn is added, because some chat templates refuse two turns of one
    role in a row.

    Args:
        prompt: prompt that the reply answered.
        reply_text: the reply, of which 4,000 characters are shown.
        failure: reason why it is not a verdict.
    """
    *before, data = prompt.messages
    reply = clean_text(reply_text[:_REPLY_CHARS])
    boundary = derive_boundary([reply], avoid=[data.text, failure.message])
    repair = (
        f"An earlier reply to this could not be used: {quoted(failure.message, 500)}\n"
        f"It stands below, as data, within the boundary {boundary}. Judge again and reply with"
        " one JSON object of the shape given, and nothing else.\n\n"
        f"{fence('earlier reply', reply, boundary)}"
    )
    return (*before, PromptMessage(role=data.role, text=f"{data.text}\n\n{repair}"))
