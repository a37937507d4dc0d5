"""A function, a target or recorded responses, evaluated over cases in one call."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from pytest_rageval.api.cases import CaseSource, ChosenCases, choose_cases
from pytest_rageval.api.run import Run
from pytest_rageval.engine import run as engine_run
from pytest_rageval.engine.asking import CaseAsker, ask_runs
from pytest_rageval.engine.case import Clients
from pytest_rageval.engine.finish import write_page
from pytest_rageval.engine.judging import JudgeWatch
from pytest_rageval.engine.own_code import open_registry
from pytest_rageval.engine.preparing import (
    check_results_dir,
    check_target,
    read_labels,
    refuse_select,
    run_thresholds,
)
from pytest_rageval.engine.recorded import RecordedRun
from pytest_rageval.engine.run_state import Breaker, RunState
from pytest_rageval.engine.scored import ScoredRun, scored_settings
from pytest_rageval.judges import spot_check
from pytest_rageval.judges.opening import check_offline, judging_slots, open_judge
from pytest_rageval.project.documents import documents_path
from pytest_rageval.project.options import OPTIONS
from pytest_rageval.project.settings import load_settings, no_target, target_kind
from pytest_rageval.runs.index import put_into_index
from pytest_rageval.runs.read import read_documents, read_run
from pytest_rageval.support.in_flight import Slots
from pytest_rageval.support.text import did_you_mean
from pytest_rageval.target.calling import check_client, named
from pytest_rageval.target.opening import configured_target, open_target
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.numbers import plain
from pytest_rageval.values.run import itself
from pytest_rageval.values.settings import Settings

if TYPE_CHECKING:
    from pytest_rageval.report.view.summary import FinishedRun
    from pytest_rageval.values.verdict import Judge

_NOT_TAKEN: Final = frozenset({"judge", "failed_from", "shard", "documents.cleanup"})
"""Settings that have an argument of their own, or that a list of cases replaces."""


def evaluate(
    cases: CaseSource,
    target: object = None,
    *,
    judge: Judge | str | None = None,
    root: str | os.PathLike[str] = ".",
    save: bool = True,
    **options: object,
) -> Run:
    """Ask every case, judge and score the answers, and return the run.

    Settings, records, numbers and gate are those of a pytest session over the same cases. It may be
    called where an event loop runs. Interrupted (Ctrl-C), it keeps what was measured.

    Args:
        cases: a case file, a folder of them, or cases.
        target: a function of one ``AskRequest`` or an object with such a method ``ask``, sync or
            async, as a ``rag_client`` fixture returns; None: that of the settings.
        judge: what a ``judge`` fixture returns, or ``offline``, ``none`` or the name of a model;
            None: that of the settings.
        root: folder of the project, where ``pyproject.toml`` is.
        save: whether to write a run folder.
        options: settings that win over others, by their keys below ``[tool.rageval]``, such as
            ``k`` and ``concurrency``, and ``run_id`` and ``resume``.

    Raises:
        ConfigError: a setting, the target, the judge or ``thresholds.toml`` is wrong.
        DatasetError: with every fault of the cases.
        RagEvalError: the endpoint that embeds for the embedded server failed.
        StorageError: the run, the judge's cache or the file of its rate limits cannot be used.
        TypeError: there is no such option.
    """
    settings = option_settings(root, judge, options)
    if not save and settings.resume is not None:
        raise ConfigError.of(
            "resume", "value", found="save=False", expected="a run that is written"
        )
    refuse_select(settings)
    chosen = choose_cases(cases, settings)
    _check(settings, target, judge, chosen, save=save)
    registry = open_registry(settings)
    thresholds = run_thresholds(settings, registry, chosen.known, whole=chosen.whole)
    settings = replace(
        settings, judged_on=thresholds.judged_on, no_report=not save or settings.no_report
    )
    state = RunState(
        settings=settings,
        registry=registry,
        thresholds=thresholds,
        breaker=Breaker.of(settings),
        files=chosen.files,
        all_files=tuple(sorted(chosen.sets)),
        sets=dict(chosen.sets),
        labels=read_labels(settings, chosen.sets.values()),
    )
    named_target = configured_target(settings) if target is None else named(target)
    state.asked.add(named_target if target is None else f"{named_target}, given to evaluate()")
    return _evaluated(state, chosen, target, judge, save=save)


def option_settings(
    root: str | os.PathLike[str], judge: object, options: Mapping[str, object]
) -> Settings:
    """Return the settings of a project under the options of a call.

    Raises:
        ConfigError: a setting or an option is wrong.
        TypeError: there is no such option.
    """
    known = {
        one.keyword: one for one in OPTIONS if one.flag is not None and one.name not in _NOT_TAKEN
    }
    for name in options.keys() - known.keys():
        raise TypeError(f"unexpected option {name!r}{did_you_mean(name, known)}")
    flags: dict[str, object] = {"rageval_judge": judge} if isinstance(judge, str) else {}
    for name, value in options.items():
        if known[name].kind == "texts" and isinstance(value, list | tuple):
            value = ",".join(str(one) for one in value)
        flags[known[name].dest] = plain(value)
    folder = Path(os.path.abspath(root))
    if not folder.is_dir():  # else the gate would pass without the project's limits
        raise ConfigError.of("root", "value", found=folder, expected="the folder of pyproject.toml")
    return load_settings(folder, flags=flags, environ=os.environ, keywords=True)


def _check(
    settings: Settings, target: object, judge: object, chosen: ChosenCases, *, save: bool
) -> None:
    """Check before the first request what every one of them would need.

    Raises:
        ConfigError: something is wrong.
    """
    spot_check.check_second_judge(settings)
    if isinstance(judge, str | None):  # the settings name it
        check_offline(settings)
    if target is not None:
        check_client(target, "evaluate(): target")
    elif target_kind(settings) == "none":
        raise no_target(settings, "no_target_given")
    else:
        check_target(settings.target, os.environ)
        if any(documents_path(file).is_file() for file in chosen.files):
            raise ConfigError.of("evaluate()", "documents_of_pytest")
    if save:
        check_results_dir(settings)


def _evaluated(
    state: RunState, chosen: ChosenCases, target: object, judge: object, *, save: bool
) -> Run:
    settings = state.settings
    slots = Slots(settings.concurrency)
    with ExitStack() as stack:
        results = None
        if not save:
            results = Path(stack.enter_context(TemporaryDirectory(prefix="rageval-")))
        run = engine_run.RunRecorder(state, results=results)
        stack.callback(run.close)
        if settings.resume is not None:
            run.resume()
        clients = stack.enter_context(_opened(settings, target, judge, slots))
        run.expect(chosen.cases)
        located = [(nodeid.split("::", 1)[0], one.case) for nodeid, one in chosen.cases.items()]
        twice = spot_check.choose_cases(located, settings)
        try:
            asker = CaseAsker(run=run, clients=clients, slots=slots, judged_twice=twice)
            ask_runs([asker], slots)
        except BaseException as error:
            if run.cases.records and save:
                run.finish(gate=False)
                n, total, name = len(run.cases.reported()), len(run.cases.asked), run.run_id
                error.add_note(
                    f"rageval: run {name} keeps the {n} of {total} cases that were measured; "
                    f"load_run({name!r}) reads it, evaluate(..., resume={name!r}) continues it"
                )
            raise
        return _public(run.finish(gate=True, index=save), save=save)


@contextmanager
def _opened(settings: Settings, target: object, judge: object, slots: Slots) -> Iterator[Clients]:
    """Open the target and the judges of the settings, as far as none are given."""
    with ExitStack() as stack:
        if target is None:
            target = stack.enter_context(open_target(settings, environ=os.environ, slots=slots))
        if isinstance(judge, str | None):
            judge = stack.enter_context(open_judge(settings, environ=os.environ, slots=slots))
        elif not callable(getattr(judge, "judge", None)):
            raise ConfigError.of(
                "evaluate(): judge",
                "type",
                found=named(judge),
                expected="an object with judge(rubric, request, repeat=0), or offline, none or a "
                "model",
            )
        second = stack.enter_context(
            open_judge(settings, environ=os.environ, slots=slots, second=True)
        )
        yield Clients(target, judge, second)


def _public(finished: FinishedRun, *, save: bool) -> Run:
    stored = finished.run
    # As they are read again: JSON has no tuples.
    documents = read_documents(stored.folder)
    stored = replace(
        stored,
        aggregate=documents.aggregate,
        notes=(*finished.reply_faults, *finished.notes),
        whole=itself,  # all are; that of the engine holds on to it, and cannot be pickled
    )
    return Run(stored, stored.folder if save else None)


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
