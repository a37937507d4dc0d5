"""Reason why a case did not pass, where Allure reads it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from pytest_rageval.plugin.reports import ReportDetails


class ReasonsForAllure:
    """Hooks that lend the call of a case that did not pass an exception with its reason.

    Allure reads the reason of a report only where the call raised. Other plugins would take the
    exception for one of the test function: pytest-retry would run it again and let a case pass that
    missed, and a debugger would stop.
    """

    def __init__(self) -> None:
        self._lent: pytest.CallInfo[Any] | None = None

    def lend(
        self, call: pytest.CallInfo[Any], report: pytest.TestReport, details: ReportDetails
    ) -> None:
        """Put an exception on the call of a decided case, unless it has one or the case passed."""
        if call.excinfo is not None or report.passed or details.outcome in {None, "passed"}:
            return
        # Allure puts the reason of an expected failure in front of the exception by itself.
        said = details.outcome if report.skipped else report.longrepr
        raised = pytest.CallInfo.from_call(lambda: pytest.fail(str(said), pytrace=False), "call")
        call.excinfo, self._lent = raised.excinfo, call

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Take the exception back once Allure, which was registered earlier, has read it."""
        try:
            return (yield)
        finally:
            if call is self._lent:
                call.excinfo = self._lent = None
