"""``rageval gate``: checks a stored run against the current thresholds."""

from __future__ import annotations

from pathlib import Path

import click
from msgspec import to_builtins

from pytest_rageval.cli.arguments import complete_run, run_argument, run_or_last
from pytest_rageval.cli.output import (
    PATH,
    ExitCode,
    add_to_step_summary,
    face_option,
    print_result,
    switch,
)
from pytest_rageval.cli.target import project_settings


@click.command("gate")
@run_argument
@click.option("--baseline", metavar="RUN", shell_complete=complete_run,
              help="Run to compare with; auto: that of the merge base, or the newest of main.  "
              "[default: the project's, else that of thresholds.toml]")  # fmt: skip
@click.option("--runs", metavar="PATH", type=PATH,
              help="Folder or archive with runs for auto.  [default: the project's]")  # fmt: skip
@click.option("--gate", "gates", metavar="EXPR", multiple=True,
              help="Further check, such as 'recall_at_k>=0.9'; repeatable.")  # fmt: skip
@switch("--allow-regressions", help="Let checks against the baseline warn instead of fail.")
@face_option
def command(
    run: str | None,
    baseline: str | None,
    runs: Path | None,
    gates: tuple[str, ...],
    allow_regressions: bool,
    face: str | None,
) -> ExitCode:
    """Check a stored run against thresholds.toml.

    Nothing is asked or written. RUN is an id, a prefix of one, a tag, last, last~N or a path; by
    default the last run. Exit code 1 if the gate fails, as it does for a run that is INCOMPLETE; 3
    if it does not, but the baseline is not comparable.
    """
    from pytest_rageval.engine.finish import open_gate
    from pytest_rageval.report.faces.markdown import render
    from pytest_rageval.report.view.gate import view_of_gate
    from pytest_rageval.runs.baseline import refuse_missing_baseline
    from pytest_rageval.runs.store import resolve_run

    project = project_settings(
        {
            "rageval_allow_regressions": allow_regressions,
            "rageval_baseline": baseline,
            # A path of the command line starts from the working directory.
            "rageval_runs": runs and str(runs.absolute()),
        }
    )
    folder = resolve_run(project.results_folder, run_or_last(run))
    refuse_missing_baseline(project)
    gate = open_gate(folder, project, gates=gates).with_numbers()
    run_id, decided = gate.run.run_id, gate.decide(gate.baseline())
    document = {"run_id": run_id, **to_builtins(decided)}
    view = view_of_gate(run_id, decided)
    print_result(document, view, face=face)
    add_to_step_summary(render(view))
    return ExitCode(decided.exit_code)
