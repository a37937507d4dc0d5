"""``rageval demo``: the packaged example asked twice, the second time without a document."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click

from pytest_rageval.cli.output import ExitCode, face_option, print_result, switch
from pytest_rageval.report.faces.terminal import show
from pytest_rageval.report.view.blocks import Block, Command, Fact

if TYPE_CHECKING:
    from pytest_rageval.api.run import Comparison

_REMOVED: Final = "policies/lending.md"
"""Document that the second run has to do without."""


@click.command("demo")
@switch("-v", "--verbose", help="Show the whole comparison.")
@face_option
def command(verbose: bool, face: str | None) -> ExitCode:
    """See a lost document caught, in three seconds.

    The sixteen questions of rageval init are asked in a temporary folder: of its seven notes, and
    then without one of them in the index. The second run is compared with the first and checked by
    its limits, as rageval compare and pytest do it; every figure is computed. Exit code 0 if the
    limits caught the loss, 1 if they did not.
    """
    with _without_settings(), TemporaryDirectory(prefix="rageval-demo-") as folder:
        comparison = _compared(Path(folder))
    print_result(comparison.to_dict(), _blocks(comparison, verbose), face=face)
    return ExitCode.YES if comparison.new.stored.verdict == "fail" else ExitCode.NO


def _blocks(comparison: Comparison, verbose: bool) -> Iterator[Block]:
    from pytest_rageval.report.view.comparison import flip_blocks, view_of_comparison

    found = comparison.view.found
    causes = [pattern.sentence for pattern in found.headline.patterns]
    counts = [found.headline.since.counts] if found.headline.since else []
    yield Fact("worse", "; ".join([*counts, *causes]), "bad", "bad")
    if verbose:
        yield from show(view_of_comparison(comparison.view), verbose=True)
    else:
        yield from flip_blocks(found)
    yield Fact("gate", comparison.new.stored.sentence, status="bad")
    yield Fact("cause", f"{_REMOVED} was not in the index of the second run; pytest exits with 1")
    yield Command("next", "rageval init", "these notes and questions, to change")


def _compared(folder: Path) -> Comparison:
    """Ask the example with all its notes and without one, and compare the runs."""
    from pytest_rageval.api.evaluation import evaluate
    from pytest_rageval.api.run import compare_runs
    from pytest_rageval.authoring.scaffold.plan import CASES, VAULT, read_project, write_scaffold

    for _ in write_scaffold(folder, read_project(folder)):
        pass
    first = evaluate(folder / CASES, root=folder, run_id="all-notes", no_report=True)
    (folder / VAULT / _REMOVED).unlink()
    second = evaluate(folder / CASES, root=folder, run_id="one-less", no_report=True)
    return compare_runs(first, second, root=folder)


@contextmanager
def _without_settings() -> Iterator[None]:
    """Hide variables that would name another target, judge or database for the example."""
    hidden = {name: os.environ.pop(name) for name in [*os.environ] if name.startswith("RAGEVAL_")}
    try:
        yield
    finally:
        os.environ.update(hidden)
