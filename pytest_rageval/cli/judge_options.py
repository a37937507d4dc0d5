"""The judge's options of pytest, for commands that ask one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from pytest_rageval.cli.output import UnreachableError
from pytest_rageval.project.options import OPTIONS
from pytest_rageval.support.text import clean

if TYPE_CHECKING:
    from pytest_rageval.analysis.trust.reliability import JudgeLabels
    from pytest_rageval.judges.spot_check import CaseKey
    from pytest_rageval.values.record import CaseRecord
    from pytest_rageval.values.settings import Settings

if TYPE_CHECKING:
    from pytest_rageval.values.record import CaseRecord
    from pytest_rageval.values.settings import Settings

_Command = TypeVar("_Command", bound=Callable[..., Any])
_FLAGS: Final = ("--judge", "--judge-base-url", "--judge-api-key-env", "--no-judge-cache")


def judge_options(command: _Command) -> _Command:
    """Add the judge's options under their own names; pass what they hold to `judge_settings`."""
    for option in reversed([one for one in OPTIONS if one.flag in _FLAGS]):
        command = click.option(
            str(option.flag),
            option.dest,
            is_flag=option.kind == "boolean",
            default=None,
            metavar=None if option.kind == "boolean" else option.metavar,
            help=f"{option.help[0].upper()}{option.help[1:]}.",
        )(command)
    return command


def project_settings(flags: Mapping[str, object]) -> Settings:
    """Return the settings of the project under the flags that were given.

    Raises:
        ConfigError: they are wrong.
    """
    from pytest_rageval.project.settings import load_settings

    given = {name: value for name, value in flags.items() if value}
    return load_settings(Path.cwd(), flags=given, environ=os.environ)


def judge_settings(flags: Mapping[str, object]) -> Settings:
    """Return ``project_settings`` where they name a judge.

    Raises:
        ConfigError: they are wrong.
        click.UsageError: they name no judge.
    """
    settings = project_settings(flags)
    if settings.judge == "none":
        raise click.UsageError("no judge: expected --judge offline, or the name of a model")
    return replace(settings, retrieval_only=False)


class JudgeWatch:
    """Sees every case that a command has judged.

    It ends the command whose judge cannot be reached for so many of them in a row.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lost = 0
        self._examples: dict[tuple[object, ...], CaseRecord] = {}

    def see(self, record: CaseRecord) -> None:
        """Take note of a case that was judged.

        Raises:
            UnreachableError: it is one too many.
        """
        errors = [verdict.get("error") for verdict in record.judgements.values()]
        if not errors:
            return
        for rubric, verdict in record.judgements.items():
            who = (rubric, verdict.get("judge"), verdict.get("rubric_version"))
            if verdict.get("scores"):
                self._examples.setdefault(who, record)
        lost = all(error is not None and error["kind"] == "unreachable" for error in errors)
        self._lost = self._lost + 1 if lost else 0
        if self._lost >= self._limit:
            message = clean(errors[0]["message"] if errors[0] is not None else "", 300)
            raise UnreachableError(f"the judge cannot be reached: {message}")

    def notes(self, settings: Settings) -> list[str]:
        """Return what a reader of the judged scores should know of the judge."""
        from pytest_rageval.engine.labels import judge_notes

        return judge_notes(self._examples.values(), settings)


def warn_of_cache(judge: object) -> None:
    """Say on stderr what the cache of a judge did not keep, if there is anything."""
    warning = getattr(judge, "cache_warning", None)
    if isinstance(warning, str):
        click.echo(f"warning: {clean(warning)}", err=True)


def with_trust(settings: Settings, spot_check: int, labels: str | None) -> Settings:
    """Return the settings with a spot check of this command's own and these labels.

    Args:
        settings: of the project, whose spot check is one of its runs and has no part here.
        spot_check: how many cases a second judge judges too.
        labels: file, relative to the working folder; None: the project's.

    Raises:
        ConfigError: the spot check could tell nothing.
    """
    from pytest_rageval.judges.spot_check import check_second_judge

    judging = replace(settings.judging, spot_check=spot_check)
    if labels is not None:
        judging = replace(judging, labels=labels)
    settings = replace(settings, judging=judging)
    check_second_judge(settings)
    return settings


def chosen_cases(records: Sequence[CaseRecord], settings: Settings) -> frozenset[CaseKey]:
    """Return file and id of the cases that are judged twice."""
    from pytest_rageval.judges.spot_check import choose_cases

    return choose_cases(((r.file, r.case) for r in records if r.case_stored), settings)


def read_labels(records: Sequence[CaseRecord], settings: Settings) -> JudgeLabels | None:
    """Read people's labels before anybody is asked; None: there are none.

    Raises:
        DatasetError: the file is wrong, or does not say which case a label is about.
    """
    from pytest_rageval.analysis.trust.reliability import labels_by_case
    from pytest_rageval.engine.labels import load_judge_labels

    given = settings.judging.labels
    if given is None:
        return None
    labels = load_judge_labels(Path(settings.rootdir) / given, display=given)
    labels_by_case(labels, dict.fromkeys((r.file, r.case_id) for r in records))
    return labels
