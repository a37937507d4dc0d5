"""Notes on the judges of a run: verdicts that failed, and names that mean no version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from pytest_rageval.support.text import clean, counted, cut
from pytest_rageval.values.errors import JudgeError
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.settings import Settings

_MESSAGE_CHARS: Final = 300
_CAUSES: Final = 100
_OTHER: Final = "other causes"


@dataclass(slots=True, kw_only=True)
class JudgeFacts:
    """Facts of verdicts about their judges, in memory that does not grow with the records."""

    failures: dict[str, Counter[str]] = field(default_factory=dict)
    """By judge: how often each cause."""
    models: set[str] = field(default_factory=set)
    """Judges that are models."""
    second: bool = False
    """Whether a model gave second opinions."""

    def add(self, record: CaseRecord) -> None:
        """Take the verdicts of a record."""
        if any(one.level != "offline" for one in record.verdicts.second):
            self.second = True
        for found in record.verdicts.judgements.values():
            if found.level != "offline":
                self.models.add(found.judge)
            if found.failure is not None:
                counts = self.failures.setdefault(found.judge, Counter())
                cause = cut(str(found.failure), _MESSAGE_CHARS)
                counts[cause if cause in counts or len(counts) < _CAUSES else _OTHER] += 1

    def causes(self) -> list[str]:
        """Describe for every judge why verdicts failed."""
        found = []
        for judge, errors in sorted(self.failures.items()):
            ((error, n),) = errors.most_common(1)
            total = errors.total()
            most = "" if n == total else f", {n} of them"
            found.append(f"{judge}: {counted(total, 'verdict')} failed{most}: {error}")
        return found

    def notes(self, settings: Settings) -> list[str]:
        """Describe for every judge why verdicts failed, and a name without a version.

        Args:
            settings: with the name by which the judge was asked for.
        """
        found = self.causes()
        # A judge in code may name its model, too, but not by that of the settings.
        asked = any(judge.startswith(f"{settings.judge} at ") for judge in self.models)
        found += _alias(settings.judge) if asked else ()
        named = settings.judging.spot_check_model
        return [*found, *(_alias(named) if self.second and named is not None else ())]


class JudgeWatch:
    """Observer of the cases that are judged without asking a target.

    Args:
        limit: number of cases in a row for which the judge may be unreachable.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lost = 0
        self.facts = JudgeFacts()

    def see(self, record: CaseRecord) -> None:
        """Count a judged case.

        Raises:
            JudgeError: the limit is reached.
        """
        failures = [one.failure for one in record.verdicts.judgements.values()]
        if not failures:
            return
        self.facts.add(record)
        lost = all(one is not None and one.kind == "unreachable" for one in failures)
        self._lost = self._lost + 1 if lost else 0
        if self._lost >= self._limit:
            first = failures[0]
            reason = None if first is None else clean(first.message, 300)
            raise JudgeError("judge_gone", n=self._lost, reason=reason)


def judge_facts(records: Iterable[CaseRecord]) -> JudgeFacts:
    """Take the verdicts of the records of a run."""
    facts = JudgeFacts()
    for record in records:
        facts.add(record)
    return facts


def _alias(model: str) -> Iterator[str]:
    from pytest_rageval.judges.model.memory import unpinned_alias

    if warning := unpinned_alias(model):
        yield warning
