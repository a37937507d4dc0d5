"""Cases as plain values, and the choice of those that are evaluated."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pytest_rageval.engine.preparing import read_sets
from pytest_rageval.project import case_reader
from pytest_rageval.project.case_reader import LoadedSet, LocatedCase, by_nodeid
from pytest_rageval.project.case_variables import sent_fields
from pytest_rageval.project.discovery import argument_path, project_files, selected_files
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import DatasetError, Fault, faults_error
from pytest_rageval.values.settings import Settings

CaseSource = str | os.PathLike[str] | Iterable[Case | Mapping[str, Any]]
"""A case file, a folder of case files, or cases: values or mappings in the form of a line."""

IN_MEMORY: Final = "in-memory"
"""Name that stands for the case file of cases that no file of the project holds."""


def load_cases(path: str | os.PathLike[str]) -> tuple[Case, ...]:
    """Read the cases of a case file, in its order; a conversation is one, with its ``turns``.

    Raises:
        DatasetError: with every fault of the file.
    """
    reader = case_reader.CaseReader(Path(path))
    cases = tuple(case for _, case in reader.lines())
    reader.raise_faults()
    return cases


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenCases:
    """The cases to ask, and the set that they are chosen from."""

    cases: Mapping[str, LocatedCase]
    """By node id."""
    files: tuple[Path, ...]
    """Files that hold them."""
    sets: Mapping[Path, LoadedSet]
    """The whole set by file."""
    known: tuple[LoadedSet, ...]
    """Sets whose categories and tags thresholds.toml may name: those of the project, and given."""
    whole: bool
    """Whether every file of the set could be read."""


def choose_cases(given: CaseSource, settings: Settings) -> ChosenCases:
    """Find the cases that a caller named or gave.

    A file or folder is what it is to pytest. A given case that a case file of the project holds is
    the case of that file; others make up a set of their own.

    Raises:
        DatasetError: with every fault of the files or cases, or no case.
    """
    if isinstance(given, str | os.PathLike):
        return _of_files(os.fspath(given), settings)
    return _of_values(given, settings)


def _read(
    files: Iterable[Path], settings: Settings
) -> tuple[dict[Path, LoadedSet], dict[Path, DatasetError]]:
    return read_sets(files, Path(settings.rootdir), sent_fields(settings.target))


def _of_files(named: str, settings: Settings) -> ChosenCases:
    every = project_files(settings)
    asked = selected_files([named], every, invocation_dir=Path.cwd())
    sets, faulty = _read(sorted({*every, *asked}), settings)
    path = argument_path(named, Path.cwd())
    others = {f for f in faulty if f != path and case_reader.other_file_note(f, f.name)}
    faults = [str(faulty[file]) for file in asked if file in faulty.keys() - others]
    if faults:
        raise DatasetError("\n".join(faults))
    files = tuple(file for file in asked if file in sets)
    if not files:
        raise DatasetError.of(
            named, "no_cases", folder=f"{' or '.join(settings.testpaths)} in {settings.rootdir}"
        )
    return ChosenCases(
        cases=by_nodeid(sets[file] for file in files),
        files=files,
        sets=sets,
        known=tuple(sets.values()),
        whole=not faulty.keys() - others,
    )


def _of_values(given: Iterable[Case | Mapping[str, Any]], settings: Settings) -> ChosenCases:
    wanted = _checked(given)
    sets, faulty = _read(project_files(settings), settings)
    homes: dict[str, list[tuple[Path, str, LocatedCase]]] = {}
    for path, loaded in sets.items():
        for nodeid, located in by_nodeid([loaded]).items():
            homes.setdefault(located.case.id, []).append((path, nodeid, located))
    files: dict[Path, None] = {}
    cases: dict[str, LocatedCase] = {}
    rest: list[LocatedCase] = []
    sent = sent_fields(settings.target)
    turns = ((n, one) for n, case in enumerate(wanted, start=1) for one in case.expanded())
    for number, case in turns:
        known = [home for home in homes.get(case.id, ()) if home[2].case == case]
        if known:
            path, nodeid, located = known[0]
            files[path], cases[nodeid] = None, located
        else:
            rest.append(LocatedCase(case=case, lineno=number, sent=sent))
    chosen, every = sets if cases else {}, sets
    if rest:
        path = Path(settings.rootdir) / IN_MEMORY
        own = LoadedSet(path=path, display=IN_MEMORY, cases=tuple(rest))
        files[path], chosen, every = None, {**chosen, path: own}, {**sets, path: own}
        cases |= by_nodeid([own])
    return ChosenCases(
        cases=cases,
        files=tuple(files),
        sets=chosen,
        known=tuple(every.values()),
        whole=not faulty,
    )


def _checked(given: Iterable[Case | Mapping[str, Any]]) -> list[Case]:
    """Check cases as the lines of a file are checked.

    Raises:
        DatasetError: with every fault, or there is no case.
    """
    found: list[Case] = []
    faults: list[Fault] = []
    first: dict[str, int] = {}
    for number, one in enumerate(given):
        place = f"cases[{number}]"
        if not isinstance(one, Case | Mapping):
            expected = "a Case or a mapping of its fields"
            facts = {"found": type(one).__name__, "expected": expected}
            faults.append(Fault(code="type", facts=facts, file=place))
            continue
        try:
            fields = case_reader.case_fields(one) if isinstance(one, Case) else one
            case = case_reader.parse_case(fields)
        except DatasetError as error:
            faults += [replace(fault, file=place, line=0) for fault in error.faults]
            continue
        if first.setdefault(case.id, number) != number:
            facts = {"found": repr(case.id), "owner": f"that of cases[{first[case.id]}]"}
            faults.append(Fault(code="duplicate", facts=facts, file=place, field="id"))
        found.append(case)
    if faults or not found:
        raise faults_error(
            faults or [Fault(code="empty", facts={"expected": "at least one case"}, field="cases")]
        )
    return found
