"""Responses that were recorded, scored in one call."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from pytest_rageval.api.evaluation import option_settings
from pytest_rageval.api.run import Run
from pytest_rageval.engine.finish import write_page
from pytest_rageval.engine.judge_notes import JudgeWatch
from pytest_rageval.engine.recorded import RecordedRun
from pytest_rageval.engine.registry import open_registry
from pytest_rageval.engine.scored import ScoredRun, scored_settings
from pytest_rageval.judges.opening import judging_slots, open_judge
from pytest_rageval.runs.index import put_into_index
from pytest_rageval.runs.read import read_run
from pytest_rageval.target.calling import named
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import Settings


def score(
    cases: str | os.PathLike[str],
    responses: str | os.PathLike[str],
    *,
    judge: str | None = "none",
    root: str | os.PathLike[str] = ".",
    save: str | None = None,
    **options: object,
) -> Run:
    """Score recorded responses as ``rageval score`` does, without asking a target.

    Args:
        cases: a case file.
        responses: a JSON Lines file of responses (docs/score.md).
        judge: ``offline``, ``none`` or the name of a model; None: that of the settings.
        root: folder of the project.
        save: name of the run to write; None: none is written.
        options: settings that win over others, such as ``k`` and ``retrieval_only``.

    Raises:
        ConfigError: a setting or the judge is wrong.
        DatasetError: with every fault of both files.
        RagEvalError: the judge cannot be reached for ``max_errors`` cases in a row.
        StorageError: the run cannot be written.
        TypeError: there is no such option.
    """
    if not isinstance(judge, str | None):  # else the judge of the settings would score in its place
        raise ConfigError.of(
            "score(): judge",
            "type",
            found=named(judge),
            expected="None, and judge.client in the settings",
        )
    if not isinstance(save, str | None) or {"run_id", "resume"} & options.keys():
        raise ConfigError.of(
            "score(): save",
            "value",
            found="run_id, resume or another type",
            expected="the name of the run alone",
        )
    project = option_settings(root, judge, options)
    settings = scored_settings(project, retrieval_only=project.retrieval_only)
    files = Path(cases), Path(responses)
    if save is not None:
        return _scored(files, settings, settings.results_folder, save)
    with TemporaryDirectory(prefix="rageval-") as folder_name:
        return _scored(files, settings, Path(folder_name), None)


def _scored(files: tuple[Path, Path], settings: Settings, results: Path, save: str | None) -> Run:
    name = "unsaved" if save is None else save
    registry, slots = open_registry(settings), judging_slots(settings)
    watch = JudgeWatch(settings.max_errors)
    with (
        open_judge(settings, environ=os.environ, slots=slots) as judge,
        ScoredRun(settings, run_id=name, cases=files[0], registry=registry, results=results) as run,
    ):
        recorded = RecordedRun(*files, settings, judge=judge, slots=slots, registry=registry)
        with closing(recorded.records()) as records:
            for record in records:
                watch.see(record)
                run.add(record)
        run.finish()
    stored = read_run(results / name)
    remarks = [*recorded.findings.warnings, *watch.facts.notes(settings)]
    if save is not None:
        page = "" if settings.no_report else write_page(stored)
        remarks += filter(None, (page, put_into_index([save], settings, os.environ)))
    stored = replace(stored, notes=(*stored.notes, *remarks))
    return Run(stored, None if save is None else stored.folder)
