"""The section of a terminal on the errors of a target."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.report.faces.terminal import draw
from pytest_rageval.report.view.target_faults import FaultOptions, render_target_faults
from pytest_rageval.values.errors import target_error
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import error_info
from tests.analysis.aggregate.test_target_faults import PLACE, failed
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


def test_styles_of_the_traceback() -> None:
    broken = [failed("a", "KeyError: 'x'", "protocol", PLACE)]
    assert not any("conftest" in line for line in rendered(broken, traceback=None))
    assert not any("conftest" in line for line in rendered(broken, brief=True))
    assert "         conftest.py:8: KeyError: 'x'" in rendered(broken, traceback="line")
    native = rendered(broken, traceback="native", rootdir=Path())
    assert '           File "conftest.py", line 8, in answer' in native


def test_source_around_a_place_shows_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_API_KEY", "hushed-key")
    (tmp_path / "rag.py").write_text("api_key = 'hushed-key'\ncall(api_key)\n")
    broken = [failed("a", "KeyError: 'x'", "protocol", "rag.py:2: in ask\n    call(api_key)")]
    found = rendered(broken, traceback="long", rootdir=tmp_path)
    assert "             api_key = '***'" in found


def test_captured_output_follows_with_its_end() -> None:
    broken = [failed("a", "no")]
    text = "".join(f"line {n}\n" for n in range(30))
    found = rendered(broken, captured={"evals/set.jsonl::a": [("Captured stdout call", text)]})
    assert found[2:5] == [
        "         Captured stdout call of a",
        "           ... 10 lines before",
        "           line 10",
    ]
    assert found[-1] == "           line 29"


def test_hostile_text_is_made_safe() -> None:
    evil = "\x1b[31mred\u202e ::error::x"
    broken = [failed("a\x1b[0m", evil, "http", f"a\x1b[1m.py:1: in {evil}\n    {evil}")]
    captured = {broken[0].nodeid: [(evil, evil)]}
    for line in rendered(broken, captured=captured):
        assert "\x1b" not in line
        assert "\u202e" not in line
        assert "::error::" not in line


def test_a_cause_ends_with_its_code_where_it_is_asked_for() -> None:
    info = error_info(target_error("http_server", status=503))
    broken = [record("a", error=info)]
    assert rendered(broken)[0].endswith("HTTP 503")
    assert rendered(broken, codes=True)[0].endswith("HTTP 503 [target.http_server]")
    assert rendered([failed("a", "KeyError", "raised")], codes=True)[0].endswith("KeyError")
