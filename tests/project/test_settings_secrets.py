from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from pytest_rageval.project.settings import (
    config_warnings,
    stored_settings,
)
from pytest_rageval.values.settings import Settings, TargetSettings
from tests.project.settings_files import faults, write


@pytest.mark.parametrize("url", ["http://ann:hunter2@host", "ann:hunter2@host", "http://hunter2@h"])
def test_credentials_in_a_url_are_refused_and_not_repeated(tmp_path: Path, url: str) -> None:
    (fault,) = faults(tmp_path, {"rageval_rag_url": url})
    assert "hunter2" not in fault
    assert fault.endswith('"Basic env:RAG_LOGIN", where the variable holds user:password in base64')


def test_a_wrong_header_is_refused_without_its_value(tmp_path: Path) -> None:
    write(tmp_path, "[tool.rageval.target]\nheaders = { Authorization = ['hunter2'] }\n")
    (fault,) = faults(tmp_path)
    assert fault == (
        "pyproject.toml:2: [tool.rageval.target] headers.Authorization: got a value of type list, "
        'expected a string such as "env:RAG_TOKEN"'
    )


@pytest.mark.parametrize(
    ("name", "value", "count"),
    [
        ("Authorization", "Bearer abc", 1),
        ("X-Api-Key", "abc", 1),
        ("Cookie", "abc", 1),
        ("Authorization", "env:TOKEN", 0),
        ("Authorization", "Bearer env:TOKEN", 0),
        ("X-Tenant", "acme", 0),
    ],
)
def test_a_literal_secret_in_a_header_is_warned_about(name: str, value: str, count: int) -> None:
    settings = Settings(rootdir="", target=TargetSettings(headers={name: value}))
    warnings = list(map(str, config_warnings(settings)))
    assert len(warnings) == count
    assert "abc" not in "".join(warnings)


def test_a_secret_param_is_warned_about_and_a_token_count_is_not() -> None:
    settings = Settings(rootdir="", params={
        "api_key": "abc", "openAIApiKey": "abc", "accessToken": "abc",
        "max_tokens": 5, "tokens": "many", "maxTokens": "many",
    })  # fmt: skip
    names = ["params api_key", "params openAIApiKey", "params accessToken"]
    assert [warning.split(":")[0] for warning in list(map(str, config_warnings(settings)))] == names


@pytest.mark.parametrize(
    ("request_", "stored"),
    [
        ("{q: question, api_key: 'hushed'}", "{q: question, api_key: '***'}"),
        ({"q": "question", "accessToken": "'hushed'"}, {"q": "question", "accessToken": "'***'"}),
    ],
)
def test_a_key_in_the_text_of_a_request_is_warned_about_and_not_stored(
    request_: str | dict[str, str], stored: object
) -> None:
    settings = Settings(rootdir="", target=TargetSettings(request=request_))
    (warning,) = list(map(str, config_warnings(settings)))
    assert "env.RAG_TOKEN" in warning
    assert stored_settings(settings).target.request == stored
    for harmless in ("{mode: 'hushed', max_tokens: '4096', token: env.TOKEN}", None):
        plain = Settings(rootdir="", target=TargetSettings(request=harmless))
        assert list(map(str, config_warnings(plain))) == []
        assert stored_settings(plain).target.request == harmless


def test_the_stored_settings_hold_no_secret() -> None:
    settings = Settings(
        rootdir="",
        params={
            "api_key": "abc",
            "nested": {"token": "abc"},
            "list": [{"secret": "abc"}, 1],
            "mode": "fast",
        },
        target=TargetSettings(
            path="/ask?debug=true&api_key=abc&max_tokens=5",
            headers={"Authorization": "Bearer abc", "X-Key": "Key env:NAME"},
        ),
    )
    document = asdict(stored_settings(settings))
    assert "abc" not in str(document)
    assert document["params"]["mode"] == "fast"
    assert document["params"]["list"] == [{"secret": "(hidden)"}, 1]
    assert document["target"]["path"] == "/ask?debug=true&api_key=(hidden)&max_tokens=5"
    assert document["target"]["headers"] == {"Authorization": "(hidden)", "X-Key": "Key env:NAME"}
