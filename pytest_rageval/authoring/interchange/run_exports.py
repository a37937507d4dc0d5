"""Export of a stored run: as a TREC run with qrels, or as OTLP JSON.

TREC: we rank chunks and match golds; trec_eval ranks documents. So the first chunk that matches a
gold is written under the gold's name, and any other chunk under a name without judgement. trec_eval
then computes our figures, with two exceptions that are counted: a chunk that matches several new
golds, and a chunk that matches a gold again (which precision counts). At document level there are
no exceptions.

OTLP: the span is the one that the target was asked in, so its scores are shown beside the spans of
the target. Names of events and attributes are those of the OpenTelemetry semantic conventions for
generative AI and for tests; by default no user, document or model text is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

from pytest_rageval.analysis.aggregate.case_groups import record_outcome
from pytest_rageval.authoring.interchange.ids import docno
from pytest_rageval.authoring.interchange.values import Ledger, LeftOut, json_text
from pytest_rageval.metrics.matching import (
    DocumentKey,
    document_key,
    document_keys,
    duplicate_flags,
)
from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.metrics.retrieval import document_ranking
from pytest_rageval.support.text import free_name, whole_text
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.lenient import count, number
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from pytest_rageval.values.reply import RetrievedChunk, span_id, trace_id
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.words import VERDICT

Level = Literal["anchor", "document"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrecRun:
    """The files of a run, with notes for readers of trec_eval's figures."""

    run: str
    qrels: str
    cutoffs: tuple[int, ...]
    """All values of k of the cases, ascending."""
    n_cases: int
    """Number of cases that both tools score."""
    differing: tuple[str, ...]
    """Ids of the cases whose figures differ from trec_eval's."""
    left_out: tuple[LeftOut, ...]


def write_run(
    records: Iterable[CaseRecord], settings: ScoreSettings, *, tag: str, level: Level = "anchor"
) -> TrecRun:
    """Return a run in trec_eval's format, cut at the k of each case.

    Args:
        records: of a stored run, one per case and repeat; only the first repeat is written.
        settings: the run was scored with.
        tag: name of the run, without spaces.
        level: chunks matched with golds, or documents.
    """
    ledger = Ledger()
    rows: list[str] = []
    qrels: list[str] = []
    differing: list[str] = []
    cutoffs: set[int] = set()
    n_cases = 0
    for record in records:
        if (why := _unscored(record, level)) is not None:
            ledger.leave("record", why)
            continue
        chunks = (record.reply.retrieved_chunks or ())[: record.k]
        if level == "document":
            names, grades, exact = _documents(record.case, chunks, record.k, settings)
        else:
            names, grades, exact = _golds(record.case, chunks, settings)
        differing += [] if exact else [record.case.id]
        n, n_cases = len(names), n_cases + 1
        cutoffs.add(record.k)
        rows += [
            f"{record.case.id} Q0 {name} {rank} {n - rank + 1} {tag}\n"
            for rank, name in enumerate(names, 1)
        ]
        qrels += [f"{record.case.id} 0 {name} {grade}\n" for name, grade in grades.items()]
    return TrecRun(
        run="".join(rows),
        qrels="".join(qrels),
        cutoffs=tuple(sorted(cutoffs)),
        n_cases=n_cases,
        differing=tuple(differing),
        left_out=ledger.left_out,
    )


def _unscored(record: CaseRecord, level: Level) -> str | None:
    """Return the reason why a record has no retrieval figures; None: it has."""
    if record.repeat:
        return "a further repeat of its case"
    key = "doc_recall_at_k" if level == "document" else "recall_at_k"
    if record.scores.metrics.get(key) is None:
        return record.scores.not_applicable.get(key) or "the case ended in an error"
    return None


def _golds(
    case: Case, chunks: Sequence[RetrievedChunk], settings: ScoreSettings
) -> tuple[list[str], dict[str, int], bool]:
    # Golds that differ only in snippets share a name.
    gold_names = _distinct(map(docno, case.gold_supports))
    duplicates = duplicate_flags(chunks, settings.path_case)
    names: list[str] = []
    seen: set[int] = set()
    exact = True
    for chunk, duplicate in zip(chunks, duplicates, strict=True):
        matched = set(range(len(gold_names))).intersection(chunk.matched_golds or ())
        new = matched - seen
        seen |= matched
        if new and not duplicate:
            exact &= len(new) == 1
            best = max(new, key=lambda index: case.gold_supports[index].grade)
            names.append(gold_names[best])
        else:
            exact &= not new and (not matched or duplicate)
            place = Anchor(rel_path=chunk.rel_path or "-", heading_path=chunk.heading_path or "")
            names.append(free_name(docno(place), {*gold_names, *names}, mark="~"))
    grades = {name: gold.grade for name, gold in zip(gold_names, case.gold_supports, strict=True)}
    return names, grades, exact


def _distinct(bases: Iterable[str]) -> list[str]:
    names: list[str] = []
    for base in bases:
        names.append(free_name(base, names, mark="~"))
    return names


def _documents(
    case: Case, chunks: Sequence[RetrievedChunk], k: int, settings: ScoreSettings
) -> tuple[list[str], dict[str, int], bool]:
    ranking = document_ranking(case, chunks, k, settings)
    case_style = settings.path_case
    gold_keys = dict.fromkeys(document_key(gold, case_style) for gold in case.gold_supports)
    gold_names = _distinct(map(_document_name, gold_keys))
    names: list[str] = []
    seen: set[int] = set()
    exact = True
    keys = dict.fromkeys(document_keys(chunks, case_style))
    for key, matched in zip(keys, ranking.matched, strict=True):
        new = sorted(matched - seen)
        seen |= matched
        exact &= len(new) == len(matched) <= 1
        free = free_name(_document_name(key), {*gold_names, *names}, mark="~")
        names.append(gold_names[new[0]] if new else free)
    return names, dict(zip(gold_names, ranking.grades, strict=True)), exact


def _document_name(key: DocumentKey) -> str:
    vault, path = key
    return docno(Anchor(rel_path=(path or "-") if vault is None else f"{vault}:{path}"))


def trec_eval_command(found: TrecRun, qrels: str, run: str) -> str:
    """Return the command that computes our figures."""
    cut = [
        f"-m {stem}.{k}"
        for stem in ("success", "recall", "P", "ndcg_cut", "map_cut")
        for k in found.cutoffs
    ]
    return " ".join(["trec_eval -c", *cut, "-m recip_rank", "-m set_P", qrels, run])


EVENT: Final = "gen_ai.evaluation.result"
_NAME: Final = "pytest-rageval"
_CLIENT: Final = 3
"""``SPAN_KIND_CLIENT``; OTLP JSON has numbers in place of names of enums."""
_ERROR: Final = 2
"""``STATUS_CODE_ERROR``."""
_TRACE: Final = re.compile(r"(?!0+$)[0-9a-f]{32}")
_SPAN: Final = re.compile(r"(?!0+$)[0-9a-f]{16}")
_LONGEST_MS: Final = 1e11
"""Limit of the duration of a span, three years, which a forged record may pass."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_OTHER_ERROR: Final = "_OTHER"
"""Value of the conventions for an error without a name of its own."""


class OtlpExport:
    """A run as the spans of its cases, written one by one, since all take much memory.

    Args:
        run: as stored; of each case and repeat one record.
        metrics: definitions of its metrics.
        content: include questions, answers, retrieved passages, messages of errors and the judge's
            reasons; they are read from the run's folder, as its records may lack them.
    """

    def __init__(self, run: StoredRun, metrics: Registry, *, content: bool = False) -> None:
        self._run, self._metrics, self._content = run, metrics, content
        self.n_spans = len(run.records)
        self.n_untimed = sum(record.asked_at is None for record in run.records)
        """Spans of records that do not hold the time of asking, which begin with the run."""
        self.n_scores = 0
        """Scores of the spans written so far."""

    def pieces(self) -> Iterator[str]:
        """Yield the body of a request to an OTLP receiver, as JSON in pieces."""
        run, content = self._run, self._content
        if not run.records:  # a receiver may refuse an envelope without spans
            yield '{"resourceSpans": []}\n'
            return
        version = run.config.versions.get(_NAME, "")
        resource = {
            "service.name": _NAME,
            "service.version": version,
            "rageval.run_id": run.run_id,
            "rageval.dataset_hash": run.config.dataset_hash,
            "rageval.config_hash": run.config.config_hash,
        }
        scope = {"name": _NAME, **({"version": version} if version else {})}
        attributes = {"attributes": _attributes(resource)}
        yield f'{{"resourceSpans": [{{"resource": {json.dumps(attributes)}, "scopeSpans": ['
        before = f'{{"scope": {json.dumps(scope)}, "spans": ['
        for record in run.records:
            whole = run.whole(record) if content else record
            span = _span(whole, run, self._metrics, content=content)
            self.n_scores += len(span["events"]) - 1
            yield before + json.dumps(span, allow_nan=False)
            before = ", "
        yield "]}]}]}\n"


def _span(
    record: CaseRecord, run: StoredRun, metrics: Registry, *, content: bool
) -> dict[str, Any]:
    trace, span = _ids(record, run.run_id)
    times = _times(record, run.config.timestamp)
    at = {"timeUnixNano": times["endTimeUnixNano"]} if times else {}
    facts = _facts(record) | (_texts(record) if content else {})
    found: dict[str, Any] = {
        "traceId": trace,
        "spanId": span,
        "name": "rageval case",
        "kind": _CLIENT,
        **times,
        "attributes": _attributes(facts),
        "events": [
            {**at, "name": EVENT, "attributes": _attributes(event)}
            for event in _events(record, metrics, content=content)
        ],
    }
    if record.error is not None:
        message = record.error.message if content else record.error.kind
        found["status"] = {"code": _ERROR, "message": whole_text(message)}
    return found


def _ids(record: CaseRecord, run_id: str) -> tuple[str, str]:
    """Return the ids of a span; those that the record lacks are computed as for asking."""
    trace, span = record.trace_id or "", record.span_id or ""
    if not _TRACE.fullmatch(trace):
        trace = trace_id(run_id, record.nodeid, record.repeat)
        return trace, span_id(trace)
    # A header of the project's own may be the same for every case.
    own = span_id(trace_id(trace, record.nodeid, record.repeat))
    return trace, span if _SPAN.fullmatch(span) else own


def _times(record: CaseRecord, run_began: str | None) -> dict[str, str]:
    """Return begin and end in nanoseconds; 64-bit integers are strings in OTLP JSON."""
    try:
        asked = datetime.fromisoformat(record.asked_at or run_began or "")
    except ValueError:
        return {}
    since = (asked if asked.tzinfo else asked.replace(tzinfo=UTC)) - _EPOCH
    begin = since // timedelta(microseconds=1) * 1000
    if begin < 0:
        return {}
    took_ms = number(record.latency, "total_ms") or 0.0
    end = begin + round(min(max(took_ms, 0.0), _LONGEST_MS) * 1e6)
    return {"startTimeUnixNano": str(begin), "endTimeUnixNano": str(end)}


def _facts(record: CaseRecord) -> dict[str, object]:
    passed = VERDICT[record.scores.outcome == "passed"]
    first_token = number(record.latency, "ttft_ms")
    return {
        "test.suite.name": record.file,
        "test.case.name": record.nodeid,
        "test.case.result.status": None if record.scores.unchecked else passed,
        "error.type": None if record.error is None else record.error.kind,
        "gen_ai.response.model": record.reply.models.get("llm_model"),
        "gen_ai.response.time_to_first_chunk": None if first_token is None else first_token / 1000,
        "gen_ai.usage.input_tokens": count(record.reply.usage, "input_tokens") or None,
        "gen_ai.usage.output_tokens": count(record.reply.usage, "output_tokens") or None,
        "rageval.case_id": record.case.id,
        "rageval.repeat": record.repeat,
        "rageval.k": record.k,
        "rageval.category": record.case.category,
        "rageval.tags": record.case.tags,
        "rageval.outcome": record_outcome(record),
        "rageval.failure_stage": record.scores.failure_stage,
    }


def _texts(record: CaseRecord) -> dict[str, object]:
    """Return question, answer and passages as the conventions write them on spans: JSON texts."""
    found: dict[str, object] = {
        "gen_ai.input.messages": json_text([_message("user", record.case.question)]),
    }
    if record.answer is not None:
        reply = {**_message("assistant", record.answer), "finish_reason": "stop"}
        found["gen_ai.output.messages"] = json_text([reply])
    if record.reply.retrieved_chunks is not None:
        found["gen_ai.retrieval.documents"] = json_text(
            [*map(_document, record.reply.retrieved_chunks)]
        )
    return found


def _document(chunk: RetrievedChunk) -> dict[str, Any]:
    known = {
        "id": chunk.chunk_id or chunk.rel_path,
        "score": number(chunk.score_final),
        "rel_path": chunk.rel_path,
        "content": chunk.text,
    }
    return {name: value for name, value in known.items() if value is not None}


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


# --- scores --------------------------------------------------------------------------------------


def _events(record: CaseRecord, metrics: Registry, *, content: bool) -> Iterator[dict[str, object]]:
    """Yield the outcome, then each score and each score that failed; others do not apply."""
    failed = record.error
    yield {
        "gen_ai.evaluation.name": "outcome",
        "gen_ai.evaluation.score.label": record_outcome(record),
        "error.type": None if failed is None else failed.kind,
    }
    reasons = _reasons(record) if content else {}
    for key, value in record.scores.metrics.items():
        info = metrics.info(key)
        event: dict[str, object] = {"gen_ai.evaluation.name": key}
        if value is not None:
            event["gen_ai.evaluation.score.value"] = float(value)
            event["gen_ai.evaluation.score.label"] = _label(info, value)
        elif key in record.scores.not_applicable or failed is not None:
            continue
        else:
            judged = info is not None and info.judged
            event["error.type"] = "judge" if judged else _OTHER_ERROR
        yield {**event, "gen_ai.evaluation.explanation": reasons.get(key)}


def _label(info: MetricInfo | None, value: float) -> str | None:
    """Return the label of a metric that is 0 or 1 and has a good side."""
    if info is None or not info.binary or info.direction == "neutral":
        return None
    return VERDICT[value == (1.0 if info.direction == "higher" else 0.0)]


def _reasons(record: CaseRecord) -> dict[str, str]:
    """Return the judge's reasoning by the metrics that it gave."""
    found: dict[str, str] = {}
    for one in record.verdicts.judgements.values():
        if one.verdict is not None:
            found |= dict.fromkeys(one.verdict.scores, one.verdict.reasoning)
    return found


# --- values --------------------------------------------------------------------------------------


def _attributes(facts: Mapping[str, object]) -> list[dict[str, Any]]:
    """Return attributes in OTLP JSON, without those that are None or empty."""
    known = {key: value for key, value in facts.items() if value not in (None, "", ())}
    return [{"key": key, "value": _value(value)} for key, value in known.items()]


def _value(value: object) -> dict[str, Any]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {"stringValue": whole_text(str(value))}
