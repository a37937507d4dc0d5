"""Input and view values of the page, as plain values for the template."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pytest_rageval.metrics.registry import Registry
from pytest_rageval.report.html.links import report_beside
from pytest_rageval.report.html.markup import Element, visible
from pytest_rageval.report.html.run.highlight import Mark
from pytest_rageval.report.view.asked import WordDiff
from pytest_rageval.report.view.blocks import Fact, Group
from pytest_rageval.runs.read import CaseKey
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.words import ANSWERABLE

# --- input -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """Extent of the page."""

    redact: bool = False
    """Leave out every text that a case, a document, a model or a server wrote."""
    full: bool = False
    """Show the details of every case, however many there are."""
    full_up_to: int = 1000
    """Number of cases up to which all details are shown by default."""
    full_of_more: int = 300
    """Number of cases of a larger run whose details are all shown: those to look at first."""
    address: Callable[[str], str] = report_beside
    """Returns the address of another run's page."""


# --- output ------------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class ChunkView:
    """One retrieved chunk."""

    rank: int
    in_cut: bool
    golds: str
    """Such as ``gold [0]``; empty: it matches none. Contains no document text."""
    irrelevant: bool
    path: str
    heading: str
    facts: str
    """Lines, scores and earlier rank: numbers and fixed words."""
    text: str
    marks: Sequence[Mark]
    """Key facts and quotes of golds in the text."""
    truncated: bool
    moved: str = ""
    """Rank in the other run, such as ``was rank 3``; empty: the same rank."""
    elsewhere: int | None = None
    """Rank in the other run; None: not retrieved there, or not compared."""


@dataclass(slots=True, kw_only=True)
class FactView:
    """One expected key fact."""

    letter: str
    """Of its marks."""
    text: str
    vital: bool
    """False: good to have, and counted half."""
    finding: str
    """The judge's: ``found``, ``not found`` or empty, if it was not asked."""
    ranks: tuple[int, ...]
    """Ranks of the cut whose text states it."""


@dataclass(slots=True, kw_only=True)
class CaseDetail:
    """Details of one case; without text on a redacted page."""

    history: tuple[Fact, ...]
    """Messages before the question."""
    question: str | None
    facts: tuple[FactView, ...]
    expected_answer: str | None
    answer: str | None
    answer_marks: tuple[Mark, ...] = ()
    """Key facts and citations in the answer."""
    error: str
    """Kind and message; empty: the target answered."""
    abstained: str
    chunks: tuple[ChunkView, ...] | None = None
    stage_name: str
    """Failure stage in a few words."""
    stage_meaning: str
    why: tuple[Fact, ...] = ()
    """As ``rageval explain`` says it first."""
    groups: tuple[Group, ...] = ()
    """As ``rageval explain --all`` shows them, without what the page draws itself."""
    values: Element
    """All metrics in one line, or those that are at their best."""
    phases: tuple[tuple[str, float], ...]
    """Milliseconds by phase of the answer, without the total."""
    total_ms: float | None
    commands: tuple[str, ...]
    """To run it again, where its file may be named, and to explain it."""
    trace_id: str
    """Trace that the target was asked in; empty: none."""
    trace_link: str
    """Address of that trace, of http or https; empty: not known."""
    base: BaseDetail | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseDetail:
    """The same case in the baseline."""

    outcome: str
    stage: str
    answer: str | None
    """None if absent, or it is the same."""
    chunks: tuple[ChunkView, ...] | None
    """None: not reported, or the same."""
    same: tuple[str, ...]
    """Equal parts: ``answer``, ``chunks``."""
    lost: tuple[str, ...] = ()
    """Golds that only the baseline retrieved, with their rank there."""
    diff: WordDiff | None = None
    """Both answers word by word; None: one is missing, or they have almost nothing in common."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLink:
    """Turn of a conversation as a link from its other turns."""

    anchor: str
    outcome: str


@dataclass(slots=True, kw_only=True)
class CaseRow:
    """One row of the case table."""

    record: CaseRecord
    number: int
    """Place in the list, from 0."""
    anchor: str
    case_id: str
    turns: tuple[TurnLink, ...]
    """All turns of its conversation, or itself alone."""
    marks: str
    """``turn 2 of 3`` in a conversation, ``repeat 1, 3/5 pass`` if a case was asked several times,
    ``asks back`` if that is what it got for an answer, ``not reviewed`` if it does not count."""
    outcome: str
    """``passed``, ``missed`` or ``error``; ``unchecked`` if nothing could be scored."""
    flaky: bool
    """Whether the case passes in some of its repeats and not in all."""
    flip: str
    """``worse``, ``better`` or empty."""
    stage: str
    checks: tuple[str, ...]
    """Names of the checks that did not pass and that the case lowers."""
    question: str | None
    brief: bool
    """Whether the details leave out what was retrieved, to keep the page small."""
    make_detail: Callable[[], CaseDetail]

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The names of its outcome: of a flaky case two, that and the one of the repeat."""
        return ("flaky", self.outcome) if self.flaky else (self.outcome,)

    @property
    def labels(self) -> str:
        """Category, difficulty, answerability and tags."""
        record = self.record
        answerable = ANSWERABLE[record.case.answerable]
        found = (record.case.category, record.case.difficulty, answerable, *record.case.tags)
        return " · ".join(filter(None, found))

    @property
    def detail(self) -> CaseDetail:
        """The details, made anew by each call: those of a whole run are never held at once."""
        return self.make_detail()


@dataclass(frozen=True, slots=True, kw_only=True)
class CasesView:
    """The case table."""

    columns: tuple[str, ...]
    """Metrics that the list shows at first."""
    rows: tuple[CaseRow, ...]
    """Sorted by what to look at first."""
    anchors: Mapping[CaseKey, str]
    n_brief: int
    """Number of cases whose retrieved chunks are left out."""


_QUESTION_CHARS: Final = 300
GROUP_KINDS: Final = ("category", "tag", "difficulty", "turn")
"""Kinds of groups that cases belong to, in the order of display."""


def page_data(cases: CasesView, registry: Registry) -> dict[str, Any]:
    """Return the columns of all cases, each in the order of the list.

    ``case`` is one number for all repeats of a case; ``facets`` holds for each key its names and
    the indices of a case's names; ``metrics`` the values by key, None if absent; ``rank``
    is that of the first gold, from 1, None if none came back or the case has none.
    """
    rows = cases.rows
    places: dict[str, int] = {}
    return {
        "case": [places.setdefault(row.record.nodeid, len(places)) for row in rows],
        "id": [visible(row.case_id) for row in rows],
        "marks": [row.marks for row in rows],
        "anchor": [row.anchor for row in rows],
        "question": [visible((row.question or "")[:_QUESTION_CHARS]) for row in rows],
        "required": [int(row.record.case.required) for row in rows],
        "facets": {key: _facet(map(names, rows)) for key, names in _NAMES.items()},
        "rank": [first_rank(row.record) for row in rows],
        "ms": _rounded([row.record.latency.get("total_ms") for row in rows]),
        "metrics": _metrics([row.record for row in rows], registry),
        "shown": list(cases.columns),
    }


def names_of(kind: str, case: Case) -> Iterable[str]:
    """Return the groups of one kind that a case belongs to."""
    if kind == "tag":
        return dict.fromkeys(case.tags)
    names = {"category": case.category, "difficulty": case.difficulty, "turn": case.turn_group}
    return filter(None, [names[kind]])


def _groups(kind: str, row: CaseRow) -> Iterable[str]:
    return names_of(kind, row.record.case)


_NAMES: Final[Mapping[str, Callable[[CaseRow], Iterable[str]]]] = {
    "outcome": lambda row: row.outcomes,
    "stage": lambda row: (row.stage,),
    **{kind: partial(_groups, kind) for kind in GROUP_KINDS},
    "flip": lambda row: (row.flip,),
    "check": lambda row: row.checks,
}
"""By the key of the address that chooses cases by them, in the order of display."""


def _facet(names: Iterable[Iterable[str]]) -> dict[str, Any]:
    """Return the names by frequency, and for every case the indices of its own."""
    found = [*map(tuple, names)]
    # Most cases share the names of others, so each combination is looked at once.
    shown = {one: [visible(name) for name in one if name] for one in {*found}}
    counts: Counter[str] = Counter()
    for one, n in Counter(found).items():
        for name in shown[one]:
            counts[name] += n
    order = sorted(counts, key=lambda name: (-counts[name], name))
    place = {name: index for index, name in enumerate(order)}
    of = {one: [place[name] for name in own] for one, own in shown.items()}
    return {"names": order, "of": [of[one] for one in found]}


def first_rank(record: CaseRecord) -> int | None:
    """Return the rank, from 1, of the first chunk that matches a gold; None if absent."""
    chunks = record.reply.retrieved_chunks or ()
    return next((rank for rank, one in enumerate(chunks, start=1) if one.matched_golds), None)


def _metrics(records: Sequence[CaseRecord], registry: Registry) -> list[dict[str, Any]]:
    cases = [record.scores.metrics for record in records]
    present = {key for metrics in cases for key, v in metrics.items() if v is not None}
    known = [key for key in registry.cases if key in present]
    infos = registry.cases
    return [
        {
            "key": visible(key),
            "title": visible(infos[key].title if key in infos else key),
            "lower": int(key in infos and infos[key].direction == "lower"),
            "values": _rounded([metrics.get(key) for metrics in cases]),
        }
        for key in (*known, *sorted(present - {*known}))
    ]


def _rounded(values: Sequence[float | None]) -> list[float | int | None]:
    """Return values as short as the page shows them: with six significant digits."""
    # Most cases share a few values, and formatting is slow.
    short = {value: None if value is None else _short(value) for value in {*values}}
    return [short[value] for value in values]


def _short(value: float) -> float | int:
    short = float(f"{value:.6g}")
    return int(short) if short.is_integer() else short
