"""Values of an explanation. Texts are plain sentences, not yet safe for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Final, Literal

from pytest_rageval.metrics.prepared import Kind
from pytest_rageval.support.text import plural
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import Citation, RetrievedChunk

Role = Literal["relevant", "irrelevant", "other", "undecided"]
MatchingRule = Literal[
    "whole_document", "quoted", "same_page", "same_section", "below_section", "coarse_chunk",
]  # fmt: skip
"""Rule by which a chunk matches an anchor."""
Rule = Literal[
    MatchingRule,
    # the chunk does not match
    "no_snippet",
    "above_section",
    "other_section",
    "other_page",
    "undecided",
    "no_heading",
    "other_vault",
    "path_case",
    "path_prefix",
    "similar_path",
    "other_document",
    # outcome
    "irrelevant_only",
    "irrelevant_deeper",
    "irrelevant_tie",
    "decided_at_capture",
    "no_anchor",
]
"""Name of the rule that decided about a chunk, stable for tools; the nearest to an anchor first."""
MetricStatus = Literal["scored", "not_applicable", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkReason:
    """One retrieved chunk: what it matched and by which rule, or why it matched nothing."""

    rank: int
    """From 1, in the order that the generator saw."""
    in_cut: bool
    """Whether the rank is at most k."""
    chunk: RetrievedChunk
    """As stored, with the golds that it matches and usually only the beginning of its text."""
    role: Role
    irrelevant: tuple[int, ...]
    """The ``irrelevant_supports`` that it matches best."""
    duplicate_of: int | None
    """Rank of the earlier chunk that it repeats; None: it repeats none."""
    in_scope: bool | None
    """Whether it is in the selected folders; None: none are reported."""
    rule: Rule
    reason: str

    @property
    def golds(self) -> tuple[int, ...]:
        """Golds that it matches."""
        return self.chunk.matched_golds or () if self.role == "relevant" else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorReason:
    """One gold or irrelevant support: its ranks, or the nearest miss."""

    index: int
    anchor: Anchor
    ranks: tuple[int, ...]
    """Every rank that matches it, including those beyond the cut."""
    document_ranks: tuple[int, ...] = ()
    """Every rank of its document."""
    found: bool
    """Whether a rank within the cut matches it."""
    in_scope: bool | None = None
    """Whether its document is in the selected folders; None: none are reported."""
    cited_by: tuple[int, ...] | None = None
    """Citations, from 1, that point into it; None: citations are not reported."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationReason:
    """One distinct citation and its targets."""

    number: int
    """From 1."""
    citation: Citation
    golds: tuple[int, ...]
    ranks: tuple[int, ...] | None
    """Ranks of the retrieved chunks that it cites; None: chunks are not reported."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReason:
    """One group of ``required_support_groups``."""

    golds: tuple[int, ...]
    lacks: tuple[int, ...] | None
    """Its golds that no chunk of the cut matches; empty: the group is met; None: chunks are not
    reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimReason:
    """One claim of the answer, as the judge saw it."""

    text: str
    supported: bool
    rank: int | None = None
    """Rank of the deciding chunk; None if absent, or it is unknown."""
    chunk: RetrievedChunk | None = None
    """That chunk."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactReason:
    """One expected key fact, and whether the judge found it in the answer."""

    text: str
    found: bool
    in_context: tuple[int, ...] | None = None
    """Ranks of the cut whose text states it; None: not looked up."""


@dataclass(slots=True, kw_only=True)
class JudgementReason:
    """One requested verdict."""

    rubric: str
    judge: str
    scores: Mapping[str, float]
    """By metric key; empty: the verdict failed, or there was nothing to score."""
    reasoning: str
    error: str | None
    """Kind and message of a verdict that failed."""
    claims: tuple[ClaimReason, ...] = ()
    """In the order of the answer."""
    facts: tuple[FactReason, ...] = ()
    """In the order of the case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricReason:
    """One metric of the case: its value and the arithmetic behind it."""

    key: str
    level: str
    """Family of the metric, as in the registry; ``other`` for a key it does not know."""
    status: MetricStatus
    value: float | None
    before_rerank: float | None
    """Its value before reranking; None: not reported, or not a ranking metric."""
    scale_end: float | None
    """The best value of a score from 0, where it is not 1; None if it is 1, or open."""
    reason: str
    """The arithmetic in one line, the rule that makes it not applicable, or the error."""
    population: str
    """The cases to which the metric applies."""
    direction: str = ""
    """Direction of better values, ``higher``, ``lower`` or ``neutral``; empty: not known."""
    best: bool = False
    """Whether no value could be better."""
    traceback: str = ""
    """Lines of the project's code that raised; empty: none did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One thing that a case must meet to pass."""

    key: str
    expected: float
    at_least: bool = False
    """Whether more than ``expected`` is good too."""
    value: float | None
    met: bool | None
    """None: not scored, or all that was scored of the case shows nothing (``unchecked``)."""
    reason: str


SHOWN_OF_RECORD: Final = (
    "file",
    "lineno",
    "repeat",
    "case.category",
    "case.difficulty",
    "case.tags",
    "case.answerable",
    "k",
    "case.turn",
    "history",
    "case.question",
    "answer",
    "reply.abstained",
    "reply.abstain_reason",
    "error",
    "scores.outcome",
    "scores.unchecked",
    "scores.failure_stage",
    "reply.folder_selection",
    "latency",
    "trace_id",
    "asked_at",
)
"""Facts of the record that an explanation contains unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadPart:
    """A part of an answer that is not read as what it states."""

    kind: Kind
    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The explanation of one record."""

    record: CaseRecord
    stage_meaning: str | None = None
    next_steps: tuple[str, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    golds: tuple[AnchorReason, ...] = ()
    groups: tuple[GroupReason, ...] = ()
    irrelevant: tuple[AnchorReason, ...] = ()
    chunks: tuple[ChunkReason, ...] | None = None
    """In rank order; None: not reported."""
    citations: tuple[CitationReason, ...] | None = None
    left_out: tuple[UnreadPart, ...] = ()
    """Parts of the answer that are not read as what it states, in order."""
    judgements: tuple[JudgementReason, ...] = ()
    """Every requested verdict."""
    metrics: tuple[MetricReason, ...] = ()
    """In the order of the registry."""
    notes: tuple[str, ...] = ()
    """Remarks on the run, and what people noted of the case."""
    trace_link: str = ""
    """Address of the trace that the target was asked in; empty: not known."""

    def document(self) -> dict[str, object]:
        """Return every shown field by name: those of the record, then derived ones."""
        derived = [field.name for field in fields(self) if field.name != "record"]
        return {
            "case_id": self.record.case.id,
            **{one.rpartition(".")[2]: attrgetter(one)(self.record) for one in SHOWN_OF_RECORD},
            **{name: getattr(self, name) for name in derived},
        }


_LISTED = 8


def join(names: Sequence[str]) -> str:
    """List names: ``a``, ``a and b``, ``a, b and c``; a long list is cut and says so."""
    if len(names) > _LISTED:
        names = [*names[: _LISTED - 1], f"{len(names) - _LISTED + 1} more"]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def indices(golds: Iterable[int]) -> str:
    """Name anchors by their index in the case file: ``[0] and [2]``."""
    return join([f"[{index}]" for index in sorted(golds)])


def ranks(places: Iterable[int]) -> str:
    """Name ranks: ``rank 2``, ``ranks 2 and 4``."""
    numbers = [str(rank) for rank in places]
    return f"{plural(len(numbers), 'rank', 'ranks')} {join(numbers)}"
