"""Names that other tools give to the fields of a case, for imports and for messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pytest_rageval.values.case import CASE_FIELDS

_OTHERS: Final[Mapping[str, tuple[str, ...]]] = {
    "id": ("case_id", "test_id", "qid", "query_id", "question_id", "name"),
    "question": ("query", "input", "user_input", "prompt", "text"),
    "expected_answer": (
        "reference", "reference_answer", "ground_truth", "expected_output", "ideal", "expected",
        "answer", "answers", "golden_answers", "possible_answers", "generation_gt",
    ),
    "expected_key_facts": ("key_facts", "facts", "must_contain"),
    "gold_supports": (
        "expected_references", "gold", "golds", "references", "sources", "relevant_documents",
        "expected_sources",
    ),
    "irrelevant_supports": ("must_not_retrieve",),
    "answerable": ("is_answerable",),
    "category": ("type", "question_type"),
    "difficulty": ("level",),
    "tags": ("labels",),
    "vaults": ("vault",),
    "folders": ("folder",),
    "k": ("top_k", "topK"),
    "language": ("lang",),
    "notes": ("note", "comment", "comments", "description"),
}  # fmt: skip
ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    name: (name, *_OTHERS.get(name, ())) for name in [*_OTHERS, *CASE_FIELDS]
}
"""Names by case field, in the order of reading; the first one present is used."""

ANCHOR_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "rel_path": ("rel_path", "path", "source_file", "file", "document", "source"),
    "heading_path": ("heading_path", "heading", "section"),
    "snippet": ("snippet", "snippets", "quote"),
    "pages": ("pages", "page", "page_number", "page_numbers"),
}
"""Columns of a table that together define one gold."""

_ONLY_MEANT: Final[Mapping[str, tuple[str, ...]]] = {
    "expected_answer": ("gold_answer", "expected_response"),
    "gold_supports": (
        "context", "contexts", "expected_context", "expected_contexts", "reference_contexts",
        "gold_contexts", "evidence", "source", "documents", "gold_support",
        *(name for names in ANCHOR_COLUMNS.values() for name in names),
    ),
    "irrelevant_supports": ("negatives", "distractors", "irrelevant"),
}  # fmt: skip
"""Names whose values need not be those of the field, so that no import takes them for it."""


def _meant() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for table in (ANCHOR_COLUMNS, ALIASES, _ONLY_MEANT):
        for field, names in table.items():
            for name in names:
                key = "snippets" if field == "snippet" else field
                found[name.lower()] = (*found.get(name.lower(), ()), key)
    return found


MEANT: Final[Mapping[str, tuple[str, ...]]] = _meant()
"""Fields of an anchor or a case that a name in lower case may mean, the most likely first."""
