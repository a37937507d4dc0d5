"""What judging stored answers would take, before a cent is spent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_rageval.engine import response_of
from pytest_rageval.judgements import Judgement, JudgeRequest, Verdict
from pytest_rageval.judging import judge_case
from pytest_rageval.models import CaseRecord, Settings

if TYPE_CHECKING:
    from pytest_rageval.judge_client import OpenAIJudge
    from pytest_rageval.judge_estimate import PlannedCall


@dataclass(slots=True)
class _Planner:
    """Takes the place of a judge, and only notes what it is asked."""

    judge_in_question: OpenAIJudge
    planned: list[PlannedCall] = field(default_factory=list)

    @property
    def identity(self) -> str:
        return self.judge_in_question.identity

    def judge(self, rubric: str, request: JudgeRequest, *, repeat: int = 0) -> Judgement:
        self.planned.append(self.judge_in_question.plan(rubric, request, repeat=repeat))
        # Taken as no abstention, so that the estimate errs on the side of more.
        verdict = Verdict(abstained=False)
        return Judgement(rubric=rubric, rubric_version=rubric, judge=self.identity, verdict=verdict)


def plan_verdicts(
    records: Iterable[CaseRecord], settings: Settings, environ: Mapping[str, str]
) -> str:
    """Say in one line what verdicts on stored answers would take; nobody is asked.

    Args:
        records: with their cases and whole texts.
        settings: who would judge, and by which rubrics.
        environ: as for judging; the key is not needed.

    Raises:
        ConfigError: the judge or a rubric is wrong.
        StorageError: the cache cannot be read.
    """
    if settings.judge == "offline":
        return "judge: the offline judge asks nobody and costs nothing"
    from pytest_rageval.judge_client import OpenAIJudge
    from pytest_rageval.judge_estimate import describe, estimate
    from pytest_rageval.judges import open_cache

    judging = settings.judging
    with (
        open_cache(settings) as cache,
        OpenAIJudge(
            settings.judge,
            judging,
            environ=environ,
            cache=cache,
            rubric_root=Path(settings.rootdir),
            needs_key=False,
        ) as judge,
    ):
        planner = _Planner(judge)
        for record in records:
            if record.case is not None:
                judge_case(
                    record.case,
                    response_of(record),
                    record.citations or (),
                    planner,
                    rubrics=judging.rubrics,
                    k=record.k,
                    repeat=record.repeat,
                )
        return describe(estimate(planner.planned, judge.price, max_tokens=judging.max_tokens))
