"""Tracebacks that are cut to the frames of a project."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from pytest_rageval.support.project_code import (
    last_place,
    restyled,
    user_traceback,
    without_own_frames,
)
from pytest_rageval.values.reply import AskRequest
from tests.build.asking import ask_client

SOURCE = """
import json, asyncio, contextlib

def look_up(table, key):
    secret = "never shown"
    return table[key]

def answer(question):
    return look_up({}, "a")

def parse(question):
    return json.loads("{")

def wrapped(question):
    try:
        look_up({}, "a")
    except KeyError as error:
        raise ValueError("no such key") from error

def deep(n):
    return deep(n - 1) if n else 1 / 0

def through_library(question):
    with contextlib.ExitStack() as stack:
        stack.callback(look_up, {}, "a")

async def group(question):
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(inner())

async def inner():
    raise OSError("gone")

class Client:
    def ask(self, request):
        return answer(request)

    def __call__(self, request):
        return answer(request)
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    file = tmp_path / "app" / "rag.py"
    file.parent.mkdir()
    file.write_text(SOURCE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("app_rag", file)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules["app_rag"] = found
    spec.loader.exec_module(found)
    yield found
    del sys.modules["app_rag"]


def raised(function: object, *arguments: object) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - any exception is fine
        function(*arguments)  # type: ignore[operator]
    return caught.value


def lines(error: Exception, rootdir: Path) -> list[str]:
    """Lines below those of this file, which is code of a user as well."""
    text = user_traceback(error, rootdir).splitlines()
    first = next(n for n, line in enumerate(text) if line.startswith("app/"))
    return text[first:]


def test_frames_of_the_project_have_a_place_and_their_source(
    module: ModuleType, tmp_path: Path
) -> None:
    assert lines(raised(module.answer, "q"), tmp_path) == [
        "app/rag.py:9: in answer",
        '    return look_up({}, "a")',
        "app/rag.py:6: in look_up",
        "    return table[key]",
    ]


def test_a_cause_follows(module: ModuleType, tmp_path: Path) -> None:
    found = lines(raised(module.wrapped, "q"), tmp_path)
    assert found[0] == "app/rag.py:18: in wrapped"
    assert "caused by KeyError: 'a'" in found
    assert found[-2] == "app/rag.py:6: in look_up"


def test_frames_of_this_package_are_left_out(module: ModuleType, tmp_path: Path) -> None:
    for client in (module.answer, module.Client()):
        result = ask_client(client, AskRequest(question="q"), rootdir=tmp_path)
        assert result.error is not None
        assert result.error.traceback.splitlines()[-2:] == [
            "app/rag.py:6: in look_up",
            "    return table[key]",
        ]
        assert "calling.py" not in result.error.traceback
        assert "never shown" not in result.error.traceback
        assert result.raised is not None
        found = without_own_frames(result.raised).__traceback__
        assert found is not None
        assert found.tb_frame.f_code.co_filename == module.__file__


def test_styles(module: ModuleType, tmp_path: Path) -> None:
    text = "\n".join(lines(raised(module.answer, "q"), tmp_path))
    assert last_place(text) == "app/rag.py:6"
    assert restyled(text, "KeyError: 'a'", "short", tmp_path) == text.splitlines()
    assert restyled(text, "KeyError: 'a'", "line", tmp_path) == ["app/rag.py:6: KeyError: 'a'"]
    native = restyled(text, "KeyError: 'a'", "native", tmp_path)
    assert native[0] == "Traceback (most recent call last):"
    assert '  File "app/rag.py", line 6, in look_up' in native
    assert native[-1] == "KeyError: 'a'"
    long = restyled(text, "KeyError: 'a'", "long", tmp_path)
    assert "    def look_up(table, key):" in long
    assert long[-1] == ">       return table[key]"
    gone = restyled(text, "KeyError: 'a'", "long", tmp_path / "elsewhere")
    assert gone == text.splitlines()
    assert restyled("", "m", "line", tmp_path) == []


def test_source_that_is_read_again_shows_no_secret_and_no_escape_code(tmp_path: Path) -> None:
    (tmp_path / "rag.py").write_text(
        'def f():\n    key = "s3cret-value" + "\x1b[31m"\n    g(key)\n'
    )
    text = "rag.py:3: in f\n    g(key)"
    shown = restyled(
        text, "m", "long", tmp_path, hide=lambda line: line.replace("s3cret-value", "***")
    )
    assert shown[1:] == ["    def f():", '        key = "***" + ""', ">       g(key)"]
