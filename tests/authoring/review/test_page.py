"""The page of a reader over HTTP on loopback, without a browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from pytest_rageval.authoring.keyed.page import _ASSETS, Key
from pytest_rageval.authoring.review.items import ReadSource
from pytest_rageval.authoring.review.page import ReviewPage
from pytest_rageval.authoring.review.session import ReviewSession
from tests.authoring.review.builders import Written, answers, press, serving, session_of
from tests.build.key_pages import Served, admitted


def send(client: httpx.Client, served: Served, revision: int, key: str, text: str = "") -> str:
    reply = client.post(
        "/key",
        json={"key": key, "revision": revision, "text": text},
        headers={"Origin": served.origin},
    )
    assert reply.status_code == 200
    return str(reply.json()["html"])


def test_answers_are_read_and_grouped_over_http() -> None:
    written = Written()
    with serving(session_of(written=written)) as served, admitted(served) as client:
        first = client.get("/").text
        assert "Question 0?" in first
        assert "expected 0" in first
        keys = [("p", ""), ("f", ""), ("enter", "wrong date"), ("g", ""), ("c", "")]
        for revision, (key, text) in enumerate(keys):
            send(client, served, revision, key, text)
        html = send(client, served, 5, "enter", "dates")
        assert "What failed" in html
        assert "dates (1)" in html
        assert 'data-title="Categories - rageval review"' in html
        assert "Done" in send(client, served, 6, "q")
        assert served.ended.wait(10)
    reviews = [line.review for line in written.lines if line.review]
    assert [(one.verdict, one.note, one.category) for one in reviews] == [
        ("pass", "", ""),
        ("fail", "", ""),
        ("fail", "wrong date", ""),
        ("fail", "wrong date", "dates"),
    ]


@pytest.mark.parametrize("mode", ["read", "group"])
def test_hostile_texts_are_escaped(mode: str) -> None:
    nasty = "<script>x</script>\u202e'\""
    one = answers(1)[0]
    case = replace(one.case, question=nasty, expected_answer=nasty)
    passages = tuple(replace(p, rel_path=nasty, text=nasty) for p in one.passages)
    bad = replace(one, case=case, answer=nasty, passages=passages, stage_name=nasty)
    source = ReadSource(place=Path(), name="run", answers=(bad,), random_share=0.5)
    session = ReviewSession(source, (), Written(), reviewer="ann", blind=False)
    press(session, "f", f"'{nasty}", "c", f"'{nasty}", *(["g"] if mode == "group" else []))
    html = ReviewPage(session).page()
    assert html.count("<script>") == 1
    assert "\u202e" not in html
    assert "[U+202E]" in html


def test_a_blind_page_holds_neither_stage_nor_scores() -> None:
    def pages(*, blind: bool) -> str:
        session = session_of(blind=blind)
        page = ReviewPage(session)
        before = page.page()
        press(session, "f", "'late", "c", "'dates", "enter", "f", "'rude", "g")
        shown = (before + page.page()).replace(str(_ASSETS["style"]), "")
        return shown.replace("<wbr>", "")

    ours = ("stage of 0", "correctness", "not_retrieved", "passed", "flipped", "our stage")
    assert [word in pages(blind=False) for word in ours] == [True] * 6
    assert [word in pages(blind=True) for word in ours] == [False] * 6


def test_what_a_key_changed_is_announced() -> None:
    page = ReviewPage(session_of())
    page.page()
    said = page.press(Key(key="p", revision=0)).said
    assert "answer 2 of 4" in said
    assert "no key" in page.press(Key(key="x", revision=1)).said
