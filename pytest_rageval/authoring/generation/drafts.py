"""Drafts of cases from questions, answers and definitions in the passages of notes. Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from markdown_it.token import Token

from pytest_rageval.authoring.notes import NoteFile, NoteSection, inline_tokens
from pytest_rageval.metrics.quotes import SEPARATORS, spaced
from pytest_rageval.support.text import QUESTION_MARKS
from pytest_rageval.values.case import Anchor

_TEXTUAL: Final = frozenset({"text", "code_inline", "image"})
_BREAKS: Final = frozenset({"softbreak", "hardbreak"})
_SUMMARY: Final = re.compile(r"<summary\b[^>]*>(?P<title>.*?)</summary>(?P<rest>.*)", re.S | re.I)
_MAX_HTML_CHARS: Final = 20_000
_TAG: Final = re.compile(r"<[^<>]*>")
_SENTENCE: Final = re.compile(
    r"(?<=[.!?])(?<!\b[^\W\d_]\.)(?<!\bvs\.)(?<!\bca\.)(?<!\bNo\.)(?<!\bNr\.)(?<!\bDr\.)(?<!\bMr\.)"
    r"(?<!\bMs\.)(?<!\bSt\.)\s+(?=[\"'“„‘«(\[*_`]*[A-Z0-9À-ÞА-Я])|(?<=[。！？।])(?![」』”’）])\s*"
)
_QUESTION: Final = re.compile(r"[^{0}]*[{0}]".format("".join(QUESTION_MARKS)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """One paragraph of a section."""

    kind: Literal["paragraph", "item", "summary"]
    plain: str
    """Text without markup, with line breaks."""
    raw: str
    """Source text, without the marks of its list or quote."""
    lead: str = ""
    """Leading bold words or summary, without markup."""
    line: int = 0
    """Line in the note, from 1."""


def passages_of(section: NoteSection) -> Iterator[Paragraph]:
    """Yield the passages of a section, without tables, quotes and code."""
    quotes, items = 0, 0
    tokens = section.body
    for position, token in enumerate(tokens):
        quotes += (token.type == "blockquote_open") - (token.type == "blockquote_close")
        items += (token.type == "list_item_open") - (token.type == "list_item_close")
        line = (token.map[0] if token.map else 0) + section.first_line + 1
        if quotes:
            continue
        if token.type == "html_block":
            yield from _summaries(token.content, line)
        elif token.type == "inline" and tokens[position - 1].type == "paragraph_open":
            children = inline_tokens(token.content)
            yield Paragraph(
                kind="item" if items else "paragraph",
                plain=plain_text(children),
                raw=token.content,
                lead=_lead(children),
                line=line,
            )


def _summaries(content: str, line: int) -> Iterator[Paragraph]:
    for found in _SUMMARY.finditer(content[:_MAX_HTML_CHARS]):
        title = " ".join(without_tags(found["title"]).split())
        rest = without_tags(found["rest"]).strip()
        yield Paragraph(kind="summary", plain=rest, raw=rest, lead=title, line=line)


def without_tags(text: str) -> str:
    """Return HTML as text.

    >>> without_tags("<b>A &amp; B</b>")
    'A & B'
    """
    return html.unescape(_TAG.sub("", text))


def plain_text(children: Sequence[Token]) -> str:
    """Return inline tokens without their markup."""
    parts = []
    for child in children:
        if child.type in _BREAKS:
            parts.append("\n")
        elif child.type in _TEXTUAL:
            parts.append(child.content)
    return "".join(parts)


def _lead(children: Sequence[Token]) -> str:
    """Return the text of the bold words at the beginning."""
    solid = [child for child in children if child.type != "text" or child.content.strip()]
    if not solid or solid[0].type != "strong_open":
        return ""
    end = next((i for i, child in enumerate(solid) if child.type == "strong_close"), 0)
    return " ".join(plain_text(solid[1:end]).split())


def split_sentences(text: str) -> list[str]:
    """Split text at the ends of its sentences.

    >>> split_sentences("It opens at 8.15. Ask Dr. Roe, e.g. by phone. Then go.")
    ['It opens at 8.15.', 'Ask Dr. Roe, e.g. by phone.', 'Then go.']
    """
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


Kind = Literal["heading", "qa", "faq", "definition", "model"]

MAX_FACT_CHARS: Final = 240
MAX_ANSWER_CHARS: Final = 600
_MAX_QUESTION_CHARS: Final = 300
_MAX_ITEMS: Final = 6
_MIN_WORDS: Final = 3
_MAX_TERM_WORDS: Final = 5

_MARK: Final = r"(?:[*_]{1,2})?"
_ASKS: Final = re.compile(
    rf"\s*{_MARK}(?:Q|Question|F|Frage)\s*+\d*\s*[:.)]{_MARK}\s*(?P<text>\S.*)", re.I | re.S
)
_ANSWERS: Final = re.compile(
    rf"\s*{_MARK}(?:A|Answer|Antwort)\s*+\d*\s*[:.)]{_MARK}\s*(?P<text>\S.*)", re.I | re.S
)
_ANSWER_FOLLOWS: Final = re.compile(
    rf"([{''.join(QUESTION_MARKS)}]{_MARK})\s+(?={_MARK}(?:A|Answer|Antwort)\s*:)", re.I
)
"""Place between a question and its answer on one line."""
_NUMBER: Final = re.compile(r"^(?:\d+(?:\.\d+)*[.)]?|[-*•])\s+")
_PRONOUN: Final = re.compile(r"\b(it|its|this|that|these|those|they|them|their|he|she)\b", re.I)
_DEFINES: Final = re.compile(
    r"(?P<term>(?:(?:The|An?)\s+)?[A-Z][\w'’+.#/-]*(?:\s+[\w'’+.#/-]+){0,3}?)\s+"
    r"(?P<verb>is|are)\s+(?:an?|the|our|one\s+of|any|each|every)\s+\w"
)
_AFTER_TERM: Final = re.compile(r"\s*[:–—-]\s*(?=\S)")
_NO_SUBJECT: Final = frozenset(
    "this that these those it there here he she they we you i what who which where when why how "
    "one two both all some many most each every another such if as while since after before but "
    "and or so then whether no not only also first second third next last today now".split()
)
_NO_TERM: Final = frozenset(
    "note warning tip important example examples caution info hint attention todo fixme status "
    "date author owner version summary result results usage input output returns default goal "
    "q a f question answer frage antwort step see update action actions decision context "
    "attendees agenda".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftQuestion:
    """A question with the location of its answer."""

    question: str
    kind: Kind
    rel_path: str
    heading_path: str
    snippet: str
    """Quote from the section."""
    facts: tuple[str, ...]
    """Key facts, each in the words of the section."""
    answer: str
    line: int
    """Line of the note, from 1."""
    term: str = ""
    """Subject of the question, if known; a part of its text."""

    @property
    def anchor(self) -> Anchor:
        """The evidence of the answer."""
        return Anchor(
            rel_path=self.rel_path, heading_path=self.heading_path, snippets=(self.snippet,)
        )


def drafts_of(note: NoteFile) -> Iterator[DraftQuestion]:
    """Yield the questions of a note, in its order."""
    title = title_of(note)
    for section in note.sections:
        passages = list(passages_of(section))
        found = [
            *_heading(section.title, title, passages),
            *_qa(title, passages),
            *_faq(title, passages),
            *_definitions(note, passages),
        ]
        drafts = (_draft(note, section, one) for one in found)
        yield from sorted(drafts, key=lambda draft: draft.line)


def title_of(note: NoteFile) -> str:
    """Return the first heading of a note, else the words of its file name."""
    first = next((section.title for section in note.sections if section.title), "")
    name = note.rel_path.rpartition("/")[2].rsplit(".", 1)[0]
    return _clean(first) or name.replace("-", " ").replace("_", " ")


def _clean(text: str) -> str:
    """Return a question or title without numbering and markup."""
    flat = re.sub(r"[*_`]+", "", " ".join(text.split()))
    return _NUMBER.sub("", flat).strip()


def as_question(text: str, title: str) -> str | None:
    """Turn a text that ends in a question mark into a self-contained question.

    Returns:
        None: it is not a question, or too short or too long.

    >>> as_question("1. How far does it go?", "Cargo bike")
    'Cargo bike: How far does it go?'
    """
    flat = _clean(text)
    asked = _ASKS.fullmatch(flat)
    flat = asked["text"] if asked else flat
    flat = flat.rstrip("*_ ")
    if not flat.endswith(QUESTION_MARKS) or len(flat) > _MAX_QUESTION_CHARS:
        return None
    if count_words(flat) < _MIN_WORDS or _PRONOUN.search(flat):
        if title and not title.endswith(QUESTION_MARKS):
            flat = f"{title}: {flat}"
    return flat[0].upper() + flat[1:] if count_words(flat) >= _MIN_WORDS else None


def count_words(text: str) -> int:
    """Count the words of a text; a character of a script without blanks is one."""
    return len(spaced(text.translate(SEPARATORS)).split())


# --- the four patterns ------------------------------------------------------------------------


class _Found(NamedTuple):
    """A question, and the passage that answers it or the list items that do."""

    question: str
    kind: Kind
    answer: Paragraph
    items: Sequence[Paragraph] = ()
    term: str = ""


def _heading(heading: str, title: str, passages: Sequence[Paragraph]) -> Iterator[_Found]:
    question = as_question(heading, title)
    if question is None or not passages:
        return
    first = passages[0]
    asks = first.plain.rstrip().endswith(QUESTION_MARKS)
    if asks or first.kind == "summary" or _ASKS.match(first.plain):
        return  # the questions below it are used instead
    announces = first.plain.rstrip().endswith((":", "："))
    items = [one for one in passages[announces:] if one.kind == "item"][:_MAX_ITEMS]
    if items and (announces or first.kind == "item"):
        yield _Found(question, "heading", items[0], items)
    else:
        yield _Found(question, "heading", first)


def _qa(title: str, passages: Sequence[Paragraph]) -> Iterator[_Found]:
    question: str | None = None
    for passage in _lines(passages):
        asked, answered = _ASKS.fullmatch(passage.plain), _ANSWERS.fullmatch(passage.plain)
        if asked:
            question = as_question(asked["text"], title)
        elif answered and question:
            raw = found["text"] if (found := _ANSWERS.fullmatch(passage.raw)) else passage.raw
            answer = replace(passage, plain=answered["text"], raw=raw)
            yield _Found(question, "qa", answer)
            question = None


def _lines(passages: Sequence[Paragraph]) -> Iterator[Paragraph]:
    """Split passages where a question or an answer begins: at a line, or after a question."""
    for passage in passages:
        plain, raw = passage.plain.split("\n"), passage.raw.split("\n")
        if len(plain) != len(raw):
            yield passage
            continue
        parts = [
            (text, source, line)
            for line, pair in enumerate(zip(plain, raw, strict=True), passage.line)
            for text, source in _question_and_answer(*pair)
        ]
        heads = [_ASKS.match(text) or _ANSWERS.match(text) for text, *_ in parts]
        starts = [i for i, head in enumerate(heads) if head]
        for start, end in zip([0, *starts], [*starts, len(parts)], strict=True):
            if start < end:
                texts, sources, lines = zip(*parts[start:end], strict=True)
                yield replace(
                    passage, plain="\n".join(texts), raw="\n".join(sources), line=lines[0]
                )


def _question_and_answer(plain: str, raw: str) -> list[tuple[str, str]]:
    """Return a line without and with its markup; in two parts if it holds question and answer."""
    texts, sources = (_ANSWER_FOLLOWS.sub(r"\1\n", one).split("\n") for one in (plain, raw))
    return list(zip(texts, sources, strict=True)) if len(texts) == len(sources) else [(plain, raw)]


def _faq(title: str, passages: Sequence[Paragraph]) -> Iterator[_Found]:
    for number, passage in enumerate(passages):
        asked, answer = _asked_in(passage)
        question = as_question(asked, title) if asked else None
        if question is None or _ASKS.fullmatch(passage.plain):
            continue
        if answer is None:
            following = passages[number + 1 : number + 2]
            if not following or _asked_in(following[0])[0]:
                continue
            answer = following[0]
        yield _Found(question, "faq", answer)


def _asked_in(passage: Paragraph) -> tuple[str, Paragraph | None]:
    """Return the leading question of a passage, and the rest as its answer.

    None for the answer: the passage is only the question. The question is empty if absent.
    """
    plain = " ".join(passage.plain.split())
    if passage.kind == "summary":
        own = passage if plain else None
        return (passage.lead, own) if passage.lead.endswith(QUESTION_MARKS) else ("", None)
    if (lead := passage.lead.rstrip(":： ")).endswith(QUESTION_MARKS):
        asked = lead
    elif passage.kind == "item" and (found := _QUESTION.match(plain)):
        asked = found[0]
    else:
        return "", None
    rest = plain[len(asked) :].lstrip(" :*_–—-")
    if not rest:
        return asked, None
    raw = passage.raw.partition(asked[-1])[2].lstrip(" :*_\n–—-") or rest
    return asked, replace(passage, plain=rest, raw=raw)


def _definitions(note: NoteFile, passages: Sequence[Paragraph]) -> Iterator[_Found]:
    for passage in passages:
        plain = " ".join(passage.plain.split())
        if passage.lead:
            yield from _labelled(passage, plain)
        elif found := _DEFINES.match(next(iter(split_sentences(plain)), "")):
            term, shown = _subject(found["term"].split(), note)
            if term:
                question = f"What {found['verb']} {shown}?"
                yield _Found(question, "definition", passage, term=term)


def _labelled(passage: Paragraph, plain: str) -> Iterator[_Found]:
    """Yield drafts from ``**Term**: its meaning``."""
    term = passage.lead.rstrip(" :–—-")
    names = [word.casefold() for word in term.split()]
    if not plain.startswith(passage.lead) or not 1 <= len(names) <= _MAX_TERM_WORDS:
        return
    label = _AFTER_TERM.match(plain, len(term))
    no_term = names[0] in _NO_TERM | _NO_SUBJECT or not term[-1].isalnum()
    if label and not no_term:
        answer = replace(passage, plain=plain[label.end() :])
        shown = re.sub(r"^(The|An?)(?= )", lambda found: found[0].lower(), term)
        yield _Found(f"What is {shown}?", "definition", answer, term=shown)


def _subject(words: list[str], note: NoteFile) -> tuple[str, str]:
    """Return the subject of a sentence, bare and as used in a question; both empty: none."""
    if any(word.casefold() in _NO_SUBJECT for word in words):
        return "", ""
    article = words[0] in {"The", "A", "An"}
    bare = " ".join(words[1:] if article else words)
    if article:
        return bare, f"{words[0].lower()} {bare}" if bare else ""
    # A capital at the start of a sentence does not imply a name.
    small = bare[0].lower() + bare[1:]
    if any(re.search(rf"\b{re.escape(small)}\b", line) for line in note.lines):
        return small, small
    return bare, bare


# --- a draft ---------------------------------------------------------------------------------


def _draft(note: NoteFile, section: NoteSection, found: _Found) -> DraftQuestion:
    answer, items = found.answer, found.items
    facts = tuple(_first(one.plain) for one in (items or [answer]))
    whole = "; ".join(facts) if items else _whole(answer.plain)
    return DraftQuestion(
        question=found.question,
        kind=found.kind,
        rel_path=note.rel_path,
        heading_path=section.heading_path,
        snippet=_first(answer.raw),
        facts=tuple(dict.fromkeys(fact for fact in facts if fact)),
        answer=whole[:MAX_ANSWER_CHARS].strip(),
        line=answer.line,
        term=found.term,
    )


def _first(text: str) -> str:
    """Return the first sentence, or its first words if it is too long."""
    sentence = next(iter(split_sentences(" ".join(text.split()))), "")
    fits = len(sentence) <= MAX_FACT_CHARS
    return sentence if fits else sentence[:MAX_FACT_CHARS].rsplit(" ", 1)[0]


def _whole(text: str) -> str:
    """Return as many sentences as fit."""
    kept = ""
    for sentence in split_sentences(" ".join(text.split())):
        if kept and len(kept) + len(sentence) >= MAX_ANSWER_CHARS:
            break
        kept = f"{kept} {sentence}".strip()
    return kept
