"""Parsing of a judge's reply into a verdict, or into a failure that names the fault.

Every level of structured output is read alike: strict JSON, else the last JSON object of the text
outside thoughts. A reply is untrusted: nothing is guessed, clipped or repaired, two verdicts are
none, and a missing score is a failure, never a 0. Pure functions; jsonschema finds the faults of a
reply that does not fit.
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
from pytest_rageval.support.json_text import json_objects
from pytest_rageval.support.text import first_repeated
from pytest_rageval.support.thoughts import without_thoughts
from pytest_rageval.values.diagnoses.table import Fact
from pytest_rageval.values.lenient import number
from pytest_rageval.values.verdict import Claim, JudgeFailure, JudgeRequest, Verdict, judge_failure

if TYPE_CHECKING:
    from jsonschema import ValidationError

RAW_CHARS: Final = 2_000
_MAX_CHARS: Final = 1_000_000
_MOST_OBJECTS: Final = 50
"""JSON objects of a reply that may be its verdict."""
_MAX_DIGITS: Final = 300
_MOST_FAULTS: Final = 1_000
"""Faults of one reply that are looked at; each takes kilobytes while it is."""
_DECIMAL: Final = re.compile(r"\s*-?[0-9]{1,300}(\.[0-9]{1,300})?\s*")
_NO_NUMBER: Final = re.compile(r"\s*[+-]?(nan|inf|infinity)\s*", re.IGNORECASE)
_SETS_FIELD: Final = re.compile(
    r"\b(?P<name>\w{1,64})\b[\"'*`]{0,4}[ \t]{0,4}[:=][ \t]{0,4}[\"'*`]{0,4}"
    r"(?P<value>-?(?:0|[1-9][0-9]{0,99})(?:\.[0-9]{1,99})?\b(?!%)|true\b|false\b)",
    re.IGNORECASE,
)
"""A field with a number or a boolean, as in YAML or in prose."""
_NO_CLAIMS: Final = "the answer makes no claims"
_NOT_LISTED: Final = "the judge listed no claims"
_NOT_GIVEN: Final = "the judge gave no score"


class _ReplyError(Exception):
    """The reply is not a verdict: a code of ``values.diagnoses.judge`` and its facts."""

    def __init__(self, code: str, /, **facts: Fact) -> None:
        super().__init__(code)
        self.code, self.facts = code, facts


def parse_reply(rubric: Rubric, text: str, request: JudgeRequest) -> Verdict | JudgeFailure:
    """Read a reply.

    Returns:
        A verdict whose every score is valid, or a failure: ``out_of_range`` if a number is not
        finite or is outside its scale, else ``unparseable``. The message names the field, the value
        received and the one expected.
    """
    schema = shape_of(rubric, request).asked
    try:
        fields, coerced = _read(text, schema, request)
    except _ReplyError as error:
        raw = text[:RAW_CHARS].encode("utf-8", "replace").decode()
        return judge_failure(error.code, raw=raw, **error.facts)
    return _verdict(rubric, fields, request, tuple(coerced))


# --- finding the object --------------------------------------------------------------------


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        twice = first_repeated(key for key, _ in pairs)
        raise _ReplyError("duplicate_key", field=_shown(twice))
    return value


# Python refuses to read integers of thousands of digits; no scale reaches that far. Grammars of
# some servers let the model write raw line breaks into strings, which strict JSON does not allow.
_DECODER: Final = json.JSONDecoder(
    strict=False,
    object_pairs_hook=_unique,
    parse_int=lambda digits: int(digits) if len(digits) <= _MAX_DIGITS else float(digits),
)


def _read(text: str, schema: Schema, request: JudgeRequest) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a reply's verdict, and the places of those that were coerced.

    Raises:
        _ReplyError: the reply does not contain one, or contains two that differ.
    """
    if len(text) > _MAX_CHARS:
        raise _ReplyError("long", n_chars=len(text), most=_MAX_CHARS)
    text = text.removeprefix("\ufeff").strip()
    with suppress(ValueError, RecursionError):
        whole = _DECODER.decode(text)
        if isinstance(whole, dict):
            return _checked(whole, schema)
    text = without_thoughts(text).strip()
    if not text:
        raise _ReplyError("empty")
    found = list(json_objects(text, _DECODER))
    if not found:
        raise _ReplyError("no_object", found=_shown(text))
    like = [one for one in found if one[2].keys() & schema["properties"].keys()] or found[-1:]
    if len(like) > _MOST_OBJECTS:
        raise _ReplyError("many_objects", n=len(like))
    # Compared without white space, which a model does not quote faithfully.
    judged = [value for shown in _texts(request) for value in _all_objects(_bare(shown))]
    own = [
        value for start, end, value in like if _DECODER.decode(_bare(text[start:end])) not in judged
    ]
    if not own:
        raise _ReplyError("quoted")
    fields, coerced = _checked(own[-1], schema)
    others = [_fields(value, schema)[0] for value in own[:-1]]
    if any(other != fields and fits(other, schema) for other in others):
        raise _ReplyError("two_verdicts")
    _check_end(text[found[-1][1] :], fields)
    return fields, coerced


def _checked(value: dict[str, Any], schema: Schema) -> tuple[dict[str, Any], list[str]]:
    fields, coerced = _fields(value, schema)
    _check(fields, schema)
    return fields, coerced


def _fields(value: dict[str, Any], schema: Schema) -> tuple[dict[str, Any], list[str]]:
    fields = {name: value[name] for name in schema["properties"] if name in value}
    coerced: list[str] = []
    if not fits(fields, schema):  # as most replies do at once
        fields = _coerce(value, schema, "", coerced)
    return fields, coerced


def _check_end(text: str, fields: Mapping[str, Any]) -> None:
    """Check that the text after a verdict gives no number or boolean of it another value.

    Raises:
        _ReplyError: it does, as one that corrects a draft, in YAML for instance.
    """
    for found in _SETS_FIELD.finditer(text):
        value = fields.get(found["name"].lower())
        if isinstance(value, int | float) and json.loads(found["value"].lower()) != value:
            raise _ReplyError("after_verdict", found=_shown(found[0]))


def _texts(request: JudgeRequest) -> Iterator[str]:
    yield from (request.question, request.answer, *request.expected_key_facts)
    yield request.expected_answer or ""
    for passage in request.context:
        yield from (passage.text, passage.rel_path, passage.heading_path or "")
    for citation in request.citations:
        yield from (citation.rel_path or "", citation.heading_path or "")


def _all_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in a text, and those within them."""
    values: list[Any] = [value for _, _, value in json_objects(text)]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            yield value
            values += value.values()
        elif isinstance(value, list):
            values += value


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
        raise _ReplyError("deep", expected=describe_shape(schema)) from None
    outside = [_is_outside(error) for error in errors]
    # Faults of the shape come before numbers outside their scale.
    named = [error for error, out in zip(errors, outside, strict=True) if out == all(outside)]
    faults = list(dict.fromkeys(map(_fault, named)))
    facts: dict[str, Fact] = {"faults": "; ".join(faults[:3])}
    if len(faults) > 3:
        facts["least" if len(errors) == _MOST_FAULTS else "n_more"] = len(faults) - 3
    raise _ReplyError("off_scale" if all(outside) else "fields", **facts)


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
        return Verdict(scores=scores, not_applicable=absent, reasoning=reasoning, coerced=coerced)
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
    return Verdict(
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
