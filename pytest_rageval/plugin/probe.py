"""Session of pytest that ``rageval doctor`` starts: builds the clients of cases and checks them.

Loaded by ``-p`` in a process of its own. No case is run or stored: pytest only sets it up, with the
conftest files, fixtures and plugins of the project, and the client that its ``rag_client`` yields
is asked here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.authoring.doctor.findings import Finding, Findings, missing_variable
from pytest_rageval.authoring.doctor.project import VARIABLE
from pytest_rageval.authoring.doctor.target import ask_case, check_golds, check_replies
from pytest_rageval.authoring.linting.anchors import lost_anchors
from pytest_rageval.authoring.linting.findings import PlacedCase
from pytest_rageval.plugin.client_fixtures import (
    asked_one_by_one,
    asked_target,
    asks_configured_target,
    fixture_error,
)
from pytest_rageval.plugin.hooks import STATE
from pytest_rageval.plugin.items import CaseItem
from pytest_rageval.plugin.private import fixture_info
from pytest_rageval.project.settings import no_target, target_kind
from pytest_rageval.support.http.address import blot_out_known
from pytest_rageval.support.project_code import last_place
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import ConfigError, EndpointError
from pytest_rageval.values.settings import Settings

_FOUND = Findings("target")
_GOLDS = 3
"""Most golds of a case that are looked up, by up to three requests each."""
_asked: set[str] = set()
"""Targets of this process, each of which is checked once."""


def _instructions() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(os.environ[VARIABLE])
    return found


def _report(findings: Iterator[Finding] | list[Finding]) -> None:
    with open(_instructions()["out"], "a", encoding="ascii") as file:
        file.writelines(f"{json.dumps(asdict(finding))}\n" for finding in findings)


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, Any, Any]:
    """Keep the session in one process, off the network recorder, and from resuming a run."""
    option = config.option
    off: dict[str, object] = {"numprocesses": None, "dist": "no", "tx": [], "usepdb": False}
    off |= {"disable_recording": True, "rageval_resume": None}
    for name, value in off.items():
        if hasattr(option, name):
            setattr(option, name, value)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the chosen cases, and of their fixtures those that their client needs."""
    state = config.stash.get(STATE, None)
    if state is None:
        items.clear()
        return
    state.deliver = None
    # Repeated attempts would hide the failures that the checks look for.
    state.settings = replace(state.settings, target=replace(state.settings.target, retries=0))
    wanted = {Path(file): case_id for file, case_id in _instructions()["cases"]}
    kept = [
        item
        for item in items
        if isinstance(item, CaseItem) and wanted.get(item.path) == item.located.case.id
    ]
    if target_kind(state.settings) == "none" and any(map(asks_configured_target, kept)):
        fix = "set an address or a vault, or write a fixture rag_client in conftest.py"
        _report([_FOUND.fail("none", str(no_target(state.settings)), fix)])
        kept = [item for item in kept if not asks_configured_target(item)]
    for item in kept:
        info = fixture_info(item)
        names = [name for name in info.initialnames if name not in info.argnames]
        # Not the judge, which is checked on its own, nor anything that asks the case.
        item.fixturenames = [*names, "rag_client"]
    items[:] = kept


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Check the client of a case once its fixtures are set up."""
    try:
        yield
    except ConfigError as error:
        fix = missing_variable(error) or "correct [tool.rageval.target]"
        _report([_FOUND.fail("settings", blot_out_known(str(error)), fix)])
        raise
    except pytest.skip.Exception as error:
        fix = "name another case file, or take the mark away"
        _report([_FOUND.warn("rag_client", f"{item.nodeid} is skipped: {error.msg}", fix)])
        raise
    except (Exception, pytest.fail.Exception) as error:
        _report([_not_set_up(item, error)])
        raise
    if isinstance(item, CaseItem):
        _report(_checks(item))


def _not_set_up(item: pytest.Item, error: BaseException) -> Finding:
    info = fixture_error(error, item.config.rootpath)
    place = last_place(info.traceback)
    message = f"pytest cannot set up {item.nodeid}: {info.message}{place and f', at {place}'}"
    return _FOUND.fail("rag_client", message, "fix the fixture there")


def _checks(item: CaseItem) -> Iterator[Finding]:
    settings = item.state.settings
    target = asked_target(item, settings) or "no target"
    target += item.parameters
    if target in _asked:
        return
    _asked.add(target)
    case, client = item.located.case, item.funcargs["rag_client"]
    question = _instructions()["question"]
    if question is not None:
        case = Case(id="question", question=question, metadata=case.metadata)  # for its request
    yield _FOUND.ok("asked", f"{target}, by case {case.id} of {item.file}")
    try:
        first, asked = ask_case(client, case, settings)
        second = None if first.response is None else ask_case(client, case, settings)[0]
    except ConfigError as error:
        fix = missing_variable(error) or "fix what it names"
        yield _FOUND.fail("settings", str(error), fix)
        return
    yield from check_replies(first, second, asked)
    if first.response is not None and first.response.retrieved_chunks and case.gold_supports:
        placed = PlacedCase(case=case, file=item.file, lineno=item.located.lineno)
        if asked_one_by_one(item):
            settings = replace(settings, concurrency=1)
        yield from _golds(client, placed, settings)


def _golds(client: object, placed: PlacedCase, settings: Settings) -> Iterator[Finding]:
    golds = placed.case.gold_supports[:_GOLDS]
    case = replace(placed.case, gold_supports=golds, irrelevant_supports=())
    try:
        lost = list(lost_anchors(client, [replace(placed, case=case)], settings))
    except EndpointError as error:
        fix = "make the target answer other questions than that of the case, too"
        if error.kind == "protocol":
            fix = "fix what the message names: a run reads replies in the same way"
        yield _FOUND.warn("golds", f"could not be looked up: {error.message}", fix)
        return
    yield from check_golds(case, lost)
