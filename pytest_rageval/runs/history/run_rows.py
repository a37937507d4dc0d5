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

from pytest_rageval.analysis.aggregate.case_groups import CASE_OUTCOMES, count_outcomes
from pytest_rageval.analysis.compare.settings import compared_config
from pytest_rageval.analysis.trend import run_figures
from pytest_rageval.metrics.scoring import decided_by
from pytest_rageval.project.options import VERSIONS
from pytest_rageval.runs.documents import git_repository
from pytest_rageval.runs.list import is_partial, ran_at, run_entry
from pytest_rageval.runs.read import DOCUMENTS, read_documents, records_of_run
from pytest_rageval.runs.store import RESULTS
from pytest_rageval.support.files import open_plain
from pytest_rageval.support.http.address import without_secrets
from pytest_rageval.values.config import RunConfig
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.json_documents import number, whole
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
    unreadable, problems = list(stored.unreadable), list(stored.unreadable.values())
    records: list[CaseRecord] = []
    if (folder / RESULTS).is_file():
        try:
            judged_on = stored.settings.judged_on
            records = [decided_by(record, judged_on) for record in records_of_run(folder)]
        except StorageError as error:
            unreadable.append(RESULTS)
            problems.append(str(error))
    entry = run_entry(stored)
    config, numbers = stored.config, stored.aggregate
    names = CASE_OUTCOMES.values()
    counts = (
        dict.fromkeys(names)
        if numbers is None and not records
        else count_outcomes(records)
        if numbers is None
        else {name: getattr(numbers, name) for name in names}
    )
    run = {
        "ran_at": ran_at(stored),
        "tags": " ".join(tags),
        "verdict": _text(entry.verdict),
        "judge": _text(entry.judge),
        "config_hash": _text(config.config_hash),
        "dataset_hash": _text(entry.dataset_hash),
        "git_commit": _text(entry.commit),
        "git_dirty": config.git.dirty,
        **{name: _text(getattr(config, name)) for name in VERSIONS},
        "package_version": _text(config.versions.get("pytest-rageval")),
        "metric_definitions_version": config.metric_definitions_version,
        "k": config.settings.k,
        "n_cases": whole(entry.n_cases),
        **{name: counts.get(name) for name in names},
        "partial": is_partial(stored),
        "has_metrics": numbers is not None,
        "has_records": entry.has_records,
        "unreadable": " ".join(unreadable),
        "config": json.dumps(to_builtins(compared_config(config))),
    }
    return RunRows(
        run=run,
        results=tuple(map(_result_row, records)),
        metrics=() if numbers is None else _metric_rows(numbers, config),
        problems=tuple(problems),
    )


def _metric_rows(numbers: Aggregate, config: RunConfig) -> tuple[Row, ...]:
    rows: dict[tuple[str, ...], Row] = {}
    for figure in run_figures(numbers, config):
        row = {name: getattr(figure, name) for name in NUMBERS}
        row["scope"] = figure.scope
        row["group_name"], row["metric"] = _text(figure.group), _text(figure.metric)
        # Two names may become equal once characters that no database keeps are escaped.
        rows[row["scope"], row["group_name"], row["metric"]] = row
    return tuple(rows.values())


def _result_row(record: CaseRecord) -> Row:
    latency, cost = record.latency, record.verdicts.cost
    scores = {key: number(value) for key, value in record.scores.metrics.items()}
    return {
        "file": _text(record.file),
        "case_id": _text(record.case.id),
        "parameters": _text(record.parameters),
        "repeat": whole(record.repeat),
        "case_hash": _text(record.case_hash),
        "category": _text(record.case.category),
        "difficulty": _text(record.case.difficulty),
        "tags": " ".join(_text(tag) or "" for tag in record.case.tags),
        "answerable": record.case.answerable,
        "required": record.case.required,
        "counted": record.counted,
        "status": record.status,
        "outcome": record.scores.outcome,
        "failure_stage": record.scores.failure_stage,
        "error_kind": record.error.kind if record.error else None,
        "attempts": whole(record.error.attempts) if record.error else None,
        "unchecked": record.scores.unchecked,
        "abstained": record.reply.abstained,
        "k": whole(record.k),
        "total_ms": number(latency.get("total_ms")),
        "judge_ms": number(latency.get("judge_ms")),
        "judge_cost_usd": number(cost.get("judge_cost_usd")),
        "judge_prompt_tokens": _tokens(cost.get("judge_prompt_tokens")),
        "judge_completion_tokens": _tokens(cost.get("judge_completion_tokens")),
        "metrics": json.dumps(scores, sort_keys=True),
    }


def _tokens(value: float | None) -> int | None:
    found = number(value)
    return None if found is None else whole(int(found))


def _text(value: object) -> str | None:
    r"""Return a text as every database keeps it; None for any other value.

    >>> _text("a\0b"), _text(1)
    ('a\\x00b', None)
    """
    if not isinstance(value, str):
        return None
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
