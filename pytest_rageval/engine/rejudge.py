"""A stored run judged later, or again: its verdicts are added to the run's own and replace none."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import CaseGroup, group_repeats
from pytest_rageval.judges.asking import Judged, Judges, case_verdicts, judge_case, rubric_keys
from pytest_rageval.judges.evidence import with_evidence
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.metrics.scoring import (
    response_of,
    score_case,
    stored_score,
    with_own_scores,
    with_stored_own,
)
from pytest_rageval.metrics.view import view_case
from pytest_rageval.runs.record_json import STORED_CHUNK_CHARS, record_to_json
from pytest_rageval.support.slots import Slots
from pytest_rageval.support.text import first_few
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.numbers import MetricSummary
from pytest_rageval.values.record import CaseRecord, ScoreSettings

_SHOWN: Final = 3
_VECTORS: Final = tuple(k for k, i in BUILT_IN.cases.items() if i.level == "embedding")
_KEPT: Final = (
    "case_id", "file", "case_hash", "repeat", "outcome", "failure_stage", "groundedness",
    "correctness", "abstention", "judgements", "spot_check", "judge_input", "cost",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejudged:
    """One record with the verdicts of another judge on its answer."""

    record: CaseRecord
    """The stored record under the new verdicts."""
    judged: Judged


def refuse_cut_texts(records: Iterable[CaseRecord]) -> None:
    """Raise an error if a text to be judged is not whole.

    Raises:
        StorageError: a record lacks its case, or its answer or a passage is stored cut.
    """
    bare, cut, long = [], [], []
    for record in records:
        if not record.case_stored:
            bare.append(record.case.id)
        if any(chunk.text_truncated for chunk in (record.reply.retrieved_chunks or ())[: record.k]):
            cut.append(record.case.id)
        if len(record.answer or "") < (record.answer_chars or 0):
            long.append(record.case.id)
    if bare:
        raise StorageError(
            f"{first_few(bare, _SHOWN)}: the records do not hold their cases; run them again"
        )
    if cut:
        raise StorageError(
            f"{first_few(cut, _SHOWN)}: the text of a chunk is not whole, because the target cut "
            f"it or an older version kept {STORED_CHUNK_CHARS} characters of it, and a judge needs "
            "the whole; run the cases again"
        )
    if long:
        raise StorageError(f"{first_few(long, _SHOWN)}: the answer was too long to be kept whole")


def rejudge(
    record: CaseRecord,
    judges: Judges,
    *,
    rubrics: Sequence[str],
    scoring: ScoreSettings,
    registry: Registry = BUILT_IN,
    slots: Slots | None = None,
) -> Rejudged:
    """Judge one stored answer, whose record has its case and whole texts; see ``judge_case``.

    Raises:
        ConfigError: the judge cannot work with its settings.
        ValueError: the record does not hold its case.
    """
    case = record.case
    if not record.case_stored:
        raise ValueError(f"case {record.case.id!r}: expected a record that holds its case")
    scoring = replace(scoring, k=record.k, judge_configured=True, retrieval_only=False)
    view = view_case(case, response_of(record), scoring, error=record.error)
    judged = judge_case(
        view, judges, rubrics=rubrics, registry=registry, repeat=record.repeat, slots=slots
    )
    found = with_evidence(view, judged)
    # A record holds no vectors.
    vectors = {k: stored_score(record, k) for k in _VECTORS if k in record.scores.metrics}
    scores = with_stored_own(score_case(view, found, known=vectors), record)
    scores = with_own_scores(scores, judged.own_scores, registry, scoring)
    verdicts = replace(record.verdicts, spot_check=None)
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


def summarise_judged(
    records: Iterable[CaseRecord], keys: Sequence[str], registry: Registry
) -> dict[str, MetricSummary]:
    """Return means of judged metrics with counts and intervals, by key."""
    from pytest_rageval.analysis.aggregate.summaries import summarise_groups

    cases: list[CaseGroup] = group_repeats(records)
    return {
        key: summarise_groups(cases, [case.value(key) for case in cases], registry.cases.get(key))
        for key in keys
    }


def verdict_lines(rejudged: Iterable[Rejudged], keys: Sequence[str]) -> Iterator[str]:
    """Yield one JSON line per record: its case, its verdicts and the judged metrics."""
    for one in rejudged:
        document = record_to_json(one.record)
        kept = {name: document[name] for name in ("schema_version", *_KEPT)}
        kept["metrics"] = {key: one.record.scores.metrics.get(key) for key in keys}
        kept["not_applicable"] = {
            key: reason for key, reason in one.record.scores.not_applicable.items() if key in keys
        }
        yield json.dumps(kept, ensure_ascii=False, allow_nan=False)


def verdicts_name(identity: str, rubrics: Sequence[str], versions: Mapping[str, str]) -> str:
    """Name the file of a judge's verdicts, such as ``judged-offline-1-3f2a9c1b``.

    Another judge, rubric or version has another name, so no file is ever overwritten.
    """
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", identity).strip("-")[:60]
    content = json.dumps([identity, list(rubrics), dict(sorted(versions.items()))])
    return f"judged-{slug}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"
