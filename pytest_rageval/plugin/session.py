"""Hooks of every process of an evaluating session: they select, ask ahead, and report cases."""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_rageval.judges.spot_check import choose_cases
from pytest_rageval.plugin.client_fixtures import judges_by_fixtures, make_sync
from pytest_rageval.plugin.controller import Controller
from pytest_rageval.plugin.items import CaseFile, CaseItem, attach_record
from pytest_rageval.plugin.reports import ReportDetails, case_metadata
from pytest_rageval.plugin.state import State, asks_nothing, is_xdist_controller
from pytest_rageval.plugin.terminal import usage_error
from pytest_rageval.plugin.workers import INPUT, WorkerEnd
from pytest_rageval.support.http.address import blot_out_known
from pytest_rageval.support.in_flight import GRACE_S, Slots
from pytest_rageval.support.process import interrupted_by_termination, without_gc
from pytest_rageval.values.errors import ConfigError, StorageError


def register(config: pytest.Config, state: State) -> None:
    """Install the hooks of an evaluating session."""
    # One unpicklable log record would otherwise crash an xdist worker and lose its tests, with exit
    # code 0.
    omit = getattr(config.option, "json_report_omit", None)
    if omit is not None and "log" not in omit:
        config.option.json_report_omit = [*omit, "log"]
    worker_end = None
    if hasattr(config, "workerinput"):
        worker_end = WorkerEnd(config.workerinput[INPUT], state.breaker)
        state.is_worker, state.deliver = True, worker_end.deliver
    config.pluginmanager.register(Reporting(state, worker_end), "rageval-reporting")
    if state.cassettes is not None:
        config.pluginmanager.register(state.cassettes, "rageval-cassettes")
    if not state.is_worker:
        try:
            controller = Controller(config, state)
        except (ConfigError, StorageError) as error:
            raise usage_error(error, config) from error
        config.pluginmanager.register(controller, "rageval-controller")


KEPT_S: Final = 1.0
"""Seconds in which replies to cases in flight are waited for after the last failure allowed."""


class Reporting:
    """Hooks of every process that runs cases."""

    def __init__(self, state: State, worker_end: WorkerEnd | None) -> None:
        self._state = state
        self._worker_end = worker_end
        self._other_parts: list[pytest.Item] = []
        self._begun: pytest.Item | None = None
        self._calling = False
        self._signals = ExitStack()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Pause garbage collection while the number of items grows, and then leave them out."""
        # Until the session has ended: between two handlers a repeated signal would kill it.
        # A worker is interrupted by its controller and by the terminal.
        signals = interrupted_by_termination(ctrl_c=self._state.is_worker)
        self._state.termination = self._signals.enter_context(signals)
        with without_gc():
            result = yield
            gc.freeze()
        return result

    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> pytest.Collector | None:
        """Collect case files."""
        if file_path.suffix != ".jsonl":
            return None
        if not parent.session.isinitpath(file_path) and file_path not in self._state.files:
            return None
        collector: CaseFile = CaseFile.from_parent(parent, path=file_path)
        collector.state = self._state
        return collector

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any]
    ) -> Generator[None, object, object]:
        """Allow ``rag_client`` and ``judge`` to be async fixtures without an async plugin."""
        __tracebackhide__ = True
        # Other sessions may have fixtures of these names, and a plugin for them.
        if fixturedef.argname in {"rag_client", "judge"}:
            make_sync(fixturedef)
        return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out the cases of other shards, and those that did not fail in a stored run."""
        _deselect(config, items, self._state.only)
        # Last, so that all other selections apply to the shards as to one run.
        self._other_parts = _deselect(config, items, self._state.part)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note who judges, and choose the cases that are judged twice, the same everywhere."""
        items = [*session.items, *self._other_parts]
        cases = [(i.file, t.case) for i in items if isinstance(i, CaseItem) for t in i.turns]
        own = (item for item in session.items if isinstance(item, CaseItem))
        self._state.own_judge = judges_by_fixtures(own)
        self._state.judged_twice = choose_cases(cases, self._state.settings)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Keep cases in flight ahead of their turn while the loop runs."""
        state, config = self._state, session.config
        one_by_one = (
            state.settings.concurrency == 1
            or state.cassettes is not None  # a cassette records all requests in its time
            or config.getoption("usepdb", False)  # in a debugger no other case may run
            or asks_nothing(config)
            or is_xdist_controller(config)
            or getattr(config, "workerinput", {}).get("rageval_one_by_one", False)
        )
        if one_by_one and not is_xdist_controller(config):
            state.concurrency = 1
        with ExitStack() as stack:
            if self._worker_end is not None:
                stack.callback(self._worker_end.close)
            if not one_by_one and state.slots is not None:
                stack.enter_context(_asking_ahead(session, state, state.slots))
            # Held while answers in flight are stored, and while pytest ends the session.
            stack.callback(state.termination.hold)
            if self._worker_end is not None:
                stack.enter_context(self._worker_end.asking())
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """Handle signals until all other hooks have ended."""
        try:
            return (yield)
        finally:
            with suppress(KeyboardInterrupt):  # of a signal that was deferred: the session is over
                self._signals.close()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Pass on the next item, which is all that some runners disclose."""
        if self._state.lookahead is not None:
            self._state.lookahead.note_next(nextitem)
        # pytest keeps items to the end, and the records of the one before are stored.
        if isinstance(self._begun, CaseItem):
            self._begun.evaluated = None
        self._begun = item

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        """Note that a test function runs: reports made meanwhile are those of its subtests."""
        __tracebackhide__ = True  # an error of a client that --pdb stops at begins there
        self._calling = True
        try:
            return (yield)
        finally:
            self._calling = False

    def decide(
        self, item: pytest.Item, call: pytest.CallInfo[Any], report: pytest.TestReport
    ) -> None:
        """Decide the outcome of a case by its record."""
        if self._calling:
            ReportDetails(subtest=True).put_on(report)
        elif isinstance(item, CaseItem):
            lookahead = self._state.lookahead
            if lookahead is not None and (report.when == "teardown" or not report.passed):
                lookahead.forget(item)
            details = ReportDetails()
            asked = item.evaluated
            raised = self._state.debugs and asked is not None and asked.raised is not None
            wrong = None if call.excinfo is None else call.excinfo.value
            ends = isinstance(wrong, ConfigError | StorageError)
            of_setup = report.when == "setup" and report.failed and asked is None
            if of_setup and wrong is not None and not ends:  # a fixture of the case raised
                details, wrong = self._take_fixture_error(item, report, wrong)
            # A fixture of the user that takes the record stops the debugger in the setup.
            # One that its test function skips is no case, even if that used the record.
            elif (raised and not report.passed) or (
                report.when == "call" and not isinstance(wrong, pytest.skip.Exception)
            ):
                details = attach_record(item, report)
                details.notes = tuple(_judge_notes(self._state.judges))
                if self._state.breaker.open:
                    details.gave_up = _ascii(self._state.breaker.reason)
            if isinstance(wrong, ConfigError | StorageError):
                # All other cases would fail too, and exceptions of a worker do not reach the
                # controller otherwise.
                details.usage_error = str(wrong)
            _hide_secrets(report)
            details.put_on(report)

    def _take_fixture_error(
        self, item: CaseItem, report: pytest.TestReport, error: BaseException
    ) -> tuple[ReportDetails, BaseException]:
        """Return the details of a case whose fixture raised, and what went wrong at last."""
        try:
            item.note_fixture_error(error)
        except StorageError as later:  # such as of a full disk
            return ReportDetails(), later
        if not self._state.debugs:
            report.outcome, report.longrepr = "passed", None  # decided by the record
        return attach_record(item, report), error

    @pytest.hookimpl(optionalhook=True)
    def pytest_json_runtest_metadata(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> dict[str, Any]:
        """Put the numbers of a case under ``tests[].metadata.rageval``."""
        if not isinstance(item, CaseItem) or not item.records:
            return {}
        # A case whose fixture raised has no call.
        error = item.records[0].error
        if call.when != ("teardown" if error and error.kind == "fixture" else "call"):
            return {}
        return {"rageval": case_metadata(item.records)}


@contextmanager
def _asking_ahead(session: pytest.Session, state: State, slots: Slots) -> Iterator[None]:
    from pytest_rageval.plugin.lookahead import Lookahead

    state.lookahead = lookahead = Lookahead(session, slots)
    grace_s = KEPT_S
    try:
        with lookahead.output.keeping():
            yield
    except KeyboardInterrupt:
        grace_s = GRACE_S
        raise
    finally:
        lookahead.stop(grace_s)
        state.lookahead = None


def _deselect(
    config: pytest.Config, items: list[pytest.Item], wanted: frozenset[tuple[str, str]] | None
) -> list[pytest.Item]:
    """Remove the cases that are not wanted from the items, and return them."""
    if wanted is None:
        return []
    out = [item for item in items if isinstance(item, CaseItem) and wanted.isdisjoint(_names(item))]
    if out:
        left_out = set(out)
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=out)
    return list(out)


def _names(item: CaseItem) -> tuple[tuple[str, str], ...]:
    """Return the names of an item in a selection; without parameters it selects all of them."""
    return (item.file, item.name), (item.file, item.located.case.item)


def _hide_secrets(report: pytest.TestReport) -> None:
    """Remove known secrets from what a fixture said, such as one that closes a client."""
    if report.failed and report.when != "call" and report.longrepr is not None:
        said = str(report.longrepr)
        if (hidden := blot_out_known(said)) != said:
            report.longrepr = hidden


def _judge_notes(judges: Iterable[object]) -> Iterator[str]:
    """Yield the warnings of judges about their caches."""
    for judge in judges:
        warning = getattr(judge, "cache_warning", None)
        if isinstance(warning, str):
            yield _ascii(warning)


def _ascii(text: str) -> str:
    """Return a text in the ASCII form that reports of workers require."""
    return text.encode("ascii", "backslashreplace").decode()
