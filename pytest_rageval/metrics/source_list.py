"""The list of sources with which an answer may end: ``Sources:`` and the names below it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Final

from pytest_rageval.metrics.courtesies import courtesy, yes_or_no
from pytest_rageval.support.sentences import sentences
from pytest_rageval.values.reply import Citation, RetrievedChunk

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
_ENDS: Final = (".", "。", "！", "!", "？", "?")
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
    short = len(words) <= (4 if body.endswith(_ENDS) else 16)
    if _WORK.search(body):
        return len(words) <= 60
    if bare == line.lstrip():  # without a bullet it may as well be what was asked for
        return short and _PLACE.search(body) is not None
    if _YEAR.search(body):
        return len(words) <= 60 and not (len(words) > 12 and "," not in body)
    if _UNSPACED.search(body):
        return len(body) <= 40 and not body.endswith(_ENDS)
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
    return begins or len(words) <= 4 or not body.endswith(_ENDS)


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
