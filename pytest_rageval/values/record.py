"""The record of one case: reply, scores and verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_rageval.values.case import Case, FolderMode
from pytest_rageval.values.reply import Citation, ErrorInfo, FolderSelection, RetrievedChunk

SCHEMA_VERSION = 1
"""Version of every stored JSON document. 1: first."""


Outcome = Literal["passed", "missed", "error"]


FailureStage = Literal[
    "not_indexed",
    "out_of_scope",
    "not_retrieved",
    "lost_in_rerank",
    "wrongly_abstained",
    "not_cited",
    "ungrounded",
    "incorrect",
    "hallucinated",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSettings:
    """What scoring depends on besides the case and the response; invariants of a run."""

    k: int = 5
    """The run's cutoff, at least 1; a case's own ``k`` wins."""
    path_case: Literal["sensitive", "insensitive"] = "sensitive"
    snippets: Literal["off", "any", "all"] = "off"
    coarse_chunks: bool = False
    headings_reported: bool = True
    """False when no chunk of the whole run reports a heading."""
    folder_mode: FolderMode | None = None
    retrieval_only: bool = False
    judge_configured: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseScores:
    """Every metric of one case.

    A key is *scored* (a number in ``metrics``), *not applicable* (None in ``metrics`` and a
    reason in ``not_applicable``) or an *error* (None in ``metrics`` and no reason).
    """

    metrics: Mapping[str, float | None]
    not_applicable: Mapping[str, str]
    outcome: Outcome
    failure_stage: FailureStage | None = None
    chunks: tuple[RetrievedChunk, ...] | None = None
    """The retrieved chunks in rank order with ``matched_golds`` and ``irrelevant`` filled in."""
    citations: tuple[Citation, ...] | None = None
    """References and citations read from the answer text, de-duplicated; None: not reported."""
    unchecked: bool = False
    """True when nothing could be scored, so that "passed" says nothing."""
    metrics_before_rerank: Mapping[str, float | None] | None = None
    """The retrieval metrics of the same chunks in their order before reranking; None: not every
    chunk reports its rank there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRecord:
    """Everything kept about one case of a run: one line of ``results.jsonl``."""

    case_id: str
    file: str
    """Case file relative to the rootdir, ``/``-separated."""
    lineno: int
    case_hash: str
    repeat: int = 0
    status: Literal["ok", "error"]
    error: ErrorInfo | None = None
    outcome: Outcome
    failure_stage: FailureStage | None = None
    unchecked: bool = False
    category: str = "general"
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    vaults: tuple[str, ...] = ()
    answerable: bool = True
    required: bool = False
    cluster: str | None = None
    """Normalised document of ``gold_supports[0]``; None: the case is its own cluster."""
    k: int
    question: str
    answer: str | None = None
    answer_chars: int | None = None
    references: tuple[Citation, ...] | None = None
    citations: tuple[Citation, ...] | None = None
    abstained: bool | None = None
    abstain_reason: str | None = None
    retrieved_chunks: tuple[RetrievedChunk, ...] | None = None
    folder_selection: FolderSelection | None = None
    metrics: Mapping[str, float | None]
    not_applicable: Mapping[str, str]
    metrics_before_rerank: Mapping[str, float | None] | None = None
    """Retrieval metrics as they stood before reranking; None: not reported."""
    groundedness: Mapping[str, Any] | None = None
    """Score, reasoning, claims and judge; None, as for the next three: no judge was asked."""
    correctness: Mapping[str, Any] | None = None
    abstention: Mapping[str, Any] | None = None
    judgements: Mapping[str, Any] = field(default_factory=dict)
    """By rubric: judge, version, model, level, scores and error of every verdict asked for."""
    spot_check: Mapping[str, Any] | None = None
    """What a second judge said: judge, rubric versions, scores by metric key, errors by rubric;
    None: the case was judged once."""
    judge_input: Mapping[str, Any] | None = None
    latency: Mapping[str, float]
    """``total_ms`` at the client, then the target's phases (``retrieval_ms`` …)."""
    cost: Mapping[str, float | None] = field(default_factory=dict)
    indexing_coverage: Mapping[str, Any] | None = None
    models: Mapping[str, str] = field(default_factory=dict)
    case: Case | None = None
    """The case as it was asked and scored, so that a stored run can be explained, judged and
    scored again whatever has become of its file; None in records of foreign origin."""
    parameters: str = ""
    """Of parametrized fixtures, as pytest appends them to the name of the item: ``[small]``."""

    @property
    def counted(self) -> bool:
        """Whether figures and the gate count the case: not before a person has reviewed it."""
        return self.case is None or self.case.review != "generated"

    @property
    def name(self) -> str:
        """The name of the item: what tells apart the cases of a file within a run."""
        return self.case_id + self.parameters

    @property
    def nodeid(self) -> str:
        """The pytest node id of the item."""
        return f"{self.file}::{self.name}"
