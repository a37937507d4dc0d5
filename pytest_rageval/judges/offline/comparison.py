"""One fact beside one text: what of it is there, and what stands in the way."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from functools import cached_property
from itertools import pairwise
from typing import Final

from pytest_rageval.judges.offline.facts import (
    IDEAL,
    SHORT_RUN,
    Expected,
    State,
    Stated,
    StatedText,
)
from pytest_rageval.judges.offline.grounding import FAULTY, PASS, scale
from pytest_rageval.judges.offline.lexicon import (
    FULL,
    LIGHT,
    PLAIN_NUMBER,
    SOFT,
    Word,
    is_han,
    read_words,
    rivals,
    synonyms,
    unit_keys,
)
from pytest_rageval.judges.offline.parameters import Layer
from pytest_rageval.judges.offline.relations import (
    REACH,
    alike,
    bounds,
    exchanged,
    is_object,
    longer_name,
    means,
    negated,
    opposites,
    other_unit,
    same_quantity,
    target,
    unsettled,
)
from pytest_rageval.judges.offline.support import WEIGHTS, ContextIndex, Support, find_support
from pytest_rageval.judges.offline.vocabulary import (
    BOUNDS,
    IRREGULAR,
    OR,
    SIZES,
    TITLES,
    WHICH,
    WHO,
)
from pytest_rageval.values.words import YES

_UNSURE_SHARE: Final = 0.4
"""Weight of the words of a short fact that a text has, from which the others may be paraphrased."""
_LONG_ODDS: Final = 1.6
"""Log odds that a long fact needs above those of a short one: it shares words with many texts."""
_UNSURE_ODDS: Final = 1.6
"""Log odds below that line down to which a long fact may be stated in other words."""
_MOST_SENTENCES: Final = 500
_BE: Final = frozenset("is are was were be been".split())
_ROW: Final = re.compile(r"\w: [^;\n]{1,80}; \w[\w ]{0,40}: ")
_ROW_CHARS: Final = 2_000
_ABOUT_AS_LONG: Final = 1.5
_OPTION_CHARS: Final = 500
_SAME_ROOT: Final = 4
_ORDINALS: Final = {"1": "first", "2": "second"}
_FALLING: Final = frozenset(
    "fall drop declin decreas loss lose shrink below reduc lower down less sank sink".split()
)
_ABBREVIATION: Final = re.compile(r"\b([A-Za-z]{2,6})\.(?=\s*\S)")
_FIGURES: Final = re.compile(r"(?<![\d./])(\d\d?)[./](\d\d?)(?:[./](\d{4})\b|\.(?!\d))")
_RATIO: Final = re.compile(r"(?<![\d:.])(\d{1,3}) ?: ?(\d{1,3})(?![\d:])")
_LETTERS: Final = 3
_VOWELS: Final = "аеиоуыьэюя\u0306"
_CASE_ENDING: Final = re.compile("(?:[аеиоуыьэюя]|[оеыи][мйх]|[ая][мх]|[ая]ми|ым?и|[ео]го|[ео]му)?")
"""Endings of Russian nouns and adjectives that make no other name: not that of Ivanov for Ivan."""
_ACRONYM: Final = re.compile(r"\b[A-Z]{2,6}\b")


def look_up(expected: Expected, text: StatedText, layer: Layer) -> Stated:
    """Look an expected answer or a key fact up in a text.

    Args:
        expected: the fact.
        text: an answer or a passage.
        layer: the fitted layer of correctness.
    """
    support = find_support(expected.claim, text.context)
    features = text.features(expected, support)
    odds = layer.log_odds(features) if features else 0.0
    if expected.is_statement:
        odds -= _LONG_ODDS
    comparison = _Comparison(expected, text, support)
    state, why = comparison.decide(odds)
    if features is None:
        return Stated(state, 5.0 * (state == "stated"), why, comparison.contradicted)
    score = scale(odds, layer, IDEAL) if features["coverage"] else 0.0
    if state == "stated":
        score = 5.0 if expected.line in text.line else max(score, PASS)
    elif state == "absent":
        score = min(score, scale(FAULTY, layer, IDEAL))
    return Stated(state, score, why, comparison.contradicted)


class _Comparison:
    """One fact beside one text."""

    def __init__(self, expected: Expected, text: StatedText, support: Support | None) -> None:
        self.expected, self.text, self.support = expected, text, support
        self.contradicted = False
        self.question = expected.question
        self.rivals: Final = rivals(self.question.language)
        at = support.best if support else None
        self.language: Final = self.question.language
        self._at = at
        self.best: Final[Sequence[Word]] = self._best(at)
        self.here: Final = frozenset(word.key for word in self.best)
        if text.is_passage:
            self.known: Set[str] = text.context.window(at) | self.here
        else:
            self.known = _all_keys(text.context)

    @cached_property
    def near(self) -> list[Sequence[Word]]:
        """Words of the sentences about the one that has most of the fact."""
        return [one.read.words for one in self.text.context.near_sentences(self._at)]

    def _best(self, at: int | None) -> Sequence[Word]:
        """Return the sentence that has most of the fact, then of the question."""
        sentences = self.text.context.sentences
        if at is not None and self.text.is_passage:
            return sentences[at].read.words
        mine, asked = self.expected.claim.keys, self.question.keys

        def overlap(words: Sequence[Word]) -> tuple[int, int]:
            keys = {word.key for word in words}
            return len(keys & mine), len(keys & asked)

        read = [sentence.read.words for sentence in sentences[:_MOST_SENTENCES]]
        whole = [word for words in read for word in words]
        if len(whole) <= self._longest * len(self.expected.words):
            return whole  # both may be several sentences
        return max(read, key=overlap, default=())

    @property
    def _longest(self) -> float:
        """Return how many times as long as the fact a text is that is compared as a whole."""
        if self.expected.is_statement:
            return _ABOUT_AS_LONG
        return 2 * _ABOUT_AS_LONG if self.expected.n_clauses > 1 else 0.0

    def decide(self, odds: float) -> tuple[State, str]:
        """Return the state, and what is missing or stands in the way.

        Args:
            odds: log odds of a long fact, by the fitted layer.
        """
        expected, text = self.expected, self.text
        if {expected.says, text.says} == {"yes", "no"}:
            self.contradicted = True
            return "absent", f'says "{text.says}"'
        if not expected.required:
            return self._polarity()
        if expected.line in text.line and (expected.is_clause or expected.is_statement):
            return "stated", ""
        missing = [word for word in expected.required if not self._has(word)]
        if expected.compared and expected.compared <= {word.key for word in missing}:
            missing = [word for word in missing if word.key not in expected.compared]
        if missing and text.says and expected.new is expected.required:
            return self._polarity()
        if found := self._contradiction(missing):
            return found
        if expected.is_statement:
            return self._decide_long(odds)
        return self._decide_short(missing)

    def _decide_short(self, missing: Sequence[Word]) -> tuple[State, str]:
        new = {word.key for word in self.expected.new}
        lost = [word for word in missing if word.key in new]
        hard = [word for word in lost if self._is_hard(word)]
        shown = "lacks " + ", ".join(dict.fromkeys(word.form for word in hard or lost or missing))
        if hard and self._has_unclear_date(hard):
            return "unsure", shown
        if hard or self._lacks_item():
            return "absent", shown
        if not lost:
            if self._asked_exchanged:
                return "absent", "has the two sides the other way round"
            replaced = self._replaced(missing) or self._other_subject(missing) or self._unsettled
            return ("unsure", replaced) if replaced else ("stated", "")
        if not self._new_words or self._share(self.expected.required, missing) < _UNSURE_SHARE:
            return "absent", shown
        return "unsure", shown

    def _has_unclear_date(self, hard: Sequence[Word]) -> bool:
        """Whether one text writes a missing date in figures, and so may mean the same."""
        lost = {word.key for word in hard}
        return any(lost <= date for date in _dates(self.text.text)) or any(
            date <= self.known for date in _dates(self.expected.text)
        )

    @property
    def _asked_exchanged(self) -> bool:
        """Whether the answer to "who did it?" is the one to whom it was done."""
        asked = self.question.words
        if self.text.is_passage or not asked or asked[0].form not in WHO:
            return False
        rest = asked[1 + (asked[0].form in WHICH) :]
        is_list = len(self.expected.parts) > 1
        words = [*self.expected.words, *rest]
        return exchanged(words, self.best, self.language, is_list=is_list)

    @property
    def _unsettled(self) -> str:
        """Say how the answer leaves open whether it means the fact; empty: it does not."""
        if self.text.is_passage:
            return ""
        asked = {word.form for word in self.question.words}
        if longer := longer_name(self.expected.text, self.text.text, asked):
            return f'has "{longer}" behind the name'
        if not self._new_words or self._acronym_words:
            return ""
        whole = [word for words in self.near for word in words]
        wanted = {word.key for word in self.expected.required}
        if not {word.form for word in self.expected.words}.isdisjoint(OR[self.language]):
            return ""
        return unsettled(whole, wanted, self._new_words, self.language) or (
            "names another one first" if is_object(self.best, wanted, self.question.words) else ""
        )

    def _lacks_item(self) -> bool:
        """Whether all of an item of the fact's list is missing."""
        parts, asked = self.expected.parts, self.question.keys
        for part in parts if len(parts) > 1 else ():
            said = [word for word in part if word.tier > SOFT]
            new = [word for word in said if word.key not in asked] or said
            if new and not any(self._has(word) for word in new):
                return True
        return False

    def _decide_long(self, odds: float) -> tuple[State, str]:
        """Decide a long fact by the fitted layer, which weighs what the question does not say."""
        replaced = self._replaced_in(self.expected.words, hard=True) if self.alike else None
        if replaced:
            return "absent", f'has "{replaced[1]}" where "{replaced[0].form}" is expected'
        missing = [word.form for word in self.expected.new if not self._has(word)]
        shown = "lacks " + ", ".join(dict.fromkeys(missing)) if missing else ""
        if odds < 0:
            return ("unsure" if odds >= -_UNSURE_ODDS else "absent"), shown
        replaced = self._replaced_in(self.expected.words, both_sides=True)
        if replaced:
            return "unsure", f'has "{replaced[1]}" where "{replaced[0].form}" is expected'
        return "stated", ""

    def _share(self, words: Sequence[Word], missing: Sequence[Word]) -> float:
        gone = {word.key for word in missing}
        weights = {w.key: WEIGHTS[w.tier or SOFT] * (2 if self._is_hard(w) else 1) for w in words}
        found = sum(weight for key, weight in weights.items() if key not in gone)
        return found / sum(weights.values())

    def _is_hard(self, word: Word) -> bool:
        """Whether only the word itself can say it: a number, code, name, or one of few choices."""
        if word.number or word.exact or word.key in self.rivals:
            return True
        if is_han(word.form):
            return len(self.expected.content) <= SHORT_RUN
        return self.expected.is_name(word)

    # --- presence ------------------------------------------------------------------------

    def _has(self, word: Word) -> bool:
        if word.key in self.known:
            return True
        if word.number or word.key == "percent":
            return self._has_number(word)
        if word.key in SIZES:
            numbers = [one for one, unit in pairwise(self.expected.words) if unit is word]
            return any(
                same_quantity(one, self.expected.words, self.near) for one in numbers if one.number
            )
        around = self.expected.middle_names.get(word.key)
        if around and around in pairwise([one.key for one in self.best]):
            return True
        if word.exact:
            return word.key.startswith("letter") and self._has_letter(word.form)
        if word.form in BOUNDS and self._bound > 0:
            return True
        if word.form[0] > "\u0370" and _has_ending(word.key, self.known):
            return True
        return means(word, self.known, self.language) or self._is_abbreviated(word)

    @cached_property
    def _bound(self) -> int:
        """Whether a number is bounded on the same side as in the fact (1), or on the other (-1)."""
        if not (mine := self.expected.bounds):
            return 0
        theirs = [bounds(words) for words in self.near]
        sides = [side * one[key] for key, side in mine.items() for one in theirs if key in one]
        return max(sides, default=0)

    @property
    def _turns_ratio(self) -> bool:
        """Whether the text has the two numbers of a ratio in the other order alone."""
        if ":" not in self.expected.text or not (ratio := _RATIO.search(self.expected.text)):
            return False
        numbers = [[word.key for word in words if word.number] for words in self.near]
        pairs = {pair for keys in numbers for pair in pairwise(keys)}
        return ratio.groups() not in pairs and ratio.groups()[::-1] in pairs

    def _has_letter(self, letter: str) -> bool:
        """Whether an option is named in lower case: "the answer is b"."""
        ends = rf"(?<![\w'’]){letter}(?=[).:,;]|\s*\Z|\s*\n)"
        return re.search(ends, self.text.text[-_OPTION_CHARS:], re.IGNORECASE) is not None

    def _has_number(self, word: Word) -> bool:
        known, key = self.known, word.key
        if key.startswith("-"):
            return key[1:] in known and not _FALLING.isdisjoint(known)
        shares = {w.key for w in self.expected.words if w.number}
        hundredths = {f"{float(one) / 100:.3g}" for one in shares if PLAIN_NUMBER.fullmatch(one)}
        if key == "percent":
            return not hundredths.isdisjoint(known)
        if not PLAIN_NUMBER.fullmatch(key):
            return False
        if not synonyms().get(key, frozenset()).isdisjoint(known):
            return True  # 12:00, noon
        if same_quantity(word, self.expected.words, self.near):
            return True
        if word.form.endswith("s") and not {f"19{key}", f"20{key}"}.isdisjoint(known):
            return True  # the 90s, the 1990s
        if self._is_counted(word) and not {f"#{key}", _ORDINALS.get(key)}.isdisjoint(known):
            return True  # season two, the second season
        if "percent" in {w.key for w in self.expected.words}:
            return f"{float(key) / 100:.3g}" in known
        return "percent" in known and f"{float(key) * 100:.3g}" in known

    def _is_counted(self, number: Word) -> bool:
        """Whether a number is that of the word before it, which the text has, too."""
        words = self.expected.words
        at = words.index(number) if number in words else 0
        before, after = words[max(0, at - 1) : at], words[at + 1 : at + 2]
        units = [word for word in after if word.key in unit_keys()]
        return not units and any(w.tier and w.key in self.here for w in before)

    def _is_abbreviated(self, word: Word) -> bool:
        """Whether the text writes a word short, or in full what the fact writes short."""
        if self.text.is_passage:
            return False
        for short in _ABBREVIATION.findall(self.text.text):
            if _shortens(short.lower(), word.form):
                return True
        if f"{word.form}." in self.expected.text.lower():
            forms = (
                w.form for sentence in self.text.context.sentences for w in sentence.read.words
            )
            return any(_shortens(word.form, form) for form in forms)
        return word.form in self._acronym_words

    @cached_property
    def _acronym_words(self) -> frozenset[str]:
        """Words of the fact whose initials stand in the text, or the other way round."""
        found = set[str]()
        names = [word for word in self.expected.words if word.tier]
        initials = "".join(word.form[0] for word in names)
        written = {one.lower() for one in _ACRONYM.findall(self.text.text)}
        for short in written:
            for at in (match.start() for match in re.finditer(re.escape(short), initials)):
                found.update(word.form for word in names[at : at + len(short)])
            if short.endswith("a") and initials == short[:-1]:  # United States, USA
                found.update(word.form for word in names)
        words = [w for words in self.near for w in words if w.tier]
        line = "".join(word.form[0] for word in words)
        shorts = (one.lower() for one in _ACRONYM.findall(self.expected.text))
        found.update(one for one in shorts if len(one) >= 3 and one in line)
        return frozenset(found)

    @cached_property
    def _new_words(self) -> frozenset[str]:
        """Content words of the best sentence for which fact and question have no word."""
        words = (*self.expected.words, *self.question.words)
        known = {word.key for word in words}
        short = [word.form for word in words if f"{word.form}." in self.expected.text.lower()]
        new = [
            word
            for word in self.best
            if word.tier >= LIGHT
            and word.key not in known
            and word.form not in TITLES
            and not any(_shortens(form, word.form) for form in short)
        ]
        return frozenset(word.key for word in new if not means(word, known, self.language))

    # --- contradiction -------------------------------------------------------------------

    def _contradiction(self, missing: Sequence[Word]) -> tuple[State, str] | None:
        why = ""
        if unit := self._other_unit:
            why = f"has {unit}"
        elif rival := self._rival():
            why = rival
        elif self._bound < 0:
            why = "has the other bound of a number"
        elif self._turns_ratio:
            why = "has a ratio the other way round"
        elif not missing and self.exchanged:
            why = "has the two sides the other way round"
        if why:
            self.contradicted = True
            return "absent", why
        if self.text.is_passage and self._scattered:
            return "absent", "has its numbers apart from what they count"
        return self._negation(missing)

    @property
    def _other_unit(self) -> str:
        words = self.expected.words
        return other_unit(words, self.near) if any(word.number for word in words) else ""

    @property
    def _scattered(self) -> bool:
        """Whether a passage has the numbers of a fact, and none beside what they count.

        Many passages have 30 and days, and few 30 days.
        """
        support, expected = self.support, self.expected
        if support is None or support.pairs or expected.line in self.text.line:
            return False
        return any(word.number for word in expected.words)

    @cached_property
    def alike(self) -> bool:
        """Whether the best sentence says much the same as the fact, and little else."""
        return alike(self.expected.words, self.best)

    @cached_property
    def exchanged(self) -> bool:
        """Whether the two sides of what the fact relates stand the other way round."""
        expected = self.expected
        if expected.is_statement and not self.alike:
            return False
        is_list = len(expected.parts) > 1 and not expected.is_statement
        return exchanged(expected.words, self.best, self.language, is_list=is_list)

    def _rival(self) -> str:
        """Find one of several that exclude each other where the fact has another one."""
        mine = {word.key for word in self.expected.words}
        for word in self.expected.words:
            others = self.rivals.get(word.key)
            if not others or word.key in self.here or (word.tier and self._has(word)):
                continue
            others = others & self.here - mine
            if word.key not in self.question.keys:
                others -= self.question.keys
            if others and not self.exchanged:
                return f'has "{min(others)}" where "{word.form}" is expected'
        return ""

    def _negation(self, missing: Sequence[Word]) -> tuple[State, str] | None:
        """Compare how often fact and text negate, an opposite counted as a negation."""
        expected = self.expected
        if expected.says and self.text.says == expected.says:
            return None
        flips = sum(
            word.key not in self.known
            and any(one in self.known for one in opposites(word, self.language))
            for word in expected.words
            if word.tier and not word.negates
        )
        mine = sum(word.negates for word in expected.words)
        theirs = self._denials
        if expected.is_statement and self._othernegated():
            return "absent", "negates something else"
        if self.question.language != "en":  # "no falta ninguno" negates once
            mine, theirs = min(mine, 1), min(theirs, 1)
        if flips < 2 and (mine + theirs + flips) % 2 == 0:
            return None
        if self.text.says == "no" and mine % 2 and not expected.says:
            return None
        reason = "negates it" if theirs % 2 else "does not negate it"
        if any(word.tier == FULL for word in missing):
            return None if self.expected.is_statement else ("unsure", reason)
        return "absent", reason

    def _othernegated(self) -> bool:
        """Whether fact and text each negate one thing that the other one affirms."""
        mine, theirs = (negated(words) for words in (self.expected.words, self.best))
        both = {word.key for word in self.expected.words} & self.here
        return bool(mine - theirs & both) and bool(theirs - mine & both) and mine | theirs <= both

    @property
    def _denials(self) -> int:
        """Number of negations in the best sentence that concern fact or question."""
        words = self.best
        if not any(word.negates for word in words):
            return 0
        # A bare yes or no is about what the question is about.
        required = self.expected.required or [w for w in self.question.words if w.tier >= LIGHT]
        mine = {key for word in required for key in (word.key, *opposites(word, self.language))}
        about = self.expected.claim.keys | self.question.keys
        asked = negated(self.question.words)
        count = 0
        for at, word in enumerate(words):
            if not word.negates:
                continue
            negates = target(words, at)
            if negates is None or negates.tier == SOFT or negates.key in mine:
                count += negates is None or negates.key in mine or negates.key not in asked
            elif negates.key not in asked and (
                negates.key in about or means(negates, about, self.language)
            ):
                # In a title or another clause it negates something else.
                follows = any(one.tier >= SOFT for one in words[at + 1 : at + 1 + REACH])
                reach = words[at : at + 2 * REACH] if follows else words[:at]
                count += any(near.key in mine for near in reach)
        return count

    def _polarity(self) -> tuple[State, str]:
        """Decide a yes or no: by that of the text, or by whether it negates the question."""
        expected, text = self.expected, self.text
        if expected.says and text.says == expected.says:
            return "stated", ""
        if not expected.words:
            return "absent", ""
        negated = sum(word.negates for word in expected.words) % 2 == 1
        asks_negated = any(word.negates for word in self.question.words)
        wanted = expected.says or (YES[negated == asks_negated])
        if text.says:
            return ("stated", "") if text.says == wanted else ("absent", f'says "{text.says}"')
        asked = [word for word in self.question.words if word.tier >= LIGHT]
        if not asked or sum(w.key in self.known for w in asked) < _UNSURE_SHARE * len(asked):
            return "unsure", "says neither yes nor no"
        says = YES[(self._denials % 2 == 1) == asks_negated]
        return ("stated", "") if says == wanted else ("absent", f"says {says}")

    # --- another thing -------------------------------------------------------------------

    def _replaced(self, missing: Sequence[Word]) -> str:
        """Find a word of fact or question in whose place the best sentence has another one."""
        texts: list[Sequence[Word]] = [self.expected.words]
        if self.expected.new is not self.expected.required and not self._is_row:
            texts.append(self.question.words)
        for words in texts:
            if found := self._replaced_in(words):
                return f'has "{found[1]}" where "{found[0].form}" is asked for'
        return ""

    @property
    def _is_row(self) -> bool:
        """Whether the text gives a row of a table, whose headings a question need not have."""
        return _ROW.search(self.text.text[:_ROW_CHARS]) is not None

    def _replaced_in(
        self, words: Sequence[Word], *, hard: bool = False, both_sides: bool = False
    ) -> tuple[Word, str] | None:
        if self.text.is_passage or not self._new_words:
            return None
        content = [word for word in words if word.tier >= LIGHT]
        for at, word in enumerate(content):
            if word.tier < FULL or word.key in self.question.asked or self._has(word):
                continue
            if _is_verb_form(word) or (hard and not self._is_hard(word)):
                continue
            if is_han(word.form) and words is not self.expected.words:
                continue  # a character of a question is no word
            if other := self._in_place_of(content, at, both_sides=both_sides):
                return word, other
        return None

    def _in_place_of(self, content: Sequence[Word], at: int, *, both_sides: bool) -> str:
        after_be = {word for be, word in pairwise(self.best) if be.form in _BE}
        here = [word for word in self.best if word.tier >= LIGHT]
        keys = [word.key for word in here]
        before = next((w.key for w in reversed(content[:at]) if w.key in self.here), None)
        after = next((w.key for w in content[at + 1 :] if w.key in self.here), None)
        inverts = self.question.language != "en"  # questions put the verb before the subject
        for i, word in enumerate(here):
            if word.key not in self._new_words or word.tier < FULL or word.form.endswith("ed"):
                continue
            if word.form[:_SAME_ROOT] == content[at].form[:_SAME_ROOT]:
                continue  # chairs, chairwoman
            if word in after_be and word.form in IRREGULAR:
                continue  # which are sold
            left, right = keys[i - 1] if i else None, keys[i + 1] if i + 1 < len(keys) else None
            sides = bool(before) and left == before, bool(after) and right == after
            if all(sides) if both_sides else any(sides):
                return word.form
            if both_sides:
                continue
            if inverts and ((before and right == before) or (after and left == after)):
                return word.form
        return ""

    def _other_subject(self, missing: Sequence[Word]) -> str:
        """Find a subject of the best sentence of which neither fact nor question speaks."""
        asked = [
            word
            for word in self.question.words
            if word.tier == FULL and word.key not in self.question.asked
        ]
        several = len(self.text.context.sentences) > 1
        if several or self.text.is_passage or any(self._has(word) for word in asked or self.best):
            return ""
        if self._is_row:
            return ""
        subject = next((word for word in self.best if word.tier >= LIGHT), None)
        if subject is None or subject.key not in self._new_words or subject is self.best[0]:
            return ""
        return f'is about "{subject.form}"'


def _is_verb_form(word: Word) -> bool:
    """Whether a word looks like a past form: questions and answers have other verbs."""
    return word.form.endswith("ed") or word.form in IRREGULAR


def _dates(text: str) -> list[set[str]]:
    """Return what dates may mean that have day and month in figures, in an order unknown."""
    return [
        {word.key for word in read_words(f"2000-{int(month):02}-{int(day):02} {year}")} - {"2000"}
        for one, two, year in _FIGURES.findall(text[:_OPTION_CHARS])
        for day, month in ((one, two), (two, one))
    ]


def _has_ending(key: str, known: Set[str]) -> bool:
    """Whether a text has a word of Russian or Korean, of which the stems are not known."""
    if "\u1100" <= key[0] <= "\u11ff":  # a syllable is two or three letters here
        return len(key) > _LETTERS and any(one.startswith(key) for one in known)
    if not "\u0400" <= key[0] <= "\u04ff":
        return False
    stem = key.rstrip(_VOWELS)
    tails = (one[len(stem) :] for one in known if one.startswith(stem))
    return len(stem) >= _LETTERS and any(_CASE_ENDING.fullmatch(tail) for tail in tails)


def _shortens(short: str, form: str) -> bool:
    letters = iter(form)
    return len(short) < len(form) and short[0] == form[0] and all(one in letters for one in short)


def _all_keys(index: ContextIndex) -> frozenset[str]:
    return frozenset(w.key for sentence in index.sentences for w in sentence.read.words)
