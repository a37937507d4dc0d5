"""Input and output of a labelling session: asks the target, saves decisions.

Three desks: one writes the case file, one writes an annotator's file beside it, and one writes the
case file from the annotators' decisions (adjudication).
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pytest_rageval.authoring.keyed.session import place_of
from pytest_rageval.authoring.labelling.draft import (
    Draft,
    Fetched,
    LabelCase,
    ProposedGold,
    SaveResult,
    groups_text,
    written,
)
from pytest_rageval.authoring.labelling.store import (
    ADJUDICATED,
    LabelEntry,
    Labels,
    agreed_draft,
    append_entry,
    differences,
    labels_path,
    latest,
    open_points,
    seen_chunks,
)
from pytest_rageval.metrics.matching import order_chunks
from pytest_rageval.project.case_edit import (
    EditableCase,
    EditableSet,
    EditConflictError,
    change_line,
    lines_by_id,
    read_case_line,
    read_file_lines,
    remove_line,
)
from pytest_rageval.support.text import part
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import DatasetError, StorageError
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import AskResult, RetrievedChunk

Ask = Callable[[Case], AskResult]

_NO_CHUNKS: Final = "the target reports no chunks: debug.retrieved_chunks is missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The target of a desk."""

    ask: Ask
    k: int
    """Maximum number of chunks shown."""

    def fetch(self, case: Case) -> Fetched:
        """Ask for the chunks of a case; failures are data."""
        result = self.ask(case)
        response = result.response
        if response is None or response.retrieved_chunks is None:
            problem = _NO_CHUNKS if result.error is None else result.error.message
            return Fetched(problem=problem)
        return Fetched(chunks=order_chunks(response.retrieved_chunks)[: self.k])


def draft_of(case: Case) -> Draft:
    """Return the draft of a case as its file has it."""
    return Draft(
        golds=case.gold_supports,
        answerable=case.answerable,
        groups=case.required_support_groups,
        notes=case.notes,
        review=case.review,
    )


# --- the case file -------------------------------------------------------------------------------


class CaseDesk:
    """Keeps decisions in the case file."""

    def __init__(self, loaded: EditableSet, target: Target) -> None:
        self._path = loaded.path
        self._display = loaded.display
        self._target = target
        self._known = {one.case.id: one for one in loaded.cases}

    def queue(self, ids: Iterable[str]) -> list[LabelCase]:
        """Return cases to label."""
        return [self._item(self._known[case_id]) for case_id in ids]

    def _item(self, one: EditableCase) -> LabelCase:
        return LabelCase(case=one.case, start=draft_of(one.case))

    def fetch(self, case: LabelCase) -> Fetched:
        """Ask the target for the chunks of a case."""
        return self._target.fetch(case.case)

    def save(self, case: LabelCase, before: Draft, after: Draft, *, over: bool) -> SaveResult:
        """Change the line of a case; without changes, nothing is written."""
        changes, talk = after.changes_from(before), case.case.talk
        if talk is not None and talk.turn < talk.turns:
            changes.pop("review", None)  # a conversation is reviewed once its last turn is
        if not changes:
            return SaveResult(ok=True, written=False)
        case_id = case.case.id
        try:
            one = self._stands_now(case_id) if over else self._known[case_id]
            if one is None:
                return SaveResult(ok=False, message=f"{case_id} is not in the file any more")
            if "gold_supports" in changes:  # those that stay keep their unknown fields
                there = one.values.get("gold_supports", ())
                known = dict(zip(one.case.gold_supports, there, strict=True))
                changes["gold_supports"] = [known.get(g) or written(g) for g in after.golds]
            on_line = one.on_line(changes)
            _refuse_faulty(one, on_line)
            line = change_line(self._path, one.line, on_line, display=self._display)
            self._know(read_case_line(line))
        except EditConflictError as error:
            return self._conflict(case_id, str(error))
        except DatasetError as error:
            return SaveResult(ok=False, message=f"not saved: {str(error).splitlines()[0]}")
        return SaveResult(ok=True, message=f"saved {case_id}: {_named(changes)}")

    def _conflict(self, case_id: str, message: str) -> SaveResult:
        of = self._known[case_id].case.item
        line = lines_by_id(read_file_lines(self._path)).get(of)
        if line is None:
            return SaveResult(ok=False, message=f"not saved: {case_id} is not in the file any more")
        if line.raw == self._known[case_id].line.raw:  # only other lines of the file changed
            return SaveResult(ok=False, message=f"not saved: {message}")
        return SaveResult(ok=False, message="not saved", conflict=line.text)

    def _stands_now(self, case_id: str) -> EditableCase | None:
        of = self._known[case_id].case.item
        line = lines_by_id(read_file_lines(self._path, display=self._display)).get(of)
        turns = () if line is None else read_case_line(line).expanded()
        return next((one for one in turns if one.case.id == case_id), None)

    def _know(self, one: EditableCase) -> None:
        """Keep a line as it is now, for each of its turns."""
        self._known |= {turn.case.id: turn for turn in one.expanded()}

    def remove(self, case: LabelCase) -> SaveResult:
        """Remove the line of a case; a line that another program changed stays."""
        case_id = case.case.id
        if case.case.talk is not None:
            message = (
                f"not removed: it is a turn; `rageval case remove {case.case.item}` removes all"
            )
            return SaveResult(ok=False, message=message)
        try:
            remove_line(self._path, self._known[case_id].line)
        except DatasetError as error:
            return SaveResult(ok=False, message=f"not removed: {str(error).splitlines()[0]}")
        del self._known[case_id]
        others = [i for i, one in self._known.items() if one.case.translation_of == case_id]
        lost = part("; it was the original of {}", ", ".join(others))
        return SaveResult(ok=True, message=f"removed {case_id} from the file{lost}")

    def edit_command(self, case: LabelCase) -> str:
        """Return the ``rageval case edit`` command of a case."""
        case_id = case.case.id
        end = ["--"] if case_id.startswith("-") else []
        words = ["rageval", "case", "edit", "-f", self._path.as_posix(), "--question", "TEXT"]
        return shlex.join([*words, *end, case_id])

    def reload(self, case: LabelCase) -> LabelCase:
        """Read a case again."""
        remark = "the case is not in the file any more"
        try:
            one = self._stands_now(case.case.id)
        except DatasetError as error:
            one = None
            remark = f"the line cannot be read any more: {str(error).splitlines()[0]}"
        if one is None:
            return replace(case, proposal=None, remarks=(remark,))
        self._known[case.case.id] = one
        return replace(case, case=one.case, start=draft_of(one.case), proposal=None)


def _refuse_faulty(one: EditableCase, changes: Mapping[str, object]) -> None:
    """Validate the changed case, so that a case that a run would refuse is not written.

    Raises:
        DatasetError: the changed case is invalid.
    """
    text = json.dumps({**one.line.read(), **changes})
    read_case_line(replace(one.line, raw=text.encode("ascii")))


# --- one of several annotators -------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class AnnotatorDesk:
    """Keeps decisions in the annotator's file and hides those of others.

    Chunks are shown in an order that does not depend on their rank, the same for every annotator.
    """

    loaded: EditableSet
    target: Target
    annotator: str
    labels: Labels
    settings: ScoreSettings
    blind: bool
    """Whether rank and scores of chunks, and the golds of the case file, are hidden."""
    clock: Callable[[], float]
    now: Callable[[], str]
    """Returns the time of a decision, UTC, ISO 8601."""
    _began: dict[str, float] = field(default_factory=dict)
    _shown: dict[str, Fetched] = field(default_factory=dict)
    _own: dict[str, LabelEntry] = field(init=False)
    """The annotator's last entry of each case."""

    def __post_init__(self) -> None:
        """Find the annotator's earlier decisions."""
        self._own = {e.id: e for e in self.labels.entries if e.annotator == self.annotator}

    @property
    def done(self) -> frozenset[str]:
        """Ids of the cases that this annotator has labelled."""
        return frozenset(self._own)

    def queue(self, ids: Iterable[str]) -> list[LabelCase]:
        """Return cases to label."""
        cases = {one.case.id: one for one in self.loaded.cases}
        return [self._item(cases[case_id]) for case_id in ids]

    def _item(self, one: EditableCase) -> LabelCase:
        own = self._own.get(one.case.id)
        start = draft_of(one.case) if own is None and not self.blind else Draft()
        case = replace(
            one.case, gold_supports=(), irrelevant_supports=(), recency_conflict_rule=None, notes=""
        )
        return LabelCase(
            case=case if self.blind else one.case,
            start=replace(start if own is None else own.draft, review="reviewed"),
        )

    def fetch(self, case: LabelCase) -> Fetched:
        """Ask the target for the chunks of a case."""
        fetched = self.target.fetch(case.case)
        if self.blind:
            chunks = sorted(fetched.chunks, key=lambda chunk: _shuffled(case.case.id, chunk))
            fetched = replace(fetched, chunks=tuple(chunks), show_scores=False)
        self._shown[case.case.id] = fetched
        self._began[case.case.id] = self.clock()
        return fetched

    def save(self, case: LabelCase, before: Draft, after: Draft, *, over: bool) -> SaveResult:
        """Add a line to the annotator's file."""
        case_id, path = case.case.id, labels_path(self.loaded.path, self.annotator)
        entry = LabelEntry.of(
            case_id,
            after,
            file=self.loaded.path.name,
            chunks=seen_chunks(after, self._shown[case_id].chunks, self.settings),
            seconds=round(self.clock() - self._began[case_id], 1),
            at=self.now(),
        )
        try:
            append_entry(path, entry.document())
        except StorageError as error:
            return SaveResult(ok=False, message=f"not saved: {error}")
        return SaveResult(ok=True, message=f"kept {case_id} in {path.as_posix()}")

    def reload(self, case: LabelCase) -> LabelCase:
        """Return the case: an append-only file has no conflicts."""
        return case


def _shuffled(case_id: str, chunk: RetrievedChunk) -> str:
    known = "\0".join([case_id, chunk.rel_path, chunk.heading_path or "", chunk.text or ""])
    return hashlib.sha256(known.encode("utf-8", "replace")).hexdigest()


# --- deciding between annotators -----------------------------------------------------------------

_FILE: Final = "file"
"""Name shown for golds of the case file, in place of an annotator's name."""


def _named(changes: Mapping[str, object]) -> str:
    """Name changed fields; "answerable" alone would say the contrary of a case that is not."""
    said = {name: name for name in changes}
    if changes.get("answerable") is False:
        said["answerable"] = "unanswerable"
    return ", ".join(said.values())


def _in_words(draft: Draft) -> str:
    if not draft.answerable:
        return "unanswerable"
    golds = "; ".join(f"{i} {place_of(gold)}" for i, gold in enumerate(draft.golds, 1))
    groups = part("; groups {}", groups_text(draft.groups))
    return f"answerable, {part('evidence {}', golds) or 'no evidence'}{groups}"


class AdjudicationDesk(CaseDesk):
    """Shows differences between annotators and keeps decisions in the case file.

    Args:
        loaded: the case file.
        target: is asked for chunks.
        labels: of the annotators.
        now: returns the time of a decision, UTC, ISO 8601.
    """

    def __init__(
        self, loaded: EditableSet, target: Target, labels: Labels, *, now: Callable[[], str]
    ) -> None:
        super().__init__(loaded, target)
        self._by_case = {
            case_id: found for case_id, found in latest(labels.entries).items() if len(found) > 1
        }
        self._decided = labels.decided
        self._now = now

    def undecided(self, ids: Sequence[str]) -> list[str]:
        """Return the cases to decide, those with differences first.

        A case on which they agree has to be confirmed if the case file differs.
        """
        waiting = [i for i in ids if i in self._by_case and not self._is_decided(i)]
        differing = [i for i in waiting if differences(self._by_case[i])]
        agreed = [i for i in waiting if i not in differing and self._proposal(i) != self._start(i)]
        return differing + agreed

    def _is_decided(self, case_id: str) -> bool:
        at = self._decided.get(case_id)
        return at is not None and all(e.at <= at for e in self._by_case[case_id].values())

    def _start(self, case_id: str) -> Draft:
        return draft_of(self._known[case_id].case)

    def _proposal(self, case_id: str) -> Draft:
        return agreed_draft(self._by_case[case_id], self._start(case_id))

    def _item(self, one: EditableCase) -> LabelCase:
        said = self._by_case[one.case.id]
        start = draft_of(one.case)
        candidates: dict[int, ProposedGold] = {}
        for name, draft in ((_FILE, start), *((name, e.draft) for name, e in said.items())):
            for gold in draft.golds:
                place = next((i for i, c in candidates.items() if c.gold == gold), len(candidates))
                names = candidates[place].names if place in candidates else ()
                candidates[place] = ProposedGold(gold=gold, names=(*names, name))
        notes = [f"{name}: {e.draft.notes}" for name, e in said.items() if e.draft.notes]
        said_apart = differences(said) or (f"{', '.join(said)} agree",)
        doubt = open_points(said)
        return LabelCase(
            case=one.case,
            start=start,
            proposal=self._proposal(one.case.id),
            doubt=part("{}, this is what the file says", doubt),
            candidates=tuple(candidates.values()),
            remarks=(*said_apart, f"the file says: {_in_words(start)}", *notes),
        )

    def reload(self, case: LabelCase) -> LabelCase:
        """Read a case again, and update the remarks about the file."""
        found = super().reload(case)
        if found.remarks != case.remarks:  # it cannot be read
            return found
        return replace(self._item(self._known[case.case.id]), proposal=None)

    def save(self, case: LabelCase, before: Draft, after: Draft, *, over: bool) -> SaveResult:
        """Write the decision to the case file, and record it in the labels."""
        result = super().save(case, before, after, over=over)
        if not result.ok:
            return result
        case_id = case.case.id
        entry = LabelEntry.of(case_id, after, file=self._path.name, at=self._now())
        try:
            append_entry(labels_path(self._path, ADJUDICATED), entry.document())
        except StorageError as error:
            return replace(result, message=f"{result.message}; {error}")
        message = result.message or f"decided {case_id}: as it was"
        return replace(result, message=message, written=True)
