"""The folder of a run as rows of the index: numbers, names and settings, and none of its texts."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from msgspec import to_builtins

from pytest_rageval.analysis.aggregate.case_groups import CASE_OUTCOMES
from pytest_rageval.analysis.compare.settings import compared_config
from pytest_rageval.analysis.trend import run_figures
from pytest_rageval.metrics.scoring import decided_by
from pytest_rageval.project.options import VERSIONS
from pytest_rageval.runs.git import git_repository
from pytest_rageval.runs.list import is_partial, ran_at
from pytest_rageval.runs.read import DOCUMENTS, read_documents, records_of_run
from pytest_rageval.runs.store import RESULTS
from pytest_rageval.support.files import open_plain
from pytest_rageval.support.http.address import without_secrets
from pytest_rageval.values.config import RunConfig
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.numbers import Aggregate
from pytest_rageval.values.record import CaseRecord

NUMBERS: Final = ("value", "n", "n_not_applicable", "n_error", "median", "low", "high", "se")
"""Numbers of a figure in the index."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRows:
    """A run as the index keeps it, without project and source."""

    run: Row
    results: tuple[Row, ...]
    metrics: tuple[Row, ...]
    problems: tuple[str, ...]
    """Files that could not be read, with the reason, one a line."""


def content_hash(folder: Path, tags: tuple[str, ...]) -> str:
    """Return 64 hex digits over the content of the files of a run, and its tags."""
    facts: list[object] = [list(tags)]
    for name in (*DOCUMENTS, RESULTS):
        try:
            with open_plain(folder / name) as file:
                facts.append([name, hashlib.file_digest(file, "sha256").hexdigest()])
        except OSError:  # missing, or unreadable
            facts.append([name])
    return _sha256(json.dumps(facts))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


# --- reading ---------------------------------------------------------------------------------


def read_run_rows(folder: Path, tags: tuple[str, ...]) -> RunRows:
    """Read the folder of a run; files that cannot be read are left out and reported.

    Raises:
        OSError: the folder is gone.
    """
    stored = read_documents(folder, tags=tags)
    unreadable = list(stored.unreadable)
    problems = [f"{folder / name}: {reason}" for name, reason in stored.unreadable.items()]
    records: list[CaseRecord] = []
    if (folder / RESULTS).is_file():
        try:
            judged_on = stored.settings.judged_on
            records = [decided_by(record, judged_on) for record in records_of_run(folder)]
        except StorageError as error:
            unreadable.append(RESULTS)
            problems.append(str(error))
    config, numbers = stored.config, stored.aggregate
    counts = dict.fromkeys(CASE_OUTCOMES.values())
    if numbers is not None:
        counts = _fields(numbers, *counts)
    elif records:  # of a run that was killed
        from pytest_rageval.analysis.aggregate.run import aggregate

        counts = _fields(aggregate(records), *counts)
    run = {
        "ran_at": ran_at(stored),
        "tags": " ".join(tags),
        "verdict": stored.verdict,
        "judge": stored.judge,
        "git_commit": config.git.commit,
        "git_dirty": config.git.dirty,
        **_fields(config, "config_hash", "dataset_hash", "metric_definitions_version", *VERSIONS),
        "package_version": config.versions.get("pytest-rageval"),
        "k": config.settings.k,
        "n_cases": None if numbers is None else numbers.total,
        **counts,
        "partial": is_partial(stored),
        "has_metrics": numbers is not None,
        "has_records": (folder / RESULTS).is_file(),
        "unreadable": " ".join(unreadable),
        "config": json.dumps(to_builtins(compared_config(config))),
    }
    return RunRows(
        run=_kept(run),
        results=tuple(map(_result_row, records)),
        metrics=() if numbers is None else _metric_rows(numbers, config),
        problems=tuple(problems),
    )


def _metric_rows(numbers: Aggregate, config: RunConfig) -> tuple[Row, ...]:
    rows: dict[tuple[str, ...], Row] = {}
    for figure in run_figures(numbers, config):
        names = {"scope": figure.scope, "group_name": figure.group, "metric": figure.metric}
        row = _kept({**names, **_fields(figure, *NUMBERS)})
        # Two names may become equal once characters that no database keeps are escaped.
        rows[row["scope"], row["group_name"], row["metric"]] = row
    return tuple(rows.values())


def _result_row(record: CaseRecord) -> Row:
    case, error, judged = record.case, record.error, record.verdicts.usage
    spent = ("cost_usd", "prompt_tokens", "completion_tokens")
    row = {
        **_fields(record, "file", "parameters", "repeat", "case_hash", "counted", "status", "k"),
        **_fields(case, "category", "difficulty", "answerable", "required"),
        **_fields(record.scores, "outcome", "failure_stage", "unchecked"),
        "case_id": case.id,
        "tags": " ".join(case.tags),
        "error_kind": error.kind if error else None,
        "attempts": error.attempts if error else None,
        "abstained": record.reply.abstained,
        **{name: record.latency.get(name) for name in ("total_ms", "judge_ms")},
        **{f"judge_{name}": getattr(judged, name, None) for name in spent},
        "metrics": json.dumps(record.scores.metrics, sort_keys=True),
    }
    return _kept(row)


def _fields(value: object, *names: str) -> Row:
    return {name: getattr(value, name) for name in names}


def _kept(row: Row) -> Row:
    return {name: _text(one) if isinstance(one, str) else one for name, one in row.items()}


def _text(value: str) -> str:
    r"""Return a text as every database keeps it.

    >>> _text("a\0b")
    'a\\x00b'
    """
    # Half a surrogate pair has no UTF-8 form, and PostgreSQL takes no NUL.
    return value.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


VARIABLE: Final = "RAGEVAL_PROJECT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Project and folder that the rows of a results folder belong to."""

    project: str
    """Keeps the projects of one database apart."""
    source: str
    """Folder and machine, 16 hex digits: several checkouts of a project may fill one index, and a
    sync removes only rows that came from its own folder."""


def find_origin(
    rootdir: Path, results_dir: Path, environ: Mapping[str, str], *, project: str | None = None
) -> Origin:
    """Return the names under which the index keeps the runs of a results folder.

    The project is the name that a flag or ``RAGEVAL_PROJECT`` gave, else the address of the
    repository's ``origin`` and the path of the results in it, else the name of the folder and a
    part of the source.
    """
    source = _source(results_dir)
    named = (project or environ.get(VARIABLE, "")).strip()
    key = named or _repository_key(rootdir, results_dir)
    return Origin(project=key or f"{rootdir.resolve().name}-{source[:8]}", source=source)


def _repository_key(rootdir: Path, results_dir: Path) -> str | None:
    found = git_repository(rootdir)
    if found is None:
        return None
    remote, top = found
    place = results_dir.resolve()
    top = top.resolve()
    inside = place.relative_to(top) if place.is_relative_to(top) else place
    return f"{_bare(remote)}:{inside.as_posix()}"


def _bare(remote: str) -> str:
    """Return an address that is equal in all clones, and without credentials.

    >>> _bare("https://ann:token@github.com/acme/bot.git"), _bare("git@github.com:acme/bot.git")
    ('github.com/acme/bot', 'github.com/acme/bot')
    """
    text = without_secrets(remote.strip())
    match = re.fullmatch(r"(?:[^@/\s]+@)?([^:/\s]+):(?!//)(.+)", text)  # as scp writes it
    if match:
        text = f"{match[1]}/{match[2]}"
    text = re.sub(r"^[a-z][a-z0-9+.-]*://(?:[^@/]*@)?", "", text, flags=re.IGNORECASE)
    host, slash, path = text.partition("/")
    return f"{re.sub(r':[0-9]+$', '', host).lower()}{slash}{path.rstrip('/').removesuffix('.git')}"


def _source(results_dir: Path) -> str:
    # A hash, because the names of machines and users are private.
    return _sha256(f"{platform.node()}:{results_dir.resolve()}")[:16]
