"""Whatever a file holds, what comes of it is cases, or one error that a user can read."""

from __future__ import annotations

import contextlib
import copy
import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.authoring.interchange.values import SourceFile
from pytest_rageval.authoring.interchange.yaml_text import parse_yaml
from pytest_rageval.project.case_reader import parse_case
from pytest_rageval.values.errors import DatasetError
from tests.authoring.interchange.sources import SAMPLES, read_texts

ODD: tuple[Any, ...] = (
    None, True, 0, -1, 2.5, 1e308, "", " ", "x", "../x", "a\x00b", "\u202e", "::", "[", [], {},
    [[]], {"a": {}}, ["a", 1, None], "{{question}}", "file://x", "é" * 300, 10**30,
)  # fmt: skip
JSON_SAMPLES = {
    "unrag": ["unrag-dataset.json", "unrag-report.json"],
    "json": ["suite.json"],
    "deepeval": ["deepeval-goldens.json"],
    "squad": ["squad-2.0.json"],
}


def sample(name: str) -> Any:
    text = (SAMPLES / name).read_text(encoding="utf-8")
    return json.loads(text)


def mutated(value: Any, dice: Random) -> Any:
    """Change, take out or add a few values anywhere."""
    value = copy.deepcopy(value)
    for _ in range(dice.randint(1, 4)):
        places = list(containers(value))
        place = dice.choice(places)
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        action = dice.choice(("change", "change", "remove", "add"))
        if action == "add" or not keys:
            if isinstance(place, dict):
                place[dice.choice(("id", "question", "query", "extra", "metadata"))] = odd(dice)
            else:
                place.append(odd(dice))
        elif action == "remove":
            del place[dice.choice(keys)]
        else:
            place[dice.choice(keys)] = odd(dice)
    return value


def containers(value: Any) -> Any:
    if isinstance(value, dict | list):
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from containers(item)


def odd(dice: Random) -> Any:
    return copy.deepcopy(dice.choice(ODD))


def is_read_or_refused(name: str, files: dict[str, str]) -> bool:
    """Say whether every case came out with an id, or the refusal names one of the files."""
    try:
        lines = read_texts(name, files).cases
    except DatasetError as error:
        return any(file in str(error) for file in files)
    for line in lines:
        with contextlib.suppress(DatasetError):  # as the command checks them before it writes
            parse_case(line)
    return all(isinstance(line["id"], str) and line["id"] for line in lines)


SEEDS = st.integers(0, 2**32)


@pytest.mark.parametrize("name", JSON_SAMPLES)
@settings(deadline=None, max_examples=25)
@given(seed=SEEDS)
def test_a_sample_that_was_tampered_with(name: str, seed: int) -> None:
    dice = Random(seed)
    files = {file: json.dumps(mutated(sample(file), dice)) for file in JSON_SAMPLES[name]}
    assert is_read_or_refused(name, files)


@pytest.mark.parametrize("name", ["ragas-0.2.jsonl", "beir/queries.jsonl", "beir/corpus.jsonl"])
@settings(deadline=None, max_examples=25)
@given(seed=SEEDS)
def test_lines_that_were_tampered_with(name: str, seed: int) -> None:
    dice = Random(seed)
    text = (SAMPLES / name).read_text(encoding="utf-8")
    lines = [json.dumps(mutated(json.loads(line), dice)) for line in text.splitlines()]
    files = {name: "\n".join(lines)}
    if name.startswith("beir/"):
        for other in ("queries.jsonl", "corpus.jsonl", "qrels/test.tsv"):
            path = SAMPLES / "beir" / other
            files.setdefault(f"beir/{other}", path.read_text(encoding="utf-8"))
    assert is_read_or_refused("beir" if name.startswith("beir/") else "ragas", files)


@settings(deadline=None, max_examples=25)
@given(seed=SEEDS)
def test_a_config_that_was_tampered_with(seed: int) -> None:
    name = "promptfooconfig.yaml"
    text = (SAMPLES / name).read_text(encoding="utf-8").replace("- file://", "# ")
    value = parse_yaml(SourceFile(name=name, text=text))
    assert is_read_or_refused("promptfoo", {"c.json": json.dumps(mutated(value, Random(seed)))})


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("csv", "cases.csv"),
        ("trec", "qrels.txt"),
        ("trec", "topics.sgml.txt"),
        ("yaml", "suite.yaml"),
    ],
)
@settings(deadline=None, max_examples=25)
@given(seed=SEEDS)
def test_a_text_that_was_tampered_with(name: str, file: str, seed: int) -> None:
    dice = Random(seed)
    text = list((SAMPLES / file).read_text(encoding="utf-8-sig"))
    for _ in range(dice.randint(1, 5)):
        at = dice.randrange(len(text))
        text[at] = dice.choice(
            ['"', "\n", "\t", " ", "", "<", "&", "*", ":", "-", "9", "\x00", "\\"]
        )
    assert is_read_or_refused(name, {file: "".join(text)})
