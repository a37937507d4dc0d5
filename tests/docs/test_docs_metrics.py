"""The pages on metrics agree with the code: entries, examples, links."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest

from docs.site.metric_pages import metric_groups, overview
from pytest_rageval.judges.asking import Judges, judge_case
from pytest_rageval.judges.evidence import with_evidence
from pytest_rageval.judges.offline.judge import OfflineJudge
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.matching import matches_anchor
from pytest_rageval.metrics.quotes import holds_quote
from pytest_rageval.metrics.registry import STAGE_PREFIX
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

HEAD, GROUPS = metric_groups()
ENTRIES = {entry.key: entry for group in GROUPS for entry in group.entries}
REFERENCE = "\n".join([overview(HEAD, GROUPS), *(entry.text for entry in ENTRIES.values())])
"""All generated pages as one, so that a session can use what an earlier one defined."""
PAGES = {
    "reference": REFERENCE,
    **{name: read_document(name) for name in ("metrics.md", "matching.md")},
}
SECTIONS = {name: sections(page) for name, page in PAGES.items()}
REGISTRY = {
    key
    for key in [*BUILT_IN.cases, *BUILT_IN.runs]
    if not key.startswith(STAGE_PREFIX)  # one entry and the table of failure stages say them
}
FREE = {"embedding_silhouette", f"{STAGE_PREFIX}STAGE"}
"""Keys that have an entry although no threshold can name them."""
Values = dict[str, Any]


def _blocks(key: str) -> list[Block]:
    (section,) = [one for one in SECTIONS["reference"] if one.title == f"`{key}`"]
    return list(section.blocks)


# --- entries -------------------------------------------------------------------------------


def test_every_metric_has_one_entry_and_no_entry_is_of_something_else() -> None:
    keys = [entry.key for group in GROUPS for entry in group.entries]
    assert sorted(keys) == sorted(REGISTRY | FREE)


@pytest.mark.parametrize("key", ENTRIES)
def test_an_entry_says_what_the_registry_says(key: str) -> None:
    info = BUILT_IN.info(key)
    text, row = ENTRIES[key].text, ENTRIES[key].row
    for field in ("Range", "Population", "Formula", "Empty case", "Source"):
        assert re.search(rf"^- \*\*{field}:\*\* .{{4,}}$", text, re.M)
    if info is not None:
        assert f"\n**{info.title}.** " in text
        assert f"- **Population:** {info.population}\n" in text
        assert row.endswith(f"| {info.direction} |")


# --- examples of a case --------------------------------------------------------------------


def _load(text: str) -> Values:
    loaded: Values = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    return loaded


def _case_examples() -> list[tuple[Section, Block, Block]]:
    """Pair each block that holds a case with the block of scores after it."""
    pairs = []
    for section in chain.from_iterable(SECTIONS.values()):
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
    [
        pytest.param(one, two, id=f"{section.title} {one.line}")
        for section, one, two in CASE_EXAMPLES
    ],
)
def test_an_example_of_a_case_gives_what_the_page_says(example: Block, expected: Block) -> None:
    assert differences(_load(expected.text), score_example(example.text)) == []


@pytest.mark.parametrize("key", ENTRIES)
def test_an_entry_has_an_example_that_runs_and_names_the_key_in_its_result(key: str) -> None:
    blocks = _blocks(key)
    scored = [_load(b.text) for b in blocks if b.between == "gives"]
    printed = [w for b in blocks if b.language == "pycon" for w in session_results(b)]
    by_case = any(isinstance(values.get(key), Decimal) for values in scored)
    shown = "'stage." if key == "stage.STAGE" else f"'{key}': "
    assert by_case or any(shown in want for want in printed)


def test_every_block_of_the_pages_is_run() -> None:
    blocks = [b for page in SECTIONS.values() for section in page for b in section.blocks]
    texts = {b.text for _, *pair in CASE_EXAMPLES for b in pair}
    left = [b.text for b in blocks if b.language != "pycon" and b.text not in texts]
    # The two files and the output of one command have a test of their own, the anchor shows a form.
    shown = _section("reference", "Run an example").blocks[:3]
    assert left == [
        *(b.text for b in shown),
        _section("matching.md", "Evidence and matching").blocks[0].text,
    ]


# --- other examples ------------------------------------------------------------------------


def _section(page: str, title: str) -> Section:
    (found,) = [section for section in SECTIONS[page] if section.title == title]
    return found


def test_the_python_sessions_of_the_reference_print_what_it_says() -> None:
    attempted, report = run_sessions(REFERENCE, "reference")
    assert attempted > 50
    assert report == ""


def test_the_command_of_the_page_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pytest_rageval.cli.main import run

    section = _section("reference", "Run an example")
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
        _section("matching.md", "Matching").text.split("**By headings**")[1],
        re.M,
    )
    assert {matches for *_, matches in rows} == {"yes", "no"}
    for gold, chunk, matches in rows:
        anchor = Anchor(rel_path="a.md", heading_path="" if gold == "(none)" else gold.strip("`"))
        found = RetrievedChunk(rel_path="a.md", heading_path=chunk)
        assert matches_anchor(anchor, found, ScoreSettings()) == (matches == "yes"), (gold, chunk)


def test_the_table_of_snippets_is_true() -> None:
    page = (
        _section("matching.md", "Matching")
        .text.split("**A text holds a snippet**")[1]
        .split("**Pages**")[0]
    )
    rows = re.findall(r"^\| `(.+?)` \| (`.+`.*) \| (yes|no) \|$", page, re.M)
    assert len(rows) > 5
    for snippet, cell, held in rows:
        text = "\n".join(re.findall(r"`([^`]+)`", cell)).replace("\\|", "|")
        assert holds_quote(snippet, text) == (held == "yes"), snippet


def test_the_table_of_rules_names_every_rule_in_its_order() -> None:
    page = _section("matching.md", "Matching").text.split("**A text holds a snippet**")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", page, re.M)) == MATCH_RULES


# --- links ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_to_a_page_and_a_heading_of_it(name: str) -> None:
    targets = [target.partition("#") for target in link_targets(PAGES[name])]
    assert any(fragment for *_, fragment in targets)
    for path, _, fragment in targets:
        assert not path or (DOCS / path).exists(), path
        if fragment:
            page = SECTIONS[name] if not path else sections(read_document(path))
            assert fragment in {heading_slug(one.title) for one in page}, f"{path}#{fragment}"
