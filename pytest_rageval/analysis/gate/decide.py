"""Pass or fail: the numbers of a run against the limits of thresholds.toml. Pure.

A check without data fails, a check over a partial selection is skipped, and a run that reports
fewer cases than expected fails as incomplete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Final, Literal

from pytest_rageval.analysis.aggregate.case_groups import CaseGroup, case_names, group_repeats
from pytest_rageval.analysis.aggregate.operational import ERROR_KINDS
from pytest_rageval.analysis.compare.conclusion import unanswered
from pytest_rageval.analysis.gate.differences import GateBaseline, decide_differences
from pytest_rageval.analysis.gate.figures import (
    CheckFigure,
    LimitDecision,
    decide_limit,
    find_figure,
    in_table,
    no_interval,
)
from pytest_rageval.analysis.trust.admission import JudgesBehind
from pytest_rageval.metrics.built_in import stored_registry
from pytest_rageval.metrics.registry import unit_of
from pytest_rageval.metrics.scoring import is_unsure
from pytest_rageval.support.text import (
    counted,
    first_few,
    format_limit_pair,
    format_value,
    part,
    plural,
)
from pytest_rageval.values.diagnoses.target import TURN_NOT_REACHED
from pytest_rageval.values.gate import (
    WHOLE_SET,
    BaselineInfo,
    Check,
    CheckResult,
    CheckStatus,
    GateResult,
    Selection,
    Thresholds,
    needs_baseline,
)
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import TIMED, StoredRun
from pytest_rageval.values.verdict import NOT_ADMITTED, Admissions
from pytest_rageval.values.words import PROVEN

NO_BASELINE: Final = (
    'no baseline is named: `rageval runs tag RUN main`, and baseline = "main" above the first '
    "[table] of thresholds.toml"
)


SHOWN_FAILURES: Final = 3
NONE_ADMITTED: Final = Admissions()

_ANSWERS: Final = "answer metrics"
_NO_JUDGE: Final = "the run has no judge"


# --- one check -------------------------------------------------------------------------------


def _nothing_counts(run: StoredRun, n_reported: int) -> str:
    """Say why no case of a run counts, and what to do; empty: some do, or none was reported."""
    if not n_reported or any(record.counted for record in run.records):
        return ""
    n = len(group_repeats(run.records))
    if not n:
        return "no case was asked: all were skipped"
    asked = f"{counted(n, 'case', ('was', 'were'))} asked, none is reviewed"
    return f"{asked}: go through them with `rageval label --review`"


def _skip_reason(check: Check, run: StoredRun, selection: Selection, nothing: str) -> str | None:
    if nothing and not (run.records and check.metric in ERROR_KINDS):
        return nothing
    info = stored_registry(run.config).info(check.metric)
    if info is not None and info.answer_side and run.settings.retrieval_only:
        return f"{_ANSWERS} are not gated under --retrieval-only"
    judge_configured = run.settings.judge != "none"
    if info is not None and info.judged and not judge_configured:
        return f"{_NO_JUDGE}, and this metric is judged"
    if check.metric == "judge_error_rate":
        if not judge_configured:
            return _NO_JUDGE
        if run.numbers.rates.get("judge_error_rate") is None:
            return "no verdict was needed"
    untimed = check.metric.startswith(TIMED) and run.config.concurrency == 0
    if untimed and find_figure(check, run).estimate is None:
        return "replies were recorded without this time"
    # These show whether the measurement worked, for any part of a set, and a dead target must not
    # pass because only a few cases were selected.
    worked = check.metric in {"error_rate", "judge_error_rate"}
    return None if worked else selection.missing_for(check)


def _proof_note(check: Check, figure: CheckFigure, decision: LimitDecision) -> str:
    """Describe whether it is proven, with the bound that decides it."""
    lower = (check.kind == "min") == (check.decide == "prove_pass")
    bound = figure.low_one_sided if lower else figure.high_one_sided
    if bound is None:
        return "not proven"
    text = format_limit_pair(bound, check.limit, unit_of(check.metric))[0]
    proven = decision.proof in {"proven_pass", "proven_fail"}
    return f"{PROVEN[proven]}: {'lower' if lower else 'upper'} bound {text}"


def _message(check: Check, figure: CheckFigure, decision: LimitDecision) -> str:
    estimate = figure.estimate
    if estimate is None:
        return f"no data: {figure.no_data}"
    if decision.outcome == "no_data":
        return no_interval(check, format_value(estimate, unit_of(check.metric)))
    met = decide_limit(check.kind, check.limit, estimate=estimate).outcome == "pass"
    beyond, within = ("below", "at least") if check.kind == "min" else ("above", "at most")
    words = f"is {within if met else beyond}"
    value, limit = format_limit_pair(estimate, check.limit, unit_of(check.metric))
    more = " (a lower bound: calls timed out)" if figure.censored else ""
    if check.use == "corrected":
        more = f" (corrected by {counted(figure.n or 0, 'label')})"
    sentence = f"{value}{more} {words} {check.kind} {limit}"
    if check.decide == "estimate" or met == (check.decide == "prove_fail"):
        return sentence
    return f"{sentence}, {_proof_note(check, figure, decision)}"


def _decide_absolute(check: Check, run: StoredRun, confidence: float) -> CheckResult:
    figure = find_figure(check, run, confidence=confidence)
    decision = decide_limit(
        check.kind,
        check.limit,
        decide=check.decide,
        estimate=figure.estimate,
        low=figure.low_one_sided,
        high=figure.high_one_sided,
    )
    small = figure.is_mean and figure.n is not None and figure.n < check.min_n
    status: CheckStatus = "pass" if decision.outcome == "pass" else check.severity
    message = _message(check, figure, decision)
    if small and figure.estimate is not None and check.on_small_n != "warn":
        status = "skip" if check.on_small_n == "skip" else check.severity
        scored = counted(figure.n or 0, "scored case")
        message = f"only {scored}, fewer than min_n {check.min_n}"
    return CheckResult(
        check=check,
        status=status,
        message=message,
        estimate=figure.estimate,
        low=figure.low,
        high=figure.high,
        n=figure.n,
        proof=decision.proof,
        mde=figure.mde,
        small_n=small,
        missed_cases=figure.missed_cases,
    )


def _with_judge(result: CheckResult, run: StoredRun, judges: JudgesBehind) -> CheckResult:
    """Return a result that says whether the judge behind it is admitted."""
    check = result.check
    if result.status == "skip" or check.use == "corrected":
        return result
    records = [one for one in run.records if one.counted and in_table(one, check)]
    admitted = judges.admitted(check.metric, records)
    if admitted is not False:
        return replace(result, judge_admitted=admitted)
    return replace(
        result,
        judge_admitted=False,
        status="warn" if check.require_admitted else result.status,
        message=f"{result.message}; {NOT_ADMITTED}",
    )


def _decide_checks(
    thresholds: Thresholds,
    run: StoredRun,
    selection: Selection,
    baseline: GateBaseline | None,
    nothing: str,
    admissions: Admissions,
) -> tuple[CheckResult, ...]:
    skipped = {
        check: CheckResult(check=check, status="skip", message=reason)
        for check in thresholds.checks
        if (reason := _skip_reason(check, run, selection, nothing)) is not None
    }
    differences = {} if baseline is None else baseline.differences or {}
    compared = decide_differences(
        {c: d for c, d in differences.items() if c not in skipped}, confidence=thresholds.confidence
    )
    results, judges = [], JudgesBehind(run.records, admissions, thresholds.judged_on)
    for check in thresholds.checks:
        result = skipped.get(check) or compared.get(check)
        if result is None and needs_baseline(check):
            status: CheckStatus = check.severity if thresholds.require_baseline else "skip"
            problem = None if baseline is None else baseline.info.problem
            result = CheckResult(check=check, status=status, message=problem or NO_BASELINE)
        result = result or _decide_absolute(check, run, thresholds.confidence)
        results.append(_with_judge(result, run, judges))
    return tuple(results)


# --- the whole gate --------------------------------------------------------------------------


def _case_failures(cases: Sequence[CaseGroup], on_miss: str, names: Mapping[str, str]) -> list[str]:
    """Name the cases that fail the run regardless of the checks."""
    groups = {
        "required case": [case for case in cases if case.first.case.required],
        "case": [case for case in cases if not case.first.case.required and on_miss == "fail"],
    }
    found = []
    for noun, outcome in product(groups, ("missed", "flawed", "error")):
        ids = [names[case.first.nodeid] for case in groups[noun] if case.worst == outcome]
        # An error of another case is up to the limits of its rate.
        if ids and (noun, outcome) != ("case", "error"):
            verb = "failed" if outcome == "error" else outcome
            found.append(f"{counted(len(ids), noun)} {verb}: {first_few(ids, SHOWN_FAILURES)}")
    return found


def _incomplete(cases: Sequence[CaseGroup], n_expected: int, n_reported: int) -> str | None:
    if n_reported < n_expected:
        return f"{n_reported} of {counted(n_expected, 'case')} reported"
    skipped = sum(any(_cut_short(r) for r in c.records) for c in cases)
    if skipped:
        return f"{skipped} of {counted(len(cases), 'case')} not attempted"
    return unanswered([case for case in cases if case.first.counted]) or None


def _cut_short(record: CaseRecord) -> bool:
    """Whether a case was not attempted for another reason than an error in its conversation."""
    error = record.error
    return error is not None and error.kind == "not_attempted" and error.code != TURN_NOT_REACHED


def _nothing_checked(cases: Sequence[CaseGroup]) -> str:
    """Say that no case could be checked on anything; empty: some were, or none counts.

    An answer that the judge is unsure of was looked at; a warning counts those.
    """
    counted_cases = [case for case in cases if case.first.counted]
    outcomes = [case.outcome for case in counted_cases]
    n = outcomes.count("unchecked")
    if not n or n + outcomes.count("error") < len(outcomes):
        return ""
    if any(is_unsure(record) for case in counted_cases for record in case.records):
        return ""
    return (
        f"NOTHING CHECKED: {counted(n, 'case', ('was', 'were'))} answered, and "
        "nothing of what they ask for could be checked; a check needs golds and retrieved chunks, "
        "or a judge"
    )


def _skipped_for(skipped: Sequence[str], baseline: BaselineInfo) -> str:
    """Name the known reasons in the messages of skipped checks; empty if absent."""
    lacking = "no baseline" if baseline.run_id is None else "not comparable with the baseline"
    names = {
        WHOLE_SET: WHOLE_SET,
        _NO_JUDGE: "no judge",
        _ANSWERS: "retrieval only",
        baseline.problem or NO_BASELINE: lacking,
    }
    said = [why for start, why in names.items() if any(m.startswith(start) for m in skipped)]
    return part(" ({})", ", ".join(said))


def _check_sentences(
    results: Sequence[CheckResult], baseline: BaselineInfo
) -> tuple[int, str, str]:
    """Return the number of failed checks, in words, and a sentence on all checks."""
    failed = [r for r in results if r.status == "fail"]
    skipped = [r.message for r in results if r.status == "skip"]
    decided = len(results) - len(skipped)
    if failed:
        # Errors of the target leave many checks without data, and their rate says so.
        told = sorted(failed, key=lambda r: r.estimate is None)
        shown = [f"{r.check.name} {r.message}" for r in told]
        of = plural(decided, "1 check", f"{len(failed)} of {decided} checks")
        behind = f", {NOT_ADMITTED}" if any(r.judge_admitted is False for r in failed) else ""
        return len(failed), of + behind, f"{of}: {first_few(shown, SHOWN_FAILURES, '; ', '; and ')}"
    warned = sum(r.status == "warn" for r in results)
    parts = [counted(decided, "check")]
    if warned:
        parts.append(counted(warned, "warning"))
    if skipped:
        parts.append(f"{len(skipped)} skipped{_skipped_for(skipped, baseline)}")
    if any(r.judge_admitted is False for r in results):
        parts.append(NOT_ADMITTED)
    return 0, ", ".join(parts), ", ".join(parts)


def decide_gate(
    thresholds: Thresholds,
    run: StoredRun,
    selection: Selection,
    *,
    n_expected: int,
    n_reported: int,
    baseline: GateBaseline | None = None,
    admissions: Admissions = NONE_ADMITTED,
) -> GateResult:
    """Decide a run.

    Args:
        thresholds: the checks, the implicit ones included (``with_implicit_checks``).
        run: with its numbers, and a record per case and repeat; cases that do not count are only
            expected.
        selection: the part of the set that was selected.
        n_expected: number of cases that the run should have reported.
        n_reported: number of cases that it reported.
        baseline: differences of the checks against it; None or not comparable: those checks are
            skipped (or fail, if thresholds require a baseline).
        admissions: what is known of the judges.
    """
    info = None if baseline is None else baseline.info
    nothing = _nothing_counts(run, n_reported)
    names = case_names(run.records)
    results = tuple(
        replace(result, missed_cases=tuple(names[nodeid] for nodeid in result.missed_cases))
        for result in _decide_checks(thresholds, run, selection, baseline, nothing, admissions)
    )
    cases = group_repeats(run.records)
    unchecked = _nothing_checked(cases)
    incomplete = _incomplete(cases, n_expected, n_reported)
    case_failures = _case_failures([c for c in cases if c.first.counted], thresholds.on_miss, names)
    n_failed, in_words, sentence = _check_sentences(results, info or BaselineInfo())
    verdict: Literal["pass", "fail", "not_evaluated"] = "pass"
    if incomplete or unchecked or n_failed or case_failures:
        cut_short = incomplete and f"INCOMPLETE: {incomplete}"
        fail = "; ".join([*([sentence] if n_failed else []), *case_failures])
        said = "; ".join(filter(None, (cut_short, unchecked, fail and f"FAIL {fail}")))
        failed = [*([in_words] if n_failed else []), *case_failures]
        verdict, reason = "fail", "; ".join(filter(None, (incomplete, unchecked, *failed)))
    elif nothing or all(r.status == "skip" for r in results):
        why = (
            part("all checks were skipped: {}", results and results[0].message)
            or "there is no check"
        )
        verdict, reason = "not_evaluated", nothing or why
        said = f"NOT EVALUATED: {reason}"
    else:
        reason, said = sentence, f"PASS {sentence}"
    return GateResult(
        verdict=verdict,
        sentence=said,
        reason=reason,
        checks=results,
        complete=incomplete is None,
        checked=not unchecked,
        n_expected=n_expected,
        n_reported=n_reported,
        baseline=info,
        confidence=thresholds.confidence,
    )
