"""What runs and tags may be called."""

from __future__ import annotations

import re
from typing import Final

TAGS: Final = "tags"
"""Folder of the tags, among the runs."""

RUN_ID_RULE: Final = (
    "1 to 100 letters, digits, '.', '_' and '-', beginning with a letter or digit, and not 'last' "
    "or 'tags'"
)
TAG_RULE: Final = (
    "1 to 100 letters, digits, '.', '_' and '-', beginning with a letter or digit, not ending in "
    ".json, .jsonl or .md, and not 'last' or 'tags'"
)
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_RESERVED: Final = frozenset({"last", TAGS})
_FILES: Final = (".json", ".jsonl", ".md")
"""The folder of the tags must not look like that of a run."""


def is_run_id(text: str) -> bool:
    """Say whether a text may name a run (``RUN_ID_RULE``)."""
    return _NAME.fullmatch(text) is not None and text not in _RESERVED


def is_tag(text: str) -> bool:
    """Say whether a text may be a tag (``TAG_RULE``)."""
    return is_run_id(text) and not text.endswith(_FILES)
