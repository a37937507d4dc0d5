"""Lines of a JSONL file with their numbers; what is no UTF-8 text becomes faults."""

from __future__ import annotations

from pathlib import Path

from pytest_rageval.errors import DatasetError, Fault


def read_lines(path: Path, display: str) -> tuple[list[tuple[int, str]], list[Fault]]:
    r"""Read the lines of a file that hold something.

    A BOM, CRLF and blank lines are fine. Only ``\n`` ends a line: ``str.splitlines`` would also
    cut at U+2028, which a JSON string may hold.

    Args:
        path: the file.
        display: its path as shown in faults.

    Returns:
        Line numbers from 1 with their text, and a fault for each line that is not UTF-8.

    Raises:
        DatasetError: the file cannot be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        fault = Fault(file=display, message=f"cannot be read: {error.strerror or error}")
        raise DatasetError(str(fault), faults=(fault,)) from error
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return [], [Fault(file=display, message="UTF-16 text, expected UTF-8")]
    lines: list[tuple[int, str]] = []
    faults: list[Fault] = []
    for lineno, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            col = len(raw[: error.start].decode("utf-8")) + 1
            message = f"byte 0x{raw[error.start]:02x}, expected UTF-8 text"
            faults.append(Fault(file=display, line=lineno, col=col, message=message))
            continue
        if text and not text.isspace():
            lines.append((lineno, text))
    return lines, faults
