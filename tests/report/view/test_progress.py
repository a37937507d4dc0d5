from __future__ import annotations

from typing import Any

from pytest_rageval.report.view.progress import Progress, progress_line


def line(width: int | None = None, **fields: Any) -> str:
    counts: dict[str, Any] = {"total": 80, "outcomes": {}, "errors": {}, "elapsed_s": 10.0}
    return "".join(text for text, _ in progress_line(Progress(**counts | fields), width))


def test_time_left_assumes_the_pace_so_far() -> None:
    text = line(outcomes={"passed": 17, "missed": 3}, last_s=10.0)
    assert text == "20/80 cases, 3 missed, 0 errors, 30 s left, 2.0/s"


def test_time_left_counts_down_between_two_bursts() -> None:
    # 20 cases each 10 s: 30 s remain after the first burst, and 27 s three seconds later.
    outcomes = {"passed": 20}
    assert "30 s left" in line(outcomes=outcomes, elapsed_s=10.0, last_s=10.0)
    assert "27 s left" in line(outcomes=outcomes, elapsed_s=13.0, last_s=10.0)


def test_a_run_that_only_waits_for_a_server_says_so() -> None:
    text = line(in_flight=0, pausing=4)
    assert text.endswith("10 s so far, 0 in flight, 4 waiting to retry")


def test_nothing_is_foretold_from_the_first_of_many_asked_at_once() -> None:
    assert "10 s so far" in line(outcomes={"passed": 7}, last_s=10.0, in_flight=8)
    assert "2 min left" in line(outcomes={"passed": 8}, last_s=10.0, in_flight=8)


def test_cases_of_earlier_sessions_do_not_count_for_the_pace() -> None:
    text = line(outcomes={"passed": 60}, earlier=50, last_s=10.0)
    assert text == "60/80 cases, 0 missed, 0 errors, 20 s left, 1.0/s"


def test_the_most_frequent_kind_of_error_is_named() -> None:
    text = line(outcomes={"error": 12}, errors={"http": 3, "timeout": 9})
    assert "12 errors (9 timeout)" in text


def test_what_does_not_fit_is_left_out_from_the_end() -> None:
    fields = {"outcomes": {"passed": 17, "missed": 3}, "last_s": 10.0, "in_flight": 8}
    whole = "20/80 cases, 3 missed, 0 errors, 30 s left, 8 in flight, 2.0/s"
    assert line(len(whole), **fields) == whole
    assert line(len(whole) - 1, **fields) == whole.removesuffix(", 2.0/s")
    assert line(20, **fields) == "20/80 cases"
    assert line(10, **fields) == ""
