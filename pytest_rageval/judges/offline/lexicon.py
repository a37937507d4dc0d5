"""Words of a text as the offline judge compares them. Pure.

A word's key is its stem (Snowball, after a table of irregular forms), a number's key its value in
any notation: ``1,000``, ``1 000`` and "one thousand", "two" and ``2``, ``II`` and ``2``, ``2:30
pm`` and ``14:30``; ``3rd`` and "third" are ``#3``. An address, a path, a code such as ``E7`` and a
single capital letter are words that nothing else equals. Scripts without spaces are taken character
by character.
"""

from __future__ import annotations

import re
import sys
import threading
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final, NamedTuple

from pytest_rageval.judges.offline.vocabulary import (
    ABBREVIATED_UNITS,
    ABSOLUTES,
    AFTERNOON,
    CORE_WORDS,
    DAYTIMES,
    ENGLISH,
    EXCLUSIVE,
    HALVES,
    IRREGULAR,
    LANGUAGES,
    LIGHT_WORDS,
    NEGATIONS,
    NUMERALS,
    ROMAN,
    SCALES,
    SELF_TALK,
    SOFT_WORDS,
    SPOKEN_TIMES,
    SYNONYMS,
    UNITS,
)
from pytest_rageval.metrics.matching import INVISIBLE

CORE: Final = 0
SOFT: Final = 1
LIGHT: Final = 2
FULL: Final = 3

_NUMBER: Final = (
    r"(?<![\w.])-?\d+(?:[,'’]\d{3})*(?:\.\d+)?(?::\d\d)?(?:(?:st|nd|rd|th|s)(?![^\W\d_]))?"
    r"|\d+(?:[,'’]\d{3})*(?:\.\d+)?"
)
_ASCII: Final = re.compile(rf"[A-Za-z][A-Za-z']*|{_NUMBER}|%")
_BLOCKS: Final = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff"
_INVISIBLE: Final = re.compile(f"[{''.join(map(chr, INVISIBLE))}]")
_TABLE: Final = str.maketrans({"−": "-", "\u00a0": " ", "\u202f": " ", "\u2009": " ", "’": "'"})
_MONTHS: Final = (
    "January February March April May June July August September October November December"
).split()
_DAYS: Final = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_LONGEST: Final = 64
_LONGEST_SCALED: Final = 12
_SAMPLE: Final = 2_000
"""Characters by which a language is recognised."""

_EXACT: Final = re.compile(
    r"""(
      (?:https?://|www\.)[^\s<>"'`|\])}]{0,300}[\w/]
    | (?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}
    | (?<![\w./~-])[\w~.-]{0,64}/(?:[\w.-]{1,64}/){0,9}[\w-]{1,64}\.[A-Za-z]\w{0,7}\b
    | (?<![\w.@/-])[A-Za-z_][\w-]{1,64}(?:\.[\w-]{1,64}){0,3}\.[a-z][a-z0-9]{0,6}\b(?![.'’]?\w)
    | (?<!\w)\d+(?:\.\d+){2,5}(?!\w)
    | (?<!\w)[A-Za-z](?:\+\+|\#)(?!\w)
    | (?<![\w'’])(?=[A-Za-z]{0,9}\d)(?=\d{0,9}[A-Za-z])
      (?:[A-Z\d]|[a-z]{1,3}(?![a-z])){2,24}(?![\w'’])
    )""",
    re.VERBOSE | re.ASCII,
)
"""Token that must be there as it is: an address, path, file, version of three parts, or code."""
_MAY_BE_EXACT: Final = re.compile(r"[@/#+.]\w|[#+]|\d[A-Za-z]|(?<=[A-Za-z])\d")
_ORDINAL_OR_SO: Final = {
    code: re.compile(rf"\d+(?:st|nd|rd|th|s{ends})", re.IGNORECASE)
    for code, ends in {
        "en": "", "de": "", "fr": "|e|er|re", "es": "|o|a|er", "it": "|o|a", "pt": "|o|a",
        "nl": "|e",
    }.items()
}  # fmt: skip
"""A number of an order or of years, and no code: 4o is the fourth in Spanish, else a model."""

_SPELLED: Final = {
    code: re.compile(rf"\b(?:{words})", re.IGNORECASE)
    for code, words in {
        "en": "two|three|fou?r|five|fif|six|seven|eigh|nine|ten|eleven|twel|twen|thir|hundred"
        "|thousand|million|billion|half|halves|quarter|(?:an?|one) (?:third|fourth|fifth|tenth)",
        "de": "zw|drei|vier|f[üu]nf|sech|sieb|acht|neun|zehn|elf|hundert|tausend|million|halb"
        "|ein(?:und|hundert|tausend)",
        "fr": "deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|treize|quatorze|quinze"
        "|seize|vingt|trente|soixante|cent|mille|million",
        "es": "dos|tres|cuatr|cinc|seis|siete|och|nuev|die[zc]|once|doce|trece|catorce|quince"
        "|vein|treinta|cuarenta|sesenta|setenta|noventa|cien|mil",
        "it": "due|tre|quattr|cinqu|sei|sette|settanta|sess|otto|ottanta|nov|dieci|undici|dodici"
        "|dici|sedici|vent|quaranta|cent|mille|mila|milion",
        "pt": "dois|duas|tr[eê]s|quatr|cinc|cinqu|seis|sess|sete|oit|nov|dez|onze|doze|treze"
        "|catorze|quinze|vint|trinta|quarenta|cem|cent|mil",
        "nl": "twee|drie|vier|vijf|zes|zeven|acht|negen|tien|elf|twaalf|twintig|dertig|veertig"
        "|tachtig|honderd|duizend|miljoen|half|een(?:en|honderd)",
    }.items()
}
"""Beginnings of spelled numbers, by language."""
_MANY: Final = 20_000
"""Characters of a text up to which spelled numbers are read in one piece."""


def _any_of(words: Iterable[str]) -> str:
    """Return a pattern of some words, of which the longest comes first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_SCALED: Final = re.compile(
    rf"(?<![\w.,])(-?\d[\d,]*(?:\.\d+)?)[ -]({_any_of(SCALES)})\b",
    re.IGNORECASE,
)
_ISO_DATE: Final = re.compile(
    r"\b(?P<year>\d{4})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])(?!\d)"
)
_DOTTED_DATE: Final = re.compile(
    r"(?<![\d.])(?P<day>0?[1-9]|[12]\d|3[01])\.(?P<month>0?[1-9]|1[0-2])\.(?P<year>\d{4})(?!\d|\.\d)"
)
_SLASHED_DATE: Final = re.compile(
    r"(?<![\d/.])(0?[1-9]|[12]\d|3[01])/(0?[1-9]|[12]\d|3[01])/(\d{4})(?![\d/])"
)
_GERMAN_DAY: Final = re.compile(
    r"(?<![\d.])(?P<day>0?[1-9]|[12]\d|3[01])\.\s?(?P<month>0?[1-9]|1[0-2])\.(?!\d)"
)
_ORDINAL: Final = re.compile(r"\d(?:st|nd|rd|th)\b")
_MONTH: Final = f"(?:{'|'.join(_MONTHS)}|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
_DAY: Final = re.compile(
    rf"(?P<month>\b{_MONTH}\.? )?(?P<day>\b\d\d?)(?:st|nd|rd|th)\b"
    rf"(?(month)|(?= (?:of )?{_MONTH}\b))"
)
_CLOCK: Final = re.compile(
    r"(?<![\d.:,])(?P<hour>[01]?\d|2[0-3])(?:[:.](?P<minute>[0-5]\d))?"
    r"(?:\s?(?P<half>[ap])\.?m\b\.?|\s(?:o'clock|Uhr)\b)(?![\w:])"
    r"|(?<![\d.:,])(?P<hour24>[01]?\d|2[0-4]):(?P<minute24>[0-5]\d)(?::00)?(?![\d:])",
    re.IGNORECASE,
)
_HAS_CLOCK: Final = re.compile(r"\d(?::\d\d|(?:[:.]\d\d)?\s?(?:[ap]\.?m|o'clock|uhr)\b)", re.I)
_FRENCH_CLOCK: Final = re.compile(r"(?<![\d.,])([01]?\d|2[0-3]) ?h ?([0-5]\d)(?!\w)")
_HAN_CLOCK: Final = re.compile(
    r"(午前|午後|上午|早上|下午|晚上|夜)?(\d{1,2})(?:時(?!間)|[点點](?!\d))(?:(\d{1,2})分|(半))?"
)
_DIGIT: Final = re.compile(r"\d")
_MINUS: Final = re.compile(r"\bminus (?=\d|[a-z]+ty\b|ten\b)", re.IGNORECASE)
_DIVIDED: Final = re.compile(
    r"(?<![\w/.,])(?:(\d{1,4}) (?=1/2|[1-3]/4|[12]/3))?([1-9])/([2-9]|10)(?![\w/.,]\d|\w|/)"
)
_MIXED: Final = re.compile(r"(?<![\w.,])(\d{1,4}) ?([½⅓⅔¼¾⅕⅛])")
_PER_CENT: Final = re.compile(r"\bper cent\b", re.IGNORECASE)
_THOUSANDS: Final = re.compile(r"(?<![\d.,-])([1-9]\d{0,2})((?: \d{3})+)(?![\d]|[.,]\d{3})")
_DOT_THOUSANDS: Final = re.compile(r"(?<![\d.,])([1-9]\d{0,2})((?:\.\d{3})+)(?![\d.]\d|\d)")
_DECIMAL_COMMA: Final = re.compile(r"(?<![\d.,])(\d+),(\d+)(?![\d,]|\.\d)")
_SHORT_DECIMAL: Final = re.compile(r"(?<![\d.,])(\d+),(\d{1,2})(?![\d,]|\.\d)")
_GLUED: Final = re.compile(
    rf"(?<![^\W\d_])(\d)\s?({_any_of(ABBREVIATED_UNITS)})"
    r"(?![\w²³]|/)",
    re.IGNORECASE,
)
_HAN_GLUED: Final = re.compile(r"(\d) ?(公里|キロ|米|メートル|小时|時間|分钟|天|日間)")
_HYPHENED: Final = re.compile(r"(?<=\d)-(?=[^\W\d_]{3})")
_PER: Final = re.compile(
    r"/(?=(?:min|mins|minutes?|h|hrs?|hours?|s|sec|seconds?|days?|weeks?|months?|mo|years?|yr"
    r"|users?|persons?|night)\b)"
)
_PER_UNIT: Final = re.compile(r"\bper (min|h|hr|s|sec|mo|yr)\b")
_CURRENCY: Final = re.compile(
    r"(?<!\w)(?:US|A|C)?([€£¥]|R?\$) ?"
    r"(-?\d+(?:[.,']\d+)*(?:[kKM](?!\w))?(?: (?:million|billion|thousand)\b)?)"
)
_FRACTION: Final = re.compile(
    r"\b(?:(an?|one)|(two|three|\d)) (half|halves|thirds?|quarters?|fourths?|fifths?|tenths?)\b"
    r"(?(1)(?= of\b|\s*(?:[.,;!?]|\Z)))",
    re.IGNORECASE,
)
_FRACTIONS: Final = {"h": 2, "t": 3, "q": 4, "fo": 4, "fi": 5, "te": 10}
_KILO: Final = re.compile(r"(?<![\w.,])(-?\d+(?:\.\d+)?)([kKM]|[eE][1-9]\d?)(?![\w'])")
_VERSION: Final = re.compile(r"(?<!\w)[vV](?=\d)")
_PREFIX: Final = re.compile(r"\b(e|wi)-(?=[a-z])", re.IGNORECASE)
_ARTICLE: Final = re.compile(
    r"(?:(?<=[.!?:\n\"“(|*-])|\A)(\s*)A(?= (?!is\b|was\b|or\b|and\b|applies\b|are\b)[^\W\d_A-Z])"
)
_OPTION: Final = re.compile(r"(?<!\w)\(?([a-h])\)(?!\w)")
_INITIAL: Final = re.compile(r"\b([A-Z])\.(?= ?[A-Z]|,)|(?<=\b[A-Z]\.)([A-Z])\.")
_NO: Final = re.compile(
    r"(?:\W*\w+:)?\W*(?:no|none|not at all|nein|non|nee|não|nao|没有|不是|いいえ)"
    r"(?:[,，;:!]|\s*[–—]|\s+-\s|\.(?!\s*\d))",
    re.IGNORECASE,
)
"""The "No" that answers a question, as in "No, entry is free": it negates no word of it."""
_OUT_OF: Final = re.compile(r"\b(is|are|was|were|be|been) out of\b", re.IGNORECASE)
_FAILS: Final = re.compile(r"\b(?:fail(?:s|ed)? to|no longer)\b", re.IGNORECASE)
_IMPOSSIBLE: Final = re.compile(r"\b(?:im|un|on)(?=poss?[ií]|m[öo]glich|mogelijk)", re.IGNORECASE)
_FREE_OF: Final = re.compile(r"\b([a-z]{3,})-free\b", re.IGNORECASE)
_VERSION_WORDS: Final = frozenset({"version", "release", "v"})
_HAN: Final = re.compile("[\u3040-\u9fff]")
_KANJI_NUMBER: Final = re.compile(
    r"[一二三四五六七八九十百千万两]+(?=[年月日人時時间間個个歳岁週周階楼本枚回分秒円元点%倍])"
    r"|[二三四五六七八九]?十[一二三四五六七八九]|[二三四五六七八九]十"
)
_KANJI_NEGATION: Final = re.compile(r"ません|ない|なかった|なく|ずに")
_KANJI_DIGITS: Final = {c: n for n, c in enumerate("一二三四五六七八九", start=1)} | {"两": 2}
_KANJI_SCALES: Final = {"十": 10, "百": 100, "千": 1_000, "万": 10_000}


PLAIN_NUMBER: Final = re.compile(r"\d{1,6}(?:\.\d{1,6})?")
"""Key of a number that is counted with."""


Replacement = str | Callable[[re.Match[str]], str]


class Word(NamedTuple):
    """Meaning of a token, independent of context."""

    form: str
    """Lower case, without accents."""
    key: str
    """Comparison key: stem, or value of a number."""
    tier: int
    """``CORE``, ``SOFT``, ``LIGHT`` or ``FULL``: weight of a match."""
    number: bool = False
    negates: bool = False
    absolute: bool = False
    """Claims without exception: only, always, never."""
    self_talk: bool = False
    """The answer speaks of itself: I, my."""
    capital: bool = False
    exact: bool = False
    """An address, path, code or single letter, which nothing but itself equals."""


def language_of(text: str, *others: str) -> str:
    """Return the language of some texts, of which the first says most: ``en``, or another code.

    The language with the most of its small words and letters; English without any. The others
    are keys of ``LANGUAGES``.
    """
    counts = dict.fromkeys(("en", *LANGUAGES), 0.0)
    for part in (text, text, text, *others):
        for code, count in _signs_of_languages(part[:_SAMPLE]).items():
            counts[code] += count
    return max(counts, key=counts.__getitem__)


@lru_cache(maxsize=256)  # the texts of a case, and passages that questions of a run share
def _signs_of_languages(text: str) -> Mapping[str, float]:
    """Count the small words and letters of each language in a text."""
    start = text.casefold()
    counts: defaultdict[str, float] = defaultdict(float)
    for word in re.findall(r"[^\W\d_]+", _bare(start)):
        codes = _languages_with().get(word, ())
        for code in codes:
            counts[code] += 1 / len(codes)
    if not start.isascii():
        for code, table in LANGUAGES.items():
            counts[code] += sum(letter in start for letter in table.letters)
    return counts


@cache
def _languages_with() -> dict[str, list[str]]:
    """Return the languages of each small word."""
    found: dict[str, list[str]] = {}
    for code, words in (("en", ENGLISH), *((c, t.words) for c, t in LANGUAGES.items())):
        for word in words:
            found.setdefault(word, []).append(code)
    return found


def read_words(text: str, language: str = "en") -> list[Word]:
    """Return the words of a text in order; a number and its scale (``3 million``) are one.

    Args:
        text: any text, without markup.
        language: ``en`` or a key of ``LANGUAGES``; it decides how numbers are written.
    """
    text = normal_text(text, language)
    words: list[Word] = []
    pieces = _EXACT.split(text) if _MAY_BE_EXACT.search(text) else [text]
    for at, piece in enumerate(pieces):
        if at % 2 and not _ORDINAL_OR_SO[language].fullmatch(piece):
            words.append(Word(form := piece.casefold().rstrip("/"), form, FULL, exact=True))
        elif piece:
            pattern = _ASCII if piece.isascii() else _any()
            words += [read_word(token, language) for token in pattern.findall(piece)]
    if found := _NO.match(text):
        for at in range(
            len(_any().findall(found[0]))
            if not text.isascii()
            else len(re.findall(r"\w+", found[0]))
        ):
            words[at] = words[at]._replace(negates=False)
    return words if "." not in text else list(_versions(words))


def normal_text(text: str, language: str = "en") -> str:
    """Return a text with its numbers, dates, times and units in one spelling each."""
    text = text.translate(_TABLE)
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
        text = _MIXED.sub(_mixed, text)
        if _HAN.search(text):
            text = _HAN_CLOCK.sub(_han_clock, _KANJI_NUMBER.sub(_kanji_number, text))
            text = _KANJI_NEGATION.sub("不", text.replace("星期", "周").replace("礼拜", "周"))
    for sign, pattern, replacement in _SPELLINGS:  # a search of a sign is faster than a pattern
        if sign in text:
            text = pattern.sub(replacement, text)
    if len(text) == 1:
        return text.upper()
    if _DIGIT.search(text) or _SPELLED[language].search(text):
        text = _normal_numbers(text, language)
    return text


def _normal_numbers(text: str, language: str) -> str:
    text = _spell_dates(text, language)
    if language != "en":
        text = _DECIMAL_COMMA.sub(r"\1.\2", _DOT_THOUSANDS.sub(_join_groups, text))
        text = _FRENCH_CLOCK.sub(r"\1:\2", text)
        text = re.sub(rf"\b{LANGUAGES[language].minus} (?=\d)", "-", text, flags=re.IGNORECASE)
    text = _THOUSANDS.sub(_join_groups, text)
    for sign, pattern, replacement in _NOTATIONS:
        if sign in text:
            text = pattern.sub(replacement, text)
    if _SPELLED[language].search(text):
        text = _SCALED.sub(_scale, _FRACTION.sub(_fraction, text))
        text = "".join(_digits(piece, language) for piece in _pieces(text))
        text = _SCALED.sub(_scale, text)
        for form, minutes in _spoken_times(language):
            text = form.sub(partial(_spoken_time, minutes), text)
    if _ORDINAL.search(text):
        text = _DAY.sub(r"\g<month>\g<day>", text)
    if _HAS_CLOCK.search(text):
        text = _CLOCK.sub(_clock, text)
    text = _GLUED.sub(_unit, _KILO.sub(_scale_letter, text))
    if not text.isascii():
        text = _HAN_GLUED.sub(_unit, text)
    return _HYPHENED.sub(" ", _PER_UNIT.sub(_per_unit, text))


def _spell_dates(text: str, language: str) -> str:
    if "." in text:
        text = _DOTTED_DATE.sub(_spell_date, text)
        if language == "de":
            text = _GERMAN_DAY.sub(_spell_date, text)
    return _SLASHED_DATE.sub(partial(_slashed_date, language), text) if "/" in text else text


def _unit(match: re.Match[str]) -> str:
    return f"{match[1]} {UNITS[match[2].lower()]} "


def _per_unit(match: re.Match[str]) -> str:
    return f"per {UNITS[match[1]]}"


def _currency(match: re.Match[str]) -> str:
    return f"{match[2]} {UNITS[match[1].lower()]}"


def _divided(match: re.Match[str]) -> str:
    return _plain_number(int(match[1] or 0) + float(f"{int(match[2]) / int(match[3]):.3g}"))


def _mixed(match: re.Match[str]) -> str:
    return f"{int(match[1]) + unicodedata.numeric(match[2]):g}"


def _pieces(text: str) -> Iterator[str]:
    for at in range(0, len(text), _MANY):
        yield text[at : at + _MANY]


def _digits(text: str, language: str) -> str:
    """Return a text with spelled numbers as digits."""
    from text_to_num import alpha2digit

    return str(alpha2digit(text, language, threshold=2))


def _fraction(match: re.Match[str]) -> str:
    count = {"two": 2, "three": 3}.get(
        (match[2] or "").lower(), int(match[2]) if (match[2] or "").isdigit() else 1
    )
    name = match[3].lower()
    parts = _FRACTIONS.get(name[:2]) or _FRACTIONS[name[0]]
    return f"{count / parts:.3g}"


@cache
def _spoken_times(language: str) -> tuple[tuple[re.Pattern[str], int], ...]:
    hour = r"(?P<hour>1[0-2]|[1-9])(?![\d:.,])"
    return tuple(
        (re.compile(rf"\b{form.format(h=hour)}(?P<late>{AFTERNOON})?", re.IGNORECASE), minutes)
        for form, minutes in SPOKEN_TIMES[language]
    )


def _spoken_time(minutes: int, match: re.Match[str]) -> str:
    hour = int(match["hour"]) + (12 if match["late"] and match["hour"] != "12" else 0)
    at = hour * 60 + minutes
    return f"{at // 60}:{at % 60:02}"


def _join_groups(match: re.Match[str]) -> str:
    return match[1] + re.sub(r"\D", "", match[2])


def _scale(match: re.Match[str]) -> str:
    if len(match[1]) > _LONGEST_SCALED:
        return match[0]
    return _plain_number(float(match[1].replace(",", "")) * SCALES[match[2].lower()])


def _scale_letter(match: re.Match[str]) -> str:
    scale = {"k": 1e3, "K": 1e3, "M": 1e6}.get(match[2]) or float(f"1{match[2]}")
    return _plain_number(float(match[1]) * scale)


def _plain_number(value: float) -> str:
    return f"{value:.0f}" if value.is_integer() else f"{value:g}"


def _clock(match: re.Match[str]) -> str:
    """Return a time of day with 24 hours; a full hour as its number."""
    hour = int(match["hour"] or match["hour24"]) % 24
    minute = match["minute"] or match["minute24"]
    if match["half"] and hour <= 12:
        hour = hour % 12 + (12 if match["half"].lower() == "p" else 0)
    return f"{hour}:{minute}" if minute and minute != "00" else str(hour)


def _han_clock(match: re.Match[str]) -> str:
    late = match[1] in {"午後", "下午", "晚上", "夜"}
    hour = int(match[2]) + (12 if late and int(match[2]) < 12 else 0)
    minute = "30" if match[4] else f"{int(match[3]):02}" if match[3] else "00"
    return f" {hour}:{minute} "


def _kanji_number(match: re.Match[str]) -> str:
    total = part = 0
    for character in match[0]:
        if digit := _KANJI_DIGITS.get(character):
            part = digit
        elif (scale := _KANJI_SCALES[character]) == 10_000:
            total, part = (total + part or 1) * scale, 0
        else:
            total, part = total + (part or 1) * scale, 0
    return str(total + part)


def _spell_date(match: re.Match[str]) -> str:
    year = match.groupdict().get("year", "")
    return f"{int(match['day'])} {_MONTHS[int(match['month']) - 1]} {year}"


def _slashed_date(language: str, match: re.Match[str]) -> str:
    """Return a date with its month by name; as it is, if day and month cannot be told apart."""
    day, month = int(match[1]), int(match[2])
    if month > 12:
        day, month = month, day
    elif language == "en" and day <= 12 and day != month:
        return match[0]
    return f"{day} {_MONTHS[month - 1]} {match[3]}" if month <= 12 else match[0]


def _versions(words: list[Word]) -> Iterator[Word]:
    """Keep the last zeros of versions: 3.10 is not 3.1 after "version"."""
    before = ""
    for word in words:
        if word.number and before in _VERSION_WORDS and word.form.count(".") == 1:
            yield word._replace(key=word.form)
        else:
            yield word
        before = word.form


@cache
def _any() -> re.Pattern[str]:
    """Return what finds the tokens of any text; it takes 10 ms to make."""
    marks = "".join(chr(c) for c in range(0x300, 0x1B00) if unicodedata.category(chr(c))[0] == "M")
    letters = rf"(?:[^\W\d_{_BLOCKS}]++[{marks}]*+)++"
    return re.compile(rf"{letters}(?:['’]{letters})*+|[{_BLOCKS}]|{_NUMBER}|[%½¼¾]")


@lru_cache(maxsize=1 << 16)
def read_word(token: str, language: str = "en") -> Word:
    """Return the meaning of one token as written."""
    if len(token) == 1 and unicodedata.category(token) == "No":
        # Decomposed, a half would be the digits 1 and 2.
        return _number(f"{unicodedata.numeric(token):g}")
    form = _bare(token[:_LONGEST].casefold().replace("’", "'").rstrip("'"))
    if form[:1].isdigit() or (form[:1] == "-" and len(form) > 1):
        return _number(form)
    if token in ROMAN:  # in capitals only: "vi" is an editor
        return Word(form, ROMAN[token], FULL, number=True)
    if len(token) == 1 and token.isascii() and token.isupper() and form != "i":
        return Word(form, f"letter {form}", FULL, exact=True)
    if len(form) == 1 and form.isascii() and form.isalpha() and not token.isupper():
        return Word(form, form, CORE, self_talk=form in SELF_TALK)
    if language != "en":
        form = form.partition("'")[2] or form
        if found := _foreign(form, token, language):
            return found
    if unit := units().get(form):
        return Word(form, unit, LIGHT if unit in {"day", "year"} else FULL)
    base = form.removesuffix("'s")
    if base in HALVES or base in NUMERALS:
        return Word(form, NUMERALS.get(base, "0.5"), FULL, number=True)
    stem = _stem(base, language)
    contracted = form.endswith("n't")
    return Word(
        form,
        "percent" if form == "%" else stem,
        _tier(base, stem, contracted=contracted),
        negates=contracted
        or form in NEGATIONS
        or stem in negation_keys()
        or form in "不未没沒无無非",
        absolute=form in ABSOLUTES,
        self_talk=form in SELF_TALK,
        capital=token[0].isupper(),
    )


def _foreign(form: str, token: str, language: str) -> Word | None:
    """Return a small word, month or day of another language than English; None: another one."""
    table = LANGUAGES[language]
    if daytime := DAYTIMES.get(form):
        return read_word(daytime)._replace(form=form)
    if language == "de" and form == "null":
        return Word(form, "0", FULL, number=True)
    for names, english in ((table.months, _MONTHS), (table.days, _DAYS)):
        for name, meant in zip(names, english, strict=True):
            if form in {name, f"{name}s", f"{name[:-1]}i"}:
                return read_word(meant)._replace(form=form)
    if form in table.words or form in table.negations or form in table.soft:
        tier = SOFT if form in table.soft else CORE
        negates = form in table.negations
        return Word(form, form, tier, negates=negates, capital=token[0].isupper())
    return None


def _bare(text: str) -> str:
    """Remove accents."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKD", text).replace("ß", "ss").translate(_MARKS)


class _Marks(dict[int, int | None]):
    """Table by which ``str.translate`` removes combining marks, filled as needed."""

    def __missing__(self, code: int) -> int | None:
        self[code] = None if unicodedata.combining(chr(code)) else code
        return self[code]


_MARKS: Final = _Marks()


def _number(form: str) -> Word:
    ordinal = form.endswith(("st", "nd", "rd", "th"))
    value = re.sub(r"[^\d.:-]", "", form)
    if not value.isascii():
        value = "".join(c if c in ".:-" else str(int(c)) for c in value)
    sign, value = ("-", value[1:]) if value.startswith("-") else ("", value)
    if "." in value and ":" not in value:
        value = value.rstrip("0").rstrip(".")
    value = value.lstrip("0") or "0"
    value = "0" + value if value.startswith((".", ":")) else value
    if ordinal and value in {"1", "2"}:
        return Word(form, "first" if value == "1" else "second", LIGHT)
    return Word(form, f"#{value}" if ordinal else sign + value, FULL, number=True)


def _tier(base: str, stem: str, *, contracted: bool) -> int:
    if base in CORE_WORDS or contracted or ("'" in base and base.split("'")[0] in CORE_WORDS):
        return CORE
    if base in SOFT_WORDS or _is_kana(base) or base in _SMALL_HAN:
        return SOFT
    return LIGHT if stem in _stems(LIGHT_WORDS) else FULL


_SMALL_HAN: Final = frozenset(
    "的了是在有和与或也都还尚已经将会可以请这那个们就把被对于从到吗呢吧能"
)


def is_han(form: str) -> bool:
    """Whether a token is one character of Chinese, or of Japanese but Hiragana."""
    return len(form) == 1 and form >= "\u30a0"


def _is_kana(base: str) -> bool:
    """Whether a character is of Hiragana, which writes endings and particles."""
    return len(base) == 1 and "\u3040" <= base <= "\u309f"


_SNOWBALL: Final = {
    "en": "english", "de": "german", "fr": "french", "es": "spanish", "it": "italian",
    "pt": "portuguese", "nl": "dutch",
}  # fmt: skip


class _Stemmers(threading.local):
    """One stemmer per thread and language, because a stemmer is stateful."""

    def __init__(self) -> None:
        self.by_language: dict[str, Any] = {}


_STEMMERS: Final = _Stemmers()


@cache
def _stemmer(language: str) -> Any:
    """Return the class of a stemmer, without the modules of thirty other languages."""
    name, found = "_rageval_snowballstemmer", find_spec("snowballstemmer")
    package = sys.modules.setdefault(name, ModuleType(name))
    package.__path__ = list((found and found.submodule_search_locations) or ())
    module = import_module(f"{name}.{_SNOWBALL[language]}_stemmer")
    return getattr(module, f"{_SNOWBALL[language].capitalize()}Stemmer")


def _stem(word: str, language: str) -> str:
    if not word.isascii():
        return word
    if language == "en":
        word = IRREGULAR.get(word, word)
    stemmers = _STEMMERS.by_language
    if language not in stemmers:
        stemmers[language] = _stemmer(language)()
    return str(stemmers[language].stemWord(word))


@cache
def _stems(words: frozenset[str]) -> frozenset[str]:
    return frozenset(_stem(word, "en") for word in words)


@cache
def negation_keys() -> frozenset[str]:
    """Return the keys of the English words that negate."""
    return _stems(NEGATIONS)


@cache
def units() -> dict[str, str]:
    """Return the name of each unit that is not an abbreviation, by how it is written."""
    return {_bare(name): unit for name, unit in UNITS.items() if name not in ABBREVIATED_UNITS}


@cache
def unit_keys() -> frozenset[str]:
    """Return the keys of all units."""
    return frozenset(UNITS.values())


@cache
def rivals(language: str = "en") -> dict[str, frozenset[str]]:
    """Return, for each key of an exclusive group, the keys that contradict it."""
    lines = EXCLUSIVE if language == "en" else (*EXCLUSIVE[:10], *LANGUAGES[language].exclusive)
    return _grouped(lines, language)


@cache
def synonyms() -> dict[str, frozenset[str]]:
    """Return, for each key of a group of synonyms, the others."""
    return _grouped(SYNONYMS, "en")


def _grouped(lines: tuple[str, ...], language: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in lines:
        keys = {word.key for word in read_words(line, language)}
        for key in keys:
            found.setdefault(key, set()).update(keys - {key})
    return {key: frozenset(others) for key, others in found.items()}


_SPELLINGS: Final[tuple[tuple[str, re.Pattern[str], Replacement], ...]] = (
    ("-", _ISO_DATE, _spell_date),
    ("-", _PREFIX, r"\1"),
    ("A ", _ARTICLE, r"\1a"),
    (".", _INITIAL, lambda match: match[0].lower()),
    (")", _OPTION, lambda match: f"({match[1].upper()})"),
    ("out of", _OUT_OF, r"\1 not in"),
    ("fail", _FAILS, "not"),
    ("longer", _FAILS, "not"),
    ("pos", _IMPOSSIBLE, "not "),
    ("glich", _IMPOSSIBLE, "not "),
    ("gelijk", _IMPOSSIBLE, "not "),
    ("-free", _FREE_OF, r"no \1"),
    ("per cent", _PER_CENT, "percent"),
    ("inus ", _MINUS, "-"),
)
"""Spellings of one thing: what a text must contain, what is replaced, and by what."""
_NOTATIONS: Final[tuple[tuple[str, re.Pattern[str], Replacement], ...]] = (
    (",", _SHORT_DECIMAL, r"\1.\2"),
    ("€", _CURRENCY, _currency),
    ("£", _CURRENCY, _currency),
    ("¥", _CURRENCY, _currency),
    ("$", _CURRENCY, _currency),
    ("v", _VERSION, "version "),
    ("V", _VERSION, "version "),
    ("/", _DIVIDED, _divided),
    ("/", _PER, " per "),
)
"""The same of texts with numbers."""
