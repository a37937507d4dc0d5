"""Cases and chunks to label, and a desk that remembers what it was asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_rageval.authoring.labelling.desk import CaseDesk, Target, draft_of
from pytest_rageval.authoring.labelling.draft import Draft, Fetched, LabelCase, SaveResult, written
from pytest_rageval.authoring.labelling.page import WebFace
from pytest_rageval.authoring.labelling.session import LabelSession
from pytest_rageval.authoring.labelling.view import view_of
from pytest_rageval.project.case_edit import load_editable
from pytest_rageval.project.case_reader import parse_case
from pytest_rageval.values.case import Case
from pytest_rageval.values.reply import AskResponse, AskResult, ErrorInfo, RetrievedChunk
from tests.build.key_pages import Served, serving_page

HOSTILE = "a\x1b[2Jb \u202egnorw\u202c [bold red]markup[/] ::error::x \x07"

CHUNKS = (
    RetrievedChunk(
        rel_path="ops/queue.md",
        heading_path="# Queue > ## Retries",
        text="## Retries\n\nThe queue retries five times. After\nthat it gives up.\n\n- an item",
        score_final=0.9,
        rank=1,
    ),
    RetrievedChunk(
        rel_path="ops/queue.md",
        heading_path="# Queue > ## Retries",
        text="The pause doubles every time. It ends at one hour.",
        score_final=0.8,
        rank=2,
    ),
    RetrievedChunk(
        rel_path="ops/mail.md", heading_path="# Mail", text="Mail is sent once.", score_final=0.7,
        rank=3,
    ),
    RetrievedChunk(rel_path="plain.txt", heading_path=None, text=f"{HOSTILE} No headings. Here.",
                   rank=4),
)  # fmt: skip

CASES: tuple[dict[str, Any], ...] = (
    {"id": "retries", "question": "How often does the queue retry?"},
    {
        "id": "marked",
        "question": "What of mail?",
        "gold_supports": [
            {"rel_path": "ops/mail.md", "heading_path": "# Mail", "mine": 1.50},
            {"rel_path": "gone.md", "heading_path": "# Gone"},
        ],
        "required_support_groups": [[0, 1]],
        "notes": "old",
    },
    {"id": "other", "question": "What else?", "answerable": False},
)

RETRIES = {"rel_path": "ops/queue.md", "heading_path": "# Queue > ## Retries"}
MAIL = {"rel_path": "ops/mail.md", "heading_path": "# Mail"}


@dataclass
class FakeDesk:
    """Keeps nothing and tells what it was asked to."""

    chunks: Sequence[RetrievedChunk] = CHUNKS
    saved: list[tuple[str, dict[str, Any], bool]] = field(default_factory=list)
    results: list[SaveResult] = field(default_factory=list)
    """Results of saving, in order; after them every save succeeds."""
    reloaded: LabelCase | None = None
    removed: list[str] = field(default_factory=list)

    def fetch(self, case: LabelCase) -> Fetched:
        return Fetched(chunks=tuple(self.chunks))

    def save(self, case: LabelCase, before: Draft, after: Draft, *, over: bool) -> SaveResult:
        result = self.results.pop(0) if self.results else SaveResult(ok=True)
        if result.ok:
            self.saved.append((case.case.id, after.changes_from(before), over))
        return result

    def remove(self, case: LabelCase) -> SaveResult:
        result = self.results.pop(0) if self.results else SaveResult(ok=True)
        if result.ok:
            self.removed.append(case.case.id)
        return result

    def edit_command(self, case: LabelCase) -> str:
        return f"edit {case.case.id}"

    def reload(self, case: LabelCase) -> LabelCase:
        assert self.reloaded is not None
        return self.reloaded


def label_case(fields: Mapping[str, Any]) -> LabelCase:
    """A case as the queue holds it."""
    case = parse_case(without_own_keys(fields))
    return LabelCase(case=case, start=draft_of(case))


def without_own_keys(fields: Mapping[str, Any]) -> dict[str, Any]:
    golds = [
        {key: value for key, value in gold.items() if key != "mine"}
        for gold in fields.get("gold_supports", ())
    ]
    return {**fields, "gold_supports": golds}


def session_of(*cases: Mapping[str, Any], desk: FakeDesk | None = None) -> LabelSession:
    """A session over cases, on a desk that keeps nothing."""
    queue = [label_case(fields) for fields in cases or CASES]
    return LabelSession(queue, desk or FakeDesk())


def golds(session: LabelSession) -> list[dict[str, Any]]:
    """The golds of the current draft."""
    return [*map(written, session.marking.draft.golds)]


def marked(session: LabelSession) -> list[int]:
    """The numbers of the rows that are shown as marked."""
    return [row.number for row in view_of(session).rows if row.marked]


def press(session: LabelSession, *keys: str) -> LabelSession:
    """Press keys; one of several characters that is no key is typed letter by letter."""
    for key in keys:
        session.press(key)
    return session


def typed(session: LabelSession, text: str) -> LabelSession:
    """Type a text and end it."""
    for character in text:
        session.press("space" if character == " " else character)
    session.press("enter")
    return session


def write_cases(path: Path, cases: Sequence[Mapping[str, Any]] = CASES) -> Path:
    """A case file with odd spacing, an unknown key, CRLF and no newline at its end."""
    lines = [json.dumps(case, separators=(" ,", ": ")) for case in cases]
    lines[0] = lines[0].replace("{", '{"unknown":  1e0 ,', 1)
    path.write_bytes("\r\n".join(lines).encode())
    return path


def ask(case: Case) -> AskResult:
    """Answer every case with the same chunks; ``down`` in its question fails."""
    if "down" in case.question:
        error = ErrorInfo(kind="http", message="503 from http://localhost", attempts=1)
        return AskResult(response=None, error=error, total_ms=1.0)
    response = AskResponse(answer="", retrieved_chunks=CHUNKS)
    return AskResult(response=response, error=None, total_ms=1.0)


def file_session(path: Path, *, review: bool = False) -> LabelSession:
    """A session on a case file."""
    loaded = load_editable(path).expanded()
    desk = CaseDesk(loaded, Target(ask=ask, k=20))
    queue = desk.queue([one.case.id for one in loaded.cases])
    return LabelSession(queue, desk, review=desk if review else None)


def serving(session: LabelSession) -> AbstractContextManager[Served]:
    """Serve the page of a session."""
    return serving_page(WebFace(session))
