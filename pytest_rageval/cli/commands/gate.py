"""``rageval gate``: checks a stored run against the current thresholds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
from msgspec import to_builtins

from pytest_rageval.cli.assumed import run_or_last
from pytest_rageval.cli.completion import complete_run, run_argument
from pytest_rageval.cli.output import ExitCode, json_option, print_result, switch
from pytest_rageval.values.settings import AUTO


@click.command("gate")
@run_argument
@click.option("--baseline", metavar="RUN", shell_complete=complete_run,
              help="Run to compare with; auto: that of the merge base, or the newest of main.  "
              "[default: the project's, else that of thresholds.toml]")  # fmt: skip
@click.option("--runs", metavar="PATH", type=click.Path(exists=True, path_type=Path),
              help="Folder or archive with runs for auto.  [default: the project's]")  # fmt: skip
@click.option("--gate", "gates", metavar="EXPR", multiple=True,
              help="Further check, such as 'recall_at_k>=0.9'; repeatable.")  # fmt: skip
@switch("--allow-regressions", help="Let checks against the baseline warn instead of fail.")
@json_option
def command(
    run: str | None,
    baseline: str | None,
    runs: Path | None,
    gates: tuple[str, ...],
    allow_regressions: bool,
    as_json: bool,
) -> ExitCode:
    """Check a stored run against thresholds.toml.

    Nothing is asked or written. RUN is an id, a prefix of one, a tag, last, last~N or a path; by
    default the last run. Exit code 1 if the gate fails, as it does for a run that is INCOMPLETE; 3
    if it does not, but the baseline is not comparable.
    """
    from pytest_rageval.cli.judge_options import project_settings
    from pytest_rageval.cli.output import add_to_step_summary
    from pytest_rageval.engine.finish import open_gate
    from pytest_rageval.report.faces.markdown import render
    from pytest_rageval.report.faces.terminal import show
    from pytest_rageval.report.view.gate import view_of_gate
    from pytest_rageval.runs.store import resolve_run

    project = project_settings({"rageval_allow_regressions": allow_regressions})
    # A path of the command line starts from the working directory.
    elsewhere = project.runs if runs is None else str(runs.absolute())
    project = replace(project, baseline=baseline or project.baseline, runs=elsewhere)
    results = project.results_folder
    gate = open_gate(resolve_run(results, run_or_last(run)), project, gates=gates).with_numbers()
    if baseline not in {None, AUTO}:
        resolve_run(results, baseline)  # report a missing baseline that was named explicitly
    against, run_id = gate.baseline(), gate.run.run_id
    decided = gate.decide(against)
    document = {"run_id": run_id, **to_builtins(decided)}
    view = view_of_gate(run_id, decided)
    print_result(document, show(view), as_json=as_json)
    add_to_step_summary(render(view))
    if decided.verdict == "fail":
        return ExitCode.NO
    if against is not None and against.not_comparable:
        return ExitCode.NOT_COMPARABLE
    return ExitCode.YES
