"""Services of unknown shape: what `rageval doctor` proposes is pasted, and then reads them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.authoring.doctor.target import ask_case
from pytest_rageval.cli import main as cli
from pytest_rageval.cli.target import opened_target, project_settings
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.reply import AskResponse, RetrievedChunk
from pytest_rageval.values.settings import REQUEST_TABLE, RESPONSE_TABLE
from tests.build.http_server import Handler, serving
from tests.build.projects import work_in

Reply = dict[str, Any]
QUESTION = "When does the north gate open, and where is it?"
ANSWER = "It opens at 8:15, by the river [1]."
TEXTS = (
    "The north gate opens at 8:15 and closes at 17:40.",
    "The south gate is shut in winter, from November on.",
    "A ticket is valid for one day and for both gates.",
)
FILES = ("gates.md", "gates.md", "fees.md")


def nested(body: Reply) -> Reply:
    under = (["Gates", "North"], ["Gates", "South"], ["Fees"])
    return {
        "because": None,
        "took": 0.12,
        "turn": {"asked": body["question"], "says": ANSWER},
        "trace": {
            "looked_at": [
                {"note": FILES[n], "under": under[n], "words": TEXTS[n], "bm25": 9.5 - n}
                for n in range(3)
            ]
        },
    }


def lists_in_lists(body: Reply) -> Reply:
    parts = [{"words": text, "key": f"p{n}"} for n, text in enumerate(TEXTS)]
    gates, fees = {"in": "gates.md", "parts": parts[:2]}, {"in": "fees.md", "parts": parts[2:]}
    return {
        "out": [{"kind": "thought"}, {"kind": "final", "body": ANSWER}],
        "batches": [[gates], [fees]],
    }


def in_german(body: Reply) -> Reply:
    titles = ("Nordtor", "Südtor", "Preise")
    return {
        "Anfrage": {"Frage": body["question"]},
        "Rückmeldung": ANSWER,
        "Fundstellen": [
            {"Datei": FILES[n], "Überschrift": titles[n], "Inhalt": TEXTS[n], "Güte": 0.9 - n / 4}
            for n in range(3)
        ],
        "Quellen": [{"Datei": "gates.md"}],
    }


def with_distances(body: Reply) -> Reply:
    return {
        "generated": {"value": ANSWER},
        "found": {
            "bodies": [TEXTS],
            "origins": [[{"at": file} for file in FILES]],
            "far": [[0.11, 0.31, 0.62]],
        },
    }


def with_another_request(body: Reply) -> Reply:
    assert body["utterance"] == QUESTION
    seen = [{"where": FILES[n], "what": TEXTS[n], "near": 0.5 + n} for n in range(3)]
    return {"said": ANSWER, "seen": seen}


def service(answer: Callable[[Reply], Reply]) -> type[Handler]:
    class Service(Handler):
        def do_POST(self) -> None:
            try:
                self.send_json(answer(json.loads(self.body())))
            except Exception as error:
                self.send_json({"oops": f"{type(error).__name__}: {error}"}, 500)

    return Service


def pasted(out: str) -> str:
    """The tables that a command printed."""
    tables, inside = [], False
    for line in map(str.strip, out.splitlines()):
        inside = line in {REQUEST_TABLE, RESPONSE_TABLE} or (inside and bool(line))
        tables += [line] if inside else []
    return "\n".join(tables)


def asked() -> AskResponse:
    settings = project_settings({})
    case = Case(id="gate", question=QUESTION, gold_supports=(Anchor(rel_path="gates.md"),))
    with opened_target(settings) as client:
        result, _ = ask_case(client, case, settings)
    assert result.response is not None
    return result.response


def column(chunks: tuple[RetrievedChunk, ...], name: str) -> list[Any]:
    return [getattr(chunk, name) for chunk in chunks]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            nested,
            {
                "heading_path": ["Gates > North", "Gates > South", "Fees"],
                "score_final": [9.5, 8.5, 7.5],
            },
        ),
        (lists_in_lists, {"chunk_id": ["p0", "p1", "p2"]}),
        (
            in_german,
            {
                "heading_path": ["Nordtor", "Südtor", "Preise"],
                "score_final": [0.9, 0.65, 0.4],
                "references": ["gates.md"],
            },
        ),
        (with_distances, {"score_final": [-0.11, -0.31, -0.62]}),
        (with_another_request, {"score_final": [-0.5, -1.5, -2.5]}),
    ],
)
def test_a_proposal_that_is_pasted_reads_the_service_after_one_round(
    answer: Callable[[Reply], Reply],
    expected: dict[str, list[Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    project = work_in(tmp_path, monkeypatch)
    with serving(service(answer)) as url:
        head = f'[tool.rageval]\nk = 3\n\n[tool.rageval.target]\nurl = "{url}"\nretries = 0\n\n'
        outputs: list[str] = []
        tables: str | None = ""
        while tables is not None and len(outputs) < 4:
            (project / "pyproject.toml").write_text(head + tables, encoding="utf-8")
            cli.run(["doctor", "--question", QUESTION])
            outputs.append(capsys.readouterr().out)
            tables = pasted(outputs[-1]) or None
            assert tables is None or tomllib.loads(tables)
        assert len(outputs) == 2
        assert "; tried now, they read answer" in " ".join(outputs[0].split())
        assert "FAIL  target" in outputs[0] or "warn  target chunks: not reported" in outputs[0]
        assert "FAIL  target" not in outputs[1]
        response = asked()
    assert response.answer == ANSWER
    chunks = response.retrieved_chunks or ()
    assert column(chunks, "text") == [*TEXTS]
    assert column(chunks, "rel_path") == [*FILES]
    for name in ("heading_path", "chunk_id", "score_final"):
        assert column(chunks, name) == expected.get(name, [None] * 3)
    assert [one.rel_path for one in response.references or ()] == expected.get("references", [])
