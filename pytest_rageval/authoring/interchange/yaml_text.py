"""Strict, bounded reading of YAML 1.2, as JavaScript and newer libraries take it.

In YAML 1.1 ``14:30`` is a number, ``yes`` a truth value, and a question within braces an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from pytest_rageval.authoring.interchange.values import Ledger, SourceFile, fault, tidy
from pytest_rageval.values.errors import DatasetError

MAX_YAML_CHARS: Final = 8_000_000
MAX_YAML_NODES: Final = 1_000_000
"""Limit after expansion of aliases: a few lines of aliases can mean billions of nodes."""
MAX_INT_BITS: Final = 10_000
"""Limit of an integer, since Python writes none of more than 4,300 digits."""
_DATE: Final = re.compile(r"\d{4}-\d\d?-\d")
_BLANKS: Final = "\0 \t\r\n\x85\u2028\u2029"
_UNQUOTED: Final = re.compile(
    r"not allowed here|found character '[^\\]|but found '|could not find|alias|unhashable key"
)
"""Part of the messages on indicators of YAML within a text."""


def parse_yaml(file: SourceFile, ledger: Ledger | None = None) -> Any:
    """Read a YAML 1.2 file: only plain values, no tags, and limited in size.

    Raises:
        DatasetError: it cannot be read so.
    """
    from ruamel.yaml.constructor import DuplicateKeyError
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    if len(file.text) > MAX_YAML_CHARS:
        raise fault(file.name, "yaml_size", most=f"{MAX_YAML_CHARS:,}")
    try:
        value = _yaml_reader().load(file.text)
        _refuse_bombs(value, file.name)
        return tidy(value, ledger)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        line = mark.line + 1 if mark else 0
        reason = " ".join(str(error.problem or "cannot be read").split())
        if isinstance(error, DuplicateKeyError):
            raise fault(file.name, "duplicate_key", line=line) from None
        raise _not_yaml(file, reason, line) from None
    except YAMLError as error:
        raise _not_yaml(file, str(error)) from None
    except RecursionError:
        raise fault(file.name, "deep", expected="YAML") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # Such as a tag that is not of its value.
        raise _not_yaml(file, str(error)) from None


def _not_yaml(file: SourceFile, reason: str, line: int = 0) -> DatasetError:
    """Return the error of ruamel's reason, which alone tells an indicator within a text."""
    what = "a text with such characters" if _UNQUOTED.search(reason) else ""
    reason = " ".join(reason.split())[:160]
    return fault(file.name, "not_yaml", line=line, reason=reason, what=what)


def _yaml_reader() -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import SafeConstructor
    from ruamel.yaml.error import MarkedYAMLError
    from ruamel.yaml.nodes import ScalarNode
    from ruamel.yaml.resolver import VersionedResolver
    from ruamel.yaml.scanner import Scanner

    class CoreResolver(VersionedResolver):
        """Resolves as the core schema of YAML 1.2: dates and ``1_000`` are texts."""

        processing_version = (1, 2)  # whatever a directive says

        def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
            plain = kind is ScalarNode and implicit[0]
            if plain and ("_" in value or value == "=" or _DATE.match(value)):
                return self.DEFAULT_SCALAR_TAG
            return super().resolve(kind, value, implicit)

    class SpacedScanner(Scanner):
        """Takes ``?`` as a key indicator only before a blank, also within brackets."""

        def check_key(self) -> Any:
            return self.reader.peek(1) in _BLANKS

        def check_plain(self) -> Any:
            return self.reader.peek() == "?" or super().check_plain()

    class Constructor(SafeConstructor):
        """Constructs plain values, with a limit on what merge keys bring."""

        n_merged = 0

        def flatten_mapping(self, node: Any) -> None:
            super().flatten_mapping(node)
            self.n_merged += len(node.value)
            if self.n_merged > MAX_YAML_NODES:
                problem = f"more than {MAX_YAML_NODES:,} merged keys"
                raise MarkedYAMLError(problem=problem, problem_mark=node.start_mark)

    reader = YAML(typ="safe", pure=True)
    reader.Constructor, reader.Resolver, reader.Scanner = Constructor, CoreResolver, SpacedScanner
    reader.composer.warn_double_anchors = False
    return reader


def _refuse_bombs(value: Any, name: str) -> None:
    """Count the nodes of a value with all aliases expanded.

    Raises:
        DatasetError: more than ``MAX_YAML_NODES``, or it contains itself.
    """
    sizes: dict[int, int] = {}
    open_now: set[int] = set()

    def size(item: Any) -> int:
        if isinstance(item, int) and item.bit_length() > MAX_INT_BITS:
            raise fault(name, "long_number", expected="plain values")
        if not isinstance(item, dict | list | set | tuple):
            return 1
        key = id(item)
        if key in open_now:
            raise fault(name, "yaml_alias")
        if key not in sizes:
            open_now.add(key)
            parts: Iterable[Any] = item.values() if isinstance(item, dict) else item
            sizes[key] = 1 + sum(map(size, parts))
            open_now.discard(key)
            if sizes[key] > MAX_YAML_NODES:
                raise fault(name, "yaml_aliases", most=f"{MAX_YAML_NODES:,}")
        return sizes[key]

    size(value)
