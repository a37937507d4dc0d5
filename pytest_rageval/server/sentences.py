"""The sentences of a Markdown passage, as plain text that can be quoted."""

import re
from collections.abc import Iterator

MAX_SENTENCE_CHARS = 500

_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"\s{0,3}(#{1,6}(\s|$)|(=+|-+)\s*$)")
_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+|\s*>\s?")
_TABLE_RULE = re.compile(r"[\s|:-]+$")
_REFERENCE_NUMBER = re.compile(r"\[(\d+)\]")
# After a full stop and a capital or digit, but not after an initial or a common abbreviation.
_BOUNDARY = re.compile(
    r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!\b[DM]r\.)(?<!\bMrs\.)(?<!\bSt\.)(?<!e\.g\.)(?<!i\.e\.)"
    r"[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])|(?<=[。！？])"
)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a passage without heading, list and fence markers.

    `[1]` in a source becomes `(1)`: in an answer, square brackets mark our own citations.
    """
    for block in _blocks(text):
        for sentence in _BOUNDARY.split(block):
            quoted = _REFERENCE_NUMBER.sub(r"(\1)", sentence.strip())
            if len(quoted) > MAX_SENTENCE_CHARS:
                quoted = quoted[:MAX_SENTENCE_CHARS].rsplit(" ", 1)[0] + " …"
            if any(character.isalnum() for character in quoted):
                yield quoted


def _blocks(text: str) -> Iterator[str]:
    """Yield runs of lines that belong together: a paragraph, a list item, a table row."""
    run: list[str] = []
    in_fence = False
    for line in text.splitlines():
        fence = _FENCE.match(line) is not None
        in_fence ^= fence
        marker = fence or not line.strip() or (not in_fence and _is_marker(line))
        alone = in_fence or line.lstrip().startswith("|")
        bullet = None if in_fence else _BULLET.match(line)
        if (marker or alone or bullet) and run:
            yield " ".join(run)
            run = []
        if not marker:
            run.append(" ".join(line[bullet.end() if bullet else 0 :].split()))
    if run:
        yield " ".join(run)


def _is_marker(line: str) -> bool:
    return bool(_HEADING.match(line) or _TABLE_RULE.match(line))
