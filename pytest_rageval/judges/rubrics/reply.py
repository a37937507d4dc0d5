"""Parsing of a judge's reply into a verdict, or into a failure that names the fault.

Every level of structured output is read alike: strict JSON, else the first JSON object in the
text. A reply is untrusted: nothing is guessed, clipped or repaired, and a missing score is a
failure, never a 0. Pure functions; jsonschema finds the faults of a reply that does not fit.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.judges.rubrics.fence import clean_text, one_line
from pytest_rageval.judges.rubrics.load import Rubric, shape_of
from pytest_rageval.judges.rubrics.schema import Schema, describe_shape, fits, is_scale, validator
from pytest_rageval.metrics.judged import claim_support
from pytest_rageval.support.text import first_repeated
from pytest_rageval.values.dataclass import maker
from pytest_rageval.values.json_documents import number
from pytest_rageval.values.verdict import Claim, JudgeErrorKind, JudgeFailure, JudgeRequest, Verdict

if TYPE_CHECKING:
    from jsonschema import ValidationError

_make_verdict: Final = maker(Verdict)
RAW_CHARS: Final = 2_000
_MAX_CHARS: Final = 1_000_000
_MAX_BRACES: Final = 1_000
_MAX_READ: Final = 10 * _MAX_CHARS
"""Characters read in vain in search of an object."""
_MAX_DIGITS: Final = 300
_MOST_FAULTS: Final = 1_000
"""Faults of one reply that are looked at; each takes kilobytes while it is."""
_DECIMAL: Final = re.compile(r"\s*-?[0-9]{1,300}(\.[0-9]{1,300})?\s*")
_NO_NUMBER: Final = re.compile(r"\s*[+-]?(nan|inf|infinity)\s*", re.IGNORECASE)
_END_OF_THOUGHT: Final = re.compile(r"</think>(?=\s*(?:[\n{]|```))")
"""Not within a string of JSON, which may quote an answer with the tag."""
_OTHER_THOUGHTS: Final = (
    *((f"<{tag}>", f"</{tag}>") for tag in ("thinking", "thought", "reasoning")),
    ("[THINK]", "[/THINK]"),  # Magistral
    ("<|channel|>analysis", "<|channel|>final", "<|message|>"),  # gpt-oss
)
"""Mark with which a reply that begins with reasoning begins, and those that end it, in turn."""
_NO_CLAIMS: Final = "the answer makes no claims"
_NOT_LISTED: Final = "the judge listed no claims"
_NOT_GIVEN: Final = "the judge gave no score"


class _ReplyError(Exception):
    """The reply is not a verdict."""

    def __init__(self, message: str, kind: JudgeErrorKind = "unparseable") -> None:
        super().__init__(message)
        self.kind: JudgeErrorKind = kind


def parse_reply(rubric: Rubric, text: str, request: JudgeRequest) -> Verdict | JudgeFailure:
    """Read a reply.

    Returns:
        A verdict whose every score is valid, or a failure: ``out_of_range`` if a number is not
        finite or is outside its scale, else ``unparseable``. The message names the field, the value
        received and the one expected.
    """
    schema = shape_of(rubric, request).asked
    try:
        coerced: list[str] = []
        found = _find_object(text, schema, request)
        fields = {name: found[name] for name in schema["properties"] if name in found}
        if not fits(fields, schema):  # as most replies do at once
            fields = _coerce(found, schema, "", coerced)
            _check(fields, schema)
    except _ReplyError as error:
        raw = text[:RAW_CHARS].encode("utf-8", "replace").decode()
        return JudgeFailure(kind=error.kind, message=str(error), raw=raw)
    return _verdict(rubric, fields, request, tuple(coerced))


# --- finding the object --------------------------------------------------------------------


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        twice = first_repeated(key for key, _ in pairs)
        raise _ReplyError(f"{_shown(twice)}: stands twice in one object, expected it once")
    return value


# Python refuses to read integers of thousands of digits; no scale reaches that far. Grammars of
# some servers let the model write raw line breaks into strings, which strict JSON does not allow.
_DECODER: Final = json.JSONDecoder(
    strict=False,
    object_pairs_hook=_unique,
    parse_int=lambda digits: int(digits) if len(digits) <= _MAX_DIGITS else float(digits),
)


def _find_object(text: str, schema: Schema, request: JudgeRequest) -> dict[str, Any]:
    """Return the JSON object of a reply.

    Raises:
        _ReplyError: the reply does not contain one.
    """
    if len(text) > _MAX_CHARS:
        raise _ReplyError(f"{len(text)} characters came, expected at most {_MAX_CHARS}")
    text = without_reasoning(text.removeprefix("\ufeff")).strip()
    if not text:
        raise _ReplyError("an empty reply came, expected one JSON object")
    with suppress(ValueError, RecursionError):
        whole = _DECODER.decode(text)
        if isinstance(whole, dict):
            return whole
    return _first_object(text, schema, request)


def without_reasoning(text: str) -> str:
    """Return a reply without the reasoning, drafts included, with which some models start it."""
    for opening, *ends in _OTHER_THOUGHTS:
        if (rest := text.lstrip()).startswith(opening):
            for ending in ends:
                _, closed, rest = rest.partition(ending)
            return rest if closed else text
    before, opened, thinking = text.partition("<think>")
    if not opened:  # many chat templates write the first tag, which is then no part of the reply
        end = _END_OF_THOUGHT.search(text)
        return text if end is None else text[end.end() :]
    _, closed, after = thinking.partition("</think>")
    return before + after if closed else text


def _first_object(text: str, schema: Schema, request: JudgeRequest) -> dict[str, Any]:
    """Return the first object with a property of the schema, else the first object.

    A model may repeat the schema or an example before its verdict, and may quote a verdict from
    the judged texts: an object that occurs there, apart from white space, is not a verdict.
    """
    judged = [_bare(text) for text in _texts(request)]
    first: dict[str, Any] | None = None
    quotes = False
    for source, found in _objects(text):
        fitting = found.keys() & schema["properties"].keys()
        if first is not None and not fitting:  # the search below takes long in long texts
            continue
        if any(_bare(source) in other for other in judged):
            quotes = True
        elif fitting:
            return found
        else:
            first = found if first is None else first
    if first is not None:
        return first
    if quotes:
        raise _ReplyError("only JSON quoted from what is judged came, expected a verdict")
    raise _ReplyError(f"{_shown(text)} came, expected one JSON object")


def _texts(request: JudgeRequest) -> Iterator[str]:
    """Yield all texts of a request that a judge is shown."""
    yield from (request.question, request.answer, *request.expected_key_facts)
    yield request.expected_answer or ""
    for passage in request.context:
        yield from (passage.text, passage.rel_path, passage.heading_path or "")
    for citation in request.citations:
        yield from (citation.rel_path or "", citation.heading_path or "")


def _objects(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield source and value of the outermost JSON objects in a text."""
    at, left = -1, _MAX_READ
    for _ in range(_MAX_BRACES):
        at = text.find("{", at + 1)
        if at < 0 or left < 0:
            return
        try:
            found, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            # Braces that are not closed are read to the end of the text, each anew.
            left -= getattr(error, "pos", len(text)) - at
            continue
        yield text[at:end], found
        at = end - 1


def _bare(text: str) -> str:
    return "".join(clean_text(text).split())


# --- validating it -------------------------------------------------------------------------


class _Nothing:
    """The value of a required field that is missing; no type of a schema allows it."""

    def __repr__(self) -> str:
        return "nothing"


_NOTHING: Final = _Nothing()
_AS_IS: Final = frozenset({int, bool, _Nothing})
"""Types of values that are coerced to nothing else."""


def _coerce(value: Any, schema: Schema, at: str, coerced: list[str]) -> Any:
    """Read strings that hold a plain decimal number where the schema asks for a number.

    Their places are added to ``coerced``. JSON has one kind of number, so ``2.0`` is a whole one.
    A field that is not required is left out where it is null; so are malformed texts and unscored
    numbers that are not required, because no score depends on them.
    """
    kind = schema["type"]
    if kind == "object" and isinstance(value, dict):
        required, fields = schema.get("required", ()), {}
        for name, inner in schema["properties"].items():
            field = value.get(name, _NOTHING)
            if type(field) not in _AS_IS:
                field = _coerce(field, inner, f"{at}.{name}" if at else name, coerced)
            if name in required or not _is_spare(field, inner, top=not at):
                fields[name] = field
        return fields
    if kind == "array" and isinstance(value, list):
        return [
            _coerce(item, schema["items"], f"{at}[{n}]", coerced) for n, item in enumerate(value)
        ]
    if kind not in {"number", "integer"}:
        return value
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        coerced.append(at)
        value = float(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_spare(field: Any, schema: Schema, *, top: bool) -> bool:
    if field is None or field is _NOTHING:
        return True
    plain = schema["type"] in {"string", "number", "integer"}
    return plain and not (top and is_scale(schema)) and not fits(field, schema)


def _check(reply: dict[str, Any], schema: Schema) -> None:
    """Check the coerced fields of a reply.

    Raises:
        _ReplyError: a field is missing or does not fit.
    """
    if fits(reply, schema):
        return
    # A missing field is in the reply, so that all faults come in the order of the fields.
    try:
        errors = list(islice(validator(schema).iter_errors(reply), _MOST_FAULTS))
    except RecursionError:  # the library's message contains the repr of values
        raise _ReplyError(f"nested too deep, expected {describe_shape(schema)}") from None
    outside = [_is_outside(error) for error in errors]
    kind: JudgeErrorKind = "out_of_range" if all(outside) else "unparseable"
    # Faults of the shape come before numbers outside their scale.
    named = [error for error, out in zip(errors, outside, strict=True) if out == all(outside)]
    faults = list(dict.fromkeys(map(_fault, named)))
    least = "at least " if len(errors) == _MOST_FAULTS else ""
    more = f"; and {least}{len(faults) - 3} more" if len(faults) > 3 else ""
    raise _ReplyError("; ".join(faults[:3]) + more, kind)


def _is_outside(error: ValidationError) -> bool:
    """Return whether a fault is a number that is not finite or is outside its scale."""
    value = error.instance
    if error.validator in {"minimum", "maximum"}:
        return True
    if error.validator == "enum":
        return number(value) is not None
    if error.validator != "type" or error.validator_value not in {"number", "integer"}:
        return False
    if isinstance(value, str):
        return _NO_NUMBER.fullmatch(value) is not None
    return isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value))


def _fault(error: ValidationError) -> str:
    value: Any = error.instance
    schema: Any = error.schema
    place = ""
    for step in error.absolute_path:
        place += f"[{step}]" if isinstance(step, int) else f"{'.' if place else ''}{step}"
    counted = error.validator in {"minItems", "maxItems"}
    came = f"{len(value)} items" if counted else _shown(value)
    return f"{place}: {came} came, expected {describe_shape(schema)}"


def _shown(value: object) -> str:
    try:
        return one_line(repr(value), 80)
    except RecursionError:  # nested too deep for repr
        return type(value).__name__


# --- the verdict ---------------------------------------------------------------------------


def _verdict(
    rubric: Rubric, fields: Mapping[str, Any], request: JudgeRequest, coerced: tuple[str, ...]
) -> Verdict:
    scores = {key: float(fields[prop]) for prop, key in rubric.metrics.items() if prop in fields}
    absent = {key: _NOT_GIVEN for prop, key in rubric.metrics.items() if prop not in fields}
    said = fields.get("reasoning")
    reasoning = clean_text(said if isinstance(said, str) else "")
    if rubric.own:
        return _make_verdict(
            scores=scores, not_applicable=absent, reasoning=reasoning, coerced=coerced
        )
    claims = tuple(_claim(claim, len(request.context)) for claim in fields.get("claims", ()))
    if rubric.name in {"groundedness", "claims"}:
        supported = sum(claim.supported for claim in claims)
        share = claim_support(supported, len(claims) - supported)
        if share is None:
            absent["claim_support_rate"] = _NO_CLAIMS if "claims" in fields else _NOT_LISTED
        else:
            scores["claim_support_rate"] = share
    facts = tuple(fields["key_facts"]) if "key_facts" in fields else None
    if facts is not None:
        scores["key_fact_recall"] = sum(facts) / len(facts)
    return _make_verdict(
        scores=scores,
        not_applicable=absent,
        reasoning=reasoning,
        claims=claims,
        key_facts_found=facts,
        abstained=fields.get("abstained"),
        acknowledges_conflict=fields.get("acknowledges_conflict"),
        coerced=coerced,
    )


def _claim(fields: Mapping[str, Any], n_passages: int) -> Claim:
    passage = fields.get("passage")
    known = isinstance(passage, int) and 1 <= passage <= n_passages
    return Claim(
        text=clean_text(fields["text"]),
        supported=fields["supported"],
        passage=passage if known else None,
        reason=clean_text(fields.get("reason") or ""),
    )
