"""A run as its files hold it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pytest_rageval.values.config import ASSUMED, NO_CONFIG, RunConfig
from pytest_rageval.values.gate import BaselineInfo, CheckResult, GateResult, Verdict
from pytest_rageval.values.numbers import Aggregate, OwnFigure
from pytest_rageval.values.own_code import ShownSection
from pytest_rageval.values.record import SCHEMA_VERSION, CaseRecord, ScoreSettings
from pytest_rageval.values.settings import Settings

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
