"""The folder of all runs: what of it belongs in git."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_HEAD: Final = """\
# A run holds questions, answers and document text; only its numbers and settings belong in git.
*
!/.gitignore
!/*/
!/*/config.json
!/*/gate.json
!/*/metrics.json
!/*/summary.md
"""
_GITIGNORE: Final = f"{_HEAD}!/tags/*\n"


def prepare_results_dir(results_dir: Path) -> None:
    """Create the folder of all runs, with a ``.gitignore``; one of the user's own stays.

    Raises:
        OSError: it cannot be written, or a file stands in its place.
    """
    results_dir.mkdir(parents=True, exist_ok=True)
    ignore = results_dir / ".gitignore"
    # Before there were tags, it was written without the last line.
    if not ignore.exists() or ignore.read_text(encoding="utf-8", errors="replace") == _HEAD:
        ignore.write_text(_GITIGNORE, encoding="utf-8")
