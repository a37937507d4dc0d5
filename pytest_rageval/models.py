"""The values that flow through the package, from case to gate.

Plain frozen dataclasses on the standard library alone, so that importing them costs nothing.
Foreign data is validated at the edge (``dataset``, ``contract``, ``thresholds``) and arrives
here already clean: no NaN, no unknown field, no wrong type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final, Literal, Self

from pytest_rageval.errors import TargetErrorKind

SCHEMA_VERSION = 1
"""Version of every stored JSON document. 1: first."""

FolderMode = Literal["off", "on", "on_with_fallback"]
RecencyRule = Literal["cite_newer", "acknowledge_both", "cite_both"]
Difficulty = Literal["easy", "medium", "hard"]
Review = Literal["reviewed", "generated"]
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


class ExitCode(IntEnum):
    """Exit codes of the ``rageval`` command (pytest keeps its own)."""

    YES = 0
    NO = 1
    USAGE = 2
    NOT_COMPARABLE = 3
    UNREACHABLE = 4
    INTERRUPTED = 130


# --- cases ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A place in the documents: what a gold or an irrelevant support points at."""

    rel_path: str
    """Path of the document below its vault, ``/``-separated."""
    heading_path: str = ""
    """``# Title > ## Section``; empty means the whole document."""
    snippets: tuple[str, ...] = ()
    """Sentences that the section holds word for word; read only by the ``snippets`` setting."""
    grade: int = 1
    """Relevance grade, an integer of at least 1, used by nDCG."""
    vault: str | None = None
    """Compared only where the target reports a vault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question with what is known about its right answer (one line of a case file)."""

    id: str
    question: str
    answerable: bool = True
    expected_key_facts: tuple[str, ...] = ()
    expected_answer: str | None = None
    gold_supports: tuple[Anchor, ...] = ()
    irrelevant_supports: tuple[Anchor, ...] = ()
    required_support_groups: tuple[tuple[int, ...], ...] | None = None
    """Indices into ``gold_supports``: OR over groups, AND within a group."""
    recency_conflict_rule: RecencyRule | None = None
    """``gold_supports[0]`` is the newer one."""
    category: str = "general"
    difficulty: Difficulty | None = None
    tags: tuple[str, ...] = ()
    vaults: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    k: int | None = None
    """Cutoff of this case; the run's when None."""
    language: str | None = None
    translation_of: str | None = None
    required: bool = False
    """A miss of this case fails the run whatever the gates say."""
    review: Review = "reviewed"
    """``generated``: no person has looked at it yet; it is asked and shown but counts nowhere."""
    notes: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


# --- the RAG contract ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRequest:
    """One question to a target. Fields that are None or empty are not sent."""

    question: str
    vaults: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    k: int | None = None
    folder_mode: FolderMode | None = None
    vector_weight: float | None = None
    lexical_weight: float | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    """Passed through to the API as further top-level fields."""


@dataclass(frozen=True, kw_only=True)
class RetrievedChunk:
    """One retrieved passage as the target reported it, best first in its list.

    Without slots, so that ``of`` can fill all fields at once: twenty of these are made for every
    case, and calling the class takes ten times as long.
    """

    rel_path: str
    heading_path: str | None = None
    """None: the target reports no heading for this chunk."""
    chunk_id: str | None = None
    vault: str | None = None
    start_line: int | None = None
    end_line: int | None = None
    score_vector: float | None = None
    score_lexical: float | None = None
    score_final: float | None = None
    text: str | None = None
    text_truncated: bool = False
    """True when ``text`` is only the beginning of the passage."""
    text_hash: str | None = None
    """Names the normalised whole text where ``text`` was cut for storage, so that copies are
    still told apart."""
    rank: int | None = None
    rank_before_rerank: int | None = None
    token_count: int | None = None
    embedding: tuple[float, ...] | None = None
    """Vector of the passage, where the target reports it; never stored."""
    matched_golds: tuple[int, ...] | None = None
    """Indices of the golds this chunk matches, decided when its full text was at hand; None
    before scoring."""
    irrelevant: bool | None = None
    """Whether an ``irrelevant_supports`` anchor wins this chunk; None before scoring."""

    @classmethod
    def of(cls, checked: Mapping[str, Any]) -> Self:
        """Make a chunk of fields whose names and types were checked; others get their defaults."""
        chunk = object.__new__(cls)
        chunk.__dict__.update(checked)
        return chunk

    def decided(self, matched_golds: tuple[int, ...], *, irrelevant: bool) -> Self:
        """Return a copy with what holding it against the anchors of a case came to."""
        chunk = object.__new__(type(self))
        fields = chunk.__dict__
        fields.update(self.__dict__)
        fields["matched_golds"] = matched_golds
        fields["irrelevant"] = irrelevant
        return chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A source that an answer names."""

    rel_path: str | None
    """None: a citation of nothing, such as ``[9]`` where only five chunks were retrieved."""
    heading_path: str | None = None
    """None: the whole document."""
    vault: str | None = None
    chunk_index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSelection:
    """What the target's folder selector did."""

    selected_folders: tuple[str, ...] | None = None
    """None: no selection took place. Empty: nothing was searched."""
    available_folders: tuple[str, ...] | None = None
    fallback_used: bool | None = None
    reasoning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskResponse:
    """A target's answer. None means not reported, which differs from empty."""

    answer: str
    references: tuple[Citation, ...] | None = None
    abstained: bool | None = None
    abstain_reason: str | None = None
    retrieved_chunks: tuple[RetrievedChunk, ...] | None = None
    """In the order the generator saw them (rank order)."""
    query_embedding: tuple[float, ...] | None = None
    """Vector of the question, where the target reports it; never stored."""
    folder_selection: FolderSelection | None = None
    latency: Mapping[str, float] = field(default_factory=dict)
    """``<phase>_ms`` as the target reports them."""
    indexing_coverage: Mapping[str, Any] | None = None
    models: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorInfo:
    """Why a case has no answer."""

    kind: TargetErrorKind
    message: str
    attempts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AskResult:
    """What came of asking.

    Exactly one of ``response`` and ``error`` is set, except for an empty answer, where both
    are: its retrieval is still scored.
    """

    response: AskResponse | None
    error: ErrorInfo | None
    total_ms: float | None
    """Time of the final attempt at the client, monotonic clock; None when nothing was timed."""
    attempts: int = 1


# --- scores and records --------------------------------------------------------------------


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


# --- aggregates ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSummary:
    """A mean that travels with its counts and intervals.

    Defined in docs/metrics.md#the-mean-and-its-counts.
    """

    n: int
    """Scored cases."""
    n_not_applicable: int = 0
    n_error: int = 0
    mean: float | None = None
    """None: no data."""
    median: float | None = None
    mean_errors_as_worst: float | None = None
    """Set only where ``n_error`` > 0."""
    low: float | None = None
    """Two-sided interval at the run's confidence; None where none can be given."""
    high: float | None = None
    low_one_sided: float | None = None
    """One-sided lower bound at the run's confidence, for proofs in the gate."""
    high_one_sided: float | None = None
    se: float | None = None
    method: str | None = None
    """``wilson``, ``plus_two`` or ``bootstrap``."""
    clusters: int | None = None
    """Number of clusters where the clustered form was used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencySummary:
    """Percentiles of one duration in milliseconds."""

    n: int
    n_excluded: int = 0
    n_cached: int = 0
    n_censored: int = 0
    p50_ms: float | None = None
    p95_ms: float | None = None
    p50_censored: bool = False
    p95_censored: bool = False
    sum_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankSummary:
    """What reranking did to one metric, over the cases scored in both orders."""

    n: int
    before: float
    """Mean in the order before reranking."""
    after: float
    delta: float
    """``after`` - ``before``: positive is an improvement."""
    low: float | None
    """Two-sided interval of ``delta`` from the paired cases."""
    high: float | None
    improved: int
    """Cases whose value rose; the next two: fell, stayed."""
    worsened: int
    stayed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatSummary:
    """What repeats of the same cases tell of noise, each case by its own number of repeats."""

    repeats: int
    """R, the largest number of repeats of any case; at least 2."""
    n: int
    """Cases that were asked more than once."""
    flaky_rate: float
    """Cases that passed some but not all repeats / ``n``; an error is no pass."""
    flip_probability: float
    """Probability that two repeats of a case disagree on passing, mean over cases."""
    pass_at_k: Mapping[int, float]
    """For k = 1 to R: probability that at least one of k repeats passes, mean over the cases
    asked at least k times."""
    pass_hat_k: Mapping[int, float]
    """The same for all of k repeats ("pass^k")."""
    flaky_cases: tuple[tuple[str, str, int], ...]
    """File, case id and passes of the flaky cases, nearest to half first."""
    variance: Mapping[str, Mapping[str, float | None]]
    """By metric: n, within, between, icc, se_mean and noise_share, over the cases scored R
    times."""


AbstentionCounts = Mapping[str, Mapping[str, int]]
"""By ``answerable`` and ``unanswerable``: cases ``abstained``, ``answered``, ``error`` and
``unknown`` (nothing says whether the answer abstains)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """All numbers of a run, computed from its records alone."""

    total: int
    answerable: int
    unanswerable: int
    passed: int
    missed: int
    errored: int
    unchecked: int
    metrics: Mapping[str, MetricSummary]
    """Plain metric keys, every key of the metric registry."""
    rates: Mapping[str, float | None]
    """``error_rate``, ``timeout_rate``, ``empty_response_rate``, ``pass_rate``; 0 to 1."""
    by_category: Mapping[str, Mapping[str, MetricSummary]]
    by_tag: Mapping[str, Mapping[str, MetricSummary]]
    by_difficulty: Mapping[str, Mapping[str, MetricSummary]]
    by_answerable: Mapping[str, Mapping[str, MetricSummary]]
    by_vault: Mapping[str, Mapping[str, MetricSummary]]
    latency: LatencySummary
    latency_by_phase: Mapping[str, LatencySummary]
    indexing: Mapping[str, Any]
    """Rates, token statistics and warnings of the indexing coverage; empty: not reported."""
    cost_usd: float | None = 0.0
    cost_usd_uncached: float | None = 0.0
    judge_tokens: int = 0
    failed_cases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Ids of the cases that are ``missed`` and that are ``error``, in the order of file and id."""
    abstention: AbstentionCounts = field(default_factory=dict)
    rerank: Mapping[str, RerankSummary] = field(default_factory=dict)
    """By retrieval metric; empty: no case reports its ranks before reranking."""
    repeats: RepeatSummary | None = None
    """None: every case was asked once."""
    cross_lingual: Mapping[str, float | int | None] = field(default_factory=dict)
    """``mean``, ``n``, ``n_not_applicable``, ``n_error`` and ``n_unpaired`` of
    ``cross_lingual_consistency``; empty: no case is a translation of another."""
    correctness_by_reference: Mapping[str, MetricSummary] = field(default_factory=dict)
    """``correctness`` of the cases with a ``reference`` and of those with ``no_reference``; empty:
    not both occur."""
    warnings: tuple[str, ...] = ()
    target_warnings: tuple[str, ...] = ()
    """What the target itself says of its index; it may quote documents."""


# --- gate ----------------------------------------------------------------------------------

CheckTable = Literal["overall", "category", "tag"]
CheckKind = Literal["min", "max", "max_drop", "max_rise"]
CheckStatus = Literal["pass", "fail", "warn", "skip"]
Proof = Literal["proven_pass", "proven_fail", "unproven"]
Decide = Literal["estimate", "prove_pass", "prove_fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One limit of thresholds.toml: a metric of a table against one number."""

    metric: str
    kind: CheckKind
    limit: float
    table: CheckTable = "overall"
    group: str | None = None
    """The category or tag."""
    severity: Literal["fail", "warn"] = "fail"
    decide: Decide = "estimate"
    min_n: int = 20
    on_small_n: Literal["warn", "skip", "fail"] = "warn"
    line: int = 0
    """Line in thresholds.toml from 1; 0 for a check that no file holds."""
    implicit: bool = False
    """True for the checks that exist without being written."""
    beside_min: bool = False
    """True for a ``max`` next to a ``min`` of the same metric, so that their ids differ."""

    @property
    def name(self) -> str:
        """The part of the node id after ``thresholds.toml::``."""
        named = self.beside_min or self.kind in {"max_drop", "max_rise"}
        kind = f" {self.kind}" if named else ""
        where = {
            "overall": "",
            "category": f" [{self.group}]",
            "tag": f" [tag {self.group}]",
        }[self.table]
        return f"{self.metric}{kind}{where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """A parsed thresholds.toml."""

    checks: tuple[Check, ...] = ()
    confidence: float = 0.95
    baseline: str | None = None
    require_baseline: bool = False
    on_miss: Literal["report", "fail"] = "report"
    min_n: int = 20
    """Of ``[defaults]``: cases below which a mean is weak evidence."""
    path: str | None = None
    """Path as shown to the user; None: there is no file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What became of one check."""

    check: Check
    status: CheckStatus
    message: str
    """One plain-ASCII sentence such as ``0.700 is below min 0.750``."""
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    proof: Proof | None = None
    mde: float | None = None
    """Smallest difference this check could have seen at 80 % power."""
    small_n: bool = False
    missed_cases: tuple[str, ...] = ()
    """Ids of up to ten cases that pulled the value down, worst first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineInfo:
    """What a gate compared with, or why it could not."""

    name: str | None = None
    """As the user named it; None: nobody did."""
    run_id: str | None = None
    """None: it was not found."""
    problem: str | None = None
    """Why checks against it are skipped; None: they are decided."""
    n_paired: int = 0
    """Cases of the same content and cutoff in both runs."""
    n_changed: int = 0
    """Cases left out because their content or cutoff differs."""
    n_only_base: int = 0
    n_only_new: int = 0

    @property
    def sentence(self) -> str:
        """Say in one plain-ASCII sentence what was compared."""
        if self.problem is not None:
            return self.problem
        other = "" if self.run_id in {None, self.name} else f" ({self.run_id})"
        pairs = "1 case" if self.n_paired == 1 else f"{self.n_paired} cases"
        left_out = [
            *([f"{self.n_changed} changed"] if self.n_changed else []),
            *([f"{self.n_only_base} only in the baseline"] if self.n_only_base else []),
            *([f"{self.n_only_new} new"] if self.n_only_new else []),
        ]
        rest = f"; left out: {', '.join(left_out)}" if left_out else ""
        return f"{self.name}{other}: {pairs} compared{rest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """The decision about a run."""

    verdict: Literal["pass", "fail", "not_evaluated"]
    sentence: str
    """One plain-ASCII sentence."""
    checks: tuple[CheckResult, ...] = ()
    complete: bool = True
    """False: fewer cases were reported than expected, which fails."""
    n_expected: int | None = None
    n_reported: int | None = None
    baseline: BaselineInfo | None = None
    """None: nothing was to be compared."""


# --- settings ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSettings:
    """How the system under test is reached (``[tool.rageval.target]``)."""

    url: str | None = None
    """Base URL; requests go to ``{url}/api/v1/ask?debug=true`` unless ``path`` says otherwise."""
    path: str = "/api/v1/ask?debug=true"
    vault: str | None = None
    """Folder of Markdown for the embedded reference server."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Values may be ``env:NAME``; they are resolved only when a request is sent."""
    request: str | Mapping[str, str] | None = None
    """JMESPath over our request body: one expression, or one per field of the target's body."""
    response: str | Mapping[str, str] | None = None
    """JMESPath over the target's reply: one expression, or one per field of our contract."""
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 60.0
    timeout_s: float = 60.0
    """Limit of one attempt from first byte sent to last byte read."""
    retries: int = 3
    """Attempts after the first, on 408, 429, 5xx and connection errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """How answers are judged (``[tool.rageval.judge]``); who judges is ``Settings.judge``."""

    base_url: str | None = None
    """OpenAI-compatible API; None: OpenAI's own."""
    api_key_env: str = "OPENAI_API_KEY"
    """Name of the environment variable that holds the key; its value is never stored."""
    rubrics: tuple[str, ...] = ("groundedness", "correctness")
    """Names of the package's rubrics, or paths of own ones."""
    temperature: float = 0.0
    """Sent explicitly, and dropped where the server refuses it."""
    seed: int | None = 0
    """Sent where it is honoured; None: not sent."""
    max_tokens: int = 1024
    """Longest reply; a longer one is ``truncated``."""
    timeout_s: float = 60.0
    """Of one attempt."""
    retries: int = 4
    """Attempts after the first, on 408, 409, 429, 5xx and connection errors."""
    structured_output: Literal["auto", "json_schema", "json_object", "text"] = "auto"
    """How the reply's shape is asked for; ``auto`` goes down the ladder and remembers."""
    requests_per_minute: float | None = None
    """Shared by all processes of a run; None: no limit."""
    tokens_per_minute: float | None = None
    input_per_mtok: float | None = None
    """US dollars per million tokens; None: from the bundled price table."""
    output_per_mtok: float | None = None
    no_cache: bool = False
    """Ask again what a cache could answer."""
    cache_url: str | None = None
    """SQLAlchemy URL; None: ``cache/judge.sqlite`` below the first test path."""
    spot_check: int = 0
    """How many cases a second judge judges too."""
    spot_check_model: str | None = None
    """The second judge; None: the same one under another wording of the prompt."""
    labels: str | None = None
    """File of people's labels of some cases, relative to the rootdir; None: nothing corrects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting of a run, whatever it came from (flag > env > pyproject > default)."""

    rootdir: str
    testpaths: tuple[str, ...] = ("evals",)
    target: TargetSettings = field(default_factory=TargetSettings)
    k: int = 5
    folder_mode: FolderMode | None = None
    vector_weight: float | None = None
    lexical_weight: float | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    judge: str = "offline"
    """``offline``, ``none`` or the name of a model."""
    judging: JudgeSettings = field(default_factory=JudgeSettings)
    retrieval_only: bool = False
    path_case: Literal["sensitive", "insensitive"] = "sensitive"
    snippets: Literal["off", "any", "all"] = "off"
    coarse_chunks: bool = False
    store_full_text: bool = False
    no_report: bool = False
    """Do not write ``report.html`` at the end of a run."""
    results_dir: str = "evals/results"
    run_id: str | None = None
    repeats: int = 1
    """How often each case is asked."""
    resume: str | None = None
    """Run to continue in, as a user names one."""
    failed_from: str | None = None
    """Run whose misses and errors are selected."""
    shard: str | None = None
    """Part of the set such as ``2/3``; None: the whole."""
    max_errors: int = 10
    concurrency: int = 8
    """HTTP requests in flight in one process."""
    extra_gates: tuple[str, ...] = ()
    """``--gate`` expressions such as ``recall_at_k>=0.9``."""
    baseline: str | None = None
    """Run to compare with, as a user names one; None: the one that thresholds.toml names."""
    allow_regressions: bool = False
    """Whether checks against the baseline warn instead of fail."""
    documents_cleanup: Literal["none", "on-success", "always"] = "always"
    """When documents that a set brings along are deleted from the target again."""
    documents_path: str = "/api/v1/documents"
    """Where below the target's URL they are put and deleted."""
    documents_loader: str | None = None
    """``module:function`` that returns the text of a document's ``ref``."""
    dataset_version: str | None = None
    index_build_version: str | None = None
    retriever_version: str | None = None
    answerer_version: str | None = None
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where each value came from: flag, environment variable, pyproject.toml or default."""


NUMBERLESS_SETTINGS: Final = frozenset(
    {
        "rootdir",
        "testpaths",
        "results_dir",
        "run_id",
        "resume",
        "failed_from",
        "shard",
        "origins",
        "store_full_text",
        "no_report",
        "max_errors",
        "concurrency",
        "extra_gates",
        "baseline",
        "allow_regressions",
        "documents_cleanup",
        "documents_path",
        "documents_loader",
    }
)
"""Settings that no number of a case depends on: where a run is kept, which part of the set it asks,
how patient it is and what decides about it."""
