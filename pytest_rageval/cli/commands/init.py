"""``rageval init``: creates a starter project that works offline."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_rageval.cli.arguments import complete_preset
from pytest_rageval.support.text import clean, part

if TYPE_CHECKING:
    from pytest_rageval.project.presets.preset import Preset


@click.command("init")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option(
    "--preset",
    metavar="NAME",
    shell_complete=complete_preset,
    help="Known system to ask, such as dify, instead of the notes; an unknown name lists all.",
)
@click.option("--ci", type=click.Choice(["github", "gitlab"]),
              help="Service of the job.  [default: github, or gitlab by its file]")  # fmt: skip
def command(folder: Path, preset: str | None, ci: str | None) -> None:
    """Create a project that works offline.

    It has cases, notes, limits and a CI job. DIR is the folder to write to, by default the current
    one; it is created if missing. Existing files are never overwritten: they are listed as kept,
    and lines to add to them are printed. Notes are left out if you already have cases, or name the
    preset of your system. The last line is the command to run next.
    """
    from pytest_rageval.authoring.scaffold.plan import read_project, write_scaffold
    from pytest_rageval.project.discovery import THRESHOLDS

    scaffold = read_project(folder, None if preset is None else _known(preset), ci)
    done: Counter[bool] = Counter()
    for path, created in write_scaffold(folder, scaffold):
        done[created] += 1
        click.echo(f"{'created' if created else 'kept   '}  {path}")
    click.echo(f"{done[True]} created, {done[False]} kept as they are")
    if THRESHOLDS in scaffold.files:
        click.echo(f"the limits on changes in {THRESHOLDS} decide from the second run on")
    for note in _notes(folder, scaffold.notes):
        click.echo(clean(f"note: {note}"), err=True)
    for addition in scaffold.additions:
        why = "the cases need it" if addition.needed else "recommended"
        lines = "\n".join(part("  {}", line) for line in addition.lines)
        click.echo(f"\nAdd to {addition.path} ({why}):\n\n{lines}")
    first = part(" {}, then", scaffold.first)
    click.echo(f"\nNext:{first}\n{_next_command(folder)}")


def _known(preset: str) -> Preset:
    from pytest_rageval.project.presets.preset import load_preset

    try:
        return load_preset(preset)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--preset") from error


def _notes(folder: Path, notes: tuple[str, ...]) -> list[str]:
    above = [folder.resolve(), *folder.resolve().parents]
    top = next((one for one in above if (one / ".git").exists()), above[0])
    if top == above[0]:
        return list(notes)
    moved = (
        "this folder lies within a git repository, and GitHub reads only the .github folder at "
        "its top: move .github/workflows/evals.yml there and set its working-directory"
    )
    return [*notes, moved]


def _next_command(folder: Path) -> str:
    name = str(folder)
    if folder.resolve() == Path.cwd().resolve() or not name.isprintable():
        return "pytest evals/"
    quoted = shlex.quote(name) if os.name == "posix" else f'"{name}"'
    return f"cd {quoted} && pytest evals/"
