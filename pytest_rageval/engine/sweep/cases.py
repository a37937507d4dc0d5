"""Cases of a sweep: those of the project's case files, with what its runs share."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_rageval.analysis.sweep.subsets import SweepCase
from pytest_rageval.engine.preparing import (
    check_results_dir,
    check_target,
    read_labels,
    read_sets,
    refuse_select,
    run_thresholds,
)
from pytest_rageval.engine.registry import open_registry
from pytest_rageval.engine.sweep.trials import SweepCases
from pytest_rageval.judges import spot_check
from pytest_rageval.judges.opening import check_offline
from pytest_rageval.metrics.scoring import case_cluster, outside_population, score_settings
from pytest_rageval.project.case_reader import by_nodeid, dataset_hash, item_of, other_file_note
from pytest_rageval.project.case_variables import sent_fields
from pytest_rageval.project.discovery import project_files
from pytest_rageval.project.documents import documents_path
from pytest_rageval.project.settings import no_target, target_kind
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import ConfigError, DatasetError
from pytest_rageval.values.settings import Settings


def read_cases(settings: Settings) -> SweepCases:
    """Read the case files of a project, and check what every question would need.

    Raises:
        ConfigError: the target, the rubrics, the judge's labels or thresholds.toml are wrong, or
            the cases bring documents.
        DatasetError: with every fault of the files, or there is no case.
    """
    if target_kind(settings) == "none":
        raise no_target(settings)
    refuse_select(settings)
    check_target(settings.target, os.environ)
    check_results_dir(settings)
    check_offline(settings)
    spot_check.check_second_judge(settings)
    files = project_files(settings)
    sets, faulty = read_sets(files, Path(settings.rootdir), sent_fields(settings.target))
    faults = [str(error) for file, error in faulty.items() if not other_file_note(file, file.name)]
    if faults:
        raise DatasetError("\n".join(faults))
    cases = by_nodeid(sets.values())
    if not cases:
        raise DatasetError.of("", "no_cases", folder=" or ".join(settings.testpaths))
    if any(documents_path(file).is_file() for file in sets):
        raise ConfigError.of("", "documents_of_pytest")
    registry = open_registry(settings)
    by_file = [(nodeid.split("::", 1)[0], located.case) for nodeid, located in cases.items()]
    return SweepCases(
        cases=cases,
        sets=sets,
        registry=registry,
        thresholds=run_thresholds(settings, registry, sets.values(), whole=True),
        labels=read_labels(settings, sets.values()),
        judged_twice=spot_check.choose_cases(by_file, settings),
    )


def planned_cases(cases: SweepCases, settings: Settings) -> list[SweepCase]:
    """Return the cases that count, those that a person has reviewed, for the plan of a sweep."""
    counted = {id: one.case for id, one in cases.cases.items() if one.case.review != "generated"}
    return [
        SweepCase(
            id=id,
            category=case.category,
            answerable=case.answerable,
            tags=case.tags,
            without=_without_value(case, settings),
            cluster=case_cluster(case),
            conversation=None if case.talk is None else item_of(id, case),
        )
        for id, case in counted.items()
    ]


def _without_value(case: Case, settings: Settings) -> frozenset[str]:
    """Return the metrics that do not apply to a case, whatever the reply."""
    return outside_population(case, score_settings(settings), ("case", "settings"))


def cases_hash(cases: SweepCases) -> str:
    """Return the hash of what the cases ask and expect."""
    return dataset_hash(located.case_hash for located in cases.cases.values())
