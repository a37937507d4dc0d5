"""Parts of a set of cases: those of a tier with the limits that apply to them, and shards."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self, TypeVar

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


_SHARD: Final = re.compile(r"\s*([0-9]{1,6})\s*/\s*([0-9]{1,6})\s*")
_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class Shard:
    """The ``index``-th of ``count`` parts, from 1."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a text such as ``2/3``.

        Raises:
            ValueError: it does not name a part; the message says what was expected.
        """
        found = _SHARD.fullmatch(text)
        shard = cls(int(found[1]), int(found[2])) if found else None
        if shard is None or not 1 <= shard.index <= shard.count:
            raise ValueError(
                f"got {text!r:.40}, expected I/N with I from 1 to N, such as 1/3 for the first of "
                "three parts"
            )
        return shard

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def part_of(self, keys: Iterable[_Key]) -> frozenset[_Key]:
        """Return this part of the keys: every ``count``-th one.

        The place in the whole set decides, so that neither another selection nor the order in
        which cases run moves a key to another part. Neighbours, which often cost alike, are put
        into different parts.

        >>> sorted(Shard(2, 3).part_of("abcdefg"))
        ['b', 'e']
        """
        return frozenset(
            key for place, key in enumerate(keys) if place % self.count == self.index - 1
        )
