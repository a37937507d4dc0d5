"""The command that goes on with a run."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import Final

_REPLACED: Final = ("--rageval-resume", "--rageval-run-id", "--maxfail")
_LEFT_OUT: Final = frozenset({"-x", "--exitfirst"})
"""A failure that stands would stop the run at the same place again."""


def resume_command(arguments: Iterable[str], run_id: str) -> str:
    """Return the command of a session with the option that makes it go on with a run.

    With everything that was typed, because a run goes on only under the same settings; but not
    with what made it stop at a failure.

    >>> resume_command(["evals", "-x", "--rag-k", "3", "--rageval-run-id=x"], "x")
    'pytest evals --rag-k 3 --rageval-resume x'
    """
    return shlex.join(["pytest", *_without_replaced(arguments), "--rageval-resume", run_id])


def _without_replaced(arguments: Iterable[str]) -> Iterator[str]:
    rest = iter(arguments)
    for argument in rest:
        if argument in _REPLACED:
            next(rest, None)
        elif argument not in _LEFT_OUT and not argument.startswith(
            tuple(f"{name}=" for name in _REPLACED)
        ):
            yield argument
