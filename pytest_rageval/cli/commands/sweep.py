"""``rageval sweep``: searches settings of the target for a configuration that is truly better."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import to_builtins

from pytest_rageval.cli.output import (
    PATH,
    ExitCode,
    NotComparableError,
    ProgressOnStderr,
    UnreachableError,
    face_option,
    print_result,
    switch,
    warn,
)
from pytest_rageval.cli.target import opened_target, project_settings
from pytest_rageval.report.view.blocks import paragraph
from pytest_rageval.support.files import shown_below
from pytest_rageval.support.process import interrupted_by_termination
from pytest_rageval.support.text import shown
from pytest_rageval.values.errors import ConfigError, RagEvalError, StorageError
from pytest_rageval.values.settings import RUN_ID_RULE, Settings, is_run_id

if TYPE_CHECKING:
    from pytest_rageval.analysis.sweep.outcome import SweepOutcome
    from pytest_rageval.analysis.sweep.plan import SweepPlan
    from pytest_rageval.engine.sweep.runner import SweepRunner
    from pytest_rageval.engine.sweep.trials import SweepCases
    from pytest_rageval.values.sweep import Axis, SweepFile, Value


@click.command("sweep")
@click.argument("file", required=False, type=PATH)
@switch("--quick", help="Search a small grid of usual parameters, without a file.")
@switch("--resume", help="Go on with the last sweep of this name.")
@switch("--dry-run", help="Only show what would be asked, and ask nothing.")
@click.option("--name", help="Folder of the sweep among the runs.  [default: the name of the file]")
@face_option
def command(
    file: Path | None, quick: bool, resume: bool, dry_run: bool, name: str | None, face: str | None
) -> int:
    """Search parameters for the best configuration.

    FILE names the parameters, by default sweep.toml (docs/sweep.md). Every configuration is
    asked as an ordinary run, kept in a folder of the sweep. The best one wins only if paired tests
    over the same cases show that it is better than the baseline and the runner-up.

    Exit codes: 0 a winner, 1 none, 3 nothing to compare.
    """
    from pytest_rageval.engine.sweep.runner import begin_sweep, description
    from pytest_rageval.engine.sweep.trials import cases_hash

    if dry_run and resume:
        raise click.UsageError("--dry-run and --resume: expected one of them")
    # Without the settings that select a part of a single run.
    settings = replace(project_settings({}), run_id=None, resume=None, failed_from=None, shard=None)
    cases, sweep = _read(settings, file, quick=quick)
    given = ["--quick"] if quick else [file.as_posix()] if file else []
    again = shlex.join(
        ["rageval", "sweep", *given, *(["--name", name] if name else []), "--resume"]
    )
    name = name or ("quick" if sweep.path is None else Path(sweep.path).stem)
    if not is_run_id(name, new=not resume):
        raise ConfigError.of("--name", "value", found=shown(name), expected=RUN_ID_RULE)
    try:
        plan = _plan(settings, cases, sweep)
    except ConfigError as error:
        raise error.within(str(sweep.path or "--quick")) from error
    if dry_run:
        _show_plan(settings, plan, sweep, face=face)
        return ExitCode.YES
    begun = description(sweep, cases=cases_hash(cases), n_cases=len(cases.cases))
    folder = begin_sweep(settings.results_folder, name, begun, resume=resume)
    outcome = _run(settings, cases, sweep, plan, folder, _explained(folder.name, again))
    written = _write(folder, outcome, page=not settings.no_report)
    _show(folder, outcome, written, face=face)
    if outcome.verdict == "better":
        return ExitCode.YES
    measured = [one.baseline for one in outcome.ranking if one.objective is not None]
    comparable = any(measured) and not all(measured)
    return ExitCode.NO if comparable else ExitCode.NOT_COMPARABLE


def _read(settings: Settings, file: Path | None, *, quick: bool) -> tuple[SweepCases, SweepFile]:
    from pytest_rageval.engine.sweep.trials import read_cases
    from pytest_rageval.project.settings import target_kind
    from pytest_rageval.project.sweep_file import SWEEP_FILE, read_sweep
    from pytest_rageval.values.sweep import QUICK

    if quick and file is not None:
        raise click.UsageError(f"FILE: got {str(file)!r}, expected none with --quick")
    path = file or Path(SWEEP_FILE)
    if not quick and not path.is_file():
        raise click.UsageError(
            f"FILE: {str(path)!r} is not there; expected a file with the parameters to search "
            "(docs/sweep.md), or --quick"
        )
    cases = read_cases(settings)
    if not quick:
        return cases, read_sweep(path, registry=cases.registry)
    if target_kind(settings) == "vault":
        return cases, QUICK
    # Only the embedded server can be built by us.
    return cases, replace(QUICK, index={}, build_embedded=False)


def _plan(settings: Settings, cases: SweepCases, sweep: SweepFile) -> SweepPlan:
    from pytest_rageval.analysis.sweep.goal import answerable_weights, sweep_goal
    from pytest_rageval.analysis.sweep.plan import plan_sweep
    from pytest_rageval.engine.sweep.indexes import embedded_at
    from pytest_rageval.engine.sweep.runner import with_query
    from pytest_rageval.engine.sweep.trials import planned_cases

    if sweep.build_fixture is not None:
        raise ConfigError.of("[index.build] fixture", "no_session")
    counted = planned_cases(cases, settings)
    notes: tuple[str, ...] = ()
    if sweep.path is None and all(one.answerable for one in counted):
        sweep = replace(sweep, weights=answerable_weights())
        notes = ("no case is unanswerable, so the goal is without negative_accuracy",)
    confidence = cases.thresholds.confidence
    goal = sweep_goal(sweep, counted, cases.registry, confidence=confidence)
    if goal.judged and settings.retrieval_only:
        raise ConfigError.of(f"objective {goal.main.info.key}", "retrieval_objective")
    if goal.main.info.judged and settings.judge == "none":
        raise ConfigError.of(f"objective {goal.main.info.key}", "judged_objective")
    plan = plan_sweep(sweep, counted, goal, settings.repeats_of(again=False))
    plan = replace(plan, notes=(*notes, *plan.notes))
    # Before the first question, also values that only some proposal of Optuna would bring up.
    base = plan.by_key[plan.baseline]
    for query in (*(one.query for one in plan.configurations), *_each(sweep.query, base.query)):
        with_query(settings, query)
    if sweep.build is None:
        for index in (*(one.index for one in plan.configurations), *_each(sweep.index, base.index)):
            if index:
                embedded_at(settings, index)
    return plan


def _each(axes: Mapping[str, Axis], base: Mapping[str, Value]) -> Iterator[Mapping[str, Value]]:
    """Yield the baseline with each value of a parameter in turn, of a range both ends."""
    from pytest_rageval.values.sweep import Range

    for name, axis in axes.items():
        for value in (axis.min, axis.max) if isinstance(axis, Range) else axis:
            yield {**base, name: value}


@contextmanager
def _explained(name: str, command: str) -> Iterator[None]:
    """Turn the errors of a sweep into those of the command, with the command that goes on."""
    from pytest_rageval.engine.sweep.runner import NothingToCompareError
    from pytest_rageval.engine.sweep.trials import TargetGoneError

    try:
        yield
    except NothingToCompareError as error:
        raise NotComparableError.of_faults(error.faults) from error
    except (TargetGoneError, ConfigError, StorageError, KeyboardInterrupt) as error:
        warn(str(RagEvalError.of(f"sweep {name}", "stopped", command=command)))
        if isinstance(error, TargetGoneError):
            raise UnreachableError.of_faults(error.faults) from error
        raise


def _run(
    settings: Settings,
    cases: SweepCases,
    sweep: SweepFile,
    plan: SweepPlan,
    folder: Path,
    explained: AbstractContextManager[None],
) -> SweepOutcome:
    from pytest_rageval.engine.sweep.indexes import Indexes
    from pytest_rageval.engine.sweep.proposals import Proposals
    from pytest_rageval.engine.sweep.runner import SweepRunner
    from pytest_rageval.engine.sweep.trials import SweepRuns
    from pytest_rageval.judges.opening import open_judge
    from pytest_rageval.support.in_flight import Slots

    proposals = None
    if plan.method == "optuna":
        proposals = Proposals(sweep, plan.by_key[plan.baseline], plan.goal)
    settings = replace(settings, results_dir=f"{settings.results_dir}/{folder.name}")
    slots = Slots(settings.concurrency)
    with interrupted_by_termination(), ExitStack() as stack:
        judge = stack.enter_context(open_judge(settings, environ=os.environ, slots=slots))
        second = stack.enter_context(
            open_judge(settings, environ=os.environ, slots=slots, second=True)
        )
        indexes = stack.enter_context(
            Indexes(
                settings,
                command=sweep.build,
                folder=folder,
                slots=slots,
                environ=dict(os.environ),
                opening=opened_target,
            )
        )
        runs = stack.enter_context(
            SweepRuns(cases=cases, slots=slots, judge=judge, second_judge=second)
        )
        runner = SweepRunner(plan=plan, runs=runs, indexes=indexes)
        display = stack.enter_context(ProgressOnStderr(partial(_progress, runner)))
        runner.say = display.say
        with explained:
            if proposals is not None:
                runner.search(proposals)
            return runner.run()


def _progress(runner: SweepRunner) -> str | None:
    from pytest_rageval.report.view.progress import progress_line

    progress = runner.runs.progress()
    if progress is None:
        return ": ".join(filter(None, (runner.stage, runner.runs.step))) or None
    return f"{runner.stage}: " + "".join(text for text, _ in progress_line(progress))


def _write(folder: Path, outcome: SweepOutcome, *, page: bool) -> list[str]:
    """Write the outcome, and return the names of the files."""
    from pytest_rageval.report.faces.markdown import render
    from pytest_rageval.report.html.sweep import render_sweep
    from pytest_rageval.report.view.sweep import best_toml, view_of_sweep
    from pytest_rageval.runs.store import REPORT, write_text_document, write_versioned

    texts: dict[str, str | Iterator[str]] = {"sweep.md": render(view_of_sweep(outcome))}
    if page:
        addresses = {row.run: f"{row.run}/{REPORT}" for row in outcome.ranking}
        reports = {run: place for run, place in addresses.items() if (folder / place).is_file()}
        texts["sweep.html"] = render_sweep(outcome, name=folder.name, reports=reports)
    texts["best.toml"] = best_toml(outcome)
    for name, text in texts.items():
        write_text_document(folder, name, text)
    write_versioned(folder, "sweep.json", to_builtins(outcome))
    return [*texts, "sweep.json"]


def _show(folder: Path, outcome: SweepOutcome, written: Sequence[str], *, face: str | None) -> None:
    from pytest_rageval.report.view.sweep import view_of_sweep

    place = shown_below(folder, Path.cwd())
    view = view_of_sweep(outcome)
    files = paragraph(f"in {place}: {', '.join(written)} and the runs")
    view = replace(view, blocks=[*view.blocks, files])
    print_result({**to_builtins(outcome), "folder": place}, view, face=face)


def _show_plan(settings: Settings, plan: SweepPlan, sweep: SweepFile, *, face: str | None) -> None:
    from pytest_rageval.engine.sweep.runner import forecast
    from pytest_rageval.report.view.sweep import plan_lines

    document = forecast(settings, plan, in_place=sweep.build is not None)
    print_result(document, plan_lines(document), face=face)
