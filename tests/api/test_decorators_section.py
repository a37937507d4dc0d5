from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.api.decorators import section
from pytest_rageval.project.plugins import Extensions
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.own_code import Section, Table
from pytest_rageval.values.run import StoredRun
from tests.build.runs import run_of


def test_a_section_gets_the_run_as_load_run_returns_it() -> None:
    @section("Rows")
    def rows(run) -> Table:  # type: ignore[no-untyped-def]
        return Table(["run", "rows"], [[run.run_id, len(run.rows())]])

    found = Extensions()
    found.add(rows)
    (defined,) = found
    assert isinstance(defined, Section)
    assert (defined.title, defined.compute is not None) == ("Rows", True)
    assert defined.source.startswith("tests.api.test_decorators_section:test_a_section")
    assert defined.compute is not None
    stored = StoredRun(folder=Path("r1"), records=run_of(3))
    assert defined.compute(stored) == Table(["run", "rows"], [["r1", 3]])


@pytest.mark.parametrize("title", ["", " "])
def test_a_section_needs_a_title(title: str) -> None:
    with pytest.raises(ConfigError, match="expected its heading"):
        section(title)
