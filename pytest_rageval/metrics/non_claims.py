"""Parts of an answer that claim nothing: courtesies and the list of sources. Pure.

A courtesy is recognised by its first words and by being short; one with a digit or an address
states something, such as where to call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Final, Literal

from pytest_rageval.support.text import sentences
from pytest_rageval.values.reply import Citation, RetrievedChunk

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


Known = Sequence[RetrievedChunk | Citation]
Names = Callable[[], frozenset[str]]
_LABELS: Final = r"""
    sources?|references?|citations?|bibliography|works cited|footnotes?|links?|further reading
    |(?:source|reference|relevant) (?:documents?|list|materials?|links?|passages?)
    |documents? (?:used|cited)|quellen?(?:angaben?|nachweise?|verzeichnis|liste)?
    |literatur(?:verzeichnis|angaben)?|referenzen|belege|nachweise|fundstellen?
    |références?(?: bibliographiques)?|bibliographie|fuentes?|referencias?|bibliografía|font[ei]
    |riferimenti|bibliografia|fontes?|referências?|bron(?:nen|vermelding|nenlijst)?|referenties
    |źródł[ao]|odniesienia|bibliografia|käll(?:a|or)|referenser|kilder?|lähteet|lähde|kaynak(?:lar
    |ça)?|zdroje?|források|surse|источники?|ссылки|литература|джерела|πηγές|المصادر|مصادر|المراجع
    |מקורות|nguồn|tài liệu tham khảo|sumber|referensi|स्रोत|संदर्भ|参考(?:文献|资料|資料|来源
    |來源|文档|情報)?
    |資料来源|资料来源|資料來源|来源|來源|出处|出處|出典|引用(?:元|文献|来源)?|参照(?:元
    |文献)?|情報源|ソース|출처|참고(?: ?(?:문헌|자료))?|참조"""
_QUALIFIERS: Final = r"""
    used|cited|consulted|and|key|list(?: of)?|main|all|my|the|verwendete|genutzte|und|utilisées?
    |citées?|consultées?|et|utilizadas|consultadas|citadas|y|utilizzate|usate|consultate|e|usadas
    |gebruikte|geraadpleegde|en|i"""
_BULLET: Final = r"[ \t]*(?:(?:[-*+•·‣–>|]|\d{1,3}[.)]|[a-z][.)])[ \t]+)*"
_DOCUMENT_NAME: Final = re.compile(
    r"\b[\w-]{2,}://\S|\bwww\.\w|\bdoi[:.]|\]\([^()\s]+\)|\bFile\s*:"
    r"|[\w)\]-]\.(?:md|mdx|markdown|txt|text|rst|adoc|org|tex|pdf|docx?|odt|rtf|pptx?|odp"
    r"|xlsx?|ods"
    r"|csv|tsv|html?|xml|jsonl?|ya?ml|toml|epub|eml|msg|ipynb|log)\b",
    re.IGNORECASE,
)
_PATH: Final = re.compile(r"(?=\S*[^\W\dA-Z_])[\w.-]*(?:/[\w.-]+)+/?(?=$|[,;:)#]|\s[-–—(|])")
"""``docs/fees``, but neither ``INV/2024/001`` nor ``on/off switch``."""
_PLACE: Final = re.compile(
    r"(?<=.)(?:\b(?:sec(?:tions?|\.)|ch(?:apters?|\.)|pages?|pp?\.|par(?:agraphs?|as?\.)"
    r"|art(?:icles?|ikel|ículo|igo|\.)|abschnitt|kapitel|seiten?|s\.|absatz|chapitre|secci[oó]n"
    r"|cap[ií]tulo|p[aá]g(?:ina|\.)|sezione|capitolo|seção|hoofdstuk|paragraaf|blz\.|rozdział"
    r"|str(?:ona|\.))|§+)\s*\d|第\s*[\d一二三四五六七八九十]+\s*[页頁章节節条條項项]|\d\s?ページ",
    re.IGNORECASE,
)
"""A place within a document, after its name."""
_WORK: Final = re.compile(
    r"^[^\W\d][^\n]{0,200}?(?:\((?:19|20)\d\d[a-z]?\)(?=[.,:;]|$)|\bet al\b)|《[^《》\n]{1,60}》"
)
"""A work with its authors and year, or between the marks that titles have in Chinese."""
_MARKED: Final = re.compile(
    r"(?:\[\^?[^\[\]\n]{1,60}\][:.)]?|【[^【】\n]{1,60}】|\(\d{1,3}\)|<cite\b|\^\d)\s*"
)
_AFTER_SENTENCE: Final = re.compile(r"(?<=[.!?。！？)\]])[ \t]+(?=[\w*_(\[])|(?<=[。！？])")
_KEY_WORD: Final = re.compile(r"[^\W_]+")
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_STOPS: Final = (".", "。", "！", "!", "？", "?")
_LONGEST_ENTRY: Final = 1_000
_NAME_TAIL: Final = re.compile(r"\s+[-–—(|]|[,;:]\s")


@cache
def _label() -> re.Pattern[str]:
    """Return the pattern of a line that is a label, or begins with one and a colon."""
    names, words = (re.sub(r"\n\s*", "", part) for part in (_LABELS, _QUALIFIERS))
    more = rf"(?:(?:[ ]*[&/,][ ]*|[ ]+)(?:{words}|{names})){{0,3}}"
    several = rf"(?:(?:{words})[ ]+){{0,2}}(?:{names}){more}"
    around = r"(?:</?(?:b|strong|em|i|u|p|h\d)>|[^\w\n]|_)"
    return re.compile(
        rf"{around}{{0,12}}(?:{several})(?:\s?\(\d+\))?[*_]{{0,3}}[ \t]*"
        rf"(?:{around}{{0,6}}$|[:：][*_]{{0,3}}[ \t]*(?P<rest>\S.*)$)",
        re.IGNORECASE,
    )


def closing_sources(text: str, known: Known = ()) -> tuple[int, int] | None:
    r"""Return the range of the list of sources that ends a text, its label included.

    Courtesies may follow the list. Something must be stated before it: an answer that is but a list
    answers with it. Without a label each entry is a number in brackets and the name of a document.

    Args:
        text: an answer.
        known: chunks and references of the response, whose documents such a list may name.

    >>> answer = "It lasts two years.\n\nSources:\n- warranty.md\n\nHope this helps!"
    >>> start, end = closing_sources(answer)
    >>> answer[start:end]
    'Sources:\n- warranty.md'
    >>> closing_sources("The booking is confirmed.\n\nReference: AB-123456")
    """
    start = end = numbered = None
    is_numbered, named = True, False
    names = cache(
        lambda: frozenset(key for one in known for key in name_keys(one.rel_path, one.heading_path))
    )
    lines = _lines_from_end(text)
    labels = {
        at: found
        for at, last in lines
        if last - at <= _LONGEST_ENTRY and (found := _label().match(text, at, last))
    }
    first_label = min(labels, default=len(text))
    for at, last in lines:
        line = text[at:last]
        if not line.strip(" \t\r*_-=#>|"):
            continue
        found = labels.get(at)
        if found is not None and (found["rest"] is None or is_entries(found["rest"], names)):
            if found["rest"] is not None or named:
                start, end = at, end or last
                named = False
                continue
            break  # a label without entries
        if end is None and _is_courtesy(line):
            continue
        if end is None and (inline := _inline(line, names)) is not None:
            start, end = at + inline, last
            break
        is_numbered = is_numbered and _is_numbered(line)
        if not is_numbered and at < first_label:
            break  # whatever it is, no list can begin with it or above it
        is_entry = _is_entry(line, names)
        if not is_entry and not line.startswith(("  ", "\t")):
            break
        end = end or last
        named = named or is_entry
        numbered = at if is_numbered else numbered
    start = numbered if start is None else start
    if start is None or end is None or not _is_stated(text[:start]):
        return None
    return start, end


@lru_cache(maxsize=8192)
def name_keys(rel_path: str | None, heading_path: str | None = None) -> tuple[str, ...]:
    """Return the names that a list may have for a document or a section of it, to be compared.

    >>> [*name_keys("help/card_fees.md", "# Fees > ## Late return")]
    ['help card fees md', 'card fees md', 'card fees', 'fees late return', 'fees', 'late return']
    """
    names: list[str] = []
    if rel_path:
        name = rel_path.replace("\\", "/").rpartition("/")[2]
        names += [rel_path, name, re.sub(r"\.\w{1,8}$", "", name)]
    if heading_path:
        names += [heading_path, *heading_path.split(" > ")]
    return tuple(filter(None, map(_key, names)))


def _key(name: str) -> str:
    return " ".join(_KEY_WORD.findall(name.casefold()))


def _is_stated(text: str) -> bool:
    """Whether a text has more than courtesies; ``Yes.`` may be all that an answer states."""
    if len(text) > 1_000:
        return True
    stated = (one for one in sentences(text) if courtesy(one) is None or yes_or_no(one))
    return any(re.search(r"\w", one) for one in stated)


def _lines_from_end(text: str) -> list[tuple[int, int]]:
    lines: list[tuple[int, int]] = []
    last = len(text)
    while last >= 0 and len(lines) < 400:
        at = text.rfind("\n", 0, last) + 1
        lines.append((at, last))
        last = at - 1
    return lines


def _is_courtesy(line: str) -> bool:
    return len(line) <= _LONGEST_ENTRY and all(map(courtesy, sentences(line)))


def is_entries(text: str, names: Names) -> bool:
    """Return whether the rest of a line names sources, separated by commas or semicolons."""
    parts = [part for part in re.split(r"[,;、]\s*|\s+(?:and|und|et|y)\s+", text) if part.strip()]
    return _is_entry(text, names) or (bool(parts) and all(_is_entry(one, names) for one in parts))


def _is_entry(line: str, names: Names) -> bool:
    """Return whether a line names a source rather than stating something."""
    if len(line) > _LONGEST_ENTRY:
        return False
    bare = re.sub(rf"^{_BULLET}", "", line)
    body = bare.strip().strip("*_ ")
    if _MARKED.match(body) or _names_document(body):
        return True
    if not known_names(body).isdisjoint(names()):
        return True
    words = body.split()
    first = next((c for c in body if c.isalnum()), "a")
    if not words or first.islower():
        return False
    short = len(words) <= (4 if body.endswith(_STOPS) else 16)
    if _WORK.search(body):
        return len(words) <= 60
    if bare == line.lstrip():  # without a bullet it may as well be what was asked for
        return short and _PLACE.search(body) is not None
    if _YEAR.search(body):
        return len(words) <= 60 and not (len(words) > 12 and "," not in body)
    if _UNSPACED.search(body):
        return len(body) <= 40 and not body.endswith(_STOPS)
    return short


def known_names(entry: str) -> frozenset[str]:
    """Return the names, of the kind of ``name_keys``, that an entry may give for its document."""
    return frozenset(map(_key, (entry, _NAME_TAIL.split(entry, maxsplit=1)[0]))) - {""}


def _names_document(body: str) -> bool:
    """Whether an entry is a path, a file or an address, with its title and place at most."""
    if _PATH.match(body):
        return True
    found = _DOCUMENT_NAME.search(body)
    words = body.split()
    if found is None or len(words) > 25:
        return False
    after = re.sub(r"^\S*", "", body[found.end() :]).lstrip()
    if after[:1].islower() and not (_DOCUMENT_NAME.search(after) or _PLACE.match(f" {after}", 1)):
        return False  # "manual.pdf says so"
    begins = len(body[: found.start()].split()) <= 1
    return begins or len(words) <= 4 or not body.endswith(_STOPS)


def _is_numbered(line: str) -> bool:
    found = re.match(rf"{_BULLET}[*_ ]*\[\^?\d{{1,3}}\]:?\s*", line)
    return found is not None and bool(_DOCUMENT_NAME.search(line, found.end()))


def _inline(line: str, names: Names) -> int | None:
    """Return where a label begins in the last line, after a sentence: ``Yes. Source: a.md``."""
    if ":" not in line and "：" not in line:
        return None
    for stop in _AFTER_SENTENCE.finditer(line[-2_000:]):
        at = max(len(line) - 2_000, 0) + stop.end()
        found = _label().match(line, at)
        if found is not None and found["rest"] is not None and is_entries(found["rest"], names):
            return at
    return None
