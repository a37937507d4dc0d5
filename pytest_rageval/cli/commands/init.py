"""``rageval init``: creates a starter project that works offline."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from pathlib import Path

import click

from pytest_rageval.support.text import clean


@click.command("init")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
def command(folder: Path) -> None:
    """Create a project that works offline: cases, notes, limits and a CI job.

    DIR is the folder to write to, by default the current one; it is created if missing. Existing
    files are never overwritten: they are listed as kept, and lines to add to them are printed.
    Notes are left out if you already have cases. The last line is the command to run next.
    """
    from pytest_rageval.authoring.scaffold.plan import read_project, write_scaffold

    scaffold = read_project(folder)
    done: Counter[bool] = Counter()
    for path, created in write_scaffold(folder, scaffold):
        done[created] += 1
        click.echo(f"{'created' if created else 'kept   '}  {path}")
    click.echo(f"{done[True]} created, {done[False]} kept as they are")
    for note in _notes(folder, scaffold.notes):
        click.echo(clean(f"note: {note}"), err=True)
    for addition in scaffold.additions:
        why = "the cases need it" if addition.needed else "recommended"
        lines = "\n".join(f"  {line}" if line else "" for line in addition.lines)
        click.echo(f"\nAdd to {addition.path} ({why}):\n\n{lines}")
    first = f" {scaffold.first}, then" if scaffold.first else ""
    click.echo(f"\nNext:{first}\n{_next_command(folder)}")


def _notes(folder: Path, notes: tuple[str, ...]) -> list[str]:
    is_top = (folder.resolve() / ".git").exists()
    repository = [one for one in folder.resolve().parents if (one / ".git").exists()]
    if is_top or not repository:
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
