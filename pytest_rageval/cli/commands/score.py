"""``rageval score``: scores recorded responses, without asking the target."""

from __future__ import annotations

import os
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import to_builtins

from pytest_rageval.cli.arguments import only_case_file
from pytest_rageval.cli.commands.run_history import put_and_warn
from pytest_rageval.cli.output import (
    PATH,
    JsonList,
    ProgressOnStderr,
    face_option,
    no_report_option,
    print_result,
    switch,
    warn,
)
from pytest_rageval.cli.target import judge_options, project_settings, warn_of_cache
from pytest_rageval.support.process import interrupted_by_termination

if TYPE_CHECKING:
    from pytest_rageval.engine.scored import ScoredRun
    from pytest_rageval.report.view.blocks import Block
    from pytest_rageval.values.numbers import Aggregate
    from pytest_rageval.values.record import CaseRecord
    from pytest_rageval.values.settings import Settings

_PAGE_RECORDS = 20_000
"""Limit of writing the page unasked: unlike scoring, it keeps all records in memory."""


@click.command("score")
@click.argument("cases", metavar="[CASES]", required=False, type=PATH)
@click.argument("responses", metavar="RESPONSES", required=False, type=PATH)
@click.option(
    "-k",
    "k",
    type=click.IntRange(min=1, max=1_000_000),
    help="Cutoff of the metrics; a case's k overrides it.  [default: the project's, else 5]",
)
@click.option("--save", "run_id", metavar="RUN_ID", help="Store the result as a run of this name.")
@no_report_option
@switch("--retrieval-only", help="Score retrieval alone; answers need not be recorded.")
@partial(judge_options, judge="none")
@click.option(
    "--rubric",
    "rubrics",
    multiple=True,
    metavar="NAME",
    help="With --judge: rubric to judge by; repeatable.  [default: those of the project]",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1, max=1024),
    help="Score in so many processes, for responses by the hundred thousand; needs the extra dask.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Score on the workers of a Dask scheduler.")
@face_option
def command(
    cases: Path | None,
    responses: Path | None,
    run_id: str | None,
    no_report: bool,
    face: str | None,
    **flags: Any,
) -> None:
    """Score recorded answers, without asking.

    CASES is by default the only case file of the project. Each line of RESPONSES is {"id": case id,
    "response": reply of the ask API}; "repeat": 1 and so on mark further responses of one case, and
    "error": {"kind", "message"} replaces a missing response. The exit code is 0 if the files could
    be read, whatever the scores. The matching settings are those of pyproject.toml. Answers are
    judged only with --judge.
    """
    from pytest_rageval.runs.store import REPORT

    if cases is None:
        raise click.UsageError(
            "RESPONSES: none given, expected a .jsonl file of recorded responses, each line "
            '{"id": case id, "response": {...}}: rageval score [CASES] RESPONSES'
        )
    pool = _pool(flags, run_id, no_report=no_report)
    settings = _settings(flags)
    if responses is None:
        cases, responses = only_case_file("CASES"), cases
    if pool is not None:
        _score_in_shards(cases, responses, settings, pool, face=face)
        return
    scored, lines = _score(cases, responses, settings, run_id=run_id, face=face)
    if scored.folder is not None and not (no_report or settings.no_report):
        problem = _write_page(scored, Path(settings.rootdir) / scored.folder)
        if problem and face is not None:
            warn(problem)
        elif problem:
            lines.append(f"note     {problem}")
        elif face is None:
            lines.append(f"report   {scored.folder}/{REPORT}")
    if face != "json":
        print_result({}, lines, face=face)


def _score(
    cases: Path, responses: Path, settings: Settings, *, run_id: str | None, face: str | None
) -> tuple[ScoredRun, list[Block]]:
    """Score everything, print the JSON document if requested, and return the remaining output."""
    from pytest_rageval.engine.judging import JudgeWatch
    from pytest_rageval.engine.own_code import open_registry
    from pytest_rageval.engine.recorded import RecordedRun
    from pytest_rageval.engine.scored import ScoredRun
    from pytest_rageval.judges.opening import judging_slots, open_judge

    registry, slots = open_registry(settings), judging_slots(settings)
    watch = JudgeWatch(settings.max_errors)
    with (
        open_judge(settings, environ=os.environ, slots=slots) as judge,
        ScoredRun(settings, run_id=run_id, cases=cases, registry=registry) as scored,
        closing(JsonList()) if face == "json" else nullcontext() as items,
    ):
        stored = run_id is not None
        recorded = RecordedRun(
            cases, responses, settings, judge=judge, slots=slots, registry=registry, stored=stored
        )
        with (
            closing(recorded.records()) as records,
            ProgressOnStderr(lambda: f"judged {scored.n_records}" if judge else None),
        ):
            for record in records:
                watch.see(record)
                scored.add(record)
                if items is not None:
                    items.append(_item(record, judged=judge is not None))
        totals = scored.finish()
        if run_id is not None:
            put_and_warn(run_id)
        warn(*recorded.findings.warnings)
        warn_of_cache(judge)
        if items is not None:
            items.print_in("cases", _numbers(totals, None if judge is None else judge.identity))
            return scored, []
    from pytest_rageval.report.view.judging import score_lines

    lines = [*score_lines(totals, scored.failures, watch.facts.notes(settings))]
    if scored.folder is not None:
        lines.append(f"saved    {scored.folder}")
    return scored, lines


def _pool(flags: dict[str, Any], run_id: str | None, *, no_report: bool) -> dict[str, Any] | None:
    """Return the number of processes of this machine or the scheduler, if any."""
    pool = {name: flags.pop(name) for name in ("workers", "scheduler")}
    if pool["workers"] is None and pool["scheduler"] is None:
        return None
    if pool["workers"] is not None and pool["scheduler"] is not None:
        raise click.UsageError("--workers, --scheduler: expected one of them")
    if run_id is not None:
        raise click.UsageError("--save: records are stored by one process alone, without --workers")
    if no_report:
        raise click.UsageError("--no-report: many processes write no report; leave it out")
    return pool


def _score_in_shards(
    cases: Path, responses: Path, settings: Settings, pool: dict[str, Any], *, face: str | None
) -> None:
    """Score in many processes and print the numbers."""
    from pytest_rageval.analysis.aggregate.run import aggregate_rows
    from pytest_rageval.engine.distributed import open_client, score_shards
    from pytest_rageval.judges.opening import open_judge
    from pytest_rageval.report.view.judging import score_lines

    if settings.judge not in {"none", "offline"}:
        raise click.UsageError(
            f"--judge {settings.judge}: expected offline, since requests to a model are limited "
            "and counted in one process; leave out --workers and --scheduler"
        )
    progress = ["shards"]

    def on_scored(done: int, of: int) -> None:
        progress[0] = f"scored {done} of {of} shards"

    with interrupted_by_termination(ctrl_c=True) as signals:
        signals.hold()  # Dask shows tracebacks where its start or end is interrupted
        with open_client(pool["workers"], pool["scheduler"]) as client:
            try:
                signals.release()
                with ProgressOnStderr(lambda: progress[0]):
                    found = score_shards(cases, responses, settings, client, on_scored)
            finally:
                signals.hold()
    warn(*found.findings.warnings)
    with open_judge(settings, environ=os.environ) as judge:
        identity = None if judge is None else judge.identity
    totals = aggregate_rows(found.columns)
    lines = score_lines(totals, found.failures, found.judged.notes(settings))
    print_result(_numbers(totals, identity), lines, face=face)


def _write_page(scored: ScoredRun, folder: Path) -> str:
    """Write the report page of a saved run, which reads all of its records again.

    Returns:
        The reason why it was not written; empty: it was.
    """
    from pytest_rageval.engine.finish import write_page
    from pytest_rageval.runs.read import read_run
    from pytest_rageval.runs.store import REPORT

    if scored.n_records > _PAGE_RECORDS:
        return f"{REPORT} was not written of so many records; rageval report does so"
    return write_page(read_run(folder, texts=False))


def _settings(flags: dict[str, Any]) -> Settings:
    from pytest_rageval.engine.scored import scored_settings

    k, rubrics, retrieval_only = (flags.pop(name) for name in ("k", "rubrics", "retrieval_only"))
    found = project_settings(flags)
    if found.origins.get("judge") != "flag":
        if rubrics or any(flags.values()):
            raise click.UsageError("options of the judge: expected --judge beside them")
        # Without the project's judge, which may cost money.
        found = replace(found, judge="none")
    elif retrieval_only and found.judge != "none":
        raise click.UsageError("--judge: expected no --retrieval-only, which leaves out answers")
    if rubrics:
        found = replace(found, judging=replace(found.judging, rubrics=rubrics))
    found = scored_settings(found, retrieval_only=retrieval_only)
    return found if k is None else replace(found, k=k, origins={**found.origins, "k": "flag"})


def _item(record: CaseRecord, *, judged: bool) -> dict[str, Any]:
    scores = record.scores
    item: dict[str, Any] = {
        "id": record.case.id,
        "repeat": record.repeat,
        "outcome": scores.outcome,
        "failure_stage": scores.failure_stage,
        "metrics": scores.metrics,
        "metrics_before_rerank": scores.metrics_before_rerank,
        "not_applicable": scores.not_applicable,
    }
    return {**item, "verdicts": record.verdicts} if judged else item


def _numbers(totals: Aggregate, judge: str | None) -> dict[str, Any]:
    numbers = to_builtins(totals, str_keys=True)
    return numbers if judge is None else {**numbers, "judge": judge}
