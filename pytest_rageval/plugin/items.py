"""Case files as pytest collectors and cases as pytest items.

A case file is a ``pytest.Module`` whose module object is either the Python file beside it
(``eval_set.py`` for ``eval_set.jsonl``) or ``default_case``; every line becomes one item of
the test function found there. Building on Module and Function is what gives a case every
feature of a test: fixtures of any scope, marks, setup functions, async plugins.
"""

from __future__ import annotations

import bdb
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_rageval.analysis.aggregate.case_groups import deciding_record, first_reason
from pytest_rageval.engine.case import CaseRepeat, Clients, lost_judges, record_unasked, try_turns
from pytest_rageval.judges.asking import Judges
from pytest_rageval.plugin import default_case
from pytest_rageval.plugin.client_fixtures import asked_target, fixture_error, known_values
from pytest_rageval.plugin.private import fixture_info
from pytest_rageval.plugin.reports import ReportDetails, decide_report, is_flaky, set_properties
from pytest_rageval.plugin.state import CLIENT_FIXTURES, Evaluated, State
from pytest_rageval.plugin.terminal import error_text
from pytest_rageval.project.case_reader import LoadedSet, LocatedCase, nodeid_of, read_set
from pytest_rageval.runs.documents import redact
from pytest_rageval.support.project_code import without_own_frames
from pytest_rageval.support.text import part
from pytest_rageval.support.threads import computed, session_loop
from pytest_rageval.values.errors import DatasetError
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import ErrorInfo
from pytest_rageval.values.run import FAILURE_TAG
from pytest_rageval.values.words import ANSWERABLE


class CaseFile(pytest.Module):
    """A JSON Lines file of cases."""

    state: State

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Yield one item per line; faults of the file are reported all at once.

        Raises:
            pytest.Collector.CollectError: with every fault of the file.
        """
        loaded = load_set(self.state, self.path, self.config)
        self.obj = self._test_module()
        found = list(super().collect())
        templates = [one for one in found if isinstance(one, pytest.Function)]
        if len({t.originalname for t in templates}) != 1:
            names = ", ".join(sorted({t.originalname for t in templates})) or "none"
            classes = [one.name for one in found if isinstance(one, pytest.Class)]
            without = part("; methods of {} are not counted", ", ".join(classes))
            raise self.CollectError(
                f"{self.path.with_suffix('.py').name}: expected exactly one test function for "
                f"the cases of {self.path.name}, found {names}{without}"
            )
        talks: dict[str, list[LocatedCase]] = {}
        for located in loaded.cases:
            talks.setdefault(located.case.item, []).append(located)
        for turns in talks.values():
            for template in templates:
                yield self._item(template, tuple(turns), loaded.display)

    def _test_module(self) -> Any:
        sibling = self.path.with_suffix(".py")
        if not sibling.is_file():
            return default_case
        # Its name does not match pytest's rule for modules whose asserts show values.
        # The dotted name depends on packages and import mode, so every suffix is registered.
        parts = sibling.with_suffix("").parts[1:]
        names = {".".join(parts[i:]) for i in range(len(parts))}
        pytest.register_assert_rewrite(*sorted(names - sys.modules.keys()))
        module = pytest.Module.from_parent(self.parent, path=sibling)
        found = module.obj  # pytest adds the marks of a module when it imports it
        self.own_markers.extend(module.own_markers)
        return found

    def _item(
        self, template: pytest.Function, turns: tuple[LocatedCase, ...], file: str
    ) -> pytest.Item:
        case = turns[0].case
        arguments: dict[str, Any] = {}
        if hasattr(template, "callspec"):
            arguments["callspec"] = template.callspec
        suffix = template.name.removeprefix(template.originalname)
        item: CaseItem = _item_class(type(template)).from_parent(
            self,
            name=case.item + suffix,
            originalname=case.item,
            callobj=template.obj,
            # Computing this per item costs 90 us each; it is the same for every line.
            fixtureinfo=fixture_info(template),
            **arguments,
        )
        # pytest-asyncio's auto mode marks the template, not the function.
        item.own_markers = list(template.own_markers)
        item.turns = turns
        item.file = file
        item.state = self.state
        # Set later, it would make the dictionary of each item four times as large.
        item.evaluated = None
        answerable = all(one.case.answerable for one in turns)
        item.add_marker(
            _mark(case.category, case.difficulty, answerable, case.language, case.required)
        )
        item.extra_keyword_matches.update(*map(_keywords, turns))
        for tag in dict.fromkeys(tag for one in turns for tag in one.case.tags):
            if tag.startswith(FAILURE_TAG):
                item.add_marker(pytest.mark.case(failure=tag.removeprefix(FAILURE_TAG)))
        return item


@cache
def _mark(
    category: str, difficulty: str | None, answerable: bool, language: str | None, required: bool
) -> pytest.MarkDecorator:
    # Shared by equal cases, of which there may be a hundred thousand.
    return pytest.mark.case(
        category=category,
        difficulty=difficulty,
        answerable=answerable,
        language=language,
        required=required,
    )


def _keywords(located: LocatedCase) -> set[str]:
    case = located.case
    words = {case.item, case.category, *case.tags, ANSWERABLE[case.answerable]}
    return words if case.difficulty is None else words | {case.difficulty}


_NOT_ASKED: Final[Mapping[int, tuple[CaseRecord, ...] | None]] = {}
Deliver = Callable[[CaseRecord], None]
"""Takes the record of a finished repeat, on any thread."""


class CaseItem(pytest.Function):
    """A case or a conversation. Its outcome comes from ``records`` once it has been measured."""

    turns: tuple[LocatedCase, ...]
    """The turns of a conversation, or the case."""
    file: str
    state: State
    evaluated: Evaluated | None

    @property
    def located(self) -> LocatedCase:
        """The case, or the first turn."""
        return self.turns[0]

    @property
    def parameters(self) -> str:
        """Parameters of fixtures, as they end its name."""
        return self.name.removeprefix(self.located.case.item)

    @property
    def finished(self) -> Mapping[int, tuple[CaseRecord, ...] | None]:
        """Repeats that an earlier session of a resumed run finished; None: in another process."""
        found = self.state.finished.get(self.nodeid, _NOT_ASKED)
        if found and None in found.values() and "eval_record" in self.fixturenames:
            return {}  # the record is needed here, so the case is asked again
        return found

    @property
    def _earlier(self) -> tuple[CaseRecord, ...]:
        """The finished records that this process has."""
        return tuple(record for records in self.finished.values() for record in records or ())

    @property
    def nothing_to_do(self) -> bool:
        """Whether every repeat is finished and code of the user does not use the record."""
        return (
            len(self.finished) == self.state.settings.most_repeats
            and self.function is default_case.test_case
            and "eval_record" not in self.fixturenames
        )

    @property
    def records(self) -> tuple[CaseRecord, ...]:
        """Stored records by repeat and turn; empty before the measurement."""
        finished, asked = self.finished, self.evaluated
        if not finished and asked is not None:
            return asked.records
        if asked is None:
            return self._earlier if self.nothing_to_do else ()
        found = [*self._earlier, *asked.records]
        return tuple(sorted(found, key=lambda r: (r.repeat, r.case.turn or 0)))

    def measure(
        self, client: object, judge: object = None, second_judge: object = None
    ) -> CaseRecord:
        """Ask, score and judge the case once; later calls return the same record.

        Of several repeats or turns it is the one that decides the outcome.
        """
        if self.evaluated is None:
            clients = Clients(client, judge, second_judge)
            lookahead = self.state.lookahead
            if lookahead is None or len(self.finished) == self.state.settings.most_repeats:
                self.evaluated = session_loop().run(self.evaluate(clients))
            else:
                self.evaluated = lookahead.measure(self, clients)
        if self.evaluated.raised is not None and self.state.debugs:
            __tracebackhide__ = True
            raise without_own_frames(self.evaluated.raised)
        return deciding_record(self.records)

    async def evaluate(self, clients: Clients, deliver: Deliver | None = None) -> Evaluated:
        """Ask, score and judge the unfinished repeats of the case.

        Args:
            clients: target and judges to ask.
            deliver: takes each record as soon as it is finished; None: that of the state.
        """
        started = time.perf_counter()
        settings = self.state.settings
        deliver = deliver or self.deliver
        finished, records = self.finished, list[CaseRecord]()
        raised: BaseException | None = None
        again = first_reason(self._earlier)
        for repeat in range(settings.most_repeats):
            if repeat in finished or repeat >= settings.repeats_of(again=again is not None):
                continue
            trials = []
            for one in self.turns:
                spot_checked = (self.file, one.case.id) in self.state.judged_twice
                trials.append(self._trial(one, repeat, clients.judges(twice=spot_checked)))
                trials[-1].again = again
            async for record, error in try_turns(trials, clients.client, self.state.breaker):
                if isinstance(error, pytest.exit.Exception):
                    raise error  # as by q in a debugger
                if isinstance(error, bdb.BdbQuit):
                    pytest.exit("Quitting debugger")
                raised = raised or error
                records.append(await computed(partial(self._delivered, record, deliver)))
            again = again or first_reason(records)
        return Evaluated(tuple(records), time.perf_counter() - started, raised)

    def deliver(self, record: CaseRecord) -> None:
        """Pass a record to the function that keeps it in this process, if any."""
        if self.state.deliver is not None:
            self.state.deliver(nodeid_of(self.nodeid, record.case), record)

    def _trial(self, located: LocatedCase, repeat: int, judges: Judges | None) -> CaseRepeat:
        state = self.state
        cassettes = state.cassettes
        return CaseRepeat(
            located,
            self.file,
            state.settings,
            repeat,
            judges,
            state.slots,
            state.run_id,
            self.parameters,
            "none" if cassettes is None else "replayed" if cassettes.replayed else "recorded",
            state.registry,
            failed_before=nodeid_of(self.nodeid, located.case) in state.failed_before,
        )

    def _delivered(self, record: CaseRecord, deliver: Deliver) -> CaseRecord:
        record = redact(record, full_text=self.state.settings.store_full_text)
        deliver(record)
        return record

    def note_fixture_error(self, error: BaseException) -> None:
        """Record that a fixture of the case raised, so that it was not asked."""
        settings = self.state.settings
        info = replace(fixture_error(error, Path(settings.rootdir)), attempts=0)
        if not getattr(error, "pytrace", True):  # pytest.fail(..., pytrace=False)
            info = replace(info, traceback="")
        self.evaluated = Evaluated(self._record_error(info), 0.0)

    def _record_error(self, info: ErrorInfo) -> tuple[CaseRecord, ...]:
        settings = self.state.settings
        trials = [
            self._trial(located, repeat, lost_judges(settings))
            for repeat in range(settings.repeats_of(again=first_reason(self._earlier) is not None))
            if repeat not in self.finished
            for located in self.turns
        ]
        found = [record_unasked(trial, info) for trial in trials]
        return tuple(self._delivered(record, self.deliver) for record in found)

    def setup(self) -> None:
        """Forget the record of an earlier attempt (rerun plugins reuse the item)."""
        __tracebackhide__ = True  # an error of a fixture begins at the user's line
        self.evaluated = None
        if not self.nothing_to_do:  # the target may be unavailable
            if self.function is default_case.test_case:
                # A request for each fixture costs more than all else that pytest does for a case.
                self.funcargs.update(known_values(self))
            super().setup()

    def runtest(self) -> None:
        """Ask, through the test function if the user defines one, unless all repeats are done."""
        __tracebackhide__ = True
        if self.nothing_to_do:
            return
        if self.function is default_case.test_case:
            self.measure(*(self.funcargs[name] for name in CLIENT_FIXTURES))
        else:
            super().runtest()

    def reportinfo(self) -> tuple[Path, int, str]:
        """Point at the line of the case file."""
        name = self.located.case.item
        # Alone, pytest would show the dots of an id as ``::``, as at the end of a node id.
        return self.path, self.located.lineno - 1, f"case {name}" if "." in name else name


@cache
def _item_class(base: type[pytest.Function]) -> type[CaseItem]:
    # Async plugins replace Function by a subclass, which must be kept.
    if base is pytest.Function:
        return CaseItem
    return type("CaseItem", (CaseItem, base), {})


def load_set(state: State, path: Path, config: pytest.Config) -> LoadedSet:
    """Load a case file once per process.

    Raises:
        pytest.Collector.CollectError: the file holds faults.
    """
    found = state.sets.get(path) or state.faulty.get(path) or read_set(path, config.rootpath)
    if isinstance(found, DatasetError):
        state.faulty[path] = found
        raise pytest.Collector.CollectError(error_text(found, config)) from None
    state.sets[path] = found
    return found


def attach_record(item: CaseItem, report: pytest.TestReport) -> ReportDetails:
    """Rewrite the outcome of a call report from the records of its case.

    Returns:
        Details for the report.
    """
    details = ReportDetails()
    records, finished = item.records, item.finished
    if not records and not finished:
        own = item.function is not default_case.test_case
        details.unasked = own and "eval_record" not in item.fixturenames
        return details
    asked = item.evaluated.records if item.evaluated is not None else ()
    if asked:
        details.asked = asked_target(item, item.state.settings) or "unknown"
    if item.evaluated is not None:
        # A case that was asked ahead of its turn would otherwise take no time.
        report.duration = item.evaluated.took_s
    if item.state.is_worker:
        details.finished = tuple(sorted(finished))
        details.concurrency = item.state.concurrency
        details.cores_needed = item.state.cores_needed
        if finished:
            return details  # the process that has the other records decides
    details.outcome = decide_report(report, records, on_miss_fails=item.state.on_miss_fails)
    details.unchecked = deciding_record(records).scores.unchecked
    details.flaky = is_flaky(records)
    item.user_properties[:] = set_properties(item.user_properties, records)
    report.user_properties = list(item.user_properties)
    return details
