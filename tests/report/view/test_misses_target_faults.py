"""The section of a terminal on the errors of a target."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.report.faces.terminal import draw
from pytest_rageval.report.view.misses import FaultOptions, render_target_faults
from pytest_rageval.values.record import CaseRecord
from tests.analysis.aggregate.test_operational_target_faults import PLACE, failed
from tests.build.records import record


def rendered(
    records: Iterable[CaseRecord],
    sentences: Iterable[str] = (),
    *,
    width: int = 80,
    **options: Any,
) -> list[str]:
    blocks = render_target_faults(list(records), sentences, FaultOptions(**options))
    return [*draw(blocks, width=width)]


def test_a_cause_is_shown_once_with_its_place_and_cases() -> None:
    broken = [failed(f"c{n}", "KeyError: 'x'", "protocol", PLACE) for n in range(3)]
    assert rendered([*broken, record("ok")]) == [
        "error    protocol in 3 of 4 cases: KeyError: 'x'",
        "         conftest.py:8: in answer",
        "             return question.lower()",
        "         cases: c0, c1, c2",
    ]


def test_source_around_a_place_shows_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_API_KEY", "hushed-key")
    (tmp_path / "rag.py").write_text("api_key = 'hushed-key'\ncall(api_key)\n")
    broken = [failed("a", "KeyError: 'x'", "protocol", "rag.py:2: in ask\n    call(api_key)")]
    found = rendered(broken, traceback="long", rootdir=tmp_path)
    assert "             api_key = '***'" in found


def test_hostile_text_is_made_safe() -> None:
    evil = "\x1b[31mred\u202e ::error::x"
    broken = [failed("a\x1b[0m", evil, "http", f"a\x1b[1m.py:1: in {evil}\n    {evil}")]
    captured = {broken[0].nodeid: [(evil, evil)]}
    for line in rendered(broken, captured=captured):
        assert "\x1b" not in line
        assert "\u202e" not in line
        assert "::error::" not in line
