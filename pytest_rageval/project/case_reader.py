"""Case files: JSONL text in, checked cases out, and the hashes that name their content.

A file gives all of its cases or one error with all of its faults. A line has the fields of ``Case``
with their limits; the rules between them are in ``case_rules``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Final

from pytest_rageval.project.case_fields import (
    ALIASES,
    CASE_WARNINGS,
    MEANT,
    find_faults,
    find_warnings,
)
from pytest_rageval.project.discovery import project_files
from pytest_rageval.support.files import shown_below
from pytest_rageval.support.jsonl import (
    Line,
    ObjectLine,
    Place,
    cannot_be_read,
    iterate_lines,
    one_for_values,
    open_lines,
    repeated_id,
)
from pytest_rageval.support.process import without_gc
from pytest_rageval.support.reading import adapter
from pytest_rageval.support.text import clean, part, shown
from pytest_rageval.values.case import (
    CASE_FIELDS,
    RULE_KINDS,
    Anchor,
    AnswerRule,
    Case,
    KeyFact,
    Message,
    Turn,
    turn_id,
)
from pytest_rageval.values.errors import DatasetError, Fault, faults_error
from pytest_rageval.values.numbers import plain
from pytest_rageval.values.settings import Settings

_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), check_circular=False)
_NOT_HASHED: Final = frozenset(
    # The last two affect the run, not the asking and scoring of their case.
    {"notes", "metadata", "tags", "category", "difficulty", "required", "review"}
)
_SHOWN_IDS: Final = 5


@dataclass(frozen=True, kw_only=True)
class LocatedCase:
    """A case, or a turn of a conversation, and the number of its line."""

    case: Case
    lineno: int
    """From 1."""
    sent: frozenset[str] = frozenset()
    """Fields that are part of its hash because the settings send them (``sent_fields``)."""

    @cached_property
    def case_hash(self) -> str:
        """``case_hash`` of the case, computed at first use."""
        return case_hash(self.case, self.sent)


@dataclass(frozen=True, kw_only=True)
class LoadedSet:
    """The cases of one file, in its order."""

    path: Path
    display: str
    """The path as shown to the user and stored in records."""
    cases: tuple[LocatedCase, ...]
    warnings: tuple[str, ...] = ()
    """One line each, with file and first line; one per kind, for any number of cases."""

    @cached_property
    def dataset_hash(self) -> str:
        """``dataset_hash`` over the cases, computed at first use."""
        return dataset_hash(located.case_hash for located in self.cases)


def by_nodeid(sets: Iterable[LoadedSet]) -> dict[str, LocatedCase]:
    """Return the cases of sets by their node ids, without parameters of fixtures."""
    return {f"{one.display}::{located.case.id}": located for one in sets for located in one.cases}


def nodeid_of(item: str, case: Case) -> str:
    """Return the node id of a case: that of its pytest item, or of its turn of a conversation.

    >>> nodeid_of("evals/set.jsonl::a[small]", Case(id="a"))
    'evals/set.jsonl::a[small]'
    """
    if case.turn is None:
        return item
    plain, bracket, parameters = item.partition("[")
    return turn_id(plain, case.turn) + bracket + parameters


def item_of(nodeid: str, case: Case) -> str:
    """Return the node id of the pytest item that asks a case of a node id."""
    if case.turn is None:
        return nodeid
    plain, bracket, parameters = nodeid.partition("[")
    return plain.removesuffix(turn_id("", case.turn)) + bracket + parameters


# --- hashes --------------------------------------------------------------------------------


def case_hash(case: Case, sent: Collection[str] = ()) -> str:
    """Hash the fields of a case that change asking or scoring: 16 hex digits of a SHA-256.

    Notes, required and review are left out, and metadata, tags, category and difficulty unless
    they are sent; the turns before it count. A field that holds its default counts as absent, so a
    later version that adds a field keeps today's hashes.
    """
    defaults = _HASHED | {name: _DEFAULTS[name] for name in sent}
    content = _content(case, defaults)
    if case.talk is not None and case.talk.gold:
        content["before"] = _parts(case.talk.gold)
    return _digest(_CANONICAL.encode(content))


def dataset_hash(hashes: Iterable[str]) -> str:
    """Hash the content of a set, independent of the order of its cases: 16 hex digits."""
    return _digest("\n".join(sorted(hashes)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


_DEFAULTS: Final[dict[str, Any]] = {
    name: one.default if one.default_factory is dataclasses.MISSING else {}
    for name, one in ((name, Case.__dataclass_fields__[name]) for name in CASE_FIELDS)
}
_HASHED: Final = {name: one for name, one in _DEFAULTS.items() if name not in _NOT_HASHED}
_PART_DEFAULTS: Final[Mapping[type, Mapping[str, Any]]] = {
    part: {one.name: one.default for one in dataclasses.fields(part)}
    for part in (Anchor, AnswerRule, KeyFact, Message, Turn)
}
_LINE: Final = ObjectLine[Case](type=Case, shape="one JSON object on this line", meant=MEANT)


def _content(value: object, defaults: Mapping[str, Any]) -> dict[str, Any]:
    content = {}
    for name, default in defaults.items():
        item = getattr(value, name)
        if item is default or item == default:
            continue
        content[name] = _parts(item) if isinstance(item, tuple) else item
    return content


def _parts(items: Iterable[Any]) -> list[Any]:
    return [
        _content(part, _PART_DEFAULTS[type(part)]) if type(part) in _PART_DEFAULTS else part
        for part in items
    ]


def case_fields(case: Case) -> dict[str, Any]:
    """Return the fields of a case that hold another value than their default, as JSON values."""
    return _content(case, _DEFAULTS)


# --- one case ------------------------------------------------------------------------------


def parse_case(data: Mapping[str, Any]) -> Case:
    """Check one case and return it as a value.

    Raises:
        DatasetError: with every fault of the case.
    """
    try:
        text = json.dumps(dict(data), default=_of_numpy)
    except (TypeError, ValueError, RecursionError) as error:
        facts = {"reason": str(error)}
        raise faults_error([Fault(code="not_json_value", facts=facts)]) from error
    case, faults = _LINE.read(Line(0, 0, text, b""), _rule_faults)
    if case is None:
        raise faults_error(faults)
    return case


def _of_numpy(value: object) -> object:
    if (found := plain(value)) is value:
        raise TypeError(f"got {shown(value)}")
    return found


def case_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of one line of a case file, for editors and other tools.

    Rules that a schema cannot express, such as unique ids and indices in range, are checked by
    ``load_cases`` alone.
    """
    schema = adapter(Case).json_schema()
    schema["$defs"]["AnswerRule"]["oneOf"] = [{"required": [kind]} for kind in RULE_KINDS]
    schema["$defs"]["Turn"]["required"] = ["question"]
    for asked in (schema, schema["$defs"]["Turn"]):
        del asked["properties"]["question"]["default"]
    schema["oneOf"] = [{"required": [name]} for name in ("question", "turns")]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _rule_faults(
    number: int, value: Mapping[str, Any], faulty: Collection[int | str]
) -> Iterator[Fault]:
    """Yield the faults of a line by its rules, as far as its valid fields show."""
    if faulty := {*faulty}:
        if "gold_supports" in faulty:  # its indices cannot be judged
            faulty.add("required_support_groups")
        sound = {name: item for name, item in value.items() if name not in faulty}
        asked = {} if faulty.isdisjoint(("question", "turns")) else {"question": "-"}
        value = {"id": "-", **asked, **sound}
    return find_faults(value)


# --- one file ------------------------------------------------------------------------------


class CaseReader:
    """Reads a case file case by case, with one line in memory at a time.

    Args:
        path: a JSONL file in UTF-8; a BOM, CRLF and blank lines are fine.
        display: the path as shown in messages and stored; ``path`` itself by default.
        sent: fields that are hashed because the settings send them.
        places: of the lines to read; None: every line.
    """

    def __init__(
        self,
        path: Path,
        *,
        display: str | None = None,
        sent: frozenset[str] = frozenset(),
        places: Sequence[Place] | None = None,
    ) -> None:
        self.path = path
        self._sent = sent
        self._places = places
        self.display = path.as_posix() if display is None else display
        self.faults: list[Fault] = []
        """Faults found so far, in any order."""
        self._first_line: dict[str, int] = {}
        self.concerned: dict[str, Concerned] = {}
        """The cases that warnings are about so far, by kind of warning."""

    def __iter__(self) -> Iterator[LocatedCase]:
        """Yield every case of ``lines``, and of a conversation each turn."""
        for number, case in self.lines():
            for one in case.expanded():
                yield LocatedCase(case=one, lineno=number, sent=self._sent)

    def lines(self) -> Iterator[tuple[int, Case]]:
        """Yield number and case of every valid line; ``faults`` is complete at the file's end.

        Raises:
            DatasetError: the file cannot be read.
        """
        try:
            with open_lines(self.path, self.display) as file:
                for line in iterate_lines(file, self.display, self.faults, self._places):
                    case = self._read(line)
                    if case is not None:
                        yield line.number, case
                if self.faults and self._places is None:
                    file.seek(0)
                    self.faults = one_for_values(file.read(), self.faults)
        except OSError as error:
            raise cannot_be_read(self.display, error) from error

    def raise_faults(self) -> None:
        """Raise a `DatasetError` with every fault found, if there is one."""
        if self.faults:
            raise faults_error(sorted(self.faults, key=lambda fault: fault.line))

    @property
    def warnings(self) -> tuple[str, ...]:
        """One line per kind of warning, for any number of cases."""
        return case_warnings(self.display, self.concerned)

    def _read(self, line: Line) -> Case | None:
        case, found = _LINE.read(line, self._rules)
        self.faults += [dataclasses.replace(fault, file=self.display) for fault in found]
        if case is None:
            return None
        for one in case.expanded():
            for kind in find_warnings(one):
                self.concerned.setdefault(kind, Concerned()).add(line.number, one.id)
        return case

    def _rules(
        self, number: int, value: Mapping[str, Any], faulty: Collection[int | str]
    ) -> Iterator[Fault]:
        yield from _rule_faults(number, value, faulty)
        yield from repeated_id(value, number, self._first_line)
        turns = value.get("turns")
        for turn in range(len(turns) if isinstance(turns, list) else 0):
            name = {"id": turn_id(str(value.get("id")), turn + 1)}
            yield from repeated_id(name, number, self._first_line)


@dataclass(slots=True, kw_only=True)
class Concerned:
    """The cases of a warning: the first few by name, the rest by number."""

    shown: list[tuple[int, str]] = field(default_factory=list)
    """Line and id, by line."""
    n: int = 0

    def add(self, lineno: int, case_id: str) -> None:
        """Take a case, in the order of the file."""
        self.n += 1
        if len(self.shown) < _SHOWN_IDS:
            self.shown.append((lineno, case_id))

    def extend(self, other: Concerned) -> None:
        """Take the cases of another part of the file."""
        self.n += other.n
        self.shown = sorted([*self.shown, *other.shown])[:_SHOWN_IDS]

    def __str__(self) -> str:
        more = part(" and {} more", self.n - len(self.shown))
        return ", ".join(name for _, name in self.shown) + more


def case_warnings(display: str, concerned: Mapping[str, Concerned]) -> tuple[str, ...]:
    """Return one line per kind of warning, by the first line that it is about."""
    found = sorted(concerned.items(), key=lambda one: one[1].shown[0][0])
    return tuple(
        f"{display}:{cases.shown[0][0]}: {CASE_WARNINGS[kind]}: {cases}" for kind, cases in found
    )


def load_cases(
    path: Path, *, display: str | None = None, sent: frozenset[str] = frozenset()
) -> LoadedSet:
    """Read a whole case file; the arguments are those of `CaseReader`.

    Raises:
        DatasetError: with every fault of the file, one a line as
            ``file:line: field: what came, what was expected``.
    """
    reader = CaseReader(path, display=display, sent=sent)
    cases = tuple(reader)
    reader.raise_faults()
    return LoadedSet(path=path, display=reader.display, cases=cases, warnings=reader.warnings)


def read_set(
    path: Path, rootdir: Path, sent: frozenset[str] = frozenset()
) -> LoadedSet | DatasetError:
    """Load a case file; faults are returned, not raised, because they are shown later."""
    file = shown_below(path, rootdir)
    try:
        with without_gc():
            return load_cases(path, display=file, sent=sent)
    except DatasetError as error:
        return error


_OF_ANSWERS: Final = frozenset({"answer", "response", "label", "retrieved_chunks", "contexts"})
"""Keys that files of answers, labels and results have besides a question."""
_OF_CASES: Final = frozenset({"question", "turns", "gold_supports", "answerable"})
_LOOKED_AT: Final = 100


def other_file_note(path: Path, display: str) -> str | None:
    """Describe a file that holds no cases, such as one of answers; None: it may be a case file.

    It is a JSON Lines file whose first hundred lines have keys of other files, not of cases.
    """
    keys: tuple[str, ...] = ()
    try:
        with open_lines(path, display) as file:
            for line in islice(iterate_lines(file, display, []), _LOOKED_AT):
                value = json_object(line.text)
                known = _OF_ANSWERS.isdisjoint(value) and not _OF_CASES.isdisjoint(value)
                # A case may bring its response; an id and a response alone are an answer.
                others = value.keys() - {"response"}
                lone = "response" in value and others == {"id"}
                if known or (others and others <= ALIASES.keys() and not lone):
                    return None
                keys = keys or tuple(value)
    except DatasetError:
        return None
    if not keys:
        return None
    named = ", ".join(clean(key, 30) for key in keys[:5])
    left = f"{display} is not a case file (its lines hold {named}), so it was left alone"
    return f"{left}; `rageval check {display}` says why"


def other_file_notes(settings: Settings) -> list[str]:
    """Return the ``other_file_note`` of each file below the test paths that has one."""
    root = Path(settings.rootdir)
    notes = (other_file_note(path, shown_below(path, root)) for path in project_files(settings))
    return [note for note in notes if note]


def json_object(text: str) -> Mapping[str, Any]:
    """Return the object that a text is in JSON; empty if it is no object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
