"""Judging of whole runs: notes on the judges, and a stored run judged later, or again."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pytest_rageval.judges.asking import Judged, Judges, case_verdicts, judge_case, rubric_keys
from pytest_rageval.judges.evidence import with_evidence
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.metrics.scoring import (
    score_case,
    stored_score,
    view_record,
    with_own_scores,
    with_stored_own,
)
from pytest_rageval.runs.documents import encode_line
from pytest_rageval.support.in_flight import Slots
from pytest_rageval.support.text import clean, counted, cut, first_few
from pytest_rageval.values.errors import JudgeError, StorageError
from pytest_rageval.values.record import (
    SCHEMA_VERSION,
    CaseRecord,
    CaseScores,
    CaseVerdicts,
    ScoreSettings,
)
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


_SHOWN: Final = 3
VECTORS: Final = tuple(k for k, i in BUILT_IN.cases.items() if i.level == "embedding")
"""Metrics of vectors, which no record holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejudged:
    """One record with the verdicts of another judge on its answer."""

    record: CaseRecord
    """The stored record under the new verdicts."""
    judged: Judged


def refuse_cut_texts(records: Iterable[CaseRecord]) -> None:
    """Raise an error if a text to be judged is not whole.

    Raises:
        StorageError: an answer or a passage is stored cut.
    """
    cut, long = [], []
    for record in records:
        if any(chunk.text_truncated for chunk in (record.reply.retrieved_chunks or ())[: record.k]):
            cut.append(record.case.id)
        if len(record.answer or "") < (record.answer_chars or 0):
            long.append(record.case.id)
    if cut:
        raise StorageError.of(first_few(cut, _SHOWN), "chunk_cut")
    if long:
        raise StorageError.of(first_few(long, _SHOWN), "answer_cut")


async def rejudge(
    record: CaseRecord,
    judges: Judges,
    *,
    rubrics: Sequence[str],
    scoring: ScoreSettings,
    registry: Registry = BUILT_IN,
    slots: Slots | None = None,
) -> Rejudged:
    """Judge one stored answer, whose record has its whole texts; see ``judge_case``.

    Raises:
        ConfigError: the judge cannot work with its settings.
    """
    scoring = replace(scoring, k=record.k, judge_configured=True, retrieval_only=False)
    view = view_record(record, scoring)
    judged = await judge_case(
        view, judges, rubrics=rubrics, registry=registry, repeat=record.repeat, slots=slots
    )
    found = with_evidence(view, judged)
    # A record holds no vectors.
    vectors = {k: stored_score(record, k) for k in VECTORS if k in record.scores.metrics}
    scores = with_stored_own(score_case(view, found, known=vectors), record)
    scores = with_own_scores(scores, judged.own_scores, registry, scoring)
    verdicts = replace(record.verdicts, spot_check={})
    if view.response is not None:
        verdicts = case_verdicts(view, judged, found)
    kept = replace(
        record.scores,
        metrics=scores.metrics,
        not_applicable=scores.not_applicable,
        outcome=scores.outcome,
        failure_stage=scores.failure_stage,
        unchecked=scores.unchecked,
    )
    return Rejudged(record=replace(record, scores=kept, verdicts=verdicts), judged=judged)


def judged_keys(rubrics: Sequence[str], registry: Registry) -> list[str]:
    """Return the metrics of rubrics."""
    keys = [key for rubric in rubrics for key in rubric_keys(rubric)]
    keys += ["five.composite"] if "five_dimensions" in rubrics else []
    return list(dict.fromkeys([*keys, *(k for rubric in rubrics for k in registry.of(rubric))]))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedLine:
    """Line of ``judged-*.jsonl``: the verdicts on one case."""

    schema_version: int = SCHEMA_VERSION
    """Of the format: docs/stability.md says when it changes."""
    case_id: str
    """Id of the case."""
    file: str
    """Its case file."""
    case_hash: str
    """That of its record."""
    repeat: int
    """Number of the repeat, from 0."""
    scores: CaseScores
    """Outcome by the new verdicts, and the judged metrics alone."""
    verdicts: CaseVerdicts
    """The new verdicts."""


def verdict_lines(rejudged: Iterable[Rejudged], keys: Sequence[str]) -> Iterator[bytes]:
    """Yield one line per record: its case, its verdicts and the judged metrics."""
    for one in rejudged:
        record, scores = one.record, one.record.scores
        kept = replace(
            scores,
            metrics={key: scores.metrics.get(key) for key in keys},
            not_applicable={k: why for k, why in scores.not_applicable.items() if k in keys},
        )
        yield encode_line(
            JudgedLine(
                case_id=record.case.id,
                file=record.file,
                case_hash=record.case_hash,
                repeat=record.repeat,
                scores=kept,
                verdicts=record.verdicts,
            )
        )


def verdicts_name(identity: str, rubrics: Sequence[str], versions: Mapping[str, str]) -> str:
    """Name the file of a judge's verdicts, such as ``judged-offline-1-3f2a9c1b``.

    Another judge, rubric or version has another name, so no file is ever overwritten.
    """
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", identity).strip("-")[:60]
    content = json.dumps([identity, list(rubrics), dict(sorted(versions.items()))])
    return f"judged-{slug}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"
