"""The decorator that makes a function of a project a section of the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pytest_rageval.api.metric import marked
from pytest_rageval.api.run import Run
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.section import Bars, Section, Table

_Section = TypeVar("_Section", bound=Callable[[Run], Table | Bars])


def section(title: str) -> Callable[[_Section], _Section]:
    """Make a function of a run a section of ``report.html`` and ``summary.md``.

    It is called once at the end, after the metrics; the run is read-only.

    Args:
        title: heading of the section.

    Raises:
        ConfigError: there is no title.
    """
    if not isinstance(title, str) or not title.strip():
        raise ConfigError.of(
            "section", "type", found=f"the title {title!r}", expected="its heading"
        )

    def mark(function: _Section) -> _Section:
        return marked(function, Section(title=title, compute=lambda run: function(Run(run, None))))

    return mark
