"""Nested, stratified subsets of the cases, and the cases that are held out."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_rageval.values.errors import ConfigError

LEAST_HELD: Final = 30
"""Cases without which a holdout shows next to nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepCase:
    """The facts of a case that a sweep is planned by."""

    id: str
    """Unique, such as its node id."""
    category: str
    answerable: bool
    tags: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()
    """Metrics that it has no value of, whatever the reply."""
    cluster: str | None = None
    """Document whose cases are tested together; None: the case is its own cluster."""
    conversation: str | None = None
    """Conversation that it is a turn of, which is asked as a whole; None: it is of none."""

    @property
    def group(self) -> str:
        """Name of the cases that are tested together."""
        return case_group(self.id, self.cluster)


def case_group(id: str, cluster: str | None) -> str:
    """Name the cases that are tested together: those of a document, or the one without any."""
    return cluster or f"\0{id}"


def case_order(cases: Iterable[SweepCase], seed: int) -> tuple[str, ...]:
    """Return the ids in an order each beginning of which has the mix of the whole.

    Strata are categories, answerable and unanswerable apart. The cases of each are shuffled and
    spread evenly, so a beginning holds the share of each stratum up to one case. The turns of a
    conversation stay together.

    Args:
        cases: in any order, which matters only for the turns of a conversation.
        seed: of the shuffle.
    """
    cases, turns = [*cases], dict[str, list[str]]()
    for case in cases:
        turns.setdefault(case.conversation or case.id, []).append(case.id)
    talks = {case.id: case.conversation or case.id for case in cases}
    strata: dict[tuple[str, bool], list[str]] = {}
    for case in sorted(cases, key=lambda one: one.id):
        strata.setdefault((case.category, case.answerable), []).append(case.id)
    placed: list[tuple[float, float, str]] = []
    for name, ids in sorted(strata.items()):
        draw = random.Random(f"{seed} {name}")
        draw.shuffle(ids)
        placed += [((i + 0.5) / len(ids), draw.random(), id) for i, id in enumerate(ids)]
    order = dict.fromkeys(talks[id] for _, _, id in sorted(placed))
    return tuple(id for talk in order for id in turns[talk])


def split_holdout(order: Sequence[str], fraction: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split an order into the cases to search with and those held out for the verdict.

    Args:
        order: from ``case_order``, whose end has the mix of the whole, too.
        fraction: held out, from 0 to below 1; 0 holds out nothing.

    Raises:
        ConfigError: fewer than 30 cases are on either side.
    """
    if not fraction:
        return tuple(order), ()
    n = round(len(order) * fraction)
    if min(n, len(order) - n) < LEAST_HELD:
        raise ConfigError.of(
            "holdout", "holdout", found=f"{fraction:g}", n=len(order), n_held=n, least=LEAST_HELD
        )
    return tuple(order[:-n]), tuple(order[-n:])
