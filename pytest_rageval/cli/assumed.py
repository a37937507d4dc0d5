"""Values of arguments that were not given: the last run, the project's case files, its baseline.

Each is reported on stderr, so that ``--json`` prints its object alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from pytest_rageval.cli.judge_options import project_settings
from pytest_rageval.cli.output import warn
from pytest_rageval.support.text import clean, first_few

if TYPE_CHECKING:
    from pytest_rageval.authoring.notes import Note
    from pytest_rageval.values.run import StoredRun
    from pytest_rageval.values.settings import Settings

_NAMED: Final = 5
NEW_FILE: Final = "evals/eval_set.jsonl"
"""Case file that is made in a project without one."""


def report_assumed(argument: str, value: str) -> None:
    """Print the value that an argument has because it was not given."""
    click.echo(clean(f"assumed {argument}: {value}"), err=True)


def run_or_last(run: str | None, argument: str = "RUN") -> str:
    """Return the run as given, or the id of the last one.

    Raises:
        StorageError: there is no run.
    """
    from pytest_rageval.runs.store import resolve_run

    if run is not None:
        return run
    last = resolve_run(project_settings({}).results_folder, "last").name
    report_assumed(argument, f"{last}, the last run")
    return last


def stored_run(run: str | None, *, texts: bool = True) -> StoredRun:
    """Open the run of a name, or the last one.

    Args:
        run: an id, a prefix of one, a tag, last, last~N or a path; None: the last one.
        texts: whether the records have their long texts; else they are read when asked for.

    Raises:
        StorageError: there is no such run, or it cannot be read.
    """
    from pytest_rageval.runs.read import open_run

    return open_run(run_or_last(run), os.environ, texts=texts)


def project_case_files(settings: Settings) -> list[Path]:
    """Return the case files of the project, relative to its root, where commands work.

    Files that hold no cases, such as answers, are left out, as pytest leaves them.
    """
    from pytest_rageval.project.case_reader import other_file_note
    from pytest_rageval.project.discovery import project_files

    root = Path(settings.rootdir)
    return [
        path.relative_to(root) if path.is_relative_to(root) else path
        for path in project_files(settings)
        if other_file_note(path, path.name) is None
    ]


def file_to_extend(settings: Settings) -> Path:
    """Return the only case file of the project, or the one to begin."""
    found = project_case_files(settings)
    return found[0] if len(found) == 1 else Path(NEW_FILE)


def all_case_files(argument: str) -> tuple[Path, ...]:
    """Return every case file of the project.

    Raises:
        click.UsageError: the project has no case file.
    """
    found = _existing_files(argument)
    report_assumed(argument, ", ".join(path.as_posix() for path in found))
    return tuple(found)


def only_case_file(argument: str, wanted: Callable[[Path], bool] = lambda path: True) -> Path:
    """Return the only case file of the project, or the only wanted one of several.

    Raises:
        click.UsageError: the project has no case file, or several.
    """
    found = _existing_files(argument)
    chosen = [path for path in found if wanted(path)] if len(found) > 1 else found
    if len(chosen) != 1:
        names = first_few([path.as_posix() for path in chosen or found], _NAMED)
        raise click.UsageError(f"{argument}: none given, expected one of {names}")
    report_assumed(argument, chosen[0].as_posix())
    return chosen[0]


def _existing_files(argument: str) -> list[Path]:
    from pytest_rageval.project.case_reader import other_file_notes

    settings = project_settings({})
    found = project_case_files(settings)
    if not found:
        where = " or ".join(settings.testpaths)
        fix = " and ".join(other_file_notes(settings)) or "begin with `rageval init`"
        raise click.UsageError(f"{argument}: none given, and {where} has no case file; {fix}")
    return found


def target_vault(argument: str) -> Path:
    """Return the folder of notes that the target's embedded server reads.

    Raises:
        click.UsageError: the target is another one.
    """
    vault = project_settings({}).target.vault
    if vault is None:
        raise click.UsageError(
            f"{argument}: none given, and [tool.rageval.target] has no vault; expected a folder of "
            "Markdown notes"
        )
    report_assumed(argument, f"{vault}, of [tool.rageval.target]")
    return Path(vault)


def read_vault(vault: Path) -> Sequence[Note]:
    """Return the notes below a folder; files that cannot be read are named on stderr."""
    from pytest_rageval.authoring.notes import read_notes

    found = read_notes(vault)
    warn(*(f"{path}: not read: {reason}" for path, reason in found.skipped))
    return found.notes


def baseline_name(project: Settings) -> str | None:
    """Return the name of the gate's baseline, from the settings or thresholds.toml.

    Raises:
        ConfigError: thresholds.toml is wrong.
    """
    from pytest_rageval.project.threshold_keys import KnownNames
    from pytest_rageval.project.thresholds import load_thresholds

    file = Path(project.rootdir) / project.thresholds
    return project.baseline or load_thresholds(file, known=KnownNames(more=True)).baseline
