from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.analysis.headline import headline_of
from pytest_rageval.analysis.trust.reliability import (
    HumanLabel,
    JudgeLabels,
    judge_reliability,
)
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.report.faces.terminal import draw, show
from pytest_rageval.report.view.summary import (
    FinishedRun,
    session_view,
)
from pytest_rageval.values.gate import Check, CheckResult, GateResult
from pytest_rageval.values.headline import Headline, Named, Since
from pytest_rageval.values.numbers import JudgeReliability
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import NO_CONFIG, StoredRun
from pytest_rageval.values.verdict import Claim
from tests.build.records import changed, failed, hits, record, talk
from tests.build.verdicts import judged_by


def view(records: Sequence[CaseRecord], *checks: CheckResult, **fields: Any) -> FinishedRun:
    verdict: Literal["pass", "fail"] = "fail" if any(c.status == "fail" for c in checks) else "pass"
    gate = GateResult(
        verdict=verdict,
        sentence=f"{verdict}, says the gate",
        reason="1 of 2 checks",
        checks=checks,
    )
    run = StoredRun(
        folder=Path("evals/results/r-1"),
        records=records,
        config=replace(NO_CONFIG, wall_s=1.25, **fields.pop("config", {})),
        aggregate=fields.pop("aggregate", aggregate(records, confidence=0.95, timeout_ms=60_000)),
        gate=fields.pop("gate", gate),
    )
    given: dict[str, Any] = {"run": run, "folder": "evals/results/r-1"}
    return FinishedRun(**(given | fields))


def text(
    shown: FinishedRun, *, width: int = 80, verbosity: int = 0, colour: bool = False
) -> list[str]:
    found = session_view(shown, verbosity=verbosity, checks=True)
    blocks = show(found, verbose=verbosity > 0)
    return [*draw(blocks, width=width, colour=colour)]


def numbers(shown: FinishedRun, **options: Any) -> list[str]:
    """Return the lines under ``-v``, with the tables."""
    return text(shown, verbosity=1, **options)


def result(status: Any, **check: Any) -> CheckResult:
    given: dict[str, Any] = {"metric": "hit_at_k", "kind": "min", "limit": 0.9}
    return CheckResult(
        check=Check(**given | check), status=status, message="because", estimate=0.5, n=2
    )


def test_the_first_line_is_the_verdict_and_the_last_says_where_the_run_is() -> None:
    lines = text(view([*hits(1, 0), failed("bad")]))
    assert (
        lines[0] == "pass, says the gate; 3 cases: 1 passed, 1 missed, 1 errored; judge off; 1.2 s"
    )
    assert lines[-1] == "results  evals/results/r-1"
    paged = text(view(hits(1), report="evals/results/r-1/report.html"))
    assert paged[-1] == "report   evals/results/r-1/report.html"


def test_turns_are_counted_by_conversation_and_so_are_those_that_ask_back() -> None:
    turns = talk("ada", "passed", "passed")
    may = replace(turns[1].case, expected_behavior=("answer", "clarify"))
    turns[1] = changed(turns[1], case=may, clarifies=True)
    lines = numbers(view(turns))
    assert "; 2 turns of 1 conversation: 2 passed" in lines[0]
    assert ["1", "of", "1"] in [line.split()[1:4] for line in lines if line.startswith("clarify")]
    mixed = text(view([*turns, *hits(1)]))[0]
    assert "; 3 cases (2 turns of 1 conversation): 3 passed" in mixed


def test_failed_checks_are_counted_first_and_listed_where_nobody_else_does() -> None:
    shown = view(hits(1, 0), result("fail"), result("pass"), result("skip"))
    assert text(shown)[0].startswith("FAIL 1 of 2 checks; 2 cases")
    assert "FAIL     hit_at_k: because (n 2)" in text(shown)
    session = draw(show(session_view(shown)))
    assert not any("because" in line for line in session)


def test_cases_that_fail_are_named_by_outcome_and_cause_the_new_ones_first() -> None:
    since = Since(name="main", run_id="r0", n=4, broke=Named(n=1, names=("m2",)))
    records = [
        record("m1", outcome="missed", failure_stage="not_retrieved"),
        record("m2", outcome="missed", failure_stage="not_retrieved"),
        record("f1", outcome="flawed", failure_stage="not_cited"),
        failed("bad"),
    ]
    shown = view(records)
    gate = replace(shown.gate, headline=Headline(since=since, worst="m2"))
    lines = text(replace(shown, run=replace(shown.run, gate=gate)))
    assert lines[1:6] == [
        "missed   1 new not retrieved: m2",
        "error    1 not new: 1 http",
        "missed   1 not new: 1 not retrieved",
        "flawed   1 not new: 1 not cited",
        "since    main, 1 newly failing; 0 fixed",
    ]
    assert "next     rageval explain last m2   (the worst of 3)" in lines


def test_repeats_say_which_cases_vary_and_how_many_pass_every_time() -> None:
    records = [
        record(name, outcome="passed" if n < passes else "missed", repeat=n)
        for name, passes in (("always", 5), ("seldom", 1))
        for n in range(5)
    ]
    shown = view(records)
    gate = replace(shown.gate, headline=headline_of(records))
    (line,) = (
        t
        for t in text(replace(shown, run=replace(shown.run, gate=gate)))
        if t.startswith("repeats")
    )
    assert line == "repeats  5 of each; 1 of 2 cases varies; pass rate 60 %, all 5 pass: 50 %"


def test_the_first_screen_of_a_run_is_short() -> None:
    records = [
        record(f"a_case_{stage}_{i}", outcome="missed", failure_stage=stage)
        for stage in ("not_retrieved", "hallucinated", "out_of_scope")
        for i in range(20)
    ]
    checks = [result("fail", metric=key) for key in BUILT_IN.cases]
    assert len([*draw(show(session_view(view(records, *checks))))]) <= 15


def test_quiet_leaves_the_verdict_what_is_new_and_the_place() -> None:
    shown = view(hits(1, 0))
    assert [line.split()[0] for line in text(shown, verbosity=-1)] == ["pass,", "results"]
    since = Since(name="m", run_id="r", n=2, broke=Named(n=1, names=("b",)))
    found = replace(shown.gate, headline=Headline(since=since))
    lines = text(replace(shown, run=replace(shown.run, gate=found)), verbosity=-1)
    assert lines[1] == "since    m, 1 newly failing: b; 0 fixed"


def test_a_metric_row_holds_count_value_interval_limit_and_verdict() -> None:
    row = next(t for t in numbers(view(hits(1, 0), result("fail"))) if t.startswith("hit_at_k"))
    assert row.split() == ["hit_at_k", "2", "0.500", "0.09-0.91", ">=", "0.9", "FAIL"]


def ungrounded(case_id: str, *claims: str, score: float = 2.0, **fields: Any) -> CaseRecord:
    """Record of a case that passed, and of whose answer the judge found nothing supported."""
    return record(
        case_id,
        {"hit_at_k": 1.0, "groundedness": score},
        failure_stage="ungrounded",
        judgements=judged_by(claims=tuple(Claim(text=one, supported=False) for one in claims)),
        **fields,
    )


@pytest.mark.parametrize("width", [30, 50, 60, 80, 120])
@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_no_line_is_wider_than_the_terminal(width: int, verbosity: int) -> None:
    records = [*hits(1, 0, category="c" * 60, tags=("t" * 60,)), failed("x" * 90)]
    records.append(ungrounded("y" * 90, "word " * 60))
    checks = [result("fail"), result("fail", table="category", group="c" * 60, limit=0.123456)]
    lines = text(view(records, *checks), width=width, verbosity=verbosity)
    assert [t for t in lines if len(t) > width] == []


def skipped(metric: str, limit: float, **check: Any) -> CheckResult:
    return CheckResult(
        check=Check(metric=metric, kind="max", limit=limit, **check),
        status="skip",
        message="needs the whole set",
    )


def test_a_figure_of_the_run_has_the_count_of_its_check_unless_that_is_of_pairs() -> None:
    verdicts = result("fail", metric="judge_error_rate", kind="max")
    rise = result("pass", metric="pass_rate", kind="max_drop")
    lines = [line.split() for line in numbers(view(hits(1, 1, 0), verdicts, rise))]
    assert {
        line[0]: line[1]
        for line in filter(None, lines)
        if line[0] in {"judge_error_rate", "pass_rate"}
    } == {
        "judge_error_rate": "2",
        "pass_rate": "3",
    }


def reliability() -> JudgeReliability:
    scores: dict[str, Any] = {"groundedness": 5.0}
    twice = [
        record(
            f"c{i}",
            scores,
            judgements=judged_by("groundedness", scores, reasoning="SECRET"),
            spot_check=judged_by("groundedness", {"groundedness": float(second)}),
        )
        for i, second in enumerate((5, 1))
    ]
    label = HumanLabel(case_id="c0", rubric="groundedness", label=4.0)
    return judge_reliability(twice, JudgeLabels(labels=(label,), display="labels.jsonl"))
