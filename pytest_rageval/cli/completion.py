"""Words that a shell offers for arguments of ``rageval``: runs, cases and metrics.

A shell asks while somebody types: an unreadable project offers no words, and of long files only the
beginning is read.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pytest_rageval.values.errors import RagEvalError
from pytest_rageval.values.json_documents import value

if TYPE_CHECKING:
    from pytest_rageval.values.config import RunConfig
    from pytest_rageval.values.settings import Settings

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
    from pytest_rageval.cli.assumed import project_case_files

    given = context.params.get("file") or context.params.get("path")
    for path in [given] if given else project_case_files(_settings()):
        yield from (one["id"] for one in _documents(path) if isinstance(one.get("id"), str))


def _metrics(_: click.Context) -> Iterator[str]:
    from pytest_rageval.engine.registry import registry_for_runs

    # Somebody types: code of the project, which may be slow and print, is not imported.
    registry = registry_for_runs(replace(_settings(), plugins=()), *_last_config())
    yield from (*registry.cases, "error_rate", "latency_ms.p50", "latency_ms.p95", "cost_usd.total")


def _last_config() -> Iterator[RunConfig]:
    from pytest_rageval.runs.store import read_document, resolve_run
    from pytest_rageval.values.config import RunConfig

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
    from pytest_rageval.cli.judge_options import project_settings

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
