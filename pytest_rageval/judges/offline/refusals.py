"""Wordings of a refusal in other languages than English, which ``abstention`` has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

_PATTERNS: Final[Mapping[str, Sequence[str]]] = {
    "German": (
        r"\b(?:ich|wir) (?:wei(?:ß|ss)|wissen) (?:\w+ ){0,4}nicht\b",
        r"\b(?:wei(?:ß|ss)|wissen) (?:ich|wir) (?:\w+ ){0,3}nicht\b",
        r"\b(?:kann|können|konnte|konnten|lässt|lassen)\b~\bnichts? (?:\w+ ){0,2}(?:beantwort"
        r"|ermitteln|entnehmen|entnommen)",
        r"\b(?:(?:ich|wir) (?:kann|können|konnten?)|(?:kann|können|konnten?) (?:ich|wir))\b~\b"
        r"(?:keine Antwort|nichts? (?:\w+ ){0,2}(?:sagen|finden|bestätigen|beurteilen|mitteilen))",
        r"\b(?:habe|haben|hab|finde|finden|fand|fanden|konnte|konnten|gibt|liegen|liegt|sind"
        r"|wurden|stehen|enthält|enthalten)\b~\bkeine[nrs]? @(?:Informationen?|Infos?|Angaben?"
        r"|Hinweise?|Daten|Antwort|Aussagen?|Auskunft|Kenntnis|Erkenntnisse|Dokumente?)\b"
        r"(?! (?:\w+ ){0,3}(?:erforderlich|nötig|notwendig)\b)",
        r"\bnicht (?:möglich|in der Lage)\b~,?~\bzu beantworten\b",
        r"\b(?:Kontext\w*|Dokument\w*|Unterlagen|Quellen?|Text\w*|Informationen|Passagen?"
        r"|Auszüge\w*|Abschnitt\w*|Handbuch|Wissensdatenbank)\b~\b(?:enth\w+|nenn\w+|erwähn\w+"
        r"|liefer\w+|beantwort\w+|sag\w+|steh\w+|geht|hervor)\b~\b(?:nicht|nichts"
        r"|keine[nrs]?)\b",
        r"\bnicht (?:\w+ ){0,2}(?:im|in den|in dem|in der|aus dem|aus den) (?:\w+ )?(?:Kontext"
        r"|Dokument|Unterlagen|Quellen?|Text)",
        r"^\W*keine (?:Angaben?|Antwort|Ahnung|Informationen)\b[^.]{0,30}\W*$",
    ),
    "French": (
        r"\b(?:je|nous) ne (?:sa\w+|connai\w+|dispos\w+|trouv\w+|vois|voyons|possèd\w+"
        r"|parvien\w+)\b (?:\w+ )?(?:pas|rien|aucune?)\b",
        r"\b(?:je|nous) n'(?:ai|avons) (?:\w+ )?(?:pas|rien|aucune?) @(?:[dl]')?(?:informations?"
        r"|réponses?|données?|renseignements?|détails?|trouvé|connaissance|idée|mention)\b",
        r"\b(?:je|nous) ne (?:peu\w+|pouvons) (?:\w+ )?pas (?:\w+ ){0,2}(?:répond|trouv|dire"
        r"|détermin|confirm|précis|renseign|fournir (?:\w+ )?(?:[dl]')?(?:information|réponse))",
        r"\b(?:je|nous) ne (?:suis|sommes) (?:\w+ )?pas (?:en mesure|capables?|au courant"
        r"|certaine?s?|sûre?s?)\b",
        r"\b(?:contextes?|documents?|passages?|sources?|textes?|extraits?|informations?"
        r"|documentation|données)\b~\bn(?:e |')(?:contien\w+|mentionn\w+|précis\w+|indiqu\w+"
        r"|fourni\w+|permet\w*|donn\w+|spécifi\w+|répond\w+|abord\w+) (?:pas|aucune?|rien)\b",
        r"\baucune? (?:\w+ )?(?:information|donnée|réponse|mention|document|source)\b(?:\W*$"
        r"|~\b(?:disponible|trouvée?|fournie?|figure|mentionne|précise|indique|permet|concernant"
        r"|sur|à ce sujet|dans \w+ (?:contexte|documents?|sources?|textes?|extraits?))\b)",
        r"\bn'(?:est|sont|a|y a) (?:pas|aucune?) @(?:mentionn\w+|précis\w+|indiqu\w+"
        r"|spécifi\w+|disponibles?|d'information|trouvée?s?)",
        r"\bn'est pas possible de (?:\w+ ){0,2}(?:répondre|déterminer|trouver|savoir)",
        r"\bne figur\w+ pas (?:dans|parmi)",
        r"\b(?:incapable|dans l'incapacité|impossible) de (?:vous )?(?:répondre|trouver|dire)",
    ),
    "Spanish": (
        r"(?:^|\b(?:yo|lo siento,|pero|desafortunadamente,"
        r"|lamentablemente,) )\W*no (?:lo )?(?:sé|sabemos)\b",
        r"\bno (?:tengo|tenemos|dispongo|disponemos|encuentro|encontré|encontramos"
        r"|he encontrado|hemos encontrado|hay|existe|existen|se encontró"
        r"|se encontraron) @(?:información|informacion|datos|respuesta|mención|documentos?"
        r"|conocimiento)\b",
        r"\bno (?:puedo|podemos|pude|pudimos|es posible|se puede"
        r"|soy capaz de) (?:\w+ ){0,2}(?:responder|contestar|determinar|encontrar|confirmar"
        r"|proporcionar|decir)",
        r"\b(?:contexto|documentos?|documentación|pasajes?|fuentes?|textos?|información"
        r"|fragmentos?)\b~\bno (?:se )?(?:contien\w+|mencion\w+|especific\w+|indic\w+"
        r"|incluy\w+|proporcion\w+|dicen?|respond\w+|detall\w+|abord\w+)",
        r"\bno est[áa]n? (?:mencionad|especificad|indicad|disponible)\w*",
        r"\bno se (?:mencion|especific|indic|encuentr|proporcion"
        r"|detall)\w+ (?:\w+ ){0,8}(?:contexto|documentos?|documentación|pasajes?|fuentes?"
        r"|textos?)\b",
    ),
    "Italian": (
        r"(?:^|\b(?:io|mi dispiace,|ma|purtroppo) )\W*non (?:lo )?(?:so|sappiamo)\b",
        r"\bnon (?:ho|abbiamo|ho trovato|abbiamo trovato|trovo|troviamo|ci sono"
        r"|sono disponibili|dispongo di|è presente|sono presenti) @(?:informazion[ei]|dati"
        r"|risposta|documenti|menzione)\b",
        r"\bnon (?:posso|possiamo|sono in grado di|è possibile|riesco a"
        r"|riusciamo a) (?:\w+ ){0,2}(?:rispond\w+|determin\w+|trovar\w+|conferm\w+|dir\w+"
        r"|fornir\w+)",
        r"\b(?:contesto|document[oi]|documentazione|passagg[io]|font[ei]|test[oi]|informazioni"
        r"|estratt[oi])\b~\bnon (?:contien\w+|conteng\w+|menzion\w+|specific\w+|indic\w+"
        r"|fornisc\w+|riport\w+|includ\w+|dic\w+|rispond\w+)",
        r"\bnon (?:è|sono|viene|vengono) (?:menzionat|specificat|indicat|riportat)\w",
    ),
    "Portuguese": (
        r"(?:^|\b(?:eu|desculpe,|mas|infelizmente,) )\W*não (?:o )?(?:sei|sabemos)\b",
        r"\bnão (?:tenho|temos|encontrei|encontramos|há|existem?|foi encontrad\w"
        r"|foram encontrad\w+|disponho de) @(?:informaç\w+|dados|resposta|menção|documentos?)\b",
        r"\bnão (?:posso|podemos|consigo|consegui|conseguimos"
        r"|é possível) (?:\w+ ){0,2}(?:responder|determinar|encontrar|confirmar|dizer"
        r"|fornecer)",
        r"\b(?:contexto|documentos?|documentação|passagens|trechos?|fontes?|textos?"
        r"|informaç\w+)\b~\bnão (?:cont[éê]m|mencion\w+|especific\w+|indic\w+|inclu\w+"
        r"|fornec\w+|inform\w+|diz\w*|respond\w+|est\w+ disponíve\w+)",
        r"\bnão (?:é|são|está|estão|foi) (?:mencionad|especificad|informad|indicad)\w+",
    ),
    "Dutch": (
        r"\b(?:ik|we|wij) we(?:et|ten) (?:\w+ ){0,3}niet\b",
        r"\bweet ik (?:\w+ ){0,2}niet\b",
        r"\b(?:ik|we|wij)\b~\bgeen @(?:informatie|gegevens|antwoord|details|documenten)\b",
        r"\b(?:kan|kunnen|kon) (?:ik|we|wij)?~\bniet (?:\w+ ){0,2}(?:beantwoorden|beantwoord"
        r"|vinden|zeggen|bevestigen|bepalen)\b",
        r"\b(?:context|documenten?|document|bron|bronnen|tekst\w*|passages?|informatie"
        r"|fragmenten)\b~\b(?:bevat\w*|vermeld\w*|noem\w*|geeft|geven|staat|staan)\b~\b(?:geen"
        r"|niet|niets)\b",
        r"\b(?:wordt|worden|is|zijn|staat) (?:\w+ ){0,3}niet (?:vermeld|genoemd|beschreven"
        r"|opgenomen)",
        r"\ber (?:is|zijn|staat) (?:\w+ )?geen @(?:informatie|gegevens|antwoord)\b",
    ),
    "Polish": (
        r"(?:^|\b(?:ja|przykro mi,|niestety,?) )\W*nie wie(?:m|my)\b",
        r"\bnie (?:mam|mamy|posiadam|ma|znam|znalazłem|znalazłam|znaleziono"
        r"|znajduję) @(?:informacji|danych|odpowiedzi|dokumentów|wzmianki)\b",
        r"\bnie (?:mogę|możemy|potrafię|jestem w stanie|można) (?:\w+ ){0,2}(?:odpowiedzieć"
        r"|znaleźć|określić|stwierdzić|potwierdzić|powiedzieć)",
        r"\b(?:kontekst\w*|dokument\w*|źród\w+|tekst\w*|fragment\w*"
        r"|informacj\w+)\b~\bnie (?:zawiera\w*|wspomina\w*|podaj\w+|podan\w+|określa\w*"
        r"|wymienia\w*)",
        r"^\W*brak @(?:informacji|danych|odpowiedzi)\b",
    ),
    "Japanese": (
        r"(?:わかりません|分かりません|わからない|存じません|お答えできません|回答できません"
        r"|お答えすることができません|見つかりません|見当たりません|確認できません"
        r"|判断できません|(?:記載|記述|言及|明記|掲載)されてい(?:ません|ない))",
        r"(?:情報|記載|言及|記述|データ|回答)(?:は|が|も)?[^。]{0,10}(?:[がはも]ない"
        r"|(?<!必要)(?<!必要[はが])(?:あり|ござい)ません|(?:含ま|提供さ)れてい(?:ません|ない))",
    ),
    "Chinese": (
        r"(?:我|我们)?(?:不知道|不清楚|不确定|不確定|無法確定)[^。]{0,20}[。！]?$",
        r"(?:无法|無法)(?:直接)?(?:回答|确定|確定|找到|提供|得知|判断|判斷|确认|確認)",
        r"不能(?:直接)?(?:回答|确定|確定|判断|判斷)",
        r"(?:没有|沒有|未|并未|並未|没|無|无)(?:找到|明确|明確|直接|任何|相关|相關|足够|足夠"
        r"|具体|具體|的|关于|關於)*(?:[^。]{1,20}的)?(?:提到|提及|说明|說明|找到|信息|資訊"
        r"|资料|資料|答案|内容|內容|记载|記載)(?![的限])",
        r"(?:没有|沒有|未)提供[^。]{0,20}(?:信息|資訊|资料|資料|答案|内容|內容|说明|說明)",
    ),
    "Korean": (
        r"(?:모르겠습니다|모릅니다|알 수 없습니다|답변할 수 없습니다|답변드릴 수 없습니다"
        r"|찾을 수 없습니다|확인할 수 없습니다)",
        r"(?:정보|내용|자료|언급|데이터)(?:가|이|는|은|도)? ?(?:없습니다"
        r"|포함되어 있지 않습니다|나와 있지 않습니다|언급되어 있지 않습니다)",
    ),
}
"""Patterns of one sentence each. ``~`` stands for any words of a clause, ``@`` for up to three."""
_CUES: Final[Mapping[str, Sequence[str]]] = {
    "German": ("nicht", "kein"),
    "French": (" ne ", " n'", "aucun", "incapable", "incapacité", "impossible de"),
    "Spanish": ("no ",),
    "Italian": ("non ",),
    "Portuguese": ("não",),
    "Dutch": ("niet", "geen"),
    "Polish": ("nie ", "brak"),
    "Japanese": ("ません", "ない"),
    "Chinese": ("不", "无", "無", "没", "沒", "未"),
    "Korean": ("없", "모르", "모릅", "않"),
}
"""Every match of the patterns of a language contains one of these, and few sentences do."""
_LANGUAGES: Final = tuple((cue, language) for language, cues in _CUES.items() for cue in cues)


@cache  # compiled once a language occurs: all of them take 60 ms
def _reader(language: str) -> re.Pattern[str]:
    whole = "|".join(_PATTERNS[language])
    whole = whole.replace("~", "[^.,?!]{0,60}?").replace("@", r"(?:[\w-]+ ){0,3}")
    return re.compile(whole, re.IGNORECASE)


def declines_elsewhere(text: str) -> bool:
    """Whether a sentence in another language than English says that the answer is not known."""
    lower = text.lower()
    return any(cue in lower and _reader(language).search(text) for cue, language in _LANGUAGES)
