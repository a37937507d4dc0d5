"""The fields of one line of a case file: types, limits and descriptions, in one place.

The pydantic models here validate a line and make its JSON Schema; what comes out of them is
turned into the plain ``models.Case`` at once, whose defaults are the ones that hold (a test
keeps both equal). Imported only where case files are read.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from pytest_rageval.models import Difficulty, RecencyRule

ID_PATTERN: Final = r"^[A-Za-z0-9._/-]+$"
LABEL_PATTERN: Final = r"^:?([^\s\[\]:\x00-\x1f\x7f]:?)+$"
"""No space, bracket or control character and no ``::``, so that a label can stand in a pytest
node id and after ``-k``. Written without look-around, which pydantic's regex engine lacks."""
NOT_BLANK_PATTERN: Final = r"\S"
MAX_INTEGER: Final = 2**53
"""The largest integer that every JSON reader keeps exactly (RFC 8259, section 6)."""

Label = Annotated[StrictStr, Field(pattern=LABEL_PATTERN)]
NotBlank = Annotated[StrictStr, Field(pattern=NOT_BLANK_PATTERN)]
Count = Annotated[StrictInt, Field(ge=1, le=MAX_INTEGER)]
Index = Annotated[StrictInt, Field(ge=0, le=MAX_INTEGER)]


class AnchorLine(BaseModel):
    """A place in the documents: a whole document, or one of its sections."""

    model_config = ConfigDict(extra="forbid", title="Anchor")

    rel_path: NotBlank = Field(description="Path of the document below its vault, '/'-separated.")
    heading_path: StrictStr = Field(
        "", description="'# Title > ## Section'; empty means the whole document."
    )
    snippets: list[NotBlank] = Field(
        [], description="Sentences that the section holds word for word."
    )
    grade: Count = Field(1, description="Relevance grade, used by nDCG.")
    vault: StrictStr | None = Field(
        None, description="Compared only where the target reports a vault."
    )


class CaseLine(BaseModel):
    """One question with what is known about its right answer."""

    model_config = ConfigDict(extra="forbid", title="pytest-rageval case")

    id: Annotated[StrictStr, Field(pattern=ID_PATTERN)] = Field(
        description="Unique in the file; the pytest node is <file>::<id>. No '.' or '..' segment."
    )
    question: NotBlank = Field(description="The question that is asked.")
    answerable: StrictBool = Field(
        True,
        description="false: the documents hold no answer and the right behaviour is to abstain.",
    )
    expected_key_facts: list[StrictStr] = Field(
        [], description="What a correct answer contains, one fact each."
    )
    expected_answer: StrictStr | None = Field(None, description="Reference answer for the judge.")
    gold_supports: list[AnchorLine] = Field(
        [], description="Where the evidence stands: anchors, never chunk ids."
    )
    irrelevant_supports: list[AnchorLine] = Field(
        [], description="Evidence that must not be retrieved."
    )
    required_support_groups: (
        Annotated[list[Annotated[list[Index], Field(min_length=1)]], Field(min_length=1)] | None
    ) = Field(
        None,
        description="Indices into gold_supports: any one of the groups is enough, all of its golds "
        "are needed.",
    )
    recency_conflict_rule: RecencyRule | None = Field(
        None, description="What to do with sources that disagree; gold_supports[0] is the newer."
    )
    category: Label = Field("general", description="Any name without spaces, '[', ']' or '::'.")
    difficulty: Difficulty | None = Field(None, description="For breakdowns and selection.")
    tags: list[Label] = Field([], description="Names without spaces, '[', ']' or '::'.")
    vaults: list[StrictStr] = Field([], description="Sent with the question.")
    folders: list[StrictStr] = Field([], description="Sent with the question.")
    k: Count | None = Field(None, description="Cutoff of this case; the run's when null.")
    language: StrictStr | None = Field(None, description="For cross-lingual consistency.")
    translation_of: StrictStr | None = Field(
        None, description="Id of the case of which this one is a translation."
    )
    required: StrictBool = Field(
        False, description="A miss of this case fails the run whatever the gates say."
    )
    notes: StrictStr = Field("", description="Free text; changes nothing.")
    metadata: dict[StrictStr, Any] = Field({}, description="Free values; change nothing.")


EXPECTED: Final = {
    "id": "one or more of A-Z a-z 0-9 . _ / - without a '.' or '..' segment",
    "question": "a string that is not blank",
    "answerable": "true or false",
    "expected_key_facts": "a list of strings",
    "expected_key_facts[]": "a string",
    "expected_answer": "a string or null",
    "gold_supports": "a list of anchors",
    "gold_supports[]": 'an anchor such as {"rel_path": "a.md", "heading_path": "# A"}',
    "irrelevant_supports": "a list of anchors",
    "irrelevant_supports[]": 'an anchor such as {"rel_path": "a.md", "heading_path": "# A"}',
    "required_support_groups": "null or a list of one or more groups such as [[0, 1], [2]]",
    "required_support_groups[]": "a list of one or more indices into gold_supports",
    "required_support_groups[][]": "an index into gold_supports",
    "recency_conflict_rule": "cite_newer, acknowledge_both, cite_both or null",
    "category": "a name without spaces, '[', ']' or '::'",
    "difficulty": "easy, medium, hard or null",
    "tags": "a list of strings",
    "tags[]": "a name without spaces, '[', ']' or '::'",
    "vaults": "a list of strings",
    "vaults[]": "a string",
    "folders": "a list of strings",
    "folders[]": "a string",
    "k": "null or an integer of at least 1",
    "language": "a string or null",
    "translation_of": "a string or null",
    "required": "true or false",
    "notes": "a string",
    "metadata": "an object",
    "rel_path": "a path that is not empty",
    "heading_path": "a string",
    "snippets": "a list of strings",
    "snippets[]": "a string that is not blank",
    "grade": "an integer of at least 1",
    "vault": "a string or null",
}
"""What each field takes, in words, for the second half of a fault's message. An anchor's fields
stand under their own names; none of them is also a field of a case."""


def case_json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of one line of a case file, for editors and other tools.

    It holds what a schema can say; uniqueness of ids, indices in range and the like are checked
    by ``load_cases`` alone.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **CaseLine.model_json_schema(),
    }
