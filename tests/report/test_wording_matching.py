"""The rules of matching in words."""

from __future__ import annotations

import pytest

from pytest_rageval.report.wording import rules_text

ALONE = (
    "without a heading, text or page to compare, such a case is matched by document (doc_hit_at_k)"
)


@pytest.mark.parametrize(
    ("matching", "text"),
    [
        ({}, ""),
        ({"heading": 12}, ""),
        ({"heading": 12, "snippet": 0}, ""),
        (
            {"snippet": 40, "heading": 812, "undecided": 2},
            f"heading 812, snippet 40; 2 by document alone: {ALONE}",
        ),
        ({"undecided": 5}, f"document alone 5: {ALONE}"),
        ({"document": 3}, "document 3"),
        ({"other": 4}, ""),
    ],
)
def test_rules_are_named_unless_headings_decided_alone(matching: dict[str, int], text: str) -> None:
    assert rules_text(matching) == text
