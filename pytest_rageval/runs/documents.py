"""Documents of a run: its ``config.json``, and records as lines of ``results.jsonl``."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import cache, lru_cache
from importlib import metadata
from itertools import chain
from math import isfinite
from operator import attrgetter
from typing import Any, Final, Self, TypeVar

import msgspec

from pytest_rageval.metrics.built_in import BUILT_IN, DEFINITIONS_VERSION, own_definitions
from pytest_rageval.metrics.matching import text_hash
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.project.case_reader import LoadedSet, dataset_hash
from pytest_rageval.project.settings import config_hash, stored_settings
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.record import CaseRecord, CaseVerdicts, Evidence
from pytest_rageval.values.reply import RetrievedChunk
from pytest_rageval.values.run import CaseSet, Hardware, JudgeUsed, RunConfig
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.verdict import Judgement

_T = TypeVar("_T")
STORED_CHUNK_CHARS: Final = 200
STORED_ANSWER_CHARS: Final = 100_000


def redact(record: CaseRecord, *, full_text: bool) -> CaseRecord:
    """Return the record as it is stored, with long texts cut and marked as cut.

    Args:
        record: a scored record; judging and matching have seen the whole texts.
        full_text: keep all chunk texts whole. Else those of the first ``k`` chunks stay whole,
            since a later judge reads them, and ``STORED_CHUNK_CHARS`` of each other are kept. The
            answer, also as the input of a judge, is cut at ``STORED_ANSWER_CHARS`` either way;
            ``answer_chars`` keeps its length.
    """
    response = record.response
    if response is None:
        return record
    chunks, answer = response.retrieved_chunks, response.answer[:STORED_ANSWER_CHARS]
    if chunks is not None:
        chunks = tuple([c if c.embedding is None else replace(c, embedding=None) for c in chunks])
        if not full_text:
            chunks = (*chunks[: record.k], *map(_cut, chunks[record.k :]))
    chars = len(response.answer) if record.answer_chars is None else record.answer_chars
    whole = response.retrieved_chunks, response.answer, record.answer_chars
    if (chunks, answer, chars) == whole:  # nearly always
        return record
    response = replace(response, retrieved_chunks=chunks, answer=answer)
    return replace(record, response=response, answer_chars=chars)


def _cut(chunk: RetrievedChunk) -> RetrievedChunk:
    if chunk.text is None or len(chunk.text) <= STORED_CHUNK_CHARS:
        return chunk
    # A text that was cut earlier keeps the hash of its whole.
    whole = chunk.text_hash or (None if chunk.text_truncated else text_hash(chunk.text))
    cut = chunk.text[:STORED_CHUNK_CHARS]
    return replace(chunk, text=cut, text_truncated=True, text_hash=whole)


def without_texts(record: CaseRecord) -> CaseRecord:
    """Return a record without the texts of its reply and verdicts: its case and all numbers."""
    response, scores, given = record.response, record.scores, record.verdicts
    if response is not None:
        chunks = response.retrieved_chunks
        if chunks is not None:
            chunks = tuple([_bare_chunk(*_kept(one), one.text and "") for one in chunks])
        response = replace(
            response, answer="", references=None, searches=None, retrieved_chunks=chunks
        )
    claims = given.evidence and given.evidence.claims
    verdicts = CaseVerdicts(
        judgements={key: _unspoken(one) for key, one in given.judgements.items()},
        spot_check={key: one and _unspoken(one) for key, one in given.spot_check.items()},
        evidence=Evidence(claims=tuple(replace(one, text="") for one in claims))
        if claims
        else None,
    )
    scores = replace(scores, not_applicable=_reasons(tuple(scores.not_applicable.items())))
    return replace(record, response=response, scores=scores, verdicts=verdicts)


_CHUNK: Final = ("rel_path", "heading_path", "vault", "pages", "text_truncated", "matched_golds",
                 "matched_by", "irrelevant")  # fmt: skip
"""Fields of a chunk that figures and the reasons of a comparison depend on; of its text only
whether there is one."""
_kept: Final = attrgetter(*_CHUNK)


# Two runs of 10,000 cases take 420 MB where each record holds chunks and reasons of its own.
@lru_cache(1 << 15)
def _bare_chunk(*values: Any) -> RetrievedChunk:
    return RetrievedChunk(**dict(zip((*_CHUNK, "text"), values, strict=True)))


_reasons: Final = lru_cache(1 << 12)(dict[str, str])


def _unspoken(given: Judgement) -> Judgement:
    verdict = given.verdict and replace(
        given.verdict, not_applicable={}, reasoning="", claims=(), key_facts_found=None
    )
    return replace(given, verdict=verdict, truncated_chunk_ids=())


def record_line(record: CaseRecord) -> bytes:
    """Return a record as its line of ``results.jsonl``, without the line break.

    Raises:
        ValueError: a number is NaN or infinite.
    """
    numbers = (record.scores.metrics, record.latency, record.reply.usage)
    if not all(map(isfinite, filter(None, chain(*[one.values() for one in numbers])))):
        raise ValueError(f"case {record.case.id!r}: a number is not JSON compliant: {numbers}")
    return encode_line(record)


def encode_line(value: object) -> bytes:
    """Return the JSON form of a dataclass."""
    try:
        return msgspec.json.encode(value)
    except (TypeError, UnicodeEncodeError):  # a subclass of str, or half of a surrogate pair
        return encode_text(json.dumps(value, ensure_ascii=False, allow_nan=False, default=_fields))


def _fields(value: Any) -> dict[str, Any]:
    return {one.name: getattr(value, one.name) for one in fields(value)}


def encode_text(text: str) -> bytes:
    """Return the UTF-8 form of a JSON text."""
    # Half a surrogate pair has none; its Python escape is its JSON escape as well.
    return text.encode("utf-8", "backslashreplace")


# Prepared here, since msgspec crashes where several threads convert to a new type at once.
_DECODER: Final = msgspec.json.Decoder(CaseRecord)
_HALF: Final = re.compile(rb"\\ud[89a-f]", re.IGNORECASE)
"""Escape of half of a surrogate pair, which msgspec does not read."""


def record_of_line(line: bytes | str) -> CaseRecord:
    """Read a record from its line; unknown fields are left out.

    Raises:
        StorageError: the line is damaged.
    """
    return decoded(line, _DECODER)


def decoded(text: bytes | str, decoder: msgspec.json.Decoder[_T]) -> _T:
    """Read a JSON text of ours.

    Raises:
        StorageError: it is damaged, or a value is of another type.
    """
    try:
        try:
            return decoder.decode(text)
        except msgspec.DecodeError:
            if not _HALF.search(text if isinstance(text, bytes) else text.encode()):
                raise
            return msgspec.convert(json.loads(text), decoder.type, str_keys=True)
    except (ValueError, RecursionError, OverflowError) as error:
        raise StorageError.of("", "invalid", reason=error) from None


@dataclass(slots=True)
class RunFacts:
    """Facts about the system under test and its judge, from the records of a run."""

    models: dict[str, str] = field(default_factory=dict)
    index_version: str | float | None = None
    judges: dict[Hashable, JudgeUsed] = field(default_factory=dict)
    """Each judge once: by identity, model and fingerprint as the server names them, and level."""
    second_judges: dict[Hashable, JudgeUsed] = field(default_factory=dict)
    """The same of the spot check."""

    @classmethod
    def of(cls, records: Iterable[CaseRecord]) -> Self:
        """Return the facts that records report."""
        facts = cls()
        for record in records:
            facts.add(record)
        return facts

    def add(self, record: CaseRecord) -> None:
        """Take the facts of one record; of several models in one role the last is kept."""
        self.models.update(record.reply.models)
        if self.index_version is None and record.reply.indexing_coverage:
            version = record.reply.indexing_coverage.get("index_version")
            is_one = isinstance(version, str | int | float) and not isinstance(version, bool)
            self.index_version = version if is_one else None
        for known, judgements in (
            (self.judges, record.verdicts.judgements.values()),
            (self.second_judges, record.verdicts.second),
        ):
            for found in judgements:
                if found.rubric_version or not known:  # else the judge raised
                    _add_judge(known, found)


def _add_judge(known: dict[Hashable, JudgeUsed], found: Judgement) -> None:
    who = {name: getattr(found, name) for name in ("judge", "model", "system_fingerprint", "level")}
    one = known.setdefault(tuple(who.values()), JudgeUsed(**who))
    known[tuple(who.values())] = replace(
        one,
        rubrics={**one.rubrics, found.rubric: found.rubric_version},
        parameters=found.parameters,
        dropped_parameters=found.dropped_parameters,
    )


def run_config(
    settings: Settings,
    *,
    run_id: str,
    started_at: datetime,
    dataset_hash: str | None,
    facts: RunFacts,
    registry: Registry = BUILT_IN,
) -> RunConfig:
    """Return the ``config.json`` of a run; its git state, set and sessions are added.

    Before the first case, the hash of the dataset is unknown.
    """
    return RunConfig(
        run_id=run_id,
        timestamp=started_at.isoformat(timespec="milliseconds"),
        config_hash=config_hash(settings),
        metric_definitions_version=DEFINITIONS_VERSION,
        metric_definitions=own_definitions(registry),
        settings=stored_settings(settings),
        # With the version of the dataset those of an experiment: from settings, else as reported.
        index_build_version=settings.index_build_version or facts.index_version,
        retriever_version=settings.retriever_version or facts.models.get("embedding_model"),
        answerer_version=settings.answerer_version or facts.models.get("llm_model"),
        versions=versions(),
        hardware=Hardware(system=sys.platform, machine=platform.machine(), cpus=os.cpu_count()),
        **recorded_fields(settings, facts, dataset_hash),
    )


def recorded_fields(
    settings: Settings, facts: RunFacts, dataset_hash: str | None
) -> dict[str, Any]:
    """Return the fields of a ``RunConfig`` that also the merging of runs makes anew."""
    return {
        "dataset_hash": dataset_hash,
        "dataset_version": settings.dataset_version or dataset_hash,
        "judges": tuple(facts.judges.values()),
        "second_judges": tuple(facts.second_judges.values()),
        "target_models": dict(facts.models),
    }


def case_set(whole: Iterable[LoadedSet], asked: Iterable[LoadedSet]) -> CaseSet:
    """Describe the set of cases from which a run selects.

    Args:
        whole: every case file of the test paths, and those named on the command line.
        asked: those that the command line asked for.
    """
    cases = [located for loaded in whole for located in loaded.cases]
    files = list(asked)
    return CaseSet(
        hash=dataset_hash(located.case_hash for located in cases),
        n_cases=len(cases),
        files=tuple(sorted(loaded.display for loaded in files)),
        n_asked=sum(len(loaded.cases) for loaded in files),
        asked_hash=dataset_hash(c.case_hash for loaded in files for c in loaded.cases),
        by_category=dict(sorted(Counter(c.case.category for c in cases).items())),
        by_tag=dict(sorted(Counter(t for c in cases for t in set(c.case.tags)).items())),
    )


REPORTED_PACKAGES = ("pytest-rageval", "pytest", "pytest-xdist", "httpx", "numpy", "pydantic")


@cache
def versions(packages: tuple[str, ...] = REPORTED_PACKAGES) -> Mapping[str, str]:
    """Return the versions of Python and of the packages that affect measurements."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
