"""Compiled templates: kept as Python keeps compiled modules, and never trusted blindly."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from pathlib import Path

import pytest
from jinja2 import Environment, Template
from markupsafe import Markup, escape

from pytest_rageval.report.html import templating
from pytest_rageval.report.html.templating import TEMPLATES, content_policy


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one template, beside which Python may keep what it compiles."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    made = tmp_path / "templates"
    made.mkdir()
    (made / "one.html.j2").write_text("<p>{{ text }}</p>", encoding="utf-8")
    return made


def load(folder: Path) -> Template:
    """Load the template as a new process does."""
    return templating.page_environment.__wrapped__(folder).get_template("one.html.j2")


def shown(folder: Path) -> str:
    """Render a hostile text with the template of a new process."""
    return load(folder).render(text="<b>\x1b")


def kept(folder: Path) -> Path:
    """Return the file of the compiled template."""
    (found,) = folder.rglob("*.j2c")
    return found


def forbid_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every compilation of a template fail."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a kept template was compiled")

    monkeypatch.setattr(Environment, "compile", refuse)


def test_a_template_is_compiled_once_and_escapes_from_then_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shown(folder) == "<p>&lt;b&gt;[U+001B]</p>"
    forbid_compiling(monkeypatch)
    assert shown(folder) == "<p>&lt;b&gt;[U+001B]</p>"
    tag = sys.implementation.cache_tag
    assert kept(folder) == folder / "__pycache__" / f"one.html.{tag}.j2c"


@pytest.mark.parametrize(
    "value",
    ["&amp;", "a<b>c", "it's", "\"a\" & 'b'", "<>&\"'" * 2, "plain", 5, None, Markup("<b>")],
)
def test_values_are_escaped_as_markupsafe_does(folder: Path, value: object) -> None:
    assert load(folder).render(text=value) == f"<p>{escape(value)}</p>"


def test_a_changed_template_is_compiled_again(folder: Path) -> None:
    shown(folder)
    (folder / "one.html.j2").write_text("<i>{{ text }}</i>", encoding="utf-8")
    assert shown(folder) == "<i>&lt;b&gt;[U+001B]</i>"
    assert shown(folder) == "<i>&lt;b&gt;[U+001B]</i>"


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-100],
        lambda content: content[:100] + bytes([content[100] ^ 1]) + content[101:],
        lambda content: content[32:],
        lambda content: b"cos\nsystem\n(S'false'\ntR." * 10,
    ],
    ids=["empty", "cut", "one bit", "without its digest", "a pickle"],
)
def test_a_damaged_file_is_replaced(folder: Path, damage: object) -> None:
    assert callable(damage)
    shown(folder)
    good = kept(folder).read_bytes()
    kept(folder).write_bytes(damage(good))
    assert shown(folder) == "<p>&lt;b&gt;[U+001B]</p>"
    assert kept(folder).read_bytes()[32:] != damage(good)[32:]
    with pytest.MonkeyPatch.context() as patch:
        forbid_compiling(patch)
        assert shown(folder) == "<p>&lt;b&gt;[U+001B]</p>"


# ---

PAGES = sorted(path.relative_to(TEMPLATES) for path in TEMPLATES.rglob("page.html.j2"))


def test_the_policy_lets_in_exactly_the_given_script_and_style() -> None:
    policy = content_policy(style="b {}", script="let a = 1")

    wanted = [base64.b64encode(hashlib.sha256(text).digest()).decode()
              for text in (b"let a = 1", b"b {}")]  # fmt: skip
    assert re.findall(r"'sha256-([^']+)'", policy) == wanted
    assert policy.startswith("default-src 'none'; ")


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_no_page_has_a_style_or_a_handler_in_an_attribute(page: object) -> None:
    source = (TEMPLATES / str(page)).read_text(encoding="utf-8")

    assert not re.search(r"<[^>]+\s(style|on[a-z]+)=", source)
