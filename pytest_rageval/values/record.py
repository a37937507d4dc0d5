"""The record of one case: reply, scores and verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from pytest_rageval.values.case import Case, Message
from pytest_rageval.values.reply import (
    AskResponse,
    Citation,
    ErrorInfo,
    RetrievedChunk,
)
from pytest_rageval.values.settings import JUDGED_ON, Aspect, Counted, FolderMode, MatchingMode
from pytest_rageval.values.verdict import Judgement, JudgeUsage, Verdict, usage_of

SCHEMA_VERSION: Final = 1
"""Version of every stored JSON document. 1: first."""
MOST_SCORE: Final = 1e50
"""Powers and sums of larger scores overflow, which only metrics of a project's own code reach."""

Outcome = Literal["passed", "flawed", "missed", "error"]
"""From good to bad; docs/metrics.md#outcome-of-a-case."""
AgainReason = Literal["failed", "flipped", "unsure"]
"""The first answer did not pass, passed unlike that of the baseline, or left the judge unsure."""
FailureStage = Literal[
    "not_indexed",
    "out_of_scope",
    "lost_context",
    "not_retrieved",
    "lost_in_rerank",
    "irrelevant_retrieved",
    "wrongly_abstained",
    "not_cited",
    "ungrounded",
    "not_used",
    "incorrect",
    "hallucinated",
]
STAGES: Final[tuple[FailureStage, ...]] = get_args(FailureStage)
ANSWER_STAGES: Final[frozenset[str]] = frozenset(
    {"not_cited", "ungrounded", "not_used", "incorrect"}
)
"""Stages of a flawed case: retrieval is as expected; the answer lacks a citation, or is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationMarkers:
    """Forms of citations in an answer besides those that are always read."""

    presets: tuple[str, ...] = ()
    pattern: str | None = None
    """Regular expression with a group ``n`` or ``path``; it is tried before the presets."""
    first: int | None = None
    """Number of the first passage; None: that of the preset, 1 for the pattern."""
    counts: Counted | None = None
    """None: that of the preset, the chunks for the pattern."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSettings:
    """Settings of scoring besides the case and the response; invariants of a run."""

    k: int = 5
    """The run's cutoff, at least 1; a case's own ``k`` overrides it."""
    ranked: bool = True
    """False where the order of the chunks is not their rank: then all of them are in the cut."""
    strip_root: tuple[str, ...] = ()
    """Folders that are taken off the front of paths."""
    path_case: Literal["sensitive", "insensitive"] = "sensitive"
    matching_mode: MatchingMode = "auto"
    snippets: Literal["off", "any", "all"] = "off"
    coarse_chunks: bool = False
    headings_reported: bool = True
    """False when no chunk of the whole run reports a heading."""
    texts_reported: bool = True
    """False when no chunk of the whole run has its whole text."""
    pages_reported: bool = True
    """False when no chunk of the whole run reports pages."""
    citations_reported: bool = False
    """True when any answer of the whole run cites or any reply has references: an answer without
    citations then cites nothing."""
    citations_in_text: bool = False
    """True when any answer of the whole run cites in its text: the claims of an answer that does
    not are then without a citation."""
    token_budget: int | None = None
    """Tokens of the context within which ``recall_at_tokens`` counts; None: it does not apply."""
    markers: CitationMarkers | None = None
    """Further forms of citations; None: none."""
    abstention_texts: tuple[str, ...] = ()
    """Answers with which the target says that it abstains."""
    folder_mode: FolderMode | None = None
    retrieval_only: bool = False
    history_supports: bool = False
    """Whether the conversation supports claims, as passages do."""
    judge_configured: bool = False
    judged_on: tuple[Aspect, ...] = JUDGED_ON
    """``judged_on`` of thresholds.toml; decides the outcome alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """Parts of replies that the target of a run reports at all, facts about the whole run."""

    headings: bool = True
    """Whether any retrieved chunk has a heading; also True without chunks."""
    texts: bool = True
    """Whether any retrieved chunk has its whole text; also True without chunks."""
    pages: bool = True
    """Whether any retrieved chunk has pages; also True without chunks."""
    citations: bool = False
    """Whether any answer cites or any reply has references."""
    citations_in_text: bool = False
    """Whether any answer cites in its text, as far as its claims were looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationCheck:
    """One citation in a claim, looked up in the passages that it points at."""

    ranks: tuple[int, ...] = ()
    """Ranks of those passages, from 1; empty: nothing that was retrieved."""
    supports: bool | None = False
    """Whether one of them supports the claim; None: a text is missing or not whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedClaim:
    """One statement of an answer, with the citations written in it."""

    text: str
    citations: tuple[CitationCheck, ...] = ()
    stated_at: int | None = None
    """Rank of the first passage in the cut that supports it, looked up only where it has citations
    and none of them does; None: no passage, or not looked up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Key facts and claims as they were found in the whole texts of the passages, by words."""

    facts: tuple[tuple[int, ...], ...] | None = None
    """By key fact that is not blank: ranks of the passages in the cut that state it; None: there
    are no key facts, or not every passage in the cut came with its whole text."""
    facts_stated: tuple[bool, ...] | None = None
    """By the same facts: whether the answer states it, by the run's judge; None: not judged."""
    claims: tuple[CheckedClaim, ...] | None = None
    """In the order of the answer; None: not looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDetail:
    """Words of a project's own metric on one case: beside its score, or in place of it."""

    detail: str = ""
    """The reason that the metric gave for its score; empty: none."""
    error: str = ""
    """Reason why there is no score, without secrets; empty: there is one, or it does not apply."""
    place: str = ""
    """Origin of an error: ``module:function``, and the file and line."""
    traceback: str = ""
    """Place in the project's code that raised, as of ``ErrorInfo``; empty: nothing was raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseScores:
    """Every metric of one case.

    A key is *scored* (a number in ``metrics``), *not applicable* (None in ``metrics`` and a
    reason in ``not_applicable``) or an *error* (None in ``metrics`` and no reason).
    """

    metrics: Mapping[str, float | None]
    """Score by metric; None: it does not apply, or there is no answer to score."""
    not_applicable: Mapping[str, str]
    """Reason by metric that does not apply."""
    outcome: Outcome
    """``passed``, ``missed``, ``flawed`` or ``error``."""
    failure_stage: FailureStage | None = None
    """First stage that failed; None: none did."""
    citations: tuple[Citation, ...] | None = None
    """References and citations read from the answer text, de-duplicated; None: not reported."""
    unchecked: bool = False
    """True when nothing could be scored, so that "passed" has no meaning."""
    clarifies: bool = False
    """Whether the answer asks back, where the case allows that."""
    metrics_before_rerank: Mapping[str, float | None] | None = None
    """The retrieval metrics of the same chunks in their order before reranking; None: not every
    chunk reports its rank there."""
    metric_details: Mapping[str, MetricDetail] = field(default_factory=dict)
    """By key of a metric in the project's own code that had more to say than its score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseVerdicts:
    """Verdicts on one answer; everything is empty without a judge."""

    judgements: Mapping[str, Judgement] = field(default_factory=dict)
    """By rubric, in the order of asking; a failed one without the reply of the model."""
    spot_check: Mapping[str, Judgement | None] = field(default_factory=dict)
    """Judgements of a second judge, by the rubrics that it repeats; null where the first one
    failed. Empty: the case was judged once."""
    context_chunk_ids: tuple[str | None, ...] = ()
    """Ids of the passages that the judge read, best rank first."""
    evidence: Evidence | None = None
    """Key facts and claims looked up in the passages; not a verdict of the judge."""

    def of(self, rubric: str) -> Verdict | None:
        """The verdict of the first judge under a rubric; None: it was not asked, or failed."""
        found = self.judgements.get(rubric)
        return None if found is None else found.verdict

    @property
    def claimed(self) -> Verdict | None:
        """The verdict with the claims of the answer; None: not judged, or it failed."""
        return self.of("groundedness" if "groundedness" in self.judgements else "claims")

    @property
    def second(self) -> tuple[Judgement, ...]:
        """Judgements of the second judge."""
        return tuple(one for one in self.spot_check.values() if one is not None)

    @property
    def usage(self) -> JudgeUsage | None:
        """Tokens and US dollars of the verdicts by a model; None if absent."""
        return usage_of((*self.judgements.values(), *self.second))


_NO_REPLY: Final = AskResponse(answer="")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedAlone:
    """Result of asking the standalone question of a turn without its conversation."""

    chunks: tuple[RetrievedChunk, ...] | None = None
    """Chunks in the cut; None: not reported."""
    error: ErrorInfo | None = None
    """Reason for which there is no answer."""
    total_ms: float | None = None
    """Time at the client; None: nothing was timed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRecord:
    """All data of one case of a run: one line of ``results.jsonl``."""

    schema_version: Literal[1] = SCHEMA_VERSION
    """Version of the format; docs/stability.md says when it changes."""
    case: Case
    """The case as it was asked and scored, so that a stored run can be explained, judged and
    scored again even if its file has changed."""
    file: str
    """Case file relative to the rootdir, ``/``-separated."""
    lineno: int
    """Line of the case in its file, from 1."""
    case_hash: str
    """16 hex digits over what the asking and scoring of the case depend on."""
    cluster: str | None = None
    """Normalised document of ``gold_supports[0]``; None: the case is its own cluster."""
    k: int
    """Cutoff that it was scored with: the case's own, else the run's."""
    repeat: int = 0
    """Number of the repeat, from 0."""
    again: AgainReason | None = None
    """Reason why the case was asked again, in the first record and in those that follow; None: it
    was not, or as often as every other."""
    parameters: str = ""
    """Parameters of fixtures, as pytest appends them to the name of the item: ``[small]``."""
    status: Literal["ok", "error"]
    """``error``: there is no answer to score."""
    error: ErrorInfo | None = None
    """Reason for which there is no answer."""
    response: AskResponse | None = None
    """The reply with its chunks in rank order and compared with the anchors of the case; None:
    there was none. Its times are in ``latency``."""
    answer_chars: int | None = None
    """Length of the whole answer, of which only the beginning may be kept."""
    latency: Mapping[str, float]
    """``total_ms`` at the client, then the target's phases (``retrieval_ms`` …)."""
    scores: CaseScores
    history: tuple[Message, ...] = ()
    """Messages of the conversation before the question; empty: it is the first, or of none."""
    alone: AskedAlone | None = None
    """The standalone question asked alone; None: not asked."""
    verdicts: CaseVerdicts = field(default_factory=CaseVerdicts)
    trace_id: str | None = None
    """Trace that the target was asked in, 32 hex digits; None: it was not traced, or not asked."""
    span_id: str | None = None
    """Our span in that trace, the parent of the target's spans; None: a header of the project's own
    named another, or there is no trace."""
    asked_at: str | None = None
    """Time at which the final attempt was sent, ISO 8601 in UTC; None: not asked, or not known."""

    @property
    def reply(self) -> AskResponse:
        """The response; one that reports nothing where there was none."""
        return self.response or _NO_REPLY

    @property
    def answer(self) -> str | None:
        """Text of the answer; None: there was none."""
        return None if self.response is None else self.response.answer

    @property
    def counted(self) -> bool:
        """Whether figures and the gate count the case: only once a person has reviewed it."""
        return self.case.review != "generated"

    @property
    def may_clarify(self) -> bool:
        """Whether there is an answer, and the case allows it to ask back."""
        return self.error is None and "clarify" in self.case.expected_behavior

    @property
    def selected(self) -> bool:
        """Whether it was asked for what an earlier answer was, so that no figure may read it."""
        return self.again is not None and self.repeat > 0

    @property
    def place(self) -> tuple[str, int, int, int]:
        """Place among the records of a run: file, line, turn of a conversation and repeat."""
        return self.file, self.lineno, self.case.turn or 0, self.repeat

    @property
    def item(self) -> str:
        """The name of the pytest item that asked it: of a turn that of its conversation."""
        return self.case.item + self.parameters

    @property
    def item_nodeid(self) -> str:
        """The pytest node id of that item."""
        return f"{self.file}::{self.item}"

    @property
    def name(self) -> str:
        """The name of the case, unique among those of a file within a run."""
        return self.case.id + self.parameters

    @property
    def nodeid(self) -> str:
        """The node id of the case: that of its pytest item, or of its turn of a conversation."""
        return f"{self.file}::{self.name}"
