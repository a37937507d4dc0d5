"""Sentences of an answer that claim nothing: greetings, lead-ins and farewells. Pure.

A courtesy is recognised by its first words and by being short; one with a digit or an address
states something, such as where to call.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, Literal

Courtesy = Literal["greeting", "lead_in", "farewell"]

_LONGEST: Final = 240
"""Characters of a courtesy."""
_STATES: Final = re.compile(r"\d|\w@\w|://|www\.")
_NAME: Final = (
    r"(?:[ ,]+(?:there|again|everyone|all|team|und herzlich willkommen|(?-i:[A-Z])[\w.'-]*)){0,4}"
)
_GREETING: Final = rf"""
    (?:hello|hi|hey|hiya|greetings|good (?:morning|afternoon|evening|day)|dear|welcome|hallo
    |guten (?:tag|morgen|abend)|servus|grüß gott|moin|sehr geehrte\w*|liebe\w?|bonjour|bonsoir
    |salut|ch(?:er|ère)s?|hola|buen[oa]s (?:días|tardes|noches)|buen día|estimad\w+|ciao
    |buon(?:giorno|asera)|salve|gentile|olá|oi|bo(?:m dia|a tarde|a noite)|prezad\w+|car[oa]s?
    |goede(?:morgen|middag|navond|ndag)|dag|beste|dzień dobry|cześć|witam|szanown\w+|hej
    |god (?:dag|morgon)|merhaba|здравствуйте|привет|добрый день){_NAME}|こんにちは|こんばんは
    |おはようございます
    |お世話になっております|你好|您好|大家好|안녕하세요|안녕하십니까"""
YES: Final = (
    "yes|yep|yeah|ja|jawohl|oui|sí|si|sì|sim|tak|はい|是的?|对|對|可以|네|예|да|evet|ano|jo"
)
NO: Final = "no|nope|nein|nee|non|não|nie|いいえ|不是?|否|不可以|아니요|아니오|нет|hayır|ne|nej"
_LEAD_IN: Final = rf"""
    (?:{YES}|{NO})|(?:(?:yes|sure|certainly|of course|absolutely|definitely|okay|ok|alright
    |all right|right|gladly|no problem|got it|understood|thanks?|thank you|(?:what )?an? (?:great
    |good|excellent) question|(?:great|good|excellent|interesting) question|happy to help
    |glad to help|natürlich|gern(?:e)?|selbstverständlich|klar|sicher|gewiss|kein problem
    |gute frage|vielen dank|bien sûr|certainement|avec plaisir|bonne question|d'accord|merci
    |claro(?: que sí)?|por supuesto|con gusto|buena pregunta|gracias|certo|certamente|volentieri
    |buona domanda|grazie|claro(?: que sim)?|com certeza|com prazer|boa pergunta|obrigad[oa]
    |natuurlijk|zeker|graag gedaan|goede vraag|bedankt|oczywiście|jasne|dobre pytanie|dziękuję
    |конечно|もちろん(?:です)?|承知(?:いた)?しました|かしこまりました|当然(?:可以)?|好的
    |没问题|물론(?:입니다|이죠)?
    |알겠습니다)(?:[ ,!.]+(?:thing|then|here you go|i can (?:help|assist)(?: you)?(?: with (?:that
    |this))?|indeed|(?:for|für|pour|por|per|voor|za) (?:asking|your (?:question|patience)
    |ihre frage|(?:votre|la) question|(?:su|la|tu) pregunta|la (?:tua )?domanda|a pergunta
    |je vraag|pytanie)|(?:i(?:'d| would| will|'ll| am|'m)(?: be)?(?: happy| glad)?
    |let me)(?: to)?(?: help| assist| explain| answer)[^.:]{{0,40}}))*)|i(?:'d| would|'ll| will
    | am|'m) (?:be )?(?:happy|glad) to[^.:]{{0,80}}|let me (?:help|explain|check|look|see|walk
    |break|summari[sz]e|answer)\b[^.]{{0,80}}|here(?:'s| is| are) (?:what|the|a|an|some
    |your)\b[^.]{{0,80}}:|(?:in (?:summary|conclusion)|overall|to summari[sz]e|in short
    |zusammengefasst|en résumé|en resumen|in sintesi|em resumo|samenvattend|podsumowując),?
    |you asked\b[^.]{{0,200}}|it is (?:important|worth|useful|helpful) to (?:note|remember|mention
    |keep in mind) that\ (?:this|there|these|every|each|the)\b[^.]{{0,60}}(?:topic|question
    |subject|matter|aspects|factors|information)\b[^.]*"""
_FAREWELL: Final = r"""
    (?:i )?hope (?:this|that|it|these)\b[^.]{0,40}\b(?:help|useful|clear|answer
    |clarif)\w*[^.]{0,80}|(?:please |just )?(?:let me know|(?:feel free|don't hesitate
    |do not hesitate) to (?:ask|reach|contact|let|come|get)|reach out (?:if|any|to (?:me|us)))\b.*
    |(?:if|should) you (?:have|need|want|require|would like|are looking for
    |'d like)\b[^,]{0,80},\ ?(?:please |just |i |i'm |we |we're )*(?:let (?:me|us)|ask|feel free
    |don't hesitate|do not hesitate|reach out|here|am here|are here|happy|glad|can help|(?:contact
    |tell|message|email) (?:me|us))\b.*|if you have (?:any )?(?:other |more |further 
    |additional )?questions|(?:is there|was there) anything else\b.*|(?:would|do) you (?:like
    |want) (?:me )?to\b.*|(?:you(?:'re| are) )?(?:very |most )?welcome|my pleasure
    |glad i could help|always happy to help|i(?:'m| am) (?:here|always|available
    |ready)\b.{0,20}\bto (?:help|assist|answer)\b.*|(?:have|enjoy) (?:a|your) .{0,20}\b(?:day
    |evening|weekend|time|trip|stay|journey)\b.{0,20}|(?:(?:kind|best|warm|many) )?(?:regards
    |wishes)\b.*|sincerely\b.*|goodbye|bye|take care|cheers|(?:ich )?hoffe,? (?:das|dies|ich
    |diese)\b.*|(?:wenn|falls|sollten) (?:sie|du)\b.{0,40}\bfragen\b.*|bei (?:weiteren 
    |rück)?fragen (?:stehe|helfe?|melde?|bin|sind|gern|einfach|jederzeit)\w*\b.*|(?:lassen sie
    |lass) (?:es )?mich\b.*|(?:ich )?helfe? .{0,20}gern\w*|(?:melde\w*|zögern) (?:sie|dich)\b.*
    |gern(?:e)? geschehen|(?:mit )?(?:freundliche|viele|beste|liebe)[nr]? grüßen?\b.*|(?:kann
    |darf) ich (?:ihnen|dir) (?:sonst )?noch\b.*|schönen (?:tag|abend)\b.*|auf wiedersehen|tschüss
    |n'hésite[zs]? pas à (?:me|nous|poser|demander|revenir|contacter|l)\b.*|j'espère que\b.*
    |si (?:vous avez|tu as|besoin)\b.{0,40}(?:questions?|besoin|aide)\b.*|(?:bien )?cordialement
    |bonne (?:journée|soirée|continuation)\b.*|au revoir|je reste à votre\b.*|espero (?:que|haber
    |ter)\b.*|si (?:tiene[ns]?|necesita[ns]?)\b.{0,30}(?:preguntas?|dudas?|ayuda|más)\b.*
    |no dud[ea][ns]? en (?:pregunt|contact|consult|dec|escrib)\w*\b.*|(?:cordiales )?saludos\b.*
    |que tengas?\b.*|hay algo más\b.*|¿.*\balgo más\b.*|spero (?:che|di)\b.*|se (?:hai|ha|avete
    |avesse)\b.{0,30}(?:domande|dubbi|bisogno)\b.*|non esit\w+\b.*|(?:cordiali
    |distinti) saluti\b.*|buona (?:giornata|serata)\b.*|resto a disposizione\b.*|se (?:tiver
    |precisar|tem)\b.{0,30}(?:dúvidas?|perguntas?|ajuda|algo)\b.*|não hesite\b.*
    |fico à disposição\b.*|atenciosamente|tenha um\w? \w+ (?:dia|tarde|noite)|laat (?:het )?me\b.*
    |(?:als|mocht) (?:je|u)\b.{0,30}\bvragen\b.*|ik hoop dat\b.*|(?:met vriendelijke )?groet(?:en
    |jes)?|fijne dag\b.*|mam nadzieję\b.*|jeśli (?:masz|ma|potrzebujesz)\b.{0,40}(?:pyta\w+
    |pomoc\w*)\b.*|daj mi znać\b.*|pozdrawiam\b.*|miłego dnia\b.*|надеюсь\b.*
    |если у вас\b.*вопрос\w*.*|обращайтесь\b.*|.{0,20}(?:お役に立て|ご不明な点|他にご質問
    |ご質問が|お気軽に).{0,60}
    |.{0,4}希望(?:这|以上|这些|對|对|能).{0,40}|如果?(?:果)?(?:您|你)?(?:还
    |還)?有.{0,12}(?:问题|問題|疑问|疑問).{0,40}
    |.{0,4}(?:请|請)?(?:随时|隨時).{0,40}|祝(?:您|你).{0,20}|.{0,20}(?:도움이 되|궁금한 점
    |추가 질문|다른 질문|언제든지).{0,60}"""
_ASKS: Final = re.compile(
    r"\b(?:who|whom|whose|what|when|where|why|how|which|wer|wen|wem|wessen|was|wann|wo|woher"
    r"|wohin|warum"
    r"|wieso|wie|wieviele?|welche[rsmn]?|qui|que|quoi|quand|où|pourquoi|comment|combien"
    r"|quel(?:le)?s?|lequel"
    r"|quién(?:es)?|qué|cuándo|dónde|por qué|cómo|cuánt[oa]s?|cuál(?:es)?|chi|che|cosa|quando"
    r"|dove|perché"
    r"|come|quant[oiae]|quale?|quali|quem|onde|por que|como|qual|quais|wat|wie|wanneer|waar"
    r"|waarom|hoe"
    r"|welke?|kto|co|kiedy|gdzie|dlaczego|jak|ile|który|która|które)\b|何|誰|いつ|どこ|なぜ"
    r"|どう|どの|いくら"
    r"|什么|什麼|谁|誰|哪|几|幾|多少|怎|为何|누구|무엇|언제|어디|왜|어떻게|얼마|몇|어느",
    re.IGNORECASE,
)
"""A word of a question that yes or no does not answer."""
_ENDS: Final = " \t\r\n*_`#>!.,;:~-–—…。！，、：()[]\"'“”‘’¡¿✨😊👋🙂🎉👍"


@cache  # compiled once an answer is prepared
def _reader() -> re.Pattern[str]:
    parts = {"greeting": _GREETING, "lead_in": _LEAD_IN, "farewell": _FAREWELL}
    kinds = "|".join(f"(?P<{kind}>{_one_line(pattern)})" for kind, pattern in parts.items())
    return re.compile(kinds, re.IGNORECASE)


@cache
def _opening() -> re.Pattern[str]:
    words = (
        "certainly|of course|sure(?: thing)?|absolutely|natürlich|bien sûr|claro|certo|natuurlijk"
    )
    return re.compile(rf"\W*(?:{_one_line(_GREETING)}|{words})\s*[,，、]\s*(?=\w)", re.IGNORECASE)


def _one_line(pattern: str) -> str:
    return re.sub(r"\n\s*", "", pattern).replace(r"\ ", " ")


def courtesy(text: str) -> Courtesy | None:
    """Return the kind of courtesy that a whole sentence is; None: it is not one.

    >>> courtesy("Certainly!"), courtesy("Let me know if you need more."), courtesy("Hello Ann,")
    ('lead_in', 'farewell', 'greeting')
    >>> courtesy("Let me know by calling 555-1234.")
    """
    if len(text) > _LONGEST or _STATES.search(text):
        return None
    found = _reader().fullmatch(text.strip(_ENDS + "?？").replace("’", "'"))
    if found is None and text.rstrip().endswith((":", "：")):
        found = _reader().fullmatch(f"{text.strip(_ENDS)}:".replace("’", "'"))
    if found is not None:
        kind: Courtesy = found.lastgroup  # type: ignore[assignment]
        return kind
    first, comma, rest = text.partition(",")  # "Yes, of course!"
    return courtesy(first) if comma and rest.strip(_ENDS) and courtesy(rest) else None


def yes_or_no(sentence: str) -> Literal["yes", "no"] | None:
    """Return which of the two a sentence says, if it says nothing else."""
    word = sentence.strip(_ENDS).lower()
    return "yes" if re.fullmatch(YES, word) else "no" if re.fullmatch(NO, word) else None


def may_be_answered_by_yes(question: str) -> bool:
    """Return whether a question asks for yes or no: it has no word such as "which"."""
    return bool(question.strip()) and _ASKS.search(question.replace("’", "'")) is None


def opening(sentence: str) -> int:
    """Return the length of a courtesy with which a sentence that states something begins.

    >>> opening("Hello, it lasts two years."), opening("It lasts two years.")
    (7, 0)
    """
    found = _opening().match(sentence[:_LONGEST])
    return 0 if found is None else found.end()
