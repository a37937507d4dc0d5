"""A run as its files hold it: settings, surroundings, results, and what people say of answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args

from pytest_rageval.values.gate import BaselineInfo, CheckResult, GateResult, Verdict
from pytest_rageval.values.numbers import Aggregate, OwnFigure
from pytest_rageval.values.own_code import MetricDefinition, ShownSection
from pytest_rageval.values.record import SCHEMA_VERSION, CaseRecord, FailureStage, ScoreSettings
from pytest_rageval.values.settings import Settings

ASSUMED: Final = Settings(rootdir=".", judge="none", matching_mode="heading")
"""Settings assumed of a run that does not store them: it names no judge, and headings decided
before there was a mode of matching."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeUsed:
    """A judge that gave verdicts of a run."""

    judge: str | None = None
    """Identity: ``offline/...``, or the model and its address."""
    model: str | None = None
    """As the server names it."""
    system_fingerprint: str | None = None
    """As the server gives it."""
    level: str | None = None
    """Way in which the format of a verdict was requested."""
    rubrics: Mapping[str, str | None] = field(default_factory=dict)
    """Version by rubric."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Of the requests, such as ``temperature``."""
    dropped_parameters: tuple[str, ...] = ()
    """Those that the server refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitState:
    """State of the repository; its fields are None outside of one."""

    commit: str | None = None
    """Checked out."""
    branch: str | None = None
    """Checked out; None: a detached head, as CI checks it out."""
    eval_set_commit: str | None = None
    """The last one that changed the case files, for information: the hashes decide."""
    dirty: bool | None = None
    """Whether tracked files had changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSet:
    """The cases from which a run selects.

    With it, shards can be merged and checks of groups decided without the case files.
    """

    hash: str | None = None
    """Over all cases of the test paths; None: the run does not store its set."""
    n_cases: int = 0
    """Cases of all files."""
    files: tuple[str, ...] = ()
    """Case files that the command line named."""
    n_asked: int = 0
    """Cases of the files that the command line named."""
    asked_hash: str | None = None
    """Over the cases of these files; None: the run does not store it."""
    by_category: Mapping[str, int] = field(default_factory=dict)
    """Number of cases."""
    by_tag: Mapping[str, int] = field(default_factory=dict)
    """Number of cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """Hardware that latency depends on, without the machine's name."""

    system: str | None = None
    """As Python names it, such as ``linux``."""
    machine: str | None = None
    """Architecture, such as ``x86_64``."""
    cpus: int | None = None
    """Number of logical ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """The content of ``config.json``."""

    schema_version: int = SCHEMA_VERSION
    """Of the format: docs/stability.md says when it changes."""
    run_id: str = ""
    """Name of the run and of its folder."""
    timestamp: str | None = None
    """Start: ISO 8601 with an offset."""
    config_hash: str | None = None
    """16 hex digits over the settings that change an answer."""
    dataset_hash: str | None = None
    """16 hex digits over the cases that have a record; None: before the first case."""
    metric_definitions_version: int = 1
    """Of the package's metrics."""
    metric_definitions: Mapping[str, MetricDefinition] = field(default_factory=dict)
    """Of the project's own metrics, by key."""
    settings: Settings = ASSUMED
    """All of them, without secrets; ``origins`` says where from."""
    judges: tuple[JudgeUsed, ...] = ()
    """Each judge that gave a verdict."""
    second_judges: tuple[JudgeUsed, ...] = ()
    """Those of the spot check."""
    dataset_version: str | None = None
    """From the settings, else the hash of the cases."""
    index_build_version: str | float | None = None
    """From the settings, else as reported."""
    retriever_version: str | None = None
    """From the settings, else the embedding model."""
    answerer_version: str | None = None
    """From the settings, else the model of answers."""
    target_models: Mapping[str, str] = field(default_factory=dict)
    """As the target reports them, by role."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of Python and the packages that affect figures."""
    hardware: Hardware = field(default_factory=Hardware)
    """Of the machine that asked."""
    git: GitState = field(default_factory=GitState)
    """State of the repository."""
    asked: tuple[str, ...] = ()
    """Targets that were asked; the settings name the configured one."""
    set: CaseSet = field(default_factory=CaseSet)
    """The cases from which the run selects."""
    skipped: tuple[str, ...] = ()
    """Node ids of cases that a mark or a fixture skipped."""
    sessions: tuple[str, ...] = ()
    """Start of each session that wrote the run."""
    concurrency: int | None = None
    """Most requests in flight, of all processes; 0: replies were replayed; None: unknown, or
    several."""
    cores_needed: float | None = None
    """CPU time / wall time of asking; near 1: saturated."""
    wall_s: float | None = None
    """Seconds of the last session; merged: of the longest part."""
    merged_from: tuple[str, ...] = ()
    """Runs of which a merged one consists."""


NO_CONFIG: Final = RunConfig()
"""Of a run without a readable ``config.json``."""


_SATURATED: Final = 0.9
_NOT_COMPARED: Final = "times are not compared: concurrency"
TIMED: Final = ("latency_ms.", "suite_wall_s")
"""Prefixes of figures that depend on the number of requests in flight."""


def other_concurrency(base: int | None, new: int | None) -> str:
    """Explain why times of two runs are not comparable; empty: they are.

    Args:
        base: requests in flight of the baseline; 0: replies were replayed; None: unknown. Neither
            is comparable with any.
        new: those of the new run.
    """
    one, other = ("unknown" if n is None else str(n or "0 (replayed)") for n in (base, new))
    if base == new:
        return "" if base else f"{_NOT_COMPARED} {one} in both runs"
    return f"{_NOT_COMPARED} {one} in base, {other} in new"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseNote:
    """Note of a person on a case."""

    file: str
    case_id: str
    """Name of the case in its run."""
    repeat: int = 0
    text: str
    author: str = ""
    time: str = ""
    """When it was written last, in ISO 8601; empty: unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseNotes:
    """Content of ``notes.json``."""

    schema_version: int = SCHEMA_VERSION
    """Of the format: docs/stability.md says when it changes."""
    notes: tuple[CaseNote, ...]
    """In the order in which they were begun."""


def itself(record: CaseRecord) -> CaseRecord:
    """Return a record that has its texts."""
    return record


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run as its files hold it, whether they are read or about to be written.

    Any of the documents may be missing, or be written by another tool: a document that cannot be
    read is empty here, and the properties return None or empty for what it lacks.
    """

    folder: Path
    records: Sequence[CaseRecord] = ()
    """The last of each case and repeat, scored as the end of the run scored them; empty also where
    only the documents were read."""
    config: RunConfig = NO_CONFIG
    """``config.json``."""
    aggregate: Aggregate | None = None
    """``metrics.json``, with ``groups.json`` where that was read; None: the run has not ended."""
    gate: GateResult | None = None
    """``gate.json``; None: the run has not ended."""
    settings: Settings = ASSUMED
    """Only settings that scoring depends on are surely the run's; the rest may be defaults."""
    scoring: ScoreSettings = field(default_factory=ScoreSettings)
    """Settings of scoring, with the fact whether the whole run reports headings."""
    tags: tuple[str, ...] = ()
    sections: tuple[ShownSection, ...] = ()
    """Sections of the report that the project's code has made, as ``sections.json`` holds them."""
    notes: tuple[str, ...] = ()
    """Remarks on the source of the figures, for their readers."""
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """By file name, the reason why a document that exists could not be read, without its path."""
    whole: Callable[[CaseRecord], CaseRecord] = field(default=itself, repr=False, compare=False)
    """Returns a record of the run with its texts, which are not in memory where only figures are
    needed."""

    @property
    def run_id(self) -> str:
        """The name of the run."""
        return self.folder.name

    @property
    def n_cases(self) -> int:
        """Number of cases with a record, each counted once."""
        return len({(record.file, record.name) for record in self.records})

    @property
    def verdict(self) -> Verdict | None:
        """The gate's verdict; None if absent."""
        return None if self.gate is None else self.gate.verdict

    @property
    def sentence(self) -> str:
        """The gate's sentence; empty if absent."""
        return "" if self.gate is None else self.gate.sentence

    @property
    def checks(self) -> tuple[CheckResult, ...]:
        """The gate's checks."""
        return () if self.gate is None else self.gate.checks

    @property
    def baseline(self) -> BaselineInfo:
        """The baseline of its gate; empty if absent."""
        return (self.gate and self.gate.baseline) or BaselineInfo()

    @property
    def numbers(self) -> Aggregate:
        """The numbers of a run that has them."""
        assert self.aggregate is not None
        return self.aggregate

    @property
    def own_figures(self) -> Mapping[str, OwnFigure]:
        """Own metrics of the whole run."""
        return {} if self.aggregate is None else self.aggregate.run_metrics

    @property
    def run_metrics(self) -> dict[str, float]:
        """Own metrics of the whole run that have a value."""
        return {k: one.value for k, one in self.own_figures.items() if one.value is not None}

    @property
    def run_metric_reasons(self) -> dict[str, str]:
        """Reasons of own metrics of the whole run without a value, by key."""
        found = self.own_figures.items()
        return {k: said for k, one in found if (said := one.error or one.not_applicable)}

    @property
    def judge(self) -> str | None:
        """The judge of the settings, or those that judged in its place, such as a fixture.

        ``none``: answers were not judged, None: unknown.
        """
        if self.config is NO_CONFIG:
            return None
        settings = self.config.settings
        named = settings.judge if settings.judged else "none"
        found = dict.fromkeys(one.judge for one in self.config.judges)
        ours = (f"{named}/", f"{named} at ")
        others = [name for name in found if name and not name.startswith(ours)]
        return ", ".join(others) or named

    @property
    def timeout_ms(self) -> float | None:
        """Limit of one request in milliseconds; None: unknown, or a client in code was asked."""
        target = self.config.settings.target
        known = target.client is None and (target.url is not None or target.vault is not None)
        return target.timeout_s * 1000 if known else None

    @property
    def saturation(self) -> str:
        """Sentence on a process that needed nearly a core or more; empty: less, or unknown.

        Python runs on one core at a time, so near a whole one its threads wait for it.
        """
        needed = self.config.cores_needed
        if needed is None or needed < _SATURATED or self.config.concurrency == 0:
            return ""
        return (
            f"the process needed {needed * 100:.0f} % of a core while it asked: latencies may "
            "include waiting for it; lower --rageval-concurrency, or stop other work"
        )


ReviewVerdict = Literal["pass", "fail", "skip"]
VERDICTS: Final[tuple[ReviewVerdict, ...]] = get_args(ReviewVerdict)
Part = Literal["retrieval", "answer"]
"""Part of a system in which a person sees the fault."""
RETRIEVAL_STAGES: Final[frozenset[FailureStage]] = frozenset(
    {
        "not_indexed",
        "out_of_scope",
        "lost_context",
        "not_retrieved",
        "lost_in_rerank",
        "irrelevant_retrieved",
    }
)
FAILURE_TAG: Final = "failure:"
"""Beginning of the tags that name what a reader found wrong with the answer to a case."""
ReviewKey = tuple[str, str, int]
"""Case file, name of the case and repeat."""


def part_of(stage: FailureStage) -> Part:
    """Return the part of a system in which a stage lies."""
    return "retrieval" if stage in RETRIEVAL_STAGES else "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReview:
    """One person's verdict on one answer; a later one on the same answer replaces it."""

    file: str
    case_id: str
    """Name of the case in its run, or id in its file."""
    repeat: int = 0
    answer_hash: str
    """Hash of the answer that was read: of another answer the verdict says nothing."""
    verdict: ReviewVerdict | None
    """``skip``: the reader cannot tell; None: an earlier verdict is taken back."""
    note: str = ""
    """The first thing that is wrong, in the reader's words."""
    category: str = ""
    """Empty: none yet."""
    part: Part | None = None
    """Part in which the reader sees the fault; None: not said."""
    blind: bool = False
    """Whether our stage and scores were hidden."""

    @property
    def key(self) -> ReviewKey:
        """The answer that is meant."""
        return self.file, self.case_id, self.repeat


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryChange:
    """A category gets another name; one that is in use already merges both."""

    before: str
    after: str
    """Empty: its answers have none again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewLine:
    """One line of a reviewer's file: exactly one of its two parts."""

    schema_version: Literal[1] = SCHEMA_VERSION
    """Of the format: docs/stability.md says when it changes."""
    at: str
    """Time, UTC, ISO 8601."""
    review: AnswerReview | None = None
    category: CategoryChange | None = None
