"""Hooks, options and fixtures that pytest loads in every session of an environment.

Imports only the standard library and pytest. Everything else is imported when a session contains
case files; until then the plugin only adds options, a marker and fixtures.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator, Sequence
from copy import deepcopy
from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_rageval.plugin.state import State
    from pytest_rageval.project.documents import LoadedDocument
    from pytest_rageval.values.case import Case
    from pytest_rageval.values.record import CaseRecord
    from pytest_rageval.values.settings import Settings

STATE: pytest.StashKey[State] = pytest.StashKey()
_sessions: list[State | None] = []
"""Sessions of this process, the innermost last, since a test may run pytest within pytest. None:
the session does not evaluate."""


class _OwnModules:
    """Finder of the modules of this package.

    pytest loads all modules of plugins with a loader that rewrites their asserts, which takes twice
    as long, also where it has stored the result. No test asserts anything in these modules. Not a
    ``PathFinder`` itself: it would look up installed packages a second time.
    """

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        """Return where a module of this package is; None: it is of another package."""
        if not fullname.startswith("pytest_rageval."):
            return None
        return PathFinder.find_spec(fullname, path, target)


sys.meta_path.insert(0, _OwnModules)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Make the hooks of a project known."""
    from pytest_rageval.plugin import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the flags of every option that has one."""
    from pytest_rageval.project.options import OPTIONS

    group = parser.getgroup("rageval", "evaluation of a RAG system")
    for option in OPTIONS:
        if option.flag is not None:
            group.addoption(option.flag, **option.addoption_kwargs)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker that every case carries."""
    config.addinivalue_line(
        "markers",
        "case(category, difficulty, answerable, language, required): set on every evaluation "
        "case, for -m \"case(category='multi_hop')\"",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Prepare the session if the command line selects case files.

    At session start, because the controller of an xdist run must read every file, and refuse
    faulty ones with the right exit code, before it starts its workers.
    """
    from pytest_rageval.plugin.preflight import evaluates

    state = None
    if evaluates(session.config):
        from pytest_rageval.plugin.loading import load

        state = load(session.config)
    _sessions.append(state)
    session.config.add_cleanup(_forget_session)
    if state is None:
        # It is called three times for each test, and pluggy has no public way to remove one hook.
        remove = getattr(session.config.hook.pytest_runtest_makereport, "_remove_plugin", None)
        if remove is not None:
            remove(sys.modules[__name__])
        return
    session.config.stash[STATE] = state
    from pytest_rageval.support.process import without_gc

    with without_gc():
        from pytest_rageval.plugin.session import register

        register(session.config, state)
        if any((file.parent / "documents" / file.name).is_file() for file in state.files):
            from pytest_rageval.plugin.document_session import register_documents

            register_documents(session.config, state)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name case files below the arguments that a session without an evaluation leaves out."""
    from pytest_rageval.plugin.preflight import left_out

    return [] if STATE in config.stash else left_out(config)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Name with ``-q`` what the header, which it hides, would name; nothing with ``-qq``."""
    if config.option.verbose == -1:
        for line in pytest_report_header(config):
            terminalreporter.write_line(line)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Decide the outcome of a case before files conftest.py and other plugins read its report.

    Hooks registered at session start would come after theirs.
    """
    report = yield
    if STATE in item.config.stash:
        item.config.pluginmanager.getplugin("rageval-reporting").decide(item, call, report)
    return report


def _forget_session() -> None:
    _sessions.pop()


def pytest_unconfigure() -> None:
    """Stop the thread of async clients; a process may run several sessions."""
    loop_thread = sys.modules.get("pytest_rageval.support.threads")
    if loop_thread is not None:
        loop_thread.session_loop().stop()


def _state(fixture: str) -> State:
    # Not from ``request``, which costs each case as much as all its other fixtures together: pytest
    # creates a new one for every fixture that takes it, even if its value is known.
    state = _sessions[-1] if _sessions else None
    if state is None:
        pytest.fail(
            f"the fixture {fixture!r} belongs to evaluation cases, and this session "
            "collects no case file",
            pytrace=False,
        )
    return state


def _case_item(request: pytest.FixtureRequest) -> Any:
    if not hasattr(request.node, "located"):
        pytest.fail(
            f"the fixture {request.fixturename!r} belongs to evaluation cases (lines of a .jsonl "
            f"case file) and cannot be used by {request.node.nodeid}",
            pytrace=False,
        )
    return request.node


@pytest.fixture(scope="session")
def rageval_settings() -> Settings:
    """The settings of the run."""
    return _state("rageval_settings").settings


@pytest.fixture(scope="session")
def rageval_documents() -> tuple[LoadedDocument, ...]:
    """The documents that the case files of the session bring along, with their texts.

    For a ``rag_client`` of your own: it puts them into the system that it asks. The configured
    target gets them over HTTP before the first case, without this fixture.
    """
    from pytest_rageval.plugin.document_session import loaded, read_sets

    state = _state("rageval_documents")
    return tuple(loaded(state, read_sets(state)))


@pytest.fixture(scope="session")
def rag_client() -> Iterator[object]:
    """The system under test; override it in ``conftest.py`` to evaluate anything else.

    Anything with ``ask(request)``, or a plain function of one request, sync or async, that
    returns an ``AskResponse`` or a dictionary in the shape of the API's reply.
    """
    from pytest_rageval.target.opening import open_target

    state = _state("rag_client")
    if state.cassettes is not None:
        opened = state.cassettes.open_target()
    else:
        opened = open_target(
            state.settings, environ=os.environ, served_at=state.target_url, slots=state.slots
        )
    with opened as client:
        yield client


@pytest.fixture(scope="session")
def judge() -> Iterator[object]:
    """The judge of answers; override it in ``conftest.py`` to judge with anything else.

    Anything with ``judge(rubric, request, repeat=0)`` that returns a
    ``pytest_rageval.Judgement``. None: answers are not judged.
    """
    yield from _open_judge(_state("judge"))


@pytest.fixture(scope="session")
def _rageval_second_judge() -> Iterator[object]:
    """The judge of the spot check, opened when the first case needs it; None if absent."""
    yield from _open_judge(_state("_rageval_second_judge"), second=True)


def _open_judge(state: State, *, second: bool = False) -> Iterator[object]:
    from pytest_rageval.judges.opening import check_offline, open_judge

    if not second and not state.own_judge:  # which may judge by rubrics that ours does not have
        check_offline(state.settings)  # before the first case is asked
    if state.cassettes is not None:
        opened = state.cassettes.open_judge(second=second)
    else:
        opened = open_judge(state.settings, environ=os.environ, slots=state.slots, second=second)
    with opened as found:
        state.judges.append(found)
        yield found


@pytest.fixture
def eval_case(request: pytest.FixtureRequest) -> Case:
    """The case that this item asks."""
    case: Case = _case_item(request).located.case
    return case


@pytest.fixture
def eval_record(
    request: pytest.FixtureRequest, rag_client: object, judge: object, _rageval_second_judge: object
) -> CaseRecord:
    """A copy of the record of this case: asked, scored, ready for assertions of your own."""
    record: CaseRecord = _case_item(request).measure(rag_client, judge, _rageval_second_judge)
    return deepcopy(record)
