"""Relations in and between sentences: who does what to whom, opposites, negations, hedges.

Sentences are words in order, as ``read_words`` gives them. All is told from words alone: small
words before a name, the order around a verb, a unit after a number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import Final

from pytest_rageval.judges.offline.lexicon import (
    CORE,
    LIGHT,
    PLAIN_NUMBER,
    SOFT,
    Word,
    is_han,
    negation_keys,
    rivals,
    synonyms,
    unit_keys,
)
from pytest_rageval.judges.offline.vocabulary import (
    BOUNDS,
    EDITIONS,
    MAYBE,
    NOW,
    OR,
    OR_BOUNDS,
    ROMAN,
    SIZES,
    THEN,
    WHO,
)

REACH: Final = 4
"""Number of words after a negation, or before it, that it can negate."""
ALIKE: Final = 0.6
"""Share of the words of two sentences that they have in common, if one says what the other says."""
_LONGEST: Final = 400
"""Words of two sentences up to which their sides are compared, in quadratic time."""
_LEAST_STEM: Final = 4
"""Letters of a word that a prefix can turn into its opposite."""
_SAME_BEGINNING: Final = 6
"""Letters with which two forms of one word begin: transfer, transference."""
_PREFIXES: Final = ("un", "im", "in", "ir", "il", "non", "dis")
ARTICLES: Final = frozenset(
    """
    a an the its their his her our my your el la le les los las il lo der die das den dem des un
    una une o os as het de ein eine einen einem
    """.split()
)
_ROLES: Final = frozenset(
    """
    to from into with by than over of for before after von nach zu durch mit als vor vers par avec
    pour que hacia por con para da verso per com van naar door met aan dan a de d
    """.split()
)
"""Words that say which part in a relation the next word has."""
_PARTICLES: Final = frozenset("がをにはへとでか")
"""The same after a word of Japanese."""
BE: Final = frozenset(
    """
    is are was were be been being gets got fue fueron es son est sont ete wurde wurden wird werden
    foi foram sido stato stata viene venne fu werd werden wordt
    """.split()
)
BY: Final = frozenset("by von door par por da dal dalla".split())
_OR: Final = frozenset().union(*OR.values())
_AT: Final = frozenset("al au".split())
"""Before "menos" and "moins", these make it the least and not less."""
_LINKS: Final = BE | frozenset("ist war that which whom que qui".split())
"""Words that part a name from the verb that follows: "Bolt is the company that Acme bought"."""


def content_keys(words: Sequence[Word]) -> list[str]:
    """Return the keys of words in order, core words left out."""
    return [word.key for word in words if word.tier]


def alike(one: Sequence[Word], other: Sequence[Word]) -> bool:
    """Whether two sentences say much the same, and neither much else."""
    a, b = ({word.key for word in words if word.tier >= LIGHT} for words in (one, other))
    return len(a & b) >= ALIKE * max(len(a), len(b))


# --- words ---------------------------------------------------------------------------------


def opposites(word: Word, language: str) -> Iterator[str]:
    """Yield keys of the one word that says the opposite: locked, unlocked; open, closed."""
    others = rivals(language).get(word.key, frozenset())
    if len(others) == 1:
        for one in others - negation_keys():
            yield one
            yield from synonyms().get(one, ())
    yield from by_prefix(word)


def by_prefix(word: Word) -> Iterator[str]:
    """Yield keys of the opposites of a word that differ in a prefix alone: locked, unlocked."""
    key = word.key
    for prefix in _PREFIXES:
        if key.startswith(prefix) and len(key) - len(prefix) >= _LEAST_STEM:
            yield key[len(prefix) :]
            yield f"{key[len(prefix) :]}e"
        if len(key) >= _LEAST_STEM:
            yield prefix + key


def means(word: Word, known: Set[str], language: str) -> bool:
    """Whether one of some keys is a synonym of a word, its opposite, or another form of it.

    Whether an opposite means the same depends on the negations beside both.
    """
    if not synonyms().get(word.key, frozenset()).isdisjoint(known):
        return True
    if any(one in known for one in opposites(word, language)):
        return True
    head, size = word.key[:_SAME_BEGINNING], len(word.key)
    if size < _SAME_BEGINNING or word.capital:
        return False
    forms = [len(key) for key in known if key.startswith(head) and key not in rivals(language)]
    return any(10 * min(form, size) >= 7 * max(form, size) for form in forms)


# --- negation ------------------------------------------------------------------------------


def target(words: Sequence[Word], at: int) -> Word | None:
    """Return the word that a negation can negate: the next one that says something, or the last."""
    after, before = words[at + 1 : at + 1 + REACH], words[max(0, at - REACH) : at]
    near = (word for word in (*after, *reversed(before)) if word.tier >= SOFT and not word.negates)
    return next(near, None)


def negated(words: Sequence[Word]) -> set[str]:
    """Return the keys of the words that are negated."""
    targets = (target(words, at) for at, word in enumerate(words) if word.negates)
    return {word.key for word in targets if word is not None}


# --- quantities ----------------------------------------------------------------------------


Quantity = tuple[str, str, float]
"""Key of a number, dimension of its unit, and size in that dimension."""


def same_quantity(number: Word, mine: Sequence[Word], sentences: Sequence[Sequence[Word]]) -> bool:
    """Whether sentences have a quantity of another in other units: 500 grams, half a kilogram."""
    return is_same_quantity(
        number, quantities(mine), [q for one in sentences for q in quantities(one)]
    )


def is_same_quantity(number: Word, mine: Sequence[Quantity], found: Sequence[Quantity]) -> bool:
    """Whether one of the found quantities is that of a number."""
    wanted = [(unit, size) for key, unit, size in mine if key == number.key]
    return any(
        unit == dimension and math.isclose(size, other, rel_tol=1e-6)
        for unit, size in wanted
        for _, dimension, other in found
    )


def other_unit(mine: Sequence[Word], sentences: Sequence[Sequence[Word]]) -> str:
    """Return a number with the unit that it has wherever other sentences have it; empty: its own.

    A number that they have without a unit is not another one.
    """
    pairs = [(a, b) for a, b in pairwise(mine) if a.number and b.key in unit_keys()]
    if not pairs:
        return ""
    wanted = {number.key for number, _ in pairs}
    after: dict[str, list[list[str]]] = {}
    for words in sentences:
        for at, word in enumerate(words):
            if word.key in wanted:
                units = [one.key for one in words[at + 1 : at + 3] if one.key in unit_keys()]
                after.setdefault(word.key, []).append(units)
    for number, unit in pairs:
        found = after.get(number.key, [])
        if not found or not all(units and unit.key not in units for units in found):
            continue
        if not same_quantity(number, mine, sentences):
            return f"{number.form} {found[0][0]}"
    return ""


def quantities(words: Sequence[Word]) -> list[Quantity]:
    """Return each number with a unit: its key, dimension and size."""
    found = []
    for at, word in enumerate(words):
        if word.number and PLAIN_NUMBER.fullmatch(word.key):
            after = [one.key for one in words[at + 1 : at + 3] if one.key in SIZES]
            if after:
                dimension, size = SIZES[after[0]]
                found.append((word.key, dimension, float(word.key) * size))
    return found


def bounds(words: Sequence[Word]) -> dict[str, int]:
    """Return by its key whether a number is the least (1) or the most (-1) that is meant."""
    found: dict[str, int] = {}
    for at, word in enumerate(words):
        if word.number and (side := _bound_before(words, at) or _bound_after(words, at)):
            found.setdefault(word.key, side)
    return found


def _bound_before(words: Sequence[Word], at: int) -> int:
    for place in range(at - 1, max(-1, at - REACH), -1):
        form = words[place].form
        if words[place].number:
            return 0
        if side := BOUNDS.get(form, 0):
            if form == "up" and words[place + 1].form != "to":
                return 0
            before = words[max(0, place - 2) : place]
            if before and before[-1].form in _AT:
                return 1
            return -side if any(word.negates for word in before) else side
    return 0


def _bound_after(words: Sequence[Word], at: int) -> int:
    for link, word in pairwise(words[at + 1 : at + REACH]):
        if link.form in _OR:
            return OR_BOUNDS.get(word.form, 0)
    return 0


# --- parts ---------------------------------------------------------------------------------


def exchanged(
    mine: Sequence[Word], here: Sequence[Word], language: str, *, is_list: bool = False
) -> bool:
    """Whether two sentences have the two sides of what they relate the other way round.

    Args:
        mine: one sentence.
        here: another one, in which all content words of the first occur.
        language: of both.
        is_list: whether the first enumerates, so that its order says nothing.
    """
    if len(mine) + len(here) > _LONGEST:
        return False
    own, other = _roles(mine), _roles(here)
    shared = [key for key in own if key in other]
    for one in shared:
        for two in shared:
            a, b = own[one], own[two]
            if a != b and other[one] == b and other[two] == a:
                return True
    if is_list:
        return False
    passive = _is_passive(mine, mine)
    if passive != _is_passive(here, mine):
        return _agent_moved(mine, here) if passive else _agent_moved(here, mine)
    return _transposed(mine, here) or _turned_around(mine, here, language)


def _agent_moved(passive: Sequence[Word], active: Sequence[Word]) -> bool:
    """Whether who acts in a passive sentence is acted upon in an active one."""
    at = next((at for at, word in enumerate(passive) if word.form in BY), None)
    be = next((at for at, word in enumerate(passive) if word.form in BE), None)
    if at is None or be is None or at < be:
        return False
    agent = next((word.key for word in passive[at + 1 :] if word.tier >= LIGHT), None)
    patient = next((word.key for word in reversed(passive[:be]) if word.tier >= LIGHT), None)
    keys = [word.key for word in active]
    if agent not in keys or patient not in keys or agent == patient:
        return False
    between = active[keys.index(patient) + 1 : keys.index(agent)]
    return any(w.tier >= LIGHT and not w.capital and not w.number for w in between) and not any(
        word.form in _LINKS for word in between
    )


def _roles(words: Sequence[Word]) -> dict[str, str]:
    """Return for each content word the small word that says its part; empty: none does."""
    found: dict[str, str] = {}
    for at, word in enumerate(words):
        if word.tier < LIGHT or word.key in found:
            continue
        if is_han(word.form):
            after = (w.form for w in words[at + 1 : at + 5] if not is_han(w.form))
            found[word.key] = next((form for form in after if form in _PARTICLES), "")
        else:
            before = [w.form for w in words[max(0, at - 2) : at]]
            while before and before[-1] in ARTICLES - _ROLES:
                before.pop()
            found[word.key] = before[-1] if before and before[-1] in _ROLES else ""
    return found


def _transposed(mine: Sequence[Word], here: Sequence[Word]) -> bool:
    """Whether two sentences differ in two words that nothing tells apart but their order."""
    one = [word.key for word in mine if word.tier >= LIGHT]
    other = [word.key for word in here if word.tier >= LIGHT]
    if len(one) < 3 or sorted(one) != sorted(other):
        return False
    moved = [key for key, there in zip(one, other, strict=True) if key != there]
    if len(moved) != 2 or any(one.count(key) > 1 for key in moved):
        return False
    own, others = _roles(mine), _roles(here)
    first, second = moved
    return own[first] == own[second] and others[first] == others[second]


def _turned_around(mine: Sequence[Word], here: Sequence[Word], language: str) -> bool:
    """Whether what is before a verb in one sentence is behind it in the other one."""
    content = [at for at, word in enumerate(mine) if word.tier >= LIGHT]
    places: dict[str, int] = {}
    for at, word in enumerate(here):
        places.setdefault(word.key, at)
    for i in range(1, len(content) - 1):
        verb, between = mine[content[i]], mine[content[i] + 1 : content[i + 1]]
        if verb.number or verb.exact or verb.capital or is_han(verb.form):
            continue
        if any(w.form not in _ROLES | ARTICLES for w in between if w.tier == CORE):
            continue
        left, right = _side(mine, content[:i][::-1]), _side(mine, content[i + 1 :])
        before, after = left - right, right - left
        verbs = (verb.key, *sorted(rivals(language).get(verb.key, ())))
        middle = next((places[key] for key in verbs if key in places), None)
        if middle is None or not before or not after or not before | after <= places.keys():
            continue
        if max(places[key] for key in after) < middle < min(places[key] for key in before):
            return True
    return False


def _side(words: Sequence[Word], places: Sequence[int]) -> set[str]:
    """Return the keys of one side of a relation: a name, or up to two words with none between."""
    found: list[Word] = []
    for at, place in enumerate(places[:2]):
        gap = words[min(places[at - 1], place) + 1 : max(places[at - 1], place)] if at else ()
        if any(word.form not in ARTICLES for word in gap):
            break
        if found and found[0].capital != words[place].capital:
            break
        found.append(words[place])
    return {word.key for word in found}


def _is_passive(words: Sequence[Word], about: Sequence[Word]) -> bool:
    """Whether a sentence has the passive of a word of another one, or says "by"."""
    shared = {word.key for word in about if word.tier}
    forms = [word.form.removesuffix("n't") for word in words]
    if not BY.isdisjoint(forms) and not BE.isdisjoint(forms):
        return True
    return any(
        word.form[-1] in "dentoa" and not BE.isdisjoint(forms[max(0, at - 2) : at])
        for at, word in enumerate(words)
        if word.key in shared and word.tier >= LIGHT and not word.capital and not word.exact
    )


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
