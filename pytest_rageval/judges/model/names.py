"""Names of models."""

from __future__ import annotations

import re
from typing import Final

from pytest_rageval.support.text import excerpt

_HOSTED: Final = re.compile(
    r"(gpt|chatgpt|o\d|claude|gemini|mistral|ministral|magistral|codestral|pixtral|command|"
    r"deepseek-(chat|reasoner)|grok|sonar|qwen-(max|plus|turbo)|nova)\b",
    re.IGNORECASE,
)
_PINNED: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}|(?<!\d)(20\d{6}|\d{4}|0\d\d)(?!\d)|\d[bm]\b|\bv\d+\.\d", re.IGNORECASE
)
"""A date, a build such as ``-001``, or a size and version, as the names of open weights have."""


def unpinned_alias(model: str) -> str | None:
    """Warn of a model name under which the weights may change.

    Args:
        model: as it is asked for.

    Returns:
        One sentence; None: the name holds a date or a version.

    >>> unpinned_alias("gpt-4o-2024-08-06")
    >>> unpinned_alias("gpt-4o")
    "judge model 'gpt-4o' is an unpinned alias: pin a dated version so that scores stay comparable"
    """
    shown = excerpt(model, 100)
    name = model.rsplit("/", 1)[-1]
    latest = re.search(r"(^|[-:@_])latest$", name, re.IGNORECASE) is not None
    hosted = _HOSTED.match(name) is not None
    # Open weights carry their version in the name: llama-3.1-8b-instruct.
    pinned = _PINNED.search(name) if hosted else re.search(r"\d", name)
    if pinned and not latest:
        return None
    return (
        f"judge model {shown!r} is an unpinned alias: pin a dated version so that scores stay "
        "comparable"
    )
