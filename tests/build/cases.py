"""Cases as a case file holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

FULL: Final[Mapping[str, Any]] = {
    "id": "multi/hop_1.a-b",
    "question": "Which?",
    "answerable": True,
    "expected_key_facts": ["one", "two"],
    "expected_answer": "Both.",
    "gold_supports": [
        {
            "rel_path": "a.md",
            "heading_path": "# A",
            "snippets": ["x"],
            "pages": [2, 3],
            "grade": 2,
            "vault": "v",
        },
        {"rel_path": "b.md"},
    ],
    "irrelevant_supports": [{"rel_path": "c.md"}],
    "required_support_groups": [[0, 1], [1]],
    "recency_conflict_rule": "cite_newer",
    "category": "recency/conflict",
    "difficulty": "hard",
    "tags": ["work", "ns:tag"],
    "vaults": ["v"],
    "folders": ["", "notes"],
    "k": 7,
    "language": "de",
    "translation_of": "multi_hop_1",
    "required": True,
    "review": "generated",
    "notes": "why",
    "metadata": {"source": [1, None]},
}
"""A case with a value in every field."""
