"""Decisions of annotators in ``labels/<name>.jsonl`` beside a case file, and their agreement.

A line is a complete decision about one case; a later one of the same case replaces it.

Defined in docs/label.md#agreement: Cohen's kappa of two annotators, Krippendorff's alpha of more.
"""

from __future__ import annotations

import io
import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pytest_rageval.analysis.stats.agreement import bootstrap_agreement, kappa, krippendorff_alpha
from pytest_rageval.authoring.labelling.draft import Draft, Groups, matches, written
from pytest_rageval.metrics.matching import anchor_segments, norm_heading, norm_path, text_hash
from pytest_rageval.support.files import check_person, named_errors, open_plain
from pytest_rageval.support.json_text import is_json
from pytest_rageval.support.jsonl import (
    Line,
    ObjectLine,
    append_line,
    cannot_be_read,
    iterate_lines,
)
from pytest_rageval.support.reading import unfit_at
from pytest_rageval.support.text import counted, shown
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.errors import ConfigError, Fault, StorageError, faults_error
from pytest_rageval.values.lenient import items
from pytest_rageval.values.limits import Flag, Limits
from pytest_rageval.values.record import SCHEMA_VERSION, ScoreSettings
from pytest_rageval.values.reply import RetrievedChunk

Section = tuple[str | None, str, tuple[str, ...]]
"""Vault, normalised path and heading segments of an anchor, compared between annotators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenChunk:
    """A chunk that was shown, identified by its content and never by an id of the target."""

    rel_path: str
    heading_path: str | None = None
    text_hash: str
    marked: bool

    @property
    def key(self) -> tuple[str, tuple[str, ...], str]:
        """Identity of the chunk, the same for all annotators."""
        return norm_path(self.rel_path), norm_heading(self.heading_path) or (), self.text_hash


_Version = Annotated[int, Limits(str(SCHEMA_VERSION), ge=SCHEMA_VERSION, le=SCHEMA_VERSION)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelEntry:
    """One annotator's decision about one case: a line of a label file."""

    schema_version: _Version = SCHEMA_VERSION
    file: str = ""
    """Name of the case file, without its folder."""
    id: str
    answerable: Flag
    gold_supports: tuple[Anchor, ...] = ()
    required_support_groups: Groups | None = None
    notes: str = ""
    chunks: tuple[SeenChunk, ...] = ()
    seconds: float = 0.0
    """Time that it took."""
    at: str = ""
    """Time of the decision, UTC, ISO 8601."""
    annotator: str = ""
    """The name of the file, which no line holds."""

    @classmethod
    def of(cls, case_id: str, draft: Draft, **fields: Any) -> Self:
        """Return the entry of a decision."""
        return cls(
            id=case_id,
            answerable=draft.answerable,
            gold_supports=draft.golds,
            required_support_groups=draft.groups,
            notes=draft.notes,
            **fields,
        )

    @property
    def draft(self) -> Draft:
        """The decision."""
        return Draft(
            golds=self.gold_supports,
            answerable=self.answerable,
            groups=tuple(filter(None, self.required_support_groups or ())) or None,
            notes=self.notes,
        )

    @property
    def sections(self) -> frozenset[Section]:
        """The sections that are evidence."""
        return frozenset(map(section_of, self.gold_supports))

    def document(self) -> dict[str, Any]:
        """Return the line as JSON values."""
        values = asdict(self) | {"gold_supports": [*map(written, self.gold_supports)]}
        del values["annotator"]
        return values | {"tool_version": metadata.version("pytest-rageval")}


def section_of(gold: Anchor) -> Section:
    """Return the section of an anchor, ignoring snippets and spelling."""
    return gold.vault, norm_path(gold.rel_path), anchor_segments(gold)


def seen_chunks(
    draft: Draft, chunks: Iterable[RetrievedChunk], settings: ScoreSettings
) -> tuple[SeenChunk, ...]:
    """Return the chunks that were shown, and whether each was marked."""
    return tuple(
        SeenChunk(
            rel_path=chunk.rel_path,
            heading_path=chunk.heading_path,
            text_hash=chunk.text_hash or text_hash(chunk.text or ""),
            marked=any(matches(gold, chunk, settings) for gold in draft.golds),
        )
        for chunk in chunks
    )


_LINE: Final = ObjectLine[LabelEntry](
    type=LabelEntry,
    shape='{"id": case id, "answerable": true or false, "gold_supports": [...]}',
)


def _indices(number: int, value: dict[str, Any], faulty: object) -> Iterator[Fault]:
    n_golds = len(items(value, "gold_supports"))
    for group in items(value, "required_support_groups"):
        if not (
            isinstance(group, list) and all(type(i) is int and 0 <= i < n_golds for i in group)
        ):
            found, expected = shown(group), "indices into gold_supports"
            yield unfit_at(("required_support_groups",), found, expected)


def _read_entry(line: Line, annotator: str, faults: list[Fault], name: str) -> Iterator[LabelEntry]:
    """Yield the entry of a line, or add its faults."""
    read, found = _LINE.read(line, _indices)
    faults += [replace(fault, file=name) for fault in found]
    if read is not None:
        yield replace(read, annotator=annotator)


def latest(entries: Iterable[LabelEntry]) -> dict[str, dict[str, LabelEntry]]:
    """Return the last entry of each case by case id and annotator, in the order given."""
    found: dict[str, dict[str, LabelEntry]] = {}
    for entry in entries:
        found.setdefault(entry.id, {})[entry.annotator] = entry
    return found


def differences(entries: Mapping[str, LabelEntry]) -> tuple[str, ...]:
    """Describe the differences between annotators about one case; empty: they agree."""
    found = []
    said = {name: entry.draft.answerable for name, entry in entries.items()}
    yes, no = (", ".join(n for n, one in said.items() if one is kind) for kind in (True, False))
    if yes and no:
        found.append(f"answerable says {yes}; unanswerable says {no}")
    every = frozenset().union(*(entry.sections for entry in entries.values()))
    shared = sum(all(s in entry.sections for entry in entries.values()) for s in every)
    if shared < len(every):
        found.append(f"{shared} of {len(every)} sections named by all of {', '.join(entries)}")
    return tuple(found)


def open_points(entries: Mapping[str, LabelEntry]) -> str:
    """Describe points without any agreement, for which ``agreed_draft`` uses the case file.

    Args:
        entries: of one case by annotator, at least one.

    Returns:
        One clause; empty: there is some agreement.
    """
    if len({entry.draft.answerable for entry in entries.values()}) > 1:
        return "annotators differ on whether there is an answer"
    every = [entry.sections for entry in entries.values()]
    if any(every) and not frozenset.intersection(*every):
        return "annotators agree on no evidence"
    return ""


def agreed_draft(entries: Mapping[str, LabelEntry], start: Draft) -> Draft:
    """Return the common decision of all annotators; where they differ, that of the case file.

    If they have no evidence in common, that of the case file is kept.

    Args:
        entries: of one case by annotator, at least one.
        start: the case as its file has it.
    """
    drafts = [entry.draft for entry in entries.values()]
    first = next(iter(entries.values()))
    kept = [
        gold
        for gold in first.draft.golds
        if all(section_of(gold) in entry.sections for entry in entries.values())
    ]
    answers = {draft.answerable for draft in drafts}
    answerable = answers.pop() if len(answers) == 1 else start.answerable
    if answerable and not kept and any(entry.sections for entry in entries.values()):
        return replace(start, answerable=True)
    same = len(kept) == len(first.draft.golds) and len({draft.groups for draft in drafts}) == 1
    return Draft(
        golds=tuple(_as_in(start, gold) for gold in kept) if answerable else (),
        answerable=answerable,
        groups=first.draft.groups if same and answerable else None,
        notes=start.notes,
        review=start.review,
    )


def _as_in(start: Draft, gold: Anchor) -> Anchor:
    """Return an anchor as the case file writes it, if it has it."""
    known = [one for one in start.golds if section_of(one) == section_of(gold)]
    return known[0] if known else gold


LABELS: Final = "labels"
ADJUDICATED: Final = "adjudicated"
"""Name of the file of adjudicated decisions; not a valid annotator name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """All labels of one case file."""

    entries: tuple[LabelEntry, ...]
    """Entries by annotator, in the order of their files."""
    decided: Mapping[str, str]
    """Case id and time of the last adjudication."""
    notes: tuple[str, ...] = ()
    """Notes about entries that were left out."""


def check_annotator(name: str) -> str:
    """Return a name that is a valid file name.

    Raises:
        ConfigError: it is not.
    """
    check_person(name, "--annotator")
    if name.lower() == ADJUDICATED:
        raise ConfigError.of(
            "--annotator", "duplicate", found=repr(name), owner="the file of decisions"
        )
    return name


def labels_path(case_file: Path, name: str) -> Path:
    """Return the file of an annotator, beside the case file."""
    return case_file.parent / LABELS / f"{name}.jsonl"


def read_labels(case_file: Path) -> Labels:
    """Read the labels of all annotators of a case file.

    Raises:
        DatasetError: with every fault of the files, or one cannot be read.
    """
    entries: list[LabelEntry] = []
    decided: dict[str, str] = {}
    notes: list[str] = []
    faults: list[Fault] = []
    beside = {path.name for path in case_file.parent.glob("*")}
    for path in sorted((case_file.parent / LABELS).glob("*.jsonl")):
        found = _read_file(path, faults, notes)
        ours = [entry for entry in found if entry.file in {"", case_file.name}]
        for gone in sorted({entry.file for entry in found} - {"", case_file.name, *beside}):
            n_labels = counted(sum(entry.file == gone for entry in found), "label")
            notes.append(
                f"{path.as_posix()}: {n_labels} of {shown(gone)}, which is not there, left out; "
                'if it was renamed, write its new name as their "file"'
            )
        if path.stem == ADJUDICATED:
            decided |= {entry.id: entry.at for entry in ours}
        else:
            entries += ours
    if faults:
        raise faults_error(faults)
    return Labels(entries=tuple(entries), decided=decided, notes=tuple(notes))


def _read_file(path: Path, faults: list[Fault], notes: list[str]) -> list[LabelEntry]:
    name = path.as_posix()
    try:
        with open_plain(path) as file:
            data = file.read()
    except OSError as error:
        raise cannot_be_read(name, error) from error
    torn = data[data.rfind(b"\n") + 1 :]
    if torn and not is_json(torn):
        # Its writer was killed; the lines before are complete.
        data = data[: len(data) - len(torn)]
        notes.append(f"{name}: the last line is cut short and left out")
    lines = iterate_lines(io.BytesIO(data), name, faults)
    return [one for line in lines for one in _read_entry(line, path.stem, faults, name)]


def append_entry(path: Path, document: Mapping[str, Any]) -> None:
    """Append one line to the file of an annotator; complete lines are never changed.

    Raises:
        StorageError: it cannot be written.
    """
    # In ASCII: a lone surrogate in a chunk's heading has no other form.
    text = json.dumps(document, allow_nan=False)
    with named_errors(path, StorageError):
        path.parent.mkdir(exist_ok=True)
        append_line(path, text.encode("ascii"))


Statistic = Literal["cohen_kappa", "krippendorff_alpha"]
_Units = Mapping[Hashable, Mapping[str, bool]]
"""Rated items, each with the rating of each annotator."""
_CONFIDENCE: Final = 0.95
"""Level of the intervals, which resample whole cases."""


def agreement_document(entries: Iterable[LabelEntry]) -> dict[str, Any]:
    """Return the agreement of all annotators.

    Args:
        entries: in the order of their files; later ones of a case and annotator count.

    Returns:
        ``annotators`` with the cases of each; for ``chunks`` and ``answerable`` the ``statistic``,
        its ``value`` (None: no disagreement was possible), ``low``, ``high`` (None: every
        resample gives the same value), ``n`` items rated by at least two, their ``n_cases`` and
        ``observed`` agreement, 0 to 1.
    """
    by_case = latest(entries)
    names = sorted({name for found in by_case.values() for name in found})
    chunks: dict[Hashable, dict[str, bool]] = {}
    answerable: dict[Hashable, dict[str, bool]] = {}
    case_of: dict[Hashable, str] = {}
    for case_id, found in by_case.items():
        for name, entry in found.items():
            answerable.setdefault(case_id, {})[name] = entry.draft.answerable
            case_of[case_id] = case_id
            for chunk in entry.chunks:
                key = (case_id, *chunk.key)
                chunks.setdefault(key, {})[name] = chunk.marked
                case_of[key] = case_id
    return {
        "annotators": {name: sum(name in found for found in by_case.values()) for name in names},
        "confidence": _CONFIDENCE,
        "chunks": _agreement(chunks, names, case_of),
        "answerable": _agreement(answerable, names, case_of),
    }


def _agreement(
    units: _Units, names: Sequence[str], case_of: Mapping[Hashable, str]
) -> dict[str, Any]:
    shared = {key: said for key, said in units.items() if len(said) > 1}
    columns = [
        [float(said[name]) if name in said else None for name in names] for said in shared.values()
    ]
    cases = [case_of[key] for key in shared]
    two = len(names) == 2

    def statistic(rows: Sequence[float], _: Sequence[float]) -> float | None:
        chosen = [columns[int(row)] for row in rows]
        if two:
            return _kappa(chosen)
        by_name = [[column[i] for column in chosen] for i in range(len(names))]
        return krippendorff_alpha(by_name, level="nominal")

    every = range(len(columns))
    interval = bootstrap_agreement(every, every, statistic, clusters=cases, confidence=_CONFIDENCE)
    # If all resamples give the same value, they do not measure its uncertainty.
    spread = interval.low != interval.high
    pairs = [pair for said in shared.values() for pair in combinations(said.values(), 2)]
    kind: Statistic = "cohen_kappa" if two else "krippendorff_alpha"
    return {
        "statistic": kind,
        "value": statistic(every, every),
        "low": interval.low if spread else None,
        "high": interval.high if spread else None,
        "n": len(shared),
        "n_cases": len(set(cases)),
        "observed": sum(a == b for a, b in pairs) / len(pairs) if pairs else None,
    }


def _kappa(columns: Sequence[Sequence[float | None]]) -> float | None:
    both = [(a, b) for a, b in columns if a is not None and b is not None]
    return kappa([a for a, _ in both], [b for _, b in both], categories=(0.0, 1.0))
