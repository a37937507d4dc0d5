"""Arguments of commands: words that a shell offers, and values that were not given.

A shell asks while somebody types: an unreadable project offers no words, and of long files only the
beginning is read. A value that is assumed is reported on stderr, so that ``--json`` prints its
object alone.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pytest_rageval.cli.output import warn
from pytest_rageval.cli.target import project_settings
from pytest_rageval.support.text import clean, first_few
from pytest_rageval.values.errors import RagEvalError
from pytest_rageval.values.lenient import value

if TYPE_CHECKING:
    from pytest_rageval.authoring.notes import NoteFile
    from pytest_rageval.values.run import RunConfig, StoredRun
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


def read_vault(vault: Path) -> Sequence[NoteFile]:
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


_MOST_BYTES: Final = 8_000_000
"""Read of one file; a run of 1,000 cases has about half of it."""

_Words = Callable[[click.Context], Iterable[str]]
_Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def _offered(words: _Words) -> _Complete:
    """Return the callback of an argument whose values are the given words."""

    def complete(context: click.Context, _: click.Parameter, beginning: str) -> list[str]:
        try:
            found = dict.fromkeys(one for one in words(context) if one.startswith(beginning))
        except (RagEvalError, OSError, ValueError, RecursionError):
            return []
        # A shell inserts a word as it is: an id with blanks or $( ) would be another command.
        return [word for word in found if shlex.quote(word) == word]

    return complete


def _runs(_: click.Context) -> Iterator[str]:
    from pytest_rageval.runs.store import is_run
    from pytest_rageval.runs.tags import read_tags

    yield "last"
    results = _results()
    yield from read_tags(results)
    # Ids begin with the time, so that no document is read for the order.
    folders = results.iterdir() if results.is_dir() else ()
    yield from sorted((path.name for path in folders if is_run(path)), reverse=True)


def _cases_of_run(context: click.Context) -> Iterator[str]:
    from pytest_rageval.runs.store import RESULTS, resolve_run

    folder = resolve_run(_results(), context.params.get("run") or "last")
    records = list(_documents(folder / RESULTS))
    known = [(value(one, "case", "id"), value(one, "scores", "outcome")) for one in records]
    for passed in (False, True):  # the misses are what one asks about
        yield from (i for i, o in known if isinstance(i, str) and (o == "passed") == passed)


def _cases_of_files(context: click.Context) -> Iterator[str]:

    given = context.params.get("file") or context.params.get("path")
    for path in [given] if given else project_case_files(_settings()):
        yield from (one["id"] for one in _documents(path) if isinstance(one.get("id"), str))


def _metrics(_: click.Context) -> Iterator[str]:
    from pytest_rageval.engine.own_code import registry_for_runs

    # Somebody types: code of the project, which may be slow and print, is not imported.
    registry = registry_for_runs(replace(_settings(), plugins=()), *_last_config())
    yield from (*registry.cases, "error_rate", "latency_ms.p50", "latency_ms.p95", "cost_usd.total")


def _last_config() -> Iterator[RunConfig]:
    from pytest_rageval.runs.store import read_document, resolve_run
    from pytest_rageval.values.run import RunConfig

    with suppress(RagEvalError, OSError):
        yield read_document(resolve_run(_results(), "last") / "config.json", RunConfig)


def _presets(_: click.Context) -> tuple[str, ...]:
    from pytest_rageval.project.presets.preset import preset_names

    return preset_names()


def _documents(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as lines:
        read = 0
        for line in lines:
            read += len(line)
            if read > _MOST_BYTES:
                return
            document = json.loads(line) if line.strip() else None
            if isinstance(document, dict):
                yield document


def _settings() -> Settings:

    return project_settings({})


def _results() -> Path:
    return _settings().results_folder


complete_run: Final = _offered(_runs)
"""Offer ``last``, tags and ids of stored runs, the newest first."""
run_argument: Final = click.argument("run", required=False, shell_complete=complete_run)
"""Adds RUN to a command, by default the last run."""
complete_run_or_case: Final = _offered(
    lambda context: chain(_runs(context), _cases_of_run(context))
)
"""Offer runs, and the cases of the last one."""
complete_case: Final = _offered(_cases_of_run)
"""Offer the cases of the run that the argument before names, those that did not pass first."""
complete_case_of_file: Final = _offered(_cases_of_files)
"""Offer the cases of the named case file, else of all of the project."""
complete_metric: Final = _offered(_metrics)
"""Offer the metrics that a trend shows."""
complete_preset: Final = _offered(_presets)
"""Offer the names of the presets."""
