"""``rageval doctor``: checks the setup and suggests fixes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import click

from pytest_rageval.cli.output import (
    ExitCode,
    face_option,
    print_blocks,
    print_result,
    switch,
)
from pytest_rageval.cli.target import judge_options, opened_target, project_settings
from pytest_rageval.project.options import OPTIONS
from pytest_rageval.report.view.blocks import Block, Note, Status, Table
from pytest_rageval.support.text import clean, part
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import ConfigError

if TYPE_CHECKING:
    from pytest_rageval.authoring.doctor.findings import Finding
    from pytest_rageval.values.settings import Settings

_STYLES: Final[dict[str, Status]] = {"ok": "good", "warn": "warn", "FAIL": "bad"}
_QUESTION: Final = "What is this about?"
PROBE_CHARS: Final = 60_000
"""As long as the longest prompt that a judge of a run gets."""


@click.command("doctor")
@click.option("--rag-url", "rageval_rag_url", metavar="URL", help="Base URL of the RAG API.")
@judge_options
@click.option(
    "--question", metavar="TEXT", help="Question for the target.  [default: that of the first case]"
)
@click.option(
    "--probe-chars",
    type=click.IntRange(min=0, max=10_000_000),
    default=PROBE_CHARS,
    show_default=True,
    metavar="N",
    help="Length of the prompt that tests whether a judge reads long ones whole; 0 sends none.",
)
@switch("--config", "show_config", help="Only show each setting's origin.")
@face_option
def command(
    question: str | None, probe_chars: int, show_config: bool, face: str | None, **flags: object
) -> ExitCode:
    """Check the project, its target and its judge.

    Each line says ok, warn or FAIL, and the fix. The reply of an HTTP API is shown below, and for
    one of another shape settings to paste, which were tried. The client that pytest builds for a
    case, by the fixture rag_client or from the settings, is asked its question twice and for its
    golds; a model as judge is asked for one verdict of each rubric and about one long text. Exit
    codes: 0 nothing fails, 1 something fails, 4 the target or the judge does not answer.
    """
    if show_config:
        return _show_config(flags, face)
    found: list[Finding] = []
    for finding in _findings(flags, question, probe_chars):
        found.append(finding)
        if face is None:
            print_blocks(_shown(finding))
    code = _exit_code(found)
    if face is not None:
        blocks = [block for one in found for block in _shown(one)]
        print_result({"ok": code == ExitCode.YES, "checks": found}, blocks, face=face)
    else:
        counts = {level: sum(one.level == level for one in found) for level in _STYLES}
        click.echo(", ".join(f"{count} {level}" for level, count in counts.items()))
    return code


def _exit_code(found: list[Finding]) -> ExitCode:
    if any(finding.unreachable for finding in found):
        return ExitCode.UNREACHABLE
    return ExitCode.NO if any(one.level == "FAIL" for one in found) else ExitCode.YES


def _shown(finding: Finding) -> Iterator[Block]:
    fix = part("; fix: {}", finding.fix)
    text = clean(f"{finding.area} {finding.check}: {finding.message}{fix}")
    yield Note(((f"{finding.level:<6}", _STYLES[finding.level]),), ((text, ""),))
    # Not wrapped, so that the settings can be pasted.
    for line in (
        *finding.shown,
        *(["", *finding.settings.splitlines(), ""] * bool(finding.settings)),
    ):
        yield f"      {line}".rstrip()


def _findings(
    flags: dict[str, object], question: str | None, probe_chars: int
) -> Iterator[Finding]:
    from pytest_rageval.authoring.doctor import judge, project
    from pytest_rageval.authoring.doctor.project import check_through_pytest
    from pytest_rageval.support.http.address import learn_secrets, sent_secrets

    yield from project.check_packages()
    try:
        settings = project_settings(flags)
    except ConfigError as error:
        yield project.broken_settings(error)
        return
    target = settings.target
    learn_secrets(sent_secrets(target, os.environ))
    sets = project.read_case_files(settings)
    yield from project.check_settings(settings)
    yield from project.check_preset(settings)
    yield from project.check_case_files(settings, sets)
    yield project.check_thresholds(settings, sets)
    yield project.check_results_folder(settings)
    yield from project.check_databases(os.environ)
    if cases := project.cases_of(sets):
        yield from check_through_pytest(sets, flags, question, settings)
    else:
        yield from _configured(settings, question or _QUESTION)
    yield from judge.check_judge(settings, cases, environ=os.environ, probe_chars=probe_chars)


def _configured(settings: Settings, question: str) -> Iterator[Finding]:
    """Check the configured target where no case exists for which pytest could build a client."""
    from pytest_rageval.authoring.doctor.findings import Findings, missing_variable
    from pytest_rageval.authoring.doctor.target import ask_case, check_replies
    from pytest_rageval.project.settings import no_target, target_kind

    if target_kind(settings) == "none":
        if settings.target.preset is not None:
            yield Findings("target").fail(
                "none", str(no_target(settings)), "the address of your server"
            )
            return
        yield Findings("target").warn(
            "none",
            "no address and no vault is set, and no case for which pytest would build a client",
            "write a case, and name the address of your API with --rag-url or write rag_client",
        )
        return
    # No retries: they would hide the failures that this check looks for.
    once = replace(settings, target=replace(settings.target, retries=0))
    case = Case(id="-", question=question)
    try:
        with opened_target(once) as client:
            first, asked = ask_case(client, case, once)
            second = None if first.response is None else ask_case(client, case, once)[0]
    except ConfigError as error:
        fix = missing_variable(error) or "correct [tool.rageval.target]"
        yield Findings("target").fail("settings", str(error), fix)
        return
    yield from check_replies(first, second, asked)


def _show_config(flags: dict[str, object], face: str | None) -> ExitCode:
    from pytest_rageval.project.settings import stored_settings

    settings = stored_settings(project_settings(flags))
    written = {one.name: one.key or one.flag for one in OPTIONS}
    rows = {
        written.get(name) or name: {"value": attrgetter(name)(settings), "origin": origin}
        for name, origin in settings.origins.items()
    }
    cells = [(f"{name}: {row['value']!r}", row["origin"]) for name, row in sorted(rows.items())]
    print_result({"settings": rows}, [Table(("", ""), cells)], face=face)
    return ExitCode.YES
