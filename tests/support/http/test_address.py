"""Secrets are kept out of texts of unknown origin."""

from __future__ import annotations

import json
import time
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.support.http.address import (
    blot_out,
    blot_out_of_reply,
    blot_out_written,
    environment_secrets,
    join_url,
    learned_secrets,
    reply_secrets,
    without_query_secrets,
)
from pytest_rageval.values.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://u:p@ss@host/x", "http://***@host/x"),
        ("get http://host/x?accessToken=hushed&k=5", "get http://host/x?accessToken=***&k=5"),
    ],
)
def test_a_secret_in_a_url_is_blotted_out(text: str, shown: str) -> None:
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
        "http://host/a?languageCode=german&maxTokens=500&sortKey=title",
        "akiaabcdefghijklmnop",
        "hf_model_name, eyJudges.eyJudged",
    ],
)
def test_other_text_is_kept(text: str) -> None:
    assert blot_out_written(text, []) == text


@pytest.mark.parametrize("text", ["?" * 100_000, "?_" * 20_000, "token=" * 20_000])
def test_the_time_does_not_grow_with_the_square_of_the_text(text: str) -> None:
    started = time.process_time()
    blot_out_written(text, [])
    without_query_secrets(text)
    assert time.process_time() - started < 5


KEY = 'kEy+/9x=&"<z>canary'
SECRETS = ("sk-abc/def", 'quo"ted', "back\\slash", "schlüssel", "line\nend", "plain-secret")
PIECES = st.sampled_from([*SECRETS, "sk-abc", "\\", '"', "é", "\n", "/", "x"])
TEXTS = st.lists(PIECES, max_size=4).map("".join)


@settings(max_examples=200)
@given(TEXTS, TEXTS, st.booleans(), st.sampled_from(SECRETS))
def test_a_secret_is_found_however_json_escapes_it(
    before: str, after: str, ascii_only: bool, secret: str
) -> None:
    plain = json.dumps([before + secret + after], ensure_ascii=ascii_only)
    for source in (plain, plain.replace("/", "\\/")):
        for known in ((secret,), SECRETS):
            assert secret not in json.loads(blot_out(source, known))[0]


ENVIRON = {
    "APP_TOKEN": "t0ken-of-the-application",
    "DB_PASSWORD": "postgres",
    "DATABASE_URL": "postgresql://lead:s3cret-of-the-database@db.test/runs",
    "http_proxy": "http://ann:word@proxy.test:3128",
    "HOME_PAGE": "https://example.test/a@b",
    "PATH": "/usr/bin",
    "PGPASSWORD": "s3cret-of-libpq",
    "SMTP_PASS": "s3cret-of-mail",
    "PWD": "s3cret-folder",
}


def test_secrets_of_an_environment_are_those_of_names_and_urls() -> None:
    found = set(environment_secrets(ENVIRON)) - set(learned_secrets())
    assert {"t0ken-of-the-application", "postgres", "s3cret-of-the-database", "word"} <= found
    assert {"s3cret-of-libpq", "s3cret-of-mail"} <= found
    assert "s3cret-folder" not in found
    assert not any("example" in secret or "/usr" in secret for secret in found)


def test_secrets_of_an_environment_are_known_without_the_line_end_of_their_file() -> None:
    environ = {
        "APP_TOKEN": "t0ken-of-a-file\r\n",
        "TLS_KEY": "--BEGIN--\nMIIEvQ1BADAN\n/9j4AAQSkZJRg\n",
    }
    for known in (environment_secrets(environ), reply_secrets(environ)):
        assert {"t0ken-of-a-file", "MIIEvQ1BADAN", "/9j4AAQSkZJRg"} <= set(known)
    said = "401 for t0ken-of-a-file; cannot read line 2 of the key, MIIEvQ1BADAN"
    assert (
        blot_out(said, reply_secrets(environ)) == "401 for ***; cannot read line 2 of the key, ***"
    )
    base64 = "/wJalrXUtnFEMI7K7MDENG/bPxRfiCYEXAMPLEKEY"
    assert base64 in environment_secrets({"STORAGE_KEY": base64})
    assert not {*environment_secrets({"SSH_KEY": " /run/id\n", "EMPTY_KEY": "\n"})} - set(
        learned_secrets()
    )


def test_only_secrets_that_are_no_words_are_removed_from_replies() -> None:
    found = set(reply_secrets(ENVIRON)) - set(learned_secrets())
    assert {"t0ken-of-the-application", "s3cret-of-the-database"} <= found
    assert not {"postgres", "word", "lead", "ann"} & found


@pytest.mark.parametrize(
    "spelled",
    [
        KEY,
        "kEy%2B%2F9x%3D%26%22%3Cz%3Ecanary",
        "kEy%2B/9x%3D%26%22%3Cz%3Ecanary",
        'kEy+/9x=&\\"<z>canary',
        'kEy+\\/9x=&\\"<z>canary',
        "kEy%2b%2f9x%3d%26%22%3cz%3ecanary",  # .NET
        "kEy\\u002B/9x=\\u0026\\u0022\\u003Cz\\u003Ecanary",  # .NET
        "a0V5Ky85eD0mIjx6PmNhbmFyeQ==",
    ],
)
def test_a_secret_is_removed_as_urls_json_and_headers_spell_it(spelled: str) -> None:
    assert blot_out(f"it is {spelled}.", [KEY]).replace("=", "") == "it is ***."


@pytest.mark.parametrize("end", ["kEy+/", "kEy%2B%2F9x%3", 'kEy+\\/9x=&\\"<'])
def test_the_part_of_a_secret_at_the_end_of_a_cut_text_is_removed(end: str) -> None:
    assert blot_out(f"it is {end}", [KEY], cut=True) == "it is ***"


@pytest.mark.parametrize(("number", "shown"), [(9182736450918273, "***"), (91827, 91827), (7, 7)])
def test_a_secret_of_digits_is_removed_as_a_number(number: int, shown: object) -> None:
    reply = {"session": number, "pass": True}
    known = ["9182736450918273", "91827"]
    assert blot_out_of_reply(reply, known) == {"session": shown, "pass": True}


def test_secrets_are_removed_from_replies_of_any_mapping_and_sequence() -> None:
    reply = MappingProxyType({"chunks": ({"text": "the key is hushed-1"},)})
    assert blot_out_of_reply(reply, ("hushed-1",)) == {"chunks": [{"text": "the key is ***"}]}


def test_a_host_that_no_name_can_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="the host or the port is not valid"):
        join_url(f"http://{'a' * 70}.test", "/ask")
