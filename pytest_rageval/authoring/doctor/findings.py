"""What a check found: the values that `rageval doctor` shows. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warn", "FAIL"]
Area = Literal["project", "target", "judge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line."""

    level: Level
    area: Area
    check: str
    """What was looked at, in a word or two."""
    message: str
    """What was found."""
    fix: str = ""
    """One sentence that says what to do; empty where all is well."""
    unreachable: bool = False
    """Whether target or judge did not answer at all."""


@dataclass(frozen=True, slots=True)
class Findings:
    """Makes the findings of one area."""

    area: Area

    def ok(self, check: str, message: str) -> Finding:
        """Say that something is as it should be."""
        return Finding(level="ok", area=self.area, check=check, message=message)

    def warn(self, check: str, message: str, fix: str) -> Finding:
        """Say that something works, with a loss."""
        return Finding(level="warn", area=self.area, check=check, message=message, fix=fix)

    def fail(self, check: str, message: str, fix: str, *, unreachable: bool = False) -> Finding:
        """Say that something does not work."""
        return Finding(
            level="FAIL",
            area=self.area,
            check=check,
            message=message,
            fix=fix,
            unreachable=unreachable,
        )


def worst(findings: Iterable[Finding]) -> Level:
    """Return the gravest level.

    >>> worst([])
    'ok'
    """
    found = {finding.level for finding in findings}
    return "FAIL" if "FAIL" in found else "warn" if "warn" in found else "ok"
