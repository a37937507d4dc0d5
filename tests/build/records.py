"""Short ways to say the records of a run in tests of aggregation and the gate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from pytest_rageval.engine.case import Trial, ask, record_of
from pytest_rageval.judges.asking import judge_cost
from pytest_rageval.judges.cost import Price
from pytest_rageval.runs.record_json import PARTS, redact
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import TargetErrorKind
from pytest_rageval.values.gate import Selection
from pytest_rageval.values.record import CaseRecord, CaseScores
from pytest_rageval.values.reply import AskResponse, ErrorInfo
from pytest_rageval.values.verdict import Judgement, JudgeUsage


def measure(trial: Trial, client: object, *, clock: Callable[[], float]) -> CaseRecord:
    """Ask the target one case of a file and score its answer; failures become data."""
    return record_of(trial, ask(trial, client, clock=clock))


def record(
    case_id: str, metrics: dict[str, float | None] | None = None, **fields: Any
) -> CaseRecord:
    """Record of an answered case; a metric that is None and has no reason is an error.

    ``fields`` are named as in a line of ``results.jsonl``. Without a ``case`` it is one of a tool
    that stores none.
    """
    scores = CaseScores(metrics=metrics or {}, not_applicable={}, outcome="passed")
    plain = CaseRecord(
        case=Case(id=case_id, question="?"),
        case_stored=False,
        file="evals/set.jsonl",
        lineno=1,
        case_hash="0" * 16,
        status="ok",
        k=5,
        latency={},
        scores=scores,
    )
    return changed(plain, **{"case_id": case_id, **fields})


def changed(of: CaseRecord, **fields: Any) -> CaseRecord:
    """Return a record with other facts, named as in a line of ``results.jsonl``."""
    if "case" in fields:
        whole = fields.pop("case")
        fields |= {"case_stored": whole is not None, "case": whole or of.case}
    for part, names in PARTS.items():
        given = {field: fields.pop(name) for name, field in names.items() if name in fields}
        held = fields.get(part, getattr(of, part))
        if part == "response":
            fields[part] = _response(held, given)
        elif given:
            fields[part] = replace(held, **given)
    return replace(of, **fields)


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


def call_cost(
    prompt_tokens: int,
    completion_tokens: int,
    *,
    cached: bool = False,
    price: Mapping[str, float] | None,
) -> dict[str, Any]:
    """``cost`` of the record of a case whose judge was called once.

    Args:
        prompt_tokens: of the call.
        completion_tokens: of its reply.
        cached: whether the verdict came from the cache.
        price: in US dollars per million tokens; None: unknown.
    """
    usd = None
    if price is not None:
        named = Price(
            model="any",
            input_per_mtok=price["input_per_mtok"],
            output_per_mtok=price["output_per_mtok"],
        )
        usd = named.cost_usd(prompt_tokens, completion_tokens)
    usage = JudgeUsage(
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        cached=cached,
        cost_usd=0.0 if cached else usd,
        cost_usd_uncached=usd,
    )
    return judge_cost(
        [Judgement(rubric="r", rubric_version="r", judge="j", level="text", usage=usage)]
    )
