from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.report.html.run.cases import paired_records
from pytest_rageval.values.gate import BaselineInfo, Check
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import StoredRun
from tests.build.records import changed
from tests.report.html.builders import against, check, gated, missed, page, passed, run


def compared(old: StoredRun, new: StoredRun, **fields: Any) -> str:
    """Text of the comparison on the page."""
    html = page(new, baseline=old, **fields)
    part = html[html.index('id="compare"') :]
    text = part[: part.index("</section>")].replace("<wbr>", "")
    return " ".join(re.sub("<[^>]*>", " ", text).split())


def test_flips_are_shown_with_their_reasons_and_lead_to_their_cases() -> None:
    old = run([passed("a"), missed("b"), passed("c")], "old")
    new = run([missed("a"), passed("b"), passed("c")], "new")

    text = compared(old, new)

    assert text.index("worse a") < text.index("better b")
    assert "1 worse, 1 better, 1 unchanged" in text
    assert 'href="#case-a"' in page(new, baseline=old)


def test_cases_that_cannot_be_compared_are_counted_by_reason() -> None:
    old = run([passed("a"), passed("gone"), passed("edited", case_hash="1" * 16)])
    new = run([passed("a"), passed("added"), passed("edited")])

    text = compared(old, new)

    assert "1 paired case" in text
    assert "1 changed content, 1 only in base, 1 only in new" in text
    assert set(paired_records(against(old, new), new.records)) == {("evals/set.jsonl", "a", 0)}


@pytest.mark.parametrize(
    ("base", "limit", "word"),
    [("old", 0.1, "beyond"), ("other", 0.1, "unclear"), ("old", 0.3, "unclear")],
)
def test_a_drop_past_a_limit_has_the_word_that_compare_has(
    base: str, limit: float, word: str
) -> None:
    old = run([passed(f"c{n}") for n in range(4)], "old")
    new = run([*(passed(f"c{n}") for n in range(3)), missed("c3")], "new")
    drop = Check(metric="recall_at_k", kind="max_drop", limit=limit)
    dropped = check("recall_at_k", "warn", check=drop, estimate=-0.25)
    gate = gated(dropped, baseline=BaselineInfo(run_id=base))
    html = page(replace(new, gate=gate), baseline=old)
    rows = re.findall("<tr[^>]*>.*?</tr>", html, flags=re.DOTALL)
    [row, *_] = [one for one in rows if 'href="#sort=recall_at_k"' in one]
    assert f"{word} -0.250" in re.sub("<[^>]*>", "", row)


def test_the_page_shows_both_answers_side_by_side() -> None:
    old = run([passed("a", answer="The old answer.")], "old")
    new = run([changed(missed("a"), answer="The new answer.")], "new")

    html = page(new, baseline=old)

    before, now = "The <del>old</del> answer.", "The <ins>new</ins> answer."
    assert html.index(now) < html.index(before)
    assert "are <del>struck out</del> or <ins>underlined</ins>" in html
    assert html.index('id="compare"') < html.index('id="metrics"')
    assert "Hollow dot: baseline" in html


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (passed("a"), missed("a"), "Baseline: passed, now missed not_retrieved;"),
        (missed("a"), passed("a"), "Baseline: missed not_retrieved, now passed;"),
    ],
)
def test_the_outcomes_of_a_case_in_both_runs_are_one_sentence(
    old: CaseRecord, new: CaseRecord, sentence: str
) -> None:
    html = page(run([new]), baseline=run([old], "old"))
    [line] = [line for line in html.splitlines() if "Baseline:" in line]
    assert sentence in re.sub("<[^>]*>", "", line)
