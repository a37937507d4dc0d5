"""The fields of one line of a case file: types, limits and descriptions, in one place.

The typed dictionaries here validate a line and make its JSON Schema; ``dataset`` turns what comes
out of them into the plain ``models.Case``, which alone knows the defaults. Imported only where
case files are read.
"""

from __future__ import annotations

import sys
from dataclasses import MISSING, fields
from typing import Annotated, Any, Final, Required

from pydantic import ConfigDict, Field, StrictBool, StrictInt, StrictStr, TypeAdapter, with_config

from pytest_rageval.values.case import Anchor, Case, Difficulty, RecencyRule, Review

if sys.version_info >= (3, 12):
    from typing import TypedDict
else:  # pydantic, which brings it, needs this one for the introspection that 3.11 lacks
    from typing_extensions import TypedDict

_HIDDEN: Final = r"\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff"
LABEL_PATTERN: Final = rf"^:?([^\s\[\]:{_HIDDEN}]:?)+$"
"""No space, bracket, control or bidi character and no ``::``, so that a label can stand in a
pytest node id and after ``-k``. Written without look-around, which pydantic's regex engine
lacks."""
ID_PATTERN: Final = LABEL_PATTERN
"""Ids in the wild hold ``#``, ``(`` and letters of every script; refused is only what would break
a node id."""
NOT_BLANK_PATTERN: Final = r"\S"
MAX_INTEGER: Final = 2**53
"""The largest integer that every JSON reader keeps exactly (RFC 8259, section 6)."""

# A text among the annotations says what a field takes where its types do not.
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
    grade: Annotated[Count, Field(description="Relevance grade, used by nDCG.")]
    vault: Annotated[
        StrictStr | None, Field(description="Compared only where the target reports a vault.")
    ]


AnAnchor = Annotated[AnchorLine, 'an anchor such as {"rel_path": "a.md", "heading_path": "# A"}']
Group = Annotated[
    list[Index],
    Field(min_length=1),
    "a list of one or more indices into gold_supports",
]


@with_config(ConfigDict(extra="forbid", title="pytest-rageval case"))
class CaseLine(TypedDict, total=False):
    """One question with what is known about its right answer."""

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
        list[StrictStr], Field(description="What a correct answer contains, one fact each.")
    ]
    expected_answer: Annotated[
        StrictStr | None, Field(description="Reference answer for the judge.")
    ]
    gold_supports: Annotated[
        list[AnAnchor],
        Field(description="Where the evidence is: anchors, never chunk ids."),
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
        Field(description="What to do with sources that disagree; gold_supports[0] is the newer."),
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
            description="generated: made by a program and not looked at yet; the case is asked "
            "and shown, and no figure and no gate counts it."
        ),
    ]
    notes: Annotated[StrictStr, Field(description="Free text; changes nothing.")]
    metadata: Annotated[dict[StrictStr, Any], Field(description="Free values; change nothing.")]


CASE_LINE: Final = TypeAdapter(CaseLine)
"""Validates the value of one line; the result holds only the fields that were given."""


def case_json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of one line of a case file, for editors and other tools.

    It holds what a schema can say; uniqueness of ids, indices in range and the like are checked
    by ``load_cases`` alone.
    """
    schema = CASE_LINE.json_schema()
    _add_defaults(schema["properties"], Case)
    _add_defaults(schema["$defs"]["AnchorLine"]["properties"], Anchor)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _add_defaults(properties: dict[str, Any], kind: type[Case | Anchor]) -> None:
    for one in fields(kind):
        if one.default is not MISSING:
            default = list(one.default) if isinstance(one.default, tuple) else one.default
            properties[one.name]["default"] = default
        elif one.default_factory is not MISSING:
            properties[one.name]["default"] = one.default_factory()
