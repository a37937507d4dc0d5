"""Lines of a JSONL file with their numbers; what is no UTF-8 text becomes faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final, NamedTuple

from pytest_rageval.values.errors import DatasetError, Fault

_UTF8_BOM: Final = b"\xef\xbb\xbf"
_UTF16_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")


class Line(NamedTuple):
    """One line that holds something."""

    number: int
    """From 1."""
    offset: int
    """Of its first byte in the file."""
    text: str


def cannot_be_read(display: str, error: OSError) -> DatasetError:
    """Say that a file cannot be read."""
    fault = Fault(file=display, message=f"cannot be read: {error.strerror or error}")
    return DatasetError(str(fault), faults=(fault,))


def iterate_lines(file: Iterable[bytes], display: str, faults: list[Fault]) -> Iterator[Line]:
    r"""Yield the lines of a file that hold something, one in memory at a time.

    A BOM, CRLF and blank lines are fine. Only ``\n`` ends a line: ``str.splitlines`` would also
    cut at U+2028, which a JSON string may hold.

    Args:
        file: its lines from the first on, line ends included.
        display: its path as shown in faults.
        faults: gets one for each line that is not UTF-8.
    """
    offset = 0
    for number, raw in enumerate(file, 1):
        start, offset = offset, offset + len(raw)
        if number == 1:
            if raw.startswith(_UTF16_BOMS):
                faults.append(Fault(file=display, message="UTF-16 text, expected UTF-8"))
                return
            if raw.startswith(_UTF8_BOM):
                raw, start = raw[len(_UTF8_BOM) :], start + len(_UTF8_BOM)
        try:
            text = raw.decode("utf-8").removesuffix("\n")
        except UnicodeDecodeError as error:
            col = len(raw[: error.start].decode("utf-8")) + 1
            message = f"byte 0x{raw[error.start]:02x}, expected UTF-8 text"
            faults.append(Fault(file=display, line=number, col=col, message=message))
            continue
        if text and not text.isspace():
            yield Line(number, start, text)


def read_lines(path: Path, display: str) -> tuple[list[tuple[int, str]], list[Fault]]:
    """Read the lines of a file that is small enough to be held whole.

    Returns:
        Number and text of the lines that hold something, and a fault for each that is not UTF-8.

    Raises:
        DatasetError: the file cannot be read.
    """
    faults: list[Fault] = []
    with open_lines(path, display) as file:
        try:
            lines = [(line.number, line.text) for line in iterate_lines(file, display, faults)]
        except OSError as error:
            raise cannot_be_read(display, error) from error
    return lines, faults


def open_lines(path: Path, display: str) -> IO[bytes]:
    """Open a file for ``iterate_lines``.

    Raises:
        DatasetError: it cannot be opened.
    """
    try:
        return path.open("rb")
    except OSError as error:
        raise cannot_be_read(display, error) from error
