""""""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.project.thresholds import load_thresholds, parse_gate_expression
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.gate import Check, Thresholds
from tests.project.threshold_texts import parse


def fault(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    return str(caught.value)


def heads(text: str) -> list[str]:
    """Return the lines that name a place, without excerpts."""
    return [line for line in fault(text).splitlines() if line.startswith("thresholds.toml:")]


# --- the whole file --------------------------------------------------------------------------

EXAMPLE = """\
#:schema ./evals/.schema/thresholds.json
version    = 1
baseline   = "main"
confidence = 0.9
require_baseline = true
[cases]
on_miss = "fail"
[overall]
recall_at_k     = ">= 0.85"                          # short form
mrr             = { min = 0.70, max_drop = 0.03 }
scope_miss_rate = { max = 0.05, max_rise = 0.10 }
groundedness    = { min = 4.0, max_drop = 0.5, severity = "warn" }
latency_ms.p95  = "<= 2500"
cost_usd.total  = { max = 0.50 }
error_rate      = "<= 0"
newly_missed    = "<= 2"
[category.multi_hop]
recall_all_at_k = { min = 0.75 }
[category."recency/conflict"]
mrr = { min = 0.5, decide = "prove_pass", min_n = 3, on_small_n = "fail" }
[tag.work]
recall_at_k = ">= 0.80"
[defaults]
decide     = "prove_fail"
min_n      = 10
on_small_n = "skip"
"""


def test_the_whole_file_becomes_checks_in_its_order() -> None:
    usual = Check(metric="", kind="min", limit=0, decide="prove_fail", min_n=10, on_small_n="skip")
    assert parse(EXAMPLE) == Thresholds(
        confidence=0.9,
        baseline="main",
        require_baseline=True,
        on_miss="fail",
        min_n=10,
        path="thresholds.toml",
        checks=(
            replace(usual, metric="recall_at_k", limit=0.85, line=9),
            replace(usual, metric="mrr", limit=0.7, line=10),
            replace(usual, metric="mrr", kind="max_drop", limit=0.03, line=10),
            replace(usual, metric="scope_miss_rate", kind="max", limit=0.05, line=11),
            replace(usual, metric="scope_miss_rate", kind="max_rise", limit=0.1, line=11),
            replace(usual, metric="groundedness", limit=4, severity="warn", line=12),
            replace(
                usual,
                metric="groundedness",
                kind="max_drop",
                limit=0.5,
                severity="warn",
                line=12,
            ),
            replace(usual, metric="latency_ms.p95", kind="max", limit=2500, line=13),
            replace(usual, metric="cost_usd.total", kind="max", limit=0.5, line=14),
            replace(usual, metric="error_rate", kind="max", limit=0, line=15),
            replace(usual, metric="newly_missed", kind="max", limit=2, line=16),
            replace(
                usual,
                metric="recall_all_at_k",
                limit=0.75,
                table="category",
                group="multi_hop",
                line=18,
            ),
            replace(
                usual,
                metric="mrr",
                limit=0.5,
                table="category",
                group="recency/conflict",
                decide="prove_pass",
                min_n=3,
                on_small_n="fail",
                line=20,
            ),
            replace(usual, metric="recall_at_k", limit=0.8, table="tag", group="work", line=22),
        ),
    )


def test_a_check_takes_the_documented_defaults() -> None:
    (check,) = parse("[overall]\nmrr = '>= 0.5'").checks
    assert (check.decide, check.min_n, check.on_small_n) == ("estimate", 20, "warn")
    assert check.severity == "fail"


# --- forms of a limit ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    ['"> 0.5"', '"< 0.5"', '"= 0.5"', '"== 0.5"', '"0.5"', '">="', '">= x"', '">= nan"', '">= inf"',
     '"<= 1e999"', '">= 85%"', '">= 0,85"', "0.5", "true", "[0.5]", "2026-01-01",
     '">= 0x10"', '">= 1_000"', '">= 0.5 and <= 1"'],
)  # fmt: skip
def test_any_other_value_is_no_limit(value: str) -> None:
    (head,) = heads(f"[overall]\nmrr = {value}")
    assert head.startswith("thresholds.toml:2: mrr: got ")
    assert head.endswith('expected a limit such as ">= 0.85", "<= 0.05" or { min = 0.85 }')


@given(st.floats(min_value=0, allow_nan=False, allow_infinity=False))
def test_any_finite_number_is_a_limit_to_the_last_digit(number: float) -> None:
    (short,) = parse(f"[overall]\njudge_tokens = '>= {number!r}'").checks
    (long,) = parse(f"[overall]\njudge_tokens.min = {number!r}").checks
    same = parse_gate_expression(f"judge_tokens>={number!r}").limit
    assert short.limit == long.limit == same == number


@pytest.mark.parametrize(
    ("limit", "fault"),
    [
        ("recall_at_k = '>= 80'", "recall_at_k: got 80, expected a number from 0 to 1, the "
         "scale of recall_at_k, write 0.8 for 80 %"),
        ("success_at_k = '<= -0.1'", "success_at_k: got -0.1, expected a number from 0 to 1, "
         "the scale of hit_at_k"),
        ("mrr = { min = 0.5, max_drop = 3 }", "max_drop: got 3, expected a number from 0 to 1, "
         "the scale of mrr, write 0.03 for 3 %"),
        ("groundedness = '>= 80'", "groundedness: got 80, expected a number from 0 to 5, the "
         "scale of groundedness"),
        ("latency_ms.p95 = { max = -1 }", "max: got -1, expected a number of at least 0, the "
         "scale of latency_ms.p95"),
    ],
)  # fmt: skip
def test_a_limit_outside_the_scale_of_its_metric_is_a_fault(limit: str, fault: str) -> None:
    (head,) = heads(f"[overall]\n{limit}")
    assert head == f"thresholds.toml:2: {fault}"


# --- lines and ids -----------------------------------------------------------------------------


def test_a_min_and_a_max_of_one_metric_have_different_ids() -> None:
    checks = parse(
        "[overall]\nmrr = { min = 0.2, max = 0.9, max_drop = 0.1, max_rise = 0.1 }\n"
        "map = { max = 0.9 }\n[tag.work]\nmrr = '<= 0.9'\n"
    ).checks
    assert [check.name for check in checks] == [
        "mrr",
        "mrr max",
        "mrr max_drop",
        "mrr max_rise",
        "map",
        "mrr [tag work]",
    ]


def test_a_name_and_its_alias_are_one_metric() -> None:
    (head,) = heads("[overall]\nhit_at_k = '>= 1'\nsuccess_at_k = '<= 1'\n")
    assert head == 'thresholds.toml:3: "success_at_k" means "hit_at_k", which line 2 limits already'


# --- faults ------------------------------------------------------------------------------------


def test_all_faults_come_at_once_with_excerpts() -> None:
    text = (
        "version = 2\n"
        "[overall]\n"
        "mrr = '>= 0.5'\n"
        "groundednes = { min = 4.0, max_drp = 0.3 }\n"
        "[category.multihop]\n"
        "latency_ms.p59 = '<= 1'\n"
    )
    assert fault(text) == (
        "thresholds.toml:1: version: got 2, expected 1\n"
        "    1 | version = 2\n"
        'thresholds.toml:4: unknown metric "groundednes" in [overall], '
        'did you mean "groundedness"?\n'
        "    4 | groundednes = { min = 4.0, max_drp = 0.3 }\n"
        'thresholds.toml:4: unknown key "max_drp", did you mean "max_drop"?\n'
        'thresholds.toml:5: unknown category "multihop" (no case has it), '
        'did you mean "multi_hop"?\n'
        "    5 | [category.multihop]\n"
        'thresholds.toml:6: unknown metric "latency_ms.p59" in [category.multihop]\n'
        "    6 | latency_ms.p59 = '<= 1'"
    )


@pytest.mark.parametrize(
    ("table", "line", "hint"),
    [
        ("cases", 'baseline = "main"', "put it above the first [table]"),
        ("overall", 'baseline = "main"', "put it above the first [table]"),
        ("category.multi_hop", "require_baseline = true", "put it above the first [table]"),
        ("defaults", "confidence = 0.9", "put it above the first [table]"),
        ("overall", 'on_miss = "fail"', "put it in [cases]"),
        ("overall", 'judged_on = ["retrieval"]', "put it in [cases]"),
        ("tag.work", "min_n = 5", "put it in [defaults]"),
        ("cases", 'recall_at_k = ">= 0.8"', "put it in [overall]"),
        ("defaults", 'latency_ms.p95 = "<= 900"', "put it in [overall]"),
    ],
)
def test_a_key_in_a_table_that_is_not_its_own_is_told_where_it_goes(
    table: str, line: str, hint: str
) -> None:
    key = re.match(r"\w+", line)
    assert key
    with pytest.raises(ConfigError) as caught:
        parse(f"[{table}]\n{line}\n")
    assert str(caught.value) == (
        f'thresholds.toml:2: "{key[0]}" is in [{table}], {hint}\n    2 | {line}'
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("verzion = 1", '1: unknown key "verzion"'),
        ("version = true", "1: version: got True, expected 1"),
        ("version = 1.0", "1: version: got 1.0, expected 1"),
        ("baseline = ''", "1: baseline: got '', expected the name or path of a run, such as"
         ' "last"'),
        ("baseline = 1", "1: baseline: got 1, expected the name or path of a run, such as"
         ' "last"'),
        ("confidence = 95", "1: confidence: got 95, expected a number between 0.5 and 1, such"
         " as 0.95"),
        ("confidence = 1", "1: confidence: got 1, expected a number between 0.5 and 1, such"
         " as 0.95"),
        ("confidence = 0.5", "1: confidence: got 0.5, expected a number between 0.5 and 1, such"
         " as 0.95"),
        ("confidence = nan", "1: confidence: got nan, expected a number between 0.5 and 1, such"
         " as 0.95"),
        ("require_baseline = 1", "1: require_baseline: got 1, expected true or false"),
        ("[cases]\non_mis = 'fail'", '2: unknown key "on_mis"'),
        ("[cases]\non_miss = 'ignore'", "2: on_miss: got 'ignore', expected one of"
         ' "report", "fail"'),
        ("[defaults]\ndecide = 'prove'", "2: decide: got 'prove', expected one of"
         ' "estimate", "prove_pass", "prove_fail"'),
        ("[defaults]\nmin_n = -1", "2: min_n: got -1, expected an integer of at least 0"),
        ("[defaults]\nmin_n = 2.5", "2: min_n: got 2.5, expected an integer of at least 0"),
        ("[defaults]\non_small_n = true", "2: on_small_n: got True, expected one of"
         ' "warn", "skip", "fail"'),
        ("[defaults]\nseverity = 'warn'", '2: unknown key "severity"'),
        ("[overal]", "1: unknown table [overal]"),
        ("[[overall]]", "1: overall: got [{}], expected a table"),
        ("overall = 1", "1: overall: got 1, expected a table"),
        ("category.multi_hop = 1", "1: multi_hop: got 1, expected a table"),
        ("[category.zzz]", '1: unknown category "zzz" (no case has it)'),
        ("[tag.wrk]", '1: unknown tag "wrk" (no case has it)'),
        ("recall_at_k = '>= 1'", '1: "recall_at_k" is in no table'),
        ("latency_ms.p95 = '<= 1'", '1: "latency_ms" is in no table'),
        ("on_miss = 'fail'", '1: "on_miss" is in no table'),
        ("[tag.work]\nerror_rate = '<= 0'", "2: error_rate is a figure of the whole run"),
        ("[category.multi_hop]\nlatency_ms.p95 = '<= 1'", "2: latency_ms.p95 is a figure of the"
         " whole run"),
        ("[overall]\nmrr = {}", "2: mrr: no limit, expected one of min, max, max_drop,"
         " max_rise"),
        ("[overall]\nmrr = { severity = 'warn' }", "2: mrr: no limit, expected one of min, max,"
         " max_drop, max_rise"),
        ("[overall]\nmrr = { min = '0.5' }", "2: min: got '0.5', expected a finite number"),
        ("[overall]\nmrr = { min = nan }", "2: min: got nan, expected a finite number"),
        ("[overall]\nmrr = { max_drop = -0.1 }", "2: max_drop: got -0.1, expected a finite"
         " number of at least 0"),
        ("[overall]\nmrr = { max_rise = nan }", "2: max_rise: got nan, expected a finite"
         " number of at least 0"),
        ("[overall]\nmrr = { min = 1, severity = 'error' }", "2: severity: got 'error',"
         ' expected one of "fail", "warn"'),
        ("[overall]\nmrr = { min = 0.6, use = 'corrected' }", "2: use: got 'corrected', expected"
         " plain"),
        ("[overall]\ncorrectness = { max_drop = 0.6, use = 'corrected' }", "2: use: got"
         " 'corrected', expected plain"),
        ("[tag.work]\ncorrectness = { min = 4, use = 'corrected' }", "2: use: got 'corrected',"
         " expected plain"),
        ("[overall]\nmrr = { min = 0.6, max = 0.5 }", "2: min: got 0.6, which is above max"
         " 0.5"),
        ("[overall]\nmrr = { min = 0.6, maxdrop = 0.5 }", '2: unknown key "maxdrop"'),
        ("[overall.mrr]\nmn = 0.6\nmin = 1", '2: unknown key "mn"'),
        ("[overall]\nmrr = { min.x = 1 }", "2: min: got {'x': 1}, expected a finite number"),
    ],
)  # fmt: skip
def test_a_fault_stands_at_its_line(text: str, expected: str) -> None:
    (head,) = heads(text)
    assert head.startswith(f"thresholds.toml:{expected}")


def test_a_text_that_is_no_toml_is_one_fault() -> None:
    assert heads("[overall]\nmrr = \n") == [
        "thresholds.toml:2: not TOML: Invalid value (at line 2, column 7)"
    ]


# --- loading -----------------------------------------------------------------------------------


def test_without_a_file_gates_apply_and_every_miss_fails(tmp_path: Path) -> None:
    found = load_thresholds(tmp_path / "thresholds.toml", gates=["mrr>=0.5"])
    check = Check(metric="mrr", kind="min", limit=0.5)
    assert found == Thresholds(checks=(check,), on_miss="fail")


@pytest.mark.parametrize(
    ("text", "judged_on"),
    [
        ("", ("retrieval", "answer")),
        ("[cases]\njudged_on = ['retrieval']", ("retrieval",)),
        ("[cases]\njudged_on = ['answer', 'retrieval']", ("retrieval", "answer")),
    ],
)
def test_a_file_says_what_cases_are_judged_on(text: str, judged_on: tuple[str, ...]) -> None:
    assert parse(text).judged_on == judged_on


def test_admission_is_required_by_all_limits_or_by_one() -> None:
    every = parse("[overall]\nmrr = '>= 0.5'\n[defaults]\nrequire_admitted = true")
    assert [check.require_admitted for check in every.checks] == [True]
    one = parse(
        "[overall]\ncorrectness = { min = 4, require_admitted = true }\n"
        "groundedness = { min = 4, use = 'corrected' }"
    )
    assert [(c.require_admitted, c.use) for c in one.checks] == [
        (True, "plain"),
        (False, "corrected"),
    ]


# ---


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("recall_at_k>=0.9", Check(metric="recall_at_k", kind="min", limit=0.9)),
        (" error_rate <= 0 ", Check(metric="error_rate", kind="max", limit=0)),
        ("success_at_k>=1", Check(metric="hit_at_k", kind="min", limit=1)),
        ("latency_ms.p95<=2.5e3", Check(metric="latency_ms.p95", kind="max", limit=2500)),
        (
            "recall_all_at_k[multi_hop]>=0.7",
            Check(
                metric="recall_all_at_k",
                kind="min",
                limit=0.7,
                table="category",
                group="multi_hop",
            ),
        ),
        (
            "mrr [recency/conflict] >= 0.7",
            Check(metric="mrr", kind="min", limit=0.7, table="category", group="recency/conflict"),
        ),
        (
            "recall_at_k[tag work]>=0.8",
            Check(metric="recall_at_k", kind="min", limit=0.8, table="tag", group="work"),
        ),
        ("mrr[tag]>=0", Check(metric="mrr", kind="min", limit=0, table="category", group="tag")),
    ],
)
def test_an_expression_is_a_check(text: str, check: Check) -> None:
    assert parse_gate_expression(text) == check


@pytest.mark.parametrize(
    "text",
    ["", "mrr", "mrr>0.5", "mrr=0.5", "mrr>=", ">=0.5", "mrr>=0.5x", "mrr>=nan", "mrr>=1e999",
     "mrr[]>=1", "mrr[a b]>=1", "mrr[a>=1", "mrr>=0.5 mrr>=0.6"],
)  # fmt: skip
def test_an_expression_of_another_shape_shows_the_right_one(text: str) -> None:
    with pytest.raises(ConfigError, match=r"NUMBER in quotes, such as 'recall_at_k>=0\.9', "):
        parse_gate_expression(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mr>=1", 'got \'mr>=1\': unknown metric "mr", did you mean "mrr"?'),
        ("zzzz>=1", "got 'zzzz>=1': unknown metric \"zzzz\""),
        ("pass_rate[a]>=1", "got 'pass_rate[a]>=1': pass_rate is a figure of the whole run"),
    ],
)
def test_an_expression_with_a_wrong_metric_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_gate_expression(text)
    assert str(caught.value) == message


def test_a_gate_replaces_the_same_check_of_the_file_in_its_place() -> None:
    found = parse("[overall]\nmrr = '>= 0.5'\nmap = '>= 0.5'", "mrr>=0.9", "mrr>=0.8")
    assert [(check.name, check.limit) for check in found.checks] == [("mrr", 0.8), ("map", 0.5)]
