"""Strict, bounded reading of YAML 1.2, as JavaScript and newer libraries take it.

In YAML 1.1 ``14:30`` is a number, ``yes`` a truth value, and a question within braces an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from pytest_rageval.authoring.interchange.values import Ledger, SourceFile, fault, tidy
from pytest_rageval.support.json_text import TWICE

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
        raise fault(file.name, f"more than {MAX_YAML_CHARS:,} characters of YAML; write JSON")
    try:
        value = _yaml_reader().load(file.text)
        _refuse_bombs(value, file.name)
        return tidy(value, ledger)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        line = mark.line + 1 if mark else 0
        reason = " ".join(str(error.problem or "cannot be read").split())
        message = TWICE if isinstance(error, DuplicateKeyError) else _yaml_message(reason)
        raise fault(file.name, message, line=line) from None
    except YAMLError as error:
        raise fault(file.name, _yaml_message(str(error))) from None
    except RecursionError:
        raise fault(file.name, "nested too deeply, expected YAML") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # Such as a tag that is not of its value.
        raise fault(file.name, _yaml_message(str(error))) from None


def _yaml_message(reason: str) -> str:
    hint = "; put a text with such characters into quotes" if _UNQUOTED.search(reason) else ""
    return f"{' '.join(reason.split())[:160]}, expected YAML{hint}"


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
            raise fault(name, "an integer of thousands of digits, expected plain values")
        if not isinstance(item, dict | list | set | tuple):
            return 1
        key = id(item)
        if key in open_now:
            raise fault(name, "an alias stands within what it names, expected plain values")
        if key not in sizes:
            open_now.add(key)
            parts: Iterable[Any] = item.values() if isinstance(item, dict) else item
            sizes[key] = 1 + sum(map(size, parts))
            open_now.discard(key)
            if sizes[key] > MAX_YAML_NODES:
                raise fault(name, f"its aliases stand for more than {MAX_YAML_NODES:,} values")
        return sizes[key]

    size(value)
