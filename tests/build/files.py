"""Files that tests write."""

from __future__ import annotations

import json
from pathlib import Path


def write_lines(path: Path | str, *lines: object) -> Path:
    """Write JSON lines and return the path; a line that is a text is written as it is."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path
