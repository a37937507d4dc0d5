from __future__ import annotations

import dataclasses
import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.project.case_fields import AnchorLine
from pytest_rageval.project.case_reader import case_hash, dataset_hash, load_cases, parse_case
from pytest_rageval.values.case import Anchor, Case, Difficulty, RecencyRule
from pytest_rageval.values.errors import DatasetError, Fault
from tests.build.shared_data import shared_path

FULL: Mapping[str, Any] = {
    "id": "multi/hop_1.a-b",
    "question": "Which?",
    "answerable": True,
    "expected_key_facts": ["one", "two"],
    "expected_answer": "Both.",
    "gold_supports": [
        {
            "rel_path": "a.md",
            "heading_path": "# A",
            "snippets": ["x"],
            "pages": [2, 3],
            "grade": 2,
            "vault": "v",
        },
        {"rel_path": "b.md"},
    ],
    "irrelevant_supports": [{"rel_path": "c.md"}],
    "required_support_groups": [[0, 1], [1]],
    "recency_conflict_rule": "cite_newer",
    "category": "recency/conflict",
    "difficulty": "hard",
    "tags": ["work", "ns:tag"],
    "vaults": ["v"],
    "folders": ["", "notes"],
    "k": 7,
    "language": "de",
    "translation_of": "multi_hop_1",
    "required": True,
    "review": "generated",
    "notes": "why",
    "metadata": {"source": [1, None]},
}


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


def faults_in(**fields: Any) -> list[tuple[str, str]]:
    with pytest.raises(DatasetError) as caught:
        parse_case({"id": "a", "question": "q"} | fields)
    return [(fault.field, fault.message) for fault in caught.value.faults]


# --- what a line becomes ---------------------------------------------------------------------


def test_every_field_arrives_in_the_case() -> None:
    anchor = Anchor(
        rel_path="a.md", heading_path="# A", snippets=("x",), pages=(2, 3), grade=2, vault="v"
    )
    assert parse_case(FULL) == Case(
        id="multi/hop_1.a-b",
        question="Which?",
        answerable=True,
        expected_key_facts=("one", "two"),
        expected_answer="Both.",
        gold_supports=(anchor, Anchor(rel_path="b.md")),
        irrelevant_supports=(Anchor(rel_path="c.md"),),
        required_support_groups=((0, 1), (1,)),
        recency_conflict_rule="cite_newer",
        category="recency/conflict",
        difficulty="hard",
        tags=("work", "ns:tag"),
        vaults=("v",),
        folders=("", "notes"),
        k=7,
        language="de",
        translation_of="multi_hop_1",
        required=True,
        review="generated",
        notes="why",
        metadata={"source": [1, None]},
    )


def test_only_id_and_question_are_required() -> None:
    assert parse_case({"id": "a", "question": "q"}) == Case(id="a", question="q")


NAMES = st.text("abcXYZ019_-", min_size=1, max_size=8)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SAID = TEXTS.filter(lambda text: text.strip() != "")
ANCHORS = st.builds(
    Anchor,
    rel_path=NAMES.map(lambda name: f"{name}.md"),
    heading_path=TEXTS,
    snippets=st.lists(SAID, max_size=2).map(tuple),
    grade=st.integers(1, 9),
    vault=st.none() | NAMES,
)
CASES = st.builds(
    Case,
    id=st.from_regex(re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,9}"), fullmatch=True),
    question=SAID,
    expected_key_facts=st.lists(TEXTS, max_size=2).map(tuple),
    expected_answer=st.none() | TEXTS,
    gold_supports=st.lists(ANCHORS, max_size=2, unique_by=lambda anchor: anchor.rel_path).map(
        tuple
    ),
    recency_conflict_rule=st.none() | st.sampled_from(get_args(RecencyRule)),
    category=NAMES,
    difficulty=st.none() | st.sampled_from(get_args(Difficulty)),
    tags=st.lists(NAMES, max_size=2).map(tuple),
    folders=st.lists(TEXTS, max_size=2).map(tuple),
    k=st.none() | st.integers(1, 99),
    required=st.booleans(),
    notes=TEXTS,
    metadata=st.dictionaries(TEXTS, st.none() | st.integers() | TEXTS, max_size=2),
)


@given(CASES)
def test_a_case_survives_being_written_and_read(case: Case) -> None:
    assert parse_case(dataclasses.asdict(case)) == case


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*AnchorLine.__annotations__, "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*FULL, "gold_suports", "metadata"]), ANYTHING, max_size=6))
def test_whatever_comes_is_a_case_or_says_what_is_wrong(fields: dict[str, Any]) -> None:
    try:
        parse_case(dict(FULL) | fields)
    except DatasetError as error:
        faults = error.faults
    else:
        return
    assert faults
    assert all(fault.message and str(fault).isprintable() for fault in faults)


@pytest.mark.parametrize("case_id", ["a/b.c-d_e", "Mu2e#P793-0", "L'été_(film)", "日本", "a:b"])
def test_an_id_may_hold_what_a_node_id_can(case_id: str) -> None:
    assert parse_case({"id": case_id, "question": "q"}).id == case_id


# --- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"id": ""}, "id", '"", expected a name without spaces'),
        ({"id": "a\u202eb"}, "id", r'"a\u202eb", expected'),
        ({"id": "a b"}, "id", '"a b", expected'),
        ({"id": "a::b"}, "id", '"a::b", expected'),
        ({"id": "a[b]"}, "id", '"a[b]", expected'),
        ({"id": "a\n"}, "id", r'"a\n", expected'),
        ({"id": "x/../y"}, "id", "without a '.' or '..' segment"),
        ({"id": "."}, "id", "without a '.' or '..' segment"),
        ({"id": 7}, "id", "7, expected"),
        ({"question": " \n"}, "question", "expected a string that is not blank"),
        ({"question": None}, "question", "null, expected a string"),
        ({"answerable": "yes"}, "answerable", '"yes", expected true or false'),
        ({"answerable": 1}, "answerable", "1, expected true or false"),
        ({"k": True}, "k", "true, expected null or an integer of at least 1"),
        ({"k": 0}, "k", "0, expected null or an integer of at least 1"),
        ({"k": 5.0}, "k", "5.0, expected null or an integer of at least 1"),
        ({"k": "5"}, "k", '"5", expected null or an integer of at least 1'),
        ({"k": 10**30}, "k", "expected null or an integer of at least 1"),
        ({"tags": "a"}, "tags", '"a", expected a list of strings'),
        ({"tags": ["a b"]}, "tags[0]", "expected a name without spaces"),
        ({"tags": ["a", "b::c"]}, "tags[1]", "expected a name without spaces"),
        ({"tags": ["a\u00a0b"]}, "tags[0]", "expected a name without spaces"),
        ({"tags": ["a\u202eb"]}, "tags[0]", r'"a\u202eb", expected a name without spaces'),
        ({"category": "a[b"}, "category", "expected a name without spaces"),
        ({"category": ""}, "category", "expected a name without spaces"),
        ({"difficulty": "hrad"}, "difficulty", "hard or null, did you mean 'hard'?"),
        (
            {"answer_rules": [{"contains": "a"}, {"contains": "b", "matches": "c"}]},
            "answer_rules[1]",
            "contains and matches, expected one of contains, not_contains, matches",
        ),
        (
            {"answer_rules": [{"ignore_case": True}]},
            "answer_rules[0]",
            "no rule, expected one of contains, not_contains, matches",
        ),
        (
            {"answer_rules": [{"matches": "(?=a)"}]},
            "answer_rules[0].matches",
            "not a pattern: look-around, including look-ahead and look-behind, is not supported "
            "(no look-around, no back-references)",
        ),
        (
            {"answer_rules": [{"matches": "(a{1,100}){1,100}"}]},
            "answer_rules[0].matches",
            "its counts multiply to 10,000, expected at most 200, so that a search takes no time "
            "(no look-around, no back-references)",
        ),
        (
            {"recency_conflict_rule": "cite_new"},
            "recency_conflict_rule",
            "cite_both or null, did you mean 'cite_newer'?",
        ),
        ({"gold_suports": []}, "gold_suports", "unknown field, did you mean 'gold_supports'?"),
        ({"zzz": 1}, "zzz", "unknown field, expected one of id, question, "),
        (
            {"gold_supports": [{"rel_path": "a.md", "heading": ""}]},
            "gold_supports[0].heading",
            "unknown field, did you mean 'heading_path'?",
        ),
        ({"gold_supports": ["a.md"]}, "gold_supports[0]", '"a.md", expected an anchor such as'),
        ({"gold_supports": [{}]}, "gold_supports[0].rel_path", "missing, expected a path"),
        ({"gold_supports": [{"rel_path": ""}]}, "gold_supports[0].rel_path", '"", expected a path'),
        ({"gold_supports": [{"rel_path": "./"}]}, "gold_supports[0].rel_path", "'./', expected"),
        (
            {"irrelevant_supports": [{"rel_path": "%2E"}]},
            "irrelevant_supports[0].rel_path",
            "expected a file's path",
        ),
        (
            {"gold_supports": [{"rel_path": "a", "snippets": ["x", ""]}]},
            "gold_supports[0].snippets[1]",
            '"", expected a string that is not blank',
        ),
        (
            {"gold_supports": [{"rel_path": "a", "grade": 0}]},
            "gold_supports[0].grade",
            "0, expected an integer of at least 1",
        ),
        (
            {"gold_supports": [{"rel_path": "a", "grade": 1.5}]},
            "gold_supports[0].grade",
            "1.5, expected an integer of at least 1",
        ),
        (
            {"gold_supports": [{"rel_path": "a", "pages": 12}]},
            "gold_supports[0].pages",
            "12, expected a list of page numbers from 1",
        ),
        (
            {"gold_supports": [{"rel_path": "a", "pages": [1, 0]}]},
            "gold_supports[0].pages[1]",
            "0, expected an integer of at least 1",
        ),
        (
            {"gold_supports": [{"rel_path": "a", "page": [1]}]},
            "gold_supports[0].page",
            "did you mean 'pages'?",
        ),
        (
            {
                "gold_supports": [
                    {"rel_path": "a", "pages": [1, 2]},
                    {"rel_path": "./a", "pages": [2, 1]},
                ]
            },
            "gold_supports[1]",
            "the same path, heading, snippets and pages as [0]",
        ),
        (
            {"gold_supports": [{"rel_path": "a"}, {"rel_path": "./a", "grade": 2}]},
            "gold_supports[1]",
            "the same path, heading and snippets as [0]",
        ),
        (
            {"gold_supports": [{"rel_path": "a"}], "irrelevant_supports": [{"rel_path": "a"}]},
            "irrelevant_supports[0]",
            "equal to gold_supports[0]",
        ),
        ({"required_support_groups": []}, "required_support_groups", "[], expected null or a list"),
        (
            {"gold_supports": [{"rel_path": "a"}], "required_support_groups": [[0], []]},
            "required_support_groups[1]",
            "[], expected a list of one or more indices",
        ),
        (
            {"gold_supports": [{"rel_path": "a"}], "required_support_groups": [[0, 1]]},
            "required_support_groups[0][1]",
            "1, expected the index of one of the 1 gold_supports",
        ),
        (
            {"gold_supports": [{"rel_path": "a"}], "required_support_groups": [[-1]]},
            "required_support_groups[0][0]",
            "-1, expected an index into gold_supports",
        ),
        (
            {"answerable": False, "gold_supports": [{"rel_path": "a"}]},
            "gold_supports",
            "1 of them though answerable is false, expected none",
        ),
        (
            {"metadata": {"a": [1.0, float("nan")]}},
            "metadata.a[1]",
            "NaN, expected a finite number",
        ),
        (
            {"metadata": {"a b": float("inf")}},
            'metadata."a b"',
            "Infinity, expected a finite number",
        ),
        ({"question": "\ud800"}, "question", "half of a surrogate pair"),
        ({"metadata": {"x": ["\udfff"]}}, "metadata.x[0]", "half of a surrogate pair"),
        ({"ke\ud800y": 1}, '"ke\\ud800y"', "half of a surrogate pair"),
        ({"metadata": {"\ud800": 1}}, 'metadata."\\ud800"', "half of a surrogate pair"),
        (
            {"gold_supports": [{"rel_path": "a", "\udc00": 1}]},
            'gold_supports[0]."\\udc00"',
            "half of a surrogate pair",
        ),
    ],
)
def test_a_faulty_field_is_refused(fields: Any, field: str, message: str) -> None:
    found = faults_in(**fields)
    assert [name for name, _ in found] == [field]
    assert message in found[0][1]


def test_all_faults_of_a_case_are_named_together() -> None:
    fields = [field for field, _ in faults_in(k=0, tags=[1], id="..", answerables=True)]
    assert sorted(fields) == ["answerables", "id", "k", "tags[0]"]


def test_a_key_that_is_no_text_hides_no_other_fault(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"expected_key_fact\\ud800s": ["a"], "k": 0}\n', encoding="utf-8")
    with pytest.raises(DatasetError) as caught:
        load_cases(path, display="a")
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        "id", "question", '"expected_key_fact\\ud800s"', "k",
    ]  # fmt: skip


def test_a_value_that_json_cannot_hold_is_refused() -> None:
    assert "expected values that JSON can hold" in faults_in(metadata={"path": object()})[0][1]


def test_groups_are_not_blamed_for_golds_that_could_not_be_read() -> None:
    found = faults_in(gold_supports="a.md", required_support_groups=[[0]])
    assert [field for field, _ in found] == ["gold_supports"]


@pytest.mark.parametrize(
    "other",
    [{"heading_path": "# B"}, {"snippets": ["y"]}, {"pages": [2]}, {"vault": "w"}],
    ids=str,
)
def test_anchors_apart_in_one_respect_are_two_anchors(other: dict[str, Any]) -> None:
    anchor = {"rel_path": "a.md", "heading_path": "# A", "snippets": ["x"], "vault": "v"}
    golds = [anchor, {**anchor, **other}]
    assert len(parse_case({"id": "a", "question": "q", "gold_supports": golds}).gold_supports) == 2


def test_a_long_value_is_shortened() -> None:
    ((_, message),) = faults_in(id="x" * 5000 + " ")
    assert len(message) < 200


def test_only_the_first_unknown_fields_of_a_line_are_compared_with_all_known_ones() -> None:
    odd = {f"questio{n}": 1 for n in range(300)}
    with pytest.raises(DatasetError) as caught:
        parse_case({"id": "a", "question": "Why?", **odd})
    messages = [fault.message for fault in caught.value.faults]
    assert messages[0] == "unknown field, did you mean 'question'?"
    assert messages[-1] == "unknown field"
    assert len(messages) == 300


# --- a file ----------------------------------------------------------------------------------


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
        "evals/cases.jsonl:2:30: gold_suports: unknown field, did you mean 'gold_supports'?",
        "evals/cases.jsonl:3:12: Expecting ',' delimiter, expected one JSON object",
        'evals/cases.jsonl:4:8: id: "good" is already the id of line 1, expected a unique id',
        "evals/cases.jsonl:5:1: id: missing, expected a name without spaces, '[', ']', '::', "
        "or a '.' or '..' between slashes",
        'evals/cases.jsonl:5:34: difficulty: "hrad", expected easy, medium, hard or null, '
        "did you mean 'hard'?",
        "evals/cases.jsonl:5:47: k: 0, expected null or an integer of at least 1",
    ]


def test_a_column_counts_characters_and_points_at_the_value(tmp_path: Path) -> None:
    line = '  {"question": "日本 \U0001f600 \\u00e9", "id" : "a", "tags":["x", "y z"]}'
    (fault,) = faults_of(write(tmp_path, line))
    assert (fault.line, fault.field) == (1, "tags[1]")
    assert line[fault.col - 1 :].startswith('"y z"')


def test_an_id_is_unique_even_beside_other_faults(tmp_path: Path) -> None:
    path = write(tmp_path, '{"id": "a", "question": "q"}', '{"id": "a", "question": "q", "k": 0}')
    assert [fault.field for fault in faults_of(path)] == ["id", "k"]


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


def test_bytes_that_are_no_utf8_are_located(tmp_path: Path) -> None:
    path = write(tmp_path, '{"id": "a", "question": "q"}', "é".encode() + b"\xff", '{"id": "a"}')
    assert [(fault.line, fault.col) for fault in faults_of(path)] == [(2, 2), (3, 1), (3, 8)]
    assert faults_of(path)[0].message == "byte 0xff, expected UTF-8 text"


def test_utf16_is_named_once(tmp_path: Path) -> None:
    path = write(tmp_path, '{"id": "a", "question": "q"}\n'.encode("utf-16") * 3)
    assert [fault.message for fault in faults_of(path)] == ["UTF-16 text, expected UTF-8"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "[1], expected one JSON object"),
        ('{"id": "a", "question": "q", "id": "b"}', "the key stands twice, expected it once"),
        ('{"id": "a", "question": "q", "k": NaN}', "NaN, expected a finite number"),
        ('{"id": "a", "question": "q", "metadata": [' + "[" * 200_000, "nested too deeply"),
        ('{"id": "a", "question": "q", "k": ' + "9" * 9999 + "}", "a number is too long"),
        ('{"id": "a", "question": "q"} {}', "Extra data, expected one JSON object"),
        ('{"id": "a", "question": "a\tb"}', "Invalid control character at"),
    ],
)
def test_a_line_that_is_no_plain_json_object_is_refused(
    tmp_path: Path, line: str, message: str
) -> None:
    assert message in faults_of(write(tmp_path, line))[0].message


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    (fault,) = faults_of(tmp_path / name)
    assert str(fault).startswith("evals/cases.jsonl: cannot be read: ")


def test_an_empty_file_is_a_set_without_cases(tmp_path: Path) -> None:
    assert load_cases(write(tmp_path, "")).cases == ()


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
    )
    assert load_cases(path, display="c.jsonl").warnings == (
        "c.jsonl:2: gold_supports: none though answerable, so retrieval is not scored: "
        "none-0, none-1, none-2, none-3, none-4 and 2 more",
        "c.jsonl:9: gold_supports: one gold lies within another, so one chunk can match both: "
        "nested",
        "c.jsonl:10: recency_conflict_rule: fewer than two gold_supports, so it is not scored: "
        "rule",
        "c.jsonl:11: expected_key_facts: a blank one says nothing about the answer: blank",
    )


def test_ten_thousand_cases_load_quickly(tmp_path: Path) -> None:
    lines = [{**FULL, "id": f"case-{i}"} for i in range(10_000)]
    path = write(tmp_path, *lines)
    started = time.process_time()
    assert len(load_cases(path).cases) == 10_000
    assert time.process_time() - started < 3


# --- hashes ----------------------------------------------------------------------------------


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


def test_a_faulty_rule_names_file_line_and_field(tmp_path: Path) -> None:
    good = {"id": "a", "question": "q"}
    bad = {"id": "b", "question": "q", "answer_rules": [{"contains": "x"}, {"matches": "("}]}
    (fault,) = faults_of(write(tmp_path, good, bad))
    assert str(fault).startswith("evals/cases.jsonl:2:")
    assert "answer_rules[1].matches: not a pattern: unclosed group" in str(fault)


def test_answerable_changes_the_hash() -> None:
    answerable = Case(id="a", question="q")
    assert case_hash(dataclasses.replace(answerable, answerable=False)) != case_hash(answerable)


@pytest.mark.parametrize("field", ["heading_path", "snippets", "pages", "grade", "vault"])
def test_every_part_of_an_anchor_changes_the_hash(field: str) -> None:
    golds = [dict(FULL["gold_supports"][0]), FULL["gold_supports"][1]]
    del golds[0][field]
    assert case_hash(parse_case({**FULL, "gold_supports": golds})) != case_hash(parse_case(FULL))


def test_a_default_written_out_is_the_default() -> None:
    written = {"id": "a", "question": "q", "answerable": True, "gold_supports": [], "k": None}
    assert case_hash(parse_case(written)) == case_hash(Case(id="a", question="q"))


def test_the_hash_of_a_set_is_about_its_content_not_its_order(tmp_path: Path) -> None:
    one, two = {"id": "a", "question": "q"}, {"id": "b", "question": "q"}
    forward = load_cases(write(tmp_path, one, two)).dataset_hash
    assert load_cases(write(tmp_path, two, "", {**one, "notes": "n"})).dataset_hash == forward
    assert load_cases(write(tmp_path, one)).dataset_hash != forward
    assert dataset_hash(["b", "a"]) == dataset_hash(["a", "b"]) != dataset_hash(["a", "b", "b"])


def test_hashes_that_a_stored_run_may_hold_are_hashed_whatever_they_are() -> None:
    found = {dataset_hash([one]) for one in ("ab", "é", "\ud800")}
    assert len(found) == 3
    assert all(re.fullmatch("[0-9a-f]{16}", one) for one in found)


# --- real data -----------------------------------------------------------------------------------


def test_the_shared_cases_load() -> None:
    loaded = load_cases(shared_path("data", "rag", "eval_full.jsonl"))
    assert len(loaded.cases) == 788
    assert sum(not located.case.answerable for located in loaded.cases) == 185
