from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.support.text import (
    clean,
    counted,
    did_you_mean,
    nearest,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\nb\r\nc\td\u2028e", "a b c d e"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b2Jgone", "gone"),
        ("\x1b]0;title\x07text", "]0;titletext"),
        ("a\u202eb\u2066c\u200fd", "abcd"),
        ("zero\u200bwidth\ufeff\u2060", "zerowidth"),
        ("\x00\x08\x7f\x85x", "x"),
        ("half \ud800 pair", "half pair"),
        ("überall 日本 \U0001f600", "überall 日本 \U0001f600"),
        ("", ""),
    ],
)
def test_nothing_that_acts_on_a_terminal_is_left(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(st.text(), st.none() | st.integers(0, 40))
def test_any_text_becomes_one_line_of_visible_characters(text: str, limit: int | None) -> None:
    shown = clean(text, limit)
    assert all(unicodedata.category(character)[0] != "C" for character in shown)
    assert "\n" not in shown
    assert limit is None or len(shown) <= limit


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error file=a.py,line=1::no", ": :error file=a.py,line=1::no"),
        ("x ::Stop-Commands::token", "x : :Stop-Commands::token"),
        ("::add-mask::word", ": :add-mask::word"),
        ("a ##[error]no", "a # #[error]no"),
        ("##vso[task.prependpath]/tmp", "# #vso[task.prependpath]/tmp"),
        ("a ##TeamCity[setParameter name='x']", "a # #TeamCity[setParameter name='x']"),
        ("## [x] ##vso", "## [x] ##vso"),
        ("\x1b[1m:\x00:warning::x", ": :warning::x"),
        ("evals/eval_set.jsonl::error", "evals/eval_set.jsonl::error"),
        ("a::b::c and std::vector", "a::b::c and std::vector"),
        ("# # [x]", "# # [x]"),
    ],
)
def test_a_text_gives_the_runner_of_a_ci_job_no_command(text: str, shown: str) -> None:
    assert clean(text) == shown


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0 cases"), (1, "1 case"), (2, "2 cases"), (1000, "1000 cases")]
)
def test_a_count_takes_the_form_of_its_noun(n: int, text: str) -> None:
    assert counted(n, "case") == text


def test_a_near_name_is_offered_and_a_far_one_is_not() -> None:
    known = ["recall_at_k", "mrr"]
    assert nearest("recal_at_k", known) == "recall_at_k"
    assert nearest("MRR", known) == "mrr"
    assert nearest("wrok", ["Work", "home"]) == "Work"
    assert did_you_mean("recal_at_k", known) == ", did you mean 'recall_at_k'?"
    assert did_you_mean("recal_at_k", known, before="; ") == "; did you mean 'recall_at_k'?"
    assert did_you_mean("latency", known) == ""
    assert did_you_mean(5, known) == ""
