"""A stored run judged later, or again: its verdicts are added to the run's own and replace none."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from pytest_rageval.support.text import first_few
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.record import (
    SCHEMA_VERSION,
    CaseRecord,
    CaseScores,
    CaseVerdicts,
    ScoreSettings,
)

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
