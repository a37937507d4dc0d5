"""One case from the question to its record: asking, judging and scoring in order.

It uses neither pytest nor files; its client is the object that ``rag_client`` returned.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Final, Literal, cast

from pytest_rageval.engine.own_code import own_scores
from pytest_rageval.engine.run_state import Breaker
from pytest_rageval.judges.asking import Judged, Judges, case_verdicts, judge_case, judge_ms
from pytest_rageval.judges.evidence import with_evidence
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.context import asks_alone
from pytest_rageval.metrics.matching import order_chunks
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.metrics.scoring import (
    case_cluster,
    is_unsure,
    score_case,
    score_settings,
    seems_reported,
    with_own_scores,
)
from pytest_rageval.metrics.view import CaseView, view_case
from pytest_rageval.project.case_reader import LocatedCase
from pytest_rageval.project.case_variables import case_variables
from pytest_rageval.support.in_flight import Slots
from pytest_rageval.support.threads import at_once, computed
from pytest_rageval.target.calling import call_client
from pytest_rageval.target.variables import new_uuid
from pytest_rageval.values.case import Case, Message
from pytest_rageval.values.diagnoses.target import TURN_NOT_REACHED
from pytest_rageval.values.errors import target_error
from pytest_rageval.values.record import (
    AgainReason,
    AskedAlone,
    CaseRecord,
    CaseScores,
    MetricDetail,
    ScoreSettings,
)
from pytest_rageval.values.reply import (
    CUT_SHORT,
    AskRequest,
    AskResult,
    ErrorInfo,
    error_info,
    trace_id,
)
from pytest_rageval.values.settings import AUTO, Settings
from pytest_rageval.values.verdict import Judge, Judgement, JudgeRequest

_folder: Final = cache(Path)
_CASSETTE: Final = "cassette"
"""Run that is named in requests of cassettes, which are the same in every run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """State of a conversation before a turn of it."""

    session: str = ""
    """Id that the target knows it by: ours, until it replies one; empty: no conversation."""
    answered: tuple[Message, ...] = ()
    """Questions asked and answers given."""

    def after(self, record: CaseRecord) -> Before:
        """Return the state after a turn."""
        said = [Message(role="user", content=record.case.question)]
        said.append(Message(role="assistant", content=record.answer or ""))
        session = record.reply.session or self.session
        return Before(session=session, answered=(*self.answered, *said))

    def history(self, case: Case, settings: Settings) -> tuple[Message, ...]:
        """Return the messages that a turn follows, whether they are sent or the target's own."""
        if settings.target.history == "gold" and case.talk is not None:
            return case.talk.gold
        return self.answered


_NOTHING_BEFORE: Final = Before()


def ask_request(
    case: Case,
    settings: Settings,
    run_id: str = "",
    trace_id: str = "",
    before: Before = _NOTHING_BEFORE,
) -> AskRequest:
    """Build the request for a case under the settings of the run, with a UUID of its own."""
    kept = settings.target.history == "server"
    return AskRequest(
        question=case.question,
        vaults=case.vaults,
        folders=case.folders,
        history=() if kept else before.history(case, settings),
        session=before.session if kept else "",
        turn=case.turn,
        k=case.k if case.k is not None else settings.k,
        folder_mode=settings.folder_mode,
        vector_weight=settings.vector_weight,
        lexical_weight=settings.lexical_weight,
        params=settings.params,
        case=case_variables(case),
        run_id=run_id,
        uuid=new_uuid(),
        trace_id=trace_id,
    )


@dataclass(slots=True)
class CaseRepeat:
    """One repeat of one case in a run."""

    located: LocatedCase
    """The case and its line."""
    file: str
    """Its case file as stored."""
    settings: Settings
    repeat: int = 0
    judges: Judges | None = None
    """Judges of the answers; None: none, or only retrieval is measured."""
    slots: Slots | None = None
    """Slots of requests in flight; None: no limit."""
    run_id: str = ""
    """Name of the run; empty: it belongs to none, and is not traced."""
    parameters: str = ""
    """Parameters of fixtures, as they end the name of the item."""
    cassette: Literal["none", "recorded", "replayed"] = "none"
    """Use of cassettes so far: requests then name no run, and are not traced once some replies came
    from a cassette, since the next one may not be sent."""
    registry: Registry = BUILT_IN
    """The metrics of the session."""
    before: Before = _NOTHING_BEFORE
    """State of its conversation."""
    alone: AskedAlone | None = None
    """Its standalone question asked alone; None: not asked."""
    again: AgainReason | None = None
    """Reason why its case is asked again."""
    failed_before: bool = False
    """Whether the case did not pass in the baseline."""
    stored: bool = True
    """Whether its record may be stored or handed on; else it has no hash of the case."""

    @property
    def trace_id(self) -> str:
        """Trace of its question; empty: it is not traced."""
        if not self.run_id or not self.settings.target.trace or self.cassette == "replayed":
            return ""
        name = self.located.case.id + self.parameters
        return trace_id(self.run_id, f"{self.file}::{name}", self.repeat)


@dataclass(frozen=True, slots=True)
class Clients:
    """Target and judges that a case asks."""

    client: object
    judge: object = None
    second_judge: object = None

    def are(self, others: Clients) -> bool:
        """Return whether these are the same objects."""
        return (
            self.client is others.client
            and self.judge is others.judge
            and self.second_judge is others.second_judge
        )

    def judges(self, *, twice: bool) -> Judges | None:
        """Return the judges of a case; None: its answer is not judged.

        Args:
            twice: whether the spot check chose the case.
        """
        if self.judge is None:
            return None
        second = self.second_judge if twice else None
        return Judges(cast("Judge", self.judge), cast("Judge | None", second))


async def try_turns(
    turns: Sequence[CaseRepeat], client: object, breaker: Breaker
) -> AsyncIterator[tuple[CaseRecord, BaseException | None]]:
    """Ask the turns of a conversation one after the other, or a case as its only turn.

    An error ends the conversation: its later turns are not attempted.

    Yields:
        ``try_case`` of each.
    """
    before = Before(session=new_uuid() if turns[0].located.case.talk else "")
    ended: ErrorInfo | None = None
    for trial in turns:
        trial.before = before
        if ended is not None and not breaker.open:
            yield record_unasked(trial, ended), None
            continue
        record, raised = await try_case(trial, client, breaker)
        yield record, raised
        before = before.after(record)
        if record.error is not None:
            error = target_error(TURN_NOT_REACHED, attempts=0, turn=record.case.turn)
            ended = error_info(error)


async def try_case(
    trial: CaseRepeat, client: object, breaker: Breaker
) -> tuple[CaseRecord, BaseException | None]:
    """Ask, judge and score one case, unless the run gave up on its target.

    Returns:
        The record with whole texts, and the exception of the user's client if it raised.

    Raises:
        ConfigError: the client is not usable, or the judge cannot work with its settings.
    """
    if not breaker.begin():
        return not_attempted(trial, breaker.reason), None
    record = None
    try:
        result = await ask(trial, client)
        if trial.settings.context_carry and result.error is None and asks_alone(trial.located.case):
            trial.alone = await ask_alone(trial, client)
        record = await record_of(trial, result)
        if trial.repeat == 0 and trial.settings.repeats == AUTO:
            record = replace(record, again=_again(trial, record))
    finally:
        breaker.end(record)
    return record, result.raised


def _again(trial: CaseRepeat, record: CaseRecord) -> AgainReason | None:
    """Return the reason for which the first answer of a case asks for more; None: it does not."""
    if not record.counted or (record.error is not None and record.error.kind in CUT_SHORT):
        return None
    if record.scores.outcome != "passed":
        return "failed"
    if trial.failed_before:
        return "flipped"
    return "unsure" if is_unsure(record) else None


async def ask(
    trial: CaseRepeat, client: object, *, clock: Callable[[], float] = time.perf_counter
) -> AskResult:
    """Ask the target one case of a file; failures become data."""
    settings = trial.settings
    run_id = trial.run_id if trial.cassette == "none" else _CASSETTE
    request = ask_request(trial.located.case, settings, run_id, trial.trace_id, trial.before)
    rootdir = _folder(settings.rootdir)
    return await call_client(client, request, clock=clock, slots=trial.slots, rootdir=rootdir)


async def ask_alone(trial: CaseRepeat, client: object) -> AskedAlone:
    """Ask the standalone question of a turn, as if there were no conversation."""
    case = trial.located.case
    alone = replace(case, question=case.standalone or "", talk=None)
    located, before = replace(trial.located, case=alone), Before(session=new_uuid())
    found = await ask(replace(trial, located=located, before=before), client)
    chunks = None if found.response is None else found.response.retrieved_chunks
    if chunks is not None:
        chunks = tuple(replace(one, embedding=None) for one in order_chunks(chunks))
        if trial.settings.ranked:
            chunks = chunks[: trial.settings.k if case.k is None else case.k]
    return AskedAlone(chunks=chunks, error=found.error, total_ms=found.total_ms)


class _LostJudge:
    """Judge of cases that were not asked: their metrics are errors rather than not applicable."""

    identity = "lost"
    takes_slots = True

    def judge(self, rubric: str, request: JudgeRequest, *, repeat: int = 0) -> Judgement:
        raise AssertionError("a case without an answer is not judged")


def lost_judges(settings: Settings) -> Judges | None:
    """Return the judges of a case that could not be asked; None: the run has no judge."""
    return None if settings.judge == "none" else Judges(_LostJudge())


def not_attempted(trial: CaseRepeat, reason: str) -> CaseRecord:
    """Record a case that was given up before it was asked; a judge's metrics are errors, too."""
    error = ErrorInfo(kind="not_attempted", message=reason, attempts=0)
    return record_unasked(trial, error)


def record_unasked(trial: CaseRepeat, error: ErrorInfo) -> CaseRecord:
    """Record a case that was not asked to the end, for the reason of an error."""
    return at_once(records_of([(trial, unasked(error))]))[0]


def unasked(error: ErrorInfo) -> AskResult:
    """Return the result of a case that was not asked to the end, for the reason of an error."""
    return AskResult(response=None, error=error, total_ms=None, attempts=error.attempts)


async def record_of(trial: CaseRepeat, result: AskResult) -> CaseRecord:
    """Judge and score an answer, and build its record (full text; storage cuts it).

    Raises:
        ConfigError: the judge cannot work with its settings.
    """
    records = records_of([(trial, result)])
    judges = trial.judges
    if judges is None or (judges.second is None and computes(judges.first)):
        return (await computed(partial(at_once, records)))[0]
    return (await records)[0]


def computes(judge: object) -> bool:
    """Return whether a judge waits for nothing, as the offline one does."""
    return getattr(judge, "takes_slots", False) and not hasattr(judge, "judge_on_loop")


async def records_of(
    asked: Sequence[tuple[CaseRepeat, AskResult]],
    scoring: ScoreSettings | None = None,
) -> list[CaseRecord]:
    """Return ``record_of`` of several cases, each step for all of them before the next one.

    One case after the other would take a fifth longer, as the code of all steps does not fit into
    the cache of a core.

    Args:
        asked: cases with the results of asking.
        scoring: the settings with the parts of replies that the target of the run reports; None:
            they are unknown so far.

    Raises:
        ConfigError: the judge cannot work with its settings.
    """
    views = await computed(lambda: [_view(trial, result, scoring) for trial, result in asked])
    judged = [await _judged(trial, view) for (trial, _), view in zip(asked, views, strict=True)]
    return await computed(partial(_scored, asked, views, judged))


def _scored(
    asked: Sequence[tuple[CaseRepeat, AskResult]],
    views: Sequence[CaseView],
    judged: Sequence[Judged | None],
) -> list[CaseRecord]:
    scores = [
        _scores(trial, result, view, verdict)
        for (trial, result), view, verdict in zip(asked, views, judged, strict=True)
    ]
    return [
        _record(trial, result, view, verdict, found)
        for (trial, result), view, verdict, found in zip(asked, views, judged, scores, strict=True)
    ]


def _view(trial: CaseRepeat, result: AskResult, scoring: ScoreSettings | None) -> CaseView:
    case, response = trial.located.case, result.response
    if scoring is None:
        chunks = response.retrieved_chunks if response is not None else None
        reported = seems_reported(case, chunks, None, trial.settings.matching_mode)
        scoring = score_settings(trial.settings, reported)
    view = view_case(case, response, scoring, error=result.error)
    view.history = trial.before.history(case, trial.settings)
    view.alone = trial.alone
    return view


def _scores(
    trial: CaseRepeat, result: AskResult, view: CaseView, judged: Judged | None
) -> CaseScores:
    """Score a view, which gets its verdicts first."""
    view.verdicts = with_evidence(view, judged)
    scores = score_case(view)
    if not trial.registry.own_cases:
        return scores
    reply = result.response if result.error is None else None
    whole = reply and replace(reply, retrieved_chunks=view.chunks)
    coded = own_scores(trial.located.case, whole, trial.registry, trial.settings)
    rated = {} if judged is None else judged.own_scores
    own = {key: one.score for key, one in coded.items()} | dict(rated)
    said = {key: one.said for key, one in coded.items() if one.said != MetricDetail()}
    found = with_own_scores(scores, own, trial.registry, view.settings)
    return replace(found, metric_details=said)


def _record(
    trial: CaseRepeat,
    result: AskResult,
    view: CaseView,
    judged: Judged | None,
    scores: CaseScores,
) -> CaseRecord:
    located, response, latency = trial.located, result.response, _latency(result, judged)
    if response is not None:
        response = replace(response, retrieved_chunks=view.chunks, query_embedding=None, latency={})
    return CaseRecord(
        case=located.case,
        file=trial.file,
        lineno=located.lineno,
        case_hash=located.case_hash if trial.stored else "",
        cluster=case_cluster(located.case),
        k=view.k,
        repeat=trial.repeat,
        again=trial.again,
        parameters=trial.parameters,
        status="error" if result.error is not None else "ok",
        error=result.error,
        response=response,
        answer_chars=None if response is None else len(response.answer),
        latency=latency,
        scores=scores,
        history=view.history,
        alone=trial.alone,
        verdicts=case_verdicts(view, judged, view.verdicts),
        trace_id=result.trace_id or None,
        span_id=result.span_id or None,
        asked_at=None if result.asked_at is None else _utc(result.asked_at),
    )


async def _judged(trial: CaseRepeat, view: CaseView) -> Judged | None:
    if trial.judges is None or trial.settings.retrieval_only:
        return None
    return await judge_case(
        view,
        trial.judges,
        rubrics=trial.settings.judging.rubrics,
        registry=trial.registry,
        repeat=trial.repeat,
        slots=trial.slots,
    )


def _utc(seconds: float) -> str | None:
    """Return a time as text, or None, as of a clock that the user's code replaced."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")
    except (OSError, OverflowError, TypeError, ValueError):
        return None


def _latency(result: AskResult, judged: Judged | None) -> dict[str, float]:
    """Return the times of the target, the client and the judge in milliseconds."""
    latency: dict[str, float] = dict(result.response.latency) if result.response else {}
    if result.total_ms is not None:
        latency["total_ms"] = result.total_ms
    else:
        latency.pop("total_ms", None)
    judging_ms = None if judged is None else judge_ms(judged.judgements)
    if judging_ms is not None:
        latency["judge_ms"] = judging_ms
    return latency
