"""Names that files and folders can have on every system."""

from __future__ import annotations

import re
from typing import Final

_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.ASCII | re.IGNORECASE)


def is_device(name: str) -> bool:
    """Whether Windows opens a device by a name, which it does with any suffix."""
    return _DEVICE.fullmatch(name) is not None


def is_portable(name: str) -> bool:
    """Whether Windows keeps a name of letters, digits, ``.``, ``_`` and ``-`` as it is."""
    return not is_device(name) and not name.endswith(".")
