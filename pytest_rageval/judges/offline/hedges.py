"""Answers that name an expected thing without meaning it: one of two, what was, or an object."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from typing import Final

from pytest_rageval.judges.offline.lexicon import LIGHT, Word
from pytest_rageval.judges.offline.relations import ARTICLES, BE, BY
from pytest_rageval.judges.offline.vocabulary import EDITIONS, MAYBE, NOW, OR, ROMAN, THEN, WHO

_REACH: Final = 3
"""Words between "or" and an alternative."""


def unsettled(words: Sequence[Word], wanted: Set[str], new: Set[str], language: str) -> str:
    """Say how a text leaves open which of two things it means; empty: it does not.

    Args:
        words: of the text.
        wanted: keys of the expected thing.
        new: keys of things that are neither expected nor in the question.
        language: of the text.
    """
    forms = [word.form for word in words]
    for at, form in enumerate(forms):
        if form in OR[language]:
            before = {word.key for word in words[max(0, at - _REACH) : at]}
            after = {word.key for word in words[at + 1 : at + 1 + _REACH]}
            if (before & wanted and after & new) or (before & new and after & wanted):
                return "names an alternative"
    if sum(form in MAYBE for form in forms) > 1:
        return "names several that may be"
    if not THEN.isdisjoint(forms) and not NOW.isdisjoint(forms):
        return "tells what was from what is"
    return ""


def longer_name(name: str, text: str, asked: Set[str]) -> str:
    """Return the word with which a text makes a name that of something else; empty: none.

    Args:
        name: the expected one.
        text: an answer.
        asked: words of the question in lower case, which belong to no name.

    >>> longer_name("Charles I", "Charles II was king.", frozenset())
    'II'
    >>> longer_name("iPhone 15", "They get the iPhone 15 Pro.", frozenset())
    'Pro'
    """
    name = name.strip().removesuffix(" I")
    for found in re.finditer(rf"(?<!\w){re.escape(name)} (\w+)", text) if name[:1] else ():
        if found[1] in ROMAN:
            return found[1]
        word = found[1].lower()
        if found[1][0].isupper() and word in EDITIONS and word not in asked:
            return found[1]
    return ""


def is_object(words: Sequence[Word], wanted: Set[str], question: Sequence[Word]) -> bool:
    """Whether the answer to "who did it?" has another name before a verb, and the expected behind.

    >>> from pytest_rageval.judges.offline.lexicon import read_words
    >>> is_object(read_words("Blue beat Red."), {"red"}, read_words("Who won?"))
    True
    """
    if not question or question[0].form not in WHO or not BY.isdisjoint(w.form for w in words):
        return False
    for at in range(len(words) - 2):
        name, verb = words[at], words[at + 1]
        if not name.capital or name.tier < LIGHT or name.key in wanted:
            continue
        if verb.capital or verb.number or verb.tier < LIGHT or verb.form in BE:
            continue
        behind = next((word for word in words[at + 2 :] if word.form not in ARTICLES), None)
        asked = verb.key in {word.key for word in question}
        if asked or (behind is not None and behind.key in wanted):
            return True
    return False
