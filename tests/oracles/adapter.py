"""One pure function over the package's public functions, for rows of checked examples.

It maps names and shapes; every number comes from the package.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from pytest_rageval.analysis.embeddings import compute_silhouette
from pytest_rageval.analysis.trust.reliability import summarise_spot_check
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.deciding import matches_by, rule_for
from pytest_rageval.metrics.judged import (
    claim_support,
    composite,
    valid_score,
)
from pytest_rageval.metrics.matching import (
    document_key,
    matches_anchor,
    norm_heading,
    norm_path,
    norm_text,
    same_document,
)
from pytest_rageval.metrics.quotes import holds_quote
from pytest_rageval.metrics.similarity import compute_query_similarity
from pytest_rageval.metrics.view import Verdicts
from pytest_rageval.project.case_reader import parse_case
from pytest_rageval.target.contract import parse_ask_response
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.diagnoses.table import TargetErrorKind
from pytest_rageval.values.errors import TARGET_ERROR_KINDS
from pytest_rageval.values.record import CaseScores, Evidence, ScoreSettings
from pytest_rageval.values.reply import AskResponse, ErrorInfo, RetrievedChunk
from tests.build.scores import rerank_delta, score_reply

Values = dict[str, Any]

EXAMPLES = sorted((Path(__file__).parents[1] / "data").glob("*_oracles.jsonl"))
"""Inputs and expected outputs, worked out by hand or by another tool (the field ``source``)."""


@cache
def checked_examples() -> tuple[Values, ...]:
    """Every row of the checked examples: ``id``, ``op``, ``input``, ``expected`` and ``tol``."""
    lines = (line for file in EXAMPLES for line in file.read_text(encoding="utf-8").splitlines())
    return tuple(map(json.loads, lines))


def evaluate(op: str, values: Values) -> Values:
    """Answer one row: ``op`` as in the rows, ``values`` its input."""
    if op in _OPERATIONS:
        return _OPERATIONS[op](values)
    from tests.oracles.statistics import evaluate_statistic

    answer: Values = evaluate_statistic(op, values)
    return answer


def _settings(row: Values) -> ScoreSettings:
    return ScoreSettings(
        k=row.get("k", 5),
        folder_mode=row.get("folder_mode"),
        retrieval_only=row.get("retrieval_only", False),
        judge_configured=row.get("judge") is not None,
        **(row.get("settings") or {}),
    )


def _anchor(values: Values) -> Anchor:
    given = {name: value for name, value in values.items() if value is not None}
    lists = {name: tuple(given.get(name, ())) for name in ("snippets", "pages")}
    return Anchor(**given | lists)


def _match(row: Values) -> Values:
    chunk = RetrievedChunk(**row["chunk"])
    return {"match": matches_anchor(_anchor(row["anchor"]), chunk, _settings(row))}


def _rule(row: Values) -> Values:
    given = row["chunk"]
    pages = tuple(given["pages"]) if given.get("pages") else None
    chunk, anchor = RetrievedChunk(**{**given, "pages": pages}), _anchor(row["anchor"])
    settings = _settings(row)
    case = settings.path_case
    if not same_document(document_key(anchor, case), document_key(chunk, case)):
        return {"rule": None, "match": False}
    rule = rule_for(anchor, chunk, settings)
    return {
        "rule": rule,
        "match": None if rule is None else matches_by(rule, anchor, chunk, settings),
    }


def _response(row: Values) -> AskResponse | None:
    return None if row.get("response") is None else parse_ask_response(row["response"])


def _error(row: Values) -> ErrorInfo | None:
    if row.get("error") is None:
        return None
    kinds: dict[str, TargetErrorKind] = {kind: kind for kind in TARGET_ERROR_KINDS}
    kind = kinds.get(row["error"].get("kind"), "http")
    return ErrorInfo(kind=kind, message="the target failed")


def _status(scores: CaseScores, key: str) -> str:
    if scores.metrics[key] is not None:
        return "scored"
    return "not_applicable" if key in scores.not_applicable else "error"


def evidence_of(values: Values | None) -> Evidence | None:
    """Return what was looked up in the passages; None: nothing was."""
    return None if values is None else _EVIDENCE.validate_python(values)


_EVIDENCE = TypeAdapter(Evidence)


def _score(row: Values) -> Values:
    judge = row.get("judge")
    scores = score_reply(
        parse_case(row["case"]),
        _response(row),
        _settings(row),
        error=_error(row),
        verdicts=None
        if judge is None and row.get("evidence") is None
        else Verdicts(**judge or {}, evidence=evidence_of(row.get("evidence"))),
    )
    return {
        "metrics": dict(scores.metrics),
        "status": {key: _status(scores, key) for key in scores.metrics},
        "outcome": scores.outcome,
        "failure_stage": scores.failure_stage,
    }


def _rerank_delta(row: Values) -> Values:
    response = parse_ask_response(row["response"])
    scores = score_reply(parse_case(row["case"]), response, _settings(row))
    return {"delta": rerank_delta(scores) or dict.fromkeys(BUILT_IN.cases)}


def _disagreement(row: Values) -> Values:
    low, high = row["scale"]
    pairs = [(("", str(n)), *pair) for n, pair in enumerate(row["pairs"])]
    found = summarise_spot_check(pairs, scale=(low, high))
    return {"spot_check_n": found.n, "disagreement_rate": found.disagreement_rate}


def _embedding_query(row: Values) -> Values:
    found = compute_query_similarity(row["query"], row["chunks"], row["relevant"])
    return {
        "query_chunk_similarity": found.query_chunk_similarity,
        "query_relevant_similarity": found.query_relevant_similarity,
        "similarity_margin": found.similarity_margin,
    }


def _norm_heading(row: Values) -> Values:
    segments = norm_heading(row["heading_path"])
    return {"segments": None if segments is None else list(segments)}


_OPERATIONS: dict[str, Callable[[Values], Values]] = {
    "norm_path": lambda row: {"path": norm_path(row["path"], row.get("path_case", "sensitive"))},
    "norm_text": lambda row: {"text": norm_text(row["text"])},
    "norm_heading": _norm_heading,
    "match": _match,
    "rule": _rule,
    "quote": lambda row: {"held": holds_quote(row["quote"], row["text"])},
    "score": _score,
    "rerank_delta": _rerank_delta,
    "judge_score": lambda row: {"value": valid_score(row["score"], tuple(row["scale"]))},
    "composite": lambda row: {"value": composite(row["values"], row["weights"])},
    "claim_support": lambda row: {"value": claim_support(row["supported"], row["unsupported"])},
    "disagreement": _disagreement,
    "embedding_query": _embedding_query,
    "silhouette": lambda row: {"value": compute_silhouette(row["vectors"], row["labels"])},
}
