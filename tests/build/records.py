"""Short ways to say the records of a run in tests of aggregation and the gate."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any, Final

from pytest_rageval.engine.case import CaseRepeat, ask, record_of
from pytest_rageval.runs.documents import redact
from pytest_rageval.support.threads import session_loop
from pytest_rageval.values.case import Case, Message, Turn
from pytest_rageval.values.diagnoses.table import TargetErrorKind
from pytest_rageval.values.gate import Selection
from pytest_rageval.values.record import CaseRecord, CaseScores, CaseVerdicts, Outcome
from pytest_rageval.values.reply import AskResponse, ErrorInfo


def measure(trial: CaseRepeat, client: object, *, clock: Callable[[], float]) -> CaseRecord:
    """Ask the target one case of a file and score its answer; failures become data."""

    async def measured() -> CaseRecord:
        return await record_of(trial, await ask(trial, client, clock=clock))

    return session_loop().run(measured())


PARTS: Final = {
    "case": Case, "response": AskResponse, "scores": CaseScores, "verdicts": CaseVerdicts,
}  # fmt: skip
_OWN: Final = {one.name for one in fields(CaseRecord)}


def record(
    case_id: str, metrics: dict[str, float | None] | None = None, **given: Any
) -> CaseRecord:
    """Record of an answered case; a metric that is None and has no reason is an error.

    ``given`` are fields of the record or, by their own names, of its parts.
    """
    scores = CaseScores(metrics=metrics or {}, not_applicable={}, outcome="passed")
    plain = CaseRecord(
        case=Case(id=case_id, question="?"),
        file="evals/set.jsonl",
        lineno=1,
        case_hash="0" * 16,
        status="ok",
        k=5,
        latency={},
        scores=scores,
    )
    return changed(plain, **{"case_id": case_id, **given})


def changed(of: CaseRecord, **given: Any) -> CaseRecord:
    """Return a record with other values of its fields, or of those of its parts."""
    if "case_id" in given:
        given["id"] = given.pop("case_id")
    for part, kind in PARTS.items():
        names = {one.name for one in fields(kind)} - _OWN
        own = {name: given.pop(name) for name in names & given.keys()}
        held = given.get(part, getattr(of, part))
        if part == "response":
            given[part] = _response(held, own)
        elif own:
            given[part] = replace(held, **own)
    return replace(of, **given)


def flat_line(line: str | bytes) -> dict[str, Any]:
    """Values of a line of ``results.jsonl``, those of its parts beside those of the record."""
    own = json.loads(line)
    bare = dict.fromkeys(one.name for one in fields(AskResponse))
    parts = {**own["case"], **(own["response"] or bare), **own["scores"], **own["verdicts"]}
    return {**parts, **own, "case_id": own["case"]["id"]}


def _response(held: AskResponse | None, given: dict[str, Any]) -> AskResponse | None:
    """Change a response; without an answer it is there only where something else was reported."""
    if not given:
        return held
    if held is None and not any(value is not None for value in given.values()):
        return None
    if "answer" in given and given["answer"] is None:
        return None
    return replace(held or AskResponse(answer=""), **given)


def selection_of(
    chosen: Iterable[CaseRecord], everything: Iterable[CaseRecord] | None = None
) -> Selection:
    """Count the cases of records; without others they are the whole set."""
    cases = [one.case for one in chosen]
    whole = cases if everything is None else [one.case for one in everything]
    return Selection.of(cases, whole)


def cut_to_begins(record: CaseRecord) -> CaseRecord:
    """Return a record as versions stored it that kept 200 characters of every chunk."""
    return changed(redact(changed(record, k=0), full_text=False), k=record.k)


def failed(case_id: str, kind: TargetErrorKind = "http", **fields: Any) -> CaseRecord:
    """Record of a case that the target failed."""
    error = ErrorInfo(kind=kind, message="no answer")
    return record(case_id, **{"status": "error", "outcome": "error", "error": error, **fields})


def hits(*values: float, **fields: Any) -> list[CaseRecord]:
    """One record per value of ``hit_at_k``, missed where it is 0, named c0, c1, ..."""
    return [
        record(f"c{i}", {"hit_at_k": v}, outcome="passed" if v else "missed", **fields)
        for i, v in enumerate(values)
    ]


def talk(name: str, *outcomes: Outcome, **given: Any) -> list[CaseRecord]:
    """One record for each turn of a conversation, with what was said before it."""
    turns = [Turn(question=f"{name} asks {n}?") for n, _ in enumerate(outcomes, 1)]
    history: list[Message] = []
    found: list[CaseRecord] = []
    for of, outcome in zip(Case(id=name, turns=tuple(turns)).expanded(), outcomes, strict=True):
        answer = f"{of.id} answers."
        fields = {"case": of, "answer": answer, "outcome": outcome, "history": tuple(history)}
        found.append(record(of.id, **{**fields, **given}))
        history.append(Message(role="user", content=of.question))
        history.append(Message(role="assistant", content=answer))
    return found
