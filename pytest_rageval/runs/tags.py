"""Names that people give to runs, one small file each: ``evals/results/tags/main``.

A separate file for each tag, which holds the id of its run, can be committed without conflicts
with the tags of others; as it is beside the runs, it outlives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pytest_rageval.support.files import write_file
from pytest_rageval.support.text import shown
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.settings import TAG_RULE, TAGS, is_run_id, is_tag

BASELINE_TAG: Final = "main"
"""Tag of the run that others are compared with if no baseline is named."""


def read_tags(results_dir: Path) -> dict[str, str]:
    """Return the id of the run by tag, in the order of tags; files without an id are left out."""
    folder = results_dir / TAGS
    if not folder.is_dir():
        return {}
    found = {}
    for path in sorted(folder.iterdir()):
        run_id = _read(path) if is_tag(path.name) and path.is_file() else None
        if run_id is not None:
            found[path.name] = run_id
    return found


def tags_by_run(results_dir: Path) -> Mapping[str, tuple[str, ...]]:
    """Return the tags of every run that has one."""
    found: dict[str, tuple[str, ...]] = {}
    for tag, run_id in read_tags(results_dir).items():
        found[run_id] = (*found.get(run_id, ()), tag)
    return found


def _read(path: Path) -> str | None:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return text if is_run_id(text) else None


def refuse_malformed_tag(results_dir: Path, tag: str) -> None:
    """Raise an error if the file of a tag does not hold the id of a run.

    Args:
        results_dir: folder of all runs.
        tag: its name; one that is not a valid tag, or has no file, passes.

    Raises:
        StorageError: the file cannot be read, or does not hold the id of a run.
    """
    path = results_dir / TAGS / tag
    if not is_tag(tag) or not path.is_file():
        return
    try:
        text = path.read_text(encoding="utf-8", errors="backslashreplace").strip()
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror}") from error
    if not is_run_id(text):
        raise StorageError(
            f"{path}: the file of tag {tag!r} is malformed: got {shown(text)}, expected the id "
            f"of a run; `rageval runs tag RUN {tag}` writes it anew"
        )


def write_tag(results_dir: Path, tag: str, run_id: str) -> str | None:
    """Give a run a tag, taken from the run that had it; return the id of that run.

    Raises:
        StorageError: the tag is not valid, is the id of a run, or cannot be written.
    """
    if not is_tag(tag):
        raise StorageError(f"tag: got {tag!r}, expected {TAG_RULE}")
    if (results_dir / tag).is_dir():
        raise StorageError(f"tag: {tag!r} is the id of a run, expected another name")
    folder = results_dir / TAGS
    before = _read(folder / tag)
    try:
        prepare_results_dir(results_dir)
        folder.mkdir(exist_ok=True)
        write_file(folder / tag, f"{run_id}\n".encode())
    except OSError as error:
        raise StorageError(f"{folder / tag}: cannot be written: {error.strerror}") from error
    return before


def remove_tag(results_dir: Path, tag: str) -> str:
    """Take a tag away and return the id of the run that had it.

    Raises:
        StorageError: there is no such tag, its file names no run, or it cannot be removed.
    """
    run_id = read_tags(results_dir).get(tag)
    if run_id is None:
        refuse_malformed_tag(results_dir, tag)
        known = ", ".join(read_tags(results_dir)) or "none"
        raise StorageError(f"tag {tag!r}: not found; there are: {known}")
    path = results_dir / TAGS / tag
    try:
        path.unlink()
    except OSError as error:
        raise StorageError(f"{path}: cannot be removed: {error.strerror}") from error
    return run_id


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
    """Create the folder of all runs, with a ``.gitignore``; a user's own one is kept.

    Raises:
        OSError: it cannot be written, or a file has its name.
    """
    results_dir.mkdir(parents=True, exist_ok=True)
    ignore = results_dir / ".gitignore"
    # Versions without tags wrote it without the last line.
    if not ignore.exists() or ignore.read_text(encoding="utf-8", errors="replace") == _HEAD:
        ignore.write_text(_GITIGNORE, encoding="utf-8")
