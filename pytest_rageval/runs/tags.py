"""Names that people give to runs, one small file each: ``evals/results/tags/main``.

A tagged run is kept by git, too, as far as its files hold no text of cases or documents.

A separate file for each tag, which holds the id of its run, can be committed without conflicts
with the tags of others; as it is beside the runs, it outlives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pytest_rageval.support.files import named_errors, read_plain, refuse_link, write_file
from pytest_rageval.support.text import shown
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.settings import RUN_ID_RULE, TAG_RULE, TAGS, is_run_id, is_tag

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
        text = read_plain(path, "utf-8").strip()
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
    with named_errors(path, StorageError, "unreadable"):
        text = path.read_text(encoding="utf-8", errors="backslashreplace").strip()
    if not is_run_id(text):
        raise StorageError.of(path, "tag_malformed", tag=tag, found=shown(text))


def write_tag(results_dir: Path, tag: str, run_id: str) -> str | None:
    """Give a run a tag, taken from the run that had it; return the id of that run.

    Raises:
        StorageError: the tag or the id is not valid, the tag is an id, or it cannot be written.
    """
    if not is_tag(tag, new=True):
        raise StorageError.of("tag", "value", found=repr(tag), expected=TAG_RULE)
    if (results_dir / tag).is_dir():
        raise StorageError.of("tag", "duplicate", found=repr(tag), owner="the id of a run")
    if not is_run_id(run_id):  # as of a folder that was renamed by hand
        raise StorageError.of("run id", "value", found=repr(run_id), expected=RUN_ID_RULE)
    folder = results_dir / TAGS
    refuse_link(folder)
    refuse_link(results_dir / run_id)
    before = _read(folder / tag)
    with named_errors(folder / tag, StorageError):
        prepare_results_dir(results_dir)
        folder.mkdir(exist_ok=True)
        write_file(folder / tag, f"{run_id}\n".encode())
        for one in filter(None, (run_id, before)):
            _give_to_git(results_dir, one)
    return before


def remove_tag(results_dir: Path, tag: str) -> str:
    """Take a tag away and return the id of the run that had it.

    Raises:
        StorageError: there is no such tag, its file names no run, or it cannot be removed.
    """
    run_id = read_tags(results_dir).get(tag)
    if run_id is None:
        refuse_malformed_tag(results_dir, tag)
        raise StorageError.of(
            f"tag {tag!r}", "not_found", names=", ".join(read_tags(results_dir)) or "none"
        )
    path = results_dir / TAGS / tag
    refuse_link(path.parent)
    with named_errors(path, StorageError, "unremovable"):
        path.unlink()
        _give_to_git(results_dir, run_id)
    return run_id


_GITIGNORE: Final = """\
# A run holds questions, answers and document text and stays on this machine. Tags belong in git,
# and the numbers and settings of a tagged run: its folder has rules of its own.
*
!/.gitignore
!/*/
!/tags/*
"""
_OF_TAGGED_RUN: Final = """\
# `rageval runs tag` wrote this: the numbers and settings of a tagged run belong in git.
!/.gitignore
!/config.json
!/gate.json
!/metrics.json
!/summary.md
"""


def prepare_results_dir(results_dir: Path) -> None:
    """Create the folder of all runs, with a ``.gitignore``; a user's own one is kept.

    Raises:
        OSError: it cannot be written, or a file has its name.
    """
    results_dir.mkdir(parents=True, exist_ok=True)
    ignore = results_dir / ".gitignore"
    if not ignore.exists():
        write_file(ignore, _GITIGNORE.encode())


def _give_to_git(results_dir: Path, run_id: str) -> None:
    """Let git see the small files of a run as long as it has a tag.

    The rules are a file in the folder of the run, so that tags given on two branches never
    conflict in a merge, and a removed run leaves none.
    """
    folder = results_dir / run_id
    if folder.is_symlink():
        return
    ignore = folder / ".gitignore"
    if run_id in read_tags(results_dir).values():
        if folder.is_dir() and not ignore.exists():
            write_file(ignore, _OF_TAGGED_RUN.encode())
    elif ignore.is_file() and ignore.read_text("utf-8", "replace") == _OF_TAGGED_RUN:
        ignore.unlink()
