"""Presets against stored replies of their systems, served on loopback."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.case import ask_request
from pytest_rageval.metrics.scoring import score_settings
from pytest_rageval.metrics.view import view_case
from pytest_rageval.project.presets.preset import load_preset, preset_names
from pytest_rageval.project.settings import load_settings
from pytest_rageval.target.calling import call_client
from pytest_rageval.target.mapping import compile_mapping
from pytest_rageval.target.opening import open_target
from pytest_rageval.values.case import Case
from pytest_rageval.values.reply import AskResult
from pytest_rageval.values.settings import Settings
from tests.build.presets import SystemCase, stand_in, stored_replies, system_case
from tests.build.scores import case as scored_case

LISTS = ("retrieved_chunks", "references", "searches")
PLAIN = ("answer", "abstained", "session", "usage")


def ask(case: SystemCase, folder: Path) -> tuple[AskResult, Settings]:
    (folder / "pyproject.toml").write_text(case.toml, encoding="utf-8")
    with stand_in(case) as server:
        settings = load_settings(folder, flags={"rageval_rag_url": server.url}, environ={})
        request = ask_request(Case(id="c-1", question=case.question), settings)
        with open_target(settings, environ=case.environ) as client:
            result = call_client(client, request)
        assert [case.refused(one) for one in server.received] == [""]
    return result, settings


def cited(result: AskResult, settings: Settings) -> list[str | None] | None:
    """Return the documents that the answer's text and the references cite."""
    view = view_case(scored_case(), result.response, score_settings(settings))
    return None if view.citations is None else [one.rel_path for one in view.citations]


def given(result: AskResult) -> dict[str, Any]:
    """Return what a reply gave, without fields that it left out."""
    if result.error is not None:
        return {"error": {"kind": result.error.kind, "message": result.error.message}}
    assert result.response is not None
    found: dict[str, Any] = {name: getattr(result.response, name) for name in PLAIN}
    for name in LISTS:
        values = getattr(result.response, name)
        found[name] = None if values is None else [_set(asdict(value)) for value in values]
    return _set(found)


def _set(fields: dict[str, Any]) -> dict[str, Any]:
    found = {k: list(v) if isinstance(v, tuple) else v for k, v in fields.items()}
    return {
        k: v
        for k, v in found.items()
        if v not in (None, {}) and (k, v) != ("text_truncated", False)
    }


@pytest.mark.parametrize(("preset", "name"), stored_replies())
def test_a_stored_reply_is_read_exactly(preset: str, name: str, tmp_path: Path) -> None:
    case = system_case(preset, name)
    result, settings = ask(case, tmp_path)
    found, expected = given(result), _set(case.expected)
    if result.response is not None:
        # Named where the text of the answer has citations; else they are the references.
        references = dict.fromkeys(one["rel_path"] for one in expected.get("references", []))
        citations = expected.pop("citations", [*references])
        assert (cited(result, settings) or []) == citations
    if expected.get("error", {}).get("message", "") is None:
        # Of a fault in the protocol, whose words are tested elsewhere.
        expected["error"]["message"] = found["error"]["message"]
    assert found == expected


@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_has_the_replies_of_all_kinds(preset: str) -> None:
    names = {name for of, name in stored_replies() if of == preset}
    assert {"success", "refusal", "empty", "error"} <= names
    assert system_case(preset, "error").expected["error"]["kind"] in {"target", "http"}


@pytest.mark.parametrize("preset", preset_names())
def test_a_preset_says_what_it_cannot_know_and_compiles(preset: str) -> None:
    found = load_preset(preset)
    assert found.lost
    assert found.docs.startswith("https://")
    assert bool(found.address) != ("target.url" in found.settings)
    for one in found.variables.values():
        assert (one.default is None) != (one.example is None)
    for direction in ("request", "response"):
        table = found.settings[f"target.{direction}"]
        plain = {name: _without_places(text) for name, text in table.items()}
        compile_mapping(plain, direction)


def _without_places(text: str) -> str:
    return re.sub(r"\{vars\.\w+\}", "`1`", text)


@pytest.mark.parametrize("preset", preset_names())
def test_a_reply_of_another_system_is_an_error(preset: str, tmp_path: Path) -> None:
    other = replace(system_case(preset, "success"), reply={"state": "fine", "count": 3})
    result, _ = ask(other, tmp_path)
    assert result.response is None
    assert result.error is not None
    assert result.error.kind == "protocol"
    assert "keys of the reply: count, state" in result.error.message
