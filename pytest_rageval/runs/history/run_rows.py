"""Tables of the index, and the folder of a run as their rows: numbers, names and settings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from msgspec import to_builtins

from pytest_rageval.analysis.aggregate.case_groups import CASE_OUTCOMES
from pytest_rageval.analysis.compare.settings import compared_config
from pytest_rageval.analysis.trend import run_figures
from pytest_rageval.metrics.scoring import decided_by
from pytest_rageval.project.options import VERSIONS
from pytest_rageval.runs.list import is_partial, ran_at
from pytest_rageval.runs.read import DOCUMENTS, read_documents, records_of_run
from pytest_rageval.runs.store import RESULTS
from pytest_rageval.support.files import open_plain
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.record import CaseRecord

_COUNTS: Final = tuple(CASE_OUTCOMES.values())


class _Text(sa.TypeDecorator[str]):
    """Text as every database keeps it.

    Half a surrogate pair has no UTF-8 form, and PostgreSQL takes no NUL.
    """

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: object) -> str | None:
        r"""Write out such characters, as ``\x00``."""
        if value is None:
            return None
        return value.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def _columns(kind: Any, *names: str, of: str | None = None, **options: Any) -> list[sa.Column[Any]]:
    """Return columns of one type.

    Args:
        kind: the type.
        names: of the columns.
        of: path of the value whose attributes they hold, from the one that a row is made of;
            None: `read_run_rows` makes them.
        options: of each column.
    """
    info = [{} if of is None else {"path": f"{of}{name}"} for name in names]
    return [sa.Column(n, kind, info=i, **options) for n, i in zip(names, info, strict=True)]


TABLES: Final = sa.MetaData()
_RUN_KEY: Final = ("project", "run_id")
_OWN: Final[dict[str, Any]] = {"nullable": False}
_KEY: Final[dict[str, Any]] = {"primary_key": True, "autoincrement": False}
RUNS: Final = sa.Table(
    "evaluation_runs",
    TABLES,
    *_columns(sa.Text, *_RUN_KEY, **_KEY),
    *_columns(sa.Text, "source", **_OWN),
    *_columns(sa.DateTime(timezone=True), "ran_at", **_OWN),
    *_columns(_Text, "tags", **_OWN),
    *_columns(_Text, "verdict", "judge", of=""),
    *_columns(_Text, "config_hash", "dataset_hash", *VERSIONS, of="config."),
    *_columns(_Text, "git_commit", "package_version"),
    *_columns(sa.Boolean, "git_dirty"),
    *_columns(sa.BigInteger, "metric_definitions_version", of="config."),
    *_columns(sa.BigInteger, "k", of="config.settings."),
    *_columns(sa.BigInteger, "n_cases", *_COUNTS),
    *_columns(sa.Boolean, "partial", "has_metrics", "has_records", **_OWN),
    *_columns(_Text, "unreadable", "config", "content_hash", **_OWN),
    *_columns(sa.DateTime(timezone=True), "synced_at", **_OWN),
)
"""One row per run."""
RECORDS: Final = sa.Table(
    "test_results",
    TABLES,
    *_columns(sa.Text, *_RUN_KEY, **_KEY),
    *_columns(_Text, "file", of="", **_KEY),
    *_columns(_Text, "case_id", **_KEY),
    *_columns(_Text, "parameters", of="", **_KEY),
    *_columns(sa.Integer, "repeat", of="", **_KEY),
    *_columns(_Text, "case_hash", "status", of=""),
    *_columns(_Text, "category", "difficulty", of="case."),
    *_columns(_Text, "tags", "error_kind"),
    *_columns(sa.Boolean, "answerable", "required", of="case."),
    *_columns(sa.Boolean, "counted", of=""),
    *_columns(_Text, "outcome", "failure_stage", of="scores."),
    *_columns(sa.BigInteger, "attempts"),
    *_columns(sa.Boolean, "unchecked", of="scores."),
    *_columns(sa.Boolean, "abstained", of="reply."),
    *_columns(sa.BigInteger, "k", of=""),
    *_columns(sa.Double, "total_ms", "judge_ms", "judge_cost_usd"),
    *_columns(sa.BigInteger, "judge_prompt_tokens", "judge_completion_tokens"),
    *_columns(sa.Text, "metrics", **_OWN),
)
"""One row per case and repeat."""
METRICS: Final = sa.Table(
    "metrics",
    TABLES,
    *_columns(sa.Text, *_RUN_KEY, **_KEY),
    *_columns(_Text, "scope", of="", **_KEY),
    *_columns(_Text, "group_name", **_KEY),
    *_columns(_Text, "metric", of="", **_KEY),
    *_columns(sa.Double, "value", of=""),
    *_columns(sa.BigInteger, "n", "n_not_applicable", "n_error", of=""),
    *_columns(sa.Double, "median", "low", "high", "se", of=""),
)
"""One row per figure of a run: overall, and of each category, tag, ..."""

Row = dict[str, Any]
RunRows = Mapping[sa.Table, list[Row]]
"""Rows of a run by table, without project and source; that of ``RUNS`` is one."""


def content_hash(folder: Path, tags: tuple[str, ...]) -> str:
    """Return 64 hex digits over the content of the files of a run, and its tags."""
    facts: list[object] = [list(tags)]
    for name in (*DOCUMENTS, RESULTS):
        try:
            with open_plain(folder / name) as file:
                facts.append([name, hashlib.file_digest(file, "sha256").hexdigest()])
        except OSError:  # missing, or unreadable
            facts.append([name])
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def read_run_rows(folder: Path, tags: tuple[str, ...]) -> tuple[RunRows, list[str]]:
    """Read the folder of a run.

    Returns:
        Its rows, and the files that could not be read, with the reason, one a line.

    Raises:
        OSError: the folder is gone.
    """
    stored = read_documents(folder, tags=tags)
    unreadable = list(stored.unreadable)
    problems = [f"{folder / name}: {reason}" for name, reason in stored.unreadable.items()]
    records: list[CaseRecord] = []
    has_records = (folder / RESULTS).is_file()
    if has_records:
        try:
            judged_on = stored.settings.judged_on
            records = [decided_by(record, judged_on) for record in records_of_run(folder)]
        except StorageError as error:
            unreadable.append(RESULTS)
            problems.append(str(error))
    config, numbers = stored.config, stored.aggregate
    counted = numbers
    if numbers is None and records:  # of a run that was killed
        from pytest_rageval.analysis.aggregate.run import aggregate

        counted = aggregate(records)
    run = {
        **_row(RUNS, stored),
        "ran_at": ran_at(stored),
        "tags": " ".join(tags),
        "git_commit": config.git.commit,
        "git_dirty": config.git.dirty,
        "package_version": config.versions.get("pytest-rageval"),
        "n_cases": None if numbers is None else numbers.total,
        **{name: getattr(counted, name, None) for name in _COUNTS},
        "partial": is_partial(stored),
        "has_metrics": numbers is not None,
        "has_records": has_records,
        "unreadable": " ".join(unreadable),
        "config": json.dumps(to_builtins(compared_config(config))),
    }
    figures = () if numbers is None else run_figures(numbers, config)
    metrics = [{**_row(METRICS, one), "group_name": one.group} for one in figures]
    return {RUNS: [run], RECORDS: list(map(_record_row, records)), METRICS: metrics}, problems


def _record_row(record: CaseRecord) -> Row:
    error, judged = record.error, record.verdicts.usage
    return {
        **_row(RECORDS, record),
        "case_id": record.case.id,
        "tags": " ".join(record.case.tags),
        "error_kind": error and error.kind,
        "attempts": error and error.attempts,
        **{name: record.latency.get(name) for name in ("total_ms", "judge_ms")},
        "judge_cost_usd": judged and judged.cost_usd,
        "judge_prompt_tokens": judged and judged.prompt_tokens,
        "judge_completion_tokens": judged and judged.completion_tokens,
        "metrics": json.dumps(record.scores.metrics, sort_keys=True),
    }


def _row(table: sa.Table, value: object) -> Row:
    paths = {column.name: column.info.get("path") for column in table.columns}
    return {name: attrgetter(path)(value) for name, path in paths.items() if path}
