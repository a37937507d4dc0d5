"""Checks and files before the first case of a run: what is wrong is one error at its start."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_rageval.metrics.registry import Registry
from pytest_rageval.project.case_reader import LoadedSet, read_set
from pytest_rageval.project.settings import target_kind
from pytest_rageval.project.threshold_keys import KnownNames
from pytest_rageval.project.thresholds import project_thresholds
from pytest_rageval.support.files import shown_below
from pytest_rageval.support.process import raise_open_files
from pytest_rageval.values.errors import ConfigError, DatasetError
from pytest_rageval.values.gate import Thresholds
from pytest_rageval.values.settings import Settings, TargetSettings

if TYPE_CHECKING:
    from pytest_rageval.analysis.trust.reliability import JudgeLabels

_OPEN_FILES: Final = 20
"""Files open beside the connections of cases: standard streams, the run, its lock and databases."""


def read_sets(
    files: Iterable[Path], rootdir: Path, sent: frozenset[str]
) -> tuple[dict[Path, LoadedSet], dict[Path, DatasetError]]:
    """Read case files; return those that could be loaded, and the faults of the others."""
    found = {file: read_set(file, rootdir, sent) for file in files}
    sets = {file: loaded for file, loaded in found.items() if isinstance(loaded, LoadedSet)}
    return sets, {file: bad for file, bad in found.items() if not isinstance(bad, LoadedSet)}


def check_target(target: TargetSettings, environ: Mapping[str, str]) -> None:
    """Check the settings of the target that each request would need.

    Raises:
        ConfigError: a header names no variable, or an expression is wrong.
    """
    if target.url is not None:
        from pytest_rageval.support.http.address import resolve_headers, resolve_request
        from pytest_rageval.target.variables import check_placeholders

        resolve_headers(target.headers, environ)
        resolve_request(target.request, environ)
        check_placeholders(target)
    if target.request is not None or target.response is not None:
        from pytest_rageval.target.mapping import compile_mapping

        compile_mapping(target.request, "request")
        compile_mapping(target.response, "response")


def check_results_dir(settings: Settings) -> None:
    """Check that the run can be written.

    Raises:
        ConfigError: a file, or a link that leads nowhere, stands in the place of a folder, or it
            cannot be written.
    """
    rootdir, results_dir = Path(settings.rootdir), settings.results_dir
    folder = rootdir / results_dir
    there = next(path for path in (folder, *folder.parents) if os.path.exists(path))
    effective = os.access in os.supports_effective_ids
    if there.is_dir() and not os.access(there, os.W_OK | os.X_OK, effective_ids=effective):
        raise ConfigError.of("results", "results_unwritable", found=there)
    for path in (folder, *folder.parents):
        if os.path.lexists(path) and not path.is_dir():
            raise ConfigError.of("results", "no_results_folder", found=shown_below(path, rootdir))


def check_open_files(settings: Settings, n_cases: int) -> None:
    """Check that files and connections can be open at once; raise the process's limit if needed.

    Raises:
        ConfigError: the system allows too few.
    """
    at_once = min(settings.concurrency, n_cases)
    ends = 2 if target_kind(settings) == "vault" else 1  # the embedded server has the other one
    # Measured: a run of one case at a time needs 22 with the embedded server.
    least = _OPEN_FILES + ends * at_once
    # Twice as many, for the judge's connections; a shell of macOS allows 256, most others 1,024.
    limit = raise_open_files(256 + 2 * ends * at_once)
    if limit < least:
        raise ConfigError.of(
            "--rageval-concurrency", "open_files", n=limit, found=settings.concurrency, least=least
        )


def refuse_select(settings: Settings) -> None:
    """Refuse a selection, such as that of a tier, where it would be passed over.

    Raises:
        ConfigError: there is one.
    """
    if settings.select:
        raise ConfigError.of("select", "tier_select", found=", ".join(settings.select))


def run_thresholds(
    settings: Settings,
    registry: Registry,
    sets: Iterable[LoadedSet],
    *,
    whole: bool,
    more: bool = False,
) -> Thresholds:
    """Read the gate of a run.

    Args:
        settings: of the run.
        registry: the metrics of the run.
        sets: the case files.
        whole: whether all of them could be read; else any category and tag is accepted, because a
            faulty file may hold it.
        more: whether a conftest.py may register further metrics.

    Raises:
        ConfigError: with every fault.
    """
    cases = [c.case for s in sets for c in s.cases]
    return project_thresholds(
        settings,
        gates=settings.extra_gates,
        judge_configured=settings.judged,
        known=KnownNames(
            registry=registry,
            more=more,
            categories={c.category for c in cases} if whole else None,
            tags={t for c in cases for t in c.tags} if whole else None,
        ),
    )


def read_labels(settings: Settings, sets: Iterable[LoadedSet]) -> JudgeLabels | None:
    """Read people's labels of the cases; None without labels, or if nothing is judged.

    Raises:
        ConfigError: the file is wrong, or a label matches several cases.
    """
    if not settings.judged:
        return None
    return read_labels_of([(s.display, one.case.id) for s in sets for one in s.cases], settings)


def read_labels_of(cases: Iterable[tuple[str, str]], settings: Settings) -> JudgeLabels | None:
    """Read people's labels of cases, by file and id; None if absent.

    Raises:
        ConfigError: the file is wrong, or a label matches several cases.
    """
    given = settings.judging.labels
    if given is None:
        return None
    from pytest_rageval.analysis.trust.reliability import labels_by_case
    from pytest_rageval.engine.labels import load_judge_labels

    try:
        labels = load_judge_labels(Path(settings.rootdir) / given, display=given)
        labels_by_case(labels, cases)
    except DatasetError as error:
        # The fault is in a file that a setting names, not in a case file.
        raise ConfigError.of_faults(error.faults) from error
    return labels
