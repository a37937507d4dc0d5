"""Follow-up questions in full, by words alone: what is searched and answered in a conversation."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_rageval.server.terms import words

_REFERS = frozenset(
    "it its itself that this they them their theirs there those these then one ones he she him her "
    "his hers same else".split()
)
_CONTINUES = frozenset("and but so or also otherwise why".split())
_SHORT = 4
"""A question of at most so many words is taken to continue the one before."""


def in_full(question: str, before: Sequence[str]) -> str:
    """Return a question with the one before it in front, if it refers to it.

    It does if it has a pronoun such as *it* or *that*, begins with *and* or another word that
    continues, or is very short. Only one question is taken, so a topic that was named earlier is
    lost, as it is in many chatbots.

    Args:
        question: of the user.
        before: the user's questions before it, in order.

    >>> in_full("And how long does that take?", ["How do I get a refund?"])
    'How do I get a refund? And how long does that take?'
    """
    said = words(question)
    refers = not _REFERS.isdisjoint(said) or (said[:1] and said[0] in _CONTINUES)
    return f"{before[-1]} {question}" if before and (refers or len(said) <= _SHORT) else question
