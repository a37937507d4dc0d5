"""Estimates of the calls and cost of judging stored answers, without any call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_rageval.judges.asking import Judges, judge_case
from pytest_rageval.judges.opening import is_named, open_model, second_settings
from pytest_rageval.judges.spot_check import asks_second_judge, choose_cases, repeated_rubrics
from pytest_rageval.metrics.scoring import score_settings, view_record
from pytest_rageval.support.threads import at_once
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.verdict import Judgement, JudgeRequest, Verdict

if TYPE_CHECKING:
    from pytest_rageval.judges.cost import PlannedCall
    from pytest_rageval.judges.model.judge import OpenAIJudge


@dataclass(slots=True)
class _Planner:
    """Stand-in for a judge that only notes the verdicts it is asked for."""

    judge_in_question: OpenAIJudge
    rubrics: frozenset[str] | None = None
    """Rubrics that count; None: all."""
    planned: list[PlannedCall] = field(default_factory=list)

    @property
    def identity(self) -> str:
        return self.judge_in_question.identity

    def judge(self, rubric: str, request: JudgeRequest, *, repeat: int = 0) -> Judgement:
        if self.rubrics is None or rubric in self.rubrics:
            self.planned.append(self.judge_in_question.plan(rubric, request, repeat=repeat))
        # Assumed not to be an abstention, so that the estimate is rather too high.
        verdict = Verdict(abstained=False)
        return Judgement(rubric=rubric, rubric_version=rubric, judge=self.identity, verdict=verdict)


def plan_verdicts(
    records: Iterable[CaseRecord], settings: Settings, environ: Mapping[str, str]
) -> str:
    """Estimate verdicts on stored answers without asking, one line for each judge.

    Args:
        records: with their cases and whole texts.
        settings: the judge, the number of cases judged twice, and the rubrics.
        environ: as for judging; the key is not needed.

    Raises:
        ConfigError: the judge or a rubric is wrong.
        StorageError: the cache cannot be read.
    """
    kept = list(records)
    lines = [_plan(kept, settings, environ)]
    if asks_second_judge(settings):
        chosen = choose_cases(((r.file, r.case) for r in kept), settings)
        twice = [record for record in kept if (record.file, record.case.id) in chosen]
        lines.append(f"second {_plan(twice, settings, environ, second=True)}")
    return "\n".join(lines)


def _plan(
    records: Iterable[CaseRecord],
    settings: Settings,
    environ: Mapping[str, str],
    *,
    second: bool = False,
) -> str:
    rubrics = settings.judging.rubrics
    alternate = second and settings.judging.spot_check_model is None
    if second:
        rubrics = repeated_rubrics(rubrics)
        settings = second_settings(settings)
    if settings.judge == "offline":
        return "judge: the offline judge sends no request and costs nothing"
    if is_named(settings):
        return f"judge: what {settings.judge} costs is not known"
    from pytest_rageval.judges.cost import describe

    with open_model(settings, environ, alternate=alternate, needs_key=False) as judge:
        planner = _Planner(judge, frozenset(rubrics) if second else None)
        for record in records:
            scoring = replace(score_settings(settings), k=record.k)
            view = view_record(record, scoring)
            asked = Judges(planner)
            at_once(judge_case(view, asked, rubrics=rubrics, repeat=record.repeat))
        return describe(planner.planned, judge.price, max_tokens=settings.judging.max_tokens)
