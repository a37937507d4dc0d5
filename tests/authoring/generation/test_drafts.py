from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.authoring.generation.drafts import DraftQuestion, as_question, drafts_of
from pytest_rageval.authoring.generation.model import comparable, grounded
from pytest_rageval.authoring.notes import parse_note


def drafts(text: str, path: str = "notes/bike.md") -> list[DraftQuestion]:
    note = parse_note(path, text.encode())
    dropped: Counter[str] = Counter()
    found = list(grounded(drafts_of(note), note, dropped))
    assert not dropped
    return found


def only(text: str) -> DraftQuestion:
    [found] = drafts(text)
    return found


# --- headings --------------------------------------------------------------------------------


def test_a_heading_followed_by_a_list_has_a_fact_for_each_item() -> None:
    for lead in ("You need:\n\n", ""):
        found = only(f"# What do I need to join?\n\n{lead}- a card\n- a *letter*\n")
        assert found.facts == ("a card", "a letter")
        assert found.answer == "a card; a letter"


@pytest.mark.parametrize(
    ("question", "fact", "rest"),
    [
        ("退款需要多长时间？", "退款在十四天内到账。", "如有疑问，请联系客服。"),
        ("كم يستغرق استرداد المبلغ؟", "يستغرق أربعة عشر يومًا.", ""),
        ("धनवापसी में कितना समय लगता है?", "चौदह दिन लगते हैं।", " यह आवेदन से गिना जाता है।"),
        ("Wer zahlt die Fahrt?", "Der Verein zahlt z. B. Züge, d. h. alles.", " „Mehr“ nicht."),
    ],
)
def test_questions_and_sentences_end_as_their_language_writes_them(
    question: str, fact: str, rest: str
) -> None:
    found = only(f"# {question}\n\n{fact}{rest}\n")
    assert (found.question, found.facts) == (question, (fact,))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How far does the bike go?", "How far does the bike go?"),
        ("2.1. how far does the bike go?", "How far does the bike go?"),
        ("**Q: How far does `x` go?**", "How far does x go?"),
        ("How far does it go?", "Cargo bike: How far does it go?"),
        ("Why?", "Cargo bike: Why?"),
        ("कितने दिन?", "Cargo bike: कितने दिन?"),
        ("How far it goes", None),
        ("?", None),
        ("why " * 200 + "?", None),
    ],
)
def test_a_question_stands_on_its_own(text: str, expected: str | None) -> None:
    assert as_question(text, "Cargo bike") == expected


# --- questions with answers ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("qa", "Q: How far does the bike go?\nA: It goes far."),
        ("qa", "**Q:** How far does the bike go?\n\n**A:** It goes far."),
        ("qa", "**Q: How far does the bike go?**\n\nA: It goes far."),
        ("qa", "Question: How far\ndoes the bike go?\n\nAnswer: It goes far."),
        ("qa", "- Q1: How far does the bike go?\n  A1: It goes far."),
        ("qa", "**Q:** How far does the bike go? **A:** It goes far."),
        ("qa", "**Question: How far does the bike go?** Answer: It goes far."),
        ("faq", "**How far does the bike go?** It goes far."),
        ("faq", "**How far does the bike go?**\nIt goes far."),
        ("faq", "**How far does the bike go?**\n\nIt goes far."),
        ("faq", "1. How far does the bike go? It goes far.\n"),
        ("faq", "- **How far does the bike go?**\n\n  It goes far.\n"),
        ("faq", "<details>\n<summary>How far does the <b>bike</b> go?</summary>\n\nIt goes far."),
        ("faq", "<details><summary>How far does the bike go?</summary>It goes far.</details>"),
    ],
)
def test_questions_with_answers_are_read(kind: str, text: str) -> None:
    found = only(f"# FAQ\n\n{text}\n")
    assert (found.kind, found.question) == (kind, "How far does the bike go?")
    assert found.facts == ("It goes far.",)


@pytest.mark.parametrize(
    "text",
    [
        "Is that so? Nobody knows.",
        "> **How far does the bike go?** It goes far.",
        "```\nQ: How far does the bike go?\nA: It goes far.\n```",
        "| Q: How far? | A: far |\n|---|---|\n| a | b |",
        "<details>\n<summary>Show the code</summary>\n\nIt goes far.\n\n</details>",
        "**How far does the bike go?**\n\n**How wide is the whole bike?**",
        "This is a table.",
        "There are the tables.",
        "The desk is open on Tuesdays.",
        "**Note**: mind the gap.",
        "**The desk** holds: many things.",
        "**Why so**: because.",
        "What is a table.",
        "Whether it rains is a question.",
    ],
)
def test_what_neither_asks_nor_defines_gives_no_question(text: str) -> None:
    assert drafts(f"# Words\n\n{text}\n") == []


# --- definitions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "question", "fact"),
    [
        ("**Keyholder**: who opens the desk.", "What is Keyholder?", "who opens the desk."),
        ("- **Keyholder:** opens it.", "What is Keyholder?", "opens it."),
        ("**The desk** – a table.", "What is the desk?", "a table."),
        ("Kestrel is a service of ours.", "What is Kestrel?", "Kestrel is a service of ours."),
        ("The desk is a table. More.", "What is the desk?", "The desk is a table."),
        ("Keys are the best tools.", "What are Keys?", "Keys are the best tools."),
        ("Keys are the best tools. Mind your keys.", "What are keys?", "Keys are the best tools."),
    ],
)
def test_definitions_become_questions(text: str, question: str, fact: str) -> None:
    found = only(f"# Words\n\n{text}\n")
    assert (found.kind, found.question, found.facts) == ("definition", question, (fact,))
    assert found.term in found.question


# --- any note --------------------------------------------------------------------------------

PIECES = st.sampled_from(
    ["# Is it so?", "## What now then?", "Q: Why is it?", "A: Because.", "**Term**: it.",
     "**Why so?** It.", "Kes is a bird.", "- item?", "- Q: x y z?", "  A: b",
     "<summary>Why so?</summary>", "", "text", "> q", "```", "*", "**", "[a](b)",
     "`c` is the end.", "| a |", "|---|", "\t", "&amp;", "\\*", "1. why so? so."]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12))
def test_any_note_gives_drafts_that_its_section_bears_out(lines: list[str]) -> None:
    note = parse_note("a.md", "\n".join(lines).encode())
    for draft in grounded(drafts_of(note), note, Counter()):
        assert draft.question.endswith("?")
        assert draft.facts
        found = [one for one in note.sections if one.heading_path == draft.heading_path]
        assert any(comparable(draft.snippet) in comparable(one.text) for one in found)
