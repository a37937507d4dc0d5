"""docs/matching.md#matching: the rule that compares a chunk with an anchor, and quotations.

Written from the definitions, character by character where the package uses patterns.
"""

from __future__ import annotations

import html
import re
import unicodedata

from pytest_rageval.metrics.matching import norm_text
from tests.naive.matching import (
    Values,
    anchor_segments,
    matches,
    norm_heading,
    same_document,
)

RULES = ("heading", "snippet", "pages", "document")
UNSPACED = (
    *(range(0x0E00, 0x0F00), range(0x1000, 0x10A0), range(0x1780, 0x1800)),
    *(range(0x2E80, 0xA000), range(0xF900, 0xFB00), range(0x20000, 0x40000)),
)


def pages_of(place: Values) -> set[int]:
    """Pages of an anchor or chunk."""
    return set(place.get("pages") or [])


def whole_text(chunk: Values) -> str | None:
    """Text of a chunk unless it is only the beginning."""
    return None if chunk.get("text_truncated") is True else chunk.get("text")


def rule_of(anchor: Values, chunk: Values, settings: Values) -> str | None:
    """Name the first rule that anchor and chunk allow."""
    if settings.get("matching_mode", "auto") == "heading":
        return "heading"
    names_section, names_pages = bool(anchor_segments(anchor)), bool(pages_of(anchor))
    allowed = {
        "heading": has_heading(chunk, settings) and (names_section or not names_pages),
        "snippet": bool(anchor.get("snippets")) and whole_text(chunk) is not None,
        "pages": names_pages and bool(pages_of(chunk)),
        "document": not names_section and not names_pages,
    }
    for rule in RULES:
        if allowed[rule]:
            return rule
    reported = settings.get("headings_reported", True)
    return "heading" if names_section and reported else None


def has_heading(chunk: Values, settings: Values) -> bool:
    """Say whether a heading is reported; where none of the run has a word, an empty one is not."""
    got = norm_heading(chunk.get("heading_path"))
    return got is not None and (len(got) > 0 or settings.get("headings_reported", True))


def named_by(number: int, case: Values, ranked: list[Values], settings: Values) -> bool:
    """Say whether a number cites its chunk, and not the chunk's section."""
    if settings.get("matching_mode", "auto") == "heading":
        return False
    anchors = [*(case.get("gold_supports") or []), *(case.get("irrelevant_supports") or [])]
    bare = [one for one in anchors if pages_of(one) and not anchor_segments(one)]
    return bool(bare) or not has_heading(ranked[number - 1], settings)


def agrees(rule: str, anchor: Values, chunk: Values, settings: Values) -> bool:
    """Say whether a chunk of the anchor's document matches by a rule."""
    if rule == "heading":
        return matches(anchor, chunk, settings)
    if rule == "snippet":
        held = [holds(snippet, chunk["text"]) for snippet in anchor["snippets"]]
        return all(held) if settings.get("snippets") == "all" else any(held)
    return rule == "document" or bool(pages_of(anchor) & pages_of(chunk))


def rule(row: Values) -> Values:
    """Answer one row of op ``rule``."""
    settings = row.get("settings") or {}
    if not same_document(row["anchor"], row["chunk"], settings):
        return {"rule": None, "match": False}
    found = rule_of(row["anchor"], row["chunk"], settings)
    match = None if found is None else agrees(found, row["anchor"], row["chunk"], settings)
    return {"rule": found, "match": match}


def decide(case: Values, chunk: Values, settings: Values) -> tuple[set[int], bool] | None:
    """Golds of a chunk and whether it is irrelevant; None: a rule is missing."""
    strengths: dict[str, list[tuple[int, bool]]] = {"gold": [], "bad": []}
    golds: set[int] = set()
    anchors = [("gold", i, one) for i, one in enumerate(case.get("gold_supports") or [])]
    anchors += [("bad", i, one) for i, one in enumerate(case.get("irrelevant_supports") or [])]
    for kind, index, anchor in anchors:
        if not same_document(anchor, chunk, settings):
            continue
        rule = rule_of(anchor, chunk, settings)
        if rule is None:
            return None
        if agrees(rule, anchor, chunk, settings):
            strengths[kind].append((len(anchor_segments(anchor)), rule in ("snippet", "pages")))
            golds |= {index} if kind == "gold" else set()
    bad, good = strengths["bad"], strengths["gold"]
    if bad and (not good or max(bad) >= max(good)):
        return set(), True
    return golds, False


def comparable(anchor: Values, settings: Values) -> bool:
    """Say whether a run reports anything by which an anchor can be compared."""
    section, auto = bool(anchor_segments(anchor)), settings.get("matching_mode", "auto") == "auto"
    headings = section and settings.get("headings_reported", True)
    if not auto:
        return bool(headings) or not section
    if not section and not pages_of(anchor):
        return True
    texts = bool(anchor.get("snippets")) and settings.get("texts_reported", True)
    pages = bool(pages_of(anchor)) and settings.get("pages_reported", True)
    return bool(headings or texts or pages)


def missing_text(case: Values, chunk: Values, settings: Values) -> bool:
    """Say whether a chunk of any document lacks the text that an anchor would be looked for in."""
    anchors = [*(case.get("gold_supports") or []), *(case.get("irrelevant_supports") or [])]
    quoted = [anchor for anchor in anchors if anchor.get("snippets")]
    if not quoted or whole_text(chunk) is not None:
        return False
    if settings.get("snippets", "off") != "off" or settings.get("coarse_chunks"):
        return True
    if settings.get("matching_mode", "auto") == "heading":
        return False
    if settings.get("headings_reported", True) or has_heading(chunk, settings):
        return False
    narrow = [one for one in quoted if anchor_segments(one) or pages_of(one)]
    return any(not (pages_of(one) and pages_of(chunk)) for one in narrow)


# --- quotations ------------------------------------------------------------------------------


def holds(quote: str, text: str) -> bool:
    """Say whether a text holds a quotation, or most of one that its edge cuts."""
    if norm_text(quote) in norm_text(text):
        return True
    wanted, got = words(quote), words(text)
    if not wanted:
        return False
    if any(got[at : at + len(wanted)] == wanted for at in range(len(got))):
        return True
    return holds_most(" ".join(wanted), " ".join(got))


def letters(text: str) -> int:
    """Count what is no blank."""
    return sum(character != " " for character in text)


def holds_most(wanted: str, got: str) -> bool:
    """Try every cut of a quotation."""

    def counts(part: str) -> bool:
        return len(part.split()) > 1 and letters(part) >= 8

    if got in wanted:
        half = letters(wanted) / 2
        enough = letters(got) >= half if wanted.startswith(got) else letters(got) > half
        return counts(got) and enough
    for at in range(1, len(wanted)):
        head, tail = wanted[:at], wanted[at:]
        if head == head.strip() and f" {got}".endswith(f" {head}"):
            if counts(head) and letters(head) >= letters(wanted) / 2:
                return True
        if tail == tail.strip() and f"{got} ".startswith(f"{tail} "):
            if counts(tail) and letters(tail) > letters(wanted) / 2:
                return True
    return False


def words(text: str) -> list[str]:
    """Words of a text without its markup."""
    text = without_links(without_links(html.unescape(text)))
    text = re.sub(r"<!--.*?-->", " ", text, flags=re.DOTALL)
    text = re.sub(r"</?(?![A-Za-z][\w+.-]*:)[A-Za-z][^<>]*>", " ", text)
    text = "\n".join(re.sub(r"^[ \t>*+-]*\d{1,9}[.)][ \t]+", "", one) for one in text.split("\n"))
    text = "".join(character for character in text if character not in "*`~\\")
    text = joined(text)
    text = "".join(character for character in text if character not in "\u200b\ufeff\u00ad")
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())
    spaced = ""
    for character in folded:
        if unicodedata.category(character)[0] not in "LMN":
            spaced += " "
        elif any(ord(character) in block for block in UNSPACED):
            spaced += f" {character} "
        else:
            spaced += character
    return spaced.split()


def joined(text: str) -> str:
    """Leave out hyphens between letters, with the end of a line after them."""
    made, at = "", 0
    while at < len(text):
        if text[at] in "-\u00ad\u2010\u2011" and at and is_letter(text[at - 1]):
            line = re.match(r"[ \t]*\r?\n[ \t>]*", text[at + 1 :])
            for after in (at + 1 + (line.end() if line else 0), at + 1):
                if after < len(text) and is_letter(text[after]):
                    at = after
                    break
            else:
                made, at = made + text[at], at + 1
            continue
        made, at = made + text[at], at + 1
    return made


def is_letter(character: str) -> bool:
    """Say whether a hyphen may stand beside a character."""
    return re.fullmatch(r"[^\W\d_]", character) is not None


def without_links(text: str) -> str:
    """Leave the names of links and images, and nothing of footnotes."""
    text, parts, at = text, [], 0
    forms = (
        re.compile(r"!?\[\[(?:[^\[\]|]*\|)?(?P<name>[^\[\]|]*)\]\]"),
        re.compile(r"!?\[(?P<name>[^\[\]]*)\](?:\((?:[^()\n]|\([^()\n]*\))*\)|\[[^\[\]]*\])"),
        re.compile(r"\[\^(?P<name>)[^\[\]\s]*\]"),
    )
    while at < len(text):
        found = next((one for form in forms if (one := form.match(text, at))), None)
        if found is None:
            parts.append(text[at])
            at += 1
        else:
            parts.append(found["name"] or " ")
            at = found.end()
    return "".join(parts)
