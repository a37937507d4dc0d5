"""Faults that are planted in stored replies, and a gate that was tried on them. Pure.

A fault changes what the target delivered and nothing else: where it loses passages, the answer
stays word for word, as if the model had been lucky.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from statistics import median_low
from typing import Final, Literal, TypeVar

from pytest_rageval.metrics.matching import norm_path
from pytest_rageval.metrics.prepared import EVERYTHING, PreparedAnswer
from pytest_rageval.values.gate import CheckKind
from pytest_rageval.values.reply import AskResponse

Subject = Literal["answers", "documents", "folders"]
"""Unit of a dose: the answers that are changed, or what is lost to all of them."""
_T = TypeVar("_T")

SHARES: Final = (0.03, 0.1, 0.3, 1.0)
_REFUSAL: Final = "I could not find the answer to this question in the documents."
_FIGURE: Final = re.compile(r"(?<![\w.,:/-])\d+(?:[.,:]\d+)*(?![\w/])")

_BEFORE_STOP: Final = re.compile(r"[ \t]+(?=[.,;:!?])")


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetBreak:
    """One way in which a target breaks."""

    name: str
    plant: Callable[[AskResponse, Collection[str]], AskResponse]
    """Returns a reply with the fault, the same one where it changes nothing. The second argument
    holds the documents or folders that are lost."""
    of: Subject = "answers"
    doses: Sequence[float] = SHARES
    """Shares of the answers that it can change, or numbers of documents or folders; ascending."""

    def dose_text(self, dose: float) -> str:
        """Return a dose in words, such as ``10 %`` or ``3 documents``."""
        if self.of == "answers":
            return f"{100 * dose:.0f} %"
        return f"{dose:g} {self.of if dose != 1 else self.of[:-1]}"


def chosen(names: Iterable[_T], dose: float, *, share: bool, draw: int = 0) -> list[_T]:
    """Return a random draw of some names, which is the same in every process.

    A larger dose holds every smaller one of the same draw.

    >>> chosen(["a", "b", "c", "d"], 0.5, share=True), chosen(["b", "a"], 1, share=False, draw=3)
    (['b', 'd'], ['a'])
    """

    def place(name: _T) -> bytes:
        return blake2b(repr((draw, name)).encode(), digest_size=8).digest()

    mixed = sorted(names, key=place)
    return mixed[: math.ceil(dose * len(mixed) - 1e-9) if share else int(dose)]


def folder_of(path: str) -> str:
    """Return the folder of a document; empty: it is in none."""
    return norm_path(path).rpartition("/")[0]


# --- what each fault does ----------------------------------------------------------------------


def _with_chunks(reply: AskResponse, kept: Sequence[int]) -> AskResponse:
    """Return a reply with these of its chunks, by place from 0; citations of them keep pointing."""
    chunks = reply.retrieved_chunks or ()
    if list(kept) == list(range(len(chunks))):
        return reply
    ranks = {place + 1: rank for rank, place in enumerate(kept, start=1)}
    moved = tuple(
        replace(chunks[place], rank=None if chunks[place].rank is None else rank)
        for rank, place in enumerate(kept, start=1)
    )
    references = reply.references and tuple(
        replace(one, chunk_rank=one.chunk_rank and ranks.get(one.chunk_rank))
        for one in reply.references
    )
    return replace(reply, retrieved_chunks=moved, references=references)


def _without(reply: AskResponse, is_lost: Callable[[str], bool]) -> AskResponse:
    """Return a reply that neither found nor cites some documents."""
    chunks = reply.retrieved_chunks or ()
    found = _with_chunks(reply, [i for i, one in enumerate(chunks) if not is_lost(one.rel_path)])
    cited = found.references
    if cited is None or not any(one.rel_path and is_lost(one.rel_path) for one in cited):
        return found
    kept = tuple(one for one in cited if one.rel_path is None or not is_lost(one.rel_path))
    return replace(found, references=kept)


def _size(reply: AskResponse) -> int:
    return len(reply.retrieved_chunks or ())


def _uncited(reply: AskResponse) -> AskResponse:
    kinds = EVERYTHING - {"marker", "sources"}
    if not reply.references:
        return reply
    answer = _BEFORE_STOP.sub("", PreparedAnswer(reply.answer).text(kinds))
    return replace(reply, answer=answer.strip(), references=())


def _refused(reply: AskResponse) -> AskResponse:
    if reply.abstained or not reply.answer.strip():
        return reply
    flag = None if reply.abstained is None else True
    cited = None if reply.references is None else ()
    return replace(reply, answer=_REFUSAL, abstained=flag, references=cited)


def _thinking(reply: AskResponse) -> AskResponse:
    """Put a thought without its tags in front of an answer."""
    if reply.abstained or not reply.answer.strip():
        return reply
    passages = enumerate((reply.retrieved_chunks or ())[:3], 1)
    names = ((n, one.rel_path.rpartition("/")[2]) for n, one in passages)
    seen = "".join(f"Passage {n} is from {name}. " for n, name in names)
    thought = f"Okay, the user asks a question. Let me go through the passages one by one. {seen}"
    rest = "I think one of them answers it, so let me write a short answer now."
    return replace(reply, answer=f"{thought}{rest}\n\n{reply.answer}")


def _other_figure(reply: AskResponse) -> AskResponse:
    """Change the first digit of the first figure that is not part of a citation."""
    if reply.abstained:
        return reply
    for span in PreparedAnswer(reply.answer).spans:
        if span.kind != "prose":
            continue
        found = _FIGURE.search(reply.answer, span.start, span.end)
        if found is not None:
            at = found.start()
            digit = str(int(reply.answer[at]) % 9 + 1)
            return replace(reply, answer=reply.answer[:at] + digit + reply.answer[at + 1 :])
    return reply


FAULTS: Final = (
    TargetBreak(
        name="documents lost",
        plant=lambda reply, lost: _without(reply, lambda path: norm_path(path) in lost),
        of="documents",
        doses=(1, 3, 10),
    ),
    TargetBreak(
        name="folders lost",
        plant=lambda reply, lost: _without(reply, lambda path: folder_of(path) in lost),
        of="folders",
        doses=(1, 2),
    ),
    TargetBreak(
        name="ranks reversed",
        plant=lambda reply, _: _with_chunks(reply, range(_size(reply))[::-1]),
    ),
    TargetBreak(
        name="first chunk dropped",
        plant=lambda reply, _: _with_chunks(reply, range(1, _size(reply))),
    ),
    TargetBreak(
        name="k halved",
        plant=lambda reply, _: _with_chunks(reply, range((_size(reply) + 1) // 2)),
    ),
    TargetBreak(name="citations dropped", plant=lambda reply, _: _uncited(reply)),
    TargetBreak(name="refusals", plant=lambda reply, _: _refused(reply)),
    TargetBreak(name="thoughts left in", plant=lambda reply, _: _thinking(reply)),
    TargetBreak(name="figure changed", plant=lambda reply, _: _other_figure(reply)),
)
"""Every fault, those of retrieval first."""


OTHER_JUDGE: Final = "judged_offline"
"""Remark that the offline judge stands in for the judge of the run."""


MOST_DRAWS: Final = 3
"""Random draws of what a dose hits, of which more than half decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dose:
    """One dose of a fault, and what the gate said in most draws of what it hits, or in the one."""

    dose: float
    """Share of the answers, or number of documents or folders."""
    text: str
    n_changed: int
    """Cases whose reply it changed; of several draws the median."""
    caught: bool
    """Whether a check or a required case fails that did not fail without the fault."""
    failed: tuple[str, ...] = ()
    """Names of those checks."""
    warned: tuple[str, ...] = ()
    """Checks that warn, and passed without the fault."""
    would_fail: tuple[str, ...] = ()
    """Metrics whose drop or rise a check against the baseline would prove."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedFault:
    """One fault at each of its doses."""

    name: str
    of: Subject
    doses: tuple[Dose, ...]
    """Ascending; empty: no reply of the run can have it."""
    add: str | None = None
    """Metric to limit, so that it is caught at a smaller dose; None: none is known or needed."""

    @property
    def caught_from(self) -> Dose | None:
        """The smallest dose from which on it is caught; None: the largest is not."""
        return _first_of(self.doses, [one.caught for one in self.doses])

    @property
    def warned_from(self) -> Dose | None:
        """The smallest dose from which on a check warns at least; None: none does."""
        return _first_of(self.doses, [bool(one.caught or one.warned) for one in self.doses])

    def found_from(self, metric: str) -> Dose | None:
        """The smallest dose from which on a limit on a metric would catch it."""
        return _first_of(self.doses, [metric in one.would_fail for one in self.doses])

    @property
    def missed(self) -> bool:
        """Whether it can be planted, and is caught at no dose."""
        return bool(self.doses) and self.caught_from is None


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedGate:
    """The faults that a gate catches in a run."""

    run_id: str
    verdict: str
    """Of the gate on the run as it is."""
    n_cases: int
    has_baseline: bool
    """Whether a check compares with a baseline, for which the run itself stands here."""
    faults: tuple[PlantedFault, ...]
    limits: Mapping[str, CheckKind] = field(default_factory=dict)
    """Direction, ``max_drop`` or ``max_rise``, by metric to add."""
    notes: tuple[str, ...] = ()


def is_settled(draws: Sequence[Dose]) -> bool:
    """Whether the draws of a dose that are left cannot change what most of them say."""
    left, half = MOST_DRAWS - len(draws), MOST_DRAWS / 2
    return left < half and all(n > half or n + left < half for n in _votes(draws).values())


def most_of(draws: Sequence[Dose]) -> Dose:
    """Return what most draws of a dose say."""
    votes = _votes(draws)

    def most(name: str) -> tuple[str, ...]:
        return tuple(key for (of, key), n in votes.items() if of == name and 2 * n > len(draws))

    return replace(
        draws[0],
        n_changed=median_low(one.n_changed for one in draws),
        caught=2 * sum(one.caught for one in draws) > len(draws),
        failed=most("failed"),
        warned=most("warned"),
        would_fail=most("would_fail"),
    )


def _votes(draws: Sequence[Dose]) -> Counter[tuple[str, str]]:
    """Count the draws that say something, such as ``("failed", "mrr")``."""
    found: Counter[tuple[str, str]] = Counter()
    for one in draws:
        found.update([("caught", "")] * one.caught)
        for name in ("failed", "warned", "would_fail"):
            found.update((name, key) for key in getattr(one, name))
    return found


def _first_of(doses: Sequence[Dose], found: Sequence[bool]) -> Dose | None:
    n = next((n for n, one in enumerate(reversed(found)) if not one), len(found))
    return doses[len(doses) - n] if n else None
