from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.authoring.labelling.snippets import split_passages
from pytest_rageval.metrics.matching import norm_text


def test_sentences_of_markdown_are_quoted_without_its_markers() -> None:
    text = """# Title

A first sentence that
goes on. A second, e.g. this one?

```shell
kpctl move --now
```

> quoted words

1. one item
2. another
   of two lines

| a cell | b |
|---|---|
| 60 s | 5 |
"""
    assert split_passages(text) == (
        "A first sentence that goes on.",
        "A second, e.g. this one?",
        "kpctl move --now",
        "quoted words",
        "one item",
        "another of two lines",
        "| a cell | b |",
        "| 60 s | 5 |",
    )


def test_the_lines_of_a_log_are_quoted_one_by_one_and_those_of_prose_by_sentences() -> None:
    log = [f"12:{minute:02} the pump of hall {minute} was started" for minute in range(60)]
    assert split_passages("\n".join(log)) == tuple(log)
    prose = "A sentence that is broken\nfor its width. Another\none."
    assert split_passages(prose) == ("A sentence that is broken for its width.", "Another one.")


@given(st.text(alphabet="ab .!\n-#>|`1*é", max_size=80))
def test_every_sentence_is_found_word_for_word(text: str) -> None:
    """Except across a marked line, whose mark a snippet would have to hold as well."""
    for passage in split_passages(text):
        if "\n" not in text:
            assert norm_text(passage) in norm_text(text)
        assert "\n" not in passage
