""""""

from __future__ import annotations

import os
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.support.text import (
    Unit,
    clean,
    counted,
    did_you_mean,
    format_limit_pair,
    format_value,
    is_steerable,
    nearest,
    sentence_ranges,
    sentences,
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


# ---


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "score", "-"),
        (0.0, "score", "0.000"),
        (-0.0, "score", "0.000"),
        (1.0, "score", "1.000"),
        (5 / 6, "score", "0.833"),
        (-0.02, "score", "-0.020"),
        (4.25, "score", "4.250"),
        (0.9996, "score", "0.9996"),
        (0.99996, "score", "0.99996"),
        (0.0004, "score", "0.0004"),
        (-0.0004, "score", "-0.0004"),
        (3.9999, "score", "3.9999"),
        (1 - 1e-12, "score", "1.000"),
        (2600.4, "score", "2600"),
        (2600.4, "ms", "2600"),
        (5.25, "ms", "5.2"),
        (0.0, "ms", "0"),
        (0.0, "usd", "0.00"),
        (0.0042, "usd", "0.0042"),
        (12.346, "usd", "12.35"),
        (3.0, "count", "3"),
    ],
)
def test_format_value(value: float | None, unit: Unit, text: str) -> None:
    assert format_value(value, unit) == text


@pytest.mark.parametrize(
    ("value", "limit", "unit", "texts"),
    [
        (0.7, 0.75, "score", ("0.700", "0.750")),
        (0.75, 0.75, "score", ("0.750", "0.750")),
        (0.8496, 0.85, "score", ("0.8496", "0.8500")),
        (0.8499999, 0.85, "score", ("0.8499999", "0.8500000")),
        (0.85 - 1e-12, 0.85, "score", ("0.850", "0.850")),
        (0.85, 0.8504, "score", ("0.8500", "0.8504")),
        (0.0004, 0.0, "score", ("0.0004", "0.0000")),
        (2500.4, 2500.0, "ms", ("2500.4", "2500.0")),
        (2600.0, 2500.0, "ms", ("2600", "2500")),
        (0.62, 0.5, "usd", ("0.6200", "0.5000")),
        (3.0, 2.0, "count", ("3", "2")),
        (1e6 + 0.25, 1e6, "ms", ("1000000.2", "1000000.0")),
    ],
)
def test_format_limit_pair(value: float, limit: float, unit: Unit, texts: tuple[str, str]) -> None:
    assert format_limit_pair(value, limit, unit) == texts


@given(st.floats(-10, 10), st.floats(-10, 10), st.sampled_from(["score", "ms", "usd", "count"]))
def test_texts_compare_as_the_numbers_do(value: float, limit: float, unit: Unit) -> None:
    shown, against = (float(text) for text in format_limit_pair(value, limit, unit))
    if value < limit - 1e-9:
        assert shown < against
    if value > limit + 1e-9:
        assert shown > against


@given(st.floats(0, 5))
def test_a_score_that_is_not_whole_never_looks_whole(value: float) -> None:
    if abs(value - round(value)) > 1e-9:
        assert float(format_value(value)) != round(value)


# ---


@pytest.mark.parametrize(
    "text",
    [
        "Mr. Smith of the U.S. Army paid $3.5 million.",
        "See docs/a.md, e.g. the part by J. R. Tolkien.",
        "It opens at 9 a.m. on Mondays.",
        "Version 1.2.3 runs on example.com and 10.0.0.1.",
    ],
)
def test_full_stops_inside_a_sentence_do_not_end_it(text: str) -> None:
    assert list(sentences(text)) == [text]


def test_sentences_end_at_stops_and_lines() -> None:
    found = list(sentences('It rose! Did it? "Yes." Then\nit fell... 終わり。次'))
    assert found == ["It rose!", "Did it?", '"Yes."', "Then", "it fell...", "終わり。", "次"]


@given(st.text('a1.!?。 \n"e.g.', max_size=60))
def test_ranges_are_the_whole_text_in_order(text: str) -> None:
    ranges = list(sentence_ranges(text))
    assert "".join(text[start:end] for start, end in ranges) == text
    assert all(start < end for start, end in ranges)


# ---


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
def test_only_a_terminal_that_knows_movements_is_steerable(monkeypatch: pytest.MonkeyPatch) -> None:
    import pty

    ours, theirs = pty.openpty()
    try:
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.delenv("CI", raising=False)
        assert is_steerable(theirs)
        monkeypatch.setenv("CI", "true")
        assert not is_steerable(theirs)
        monkeypatch.setenv("CI", "false")
        monkeypatch.setenv("TERM", "dumb")
        assert not is_steerable(theirs)
    finally:
        os.close(ours)
        os.close(theirs)
    with open(os.devnull, "rb") as file:
        assert not is_steerable(file.fileno())
