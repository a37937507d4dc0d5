"""Reasons why a case changed between two runs, and the group that lost most. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pytest_rageval.analysis.aggregate.case_groups import BADNESS, CaseGroup, CaseOutcome
from pytest_rageval.analysis.compare.pairs import CasePair, cluster_of
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.matching import in_scope
from pytest_rageval.metrics.scoring import abstention_verdict
from pytest_rageval.support.text import TOLERANCE, part
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import Citation, RetrievedChunk
from pytest_rageval.values.words import CHANGE

_SHOWN: Final = 2


def explain_flip(
    base: CaseRecord, new: CaseRecord, metric: str | None, *, named: bool = True
) -> str:
    """Describe the change of a case.

    Args:
        base: one record of the earlier run.
        new: one of the later.
        metric: the metric that changed; None: only the outcome did.
        named: name the paths and headings of documents; False: no text of a case or target.
    """
    if new.error is not None and base.error is None:
        return f"fails now: {new.error.kind}"
    if base.error is not None and new.error is None:
        return f"{'abstains' if new.reply.abstained else 'answers'} now (was: {base.error.kind})"
    if metric is None and {base.scores.outcome, new.scores.outcome} == {"passed", "flawed"}:
        return _stage_words(base, new)  # what was retrieved has no part in it
    words = _EXPLAINERS if metric is None else (_BY_METRIC.get(metric, _abstention_words),)
    for explain in (*words, _abstention_words):
        if parts := tuple(explain(base, new, named)):
            return "; ".join(parts[:_SHOWN])
    return _stage_words(base, new)


def _abstention_words(base: CaseRecord, new: CaseRecord, _named: bool) -> Iterator[str]:
    if _abstained(base) != _abstained(new) and _abstained(new) is not None:
        yield "abstains now" if _abstained(new) else "answers now"


def _abstained(record: CaseRecord) -> bool | None:
    """Whether an answer abstains, according to the target or the judge."""
    return abstention_verdict(record) if record.reply.abstained is None else record.reply.abstained


def _stage_words(base: CaseRecord, new: CaseRecord) -> str:
    if (
        new.scores.failure_stage is not None
        and new.scores.failure_stage != base.scores.failure_stage
    ):
        return new.scores.failure_stage.replace("_", " ")
    if (
        base.scores.failure_stage is not None
        and base.scores.failure_stage != new.scores.failure_stage
    ):
        return f"no longer {base.scores.failure_stage.replace('_', ' ')}"
    return f"{base.scores.outcome} before, {new.scores.outcome} now"


# --- golds -----------------------------------------------------------------------------------


def _ranks(record: CaseRecord) -> dict[int, int]:
    """Return the first rank, from 1, of each returned gold, also beyond k."""
    found: dict[int, int] = {}
    for rank, chunk in enumerate(record.reply.retrieved_chunks or (), start=1):
        for gold in chunk.matched_golds or ():
            found.setdefault(gold, rank)
    return found


def _gold_words(base: CaseRecord, new: CaseRecord, named: bool) -> Iterator[str]:
    before, after = _ranks(base), _ranks(new)
    golds = new.case.gold_supports
    for gold in sorted({*before, *after}):
        was, now = before.get(gold), after.get(gold)
        had, has = was is not None and was <= base.k, now is not None and now <= new.k
        if had and not has:
            yield _lost_words(gold, new, now, named)
        elif has and not had:
            shown = was or f"not in top {len(base.reply.retrieved_chunks or ())}"
            found = f"found {_gold(gold, golds, named)} (rank {now}, was {shown})"
            yield f"gold now at rank {now}" if len(golds) == 1 else found


def _lost_words(gold: int, new: CaseRecord, now: int | None, named: bool) -> str:
    golds = new.case.gold_supports
    if now is not None:
        what = f"now at rank {now}"
    elif _left_scope(gold, golds, new):
        what = "left the scope"
    elif new.reply.retrieved_chunks:
        what = f"not in top {len(new.reply.retrieved_chunks)}"
    else:
        what = "nothing retrieved"
    if len(golds) == 1:
        return what if what in {"left the scope", "nothing retrieved"} else f"gold {what}"
    # With several golds, the lost one is named first, its reason in brackets.
    return f"lost {_gold(gold, golds, named)}" + (
        f" ({what})" if what != "nothing retrieved" else ""
    )


def _left_scope(gold: int, golds: Sequence[Anchor], record: CaseRecord) -> bool:
    if record.scores.failure_stage == "out_of_scope":
        return True
    selection = record.reply.folder_selection
    if selection is None or selection.selected_folders is None or selection.fallback_used:
        return False
    return gold < len(golds) and not in_scope(golds[gold].rel_path, selection.selected_folders)


def _gold(index: int, golds: Sequence[Anchor], named: bool) -> str:
    if index >= len(golds) or not named:
        return f"gold {index}"
    return _place(golds[index].rel_path, golds[index].heading_path)


def _place(path: str | None, heading: str | None) -> str:
    return " > ".join(filter(None, (path, heading)))


# --- unwanted chunks and citations -----------------------------------------------


def _irrelevant_words(base: CaseRecord, new: CaseRecord, named: bool) -> Iterator[str]:
    before, after = _irrelevant(base), _irrelevant(new)
    for place in after:
        if place not in before:
            yield f"now retrieves {place if named else 'a source'}, which is irrelevant"
    for place in before:
        if place not in after:
            yield f"no longer retrieves {place if named else 'an irrelevant source'}"


def _irrelevant(record: CaseRecord) -> dict[str, None]:
    # What a user must not see leaks at any rank.
    end = None if record.case.tests_permissions else record.k
    chunks: Sequence[RetrievedChunk] = (record.reply.retrieved_chunks or ())[:end]
    return dict.fromkeys(_place(c.rel_path, c.heading_path) for c in chunks if c.irrelevant)


def _citation_words(base: CaseRecord, new: CaseRecord, named: bool) -> Iterator[str]:
    before, after = _cited(base), _cited(new)
    fresh = [place for place in after if place not in before]
    if fresh:
        yield f"now cites {fresh[0] if named else 'another source'}" + (
            part(" and {} more", len(fresh) - 1)
        )
    elif before and not after:
        yield "cites nothing now"
    else:
        gone = (place for place in before if place not in after)
        yield from (f"no longer cites {place if named else 'a source'}" for place in gone)


def _cited(record: CaseRecord) -> dict[str, None]:
    citations: Sequence[Citation] = record.scores.citations or ()
    return dict.fromkeys(
        _place(c.rel_path, c.heading_path) for c in citations if c.rel_path is not None
    )


_Explainer = Callable[[CaseRecord, CaseRecord, bool], Iterator[str]]
_EXPLAINERS: Final[tuple[_Explainer, ...]] = (_gold_words, _irrelevant_words)
"""Tried in order if only the outcome changed; citations alone do not change it."""
_BY_METRIC: Final[Mapping[str, _Explainer]] = {
    "recall_all_at_k": _gold_words,
    "hit_at_k": _gold_words,
    "recall_at_k": _gold_words,
    "specificity_accuracy": _irrelevant_words,
    "leak_rate": _irrelevant_words,
    "attribution_hit_rate": _citation_words,
    "recency_conflict_accuracy": _citation_words,
}


Direction = Literal["worse", "better"]

FLIP_METRICS: Final = {
    "recall_all_at_k": "all",
    "hit_at_k": "hit",
    "recall_at_k": "recall",
    "abstention_accuracy": "abstain",
    "over_abstention_rate": "over-abstain",
    "specificity_accuracy": "specific",
    "leak_rate": "leak",
    "recency_conflict_accuracy": "conflict",
    "attribution_hit_rate": "cited",
}
"""Recall and expectations of single cases, the most significant first, and short names of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFlip:
    """One metric of one case that changed."""

    metric: str
    base: float
    new: float
    direction: Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFlip:
    """One case that changed."""

    file: str
    case_id: str
    category: str
    direction: Direction
    """By the outcome, or if that is the same, by the first changed metric."""
    base_outcome: CaseOutcome
    new_outcome: CaseOutcome
    passes: tuple[str, str]
    """Repeats that pass then and now, of all that could be checked, such as ``5/5`` and ``3/5``."""
    changes: tuple[MetricFlip, ...]
    """Most significant first; empty: only the outcome changed."""
    reason: str
    """A few words, which may contain paths and headings of the case file and the target."""
    brief_reason: str
    """The same without user, document or model text."""

    @property
    def nodeid(self) -> str:
        """The pytest node id of the case."""
        return f"{self.file}::{self.case_id}"


def find_flips(
    pairs: Iterable[CasePair], *, keys: Collection[str] | None, outcomes: bool
) -> tuple[CaseFlip, ...]:
    """Return the cases that changed: those that passed and do not, other worse ones, the rest.

    Args:
        pairs: cases of both runs.
        keys: metrics that may be compared; None: all.
        outcomes: whether outcomes may be compared.
    """
    found = filter(None, (_flip(pair, keys, outcomes) for pair in pairs))

    def place(one: CaseFlip) -> tuple[bool, bool, str, str]:
        worse = one.direction == "worse"
        return not worse, worse and one.base_outcome != "passed", one.file, one.case_id

    return tuple(sorted(found, key=place))


def _flip(pair: CasePair, keys: Collection[str] | None, outcomes: bool) -> CaseFlip | None:
    base, new = pair.alike.base, pair.alike.new
    changes = tuple(_changes(base, new, keys))
    was, now = pair.outcomes
    direction: Direction | None = changes[0].direction if changes else None
    if outcomes and was in BADNESS and now in BADNESS and was != now:
        direction = CHANGE[BADNESS[now] < BADNESS[was]]
    if direction is None:
        return None
    # Changes in the direction of the flip come first.
    ordered = tuple(sorted(changes, key=lambda change: change.direction != direction))
    before, after = _telling(base, new, ordered[0] if ordered else None, direction)
    metric = ordered[0].metric if ordered else None
    return CaseFlip(
        file=new.first.file,
        case_id=new.first.name,
        category=new.first.case.category,
        direction=direction,
        base_outcome=was,
        new_outcome=now,
        passes=(pair.base.passes, pair.new.passes),
        changes=ordered,
        reason=explain_flip(before, after, metric),
        brief_reason=explain_flip(before, after, metric, named=False),
    )


def _changes(base: CaseGroup, new: CaseGroup, keys: Collection[str] | None) -> Iterator[MetricFlip]:
    for key in FLIP_METRICS:
        if keys is not None and key not in keys:
            continue
        one, other = base.mean(key), new.mean(key)
        if one is None or other is None or abs(other - one) <= TOLERANCE:
            continue
        better = (other > one) == (BUILT_IN.cases[key].direction == "higher")
        yield MetricFlip(metric=key, base=one, new=other, direction=CHANGE[better])


def _telling(
    base: CaseGroup, new: CaseGroup, change: MetricFlip | None, direction: Direction
) -> tuple[CaseRecord, CaseRecord]:
    """Return the repeats in which the change shows most."""
    sign = 1.0 if direction == "better" else -1.0

    def order(record: CaseRecord) -> float:
        value = None if change is None else record.scores.metrics.get(change.metric)
        lower = change is not None and BUILT_IN.cases[change.metric].direction == "lower"
        good = 0.0 if value is None else -value if lower else value
        return sign * (good - BADNESS[record.scores.outcome])

    return min(base.records, key=order), max(new.records, key=order)


LossKind = Literal["document", "section", "folder", "category", "tag"]
_KINDS: Final[tuple[LossKind, ...]] = ("document", "section", "folder", "category", "tag")
"""Of equally telling groups, the first is named."""
_LEAST: Final = 3
_MOST: Final = 0.5
"""Share of what was lost, and of the cases of the group, above which it explains the loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A group with most of the cases that were good and became worse."""

    kind: LossKind
    name: str
    lost: int
    """Cases of the group that fail and have an answer."""
    n: int
    """Cases of the group that could be lost: the base met their expectation, or they are worse."""
    lost_in_all: int
    """Cases of all groups that became worse."""

    @property
    def where(self) -> str:
        """Name the group: ``about billing.md``, ``in category multi_hop``, ``with tag urgent``."""
        if self.kind in {"document", "section"}:
            return f"about {self.name}"
        return f"{'with' if self.kind == 'tag' else 'in'} {self.kind} {self.name}"


def find_loss(lost: Collection[str], at_stake: Iterable[CaseRecord]) -> Loss | None:
    """Return the group that explains most of what was lost; None: none does.

    Of those groups it is the one with the largest product of two shares: of the loss that is in
    it, and of its cases that are lost.

    Args:
        lost: node ids of the cases that fail.
        at_stake: one record of each of them, and of the others that could have failed.
    """
    sizes: dict[tuple[LossKind, str], int] = {}
    found: dict[tuple[LossKind, str], int] = {}
    total = 0
    for case in at_stake:
        total += 1
        for group in _groups(case):
            sizes[group] = sizes.get(group, 0) + 1
            found[group] = found.get(group, 0) + (case.nodeid in lost)
    losses = [
        Loss(kind=kind, name=name, lost=found[kind, name], n=n, lost_in_all=len(lost))
        for (kind, name), n in sizes.items()
        if found[kind, name] >= _LEAST
        and found[kind, name] > _MOST * max(len(lost), n)
        and n < total
    ]
    return min(losses, key=_rank, default=None)


def _rank(loss: Loss) -> tuple[float, int, str]:
    share = loss.lost / loss.lost_in_all * loss.lost / loss.n
    return -share, _KINDS.index(loss.kind), loss.name


def _groups(case: CaseRecord) -> Iterator[tuple[LossKind, str]]:
    document, section = (cluster_of(case, by) for by in ("document", "section"))
    if document is not None:
        yield "document", document
        if section is not None and section != document:
            yield "section", section
        folders = document.split("/")[:-1]
        for depth in range(1, len(folders) + 1):
            yield "folder", "/".join(folders[:depth]) + "/"
    yield "category", case.case.category
    for tag in dict.fromkeys(case.case.tags):
        yield "tag", tag
