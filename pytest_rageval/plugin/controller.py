"""Hooks of the process that sees every report: it writes files, decides the gate and prints."""

from __future__ import annotations

import json
import os
import shlex
import textwrap
import warnings
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_rageval.analysis.aggregate.case_groups import deciding_record
from pytest_rageval.engine.run import RunRecorder
from pytest_rageval.plugin.client_fixtures import asked_target, asks_configured_target, served_vault
from pytest_rageval.plugin.items import CaseItem
from pytest_rageval.plugin.private import (
    add_json_metadata,
    leave_out_of_failures,
    stop_session,
    worker_of,
    write_junit_error,
)
from pytest_rageval.plugin.progress import progress_shown
from pytest_rageval.plugin.reports import (
    CHECK_CATEGORIES,
    ReportDetails,
    case_metadata,
    check_report,
    checks_apart,
    decide_report,
    is_flaky,
    item_outcome,
    log_check,
    passed_strict_xfail,
    set_properties,
    whole_report,
)
from pytest_rageval.plugin.state import State, asks_nothing, is_xdist_controller
from pytest_rageval.plugin.terminal import (
    outcome_lines,
    recount,
    terminal_width,
    usage_error,
    write_blocks,
    write_target_faults,
)
from pytest_rageval.plugin.workers import INPUT, Workers
from pytest_rageval.project.case_reader import nodeid_of
from pytest_rageval.project.discovery import THRESHOLDS
from pytest_rageval.project.settings import no_target, target_kind
from pytest_rageval.report.faces.terminal import show
from pytest_rageval.report.step_summary import append_step_summary
from pytest_rageval.runs.list import prune_hint
from pytest_rageval.support.files import shown_below
from pytest_rageval.support.text import counted, plural
from pytest_rageval.target.opening import configured_target
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.record import CaseRecord

if TYPE_CHECKING:
    from pytest_rageval.report.view.progress import Progress
    from pytest_rageval.report.view.summary import FinishedRun

_NAMED: Final = 10
"""Cases that a failure of the whole run names."""
_MOST_WHOLE: Final = 1_000
"""Records in memory with their texts: reading them again costs less than keeping tens of thousands,
and more than keeping a few."""


class Controller:
    """Hooks of the process that sees every report."""

    def __init__(self, config: pytest.Config, state: State) -> None:
        self.config = config
        self.state = state
        self.run = RunRecorder(state, most_whole=_MOST_WHOLE)
        self.run.invocation = tuple(str(a) for a in config.invocation_params.args)
        if state.settings.resume is not None and not config.option.collectonly:
            self.run.resume()
        self._workers = Workers(self.run.add, state.breaker)
        if not is_xdist_controller(config):
            state.deliver = self.run.add
        self.finished: FinishedRun | None = None
        self._serving = ExitStack()
        self._session: pytest.Session | None = None
        self._logs_checks = False
        self._crashed = False
        self._replacing: set[str] = set()
        """Workers in the place of others that died."""
        self._in_flight: dict[str, int] = {}
        """Requests in flight at most, by worker."""
        self._cores_needed: dict[str, float] = {}
        self._unasked: set[str] = set()
        self._errored = 0
        self._shown: dict[str, str] = {}
        """Outcome of each item as pytest reported it, which the end of the run may change."""
        self._changed: dict[str, Sequence[CaseRecord]] = {}
        self._around: list[pytest.TestReport] = []
        """Reports of set-ups and tear-downs, kept while pytest lists failures without them."""
        self._failed: set[str] = set()
        """Cases that pytest reported as failed last, but for those that had to fail and passed."""

    # --- before the cases

    def pytest_report_header(self) -> list[str]:
        """Describe the run as far as settings determine it."""
        lines = [self.run.header()]
        if self.run.resumed is not None:
            lines.append(f"rageval: {self.run.resumed.sentences(self.run.run_id)[0]}")
        return [self._folded(line) for line in lines]

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> list[str]:
        """Name the fixtures that replace the configured target."""
        cases = (item for item in items if isinstance(item, CaseItem))
        return [self._folded(line) for line in _override_lines(self.state, cases)]

    def _folded(self, text: str) -> str:
        return textwrap.fill(
            text, terminal_width(self.config), subsequent_indent="  ", break_on_hyphens=False
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Send a worker the finished and selected cases and the address of the target."""
        settings = self.state.settings
        # As text, since execnet does not send all types; another host has another rootdir.
        files = [os.path.relpath(file, self.config.rootpath) for file in self.state.files]
        node.workerinput["rageval_files"] = json.dumps(files)
        node.workerinput[INPUT] = self._workers.channel(node)
        node.workerinput["rageval_run_id"] = self.run.run_id
        node.workerinput["rageval_failed_before"] = json.dumps(sorted(self.state.failed_before))
        node.workerinput["rageval_finished"] = json.dumps(self.run.finished_keys())
        # A case asked ahead that kills its process also loses the case that pytest runs then. The
        # replacing worker asks one by one, so that only the fatal case is lost.
        node.workerinput["rageval_one_by_one"] = self._crashed
        if self._crashed:
            self._replacing.add(node.gateway.id)
        only = self.state.only
        node.workerinput["rageval_only"] = json.dumps(None if only is None else sorted(only))
        here = node.gateway.spec.popen  # another host has another loopback interface
        if here and target_kind(settings) == "vault":
            if self.state.target_url is None:
                self.state.target_url = self._serving.enter_context(
                    served_vault(settings, self.config)
                )
            node.workerinput["rageval_target_url"] = self.state.target_url

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Store the selected cases, and refuse a run without a target."""
        items = [item for item in session.items if isinstance(item, CaseItem)]
        if is_xdist_controller(self.config):
            return
        if not self.config.option.collectonly and target_kind(self.state.settings) == "none":
            if any(map(asks_configured_target, items)):
                raise pytest.UsageError(str(no_target(self.state.settings)))
        self.run.expect({nodeid_of(i.nodeid, one.case): one for i in items for one in i.turns})

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Store the selected cases of a worker."""
        self.run.expect(self.run.cases.collected(ids))

    # --- while the cases run

    # Last, so that checks are reported before the terminal ends the line of the cases.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Decide the gate once every case has been reported."""
        if asks_nothing(self.config):
            return (yield)
        self._session = session
        try:
            with progress_shown(self.config, self._progress):
                result = yield
        except KeyboardInterrupt:
            self._workers.stop()
            raise
        if self.run.cases.expected:
            try:
                self.finished = self._finish(complete=True)
            except KeyboardInterrupt as interrupt:
                # pytest prints the arguments of each frame, which are the whole run here.
                raise KeyboardInterrupt(*interrupt.args) from None
            self._log_checks()
        return result

    def _progress(self) -> Progress | None:
        slots = None if is_xdist_controller(self.config) else self.state.slots
        return self.run.progress(slots)

    # First, so that the report is complete for other plugins.
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Store the record as soon as its case is reported."""
        details = ReportDetails.of(report)
        self._note_failure(report, details)
        if details.subtest:
            return
        if details.usage_error is not None:
            raise usage_error(details.usage_error, self.config)
        self.run.notes.update(dict.fromkeys(details.notes))
        if details.gave_up is not None:
            self.state.breaker.opened_elsewhere(details.gave_up)
        try:
            self._workers.store()
            self._take_report(report, details)
        except StorageError as error:
            raise usage_error(error, self.config) from error
        if details.outcome is not None:
            self._shown[report.nodeid] = "flaky" if details.flaky else details.outcome
            self._stop_after_errors(report, details)
        if details.outcome == "error" and hasattr(report, "wasxfail"):
            record = deciding_record(self.run.cases.records_of(report.nodeid))
            place = "" if record.error is None else record.error.traceback
            write_junit_error(self.config, report, report.wasxfail, place or report.wasxfail)
        if is_xdist_controller(self.config) and report.when != "setup":
            self._complete_properties(report)
        if details.asked is not None and details.asked not in self.state.asked:
            self.state.asked.add(details.asked)

    def _note_failure(self, report: pytest.TestReport, details: ReportDetails) -> None:
        """Note whether a test function failed, or a subtest of it, when it ran last."""
        if report.failed and details.outcome is not None:
            # A hook of the user failed a case that had missed; pytest would expect that failure.
            vars(report).pop("wasxfail", None)
        if report.when == "setup":  # also where a plugin runs it again
            self._failed.discard(report.nodeid)
        elif report.when == "call" and report.failed and not passed_strict_xfail(report):
            self._failed.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object, error: object) -> None:
        """Note that a worker died."""
        self._crashed = self._crashed or bool(error)

    def _take_report(self, report: pytest.TestReport, details: ReportDetails) -> None:
        if details.asked is not None or details.finished:
            self._take_case(report, details)
        elif str(report.when) == "???":  # xdist's word for a test whose worker died
            self._crashed = True
            self.run.note_crash(report.nodeid, str(report.longrepr))
        elif details.outcome is None or report.when == "teardown":
            if details.unasked:
                self._unasked.add(report.nodeid)
            if report.skipped:
                self.run.cases.excuse(report.nodeid)
            elif report.when == "setup" and report.failed and details.outcome is None:
                self.run.cases.drop(report.nodeid)

    def _take_case(self, report: pytest.TestReport, details: ReportDetails) -> None:
        """Note what a worker has in flight, and decide the case if the worker lacks records."""
        worker = worker_of(report)
        if worker and details.asked is not None and worker not in self._replacing:
            self._in_flight[worker] = details.concurrency or 1
            self.run.set_concurrency(sum(self._in_flight.values()))
            self._cores_needed[worker] = details.cores_needed or 0.0
            self.state.cores_needed = max(self._cores_needed.values()) or None
        if details.finished:
            records = self.run.cases.records_of(report.nodeid)
            on_miss_fails = self.state.on_miss_fails
            details.outcome = decide_report(report, records, on_miss_fails=on_miss_fails)
            details.unchecked = deciding_record(records).scores.unchecked
            details.flaky = is_flaky(records)
            details.put_on(report)
            add_json_metadata(report, case_metadata(records))

    def _stop_after_errors(self, report: pytest.TestReport, details: ReportDetails) -> None:
        """Count errors of the target as failures for ``-x`` and ``--maxfail``."""
        asked_now = report.nodeid not in self.state.finished
        self._errored += details.outcome == "error" and not report.failed and asked_now
        allowed = self.config.getoption("maxfail", 0)
        # pytest counts the failure of this report after this hook.
        failures = self._errored + (self._session.testsfailed if self._session else 0)
        failures += report.failed
        if allowed and self._errored and failures >= allowed and self._session is not None:
            stop_session(self._session, f"stopping after {counted(failures, 'failure')}")

    def _complete_properties(self, report: pytest.TestReport) -> None:
        """Add the numbers of records that a worker lacks to its reports."""
        # JUnit reads those of the teardown.
        records = self.run.cases.records_of(report.nodeid)
        if records and report.nodeid in self.state.finished:
            report.user_properties = set_properties(report.user_properties, records)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        """Name the outcomes unknown to pytest."""
        details = ReportDetails.of(report)
        if report.when != "call" and details.outcome is None:
            return None
        if details.check is not None and self._logs_checks:
            # Without a word, so that the percentage stays that of the cases.
            return CHECK_CATEGORIES[details.check], "", ""
        if details.check == "warn":
            return "warned", "w", ("WARNED", {"yellow": True})
        if details.unchecked and report.passed:
            return "unchecked", "u", ("UNCHECKED", {"yellow": True})
        if details.outcome in {None, "passed"} or not hasattr(report, "wasxfail"):
            return None  # of a case that passed it is the user's own expectation
        if details.flaky:
            return "flaky", "v", ("FLAKY", {"yellow": True})
        if details.outcome == "error":
            return "errored", "e", ("ERRORED", {"red": True})
        word = details.outcome
        return word, word[0], (word.upper(), {"yellow": True})

    def _finish(self, *, complete: bool) -> FinishedRun:
        if self.state.cassettes is not None and self.state.cassettes.replayed:
            self.run.set_concurrency(0)
        try:
            finished = self.run.finish(gate=complete, index=True)
        except StorageError as error:
            raise usage_error(error.within(resume=self.run.resumable), self.config) from error
        decided = {nodeid: self.run.cases.records_of(nodeid) for nodeid in self._shown}
        self._changed = {
            nodeid: records
            for nodeid, records in decided.items()
            if records and item_outcome(records) != self._shown[nodeid]
        }
        settings = self.state.settings
        root, here = self.config.rootpath, self.config.invocation_params.dir
        but = ", except `resume`," if finished.resume else ""
        start = f"paths and commands below{but} are for the project's folder: cd "
        remarks = (
            append_step_summary(finished.summary, os.environ),
            prune_hint(settings.results_folder, settings.results_dir),
            "" if root.samefile(here) else start + shlex.quote(shown_below(root, here)),
        )
        own = self._own_failures(decided)
        notes = [*finished.notes, *filter(None, remarks), *self._change_notes(), *own]
        reran = bool(self.config.getoption("lf", False) or settings.failed_from)
        commands = replace(finished.commands, reran=reran)
        return replace(finished, notes=notes, commands=commands)

    def _change_notes(self) -> Iterator[str]:
        """Say which outcomes the facts of the whole run have changed after they were shown."""
        pairs = Counter((self._shown[n], item_outcome(of)) for n, of in self._changed.items())
        for (shown, outcome), n in pairs.items():
            said = f"{counted(n, 'case', ('is', 'are'))} {outcome}, not {shown} as shown above"
            yield f"{said}, by the facts of the whole run, such as whether any answer cites"

    def _own_failures(self, decided: Mapping[str, Sequence[CaseRecord]]) -> Iterator[str]:
        """Say how many cases the user's test function alone failed, since no check counts them."""
        records = [deciding_record(decided[one]) for one in self._failed if decided.get(one)]
        n = sum(
            record.scores.outcome != "error" and not self._must_fail(record) for record in records
        )
        if n:
            yield f"{counted(n, 'case')} failed in a test function, which the gate does not count"

    def _must_fail(self, record: CaseRecord) -> bool:
        """Whether a case that did not pass fails the run by its record."""
        required = record.case.required or self.state.on_miss_fails
        return record.counted and required and record.scores.outcome != "passed"

    def _late_failures(self) -> list[str]:
        """Return the cases that fail the run though pytest has reported them as passed."""
        return [
            record.name
            for nodeid, records in self._changed.items()
            if self._shown[nodeid] == "passed"
            and self._must_fail(record := deciding_record(records))
        ]

    def _log_checks(self) -> None:
        assert self.finished is not None
        terminal = self.config.pluginmanager.getplugin("terminalreporter")
        if terminal is not None:
            checks_apart(terminal)
            recount(terminal, {n: item_outcome(of) for n, of in self._changed.items()})
        file = self.state.settings.thresholds
        reports = [check_report(result, file) for result in self.finished.gate.checks]
        if self.config.option.verbose <= 0:
            for report in reports:
                leave_out_of_failures(report)  # the short summary has a line for each
        if not self.finished.gate.complete:
            hint = _unasked_hint(self._unasked)
            reports.append(whole_report("complete", self.finished.gate.sentence, hint))
        elif not self.finished.gate.checked:
            reports.append(whole_report("checked", self.finished.gate.sentence))
        if late := self._late_failures():
            sentence = f"{counted(len(late), 'case')} did not pass by the facts of the whole run"
            reports.append(whole_report("cases", sentence, ", ".join(late[:_NAMED])))
        self._logs_checks = True
        for report in reports:
            log_check(self.config, report)
        self._logs_checks = False

    # --- after the cases

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        """Store the results in every case, and update the cases of ``--lf``."""
        if self._crashed and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            # Every worker died before its first case, which is not the same as no cases.
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        termination = self.state.termination
        with suppress(KeyboardInterrupt):
            with self._interrupted_in_a_line(session):
                if session.exitstatus == pytest.ExitCode.INTERRUPTED:
                    termination.hold()  # senders repeat their signal
                else:
                    termination.release()  # deferred since the loop
            with self._interrupted_in_a_line(session):
                if self.finished is None and not self.run.broken:
                    self._finish_early()
            if self.finished is not None and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = self.finished.gate.exit_code
            try:
                with self._interrupted_in_a_line(session):
                    yield
            finally:
                termination.hold()
                self.run.close()
                self._serving.close()

    # Last, after pytest has stored its own, and before the terminal, which wraps this, sums up.
    @pytest.hookimpl(specname="pytest_sessionfinish", trylast=True)
    def pytest_remember_failed(self) -> None:
        """Store what ``--lf`` asks again; without a cache, show how to select it from the run."""
        if self.finished is not None and not self._mind_last_failed():
            commands = self.finished.commands
            name = self.run.run_id if commands.name == "last" else shlex.quote(commands.name)
            commands = replace(commands, rerun=f"pytest --rageval-failed-from {name}")
            self.finished = replace(self.finished, commands=commands)

    @contextmanager
    def _interrupted_in_a_line(self, session: pytest.Session) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:  # which pytest here lets through, with a traceback
            session.exitstatus = pytest.ExitCode.INTERRUPTED
            terminal = self.config.pluginmanager.getplugin("terminalreporter")
            if terminal is not None:
                terminal.write_line("")
                terminal.write_line(f"rageval: {self._interrupted_at_the_end()}")

    def _finish_early(self) -> None:
        try:
            self._workers.store()
        except StorageError as error:
            raise usage_error(error, self.config) from error
        if self.run.cases.records:
            self.finished = self._finish(complete=False)

    def _interrupted_at_the_end(self) -> str:
        if self.finished is not None:
            return "interrupted while the session ended; the run is stored"
        if not self.run.cases.records:
            return "interrupted while the session ended"
        return (
            f"interrupted while the run was finished; its records are kept: --rageval-resume "
            f"{self.run.run_id} asks the other cases and decides the gate"
        )

    def _mind_last_failed(self) -> bool:
        """Store what ``--lf`` asks again; False: pytest has no cache, or cannot write it."""
        # pytest drops cases that did not fail, but --lf should rerun misses and errors. A check is
        # not an item that could be rerun.
        cache = getattr(self.config, "cache", None)
        if cache is None:
            return False
        known = cache.get("cache/lastfailed", {})
        failed = [nodeid for nodeid in known if not nodeid.startswith(f"{THRESHOLDS}::")]
        failed += self.run.cases.to_rerun()
        with warnings.catch_warnings(record=True) as refused:  # pytest itself warns, too
            warnings.simplefilter("always", pytest.PytestCacheWarning)
            cache.set("cache/lastfailed", dict.fromkeys(failed, True))
        return not refused

    @pytest.hookimpl(optionalhook=True)
    def pytest_json_modifyreport(self, json_report: dict[str, Any]) -> None:
        """Put aggregates and gate under the top-level key ``rageval``."""
        from msgspec import to_builtins

        if self.finished is not None:
            json_report["rageval"] = {
                "run_id": self.finished.run.run_id,
                "metrics": to_builtins(self.finished.run.aggregate, str_keys=True),
                "gate": to_builtins(self.finished.gate),
            }

    @pytest.hookimpl(specname="pytest_terminal_summary", wrapper=True, tryfirst=True)
    def pytest_faults_first(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        """Print errors of the target by cause before pytest's own account of failures."""
        if self.finished is not None:
            write_target_faults(terminalreporter, self.finished)
        # For each failed test pytest searches all set-ups and tear-downs for what they printed.
        self._around = terminalreporter.stats.get("", [])
        terminalreporter.stats[""] = [report for report in self._around if report.sections]
        yield

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the summary of the run."""
        terminalreporter.stats[""] = self._around  # read again for ``--durations``
        if self.finished is None:
            for note in self.state.notes:
                terminalreporter.write_line(f"rageval: {note}")
            return
        from pytest_rageval.report.view.summary import session_view

        verbosity = self.config.option.verbose
        view = session_view(self.finished, verbosity=verbosity)
        write_blocks(terminalreporter, "rageval", show(view, verbose=verbosity > 0))
        for line in outcome_lines(terminalreporter):
            terminalreporter.write_line(line)


def _override_lines(state: State, cases: Iterable[CaseItem]) -> Iterator[str]:
    configured = configured_target(state.settings)
    asked = Counter(asked_target(item, state.settings) for item in cases)
    for target, count in asked.items():
        if target and configured and target != configured:
            verb = plural(count, "asks", "ask")
            instead = "" if configured in target else ", not the configured target"
            yield f"rageval: {counted(count, 'case')} {verb} {target}{instead}"


def _unasked_hint(nodeids: set[str]) -> str:
    if not nodeids:
        return ""
    return (
        f"{counted(len(nodeids), 'case')} ran a test function that does not take the fixture "
        f"eval_record, which is what asks and scores a case: such as {min(nodeids)}"
    )
