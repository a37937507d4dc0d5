"""A file of one tool is never read as that of another, whole, cut at any line or joined."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import DatasetError
from tests.authoring.interchange.sources import SAMPLES, cases_of, read_texts

FILES = {
    **{path.relative_to(SAMPLES).as_posix(): path for path in SAMPLES.rglob("*.*")},
    "eval_set.jsonl": Path(__file__).resolve().parents[3] / "evals" / "eval_set.jsonl",
}
OF_CASES = (
    "beir/queries.jsonl", "eval_set.jsonl", "ragas-0.2.jsonl", "suite.json", "suite.yaml",
)  # fmt: skip
READ = {
    "beir": (),
    "csv": ("cases.csv", "deepeval-goldens.csv", "ragas-printed.csv"),
    "deepeval": ("deepeval-goldens.csv", "deepeval-goldens.json"),
    "json": OF_CASES,
    "promptfoo": ("more-tests.csv", "promptfoo-chats.yaml"),
    "ragas": ("ragas-0.1.csv", "ragas-0.2.jsonl", "ragas-printed.csv"),
    "squad": ("squad-2.0.json",),
    "trec": ("topics.tsv", "topics.sgml.txt", "demo.run"),
    "unrag": ("unrag-dataset.json", "unrag-report.json"),
    "yaml": OF_CASES,
}
"""By importer: samples that have cases or responses for it, each of them meant."""


def text_of(name: str) -> str:
    return FILES[name].read_text(encoding="utf-8-sig")


@pytest.mark.parametrize("name", READ)
def test_only_what_an_importer_is_for_is_read(name: str) -> None:
    read = []
    for file in sorted(FILES):
        try:
            found = read_texts(name, {file: text_of(file)})
        except DatasetError:
            continue
        if found.cases or found.responses:
            read.append(file)
    assert read == sorted(READ[name])


def damaged(file: str) -> Iterator[str]:
    """Yield a file cut at every seventh line, and joined with every second sample."""
    lines = text_of(file).splitlines(keepends=True)
    for at in range(1, min(len(lines), 40), 7):
        yield "".join(lines[at:])
        yield "".join(lines[:at])
    for other in sorted(FILES)[::2]:
        if other != file:
            yield "".join([*lines, "\n", text_of(other)])


def samples() -> list[str]:
    return [name for name in sorted(FILES) if Path(name).suffix != ".json"]


@pytest.mark.parametrize("name", READ)
def test_no_row_of_a_damaged_or_joined_file_becomes_a_question(name: str) -> None:
    odd = set()
    for file in samples():
        for text in damaged(file):
            try:
                found = cases_of(read_texts(name, {file: text}))
            except DatasetError:
                continue
            odd |= {(file, one.question) for one in found if not is_question(asked(one))}
    assert odd == set()


def asked(case: Case) -> str:
    return case.turns[0].question if case.turns else case.question


def is_question(text: str) -> bool:
    return "?" in text or text.startswith(("Who won", "Name", "List", "How", "What", "When"))


@pytest.mark.parametrize(
    ("name", "file", "message"),
    [
        ("promptfoo", "cases.csv", "`rageval import csv` reads such files"),
        ("promptfoo", "ragas-0.1.csv", "it has contexts, evolution_type, ground_truth"),
        ("ragas", "suite.yaml", "row 1: not a row of this format: it has gold"),
        ("ragas", "eval_set.jsonl", "`rageval import yaml or json` reads such files"),
        ("csv", "more-tests.csv", "it has __description, __expected; `rageval import promptfoo`"),
        ("json", "squad-2.0.json", "case 1: not a row of this format: it has qas"),
        ("json", "beir/corpus.jsonl", "case 1: a document of a BEIR corpus"),
        ("trec", "beir/qrels/test.tsv", "expected an id, a tab and a question"),
    ],
)
def test_the_importer_that_is_meant_is_named(name: str, file: str, message: str) -> None:
    with pytest.raises(DatasetError) as caught:
        read_texts(name, {file: text_of(file)})
    assert message in str(caught.value)
