"""Names the cassette of a case so that no two cases ever share a file.

A name is read back by percent-decoding it, so different ids have different names, and since
capitals are encoded too, they differ by more than their case.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

MAX_CHARS: Final = 150
"""Without the suffix; file systems allow 255 bytes, and some allow 260 for a whole path."""

_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-.")
_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)")
"""Windows opens a device under these names, whatever suffix follows."""
_SUFFIX: Final = re.compile(r"\.(?=(?:yaml|yml|json)$)")
"""vcrpy adds its own suffix only to a name without one."""


def cassette_name(case_id: str) -> str:
    """Return the name of a case's cassette, without folder and suffix.

    Everything but lower-case ASCII letters, digits and ``_-.`` is percent-encoded; so is what a
    file system or vcrpy would take for something else. A long name ends in a hash of the id.

    >>> cassette_name("recency/conflict_001")
    'recency%2Fconflict_001'
    >>> cassette_name("A?")
    '%41%3F'
    """
    name = "".join(char if char in _PLAIN else _encoded(char) for char in case_id)
    name = _SUFFIX.sub("%2E", name)
    if name.startswith("."):
        name = "%2E" + name[1:]
    if name.endswith("."):
        name = name[:-1] + "%2E"
    if _DEVICE.match(name):
        name = _encoded(name[0]) + name[1:]
    if len(name) <= MAX_CHARS:
        return name
    digest = hashlib.sha256(case_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    head = re.sub(r"%[0-9A-F]?$", "", name[: MAX_CHARS - len(digest) - 1])
    return f"{head}~{digest}"


def _encoded(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))
