"""Fields of a case line: types, limits and descriptions.

The typed dictionaries describe the faults of a line and make its JSON Schema; ``Case`` alone knows
the defaults. docs/cases.md explains the fields. Imported only for faults and schemas, since
pydantic is slow to import.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Annotated, Any, Final, Required

from pydantic import ConfigDict, Field, StrictBool, StrictInt, StrictStr, TypeAdapter, with_config
from typing_extensions import TypedDict

from pytest_rageval.project.case_rules import ID_PATTERN, LABEL_PATTERN, MAX_INTEGER
from pytest_rageval.values.case import (
    RULE_KINDS,
    Anchor,
    AnswerRule,
    Case,
    Difficulty,
    RecencyRule,
    Review,
)

NOT_BLANK_PATTERN: Final = r"\S"
# A text among the annotations describes the values of a field where its types do not.
Label = Annotated[
    StrictStr,
    Field(pattern=LABEL_PATTERN),
    "a string without spaces, '[', ']' or '::'",
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
            "a string without spaces, '[', ']', '::', or a '.' or '..' between slashes",
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
