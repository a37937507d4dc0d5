"""Mappings that cannot be changed, and records that hold no others."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Final, NoReturn, TypeVar

from pytest_rageval.values.record import CaseRecord, CaseScores, CaseVerdicts
from pytest_rageval.values.reply import AskResponse

_Part = TypeVar("_Part", CaseRecord, CaseScores, CaseVerdicts, AskResponse)

MESSAGE: Final = (
    "eval_record is read-only, the run keeps the record as it was scored: change a dict(...) of it "
    "in the test; a figure that the run is to store comes from a rubric of your own "
    "(docs/rubrics.md)"
)


class ReadOnlyDict(dict[str, Any]):
    """A dict that raises TypeError when it is changed.

    It can be pickled, copied, compared with a dict and written by ``json``, which a
    ``MappingProxyType`` cannot.
    """

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        __tracebackhide__ = True  # pytest then points at the line of the test
        raise TypeError(MESSAGE)

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild it from a dict: the default way sets items one by one."""
        return type(self), (dict(self),)


def read_only(record: CaseRecord) -> CaseRecord:
    """Return a copy of a record whose mappings raise TypeError when they are changed.

    Lists within them are copied, so that no change reaches the original.
    """
    response = record.response
    return replace(
        _frozen_fields(record),
        scores=_frozen_fields(record.scores),
        verdicts=_frozen_fields(record.verdicts),
        response=None if response is None else _frozen_fields(response),
    )


def _frozen_fields(part: _Part) -> _Part:
    values = ((field.name, getattr(part, field.name)) for field in fields(part))
    return replace(part, **{name: _frozen(v) for name, v in values if isinstance(v, dict)})


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return ReadOnlyDict({key: _frozen(item) for key, item in value.items()})
    return [_frozen(item) for item in value] if isinstance(value, list) else value
