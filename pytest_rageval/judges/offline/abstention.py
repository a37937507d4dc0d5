"""Abstention: whether an answer says only that it is not known, or also states something.

The words of a clause become letters, one for each role that a word may have, by the small table of
each language in ``refusals.toml``, which names the roles. A clause declines if its letters have one
of a few orders, which are the same in all languages: a source or the speaker, a negation, and a
verb of knowing or containing.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice
from typing import Final, Literal

from pytest_rageval.judges.offline.claims import is_aside, split_claims, stated_text
from pytest_rageval.metrics.non_claims import courtesy
from pytest_rageval.values.verdict import Verdict

_UNSPACED: Final = frozenset({"Japanese", "Chinese", "Korean"})
_UNSPACED_SCRIPT: Final = re.compile("[\u3040-\u9fff\uac00-\ud7af]")
_ORDERS: Final = (
    # I do not know
    r"""
    [se][^uT]{0,6}N[^T]{0,4}k k[se]\w{0,6}N [se]k[^T]{0,6}N ^[yw]?N\w?[se]k ^y?Nk
    """,
    # the documents do not say
    r"""
    d[^uTr]*N[^T]{0,7}[vVM][^r]*$ d[^uTr,]*[vVM][^Tr,]{0,12}N [vVM]\w{0,5}d[^T]{0,20}N
    n\w{0,3}d\w{0,7}[vVM] p\w{0,4}d[^u]*N[^T]{0,8}[vVM] ^[^u]*N\w{0,4}[vVMf]\w{0,3}p\w{0,5}d
    D[^uTr]*N[^T]{0,7}(?:[VM]|v\w{0,5}i) D\w{0,3}v\w{0,2}N\w{0,4}i D\w{0,3}VN
    p\w?D[^uT]*V[^T]{0,6}N ^[^u]*N\w{0,3}[VMf]\w{0,3}p\w{0,5}D
    """,
    # it is not in the documents
    r"""
    [itg]\w{0,5}N\w{0,2}p\w{0,4}d ^y?N[hvMf]?p\w{0,4}d N\w?[hk]\w{0,2}p\w{0,4}d
    p\w{0,4}d\w{0,6}nI
    """,
    # there is no information
    r"""
    ^[^uG]*[hf][^uGr]{0,8}N[^G]{0,5}i[^Gr]*$ ^[^uGr]*N\w{0,3}[hf][^G]{0,7}i[^G]*$
    ^[^u]*N\w{0,4}i[^Gr]{0,9}(?:[hfMV]|vp?|p\w{0,4}d)[^Gr]*$ d[^u]{0,9}N\w{0,5}i
    ^[yw]{0,2}N\w{0,3}i(?:$|[pgt][^G]*$) [hf]\w{0,3}nI(?:$|[fhp]) ^y?nI(?:$|f|p\w{0,3}$)
    nI\w{0,9}d ^[yw]{0,2}N\w{0,2}[dD]\w{0,2}f ^[yw]{0,2}N\w{0,4}f\w?D$ ^jNP?h$
    ^[^uGr]*i[^TGr]{0,12}N\w{0,3}[vVMfhA][^Gr]*$
    ^[^ur]*i[^TG]{0,6}N\w{0,3}p\w{0,3}d [se]\w{0,5}N\w{0,4}h\w{0,6}j
    [se]\w{0,3}h\w{0,2}N\w{0,4}j n[se]h\w{0,4}j ^y?E\w{0,2}i$
    """,
    # the same where the negation ends the sentence
    r"""
    ^#[^ur]*(?:i[^G]{0,2}n|i\w?v\w{0,2}n|M\w{0,4}n|x\w{0,2}v\w{0,4}i|n\w{0,8}f\w{0,14}i)
    ^#[^ur]*np?[^ur]{0,16}i$ ^#\w?nk$
    """,
    # I cannot answer
    r"""
    ^[^b]*s[^u]{0,5}x s[^b]*m[^b]*N ^[^b]*N\w{0,3}sm m[^b]{0,3}s[^b]*N
    ^[^u]*(?:x|m[^u]*N|N\w{0,6}m)[^u]{0,9}A ^[^u]*A[^u]{0,6}(?:x|m\w{0,3}N)
    m[^u]{0,9}A\w{0,3}N ^[^u]*m[^u]*N[^u]*A
    (?:e[^u]{0,5}(?:x|m\w*N|N\w*m)|me\w{0,4}N|n\w?em)\w{0,5}(?:a|[vf]\w{0,6}[ijt])
    [se]\w{0,5}N\w{0,3}f [se]f\w{0,4}N f[se]\w{0,6}N ^y?x\w{0,2}[aAf]
    ^[yw]?[se]m\w{0,3}l\w{0,7}gp ^[yw]?lsm\w{0,7}gp ^#slw?Ap
    """,
    # it is not mentioned, it is unclear from the documents
    r"^t\w?B\w?p\w{0,3}d N[^uT]{0,3}M Nz\w?V ^y?Nf ^w?N[vVM]a?$",
    # it is outside the scope of my knowledge
    r"""
    o\w{0,4}O\w{0,4}[sed] o\w?s\w{0,4}[Ok] g\w{0,4}o\w{0,3}O o\w{0,2}[sed]\w?[Ok]
    ^[ty]?\w?o\w{0,2}O$ ^[^u]*g\w{0,9}o k\w{0,3}o ^[ty]T?\w?oqs
    """,
    # the documents lack information
    r"d\w{0,5}[LB] L\w{0,4}i i\w{0,9}[LB](?:$|\w?p) ^\w?s\w?L ^[^u]*Z",
)
"""Orders of roles with which a clause declines, N being a negation of either kind."""
_WORD: Final = re.compile(r",|(?:[jnlcdsqu]|qu|lorsqu|quest|c)'(?=\w)|\w+(?:'\w+)?")

_ABOUT_SOURCES: Final = re.compile(
    r"^#?[^T]*d[^T]*[vVMl]|^#?\w{0,2}p\w{0,4}d\w{0,4}$|^[ut]l\w?[vVM]|^y?w?s[^T]*$|^\w{0,2}g|^\w{0,7}y\w{0,7}$|^#.*y"
)
_UNSTATED: Final = re.compile("n\\w?M")
_STRONG: Final = re.compile(r"P\w{0,2}D|D\w?P|[se]\w?D")
"""A page is a source where it is one that was provided."""
_PRONOUN: Final = re.compile("^(w?)[ut]")
_MOST_WORDS: Final = 60
"""Words of a clause that are read, which bounds the time of the orders."""
_CUES: Final = frozenset("nxZLBEol")
"""Roles of which every order has one."""


class _Table:
    """The words of one language with their roles."""

    def __init__(self, name: str, words_of: Mapping[str, str]) -> None:
        self._exact: dict[str, str] = {}
        self._stems: dict[str, str] = {}
        for role, words in words_of.items():
            for word in words.split():
                table, key = (self._stems, word[:-1]) if word[-1] == "*" else (self._exact, word)
                key = key.replace("_", " ")
                table[key] = table.get(key, "") + role
        self._spaced = name not in _UNSPACED
        self._longest = max(map(len, self._stems), default=0)
        longest_first = sorted(map(re.escape, self._exact), key=len, reverse=True)
        self._unspaced = re.compile("|".join([*longest_first, r"[\w,、，]"]))
        self._role = lru_cache(maxsize=4096)(self._find_role)
        self._cues = {word for word, role in self._exact.items() if not _CUES.isdisjoint(role)}
        stems = [w for w, role in self._stems.items() if not _CUES.isdisjoint(role)]
        self._stem_cue = re.compile(rf"\b(?:{'|'.join(stems)})") if stems else None

    def may_decline(self, text: str, words: Collection[str]) -> bool:
        """Whether a text has a word with which the language declines."""
        if not self._spaced:
            return any(cue in text for cue in self._cues)
        if not self._cues.isdisjoint(words):
            return True
        return self._stem_cue is not None and self._stem_cue.search(text) is not None

    def roles(self, text: str, words: Iterable[str]) -> str:
        """Return the roles of the words of a text, in order."""
        if not self._spaced:
            found = self._unspaced.findall(text[: 4 * _MOST_WORDS])
            return "#" + "".join([self._exact.get(w, "," if w in ",、，" else "w") for w in found])
        return _STRONG.sub("d", _COMPOUND.sub("w", "".join([self._role(word) for word in words])))

    def _find_role(self, word: str) -> str:
        if word == ",":
            return word
        role = self._exact.get(word, "")
        for at in range(min(len(word), self._longest), 1, -1):
            if stem := self._stems.get(word[:at]):
                return role + stem
        return role or "w"


_COMPOUND: Final = re.compile("[iVA]+X")
"""Names such as `information desk`, which give no information."""
_MODAL: Final = frozenset({"can't", "couldn't", "won't"})


@cache
def _tables(*, unspaced: bool) -> list[_Table]:
    """Return the tables of all languages, or of those with blanks between words."""
    text = files(__package__).joinpath("refusals.toml").read_text(encoding="utf-8")
    words = tomllib.loads(text)
    return [_Table(name, words[name]) for name in words if unspaced or name not in _UNSPACED]


def readings(part: str, *, after_sources: bool = False) -> list[str]:
    """Return the roles of the words of a part of a sentence, for each language that it may be in.

    Args:
        part: empty results if it has no word with which any language declines.
        after_sources: whether what is before it speaks of sources, as which a pronoun then counts.
    """
    text, words, tables = _read(part)
    found = [table.roles(text, words) for table in tables if table.may_decline(text, words)]
    if after_sources:
        found = [_PRONOUN.sub(r"\1d", roles) for roles in found]
    return [roles for roles in found if not _CUES.isdisjoint(roles)]


def every_reading(part: str) -> list[str]:
    """Return the same for all languages, whatever the part says."""
    text, words, tables = _read(part)
    return [table.roles(text, words) for table in tables]


def may_refuse(sentence: str) -> bool:
    """Whether a sentence has a word with which any language declines."""
    text, words, tables = _read(sentence)
    return any(table.may_decline(text, words) for table in tables)


def _read(part: str) -> tuple[str, list[str], list[_Table]]:
    """Return a part in lower case, its words, and the tables of languages in its scripts."""
    text = part.lower().replace("’", "'")
    words = [found[0] for found in islice(_WORD.finditer(text), _MOST_WORDS)]
    words = ["n't" if one.endswith("n't") and one not in _MODAL else one for one in words]
    return text, words, _tables(unspaced=_UNSPACED_SCRIPT.search(text) is not None)


@cache
def _orders() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile("|".join(one.split()).replace("N", "[nx]")) for one in _ORDERS)


def refuses(roles: str) -> bool:
    """Whether the roles of a part of a sentence have an order that declines, without conditions."""
    mark, roles = ("#", roles[1:]) if roles.startswith("#") else ("", roles)
    clauses = roles.split(",")
    kept = [left for one in clauses if (left := _unconditional(one, mark, alone=len(clauses) == 1))]
    return any(order.search(mark + one) for one in {",".join(kept), *kept} for order in _orders())


def _unconditional(clause: str, mark: str, *, alone: bool) -> str:
    """Return the roles of a clause up to a word such as "if"; empty: it begins with it.

    "When it closes is not stated" is not a condition.
    """
    at = min((place for one in "cC" if (place := clause.find(one)) >= 0), default=-1)
    if at < 0 or (alone and clause.startswith("C") and _UNSTATED.search(clause)):
        return clause
    return "" if mark or at == 0 or clause[:at] == "w" else clause[:at]


def is_about_sources(roles: str) -> bool:
    """Whether a part that does not decline only apologises, or speaks of sources or the speaker."""
    return _ABOUT_SOURCES.search(roles) is not None


Saying = Literal["declines", "refuses", "other"]
_SENTINELS: Final = frozenset(
    """
    empty response|n/a|na|none|null|nil|nan|unknown|unanswerable|idk|no context|no result
    |no results|blank
    |k.a|keine|unbekannt|inconnu|néant|desconocido|desconocida|sconosciuto|desconhecido|onbekend
    |nieznane|不明|なし|該当なし|未知|不详|暂无|暂无数据|暂无相关信息
    |알 수 없음|없음|무응답|sorry|i'm sorry
    |i am sorry|my apologies
    |entschuldigung|tut mir leid|es tut mir leid|désolé|lo siento|mi dispiace|desculpe
    |het spijt me|przepraszam
    |申し訳ありません|抱歉|对不起|죄송합니다
    """.replace("\n", "")
    .replace("    ", "")
    .split("|")
)
"""Replies that stand for no answer, besides those that are a clause that declines."""
_WITHOUT_STOP: Final = frozenset({"none", "null", "nil", "nan", "na", "keine", "blank"})
"""Those that answer a question if they end like a sentence: ``None.``"""
_QUOTED: Final = re.compile(
    r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|„[^“”\n]{1,400}[“”]|«[^»\n]{1,400}»|「[^」\n]{1,400}」"
    r"|『[^』\n]{1,400}』|(?<!\w)'(?=\S)(?:[^'\n]|(?<=\w)'(?=\w)){1,400}'(?!\w)"
    r"|‘[^‘\n]{1,400}’(?!\w)"
)
_TURN: Final = re.compile(
    r"[;；]|[:：](?=\s|[^\x00-\x7f])|\s[-–—]{1,2}\s|—"
    r"|[,，]?\s*\b(?:but|however|nevertheless|nonetheless|yet|whereas|aber|jedoch|allerdings"
    r"|sondern|mais"
    r"|cependant|toutefois|pero|sin embargo|però|tuttavia|mas|porém|contudo|maar|echter|ale"
    r"|jednak)\b"
    r"(?! (?:also|auch|aussi|también|anche|também|ook|też)\b),?"
    r"|,\s+so\s|,\s+(?=(?:they|he|she|it|there|this)\s(?:is|are|was|were|has|have|had|can"
    r"|will)\b)|(?:ですが|ますが|けれども|しかし)[、,]?"
    r"|[，,]?(?:但是?|不过|不過|然而)|지만",
    re.IGNORECASE,
)
"""Places of a sentence after which it may state something else."""
_LONGEST_SENTINEL: Final = 60
_LETTER: Final = re.compile(r"\w")
_JOINED: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
_SUBSTANCE: Final = re.compile(r"\w\W+\w|[\u3040-\u9fff\uac00-\ud7af]{3}|\d")
"""At least two words, or a few characters of a script without blanks."""
_DIGIT: Final = re.compile(r"\d")
_OFFER: Final = re.compile(
    r"\b(?:please (?:contact|consult|refer|check|see|visit|ask|provide|let|rephrase|clarify"
    r"|specify|try|reach"
    r"|feel|note|share|call|email|get|look)|consult|contact|refer to|reach out|recommend"
    r"|suggest(?:ing)?|let me know|feel free|rephrase"
    r"|clarify|provide (?:me )?(?:with )?(?:more|additional|further)|(?:more|further"
    r"|additional) (?:context|details"
    r"|information)|check (?:with|the|your)|speak (?:to|with)|seek(?:ing)?|it(?:'s"
    r"| is) (?:also )?(?:important|best"
    r"|essential|crucial|always)|would you like|you (?:may|might|could) (?:want|wish|try|need"
    r"|also)"
    r"|bitte (?:wenden|fragen|kontakt|konsult|prüf|geben|stellen|lassen|beacht)\w*|wenden sie"
    r"|fragen sie"
    r"|veuillez (?:contact|consult|vous|préci|fourni|pos|reformul|vérifi)\w*|contactez"
    r"|n'hésitez pas|consultez"
    r"|por favor,? (?:c[oó]n|p[eé]|proporc|entre|indi|refor|verif)\w*|póngase en contacto"
    r"|consulte"
    r"|contacte|contatt\w+|per favore (?:con|for|chi|ver)\w*|consulta\w*|entre em contato"
    r"|neem contact|raadpleeg|proszę o)\b"
    r"|^\W*if you (?:need|have|want|would|require|can|could|provide|give|share|let)\b"
    r"|お問い合わせ|(?:確認|参照|教えて|尋ね|相談|連絡|試し|提供)\w{0,4}ください"
    r"|[请請](?:您|你)?(?:直接)?(?:联系|聯繫|咨询|查阅|查看|参考|询问|提供|告诉|访问|尝试|向)"
    r"|문의|(?:확인|연락|제공|알려)해?\s?주",
    re.IGNORECASE,
)
_PRINCIPLE: Final = re.compile(
    r"\bnot (?:ethical|appropriate|acceptable|legal)(?:,? (?:or|and|nor) \w+)* (?:for me )?to\b"
    r"|\b(?:do|does|can) ?(?:not|n't) (?:condone|promote|encourage) (?:or \w+ )?"
    r"|\bagainst my (?:programming|guidelines|principles)"
    r"|\basking about [^.]* is not appropriate",
    re.IGNORECASE,
)
"""A refusal on principle, after which one further sentence may moralise."""
_HEAD: Final = 2
"""Number of first sentences searched for a refusal on principle."""


def declines(sentence: str) -> bool:
    """Whether a sentence says only that the answer is not known or not given."""
    return saying(sentence) in {"declines", "refuses"}


@lru_cache(maxsize=1024)  # the judge and the evidence read each answer
def saying(sentence: str, *, after_sources: bool = False) -> Saying:
    """Return what a sentence says about the answer.

    It declines if one of its parts does and no other one states something: quoted speech and
    conditions are left out, and so are offers and parts about the sources themselves.

    Args:
        sentence: as of a claim.
        after_sources: whether the sentence before it speaks of the sources.
    """
    if _is_sentinel(sentence):
        return "declines"
    if _PRINCIPLE.search(sentence):
        return "refuses"
    if not may_refuse(sentence):
        return "other"
    own = _QUOTED.sub(" ", sentence)
    parts = _TURN.split(own if _LETTER.search(own) else sentence)
    others = []
    for at, part in enumerate(parts):
        after = after_sources or (at > 0 and names_sources(" ".join(parts[:at])))
        if not any(map(refuses, readings(part, after_sources=after))):
            others.append(part)
    if len(others) == len(parts):
        return "other"
    return "other" if any(map(states, others)) else "declines"


def names_sources(text: str) -> bool:
    """Whether a text has a word for the sources."""
    return any("d" in roles for roles in every_reading(text))


def _is_sentinel(text: str) -> bool:
    bare = text.strip(" \t\n[](){}<>*`\"'#-")
    spaced = " ".join(_JOINED.sub(" ", bare).split())
    word = spaced.rstrip(".!。！ ").lower().replace("’", "'")
    if word in _SENTINELS:
        return word == spaced.lower() or word not in _WITHOUT_STOP
    return spaced != bare and any(map(refuses, readings(spaced)))


def states(text: str) -> bool:
    """Whether a text that does not decline states something about the subject of the question.

    An apology, an offer, and words about the sources or the assistant itself do not.
    """
    if not _SUBSTANCE.search(text) or _OFFER.search(text) or courtesy(text) is not None:
        return False
    return _DIGIT.search(text) is not None or not any(map(is_about_sources, every_reading(text)))


def read_abstention(answer: str) -> Verdict:
    """Decide whether an answer declines; one that also states something does not.

    An empty answer neither answers nor abstains.
    """
    stated = stated_text(answer).strip()
    if len(stated) <= _LONGEST_SENTINEL and _is_sentinel(stated):
        return Verdict(abstained=True, reasoning=f'It says "{stated}".')
    said: list[tuple[str, Saying]] = []
    for one in split_claims(answer):
        if not is_aside(one.text):
            after = bool(said) and said[-1][1] == "declines" and names_sources(said[-1][0])
            said.append((one.text, saying(one.text, after_sources=after)))
    if not said:
        return Verdict(abstained=False, reasoning="The answer states nothing.")
    first = next((text for text, kind in said if kind != "other"), None)
    if first is None:
        return Verdict(abstained=False, reasoning="It does not decline.")
    first = first if len(first) <= 80 else first[:79] + "…"
    on_principle = any(kind == "refuses" for _, kind in said[:_HEAD])
    if sum(states(text) for text, kind in said if kind == "other") > on_principle:
        return Verdict(abstained=False, reasoning=f'It says "{first}" and answers nevertheless.')
    return Verdict(abstained=True, reasoning=f'It says "{first}".')
