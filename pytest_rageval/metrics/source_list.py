"""The list of sources with which an answer may end: ``Sources:`` and the names below it. Pure."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from pytest_rageval.metrics.courtesies import courtesy
from pytest_rageval.support.sentences import sentences

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
    r"|csv|tsv|html?|xml|jsonl?|ya?ml|toml|epub|eml|msg|ipynb|log)\b|\w/\w",
    re.IGNORECASE,
)
_MARKED: Final = re.compile(
    r"(?:\[\^?[^\[\]\n]{1,60}\][:.)]?|【[^【】\n]{1,60}】|\(\d{1,3}\)|<cite\b|\^\d)\s*"
)
_AFTER_SENTENCE: Final = re.compile(r"(?<=[.!?。！？)\]])[ \t]+(?=[\w*_(\[])|(?<=[。！？])")
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_ENDS: Final = (".", "。", "！", "!", "？", "?")
_MOST_LINES: Final = 400
"""Lines of an answer, from its end, that are read."""
_LONGEST_ENTRY: Final = 1_000


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


def closing_sources(text: str) -> tuple[int, int] | None:
    r"""Return the range of the list of sources that ends a text, its label included.

    Courtesies may follow the list. There must be something before it: an answer that is but a list
    answers with it. Without a label each entry is a number in brackets and the name of a document.

    >>> answer = "It lasts two years.\n\nSources:\n- warranty.md\n\nHope this helps!"
    >>> start, end = closing_sources(answer)
    >>> answer[start:end]
    'Sources:\n- warranty.md'
    """
    start = end = numbered = None
    is_numbered = True
    for at, last in _lines_from_end(text):
        line = text[at:last]
        if not line.strip(" \t\r*_-=#>|"):
            continue
        found = _label().match(line) if len(line) <= _LONGEST_ENTRY else None
        if found is not None and (found["rest"] is None or is_entries(found["rest"])):
            if found["rest"] is not None or end is not None:
                start, end = at, end or last
                continue
            break  # a label without entries
        if end is None and _is_courtesy(line):
            continue
        if end is None and (inline := _inline(line)) is not None:
            start, end = at + inline, last
            break
        if _is_entry(line) or line.startswith(("  ", "\t")):
            end = end or last
            is_numbered = is_numbered and _is_numbered(line)
            numbered = at if is_numbered else numbered
            continue
        break
    start = numbered if start is None else start
    if start is None or end is None or not re.search(r"\w", text[:start]):
        return None
    return start, end


def _lines_from_end(text: str) -> list[tuple[int, int]]:
    lines: list[tuple[int, int]] = []
    last = len(text)
    while last >= 0 and len(lines) < _MOST_LINES:
        at = text.rfind("\n", 0, last) + 1
        lines.append((at, last))
        last = at - 1
    return lines


def _is_courtesy(line: str) -> bool:
    return len(line) <= _LONGEST_ENTRY and all(map(courtesy, sentences(line)))


def is_entries(text: str) -> bool:
    """Return whether the rest of a line names sources, separated by commas or semicolons."""
    parts = [part for part in re.split(r"[,;、]\s*|\s+(?:and|und|et|y)\s+", text) if part.strip()]
    return _is_entry(text) or (bool(parts) and all(map(_is_entry, parts)))


def _is_entry(line: str) -> bool:
    """Return whether a line names a source rather than stating something."""
    if len(line) > _LONGEST_ENTRY:
        return False
    body = re.sub(rf"^{_BULLET}", "", line).strip().strip("*_ ")
    if _MARKED.match(body):
        return True
    words = body.split()
    if not words:
        return False
    if _DOCUMENT_NAME.search(body):
        return len(words) <= 25
    if _YEAR.search(body):
        return len(words) <= 60 and not (len(words) > 12 and "," not in body)
    if _UNSPACED.search(body):
        return len(body) <= 40 and not body.endswith(_ENDS)
    first = next((c for c in body if c.isalnum()), "a")
    return not first.islower() and len(words) <= (4 if body.endswith(_ENDS) else 16)


def _is_numbered(line: str) -> bool:
    body = re.sub(rf"^{_BULLET}", "", line).lstrip("*_ ")
    found = re.match(r"\[\^?\d{1,3}\]:?\s*", body)
    return found is not None and bool(_DOCUMENT_NAME.search(body, found.end()))


def _inline(line: str) -> int | None:
    """Return where a label begins in the last line, after a sentence: ``Yes. Source: a.md``."""
    for stop in _AFTER_SENTENCE.finditer(line[-2_000:]):
        at = max(len(line) - 2_000, 0) + stop.end()
        found = _label().match(line, at)
        if found is not None and found["rest"] is not None and is_entries(found["rest"]):
            return at
    return None
