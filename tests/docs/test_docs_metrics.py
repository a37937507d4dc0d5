"""The page on metrics agrees with the code: its entries, its examples, its links."""

from __future__ import annotations

import json
import re
from collections import Counter
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.judges.asking import Judges, judge_case
from pytest_rageval.judges.evidence import with_evidence
from pytest_rageval.judges.offline.judge import OfflineJudge
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.matching import matches_anchor
from pytest_rageval.metrics.quotes import holds_quote
from pytest_rageval.metrics.registry import STAGE_PREFIX, MetricInfo
from pytest_rageval.metrics.view import Verdicts, view_case
from pytest_rageval.project.case_reader import parse_case
from pytest_rageval.support.threads import at_once
from pytest_rageval.target.contract import parse_ask_response
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import MATCH_RULES, ErrorInfo, RetrievedChunk
from tests.build.scores import rerank_delta, score_reply
from tests.docs.examples import (
    DOCS,
    Block,
    Section,
    heading_slug,
    link_targets,
    read_document,
    run_sessions,
    sections,
    session_results,
)

PAGE = read_document("metrics.md")
SECTIONS = sections(PAGE)
REGISTRY = {
    key: info
    for key, info in {**BUILT_IN.cases, **BUILT_IN.runs}.items()
    if not key.startswith(STAGE_PREFIX)  # one entry and the table of failure stages say them
}
FREE = {"embedding_silhouette", f"{STAGE_PREFIX}STAGE"}
"""Keys that have an entry although no threshold can name them."""
FIELDS = ["Range", "Population", "Formula", "Empty case", "Source"]
DIRECTIONS = {
    "higher": "higher is better",
    "lower": "lower is better",
    "neutral": "neither way is better",
}
Values = dict[str, Any]


def _key(section: Section) -> str | None:
    code = re.fullmatch(r"`([^`]+)`", section.title)
    return code[1] if code and section.level == 3 else None


ENTRIES = {key: section for section in SECTIONS if (key := _key(section)) is not None}


def range_text(info: MetricInfo) -> str:
    """Say the scale of a metric as the page does."""
    low, high = info.scale
    if high is None:
        return f"{low:g} and up"
    return f"{low:g} {'or' if info.binary else 'to'} {high:g}"


def fields_of(entry: Section) -> dict[str, str]:
    """Return the bullets of an entry, unwrapped."""
    found = re.findall(r"^- \*\*([^*]+):\*\* (.+(?:\n  .+)*)", entry.text, flags=re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}


# --- entries -------------------------------------------------------------------------------


def test_every_metric_has_one_entry_and_no_entry_is_of_something_else() -> None:
    counts = Counter(filter(None, map(_key, SECTIONS)))
    assert counts.keys() - FREE == REGISTRY.keys() - FREE
    assert REGISTRY.keys() <= counts.keys()
    assert set(counts.values()) == {1}


@pytest.mark.parametrize("key", ENTRIES)
def test_an_entry_has_every_field(key: str) -> None:
    found = fields_of(ENTRIES[key])
    assert list(found) == FIELDS
    assert all(len(text) > 3 for text in found.values())


@pytest.mark.parametrize("info", REGISTRY.values(), ids=lambda info: str(info.key))
def test_an_entry_says_what_the_registry_says(info: MetricInfo) -> None:
    entry = ENTRIES[info.key]
    assert f"\n**{info.title}.** " in entry.text
    found = fields_of(entry)
    assert found["Range"] == f"{range_text(info)}, {DIRECTIONS[info.direction]}"
    assert found["Population"] == info.population


def test_the_overview_lists_every_entry_in_order_with_its_range_and_direction() -> None:
    (overview,) = [section for section in SECTIONS if section.title == "Overview"]
    rows = re.findall(
        r"^\| \[`([^`]+)`\]\(#([^)]+)\) \| ([^|]+) \| ([^|]+) \| (\w+) \|$", overview.text, re.M
    )
    assert {key for key, *_ in rows} == ENTRIES.keys()
    assert len(rows) == len(ENTRIES)
    for key, slug, question, scale, better in rows:
        assert slug == heading_slug(f"`{key}`")
        assert question
        info = REGISTRY.get(key)
        said = fields_of(ENTRIES[key])["Range"]
        assert said == f"{scale}, {DIRECTIONS[better]}"
        assert info is None or (scale, better) == (range_text(info), info.direction)


def test_weights_of_the_composite_are_those_of_the_code() -> None:
    from pytest_rageval.metrics.built_in import FIVE_WEIGHTS

    terms = [f"{weight:.2f} {name.replace('_', ' ')}" for name, weight in FIVE_WEIGHTS.items()]
    assert fields_of(ENTRIES["five.composite"])["Formula"] == " + ".join(terms)
    for name, weight in FIVE_WEIGHTS.items():
        assert f"weight {weight:.2f}" in fields_of(ENTRIES[f"five.{name}"])["Formula"]


# --- examples of a case --------------------------------------------------------------------


def _load(text: str) -> Values:
    loaded: Values = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    return loaded


def _case_examples() -> list[tuple[Section, Block, Block]]:
    """Pair each block that holds a case with the block of scores after it."""
    pairs = []
    for section in SECTIONS:
        blocks = [b for b in section.blocks if b.language == "json"]
        for block, after in pairwise(blocks):
            if '"case"' in block.text:
                assert after.between == "gives", f"line {after.line}: expected the word gives"
                pairs.append((section, block, after))
    return pairs


CASE_EXAMPLES = _case_examples()


_JUDGED = {"judge", "verdicts"}


def score_example(text: str) -> Values:
    """Score an example: its metrics as numbers or words, its outcome, what reranking did."""
    given: Values = json.loads(text)
    unknown = given.keys() - {"case", "response", "error", "k", "verdicts", "judge"}
    assert not unknown, f"unknown parts of an example: {unknown}"
    case = parse_case({"id": "example", "question": "?", **given["case"]})
    reply, response, error = given["response"], None, None
    if reply is not None:
        response = parse_ask_response({"answer": "An answer.", **reply})
    if "error" in given:
        error = ErrorInfo(kind=given["error"], message="the target failed")
    verdicts = Verdicts(**given["verdicts"]) if "verdicts" in given else None
    settings = ScoreSettings(k=given.get("k", 5), judge_configured=bool({*given} & _JUDGED))
    if given.get("judge") == "offline":
        view = view_case(case, response, settings, error=error)
        judged = at_once(
            judge_case(view, Judges(OfflineJudge()), rubrics=("groundedness", "correctness"))
        )
        verdicts = with_evidence(view, judged)
    scores = score_reply(case, response, settings, error=error, verdicts=verdicts)
    found: Values = {"outcome": scores.outcome, "failure_stage": scores.failure_stage}
    for key, value in scores.metrics.items():
        unscored = "not applicable" if key in scores.not_applicable else "error"
        found[key] = unscored if value is None else value
    if scores.metrics_before_rerank is not None:
        found |= {"before_rerank": scores.metrics_before_rerank, "delta": rerank_delta(scores)}
    return found


def differences(expected: Values, found: Values) -> list[str]:
    """Return what is written otherwise than found; a number may be rounded to four places."""
    wrong = []
    for key, want in expected.items():
        got = found.get(key)
        if isinstance(want, dict):
            wrong += [f"{key}.{line}" for line in differences(want, dict(got or {}))]
        elif isinstance(want, Decimal) and isinstance(got, float):
            if abs(float(want) - got) > 1e-12 and str(want) != f"{got:.4f}":
                wrong.append(f"{key}: the page says {want}, the code {got!r}")
        elif want != got:
            wrong.append(f"{key}: the page says {want!r}, the code {got!r}")
    return wrong


@pytest.mark.parametrize(
    ("example", "expected"),
    [pytest.param(one, two, id=f"line {one.line}") for _, one, two in CASE_EXAMPLES],
)
def test_an_example_of_a_case_gives_what_the_page_says(example: Block, expected: Block) -> None:
    assert differences(_load(expected.text), score_example(example.text)) == []


def test_a_wrong_number_word_or_key_in_an_example_is_found() -> None:
    found = {"mrr": 1 / 3, "map": "error", "delta": {"mrr": 0.5}}
    assert differences(_load('{"mrr": 0.3333, "map": "error", "delta": {"mrr": 0.5}}'), found) == []
    for wrong in ["0.3334", "0.333", "0", '"error"', "null"]:
        assert differences(_load(f'{{"mrr": {wrong}}}'), found), wrong
    for wrong in ['{"map": 0}', '{"map": "not applicable"}', '{"delta": {"mrr": 1}}', '{"rr": 1}']:
        assert differences(_load(wrong), found), wrong


@pytest.mark.parametrize("key", ENTRIES)
def test_an_entry_has_an_example_that_runs_and_names_the_key_in_its_result(key: str) -> None:
    scored = [_load(after.text) for section, _, after in CASE_EXAMPLES if section is ENTRIES[key]]
    blocks = ENTRIES[key].blocks
    printed = [w for b in blocks if b.language == "pycon" for w in session_results(b)]
    by_case = any(isinstance(values.get(key), Decimal) for values in scored)
    shown = "'stage." if key == "stage.STAGE" else f"'{key}': "
    assert by_case or any(shown in want for want in printed)


def test_every_block_of_the_page_is_run() -> None:
    blocks = [block for section in SECTIONS for block in section.blocks]
    assert len(blocks) == PAGE.count("\n```") / 2
    run = {block.line for _, *pair in CASE_EXAMPLES for block in pair}
    left = [b for b in blocks if b.language != "pycon" and b.line not in run]
    # The two files and the output of one command have a test of their own.
    assert [b.line for b in left] == [b.line for b in _section("Run an example").blocks[:3]]


# --- other examples ------------------------------------------------------------------------


def _section(title: str) -> Section:
    (found,) = [section for section in SECTIONS if section.title == title]
    return found


def test_the_python_sessions_of_the_page_print_what_it_says() -> None:
    attempted, report = run_sessions(PAGE, "metrics.md")
    assert attempted > 50
    assert report == ""


def test_a_session_that_prints_something_else_is_reported() -> None:
    attempted, report = run_sessions("text\n```pycon\n>>> 1 + 1\n3\n```\n", "page.md")
    assert attempted == 1
    assert 'File "page.md", line 3' in report


def test_the_command_of_the_page_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pytest_rageval.cli.main import run

    section = _section("Run an example")
    cases, responses, console = section.blocks[:3]
    for block in (cases, responses):
        (tmp_path / block.between.split("`")[-2]).write_text(block.text, encoding="utf-8")
    command, *expected = console.text.splitlines()
    monkeypatch.chdir(tmp_path)
    assert run(command.removeprefix("$ rageval ").split()) == 0
    assert capsys.readouterr().out.splitlines() == expected


def test_the_table_of_matches_is_true() -> None:
    rows = re.findall(
        r"^\| (`[^|]+`|\(none\)) \| `([^|]+)` \| (yes|no) \|$",
        _section("Matching").text.split("**By headings**")[1],
        re.M,
    )
    assert {matches for *_, matches in rows} == {"yes", "no"}
    for gold, chunk, matches in rows:
        anchor = Anchor(rel_path="a.md", heading_path="" if gold == "(none)" else gold.strip("`"))
        found = RetrievedChunk(rel_path="a.md", heading_path=chunk)
        assert matches_anchor(anchor, found, ScoreSettings()) == (matches == "yes"), (gold, chunk)


def test_the_table_of_snippets_is_true() -> None:
    page = _section("Matching").text.split("**A text holds a snippet**")[1].split("**Pages**")[0]
    rows = re.findall(r"^\| `(.+?)` \| (`.+`.*) \| (yes|no) \|$", page, re.M)
    assert len(rows) > 5
    for snippet, cell, held in rows:
        text = "\n".join(re.findall(r"`([^`]+)`", cell)).replace("\\|", "|")
        assert holds_quote(snippet, text) == (held == "yes"), snippet


def test_the_table_of_rules_names_every_rule_in_its_order() -> None:
    page = _section("Matching").text.split("**A text holds a snippet**")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", page, re.M)) == MATCH_RULES


def test_the_table_of_failure_stages_has_every_stage_in_order() -> None:
    from typing import get_args

    from pytest_rageval.values.record import FailureStage

    stages = re.findall(r"^\| `(\w+)` \|", _section("Failure stages").text, re.M)
    assert tuple(stages) == get_args(FailureStage)
    assert {f"{STAGE_PREFIX}{stage}" for stage in stages} == BUILT_IN.runs.keys() - REGISTRY.keys()


def test_the_aliases_of_the_page_are_those_of_the_code() -> None:
    from pytest_rageval.metrics.built_in import BUILT_IN

    (sentence,) = re.findall(r"^Other names are accepted.*?\n\n", PAGE, re.M | re.DOTALL)
    assert set(re.findall(r"`([^`]+)`", sentence)) - {"_at_k"} == BUILT_IN.aliases.keys() | {
        "hit_at_k"
    }


# --- links ---------------------------------------------------------------------------------


def test_every_link_within_the_page_leads_to_a_heading() -> None:
    slugs = Counter(heading_slug(section.title) for section in SECTIONS)
    inner = [target[1:] for target in link_targets(PAGE) if target.startswith("#")]
    assert len(inner) > len(ENTRIES)
    assert [slug for slug in inner if slugs[slug] != 1] == []


def test_links_to_other_pages_lead_to_a_page_and_a_heading_of_it() -> None:
    outer = [target.partition("#") for target in link_targets(PAGE) if target[0] != "#"]
    assert any(fragment for *_, fragment in outer)
    for page, _, fragment in outer:
        assert (DOCS / page).exists(), page
        slugs = {heading_slug(section.title) for section in sections(read_document(page))}
        assert not fragment or fragment in slugs, f"{page}#{fragment}"
