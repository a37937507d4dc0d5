"""Export of a stored run as a TREC run with qrels, so that trec_eval computes our numbers.

We rank chunks and match golds; trec_eval ranks documents. So the first chunk that matches a gold is
written under the gold's name, and any other chunk under a name without judgement. trec_eval then
computes our figures, with two exceptions that are counted: a chunk that matches several new golds,
and a chunk that matches a gold again (which precision counts). At document level there are no
exceptions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_rageval.authoring.interchange.ids import docno
from pytest_rageval.authoring.interchange.values import Ledger, LeftOut
from pytest_rageval.metrics.matching import (
    DocumentKey,
    document_key,
    document_keys,
    duplicate_flags,
)
from pytest_rageval.metrics.retrieval import document_ranking
from pytest_rageval.support.text import free_name
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from pytest_rageval.values.reply import RetrievedChunk

Level = Literal["anchor", "document"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrecRun:
    """The files of a run, with notes for readers of trec_eval's figures."""

    run: str
    qrels: str
    cutoffs: tuple[int, ...]
    """All values of k of the cases, ascending."""
    n_cases: int
    """Number of cases that both tools score."""
    differing: tuple[str, ...]
    """Ids of the cases whose figures differ from trec_eval's."""
    left_out: tuple[LeftOut, ...]


def write_run(
    records: Iterable[CaseRecord], settings: ScoreSettings, *, tag: str, level: Level = "anchor"
) -> TrecRun:
    """Return a run in trec_eval's format, cut at the k of each case.

    Args:
        records: of a stored run, one per case and repeat; only the first repeat is written.
        settings: the run was scored with.
        tag: name of the run, without spaces.
        level: chunks matched with golds, or documents.
    """
    ledger = Ledger()
    rows: list[str] = []
    qrels: list[str] = []
    differing: list[str] = []
    cutoffs: set[int] = set()
    n_cases = 0
    for record in records:
        if (why := _unscored(record, level)) is not None:
            ledger.leave("record", why)
            continue
        chunks = (record.reply.retrieved_chunks or ())[: record.k]
        if level == "document":
            names, grades, exact = _documents(record.case, chunks, record.k, settings)
        else:
            names, grades, exact = _golds(record.case, chunks, settings)
        differing += [] if exact else [record.case.id]
        n, n_cases = len(names), n_cases + 1
        cutoffs.add(record.k)
        rows += [
            f"{record.case.id} Q0 {name} {rank} {n - rank + 1} {tag}\n"
            for rank, name in enumerate(names, 1)
        ]
        qrels += [f"{record.case.id} 0 {name} {grade}\n" for name, grade in grades.items()]
    return TrecRun(
        run="".join(rows),
        qrels="".join(qrels),
        cutoffs=tuple(sorted(cutoffs)),
        n_cases=n_cases,
        differing=tuple(differing),
        left_out=ledger.left_out,
    )


def _unscored(record: CaseRecord, level: Level) -> str | None:
    """Return the reason why a record has no retrieval figures; None: it has."""
    if record.repeat:
        return "a further repeat of its case"
    key = "doc_recall_at_k" if level == "document" else "recall_at_k"
    if record.scores.metrics.get(key) is None:
        return record.scores.not_applicable.get(key) or "the case ended in an error"
    return None


def _golds(
    case: Case, chunks: Sequence[RetrievedChunk], settings: ScoreSettings
) -> tuple[list[str], dict[str, int], bool]:
    # Golds that differ only in snippets share a name.
    gold_names = _distinct(map(docno, case.gold_supports))
    duplicates = duplicate_flags(chunks, settings.path_case)
    names: list[str] = []
    seen: set[int] = set()
    exact = True
    for chunk, duplicate in zip(chunks, duplicates, strict=True):
        matched = set(range(len(gold_names))).intersection(chunk.matched_golds or ())
        new = matched - seen
        seen |= matched
        if new and not duplicate:
            exact &= len(new) == 1
            best = max(new, key=lambda index: case.gold_supports[index].grade)
            names.append(gold_names[best])
        else:
            exact &= not new and (not matched or duplicate)
            place = Anchor(rel_path=chunk.rel_path or "-", heading_path=chunk.heading_path or "")
            names.append(free_name(docno(place), {*gold_names, *names}, mark="~"))
    grades = {name: gold.grade for name, gold in zip(gold_names, case.gold_supports, strict=True)}
    return names, grades, exact


def _distinct(bases: Iterable[str]) -> list[str]:
    names: list[str] = []
    for base in bases:
        names.append(free_name(base, names, mark="~"))
    return names


def _documents(
    case: Case, chunks: Sequence[RetrievedChunk], k: int, settings: ScoreSettings
) -> tuple[list[str], dict[str, int], bool]:
    ranking = document_ranking(case, chunks, k, settings)
    case_style = settings.path_case
    gold_keys = dict.fromkeys(document_key(gold, case_style) for gold in case.gold_supports)
    gold_names = _distinct(map(_document_name, gold_keys))
    names: list[str] = []
    seen: set[int] = set()
    exact = True
    keys = dict.fromkeys(document_keys(chunks, case_style))
    for key, matched in zip(keys, ranking.matched, strict=True):
        new = sorted(matched - seen)
        seen |= matched
        exact &= len(new) == len(matched) <= 1
        free = free_name(_document_name(key), {*gold_names, *names}, mark="~")
        names.append(gold_names[new[0]] if new else free)
    return names, dict(zip(gold_names, ranking.grades, strict=True)), exact


def _document_name(key: DocumentKey) -> str:
    vault, path = key
    return docno(Anchor(rel_path=(path or "-") if vault is None else f"{vault}:{path}"))


def trec_eval_command(found: TrecRun, qrels: str, run: str) -> str:
    """Return the command that computes our figures."""
    cut = [
        f"-m {stem}.{k}"
        for stem in ("success", "recall", "P", "ndcg_cut", "map_cut")
        for k in found.cutoffs
    ]
    return " ".join(["trec_eval -c", *cut, "-m recip_rank", "-m set_P", qrels, run])
