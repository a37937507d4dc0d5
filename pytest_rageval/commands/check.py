"""``rageval check``: are these case files fit to run?"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pytest_rageval.commands.output import json_option, print_json
from pytest_rageval.errors import DatasetError, Fault
from pytest_rageval.models import ExitCode
from pytest_rageval.report.terminal_text import clean

if TYPE_CHECKING:
    from pytest_rageval.dataset import LoadedSet


@click.command("check")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@json_option
def command(files: tuple[Path, ...], as_json: bool) -> ExitCode:
    """Check case files and show what they hold.

    Every fault of every file is printed as file:line:col: field: what came, what was expected.
    """
    results = [_check(file) for file in files]
    ok = all(isinstance(result, dict) and result["ok"] for result in results)
    if as_json:
        print_json({"ok": ok, "files": results})
    else:
        for result in results:
            _print(result)
    return ExitCode.YES if ok else ExitCode.USAGE


def _check(path: Path) -> dict[str, Any]:
    from pytest_rageval.dataset import load_cases

    try:
        loaded = load_cases(path)
    except DatasetError as error:
        return _document(path.as_posix(), faults=error.faults)
    return _document(loaded.display, loaded=loaded)


def _document(
    file: str, *, loaded: LoadedSet | None = None, faults: tuple[Fault, ...] = ()
) -> dict[str, Any]:
    document: dict[str, Any] = {
        "file": file,
        "ok": loaded is not None,
        "n_cases": None,
        "n_answerable": None,
        "n_unanswerable": None,
        "categories": {},
        "dataset_hash": None,
        "faults": [{**asdict(fault), "text": str(fault)} for fault in faults],
        "warnings": [],
    }
    if loaded is not None:
        cases = [located.case for located in loaded.cases]
        answerable = sum(case.answerable for case in cases)
        document |= {
            "n_cases": len(cases),
            "n_answerable": answerable,
            "n_unanswerable": len(cases) - answerable,
            "categories": dict(Counter(case.category for case in cases).most_common()),
            "dataset_hash": loaded.dataset_hash,
            "warnings": list(loaded.warnings),
        }
    return document


def _print(result: dict[str, Any]) -> None:
    for fault in result["faults"]:
        click.echo(clean(fault["text"]), err=True)
    if not result["ok"]:
        return
    categories = ", ".join(f"{name} {count}" for name, count in result["categories"].items())
    click.echo(
        clean(
            f"{result['file']}: {_count(result['n_cases'], 'case')} "
            f"({result['n_answerable']} answerable, {result['n_unanswerable']} unanswerable); "
            f"{categories or 'no category'}; hash {result['dataset_hash']}"
        )
    )
    for warning in result["warnings"]:
        click.echo(clean(f"warning: {warning}"), err=True)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
