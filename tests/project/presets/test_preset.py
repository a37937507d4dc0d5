"""Presets against stored replies of their systems, served on loopback."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.case import ask_request
from pytest_rageval.metrics.scoring import score_case, score_settings
from pytest_rageval.metrics.view import view_case
from pytest_rageval.project.presets.preset import load_preset, preset_names
from pytest_rageval.project.settings import load_settings
from pytest_rageval.report.wording import chunk_sentences
from pytest_rageval.target.mapping import compile_mapping
from pytest_rageval.target.opening import open_target
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.reply import AskResult
from pytest_rageval.values.settings import Settings
from tests.build.asking import ask_client
from tests.build.presets import SystemCase, Systems, all_systems, stored_replies, system_case
from tests.build.records import changed, record
from tests.build.scores import case as scored_case
from tests.docs.examples import read_document, sections

LISTS = ("retrieved_chunks", "references", "searches")
PLAIN = ("answer", "abstained", "session", "usage")


@pytest.fixture(scope="module")
def systems() -> Iterator[Systems]:
    with all_systems() as found:
        yield found


def ask(systems: Systems, system: str, name: str, folder: Path) -> tuple[AskResult, Settings]:
    """Ask a system as a run does."""
    case = system_case(system, name)
    (folder / "pyproject.toml").write_text(case.toml, encoding="utf-8")
    flags = {"rageval_rag_url": systems.url(system, name)}
    settings = load_settings(folder, flags=flags, environ={})
    return ask_with(systems, case, name, settings), settings


def ask_with(systems: Systems, case: SystemCase, name: str, settings: Settings) -> AskResult:
    """Ask a system with other settings."""
    request = ask_request(Case(id="c-1", question=case.question), settings)
    with open_target(settings, environ=case.environ) as client:
        result = ask_client(client, request)
    assert case.refused(systems.received(case.preset, name)[-1]) == ""
    return result


def cited(result: AskResult, settings: Settings) -> list[str | None] | None:
    """Return the documents that the answer's text and the references cite, each once."""
    view = view_case(scored_case(), result.response, score_settings(settings))
    found = view.citations
    return None if found is None else [*dict.fromkeys(one.rel_path for one in found)]


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


REPLIES = stored_replies()
SUCCESSES = sorted({system for system, _ in REPLIES})


def test_every_section_on_systems_without_a_preset_is_asked() -> None:
    titles = [one.title for one in sections(read_document("systems.md")) if one.level == 2]
    assert sorted(titles) == sorted(
        system_case(one, "success").section for one in SUCCESSES if one not in preset_names()
    )


@pytest.mark.parametrize(("system", "name"), REPLIES)
def test_a_stored_reply_is_read_exactly(
    system: str, name: str, systems: Systems, tmp_path: Path
) -> None:
    case = system_case(system, name)
    result, settings = ask(systems, system, name, tmp_path)
    found, expected = given(result), _set(case.expected)
    if result.response is not None:
        # Named where the text of the answer has citations; else they are the references.
        references = dict.fromkeys(one["rel_path"] for one in expected.get("references", []))
        citations = expected.pop("citations", [*references])
        # A reference to the document of a numbered chunk is that citation, at the chunk's place.
        assert Counter(cited(result, settings) or []) == Counter(citations)
    if expected.get("error", {}).get("message", "") is None:
        # Of a fault in the protocol, whose words are tested elsewhere.
        expected["error"]["message"] = found["error"]["message"]
    assert found == expected


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


# --- what a system cannot know ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "name", "outcome"),
    [
        ("hayhooks", "chat_message_of_private_names", "passed"),
        ("hayhooks", "answer_builder", "passed"),
        ("langserve", "message_in_parts", "passed"),
        ("langgraph", "success", "passed"),
        ("lightrag", "by_file", "passed"),
        ("open-webui", "success", "passed"),
        ("open-webui", "sources_without_stream", "passed"),
        ("r2r", "success", "passed"),
        ("r2r", "file_without_title", "missed"),
        ("flowise", "success", "passed"),
        ("llamaindex-server", "success", "passed"),
        ("mcp", "success", "passed"),
    ],
)
def test_the_outcome_of_a_reply_follows_from_its_chunks(
    system: str, name: str, outcome: str, systems: Systems, tmp_path: Path
) -> None:
    case = system_case(system, name)
    result, settings = ask(systems, system, name, tmp_path)
    asked = Case(id="c", question=case.question, gold_supports=(Anchor(rel_path=case.gold),))
    scores = score_case(view_case(asked, result.response, score_settings(settings)))
    assert (scores.outcome, scores.metrics["hit_at_k"]) == (outcome, float(outcome == "passed"))


# --- a wrong mapping -------------------------------------------------------------------------

_FIELD = re.compile(r"""`[^`]*`|'[^']*'|"[^"]*"|(?P<name>[A-Za-z_]\w*)(?!\w*\s*[(:])""")


def typos(expression: str) -> Iterator[str]:
    """Yield an expression with one misspelt name after the other."""
    for found in _FIELD.finditer(expression):
        if found["name"]:
            yield f"{expression[: found.end()]}x{expression[found.end() :]}"


def mapped(system: str) -> list[str]:
    """Return the successful replies of a system whose retrieved chunks come from a mapping."""
    found = system_case(system, "success").expected["retrieved_chunks"]
    return [system] if found else []


@pytest.mark.parametrize("system", [one for system in SUCCESSES for one in mapped(system)])
def test_a_misspelt_mapping_is_an_error_or_a_note_and_never_a_silent_miss(
    system: str, systems: Systems, tmp_path: Path
) -> None:
    case = system_case(system, "success")
    right, settings = ask(systems, system, "success", tmp_path)
    response = settings.target.response
    assert right.response is not None
    assert isinstance(response, dict)
    assert notes(case, right, settings) == []
    for expression in typos(response["retrieved_chunks"]):
        target = replace(
            settings.target, response={**response, "retrieved_chunks": expression}, preset=None
        )
        wrong = replace(settings, target=target)
        result = ask_with(systems, case, "success", wrong)
        found = result.response is not None and case.gold in paths(result)
        assert found or result.error is not None or notes(case, result, wrong), expression


def paths(result: AskResult) -> list[str]:
    """Return the documents that were retrieved."""
    assert result.response is not None
    return [one.rel_path for one in result.response.retrieved_chunks or ()]


def notes(case: SystemCase, result: AskResult, settings: Settings) -> list[str]:
    """Return the sentences of a run that asked two cases and got the same reply to both."""
    asked = Case(id="c", question=case.question, gold_supports=(Anchor(rel_path=case.gold),))
    view = view_case(asked, result.response, score_settings(settings), error=result.error)
    response = result.response and replace(result.response, retrieved_chunks=view.chunks)
    records = [
        replace(
            changed(record("c"), case=replace(asked, id=f"c-{n}")),
            response=response,
            error=result.error,
        )
        for n in range(2)
    ]
    return list(chunk_sentences(records, settings))
