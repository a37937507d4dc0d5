"""Rules of matching that differ between two runs. Pure.

A case whose evidence was compared by headings in one run and by quotations in the other has two
numbers of different meaning, whatever the settings say.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pytest_rageval.analysis.compare.pairs import place_of
from pytest_rageval.analysis.compare.settings import ConfigDifference, Invariant
from pytest_rageval.metrics.deciding import UNDECIDED, rules_of_cut
from pytest_rageval.support.text import counted
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import MATCH_RULES

NAME: Final = "matching.rules"

_Rules = frozenset[str]


def rules_difference(
    base: Iterable[CaseRecord], new: Iterable[CaseRecord]
) -> ConfigDifference | None:
    """Return the rules that decided cases of both runs and have none in common.

    Returns:
        An ``Invariant`` if that is more than one in twenty of the cases with a rule in both runs;
        None: there is no such case.
    """
    ours, theirs = _rules_by_case(base), _rules_by_case(new)
    both = [key for key, rules in ours.items() if rules and theirs.get(key)]
    changed = [key for key in both if ours[key].isdisjoint(theirs[key])]
    if not changed:
        return None
    share = f"({len(changed)} of {counted(len(both), 'case')})"
    one, other = (f"{_named(rules[key] for key in changed)} {share}" for rules in (ours, theirs))
    if len(changed) <= 0.05 * len(both):
        return ConfigDifference(name=NAME, base=one, new=other)
    return Invariant(name=NAME, base=one, new=other, affects="everything")


def _rules_by_case(records: Iterable[CaseRecord]) -> dict[tuple[str, str, str], _Rules]:
    found: dict[tuple[str, str, str], _Rules] = {}
    for record in records:
        key, rules = (*place_of(record), record.case_hash), frozenset[str]()
        if record.reply.retrieved_chunks and record.case.gold_supports:
            undecided = "recall_at_k" in record.scores.not_applicable
            rules = rules.union(*([(UNDECIDED,)] if undecided else rules_of_cut(record)))
        found[key] = found.get(key, frozenset()) | rules
    return found


def _named(sets: Iterable[_Rules]) -> str:
    rules = frozenset[str]().union(*sets)
    return ", ".join(name for name in (*MATCH_RULES, UNDECIDED) if name in rules)
