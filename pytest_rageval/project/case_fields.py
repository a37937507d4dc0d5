"""Fields of a case line: types, limits, descriptions and the rules between them.

The typed dictionaries validate a line and make its JSON Schema; ``case_reader`` turns what they
accept into a ``Case``, which alone knows the defaults. docs/cases.md explains the fields. Imported
only where case files are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields
from itertools import permutations
from typing import TYPE_CHECKING, Annotated, Any, Final, Required

from pydantic import ConfigDict, Field, StrictBool, StrictInt, StrictStr, TypeAdapter, with_config
from typing_extensions import TypedDict

from pytest_rageval.metrics.matching import norm_heading, norm_path, norm_text
from pytest_rageval.support.patterns import PatternError, compile_pattern
from pytest_rageval.values.case import (
    RULE_KINDS,
    Anchor,
    AnswerRule,
    Case,
    Difficulty,
    RecencyRule,
    Review,
)

if TYPE_CHECKING:
    from pytest_rageval.support.json_text import Loc

_HIDDEN: Final = r"\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff"
LABEL_PATTERN: Final = rf"^:?([^\s\[\]:{_HIDDEN}]:?)+$"
"""No space, bracket, control or bidi character and no ``::``, so that a label can be part of a
pytest node id and be given to ``-k``. Written without look-around, which pydantic's regex engine
lacks."""
ID_PATTERN: Final = LABEL_PATTERN
"""Ids of existing data sets hold ``#``, ``(`` and letters of every script; only characters that
would break a node id are refused."""
NOT_BLANK_PATTERN: Final = r"\S"
MAX_INTEGER: Final = 2**53
"""The largest integer that every JSON reader keeps exactly (RFC 8259, section 6)."""

# A text among the annotations describes the values of a field where its types do not.
Label = Annotated[
    StrictStr,
    Field(pattern=LABEL_PATTERN),
    "a name without spaces, '[', ']' or '::'",
]
NotBlank = Annotated[StrictStr, Field(pattern=NOT_BLANK_PATTERN), "a string that is not blank"]
Count = Annotated[StrictInt, Field(ge=1, le=MAX_INTEGER), "an integer of at least 1"]
Index = Annotated[StrictInt, Field(ge=0, le=MAX_INTEGER), "an index into gold_supports"]


@with_config(ConfigDict(extra="forbid", title="Anchor"))
class AnchorLine(TypedDict, total=False):
    """A place in the documents: a whole document, or one of its sections."""

    rel_path: Required[
        Annotated[
            NotBlank,
            Field(description="Path of the document below its vault."),
            "a path that is not empty",
        ]
    ]
    heading_path: Annotated[
        StrictStr, Field(description="'# Title > ## Section'; empty means the whole document.")
    ]
    snippets: Annotated[
        list[NotBlank], Field(description="Sentences that the section holds word for word.")
    ]
    pages: Annotated[
        list[Count],
        Field(description="Pages of the document, from 1, for chunks without heading and text."),
        "a list of page numbers from 1",
    ]
    grade: Annotated[Count, Field(description="Relevance grade, used by nDCG.")]
    vault: Annotated[
        StrictStr | None, Field(description="Compared only where the target reports a vault.")
    ]


@with_config(ConfigDict(extra="forbid", title="Answer rule"))
class RuleLine(TypedDict, total=False):
    """A rule on the text of the answer: one of contains, not_contains and matches."""

    contains: Annotated[NotBlank, Field(description="Text that the answer must hold.")]
    not_contains: Annotated[NotBlank, Field(description="Text that the answer must not hold.")]
    matches: Annotated[
        NotBlank,
        Field(
            description="Regular expression that occurs in the answer, without look-around and "
            "back-references."
        ),
    ]
    ignore_case: Annotated[
        StrictBool | None, Field(description="By default yes, but no for matches.")
    ]
    ignore_whitespace: Annotated[
        StrictBool | None,
        Field(description="A run of whitespace is a blank; by default yes, but no for matches."),
    ]


ARule = Annotated[RuleLine, 'a rule such as {"contains": "30 days"}']
AnAnchor = Annotated[AnchorLine, 'an anchor such as {"rel_path": "a.md", "heading_path": "# A"}']
Group = Annotated[
    list[Index],
    Field(min_length=1),
    "a list of one or more indices into gold_supports",
]


@with_config(ConfigDict(extra="forbid", title="pytest-rageval case"))
class CaseLine(TypedDict, total=False):
    """One question with its expected answer and evidence."""

    id: Required[
        Annotated[
            StrictStr,
            Field(
                pattern=ID_PATTERN,
                description="Unique in the file; the pytest node is <file>::<id>. "
                "No '.' or '..' between slashes.",
            ),
            "a name without spaces, '[', ']', '::', or a '.' or '..' between slashes",
        ]
    ]
    question: Required[Annotated[NotBlank, Field(description="The question that is asked.")]]
    answerable: Annotated[
        StrictBool,
        Field(description="false: the documents hold no answer; the right thing is to abstain."),
    ]
    expected_key_facts: Annotated[
        list[StrictStr], Field(description="Facts that a correct answer contains, one each.")
    ]
    expected_answer: Annotated[
        StrictStr | None, Field(description="Reference answer for the judge.")
    ]
    answer_rules: Annotated[
        list[ARule],
        Field(description="Rules on the text of the answer, which keeps all of them."),
        "a list of rules",
    ]
    gold_supports: Annotated[
        list[AnAnchor],
        Field(description="Places of the evidence: anchors, never chunk ids."),
        "a list of anchors",
    ]
    irrelevant_supports: Annotated[
        list[AnAnchor],
        Field(description="Evidence that must not be retrieved."),
        "a list of anchors",
    ]
    required_support_groups: Annotated[
        Annotated[list[Group], Field(min_length=1)] | None,
        Field(
            description="Indices into gold_supports: one of the groups is enough, and all golds "
            "of that group are needed."
        ),
        "null or a list of one or more groups such as [[0, 1], [2]]",
    ]
    recency_conflict_rule: Annotated[
        RecencyRule | None,
        Field(description="Rule for sources that disagree; gold_supports[0] is the newer."),
    ]
    category: Annotated[Label, Field(description="Any name without spaces, '[', ']' or '::'.")]
    difficulty: Annotated[Difficulty | None, Field(description="For breakdowns and selection.")]
    tags: Annotated[list[Label], Field(description="Names without spaces, '[', ']' or '::'.")]
    vaults: Annotated[list[StrictStr], Field(description="Sent with the question.")]
    folders: Annotated[list[StrictStr], Field(description="Sent with the question.")]
    k: Annotated[
        Count | None,
        Field(description="Cutoff of this case; the run's when null."),
        "null or an integer of at least 1",
    ]
    language: Annotated[StrictStr | None, Field(description="For cross-lingual consistency.")]
    translation_of: Annotated[
        StrictStr | None, Field(description="Id of the case that this one is a translation of.")
    ]
    required: Annotated[
        StrictBool, Field(description="A miss fails the run whatever the gates say.")
    ]
    review: Annotated[
        Review,
        Field(
            description="generated: made by a program and not reviewed by a person; the case is "
            "asked and shown, but not counted by figures and gates."
        ),
    ]
    notes: Annotated[StrictStr, Field(description="Free text; changes nothing.")]
    metadata: Annotated[
        dict[StrictStr, Any],
        Field(
            description="Free values; they change nothing unless the settings send them to the "
            "target as case.metadata."
        ),
    ]


CASE_LINE: Final = TypeAdapter(CaseLine)
"""Validates the value of one line; the result holds only the fields that were given."""


def case_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of one line of a case file, for editors and other tools.

    Rules that a schema cannot express, such as unique ids and indices in range, are checked by
    ``load_cases`` alone.
    """
    schema = CASE_LINE.json_schema()
    _add_defaults(schema["properties"], Case)
    _add_defaults(schema["$defs"]["AnchorLine"]["properties"], Anchor)
    _add_defaults(schema["$defs"]["RuleLine"]["properties"], AnswerRule)
    for kind in RULE_KINDS:
        del schema["$defs"]["RuleLine"]["properties"][kind]["default"]
    schema["$defs"]["RuleLine"]["oneOf"] = [{"required": [kind]} for kind in RULE_KINDS]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _add_defaults(properties: dict[str, Any], kind: type[Case | Anchor | AnswerRule]) -> None:
    for one in fields(kind):
        if one.default is not MISSING:
            default = list(one.default) if isinstance(one.default, tuple) else one.default
            properties[one.name]["default"] = default
        elif one.default_factory is not MISSING:
            properties[one.name]["default"] = one.default_factory()


CASE_WARNINGS: Final = {
    "blank_fact": "expected_key_facts: a blank one says nothing about the answer",
    "no_golds": "gold_supports: none though answerable, so retrieval is not scored",
    "nested_golds": "gold_supports: one gold lies within another, so one chunk can match both",
    "recency_rule": "recency_conflict_rule: fewer than two gold_supports, so it is not scored",
}
"""Kind of a warning and its text; the ids of the cases follow."""

_DOTS: Final = frozenset({".", ".."})
_NO_PAGES: Final = frozenset[int]()
_Identity = tuple[str, tuple[str, ...], frozenset[str], frozenset[int], str | None]


def find_faults(line: CaseLine) -> Iterator[tuple[Loc, str]]:
    """Yield the place and the message of each rule that a line breaks."""
    if not _DOTS.isdisjoint(line["id"].split("/")):
        yield ("id",), f"{line['id']!r}, expected an id without a '.' or '..' segment"
    golds = line.get("gold_supports", [])
    irrelevant = line.get("irrelevant_supports", [])
    if golds and not line.get("answerable", True):
        message = f"{len(golds)} of them though answerable is false, expected none"
        yield ("gold_supports",), message
    yield from _path_faults("gold_supports", golds)
    yield from _path_faults("irrelevant_supports", irrelevant)
    yield from _answer_rule_faults(line.get("answer_rules", []))
    yield from _group_faults(line.get("required_support_groups") or [], len(golds))
    if len(golds) + len(irrelevant) > 1:
        yield from _equal_anchors(golds, irrelevant)


def _path_faults(kind: str, anchors: Sequence[AnchorLine]) -> Iterator[tuple[Loc, str]]:
    for index, anchor in enumerate(anchors):
        if not norm_path(anchor["rel_path"]):
            yield (kind, index, "rel_path"), f"{anchor['rel_path']!r}, expected a file's path"


def _answer_rule_faults(rules: Sequence[RuleLine]) -> Iterator[tuple[Loc, str]]:
    for index, rule in enumerate(rules):
        kinds = [kind for kind in RULE_KINDS if kind in rule]
        if len(kinds) != 1:
            came = " and ".join(kinds) or "no rule"
            yield ("answer_rules", index), f"{came}, expected one of {', '.join(RULE_KINDS)}"
        elif "matches" in rule:
            try:
                compile_pattern(rule["matches"], ignore_case=bool(rule.get("ignore_case")))
            except PatternError as error:
                place = ("answer_rules", index, "matches")
                yield place, f"{error} (no look-around, no back-references)"


def _group_faults(groups: Sequence[Sequence[int]], n_golds: int) -> Iterator[tuple[Loc, str]]:
    for i, group in enumerate(groups):
        for j, index in enumerate(group):
            if index >= n_golds:
                loc = ("required_support_groups", i, j)
                yield loc, f"{index}, expected the index of one of the {n_golds} gold_supports"


def _equal_anchors(
    golds: Sequence[AnchorLine], irrelevant: Sequence[AnchorLine]
) -> Iterator[tuple[Loc, str]]:
    first: dict[_Identity, int] = {}
    for index, anchor in enumerate(golds):
        same = first.setdefault(_identity(anchor), index)
        if same != index:
            parts = "heading, snippets and pages" if anchor.get("pages") else "heading and snippets"
            message = f"the same path, {parts} as [{same}], expected another anchor"
            yield ("gold_supports", index), message
    for index, anchor in enumerate(irrelevant):
        gold = first.get(_identity(anchor))
        if gold is not None:
            message = f"equal to gold_supports[{gold}], expected evidence that is not gold"
            yield ("irrelevant_supports", index), message


def _identity(anchor: AnchorLine) -> _Identity:
    return (
        norm_path(anchor["rel_path"]),
        tuple(norm_heading(anchor.get("heading_path")) or ()),
        frozenset(map(norm_text, anchor.get("snippets", ()))),
        frozenset(anchor["pages"]) if "pages" in anchor else _NO_PAGES,
        anchor.get("vault"),
    )


def find_warnings(case: Case) -> Iterator[str]:
    """Yield the kind (a key of ``CASE_WARNINGS``) of each warning about a case."""
    golds = case.gold_supports
    if not all(map(str.strip, case.expected_key_facts)):
        yield "blank_fact"
    if case.answerable and not golds:
        yield "no_golds"
    if case.recency_conflict_rule and len(golds) < 2:
        yield "recency_rule"
    if any(_holds(outer, inner) for outer, inner in permutations(golds, 2)):
        yield "nested_golds"


def _holds(outer: Anchor, inner: Anchor) -> bool:
    if norm_path(outer.rel_path) != norm_path(inner.rel_path):
        return False
    if outer.vault is not None and inner.vault is not None and outer.vault != inner.vault:
        return False
    if outer.pages and not set(inner.pages) <= set(outer.pages):
        return False
    prefix = tuple(norm_heading(outer.heading_path) or ())
    return tuple(norm_heading(inner.heading_path) or ())[: len(prefix)] == prefix
