"""Findings of checks, as `rageval doctor` shows them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_rageval.values.errors import ConfigError

Level = Literal["ok", "warn", "FAIL"]
Area = Literal["project", "target", "judge"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line."""

    level: Level
    area: Area
    check: str
    """Subject of the check, in a word or two."""
    message: str
    fix: str = ""
    """Suggested fix in one sentence; empty if the check passed."""
    unreachable: bool = False
    """Whether target or judge did not answer at all."""
    shown: Sequence[str] = ()
    """Lines about what was sent or came."""
    settings: str = ""
    """Tables of TOML to paste into pyproject.toml; empty: none are proposed."""


@dataclass(frozen=True, slots=True)
class Findings:
    """Makes the findings of one area."""

    area: Area

    def ok(self, check: str, message: str, *, shown: Sequence[str] = ()) -> Finding:
        """Report a passed check."""
        return Finding("ok", self.area, check, message, shown=shown)

    def warn(self, check: str, message: str, fix: str) -> Finding:
        """Report a limitation."""
        return Finding("warn", self.area, check, message, fix)

    def fail(self, check: str, message: str, fix: str, *, unreachable: bool = False) -> Finding:
        """Report a failure."""
        return Finding("FAIL", self.area, check, message, fix, unreachable)


def missing_variable(error: ConfigError) -> str:
    """Return the command that sets the environment variable that an error misses; empty: none."""
    codes = {fault.code: fault.facts for fault in error.faults}
    return f"export {codes['no_variable']['variable']}=..." if "no_variable" in codes else ""
