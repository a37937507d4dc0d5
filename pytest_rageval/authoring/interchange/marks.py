"""Names of fields by which a file of one tool is told from that of another. Pure.

Readers take many names for a question, so a file of another tool would become cases that hold
its questions and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from pytest_rageval.authoring.interchange.values import SourceFile, fault
from pytest_rageval.project.field_names import ALIASES, MEANT
from pytest_rageval.values.json_documents import items, part

_MARKS: Final[Mapping[str, frozenset[str]]] = {
    "promptfoo": frozenset({"__expected", "__description"}),
    "ragas": frozenset(
        {"user_input", "retrieved_contexts", "reference_contexts", "ground_truth", "ground_truths",
         "evolution_type", "synthesizer_name", "contexts"}
    ),
    "deepeval": frozenset(
        {"actual_output", "expected_output", "retrieval_context", "expected_tools"}
    ),
    "squad": frozenset({"qas", "answer_start"}),
    "beir": frozenset({"_id", "title", "text"}),
    "csv": frozenset(
        {"answerable", "expected_key_facts", "gold", "golds", "gold_supports", "heading_path",
         "irrelevant_supports", "key_facts", "rel_path", "required_support_groups"}
    ),
}  # fmt: skip
"""By importer: fields of its files. One of them is enough, of a corpus of BEIR all are needed."""
_HEADERS: Final = frozenset(MEANT).union(*_MARKS.values())


def refuse_others(
    file: SourceFile, names: Collection[str], others: Iterable[str], *, place: str = ""
) -> None:
    """Refuse a row or header of another tool.

    Args:
        file: for the message.
        names: of the fields of the row.
        others: importers whose files are refused.
        place: of the row, with a colon; empty for a header.

    Raises:
        DatasetError: it has fields of one of them.
    """
    first = part(next(iter(items(names, "paragraphs")), None))
    for tool in others:
        # SQuAD marks what is inside a row.
        found = sorted(_MARKS[tool].intersection([*names, *first, *part(names, "answers")]))
        if len(found) < (len(_MARKS[tool]) if tool == "beir" else 1):
            continue
        what = "a document of a BEIR corpus" if tool == "beir" else "not a row of this format"
        ours = tool == "csv" and not file.name.lower().endswith((".csv", ".tsv"))
        command = "yaml or json" if ours else tool
        fields = ", ".join(found)
        raise fault(
            file.name, "other_format", place=place, what=what, fields=fields, command=command
        )


def is_header(cells: Iterable[str]) -> bool:
    """Whether a row of a table holds nothing but names of fields, a question's among them."""
    words = (cell.strip().lower().replace(" ", "_") for cell in cells if cell.strip())
    names = {word.rstrip("0123456789") for word in words}
    return names <= _HEADERS and not names.isdisjoint(ALIASES["question"])
