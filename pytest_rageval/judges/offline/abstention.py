"""Abstention: whether an answer says only that it is not known, or also states something."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

from pytest_rageval.judges.offline.claims import is_aside, split_claims, stated_text
from pytest_rageval.judges.offline.refusals import (
    every_reading,
    is_about_sources,
    may_refuse,
    readings,
    refuses,
)
from pytest_rageval.metrics.courtesies import courtesy
from pytest_rageval.values.verdict import Verdict

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
_WORD: Final = re.compile(r"\w")
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
    parts = _TURN.split(own if _WORD.search(own) else sentence)
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
