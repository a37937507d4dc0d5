"""Templates, styles and scripts of the pages, with every text escaped.

Compiling takes most of a page's start, so that it is kept as Python keeps its own modules: beside
the source in ``__pycache__``, or below ``sys.pycache_prefix``.
"""

from __future__ import annotations

import base64
import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, Final

from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined, compiler, nodes
from jinja2.bccache import Bucket
from jinja2.compiler import CodeGenerator, Frame

from pytest_rageval.report.html.markup import Element, harmless
from pytest_rageval.support.files import write_file

TEMPLATES: Final = Path(__file__).parent / "templates"
"""Folder of the templates, styles and scripts of every page."""


@cache
def page_asset(*names: str) -> str:
    """Return the styles or the scripts of a page, one after the other."""
    texts = ((TEMPLATES / name).read_text(encoding="utf-8") for name in names)
    # Browsers hash the text with normalised line ends. Every page carries it, so that indents and
    # comments are left out.
    lines = (line.strip() for text in texts for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("//"))


def content_policy(*, style: str, script: str, served: bool = False) -> str:
    """Return the content security policy: only the page's script and style.

    A served page may also ask its own server; its icon is empty and inline, so that browsers do
    not request one.
    """
    rest = "form-action 'none'"
    if served:
        rest = "connect-src 'self'; form-action 'self'; img-src data:"
    return (
        "default-src 'none'; "
        f"script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        f"base-uri 'none'; {rest}"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


@cache
def page_environment(folder: Path = TEMPLATES) -> Environment:
    """Return the environment of the templates of all pages.

    Texts are escaped and their hidden characters made visible, in all fields.
    """
    return _Environment(
        loader=FileSystemLoader(folder, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_CompiledTemplates(),
    )


def render_page(
    template: str,
    *,
    scripts: Sequence[str] = (),
    served: bool = False,
    **values: Any,
) -> Iterator[str]:
    """Yield a page in pieces, with the style, its scripts and a policy that lets nothing else in.

    All are names of files. A served page may also ask its own server.
    """
    style, script = page_asset("design.css"), page_asset(*scripts)
    policy = content_policy(style=style, script=script, served=served)
    found = page_environment().get_template(template)
    return found.generate(style=style, script=script, policy=policy, **values)


def _shown(value: Any) -> str:
    # Applied to all fields here, so that none can be forgotten.
    if type(value) is str:
        return harmless(value)
    if type(value) is Element:
        return value
    if hasattr(value, "__html__"):
        return str(value.__html__())
    return harmless(str(value))


class _Generator(CodeGenerator):
    """Leaves it to ``finalize`` to escape a value, in whatever mode a block is.

    It reads an attribute as Python does, without looking for an item of its name, too.
    """

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:
        self.visit(node.node, frame)
        self.write(f".{node.attr}")

    def _output_child_pre(
        self, node: nodes.Expr, frame: Frame, finalize: CodeGenerator._FinalizeInfo
    ) -> None:
        self.write(f"({finalize.src}")


class _Environment(Environment):
    code_generator_class = _Generator


class _CompiledTemplates(BytecodeCache):
    """Keeps compiled templates; what cannot be kept or read is compiled in memory."""

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """Return the path of the source."""
        return filename or name

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take what is kept if the same compiler and options made all of it."""
        with suppress(OSError, NotImplementedError):
            kept = _kept_path(bucket).read_bytes()
            code = kept[32:]
            # Before anything of it is unpickled, which may do anything with a damaged file.
            if kept[:32] == _seal(code):
                bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a compiled template, where Python would keep a compiled module."""
        if not sys.dont_write_bytecode:
            with suppress(OSError, NotImplementedError):
                path, code = _kept_path(bucket), bucket.bytecode_to_string()
                path.parent.mkdir(parents=True, exist_ok=True)
                write_file(path, _seal(code) + code)


def _kept_path(bucket: Bucket) -> Path:
    # Raises NotImplementedError where this Python keeps no compiled modules either.
    return Path(cache_from_source(bucket.key)).with_suffix(".j2c")


def _seal(code: bytes) -> bytes:
    """Return a digest of compiled code, of its compiler, and of the options in this module."""
    made_by = map(os.stat, (compiler.__file__, __file__))
    stamp = [(found.st_mtime_ns, found.st_size) for found in made_by]
    return sha256(repr(stamp).encode() + code).digest()
