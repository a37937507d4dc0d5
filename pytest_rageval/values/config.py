"""Settings and surroundings of a run, as its ``config.json`` holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_rageval.values.own_code import MetricDefinition
from pytest_rageval.values.record import SCHEMA_VERSION
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
