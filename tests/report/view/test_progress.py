from __future__ import annotations

from typing import Any

from pytest_rageval.report.view.progress import Progress, progress_line


def line(width: int | None = None, **fields: Any) -> str:
    counts: dict[str, Any] = {"total": 80, "outcomes": {}, "errors": {}, "elapsed_s": 10.0}
    return "".join(text for text, _ in progress_line(Progress(**counts | fields), width))


def test_time_left_assumes_the_pace_so_far() -> None:
    text = line(outcomes={"passed": 17, "missed": 3}, last_s=10.0)
    assert text == "20/80 cases, 3 missed, 0 errors, 30 s left, 2.0/s"


def test_cases_of_earlier_sessions_do_not_count_for_the_pace() -> None:
    text = line(outcomes={"passed": 60}, earlier=50, last_s=10.0)
    assert text == "60/80 cases, 0 missed, 0 errors, 20 s left, 1.0/s"
