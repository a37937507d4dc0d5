"""Words of a text, and the word lists of the offline judge. Pure.

A word's key is its stem (Snowball English, after a table of irregular forms), a number's key its
value in any notation: ``1,000`` and ``1000``, ``two`` and ``2``, ``II`` and ``2``; ``3rd`` and
``third`` are ``#3``. Scripts without spaces are taken character by character. The lists are of
plain words, read through the same stemmer.
"""

from __future__ import annotations

import re
import sys
import threading
import unicodedata
from collections.abc import Iterable
from functools import cache, cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final, NamedTuple

from pytest_rageval.metrics.matching import INVISIBLE

CORE_WORDS: Final = frozenset(
    """
    a an the is are was were be been am of in on at to for from by with and or but it its this that
    these those as i you he she they we his her their our my your do does did have has had will
    would can could s t d ll re ve m not no nor
    """.split()
)
"""Grammar: never counted."""

SOFT_WORDS: Final = frozenset(
    """
    about above after again all also although any because before being below between both cannot
    doing down during each either else ever every few further having here hers herself him himself
    how however if into itself just let lets may me might more most much must myself off once one
    only other ours out over own per same shall should so some such than theirs them themselves then
    there thereby therefore though through thus too under until up upon us very what when where
    whereas whether which while who whom whose why within without yes yet yours yourself
    """.split()
)
"""Closer to grammar than to content: small weight."""

LIGHT_WORDS: Final = frozenset(
    """
    able according act actually allow appear around available base become begin big bring call
    case cause certain change come common consider contain continue currently day different end
    especially example fact famous find first follow form general get give go good great group
    happen help high important include information involve keep kind know known large later like
    likely line long look lot make mainly major many mean member mention multiple name need new
    number occur often part particular people person place play point popular possible present
    provide put really refer relate require result run say second see seem several show similar
    small sometimes specific start state still take tell term thing think time turn type use used
    usually various view want way well word work world year
    """.split()
)
"""Frequent in any text, so a match is weak evidence."""

NEGATIONS: Final = frozenset(
    """
    not no never none neither nor without cannot nobody nothing nowhere hardly barely scarcely
    fail lack unable refuse deny reject unlikely instead false absent except
    """.split()
)

ABSOLUTES: Final = frozenset(
    """
    only always never all every entirely completely solely exclusively none any sole must
    purely fully whole unanimously everyone everybody nobody throughout unanimous
    """.split()
)

SELF_TALK: Final = frozenset("i i'm i've i'd i'll my me myself mine im ive".split())
"""Words about the assistant itself, which documents do not contain."""

EXCLUSIVE: Final[tuple[str, ...]] = (
    # One group per line: its members contradict each other.
    "american british english french german italian spanish polish russian chinese japanese indian "
    "irish scottish dutch swedish norwegian danish greek turkish portuguese mexican canadian "
    "australian austrian brazilian egyptian korean jewish swiss belgian hungarian czech finnish "
    "argentine iranian persian arab african asian european cuban jamaican ukrainian romanian welsh",
    "america england france germany italy spain poland russia china japan india ireland scotland "
    "netherlands sweden norway denmark greece turkey portugal mexico canada australia austria "
    "brazil egypt korea switzerland belgium hungary africa asia europe cuba jamaica ukraine",
    "january february march april may june july august september october november december",
    "monday tuesday wednesday thursday friday saturday sunday",
    "spring summer autumn winter",
    "north south east west", "northern southern eastern western",
    "northeast northwest southeast southwest",
    "red blue green yellow black white orange purple pink brown grey",
    "catholic protestant muslim jewish hindu buddhist orthodox atheist anglican lutheran",
    "christianity islam judaism hinduism buddhism",
    "father mother", "son daughter", "brother sister", "husband wife", "uncle aunt",
    "king queen", "prince princess", "boy girl", "man woman", "male female", "actor actress",
    "first second third fourth fifth sixth seventh eighth ninth tenth",
    "win lose", "victory defeat", "success failure", "successful unsuccessful", "winner loser",
    "increase decrease", "rise fall", "grow shrink", "gain lose", "raise lower", "rise drop",
    "expand contract", "accelerate slow", "strengthen weaken", "improve worsen",
    "before after", "early late", "young old", "begin end", "start finish", "open close",
    "large small", "big small", "tall short", "long short", "high low", "major minor", "more less",
    "largest smallest", "highest lowest", "best worst", "longest shortest", "oldest youngest",
    "most least", "many few", "majority minority", "above below", "over under", "inside outside",
    "rich poor", "wealthy poor", "positive negative", "favorable unfavorable", "love hate",
    "support oppose", "accept reject", "agree disagree", "approve reject", "friend enemy",
    "ally enemy", "legal illegal", "true false", "right wrong", "left right", "public private",
    "allow forbid", "permit prohibit", "include exclude", "enable disable", "encourage discourage",
    "birth death", "born die", "alive dead", "hire fire", "buy sell", "marry divorce",
    "married single", "religious secular", "democrat republican", "liberal conservative",
    "capitalist communist", "urban rural", "ancient modern", "hot cold", "warm cold", "wet dry",
    "arrive leave", "enter leave", "join leave", "attack defend", "peace war", "war peace",
    "praise criticize", "acclaim criticize", "popular unpopular", "common rare", "rarely often",
    "frequently rarely", "always sometimes", "easy difficult", "easy hard", "simple complex",
    "temporary permanent", "voluntary forced", "strong weak", "safe dangerous", "fast slow",
    "healthy sick", "hero villain", "guilty innocent", "maximum minimum", "major minor",
    "fiction nonfiction", "novel film", "guitar piano drums violin", "army navy",
    "city village", "mountain river ocean desert", "planet star", "comedy tragedy drama horror",
    "democracy monarchy dictatorship", "president king emperor", "land sea", "fail succeed",
    "separate unite", "destroy build", "create destroy", "remember forget", "ban allow",
    "outnumber outnumbered", "same different", "together apart", "present absent", "full empty",
    "internal external", "domestic foreign", "native foreign", "import export", "odd even",
)  # fmt: skip

IRREGULAR: Final[dict[str, str]] = dict(
    pair.split(":")
    for pair in """
    won:win wrote:write written:write went:go gone:go made:make took:take taken:take gave:give
    given:give came:come became:become began:begin begun:begin saw:see seen:see knew:know known:know
    got:get gotten:get said:say told:tell thought:think found:find held:hold kept:keep left:leave
    led:lead lost:lose met:meet paid:pay ran:run sang:sing sung:sing sold:sell sent:send sat:sit
    spoke:speak spoken:speak spent:spend stood:stand taught:teach wore:wear worn:wear built:build
    bought:buy brought:bring caught:catch chose:choose chosen:choose drew:draw drawn:draw
    drove:drive driven:drive
    ate:eat eaten:eat fell:fall fallen:fall felt:feel fought:fight flew:fly flown:fly
    grew:grow grown:grow heard:hear hid:hide hidden:hide laid:lay rose:rise risen:rise shot:shoot
    shown:show slept:sleep stole:steal stolen:steal struck:strike swam:swim threw:throw thrown:throw
    understood:understand woke:wake broke:break broken:break bore:bear fed:feed fled:flee
    forgot:forget forgotten:forget froze:freeze frozen:freeze lent:lend lit:light meant:mean
    men:man women:woman children:child people:person feet:foot teeth:tooth mice:mouse wives:wife
    lives:life leaves:leaf knives:knife wolves:wolf better:good best:best worse:bad worst:worst
    dying:die lying:lie died:die dies:die analyses:analysis crises:crisis criteria:criterion
    km:kilometer kms:kilometer kilometre:kilometer kilometres:kilometer kg:kilogram kgs:kilogram
    mm:millimeter cm:centimeter ft:foot lb:pound lbs:pound oz:ounce mph:mph hr:hour hrs:hour
    min:minute mins:minute sec:second secs:second yr:year yrs:year jan:january feb:february
    mar:march apr:april jun:june jul:july aug:august sep:september sept:september oct:october
    nov:november dec:december dr:doctor mr:mister colour:color honour:honor favourite:favorite
    centre:center theatre:theater labour:labor defence:defense organisation:organization
    organise:organize grey:gray programme:program travelled:travel travelling:travel
    """.split()
)
"""Forms that the stemmer does not unify: irregular ones, units, months, spellings."""

NUMBER_WORDS: Final[dict[str, str]] = dict(
    pair.split(":")
    for pair in """
    two:2 three:3 four:4 five:5 six:6 seven:7 eight:8 nine:9 ten:10 eleven:11 twelve:12 dozen:12
    thirteen:13 fourteen:14 fifteen:15 sixteen:16 seventeen:17 eighteen:18 nineteen:19 twenty:20
    thirty:30 forty:40 fifty:50 sixty:60 seventy:70 eighty:80 ninety:90 twice:2
    third:#3 fourth:#4 fifth:#5 sixth:#6 seventh:#7 eighth:#8 ninth:#9 tenth:#10
    """.split()
)
"""Number words to their keys, ordinals with ``#``. "One" is mostly a pronoun, "first" and "second"
are words of their own."""

ROMAN: Final[dict[str, str]] = dict(
    pair.split(":")
    for pair in """
    II:2 III:3 IV:4 VI:6 VII:7 VIII:8 IX:9 XI:11 XII:12 XIII:13 XIV:14 XV:15 XVI:16
    """.split()
)

SCALES: Final[dict[str, float]] = {
    "hundr": 1e2,
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
}
"""Stems of the words that multiply the number before them."""

APPROXIMATE: Final = frozenset(
    """
    about above almost approximately around circa close least less more most nearly over roughly
    under up below beyond exceeding
    """.split()
)
"""Words that make the next number a bound or an estimate."""


CORE: Final = 0
SOFT: Final = 1
LIGHT: Final = 2
FULL: Final = 3

_NUMBER: Final = r"\d+(?:[,'’\u00a0\u202f]\d{3})*(?:\.\d+)?(?:(?:st|nd|rd|th|s)(?![^\W\d_]))?"
_ASCII: Final = re.compile(rf"[A-Za-z][A-Za-z']*|{_NUMBER}|%")
_BLOCKS: Final = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff"
_INVISIBLE: Final = re.compile(f"[{''.join(map(chr, INVISIBLE))}]")
_ISO_DATE: Final = re.compile(
    r"\b(?P<year>\d{4})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])(?!\d)"
)
_MONTHS: Final = (
    "January February March April May June July August September October November December"
).split()
_ORDINAL: Final = re.compile(r"\d(?:st|nd|rd|th)\b")
_MONTH: Final = f"(?:{'|'.join(_MONTHS)}|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
_DAY: Final = re.compile(
    rf"(?P<month>\b{_MONTH}\.? )?(?P<day>\b\d\d?)(?:st|nd|rd|th)\b"
    rf"(?(month)|(?= (?:of )?{_MONTH}\b))"
)
_FULL_HOUR: Final = re.compile(r"(?<=\d):00(?![:\d])")
_PREFIX: Final = re.compile(r"\b(e|wi)-(?=[a-z])", re.IGNORECASE)
_NO: Final = re.compile(r"(?:\W*\w+:)?\W*no(?:[,;:!]|\s*[–—]|\s+-\s|\.(?!\s*\d))", re.IGNORECASE)
"""The "No" that answers a question, as in "No, entry is free": it negates no word of it."""
_LONGEST: Final = 64


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


def read_words(text: str) -> list[Word]:
    """Return the words of a text in order; a number and its scale (``3 million``) are one."""
    if "-" in text:
        text = _PREFIX.sub(r"\1", _ISO_DATE.sub(_spell_date, text))
    if ":00" in text:
        text = _FULL_HOUR.sub("", text)
    if _ORDINAL.search(text):
        text = _DAY.sub(r"\g<month>\g<day>", text)
    pattern, text = (_ASCII, text) if text.isascii() else (_any(), _INVISIBLE.sub("", text))
    words = list(map(read_word, pattern.findall(text)))
    if found := _NO.match(text):
        at = len(pattern.findall(found[0])) - 1
        words[at] = words[at]._replace(negates=False)
    # Three searches of the text are faster than a check of every word.
    scaled = "illion" in text or "undred" in text or "housand" in text
    return _join_scales(words) if scaled else words


@cache
def _any() -> re.Pattern[str]:
    """Return what finds the tokens of any text; it takes 10 ms to make."""
    marks = "".join(chr(c) for c in range(0x300, 0x1B00) if unicodedata.category(chr(c))[0] == "M")
    letters = rf"(?:[^\W\d_{_BLOCKS}]++[{marks}]*+)++"
    return re.compile(rf"{letters}(?:['’]{letters})*+|[{_BLOCKS}]|{_NUMBER}|%")


def _spell_date(match: re.Match[str]) -> str:
    return f"{match['day']} {_MONTHS[int(match['month']) - 1]} {match['year']}"


def _join_scales(words: Iterable[Word]) -> list[Word]:
    joined: list[Word] = []
    for word in words:
        factor = SCALES.get(word.key)
        before = joined[-1] if joined and joined[-1].number else None
        if factor and before and len(before.key) <= 12 and not before.key.startswith("#"):
            key = f"{float(before.key) * factor:.0f}"
            joined[-1] = Word(key, key, FULL, number=True)
        else:
            joined.append(word)
    return joined


@lru_cache(maxsize=1 << 16)
def read_word(token: str) -> Word:
    """Return the meaning of one token as written."""
    if len(token) == 1 and unicodedata.category(token) == "No":
        # Decomposed, a half would be the digits 1 and 2.
        return _number(f"{unicodedata.numeric(token):g}")
    form = _plain(token[:_LONGEST])
    if form[:1].isdigit():
        return _number(form)
    if token in ROMAN:  # in capitals only: "vi" is an editor
        return Word(form, ROMAN[token], FULL, number=True)
    base = form.removesuffix("'s")
    if base in NUMBER_WORDS:
        return Word(form, NUMBER_WORDS[base], FULL, number=True)
    stem = _stem(base)
    contracted = form.endswith("n't")
    return Word(
        form,
        "percent" if form == "%" else stem,
        _tier(base, stem, contracted=contracted),
        negates=contracted or form in NEGATIONS or stem in _stems(NEGATIONS),
        absolute=form in ABSOLUTES,
        self_talk=form in SELF_TALK,
        capital=token[0].isupper(),
    )


def _plain(token: str) -> str:
    text = token.casefold().replace("’", "'").rstrip("'")
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def _number(form: str) -> Word:
    ordinal = form.endswith(("st", "nd", "rd", "th"))
    value = re.sub(r"[^\d.]", "", form)
    if not value.isascii():
        value = "".join(c if c == "." else str(int(c)) for c in value)
    if "." in value:
        value = value.rstrip("0").rstrip(".")
    value = value.lstrip("0") or "0"
    value = "0" + value if value.startswith(".") else value
    if ordinal and value in {"1", "2"}:
        return Word(form, "first" if value == "1" else "second", LIGHT)
    return Word(form, f"#{value}" if ordinal else value, FULL, number=True)


def _tier(base: str, stem: str, *, contracted: bool) -> int:
    if base in CORE_WORDS or contracted or ("'" in base and base.split("'")[0] in CORE_WORDS):
        return CORE
    if base in SOFT_WORDS:
        return SOFT
    return LIGHT if stem in _stems(LIGHT_WORDS) else FULL


class _Stemmers(threading.local):
    """One stemmer per thread, because a stemmer is stateful."""

    @cached_property
    def english(self) -> Any:
        return _english_stemmer()()


_STEMMERS: Final = _Stemmers()


@cache
def _english_stemmer() -> Any:
    """Return the class of the stemmer, without the modules of thirty other languages."""
    name, found = "_rageval_snowballstemmer", find_spec("snowballstemmer")
    package = sys.modules[name] = ModuleType(name)
    package.__path__ = list((found and found.submodule_search_locations) or ())
    return import_module(f"{name}.english_stemmer").EnglishStemmer


def _stem(word: str) -> str:
    word = IRREGULAR.get(word, word)
    return str(_STEMMERS.english.stemWord(word)) if word.isascii() else word


@cache
def _stems(words: frozenset[str]) -> frozenset[str]:
    return frozenset(map(_stem, words))


@cache
def rivals() -> dict[str, frozenset[str]]:
    """Return, for each key of an exclusive group, the keys that contradict it."""
    found: dict[str, set[str]] = {}
    for line in EXCLUSIVE:
        keys = {read_word(word).key for word in line.split()}
        for key in keys:
            found.setdefault(key, set()).update(keys - {key})
    return {key: frozenset(others) for key, others in found.items()}
