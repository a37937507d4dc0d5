"""The cases that a tier makes its set, and the limits that apply to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pytest_rageval.project.case_reader import LoadedSet
from pytest_rageval.support.reading import hint
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import ConfigError, Fault
from pytest_rageval.values.gate import Thresholds
from pytest_rageval.values.settings import Settings

SELECTOR_RULE: Final = 'a list of "tag:NAME" and "category:NAME"'


def is_selector(text: str) -> bool:
    """Whether a text names a group of cases."""
    table, _, name = text.partition(":")
    return table in {"tag", "category"} and bool(name.strip())


def is_selected(case: Case, selectors: Sequence[str]) -> bool:
    """Whether any of the selectors names a group of the case; without selectors every case is."""
    return not selectors or not _groups(case).isdisjoint(selectors)


def _groups(case: Case) -> set[str]:
    return {f"category:{case.category}", *(f"tag:{tag}" for tag in case.tags)}


def select_cases(sets: Mapping[Path, LoadedSet], settings: Settings) -> dict[Path, LoadedSet]:
    """Return the sets with the cases alone that the settings select.

    Raises:
        ConfigError: a selector names no group of any case.
    """
    known = {group for one in sets.values() for found in one.cases for group in _groups(found.case)}
    tier = settings.origins.get("select", "").partition(", ")[2]
    table = ".".join(filter(None, ("tool.rageval", tier)))
    faults = [
        Fault(
            code="unknown",
            field=f"[{table}] select",
            facts={"what": f'group "{name}"', **hint(name, known)},
        )
        for name in settings.select
        if sets and name not in known
    ]
    if faults:
        raise ConfigError.of_faults(faults)
    return {
        path: replace(
            one,
            cases=tuple(c for c in one.cases if is_selected(c.case, settings.select)),
        )
        for path, one in sets.items()
    }


def limits_of(
    thresholds: Thresholds, categories: Collection[str], tags: Collection[str]
) -> Thresholds:
    """Return the limits on the whole set and on the groups that have a case in it."""
    groups: Mapping[str, Collection[str]] = {"category": categories, "tag": tags}
    kept = [
        one for one in thresholds.checks if one.table == "overall" or one.group in groups[one.table]
    ]
    return replace(thresholds, checks=tuple(kept))
