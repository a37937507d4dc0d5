"""Judgements to JSON values and back, verdicts and failures alike. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from pytest_rageval.errors import StorageError
from pytest_rageval.judgements import Judgement
from pytest_rageval.record_json import to_plain

if TYPE_CHECKING:
    from pydantic import TypeAdapter


def judgement_to_json(judgement: Judgement) -> dict[str, Any]:
    """Return a judgement as JSON values, under the names of its fields."""
    document: dict[str, Any] = to_plain(judgement)
    return document


def judgement_from_json(document: Mapping[str, Any]) -> Judgement:
    """Build a judgement from JSON values; fields it does not know are left out.

    Raises:
        StorageError: a missing field, a wrong type, a score that is no finite number, or not
            exactly one of ``verdict`` and ``failure``.
    """
    from pydantic import ValidationError

    try:
        judgement = _adapter().validate_python(dict(document))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise StorageError(f"{place}: {first['msg']}") from None
    verdict, failure = judgement.verdict, judgement.failure
    if (verdict is None) == (failure is None):
        what = "neither" if verdict is None else "both"
        raise StorageError(f"verdict and failure: got {what}, expected exactly one")
    for key, score in (verdict.scores if verdict else {}).items():
        if not math.isfinite(score):
            raise StorageError(f"verdict.scores.{key}: got {score!r}, expected a finite number")
    return judgement


@cache
def _adapter() -> TypeAdapter[Judgement]:
    # Built once: it takes longer than reading hundreds of judgements.
    from pydantic import TypeAdapter

    return TypeAdapter(Judgement)
