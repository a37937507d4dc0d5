"""The exceptions of the package.

RagEvalError
├── ConfigError         settings, options, thresholds.toml (pytest exit 4, command exit 2)
├── DatasetError        case files (pytest exit 2, command exit 2)
├── EndpointError       the target could not be asked or its reply could not be read
├── JudgeError          a judge gave no valid verdict
└── StorageError        a run folder could not be read or written

A missed threshold is a result, not an exception.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final, Literal, get_args

TargetErrorKind = Literal[
    "timeout", "connection", "http", "target", "protocol", "raised", "fixture", "empty",
    "not_attempted",
]  # fmt: skip
"""Reason for which a case has no answer (see ``ErrorInfo``): ``target`` is an error that the reply
reports itself in the field ``error``, ``protocol`` a reply of another shape, ``raised`` an
exception in the user's client, ``fixture`` one in a fixture of the case."""

Fact = str | int
"""A value that a sentence names."""

TARGET_ERROR_KINDS: Final[tuple[TargetErrorKind, ...]] = get_args(TargetErrorKind)


_LINE_CHARS: Final = 1000
_LINES: Final = 300


class RagEvalError(Exception):
    """Base class: its text is one line (or one line per fault) meant for a user.

    It has at most 300 lines of 1000 characters, because it may quote a value of any length.
    """

    def __init__(self, message: str = "") -> None:
        if len(message) > _LINES:  # fewer characters are not too many of either
            lines = message.split("\n")
            kept = (x if len(x) <= _LINE_CHARS else f"{x[: _LINE_CHARS - 3]}..." for x in lines)
            more = [f"and {len(lines) - _LINES:,} more lines"] if lines[_LINES:] else []
            message = "\n".join([*islice(kept, _LINES), *more])
        super().__init__(message)


Code = Literal[
    "missing", "unknown", "type", "bound", "choice", "value", "duplicate", "no_runs", "invalid",
]  # fmt: skip
"""Kind of a fault; ``value``: no type, bound or choice, but a check refuses it; ``invalid``: all
others."""
_GOT: Final = "got {found}, expected {expected}"
_SENTENCES: Final[Mapping[Code, str]] = {
    "missing": "missing",
    "unknown": "unknown {what}",
    "type": _GOT,
    "bound": _GOT,
    "choice": _GOT,
    "value": _GOT,
    "duplicate": "{found} is already {owner}",
    "no_runs": "no runs in {folder} yet: run `{command}` first",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing wrong with a file that people write; its text is one line of an error."""

    code: Code = "invalid"
    facts: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Values that its sentence names: ``found``, ``expected``, ``nearest`` and others."""
    file: str = ""
    """Path as shown to the user; empty for a value that no file holds."""
    line: int = 0
    """From 1; 0: the file as a whole."""
    field: str = ""
    """Such as ``gold_supports[0].grade``; empty: the whole line."""

    loc: tuple[int | str, ...] = ()
    """The same as keys and list indices from the outside in, where it is a path."""
    message: str = ""
    """The sentence where the code has none."""

    @property
    def text(self) -> str:
        """The sentence: of its code with its facts."""
        if self.message:
            return self.message
        near = self.facts.get("nearest")
        text = _SENTENCES[self.code].format_map(self.facts)
        if near:
            return f'{text}, did you mean "{near}"{self.facts.get("home", "")}?'
        return text + self.facts.get("advice", "")

    def below(self, place: str, **where: Any) -> Fault:
        """Return it as a fault of a part of a place, in a file and line if given."""
        link = " " if place.endswith("]") else "" if self.field.startswith("[") else "."
        return replace(self, field=f"{place}{link}{self.field}" if self.field else place, **where)

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.file and self.line else self.file
        return ": ".join(part for part in (where, self.field, self.text) if part)


class ConfigError(RagEvalError):
    """A setting, option or thresholds.toml is wrong.

    Args:
        message: the faults, one a line.
        faults: the same as values; empty where the fault is not in a file or an option.
    """

    def __init__(self, message: str, *, faults: tuple[Fault, ...] = ()) -> None:
        super().__init__(message)
        self.faults = faults


class DatasetError(RagEvalError):
    """One or more case files hold faults; the text lists every one of them.

    Args:
        message: the faults, one a line.
        faults: the same as values; empty where the fault is not in a line of a case file.
    """

    def __init__(self, message: str, *, faults: tuple[Fault, ...] = ()) -> None:
        super().__init__(message)
        self.faults = faults


class EndpointError(RagEvalError):
    """The target failed.

    Args:
        kind: one of ``TARGET_ERROR_KINDS``.
        message: what happened, without secrets.
        attempts: how many requests were sent (0 if none was).
        code: row of ``values.diagnoses``; empty: an error of other code.
        facts: values that the sentence names, without secrets, such as ``status``.
    """

    def __init__(
        self,
        kind: TargetErrorKind,
        message: str,
        *,
        attempts: int = 1,
        code: str = "",
        facts: Mapping[str, Fact] | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: TargetErrorKind = kind
        self.message = str(self)
        self.attempts = attempts
        self.code = code
        self.facts: Mapping[str, Fact] = dict(facts or {})


class JudgeError(RagEvalError):
    """A judge gave no valid verdict."""


class StorageError(RagEvalError):
    """A run folder or the judge's cache could not be found, read or written."""


_LISTED: Final = 20


def faults_error(faults: Iterable[Fault]) -> DatasetError:
    """Return an error of one or more faults, one a line; of very many, the first and a count."""
    faults = tuple(faults)
    lines = [*map(str, faults[:_LISTED]), *_summary(faults[_LISTED:])]
    return DatasetError("\n".join(lines), faults=faults)


def _summary(more: Sequence[Fault]) -> Iterator[str]:
    """Yield the number of the faults that are not listed, and the most frequent kinds."""
    if not more:
        return
    yield f"and {len(more):,} more {'faults' if more[1:] else 'fault'}, from {_place(more[0])} on"
    kinds = Counter((fault.field, fault.facts.get("found") or fault.text) for fault in more)
    for (place, message), n in kinds.most_common(3):
        yield f"  {n:,} x {': '.join(part for part in (place, message[:100]) if part)}"


def _place(fault: Fault) -> str:
    return f"{fault.file}:{fault.line}" if fault.line else fault.file or "there"
