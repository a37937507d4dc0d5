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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self, get_args

from pytest_rageval.values.diagnoses.input import input_sentence
from pytest_rageval.values.diagnoses.judge import judge_sentence
from pytest_rageval.values.diagnoses.table import (
    WORDS,
    Fact,
    Facts,
    TargetErrorKind,
    known,
    with_code,
)
from pytest_rageval.values.diagnoses.target import TARGET, target_sentence

TARGET_ERROR_KINDS: Final[tuple[TargetErrorKind, ...]] = get_args(TargetErrorKind)
_LINE_CHARS: Final = 1000
_LINES: Final = 300


class RagEvalError(Exception):
    """Base class: its text is one line (or one line per fault) meant for a user.

    It has at most 300 lines of 1000 characters, because it may quote a value of any length.

    Args:
        message: the faults, one a line.
        faults: the same as values; empty where the text is that of other code.
    """

    def __init__(self, message: str = "", *, faults: Iterable[Fault] = ()) -> None:
        if len(message) > _LINES:  # fewer characters are not too many of either
            lines = message.split("\n")
            kept = (x if len(x) <= _LINE_CHARS else f"{x[: _LINE_CHARS - 3]}..." for x in lines)
            more = [f"and {len(lines) - _LINES:,} more lines"] if lines[_LINES:] else []
            message = "\n".join([*islice(kept, _LINES), *more])
        super().__init__(message)
        self.faults = tuple(faults)

    @classmethod
    def of(cls, place: object, code: str, /, **facts: object) -> Self:
        """Return an error of one fault; facts that are None or empty are left out.

        Args:
            place: path, option or setting with the fault; empty: its sentence names it.
            code: row of ``values.diagnoses.input``.
            facts: values that the sentence names.
        """
        fault = Fault(code=code, facts=known(facts))
        where = {"file" if isinstance(place, Path) else "field": str(place)}
        return cls.of_faults([replace(fault, **where)])  # type: ignore[arg-type]

    @classmethod
    def of_faults(cls, faults: Iterable[Fault]) -> Self:
        """Return an error of faults, one a line."""
        faults = tuple(faults)
        return cls("\n".join(map(str, faults)), faults=faults)

    def within(self, place: str = "", /, *, file: str = "", **facts: object) -> Self:
        """Return it with a file, or with a place before its own, and with more facts."""
        more = known(facts)
        other = Fault(code="invalid", facts={"reason": str(self)})  # raised by other code
        return self.of_faults(
            replace(
                one,
                file=file or one.file,
                field=": ".join(filter(None, (place, one.field))),
                facts={**one.facts, **more},
            )
            for one in self.faults or [other]
        )

    @property
    def reason(self) -> str:
        """The text without its file, on one line."""
        return "; ".join(str(replace(one, file="")) for one in self.faults) or str(self)

    @property
    def coded(self) -> str:
        """The text with the code of each message at the end of its line."""
        codes = {str(one): one.code for one in self.faults}
        lines = str(self).split("\n")
        return "\n".join(with_code(line, "input", codes.get(line, "")) for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing wrong with a file that people write; its text is one line of an error."""

    code: str
    """Row of ``values.diagnoses.input``."""
    facts: Facts = field(default_factory=dict, hash=False)
    """Values that its sentence names: ``found``, ``expected``, ``nearest`` and others."""
    file: str = ""
    """Path as shown to the user; empty for a value that no file holds."""
    line: int = 0
    """From 1; 0: the file as a whole."""
    field: str = ""
    """Such as ``gold_supports[0].grade``; empty: the whole line."""

    loc: tuple[int | str, ...] = ()
    """The same as keys and list indices from the outside in, where it is a path."""

    @property
    def text(self) -> str:
        """The sentence: of its code with its facts."""
        return input_sentence(self.code, self.facts)

    def below(self, place: str, **where: Any) -> Fault:
        """Return it as a fault of a part of a place, in a file and line if given."""
        link = " " if place.endswith("]") else "" if self.field.startswith("[") else "."
        return replace(self, field=f"{place}{link}{self.field}" if self.field else place, **where)

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.file and self.line else self.file
        return ": ".join(part for part in (where, self.field, self.text) if part)


class ConfigError(RagEvalError):
    """A setting, option or thresholds.toml is wrong."""


class DatasetError(RagEvalError):
    """One or more case files hold faults; the text lists every one of them."""


class EndpointError(RagEvalError):
    """The target failed.

    Args:
        kind: one of ``TARGET_ERROR_KINDS``.
        message: what happened, without secrets.
        attempts: how many requests were sent (0 if none was).
        code: row of ``values.diagnoses.target``; empty: an error of other code.
        facts: values that the sentence names, without secrets, such as ``status``.
    """

    def __init__(
        self,
        kind: TargetErrorKind,
        message: str,
        *,
        attempts: int = 1,
        code: str = "",
        facts: Facts | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: TargetErrorKind = kind
        self.message = str(self)
        self.attempts = attempts
        self.code = code
        self.facts: Facts = dict(facts or {})

    @property
    def coded(self) -> str:
        """The text with its code at its end."""
        return with_code(str(self), "target", self.code)


def target_error(code: str, /, *, attempts: int = 1, **facts: Fact | None) -> EndpointError:
    """Return an error of a code; facts that are None or empty are left out."""
    named = known(facts)
    return EndpointError(
        TARGET[code].kind, target_sentence(code, named), attempts=attempts, code=code, facts=named
    )


def with_facts(error: EndpointError, code: str = "", /, **facts: Fact | None) -> EndpointError:
    """Return an error with more facts, and of another code if one is given; both are optional."""
    more, code = known(facts), code or error.code
    every = {**error.facts, **more}
    ours = code in TARGET
    kind = error.kind if code == error.code else TARGET[code].kind
    text = target_sentence(code, every if ours else more, error.message)
    return EndpointError(kind, text, attempts=error.attempts, code=code, facts=every)


class JudgeError(RagEvalError):
    """A judge gave no valid verdict, or a model no draft.

    Args:
        code: row of ``values.diagnoses.judge``.
        facts: values that the sentence names, without secrets; None and empty ones are left out.
    """

    def __init__(self, code: str, /, **facts: Fact | None) -> None:
        super().__init__(judge_sentence(code, known(facts)))
        self.code = code

    @property
    def coded(self) -> str:
        """The text with its code at its end."""
        return with_code(str(self), "judge", self.code)


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
    yield WORDS.format("and {:more fault}, from {} on", len(more), _place(more[0]))
    kinds = Counter((fault.field, fault.facts.get("found") or fault.text) for fault in more)
    for (place, message), n in kinds.most_common(3):
        yield f"  {n:,} x {': '.join(part for part in (place, str(message)[:100]) if part)}"


def _place(fault: Fault) -> str:
    return f"{fault.file}:{fault.line}" if fault.line else fault.file or "there"
