"""Code of a project: found by the names of its settings, and its tracebacks for people."""

from __future__ import annotations

import importlib
import inspect
import linecache
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal

from pytest_rageval.support.text import clean, counted
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.words import CURRENT


@contextmanager
def importable(folder: str) -> Iterator[None]:
    """Let the modules of a folder be imported, as ``python -m pytest`` does for the rootdir."""
    added = folder not in sys.path
    if added:
        sys.path.insert(0, folder)
    try:
        yield
    finally:
        if added and folder in sys.path:
            sys.path.remove(folder)


def find_named(setting: str, where: str) -> Any:
    """Import the object that a setting names; a dot after the colon leads to an attribute of it.

    What the module raises while it is imported comes through as it is.

    Args:
        setting: such as ``my_package.rag:make_client``.
        where: place of the setting, for messages.

    Raises:
        ConfigError: the setting has another form, the module or the name does not exist, or it is
            that of a fixture.
    """
    module, colon, name = setting.partition(":")
    if not colon or not module or not name:
        raise ConfigError.of(where, "value", found=repr(setting), expected="module:function")
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not _is_part(error.name, module):
            raise
        raise ConfigError.of(
            where, "not_imported", found=repr(setting), reason=error, module=module
        ) from error
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise ConfigError.of(
                where, "not_imported", found=repr(setting), reason=error
            ) from error
    # pytest before 8.4 wraps the function of a fixture, later ones make an object of it. A proxy of
    # a remote object seems to have every attribute.
    wrapped = "__pytest_wrapped__" in getattr(found, "__dict__", ())
    if wrapped or type(found).__name__ == "FixtureFunctionDefinition":
        raise ConfigError.of(where, "fixture", found=repr(setting))
    return found


def _is_part(missing: str | None, module: str) -> bool:
    """Whether the module that was not found is the named one or a package that it is in."""
    return missing is not None and f"{module}.".startswith(f"{missing}.")


_PACKAGE: Final = Path(__file__).parents[1]
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
_SOURCE_CHARS: Final = 160
_READ_CHARS: Final = 2000
_FRAMES: Final = 12
"""Frames of the project shown of one exception; the middle of a deep recursion is left out."""
_LAST_LIBRARY_FRAMES: Final = 3
"""Frames shown of an exception that no code of the project raised."""
_CHAIN: Final = 4
_MAX_CHARS: Final = 4000
_PLACE: Final = re.compile(r"(?P<file>\S.*?):(?P<line>\d+): in (?P<name>.+)")
"""Line of ``user_traceback`` that names a frame."""
_LIBRARY: Final = re.compile(r"(site-packages|python[\d.]+)/")
_PACKAGE_NAME: Final = re.compile(rf"(?:{_LIBRARY.pattern})?([^/:]+?)(?:\.py)?[/:]")
_CONTEXT: Final = 4

Style = Literal["short", "line", "long", "native"]
"""Style of a shown traceback, as of pytest's ``--tb``."""
_Frame = tuple[Literal["user", "library", "own"], list[str]]
"""Origin of a frame, and its place with the source line below it."""


def user_traceback(error: BaseException, rootdir: Path, *, hide: Callable[[str], str] = str) -> str:
    """Show where an exception was raised, oldest frame first and causes last.

    Frames before the first one of the project, and those of this package, are left out; so are
    frames of installed libraries, but for the place of the innermost one below the project's last.

    Args:
        error: an exception that was raised.
        rootdir: folder of the project, which paths are relative to.
        hide: removes secrets from a source line or a message, before it is cut.

    Returns:
        Lines such as ``conftest.py:12: in answer``, each with its source line below it, without the
        exception itself; at most 4000 characters. Empty: only this package raised.
    """
    lines: list[str] = []
    named = ""
    for link, word in _chain(error):
        frames = _frames(link.__traceback__, rootdir, hide)
        # Frames of a library that raised the cause say less than its message.
        is_users = any(origin == "user" for origin, _ in frames)
        shown = _frame_lines(frames) if is_users or not word else []
        text = clean(hide(error_text(link)[:_READ_CHARS]), 200)
        before, named = named, f"{type(link).__name__}{': ' if text else ''}{text}"
        if word and (lines or shown) and (shown or named != before):
            lines.append(f"{word} {named}")
        lines += shown
    text = "\n".join(lines)
    return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}\n..."


def error_text(error: BaseException) -> str:
    """Return the text of an exception, also of one whose ``__str__`` raises."""
    try:
        return str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as fault:  # code of the user may also raise SystemExit
        return f"(its text cannot be read: {type(fault).__name__})"


def without_own_frames(error: BaseException) -> BaseException:
    """Return an exception whose traceback begins after the frames of this package."""
    found = error.__traceback__
    while found is not None and _origin(Path(found.tb_frame.f_code.co_filename)) == "own":
        found = found.tb_next
    return error.with_traceback(found)


def source_place(function: object, rootdir: Path) -> str:
    """Return the place of a function or method of the project as a line of ``user_traceback``.

    Empty: it is no code of the project.
    """
    while isinstance(function, partial):
        function = function.func
    function = inspect.unwrap(getattr(function, "__func__", function))  # type: ignore[arg-type]
    call = inspect.getattr_static(type(function), "__call__", None)
    code = getattr(function, "__code__", None) or getattr(call, "__code__", None)
    if code is None or _origin(file := Path(code.co_filename)) != "user":
        return ""
    return f"{_shown(file, rootdir)}:{code.co_firstlineno}: in {code.co_name}"


def _chain(error: BaseException) -> Iterator[tuple[BaseException, str]]:
    word, link = "", error
    for _ in range(_CHAIN):
        yield link, word
        inner: BaseException | None
        if isinstance(link, BaseExceptionGroup):
            inner, word = link.exceptions[0], "which contains"
        elif link.__cause__ is not None:
            inner, word = link.__cause__, "caused by"
        else:
            inner, word = link.__context__, "raised while handling"
            inner = None if link.__suppress_context__ else inner
        if inner is None:
            return
        link = inner


def _frames(found: TracebackType | None, rootdir: Path, hide: Callable[[str], str]) -> list[_Frame]:
    """Return the frames of a traceback, the oldest first."""
    frames = []
    for one in traceback.extract_tb(found):
        file = Path(one.filename)
        source = clean(hide((one.line or "")[:_READ_CHARS]), _SOURCE_CHARS)
        place = f"{_shown(file, rootdir)}:{one.lineno}: in {one.name}"
        frames.append((_origin(file), [place, f"    {source}"] if source else [place]))
    return frames


@cache
def _origin(file: Path) -> Literal["user", "library", "own"]:
    if file.is_relative_to(_PACKAGE):
        return "own"
    if not file.is_absolute() or not _INSTALLED.isdisjoint(file.parts):  # such as <frozen runpy>
        return "library"
    return "library" if file.is_relative_to(_stdlib()) else "user"


@cache
def _stdlib() -> Path:
    return Path(sysconfig.get_path("stdlib"))


def _shown(file: Path, rootdir: Path) -> str:
    installed = [place for place, part in enumerate(file.parts) if part in _INSTALLED]
    if installed:
        return "/".join(("site-packages", *file.parts[installed[-1] + 1 :]))
    for folder in (rootdir, _stdlib().parent):
        if file.is_relative_to(folder):
            return file.relative_to(folder).as_posix()
    return str(file)


def _frame_lines(frames: Sequence[_Frame]) -> list[str]:
    users = [place for place, (origin, _) in enumerate(frames) if origin == "user"]
    others = [frame for frame in frames[users[0] if users else 0 :] if frame[0] != "own"]
    if not users:
        only_ours = not others or frames[-1][0] == "own"
        return [] if only_ours else _joined(others[-_LAST_LIBRARY_FRAMES:])
    lines: list[str] = []
    runs = [(origin, list(run)) for origin, run in groupby(others, key=itemgetter(0))]
    for place, (origin, run) in enumerate(runs):
        if origin == "user":
            lines += _joined(run)
        elif place < len(runs) - 1:
            packages = (_PACKAGE_NAME.match(shown[0]) for _, shown in run)
            names = ", ".join(dict.fromkeys(found[2] for found in packages if found))
            lines.append(f"... {counted(len(run), 'frame')} in {names}")
        else:
            lines += run[-1][1][:1]
    return lines


def _joined(frames: Sequence[_Frame]) -> list[str]:
    if len(frames) <= _FRAMES:
        return [line for _, lines in frames for line in lines]
    half = _FRAMES // 2
    left_out = f"... {len(frames) - 2 * half} frames"
    return [*_joined(frames[:half]), left_out, *_joined(frames[-half:])]


def places(text: str) -> list[str]:
    r"""Return the lines of a text of ``user_traceback`` that name a frame, outermost first.

    >>> places("conftest.py:8: in answer\n    f()\nsite-packages/x.py:3: in f")
    ['conftest.py:8: in answer', 'site-packages/x.py:3: in f']
    """
    return [line for line in text.splitlines() if _PLACE.fullmatch(line)]


def last_place(text: str) -> str:
    r"""Return the innermost place of the project in a text of ``user_traceback``.

    >>> last_place("conftest.py:8: in answer\n    f()\nsite-packages/x.py:3: in f")
    'conftest.py:8'
    """
    found = places(text)
    own = [place for place in found if not _LIBRARY.match(place)] or found
    return own[-1].rpartition(": in ")[0] if own else ""


def restyled(
    text: str, message: str, style: Style, rootdir: Path, *, hide: Callable[[str], str] = str
) -> list[str]:
    """Return the lines of a text of ``user_traceback`` in another style.

    Args:
        text: result of ``user_traceback``.
        message: the exception, such as ``KeyError: 'a'``.
        style: ``line``: only the innermost place; ``native``: as Python prints it; ``long``: with
            lines of source around the innermost place.
        rootdir: folder of the project.
        hide: removes secrets from a source line that is read again, before it is cut.
    """
    lines = text.splitlines()
    if style == "line":
        place = last_place(text)
        return [f"{place}: {message}"] if place else []
    if style == "native":
        shown = [
            f'  File "{found["file"]}", line {found["line"]}, in {found["name"]}'
            if (found := _PLACE.fullmatch(line))
            else line
            for line in lines
        ]
        return ["Traceback (most recent call last):", *shown, message]
    if style == "long" and (place := last_place(text)):
        around = _source_around(place, rootdir, hide)
        last = max(n for n, line in enumerate(lines) if line.startswith(f"{place}: in "))
        if around:
            follows = lines[last + 1 : last + 2]
            skip = 2 if follows and follows[0].startswith("    ") else 1
            lines[last : last + skip] = [lines[last], *around]
    return lines


def _source_around(place: str, rootdir: Path, hide: Callable[[str], str]) -> list[str]:
    file, _, written = place.rpartition(":")
    source, line = linecache.getlines(str(rootdir / file)), int(written)
    if not 0 < line <= len(source):
        return []
    first = max(line - 1 - _CONTEXT, 0)
    shown = []
    for number, text in enumerate(source[first:line], first + 1):
        code = text[:_READ_CHARS].expandtabs()
        indent = " " * (len(code) - len(code.lstrip()))
        cut = f"{indent}{clean(hide(code), _SOURCE_CHARS)}".rstrip()[:_SOURCE_CHARS]
        shown.append(f"{CURRENT[number == line]}   {cut}")
    return shown
