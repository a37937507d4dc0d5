"""Detection of abstention from the wording of an answer, in English and other languages."""

from __future__ import annotations

import re
from typing import Final

from pytest_rageval.judges.offline.claims import split_claims
from pytest_rageval.judges.offline.refusals import declines_elsewhere
from pytest_rageval.values.verdict import Verdict

_KNOWLEDGE: Final = (
    r"(?:any |much |enough |sufficient |more |that |this |the |such |real[- ]time |specific "
    r"|detailed |exact |current |further |additional |relevant |precise |direct |reliable "
    r"|these |those )*(?:information|info|details?|data|context|knowledge|answers?|evidence"
    r"|names?|documents?|passages?|sources?|mention|references?|access)"
)
_SELF: Final = r"(?:I|we|I'm|we're|I am|we are)"
_LACK: Final = re.compile(
    rf"\b{_SELF} (?:currently |also |still |really |simply |unfortunately )?(?:do not|don't"
    r"|did not|didn't|could not|couldn't|cannot|can't|can not) (?:currently |actually |really )?"
    r"(?:have|know|find|see|possess|recall|hold|locate)\b(?! (?:the )?(?:ability|to (?!answer)))"
    rf"|\b{_SELF} (?:have|found|find|see) (?:no|not enough|insufficient) {_KNOWLEDGE}"
    rf"|\b{_SELF} (?:cannot|can't|can not|could not|couldn't|won't|will not"
    r"|must decline|have to decline|(?:am |are |was |were )?(?:unable|not able) to)"
    r"(?! (?:guarantee|say enough|wait|stress))\b"
    r"|\b(?:unable|not able|impossible|not possible) to (?:answer|determine|say|tell|confirm)"
    rf"|\b(?:there (?:is|are|was|were)|contains?|provides?|holds?|has|have|offers?) (?:no"
    rf"|not enough|insufficient) {_KNOWLEDGE}"
    r"|\b(?:context|passages?|documents?|sources?|texts?|information|materials?|excerpts?"
    r"|knowledge base|documentation|article|data|results?|notes?|pages?|files?|manuals?"
    r"|handbooks?|wiki)(?: (?:provided|given|available|retrieved|above|i have|supplied))?"
    r" (?:do|does|did|is|are) ?(?:not|n't) (?:appear to |seem to |explicitly |directly "
    r"|specifically |actually )?(?:contain|mention|provide|include|specify|state|say|discuss"
    r"|cover|address|give|have|sufficient|enough|available|indicate|answer|describe|hold|list)"
    r"|(?:\bnot|n't) (?:mentioned|specified|stated|covered|addressed|included|found"
    r"|described|answered|contained) (?:in|by|within) (?:the|any|these|my|our)"
    r"|\bno (?:relevant |specific |such )?(?:information|details|data|mention|documents?"
    r"|passages?|answer) (?:\w+ ){0,3}(?:was|were|is|are|can be)? ?(?:available|found|provided"
    r"|given|mentioned|on|about|regarding)"
    r"|\banswer (?:is|was) ?(?:not|n't) (?:in|within|part of) (?:the|any|these|my|our)"
    r"|\b(?:cannot|can't|can not|could not|couldn't) be (?:answered|determined|inferred)\b"
    r"|\bnone of the (?:\w+ )?(?:documents|passages|sources|notes|pages|texts|results)"
    r" (?:contains?|mentions?|provides?|specif(?:y|ies)|states?|says?|answers?)\b"
    rf"|^\W*(?:insufficient|not enough) {_KNOWLEDGE}\W*$"
    r"|^\W*(?:I'm |I am )?not sure\b[^,]*\.?$|^\W*(?:unknown|unanswerable|n/a)\.?$"
    r"|^\W*no (?:answer|idea)\b|\bI have no idea|\bI(?:'m| am) not (?:sure|aware|certain)\b",
    re.IGNORECASE,
)
_REFUSAL: Final = re.compile(
    r"\bnot (?:ethical|appropriate|acceptable|legal)(?:,? (?:or|and|nor) \w+)* (?:for me )?to\b"
    r"|\b(?:do|does|can) ?(?:not|n't) (?:condone|promote|encourage|support) (?:or \w+ )?"
    r"|\bagainst my (?:programming|guidelines|principles)|\basking about [^.]* is not appropriate",
    re.IGNORECASE,
)
_CUES: Final = (
    "no", "n't", "n/a", "unable", "unanswer", "impossible", "decline", "insufficient", "against my",
)  # fmt: skip
"""Every match of the patterns contains one of these; most sentences contain none."""
_CONDITION: Final = re.compile(r"^\W*(?:if|when|unless|whenever|in case) you\b", re.IGNORECASE)
_APOLOGY: Final = re.compile(
    r"^\W*(?:unfortunately,? )?(?:I(?:'m| am) |we(?:'re| are) )?(?:very |so |truly )?"
    r"(?:sorry|apologi[sz]e|apologies)(?: for [^.,:]{0,60})?\W*",
    re.IGNORECASE,
)
_OFFER: Final = re.compile(
    r"\b(?:instead|please|you (?:may|might|can|could|should)|consult|contact|refer to|check"
    r"|recommend|suggest|let me know|feel free|it(?:'s| is) (?:also )?(?:important|best|essential"
    r"|crucial)|additionally|it is also|always|if you"
    # Offers and apologies in other languages.
    r"|bitte|tut (?:mir|uns) (?:\w+ )?leid|veuillez|n'hésitez pas|contactez|désolée?s?|por favor"
    r"|póngase en contacto|lo siento|per favore|contatt\w+|mi dispiace|entre em contato|desculpe"
    r"|neem contact|het spijt (?:me|ons)|proszę|przepraszam)\b"
    r"|お問い合わせ|申し訳|请|請|抱歉|문의|죄송",
    re.IGNORECASE,
)
_HEAD: Final = 2
"""Number of first sentences searched for a refusal."""
_LONGEST_REST: Final = 1
"""Maximum further sentences of substance in an abstaining answer."""


def declines(sentence: str) -> bool:
    """Whether a sentence says that the answer is not known or not given."""
    text = sentence.replace("’", "'")
    if _CONDITION.match(text):
        return False
    lower = text.lower()
    if any(cue in lower for cue in _CUES) and (_LACK.search(text) or _REFUSAL.search(text)):
        return True
    return declines_elsewhere(text)


def read_abstention(answer: str) -> Verdict:
    """Decide whether an answer declines; one that goes on to answer does not.

    An empty answer neither answers nor abstains.
    """
    claims = [claim.text for claim in split_claims(answer)]
    if not claims:
        return Verdict(abstained=False, reasoning="The answer states nothing.")
    head = [
        at for at, text in enumerate(claims[:_HEAD]) if declines(text) or _APOLOGY.fullmatch(text)
    ]
    if not head:
        return Verdict(abstained=False, reasoning="It does not begin by declining.")
    rest = [t for t in claims if not (declines(t) or _APOLOGY.fullmatch(t) or _OFFER.search(t))]
    first = claims[head[0]]
    said = first if len(first) <= 80 else first[:79] + "…"
    if len(rest) > _LONGEST_REST:
        return Verdict(abstained=False, reasoning=f'It says "{said}" and answers nevertheless.')
    return Verdict(abstained=True, reasoning=f'It says "{said}".')
