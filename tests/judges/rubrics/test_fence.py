"""Untrusted text between lines that no text can forge."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.judges.rubrics.fence import (
    clean_text,
    derive_boundary,
    quoted,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()))


def test_clean_text_drops_every_control_but_newline_and_tab() -> None:
    controls = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) == "Cc"]
    kept = [c for c in controls if clean_text(f"a{c}b") not in {"ab", "a\nb"}]
    assert kept == ["\t"]


@pytest.mark.parametrize(
    "token",
    [
        *("<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|start_header_id|>", "<|end|>"),
        *("[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<s>", "</s>"),
        *("<start_of_turn>", "<end_of_turn>", "<bos>", "<\uff5cend\u2581of\u2581sentence\uff5c>"),
    ],
)
def test_a_token_that_ends_a_turn_is_broken_up(token: str) -> None:
    assert token not in clean_text(f"a{token}{token}b")
    assert token not in clean_text(f"{token[:2]}\u200b{token[2:]}")
    assert clean_text(clean_text(token)) == clean_text(token)
    assert clean_text(token).replace(" ", "") == token


def test_half_a_surrogate_pair_is_dropped_because_it_cannot_be_sent() -> None:
    assert clean_text("a\ud83db").encode() == b"ab"


@given(ANY_TEXT)
def test_clean_text_is_clean_and_stays_so(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode()
    assert clean_text(cleaned) == cleaned
    assert not any(unicodedata.category(c) == "Cc" and c not in "\n\t" for c in cleaned)


@given(ANY_TEXT)
def test_quoted_text_cannot_leave_its_quotes(text: str) -> None:
    shown = quoted(text)
    inner = shown[1:-1].replace("\\\\", "").replace('\\"', "")
    assert (shown[0], shown[-1]) == ('"', '"')
    assert '"' not in inner
    assert "\n" not in shown


def test_a_boundary_that_stands_in_a_text_is_not_used() -> None:
    first = derive_boundary(["answer"])
    second = derive_boundary(["answer"], avoid=[f"heading {first}"])
    third = derive_boundary(["answer"], avoid=[f"heading {first}", second])
    assert len({first, second, third}) == 3
