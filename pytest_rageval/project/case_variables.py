"""Facts of a case that a request may carry, and those of them that the settings send."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_rageval.values.case import Case
from pytest_rageval.values.settings import TargetSettings

CASE_VARIABLES: Final = ("id", "category", "difficulty", "tags", "language", "metadata")
"""Names below ``case``: none that would give the target the expected answer or the evidence."""
PLACEHOLDER: Final = re.compile(
    r"\{\{(?P<literal>[A-Za-z_]\w*(?:\.[\w-]+)*)\}\}|\{(?P<name>[A-Za-z_]\w*(?:\.[\w-]+)*)\}",
    re.ASCII,
)
"""``{case.metadata.user}`` in a path or a header; ``{{name}}`` is the text ``{name}``."""
_NOT_IN_HASH: Final = frozenset({"category", "difficulty", "tags", "metadata"})
"""Those that are not part of the hash of a case unless they are sent."""
_CASE: Final = re.compile(r"\bcase\b")
_WORDS: Final = re.compile(r"\w+")


def case_variables(case: Case) -> dict[str, Any]:
    """Return the facts of a case by their names below ``case``."""
    found = {name: getattr(case, name) for name in CASE_VARIABLES}
    return {**found, "tags": list(case.tags), "metadata": dict(case.metadata)}


def sent_fields(target: TargetSettings) -> frozenset[str]:
    """Return the fields of cases that are hashed because the settings send them.

    They are read from the text of the settings: an expression that names ``case`` without a field
    of it sends all of them.
    """
    found: set[str] = set()
    for words in _texts(target):
        named = words & _NOT_IN_HASH
        found |= named or (set() if words & set(CASE_VARIABLES) else _NOT_IN_HASH)
    return frozenset(found)


def _texts(target: TargetSettings) -> Iterator[set[str]]:
    """Yield the words of every text of the settings that names the case."""
    request = target.request or ""
    for text in request.values() if isinstance(request, Mapping) else [request]:
        if _CASE.search(text):
            yield set(_WORDS.findall(text))
    for text in (target.path, *target.headers.values()):
        for match in PLACEHOLDER.finditer(text):
            parts = (match["name"] or "").split(".")
            if parts[0] == "case":
                yield set(parts[1:2])
