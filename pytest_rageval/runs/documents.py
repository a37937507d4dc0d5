"""The ``config.json`` of a run, made from its settings, its records and its surroundings."""

from __future__ import annotations

import os
import platform
import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from importlib import metadata
from typing import Any, Self

from pytest_rageval.metrics.built_in import BUILT_IN, DEFINITIONS_VERSION
from pytest_rageval.metrics.definitions import own_definitions
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.project.case_reader import LoadedSet, dataset_hash
from pytest_rageval.project.settings import config_hash, stored_settings
from pytest_rageval.values.config import CaseSet, Hardware, JudgeUsed, RunConfig
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.verdict import Judgement


@dataclass(slots=True)
class RunFacts:
    """Facts about the system under test and its judge, from the records of a run."""

    models: dict[str, str] = field(default_factory=dict)
    index_version: str | float | None = None
    judges: dict[Hashable, JudgeUsed] = field(default_factory=dict)
    """Each judge once: by identity, model and fingerprint as the server names them, and level."""
    second_judges: dict[Hashable, JudgeUsed] = field(default_factory=dict)
    """The same of the spot check."""

    @classmethod
    def of(cls, records: Iterable[CaseRecord]) -> Self:
        """Return the facts that records report."""
        facts = cls()
        for record in records:
            facts.add(record)
        return facts

    def add(self, record: CaseRecord) -> None:
        """Take the facts of one record; of several models in one role the last is kept."""
        self.models.update(record.reply.models)
        if self.index_version is None and record.reply.indexing_coverage:
            version = record.reply.indexing_coverage.get("index_version")
            is_one = isinstance(version, str | int | float) and not isinstance(version, bool)
            self.index_version = version if is_one else None
        for known, judgements in (
            (self.judges, record.verdicts.judgements.values()),
            (self.second_judges, record.verdicts.second),
        ):
            for found in judgements:
                if found.rubric_version or not known:  # else the judge raised
                    _add_judge(known, found)


def _add_judge(known: dict[Hashable, JudgeUsed], found: Judgement) -> None:
    who = {name: getattr(found, name) for name in ("judge", "model", "system_fingerprint", "level")}
    one = known.setdefault(tuple(who.values()), JudgeUsed(**who))
    known[tuple(who.values())] = replace(
        one,
        rubrics={**one.rubrics, found.rubric: found.rubric_version},
        parameters=found.parameters,
        dropped_parameters=found.dropped_parameters,
    )


def run_config(
    settings: Settings,
    *,
    run_id: str,
    started_at: datetime,
    dataset_hash: str | None,
    facts: RunFacts,
    registry: Registry = BUILT_IN,
) -> RunConfig:
    """Return the ``config.json`` of a run; its git state, set and sessions are added.

    Before the first case, the hash of the dataset is unknown.
    """
    return RunConfig(
        run_id=run_id,
        timestamp=started_at.isoformat(timespec="milliseconds"),
        config_hash=config_hash(settings),
        metric_definitions_version=DEFINITIONS_VERSION,
        metric_definitions=own_definitions(registry),
        settings=stored_settings(settings),
        # With the version of the dataset those of an experiment: from settings, else as reported.
        index_build_version=settings.index_build_version or facts.index_version,
        retriever_version=settings.retriever_version or facts.models.get("embedding_model"),
        answerer_version=settings.answerer_version or facts.models.get("llm_model"),
        versions=versions(),
        hardware=Hardware(system=sys.platform, machine=platform.machine(), cpus=os.cpu_count()),
        **recorded_fields(settings, facts, dataset_hash),
    )


def recorded_fields(
    settings: Settings, facts: RunFacts, dataset_hash: str | None
) -> dict[str, Any]:
    """Return the fields of a ``RunConfig`` that also the merging of runs makes anew."""
    return {
        "dataset_hash": dataset_hash,
        "dataset_version": settings.dataset_version or dataset_hash,
        "judges": tuple(facts.judges.values()),
        "second_judges": tuple(facts.second_judges.values()),
        "target_models": dict(facts.models),
    }


def case_set(whole: Iterable[LoadedSet], asked: Iterable[LoadedSet]) -> CaseSet:
    """Describe the set of cases from which a run selects.

    Args:
        whole: every case file of the test paths, and those named on the command line.
        asked: those that the command line asked for.
    """
    cases = [located for loaded in whole for located in loaded.cases]
    files = list(asked)
    return CaseSet(
        hash=dataset_hash(located.case_hash for located in cases),
        n_cases=len(cases),
        files=tuple(sorted(loaded.display for loaded in files)),
        n_asked=sum(len(loaded.cases) for loaded in files),
        asked_hash=dataset_hash(c.case_hash for loaded in files for c in loaded.cases),
        by_category=dict(sorted(Counter(c.case.category for c in cases).items())),
        by_tag=dict(sorted(Counter(t for c in cases for t in set(c.case.tags)).items())),
    )


REPORTED_PACKAGES = ("pytest-rageval", "pytest", "pytest-xdist", "httpx", "numpy", "pydantic")


@cache
def versions(packages: tuple[str, ...] = REPORTED_PACKAGES) -> Mapping[str, str]:
    """Return the versions of Python and of the packages that affect measurements."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
