"""Secrets are kept out of texts of unknown origin."""

from __future__ import annotations

import time

import pytest

from pytest_rageval.support.http.address import blot_out_written, without_query_secrets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password=hunter22 is wrong", "password=*** is wrong"),
        ("password: hunter22", "password: ***"),
        ("ghp_0123456789abcdefABCD", "***"),
        ("id AKIAABCDEFGHIJKLMNOP", "id ***"),
        ("api_key='''hushed'''", "api_key='''***'''"),
        ('api_key=b"hushed"', 'api_key=b"***"'),
        ("http://u:p@ss@host/x", "http://***@host/x"),
    ],
)
def test_a_text_that_looks_like_a_secret_is_blotted_out(text: str, shown: str) -> None:
    assert blot_out_written(text, []) == shown


@pytest.mark.parametrize(
    "text",
    [
        "connect(password=password, token=self.token)",
        "password = get_password2(name)",
        "api_key=os.environ['KEY']",
        "max_tokens=4096, token: str = None",
        "unexpected token: 12",
        "http://host/a?mail=me@example.org",
        "akiaabcdefghijklmnop",
    ],
)
def test_other_text_is_kept(text: str) -> None:
    assert blot_out_written(text, []) == text


@pytest.mark.parametrize("text", ["?" * 100_000, "?_" * 20_000, "token=" * 20_000])
def test_the_time_does_not_grow_with_the_square_of_the_text(text: str) -> None:
    started = time.perf_counter()
    blot_out_written(text, [])
    without_query_secrets(text)
    assert time.perf_counter() - started < 5
