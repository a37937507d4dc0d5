"""One command or reader under attack, and what of its behaviour is a fault of ours."""

from __future__ import annotations

import contextlib
import io
import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

from pytest_rageval.cli import main as cli
from pytest_rageval.values.errors import RagEvalError

MOST_S = 5.0
"""CPU seconds after which a call counts as hanging; other processes do not count."""
MOST_WAIT_S = 60.0
"""Seconds after which a call counts as waiting for ever, beside whatever else runs."""
MOST_CHARS = 200_000
CODES = frozenset({0, 1, 2, 3, 4})

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Controls but tab and line feed, C1 controls and marks of direction, which steer a terminal."""


class HangError(BaseException):
    """A call took too long; not an ``Exception``, so that no handler of ours takes it."""


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """End a block that computes or waits for too long; only on the main thread of POSIX."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        computed = number == signal.SIGVTALRM
        raise HangError(f"{MOST_S:g} s of CPU time" if computed else f"{MOST_WAIT_S:g} s")

    before = {one: signal.signal(one, end) for one in (signal.SIGVTALRM, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_S)
    signal.setitimer(signal.ITIMER_REAL, MOST_WAIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def fault_of(error: BaseException) -> str:
    """Name an error and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [one for one in frames if "pytest_rageval" in one.filename] or frames
    where = f"{own[-1].filename.rpartition('pytest_rageval/')[2]}:{own[-1].lineno}"
    return f"{type(error).__name__} at {where}: {str(error)[:200]}"


def read(call: Callable[[], object]) -> str | None:
    """Call a reader and return the fault; None: it returned, or refused with an error of ours."""
    try:
        with limited():
            call()
    except RagEvalError as error:
        return too_long(str(error))
    except (HangError, Exception) as error:
        return fault_of(error)
    return None


def read_quietly(call: Callable[[], object]) -> None:
    """Call a reader that may refuse what it reads."""
    with contextlib.suppress(RagEvalError):
        call()


def run(arguments: Sequence[str]) -> str | None:
    """Run a command and return the fault; None: its exit code and output are in order."""
    out, err = _stream(), _stream()
    typed, sys.stdin = sys.stdin, io.StringIO("1\n\nq y\nQ\n")
    try:
        with limited(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.run(arguments)
    except (HangError, SystemExit, Exception) as error:
        return fault_of(error)
    finally:
        sys.stdin = typed
    text = "".join(_written(one) for one in (out, err))
    if code not in CODES:
        return f"exit code {code}: {text[-300:]}"
    return of_output(text, as_json="--json" in arguments)


def _stream() -> io.TextIOWrapper:
    # As main() sets up the streams of the command.
    return io.TextIOWrapper(
        io.BytesIO(), encoding="utf-8", errors="backslashreplace", newline="", write_through=True
    )


def _written(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def of_output(text: str, *, as_json: bool = False) -> str | None:
    """Return the fault of an output; a document may be as long as what it holds."""
    if "Traceback (most recent call last)" in text or "INTERNALERROR" in text:
        return f"a traceback: {text[-500:]}"
    if found := _STEERING.search(text):
        return f"a control character: {text[max(0, found.start() - 60) : found.end() + 20]!r}"
    return None if as_json else too_long(text)


def too_long(text: str) -> str | None:
    """Return the fault of a text that nobody reads."""
    return f"{len(text):,} characters: {text[:200]!r}" if len(text) > MOST_CHARS else None
