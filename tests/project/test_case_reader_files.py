"""A file of cases: its lines, faults and warnings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.project.case_reader import case_hash, dataset_hash, load_cases, parse_case
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import DatasetError, Fault
from tests.build.cases import FULL
from tests.build.files import write_lines


def write(tmp_path: Path, *lines: str | bytes | Mapping[str, Any]) -> Path:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(
        b"\n".join(
            line if isinstance(line, bytes)
            else (line if isinstance(line, str) else json.dumps(line)).encode()
            for line in lines
        )
    )  # fmt: skip
    return path


def faults_of(path: Path) -> tuple[Fault, ...]:
    with pytest.raises(DatasetError) as caught:
        load_cases(path, display="evals/cases.jsonl")
    assert str(caught.value) == "\n".join(map(str, caught.value.faults))
    return caught.value.faults


def test_four_kinds_of_bad_lines_are_reported_at_once(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        '{"id": "good", "question": "q"}',
        '{"id": "a", "question": "q", "gold_suports": []}',
        '{"id": "b" "question": "q"}',
        '{"id": "good", "question": "q"}',
        '{"question": "ä?", "difficulty": "hrad", "k": 0}',
    )
    assert [str(fault) for fault in faults_of(path)] == [
        'evals/cases.jsonl:2: gold_suports: unknown field, did you mean "gold_supports"?',
        "evals/cases.jsonl:3: not JSON: Expecting ',' delimiter at column 12, "
        "expected one JSON object on this line",
        'evals/cases.jsonl:4: id: "good" is already the id of line 1, expected a unique id',
        "evals/cases.jsonl:5: id: missing",
        'evals/cases.jsonl:5: difficulty: got "hrad", expected one of "easy", "medium", "hard", '
        'did you mean "hard"?',
        "evals/cases.jsonl:5: k: got 0, expected an integer of at least 1",
    ]


def test_a_bom_crlf_blank_lines_and_line_separators_are_fine(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        b'\xef\xbb\xbf{"id": "a", "question": "q"}\r',
        b"\r",
        b"  \t",
        '{"id": "b", "question": "one\u2028two"}',
        b"",
    )
    loaded = load_cases(path)
    assert [(located.lineno, located.case.id) for located in loaded.cases] == [(1, "a"), (4, "b")]
    assert loaded.cases[1].case.question == "one\u2028two"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "got [1], expected one JSON object on this line"),
        ('[{"id": "a", "question": "q"},', "expected one JSON object on this line"),
        ('{"id": "a", "question": "q"},', "expected one JSON object on this line without a comma"),
        (
            '{"id": "a", "required": True}',
            "on this line with true, false and null in small letters",
        ),
        ('{"id": “a”}', 'expected one JSON object on this line with straight quotes (")'),
        ('{"id": "a", "question": "q", "id": "b"}', "duplicate key; keep one of them"),
        (
            '{"id": "a", "question": "q", "k": NaN}',
            "got NaN, expected an integer of at least 1",
        ),
        ('{"id": "a", "question": "q", "metadata": [' + "[" * 200_000, "nested too deeply"),
        ('{"id": "a", "question": "q", "k": ' + "9" * 9999 + "}", "a number is too long"),
        ('{"id": "a", "question": "q"} {}', "Extra data at column 30, expected one JSON object"),
        (
            '{"id": "a", "question": "a\tb"}',
            "character at column 27, expected one JSON object on this line with \\t for a tab",
        ),
    ],
)
def test_a_line_that_is_no_plain_json_object_is_refused(
    tmp_path: Path, line: str, message: str
) -> None:
    assert message in faults_of(write(tmp_path, line))[0].text


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    (fault,) = faults_of(tmp_path / name)
    assert str(fault).startswith("evals/cases.jsonl: cannot be read: ")


def test_odd_cases_are_warned_about_once_per_kind(tmp_path: Path) -> None:
    nested = [{"rel_path": "a.md"}, {"rel_path": "./a.md", "heading_path": "# A"}]
    apart = [{"rel_path": "a.md", "vault": "v"}, {"rel_path": "a.md", "vault": "w"}]
    path = write(
        tmp_path,
        {"id": "fine", "question": "q", "gold_supports": apart},
        *({"id": f"none-{i}", "question": "q"} for i in range(7)),
        {"id": "nested", "question": "q", "gold_supports": nested},
        {"id": "rule", "question": "q", "answerable": False, "recency_conflict_rule": "cite_both"},
        {"id": "blank", "question": "q", "answerable": False, "expected_key_facts": [" "]},
        *(
            {"id": f"w{n}", "question": "q", "answerable": False, "metadata": {"weight": weight}}
            for n, weight in enumerate([2, 0.5, None, -1, "heavy"])
        ),
    )
    assert load_cases(path, display="c.jsonl").warnings == (
        "c.jsonl:2: gold_supports: none though answerable, so retrieval is not scored: "
        "none-0, none-1, none-2, none-3, none-4 and 2 more",
        "c.jsonl:9: gold_supports: one gold lies within another, so one chunk can match both: "
        "nested",
        "c.jsonl:10: recency_conflict_rule: fewer than two gold_supports, so it is not scored: "
        "rule",
        "c.jsonl:11: expected_key_facts: a blank one says nothing about the answer: blank",
        "c.jsonl:15: metadata.weight: not a number above 0, so the case counts once in means by "
        "traffic: w3, w4",
    )


# --- hashes of cases and sets: what changes them, and what does not


def test_the_hash_of_a_case_is_stable_across_versions() -> None:
    """Fixed values: stored runs are paired by them."""
    assert case_hash(Case(id="a", question="q")) == "9fc434b21ec624f8"
    golds = [{k: v for k, v in gold.items() if k != "pages"} for gold in FULL["gold_supports"]]
    assert case_hash(parse_case({**FULL, "gold_supports": golds})) == "1ead91db9e1a193a"
    assert case_hash(parse_case(FULL)) == "64b53f7977c4301c"


@pytest.mark.parametrize(
    "change",
    [
        {"notes": "other"},
        {"metadata": {}},
        {"tags": []},
        {"category": "general"},
        {"difficulty": None},
        {"required": False},
        {"review": "reviewed"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_changes_neither_asking_nor_scoring_keeps_the_hash(change: dict[str, Any]) -> None:
    assert case_hash(parse_case({**FULL, **change})) == case_hash(parse_case(FULL))


@pytest.mark.parametrize(
    "change",
    [
        {"id": "other"},
        {"question": "Who?"},
        {"expected_key_facts": ["one"]},
        {"expected_answer": None},
        {"gold_supports": FULL["gold_supports"][::-1]},
        {"irrelevant_supports": []},
        {"required_support_groups": [[0]]},
        {"recency_conflict_rule": None},
        {"vaults": []},
        {"folders": ["notes"]},
        {"k": None},
        {"language": None},
        {"translation_of": None},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_changes_asking_or_scoring_changes_the_hash(change: dict[str, Any]) -> None:
    assert case_hash(parse_case({**FULL, **change})) != case_hash(parse_case(FULL))


def test_every_part_of_a_rule_changes_the_hash_and_no_rule_keeps_it() -> None:
    rules: list[dict[str, Any]] = [
        {"contains": "a"},
        {"not_contains": "a"},
        {"matches": "a"},
        {"contains": "a", "ignore_case": True},
        {"contains": "a", "ignore_whitespace": True},
    ]
    hashes = [case_hash(parse_case({**FULL, "answer_rules": [rule]})) for rule in rules]
    assert len({*hashes, case_hash(parse_case(FULL))}) == len(rules) + 1
    assert case_hash(parse_case({**FULL, "answer_rules": []})) == case_hash(parse_case(FULL))


def test_the_hash_of_a_set_is_about_its_content_not_its_order(tmp_path: Path) -> None:
    one, two = {"id": "a", "question": "q"}, {"id": "b", "question": "q"}
    forward = load_cases(write_lines(tmp_path / "cases.jsonl", one, two)).dataset_hash
    assert (
        load_cases(
            write_lines(tmp_path / "cases.jsonl", two, "", {**one, "notes": "n"})
        ).dataset_hash
        == forward
    )
    assert load_cases(write_lines(tmp_path / "cases.jsonl", one)).dataset_hash != forward
    assert dataset_hash(["b", "a"]) == dataset_hash(["a", "b"]) != dataset_hash(["a", "b", "b"])


def test_the_hash_of_a_turn_depends_on_the_turns_before_it_alone() -> None:
    def hashes(*questions: str) -> list[str]:
        turns = [{"question": one} for one in questions]
        return [case_hash(one) for one in parse_case({"id": "a", "turns": turns}).expanded()]

    first, second = hashes("x", "y")
    assert hashes("x", "y", "z")[:2] == [first, second]
    assert hashes("w", "y")[1] != second
