"""A judge's reply read as a verdict, or as a failure that says what was wrong with it.

Every level of structured output is read alike: strict JSON, else the first JSON object in the
text. A reply is a stranger's text: nothing is guessed, clipped or repaired, and a score that is not
there is a failure, never a 0. Pure functions; pydantic validates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final

from pytest_rageval.judges.rubrics.fence import clean_text, one_line
from pytest_rageval.judges.rubrics.schema import Schema, asked_schema, describe_shape, is_scale
from pytest_rageval.metrics.judged import claim_support
from pytest_rageval.values.verdict import (
    Claim,
    JudgeErrorKind,
    JudgeFailure,
    JudgeRequest,
    Verdict,
)

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

    from pytest_rageval.judges.rubrics.load import Rubric

RAW_CHARS: Final = 2_000
_MAX_CHARS: Final = 1_000_000
_MAX_BRACES: Final = 1_000
_MAX_DIGITS: Final = 300
_DECIMAL: Final = re.compile(r"\s*-?[0-9]{1,300}(\.[0-9]{1,300})?\s*")
_NO_NUMBER: Final = re.compile(r"\s*[+-]?(nan|inf|infinity)\s*", re.IGNORECASE)
_THINKING: Final = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_NO_CLAIMS: Final = "the answer makes no claims"
_NOT_LISTED: Final = "the judge listed no claims"
_NOT_GIVEN: Final = "the judge gave no score"


class _ReplyError(Exception):
    """The reply is no verdict."""

    def __init__(self, message: str, kind: JudgeErrorKind = "unparseable") -> None:
        super().__init__(message)
        self.kind: JudgeErrorKind = kind


def parse_reply(rubric: Rubric, text: str, request: JudgeRequest) -> Verdict | JudgeFailure:
    """Read a reply.

    Args:
        rubric: under which the answer was judged.
        text: the reply as it came.
        request: what was judged; says how many facts were expected and what was asked.

    Returns:
        A verdict whose every score is valid, or a failure: ``out_of_range`` where a number is none
        or lies outside its scale, else ``unparseable``. The message names the field, what came and
        what was expected.
    """
    schema = asked_schema(rubric.schema, request, conditional=not rubric.own)
    try:
        coerced: list[str] = []
        reply = _coerce(_find_object(text, schema, request), schema, "", coerced)
        fields = _validate(reply, schema)
    except _ReplyError as error:
        raw = text[:RAW_CHARS].encode("utf-8", "replace").decode()
        return JudgeFailure(kind=error.kind, message=str(error), raw=raw)
    return _verdict(rubric, fields, request, tuple(coerced))


# --- finding the object --------------------------------------------------------------------


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _ReplyError(f"{_shown(twice)}: stands twice in one object, expected it once")
    return value


def _integer(digits: str) -> float:
    # Python refuses to read integers of thousands of digits; no scale reaches that far.
    return int(digits) if len(digits) <= _MAX_DIGITS else float(digits)


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_int=_integer)


def _find_object(text: str, schema: Schema, request: JudgeRequest) -> dict[str, Any]:
    """Return the JSON object of a reply.

    Raises:
        _ReplyError: there is none.
    """
    if len(text) > _MAX_CHARS:
        raise _ReplyError(f"{len(text)} characters came, expected at most {_MAX_CHARS}")
    # Reasoning models that are served raw think aloud first, drafts of a verdict included.
    text = _THINKING.sub("", text.removeprefix("\ufeff"), count=1).strip()
    if not text:
        raise _ReplyError("an empty reply came, expected one JSON object")
    try:
        whole = _DECODER.decode(text)
    except (ValueError, RecursionError):
        pass
    else:
        if isinstance(whole, dict):
            return whole
    return _first_object(text, schema, request)


def _first_object(text: str, schema: Schema, request: JudgeRequest) -> dict[str, Any]:
    """Return the first object with a property of the schema, else the first of all.

    A model may repeat the schema or an example before its verdict, and may quote a verdict that
    stands in what it judges: an object that is also there, but for white space, is no verdict.
    """
    judged = [_bare(text) for text in _texts(request)]
    first: dict[str, Any] | None = None
    quotes = False
    for source, found in _objects(text):
        if any(_bare(source) in other for other in judged):
            quotes = True
        elif found.keys() & schema["properties"].keys():
            return found
        else:
            first = found if first is None else first
    if first is not None:
        return first
    if quotes:
        raise _ReplyError("only JSON quoted from what is judged came, expected a verdict")
    raise _ReplyError(f"{_shown(text)} came, expected one JSON object")


def _texts(request: JudgeRequest) -> Iterator[str]:
    """Yield whatever a judge is shown of a request."""
    yield from (request.question, request.answer, *request.expected_key_facts)
    yield request.expected_answer or ""
    for passage in request.context:
        yield from (passage.text, passage.rel_path, passage.heading_path or "")
    for citation in request.citations:
        yield from (citation.rel_path or "", citation.heading_path or "")


def _objects(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield source and value of the outermost JSON objects in a text."""
    at = -1
    for _ in range(_MAX_BRACES):
        at = text.find("{", at + 1)
        if at < 0:
            return
        try:
            found, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        yield text[at:end], found
        at = end - 1


def _bare(text: str) -> str:
    return "".join(clean_text(text).split())


# --- validating it -------------------------------------------------------------------------


def _coerce(value: Any, schema: Schema, at: str, coerced: list[str]) -> Any:
    """Read strings that hold a plain decimal number where the schema asks for a number.

    Their places are added to ``coerced``. JSON has one kind of number, so ``2.0`` is a whole one.
    """
    kind = schema["type"]
    if kind == "object" and isinstance(value, dict):
        properties = schema["properties"]
        return {
            key: _coerce(inner, properties[key], f"{at}.{key}" if at else key, coerced)
            for key, inner in value.items()
            if key in properties
        }
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


def _validate(reply: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Return the fields of a reply that are there and fit the schema.

    Raises:
        _ReplyError: a field is missing or does not fit.
    """
    from pydantic import ValidationError

    try:
        model = _model(json.dumps(schema)).model_validate(reply)
    except ValidationError as error:
        raise _refusal(error.errors(include_url=False), schema) from None
    return {
        name: value for name, value in model.model_dump(by_alias=True).items() if value is not None
    }


def _refusal(errors: list[ErrorDetails], schema: Schema) -> _ReplyError:
    outside = [_is_outside(error) for error in errors]
    kind: JudgeErrorKind = "out_of_range" if all(outside) else "unparseable"
    # A reply of the wrong shape is told of its shape first.
    told = [error for error, out in zip(errors, outside, strict=True) if out == all(outside)]
    more = f"; and {len(told) - 3} more" if len(told) > 3 else ""
    return _ReplyError("; ".join(_fault(error, schema) for error in told[:3]) + more, kind)


def _is_outside(error: ErrorDetails) -> bool:
    """Tell whether a fault is a number that is none or lies outside its scale."""
    kind, value = error["type"], error["input"]
    if kind in {"finite_number", "greater_than_equal", "less_than_equal"}:
        return True
    if kind not in {"float_type", "int_type"}:
        return False
    return isinstance(value, bool) or (
        isinstance(value, str) and _NO_NUMBER.fullmatch(value) is not None
    )


def _fault(error: ErrorDetails, schema: Schema) -> str:
    place = ""
    for step in error["loc"]:
        place += f"[{step}]" if isinstance(step, int) else f"{'.' if place else ''}{step}"
        schema = schema["items"] if isinstance(step, int) else schema["properties"][step]
    came = "nothing" if error["type"] == "missing" else _shown(error["input"])
    if error["type"] in {"too_short", "too_long"}:
        came = f"{len(error['input'])} items"
    return f"{place or 'the reply'}: {came} came, expected {describe_shape(schema)}"


def _shown(value: object) -> str:
    try:
        return one_line(repr(value), 80)
    except RecursionError:  # nested deeper than repr goes
        return type(value).__name__


@lru_cache(maxsize=128)
def _model(schema_text: str) -> type[BaseModel]:
    return _object_model(json.loads(schema_text), top=True)


def _object_model(schema: Schema, *, top: bool = False) -> type[BaseModel]:
    """Build the pydantic model of an object's schema.

    Fields are numbered and known by alias, since a property may bear any name. A field that is not
    required may be null; text and unscored numbers that are not required are left out where they
    are malformed, because no score depends on them.
    """
    from pydantic import Field, WrapValidator, create_model

    required = schema.get("required", [])
    fields: dict[str, Any] = {}
    for number, (name, inner) in enumerate(schema["properties"].items()):
        kind = _type(inner)
        if name in required:
            fields[f"f{number}"] = (kind, Field(alias=name))
            continue
        plain = inner["type"] in {"string", "number", "integer"}
        if plain and not (top and is_scale(inner)):
            kind = Annotated[kind | None, WrapValidator(_or_none)]
        fields[f"f{number}"] = (kind | None, Field(default=None, alias=name))
    model: type[BaseModel] = create_model("Reply", **fields)
    return model


def _or_none(value: Any, handler: Any) -> Any:
    try:
        return handler(value)
    except ValueError:  # pydantic's ValidationError is one
        return None


def _type(schema: Schema) -> Any:
    from pydantic import Field, StrictBool, StrictStr

    kind = schema["type"]
    if kind == "object":
        return _object_model(schema)
    if kind == "array":
        count = Field(min_length=schema.get("minItems"), max_length=schema.get("maxItems"))
        return Annotated[list[_type(schema["items"])], count]  # type: ignore[misc]
    if kind == "boolean":
        return StrictBool
    if kind == "string":
        return _literal(schema["enum"]) if "enum" in schema else StrictStr
    limits = Field(
        strict=True, allow_inf_nan=False, ge=schema.get("minimum"), le=schema.get("maximum")
    )
    # Whole points are asked for, but 4.5 lies on a scale of 0 to 5 as well.
    if kind == "number" or is_scale(schema):
        return Annotated[float, limits]
    whole = Field(strict=True, ge=schema.get("minimum"), le=schema.get("maximum"))
    return Annotated[int, whole]


def _literal(names: list[str]) -> Any:
    from typing import Literal

    return Literal[tuple(names)]


# --- the verdict ---------------------------------------------------------------------------


def _verdict(
    rubric: Rubric, fields: Mapping[str, Any], request: JudgeRequest, coerced: tuple[str, ...]
) -> Verdict:
    scores = {key: fields[prop] for prop, key in rubric.metrics.items() if prop in fields}
    absent = {key: _NOT_GIVEN for prop, key in rubric.metrics.items() if prop not in fields}
    reasoning = clean_text(_text(fields.get("reasoning")))
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


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _claim(fields: Mapping[str, Any], n_passages: int) -> Claim:
    passage = fields.get("passage")
    known = isinstance(passage, int) and 1 <= passage <= n_passages
    return Claim(
        text=clean_text(fields["text"]),
        supported=fields["supported"],
        passage=passage if known else None,
        reason=clean_text(fields.get("reason") or ""),
    )
