"""The page on calibration agrees with the code: its sessions and its links."""

from __future__ import annotations

from pytest_rageval.judge_calibration import LABELS, LEFT_OUT
from tests.docs_examples import DOCS, link_targets, read_document, run_sessions

PAGE = read_document("calibration.md")


def test_the_examples_print_what_the_page_says() -> None:
    attempted, report = run_sessions(PAGE, "calibration.md")
    assert attempted >= 8
    assert report == ""


def test_every_label_is_named() -> None:
    labels = [label for group in (LABELS, LEFT_OUT) for part in group.values() for label in part]
    assert [label for label in labels if f"`{label}`" not in PAGE] == []


def test_links_lead_somewhere() -> None:
    assert [t for t in link_targets(PAGE) if not (DOCS / t.split("#")[0]).exists()] == []
