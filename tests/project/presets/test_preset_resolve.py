"""A preset, its variables and the settings of a project."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.metrics.scoring import score_settings
from pytest_rageval.metrics.view import view_case
from pytest_rageval.project.presets.preset import load_preset, vars_line
from pytest_rageval.project.settings import (
    config_hash,
    config_warnings,
    load_settings,
    no_target,
    stored_settings,
)
from pytest_rageval.target.contract import parse_ask_response
from pytest_rageval.target.mapping import compile_mapping
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import Settings
from tests.build.presets import system_case
from tests.build.scores import case


def load(folder: Path, text: str, **flags: object) -> Settings:
    (folder / "pyproject.toml").write_text(f"[tool.rageval.target]\n{text}\n", encoding="utf-8")
    return load_settings(folder, flags=flags, environ={})


def fault(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as raised:
        load(folder, text)
    return str(raised.value)


RAGFLOW = 'preset = "ragflow"\nvars = { chat_id = "c-1" }\nurl = "http://127.0.0.1:1"\n'


def sent(settings: Settings, **request: Any) -> Any:
    return compile_mapping(settings.target.request, "request")(request)


def test_one_line_sets_url_path_headers_and_mappings(tmp_path: Path) -> None:
    target = load(tmp_path, 'preset = "dify"').target
    assert (target.url, target.path) == ("https://api.dify.ai", "/v1/chat-messages")
    assert target.headers == {"Authorization": "Bearer env:DIFY_API_KEY"}
    assert isinstance(target.response, dict)
    assert target.response["answer"] == "answer"


@pytest.mark.parametrize("name", ["azure-on-your-data", "ragflow"])
def test_a_preset_names_the_form_of_the_citations(name: str, tmp_path: Path) -> None:
    of = system_case(name, "success")
    (tmp_path / "pyproject.toml").write_text(
        of.toml.replace("[tool.rageval.target]", '[tool.rageval.target]\nurl = "http://h"', 1),
        encoding="utf-8",
    )
    settings = load_settings(tmp_path, flags={}, environ=of.environ)
    reply = compile_mapping(settings.target.response, "response")(of.reply)
    view = view_case(case(), parse_ask_response(reply), score_settings(settings))
    assert [one.rel_path for one in view.citations or ()] == [of.gold]


def test_the_folders_of_a_project_and_the_order_of_a_preset_are_stored_with_a_run(
    tmp_path: Path,
) -> None:
    settings = load(tmp_path, 'preset = "lightrag"\nstrip_root = "/srv/docs"')
    assert (settings.ranked, settings.strip_root) == (False, ("/srv/docs",))
    again = stored_settings(settings)
    assert (again.ranked, again.strip_root) == (False, ("/srv/docs",))
    assert load(tmp_path, 'preset = "lightrag"\nranked = true').ranked


def test_settings_of_a_project_go_before_those_of_a_preset_and_are_named(
    tmp_path: Path,
) -> None:
    text = """
preset = "dify"
path = "/mine"
headers = { authorization = "Basic env:MINE", X-Team = "shop" }
response.answer = "text"
response."debug.retrieved_chunks" = "found"
request."inputs.city" = "`Bonn`"
"""
    settings = load(tmp_path, text)
    origins, target = settings.origins, settings.target
    assert origins["target.preset"] == origins["target.path"] == "pyproject.toml"
    assert origins["target.url"] == "preset dify"
    assert origins["target.response"] == "preset dify, pyproject.toml"
    assert target.path == "/mine"
    assert target.headers == {"authorization": "Basic env:MINE", "X-Team": "shop"}
    assert isinstance(target.response, dict)
    assert target.response["answer"] == "text"
    assert target.response["debug.retrieved_chunks"] == "found"
    assert "retrieved_chunks" not in target.response
    assert target.response["session"] == "conversation_id"
    assert isinstance(target.request, dict)
    assert "inputs" not in target.request


def test_a_variable_is_a_literal_whatever_its_text_and_encoded_in_a_path(tmp_path: Path) -> None:
    hostile = "a`b'c\"d\\e\\`{x} \u00fc"
    (tmp_path / "pyproject.toml").write_text(
        f"[tool.rageval.target]\npreset = 'ragflow'\nvars = {{ chat_id = {json.dumps(hostile)} }}"
    )
    settings = load_settings(tmp_path, flags={}, environ={})
    assert sent(settings, question="q")["chat_id"] == hostile
    text = (
        'preset = "azure-on-your-data"\n'
        'vars = { deployment = "a/b?c", search_endpoint = "https://s", index = "i" }'
    )
    path = load(tmp_path, text).target.path
    assert path == "/openai/deployments/a%2Fb%3Fc/chat/completions?api-version=2024-10-21"


def test_a_missing_variable_is_a_usage_error_that_says_what_to_write(tmp_path: Path) -> None:
    assert fault(tmp_path, 'preset = "ragflow"') == (
        "pyproject.toml:1: [tool.rageval.target] vars: preset 'ragflow' needs chat_id (id of the "
        "chat assistant, as in its address); write "
        'vars = { chat_id = "2ca4b22e878011ef88fe0242ac120005" }'
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('preset = "difi"', "unknown preset 'difi', did you mean 'dify'? There are"),
        ('preset = "Dify"', "did you mean 'dify'?"),
        ('preset = "zzz"', "unknown preset 'zzz'. There are "),
        ("preset = 7", "preset: got 7, expected a string"),
        ('preset = "dify"\nvault = "notes"', "the embedded server has no preset; keep one"),
        (
            'preset = "openai-chat"\nvars = { model = "m" }\nclient = "a:b"',
            "preset, client: the preset has an address; keep one of them",
        ),
        ('preset = "dify"\nvars = 7', "vars: got 7, expected a table"),
        ('preset = "dify"\nvars = { user = { a = 1 } }', "vars.user: got {'a': 1}, expected a te"),
        ('preset = "dify"\nvars = { user = [] }', "vars.user: got [], expected name of the end us"),
        ('preset = "dify"\nvars = { user = "" }', "vars.user: got '', expected name of the end u"),
        ('preset = "dify"\npath = "/{vars.usr}"', "{vars.usr}: unknown variable of preset 'dify'"),
    ],
)
def test_what_is_wrong_is_a_usage_error(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in fault(tmp_path, text)


def test_all_faults_come_at_once(tmp_path: Path) -> None:
    found = fault(tmp_path, 'preset = "ragflow"\nvault = "x"\nretries = "many"')
    assert [part in found for part in ("chat_id", "embedded server", "retries")] == [True] * 3


def test_an_unneeded_variable_is_ignored_with_a_note(tmp_path: Path) -> None:
    settings = load(tmp_path, 'preset = "dify"\nvars = { usr = "ann" }')
    assert list(map(str, config_warnings(settings))) == [
        "[tool.rageval.target] vars usr: ignored, because preset 'dify' has no such variable, "
        'did you mean "user"?'
    ]
    alone = load(tmp_path, 'url = "http://127.0.0.1:1"\nvars = { usr = "ann" }')
    assert list(map(str, config_warnings(alone))) == [
        "[tool.rageval.target] vars usr: ignored, because no preset is set"
    ]


def test_the_stored_settings_are_the_resolved_ones_with_the_name(tmp_path: Path) -> None:
    stored = asdict(stored_settings(load(tmp_path, RAGFLOW)).target)
    assert stored["preset"] == "ragflow"
    assert stored["vars"] == {"chat_id": "c-1"}
    assert stored["path"] == "/api/v1/chat/completions"
    assert stored["request"]["chat_id"] == '`"c-1"`'
    assert stored["headers"] == {"Authorization": "Bearer env:RAGFLOW_API_KEY"}


def test_the_hash_follows_the_resolved_settings_and_not_the_name(tmp_path: Path) -> None:
    by_preset = load(tmp_path, RAGFLOW)
    other_chat = load(tmp_path, RAGFLOW.replace("c-1", "c-2"))
    assert config_hash(by_preset) != config_hash(other_chat)
    stored = asdict(stored_settings(by_preset).target)
    written = "\n".join(
        f"{name}.{json.dumps(key)} = {json.dumps(value)}"
        for name in ("headers", "request", "response")
        for key, value in stored[name].items()
    )
    citations = '[tool.rageval.citations]\npresets = ["id"]'
    by_hand = load(
        tmp_path, f'url = "{stored["url"]}"\npath = "{stored["path"]}"\n{written}\n{citations}'
    )
    assert config_hash(by_hand) == config_hash(by_preset)


def test_a_preset_without_an_address_asks_for_it(tmp_path: Path) -> None:
    settings = load(tmp_path, 'preset = "ragflow"\nvars = { chat_id = "c-1" }')
    assert str(no_target(settings)) == (
        "preset 'ragflow': needs the address of your server: --rag-url, or in "
        '[tool.rageval.target] url = "http://127.0.0.1:9380"'
    )


SAID = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
NEXT = [*SAID, {"role": "user", "content": "?"}]


@pytest.mark.parametrize(
    ("name", "history", "first", "second"),
    [
        ("openai-chat", "live", {"messages": NEXT[2:]}, {"messages": NEXT}),
        ("cohere", "live", {"messages": NEXT[2:]}, {"messages": NEXT}),
        (
            "ragflow",
            "live",
            {"messages": NEXT[2:], "pass_all_history_messages": None, "session_id": None},
            {"messages": NEXT, "pass_all_history_messages": True, "session_id": None},
        ),
        ("openai-responses", "live", {"input": "?"}, {"input": NEXT}),
        ("langgraph", "live", {"input": {"messages": NEXT[2:]}}, {"input": {"messages": NEXT}}),
        ("dify", "server", {"conversation_id": None}, {"conversation_id": "s"}),
        ("dify-agent", "server", {"conversation_id": None}, {"conversation_id": "s"}),
        ("anythingllm", "server", {"sessionId": "s"}, {"sessionId": "s"}),
        (
            "flowise",
            "server",
            {"overrideConfig": {"sessionId": "s"}},
            {"overrideConfig": {"sessionId": "s"}},
        ),
        (
            "vertex-search",
            "server",
            {
                "session": "projects/shop-123/locations/global/collections/default_collection"
                "/engines/docs/sessions/-"
            },
            {"session": "s"},
        ),
        (
            "onyx",
            "server",
            {"chat_session_info": {"persona_id": 0}, "chat_session_id": None},
            {"chat_session_info": None, "chat_session_id": "s"},
        ),
    ],
)
def test_a_later_turn_is_sent_with_its_conversation_or_its_session(
    tmp_path: Path, name: str, history: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    known = load_preset(name)
    text = f"preset = {name!r}\nurl = 'http://127.0.0.1:1'\n"
    if needed := {one.name: one.example for one in known.required}:
        text += vars_line(needed) + "\n"
    settings = load(tmp_path, text)
    assert settings.target.history == history
    of_server = {"session": "s"} if history == "server" else {}
    said = {} if of_server else {"history": SAID}
    for turn, more, expected in ((1, of_server, first), (2, {**of_server, **said}, second)):
        body = sent(settings, question="?", uuid="u", turn=turn, **more)
        assert {key: body.get(key) for key in expected} == expected
