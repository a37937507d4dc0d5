"""Thoughts that a reasoning model wrote into its answer, as ranges of the text. Pure.

Known are ``<think>`` and its like (``<thinking>``, ``<seed:think>``, ``<reasoning>``,
``<scratchpad>``, ``[THINK]``, ``◁think▷``, Open WebUI's ``<details type="reasoning">``) and the
channels of gpt-oss, with or without their special tokens. A text may speak of these marks, too: one
in code, in an object of JSON, in quotation marks or within a sentence begins and ends nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pytest_rageval.support.json_text import json_objects

_MARK: Final = re.compile(
    r"""
    [<\[◁](?i:
        (?<=<)/?(?:(?:\w{1,20}[:_-]){0,2}(?:think(?:ing)?|thoughts?|reasoning|monologue)
            |antthinking|analysis|reflections?|scratch[_-]?pad)(?:\s[^<>]{0,200})?>
        |(?<=\[)/?think\]
        |(?<=◁)/?think▷
        |(?<=<)\|(?:begin_of|end_of|start|end)_(?:thought|thinking)\|>
        |(?<=<)details\s[^<>]{0,200}type="reasoning"[^<>]{0,200}>
        |(?<=<)/details>
        |(?<=<)(?:\|end\|><)?(?:\|start\|>assistant<)?\|channel\|>(?P<channel>analysis|commentary|final)
            [^<]{0,100}(?:<\|constrain\|>[^<]{0,100})?<\|message\|>)
    |assistant(?P<bare>final)
    """,
    re.VERBOSE,
)
_NOT_NAME: Final = re.compile(r"/|(?:begin_of|end_of|start|end)_(?=thought|thinking)")
_NEVER_ALONE: Final = frozenset({"details"})
"""Names of tags whose end says nothing without their beginning."""
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_CODE: Final = re.compile(r"`[^`\n]+`")
_OPENING_QUOTES: Final = frozenset("\"'`“‘”’„«»(")
_CLOSING_QUOTES: Final = frozenset("\"'`”’“‘»«)")
_SENTENCE_ENDS: Final = tuple(".!?…。！？>)]}\"'”’»*")
_GOES_ON: Final = re.compile(r"[,;:!?)]|\.(?!\.)|-\w")
"""Text after a mark that is named in a sentence."""
_NEW_PART: Final = re.compile(r"[ \t]*(?:[\r\n{]|```)")


@dataclass(frozen=True, slots=True)
class _Mark:
    """A mark that may begin or end a thought."""

    start: int
    end: int
    name: str
    ends: bool
    quoted: bool
    """Whether it is part of code or of a JSON object, or stands alone in quotation marks."""


def thought_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Return the ranges of a text that are thoughts.

    Args:
        text: as the model wrote it.

    Returns:
        Half-open ranges, tags included, in order and apart from each other. A thought whose first
        tag is missing begins where the text begins, or the thought before it ended. One whose last
        tag is missing is the rest of the text, if nothing but thoughts is before it.

    >>> thought_spans("<think>Ten?</think>At nine.")
    ((0, 19),)
    >>> thought_spans("Okay, perhaps ten.</think>At nine.")
    ((0, 26),)
    >>> thought_spans("A <think> tag begins a thought, and </think> ends it.")
    ()
    """
    marks = list(_marks(text))
    last_end = {one.name: one.start for one in marks if one.ends}
    last_plain_end = {one.name: one.start for one in marks if one.ends and not one.quoted}
    spans: list[tuple[int, int]] = []
    opened: _Mark | None = None
    named: set[str] = set()  # tags that the text since the last thought speaks of
    seen = 0
    for mark in marks:
        between, seen = text[seen : mark.start], mark.end
        if opened is not None:
            # An end in code ends a thought that has no other.
            skips = mark.quoted and last_plain_end.get(opened.name, -1) > opened.start
            if mark.ends and mark.name == opened.name and not skips:
                spans.append((opened.start, mark.end))
                opened = None
                named.clear()
        elif mark.ends and mark.name not in named and _ends_alone(text, between, mark):
            spans.append((spans[-1][1] if spans else 0, mark.end))
            named.clear()
        elif mark.ends:
            named.add(mark.name)
        else:
            begins, first = _begins(text, between, mark), not named and not between.strip()
            if begins and last_end.get(mark.name, -1) > mark.start:
                opened = mark
            elif begins and first:
                spans.append((mark.start, len(text)))
                break
            elif not first:  # what begins a text may still prove to be a thought, by its end
                named.add(mark.name)
    return _joined(spans)


def without_thoughts(text: str) -> str:
    """Return a text without its thoughts.

    >>> without_thoughts("<think>Ten?</think>At nine.")
    'At nine.'
    """
    parts, last = [], 0
    for start, end in thought_spans(text):
        parts.append(text[last:start])
        last = end
    return "".join([*parts, text[last:]])


def _joined(spans: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            start = joined.pop()[0]
        joined.append((start, end))
    return tuple(joined)


def _marks(text: str) -> Iterator[_Mark]:
    found = list(_MARK.finditer(text))
    ranges = _quoting_ranges(text) if found else []
    for one in found:
        start, end = one.span()
        mark = one[0].strip("<>[]◁▷|").lower().split(None, 1)[0]
        channel = one["channel"] or one["bare"]
        at = bisect_right(ranges, (start, len(text))) - 1
        alone = (
            text[start - 1 : start] in _OPENING_QUOTES and text[end : end + 1] in _CLOSING_QUOTES
        )
        yield _Mark(
            start=start,
            end=end,
            name="channel" if channel else _NOT_NAME.sub("", mark),
            ends=channel.lower() == "final" if channel else mark.startswith(("/", "end_")),
            quoted=alone or (at >= 0 and start < ranges[at][1]),
        )


def _quoting_ranges(text: str) -> list[tuple[int, int]]:
    """Return the ranges of code and of JSON objects, in order and apart from each other."""
    ranges = [(start, end) for start, end, _ in json_objects(text)]
    ranges += [found.span() for found in _CODE.finditer(text)]
    fence: re.Match[str] | None = None
    for found in _FENCE.finditer(text):
        if fence is None:
            fence = found
        elif found[1].startswith(fence[1]):
            ranges.append((fence.start(), found.end()))
            fence = None
    apart: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if apart and start < apart[-1][1]:
            start, last = apart.pop()
            end = max(end, last)
        apart.append((start, end))
    return apart


def _begins(text: str, between: str, mark: _Mark) -> bool:
    """Return whether a tag begins a thought, rather than being named in a sentence.

    A thought begins with a line, after a sentence or another tag, or with a line of its own.
    """
    if mark.quoted or text[max(mark.start - 1, 0) : mark.start] in _OPENING_QUOTES:
        return False
    after = text[mark.end : mark.end + 3]
    line = between.rstrip(" \t")
    if not after.strip(" \t") or after.lstrip(" \t").startswith(("\n", "\r")):
        return True
    if _GOES_ON.match(after) or (after[:1].isspace() and after.lstrip()[:1].islower()):
        return False
    return not line or line.endswith(("\n", "\r", *_SENTENCE_ENDS))


def _ends_alone(text: str, between: str, mark: _Mark) -> bool:
    """Return whether a tag without a beginning ends a thought, rather than being named."""
    after = text[mark.end : mark.end + 100]
    if mark.quoted or mark.name in _NEVER_ALONE or _GOES_ON.match(after):
        return False
    joins = (between and not between[-1].isspace()) or (after and not after[0].isspace())
    if joins or _NEW_PART.match(after):
        return True
    before = between.rstrip(" \t")
    ends = not before or before.endswith(("\n", "\r", *_SENTENCE_ENDS))
    return ends and not after.lstrip()[:1].islower()
