"""Judging of one answer: the rubrics it needs, the result, and the fields of its record.

Independent of pytest and of the kind of judge: a judge is the value of the ``judge`` fixture.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from msgspec import convert, to_builtins

from pytest_rageval.judges.spot_check import COMPARED, repeated_rubrics
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.judged import FACTS, NOT_GIVEN, fact_share, valid_score
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.metrics.view import (
    FAILED,
    UNANSWERABLE,
    CaseView,
    NotApplicable,
    Score,
    Verdicts,
)
from pytest_rageval.support.http.address import blot_out_known
from pytest_rageval.support.in_flight import Slots
from pytest_rageval.support.text import clean
from pytest_rageval.support.threads import called, is_async, is_cancelled
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import ConfigError, StorageError
from pytest_rageval.values.lenient import number
from pytest_rageval.values.numbers import plain
from pytest_rageval.values.record import CaseVerdicts
from pytest_rageval.values.verdict import (
    RUBRICS,
    Judge,
    Judgement,
    JudgeRequest,
    Passage,
    Verdict,
    judge_failure,
)

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    **COMPARED,
    "groundedness": ("groundedness", "claim_support_rate"),
    "correctness": ("correctness", "key_fact_recall"),
    "claims": ("claim_support_rate",),
}
"""Metric keys that each rubric of the package gives."""

_GROUNDED: Final = frozenset({"groundedness", "claims"})
_EVERY_ANSWER: Final = frozenset({"five_dimensions"})
_NO_TEXT: Final = "The target reports chunks without their text."


def rubric_keys(rubric: str) -> tuple[str, ...]:
    """Return the metric keys that a rubric gives; those of a custom rubric are in its verdicts."""
    return _KEYS.get(rubric, ())


@dataclass(frozen=True, slots=True)
class Judges:
    """Judges of a run."""

    first: Judge
    second: Judge | None = None
    """Repeats the scores of the first; None: the case is judged once."""


@dataclass(slots=True, kw_only=True)
class Judged:
    """Result of judging one case."""

    verdicts: Verdicts
    judgements: tuple[Judgement, ...] = ()
    """All judgements of the first judge, in the order of asking."""
    own_scores: Mapping[str, Score] = field(default_factory=dict)
    """Scores of custom rubrics, by metric key."""
    context_chunk_ids: tuple[str | None, ...] = ()
    repeated: tuple[str, ...] = ()
    """Rubrics for a second judge to repeat."""
    second: tuple[Judgement, ...] = ()
    """Judgements of the second judge, which is not asked where the first one failed."""


async def judge_case(
    view: CaseView,
    judges: Judges,
    *,
    rubrics: Sequence[str],
    registry: Registry = BUILT_IN,
    repeat: int = 0,
    slots: Slots | None = None,
) -> Judged:
    """Ask a judge for the verdicts that one case needs; failures are data.

    A synchronous judge of a project is called on a thread, see ``called``.

    Args:
        view: the case with its response; if the target failed, the judge is not asked.
        judges: the judges to ask.
        rubrics: rubrics in use.
        registry: with the metrics of custom rubrics.
        repeat: number of the case's repeat, from 0.
        slots: slots held around a judge that does not take them itself; None: no limit.

    Raises:
        ConfigError: a judge cannot work as it is set up.
        StorageError: its cache or the file of its rate limits cannot be used.
    """
    case, response = view.case, view.response
    in_use = frozenset(key for rubric in rubrics for key in rubric_keys(rubric))
    if response is None or view.failed:
        return Judged(
            verdicts=Verdicts(judged_keys=in_use),
            # A custom rubric would have rated the answer that the target failed to give.
            own_scores=dict(_own_scores({}, rubrics, registry, case)),
        )
    request = _request(view, response.answer)
    asker = _Asker(judges.first, request, registry, repeat, slots)
    abstained = await _ask_needed(asker, rubrics, case, abstained=response.abstained)
    found = asker.found
    repeated: list[str] = []
    second: list[Judgement] = []
    if judges.second is not None:
        again = _Asker(judges.second, request, registry, repeat, slots)
        repeated += (r for r in repeated_rubrics(rubrics) if r in found)
        second += [await again.ask(r) for r in repeated if found[r].verdict is not None]
    return Judged(
        verdicts=_verdicts(
            found,
            in_use,
            rubrics,
            case,
            abstained=abstained,
            textless=bool(view.cut) and not request.context,
        ),
        judgements=tuple(found.values()),
        own_scores=dict(_own_scores(found, rubrics, registry, case)),
        context_chunk_ids=tuple(passage.chunk_id for passage in request.context),
        repeated=tuple(repeated),
        second=tuple(second),
    )


async def ask_rubric(
    judge: Judge, rubric: str, request: JudgeRequest, *, slots: Slots
) -> Judgement:
    """Ask a judge for one verdict, as ``judge_case`` does."""
    return await _Asker(judge, request, BUILT_IN, 0, slots).ask(rubric)


def _request(view: CaseView, answer: str) -> JudgeRequest:
    case = view.case
    return JudgeRequest(
        question=case.question,
        answer=answer,
        context=tuple(
            Passage(
                text=chunk.text,
                rel_path=chunk.rel_path,
                heading_path=chunk.heading_path,
                chunk_id=chunk.chunk_id,
            )
            for chunk in view.cut
            if chunk.text is not None
        )
        + (_said(view) if view.settings.history_supports else ()),
        history=tuple(f"{one.role}: {one.content}" for one in view.history),
        expected_key_facts=case.key_facts,
        expected_answer=case.expected_answer,
        citations=view.citations or (),
        asks_conflict=case.answerable and case.recency_conflict_rule == "acknowledge_both",
    )


def _said(view: CaseView) -> tuple[Passage, ...]:
    """Return the conversation before the question as passages."""
    return tuple(
        Passage(text=one.content, rel_path=f"conversation, {one.role}") for one in view.history
    )


@dataclass(slots=True)
class _Asker:
    """Asks one judge each rubric once."""

    judge: Judge
    request: JudgeRequest
    registry: Registry
    repeat: int
    slots: Slots | None
    found: dict[str, Judgement] = field(default_factory=dict)

    async def ask(self, rubric: str) -> Judgement:
        if rubric not in self.found:
            self.found[rubric] = await self._judgement(rubric)
        return self.found[rubric]

    async def _judgement(self, rubric: str) -> Judgement:
        judge = self.judge
        is_own = not getattr(judge, "takes_slots", False)
        slots = self.slots if is_own else None
        try:
            function = getattr(judge, "judge_on_loop", None) or judge.judge
            ask = partial(function, rubric, self.request, repeat=self.repeat)
            async with slots.hold() if slots else nullcontext():
                found: object = await called(ask) if is_own and not is_async(function) else ask()
                if inspect.isawaitable(found):
                    found = await found
            if is_own and isinstance(found, Judgement):
                found = _checked(found, rubric, self.registry)
        except (ConfigError, StorageError, KeyboardInterrupt):
            # StorageError: every other verdict needs the same cache and file of rate limits.
            raise
        except BaseException as error:
            if is_cancelled(error):
                raise
            # A custom judge may raise anything, such as SystemExit; only this verdict has failed.
            lines = str(error).strip().splitlines()
            said = clean(blot_out_known(lines[0], 4096)) if lines else "no message"
            failure = judge_failure("raised", error=type(error).__name__, said=said[:300])
            name = str(getattr(judge, "identity", type(judge).__name__))
            return Judgement(rubric=rubric, rubric_version="", judge=name, failure=failure)
        if not isinstance(found, Judgement):
            raise ConfigError.of(
                "judge",
                "type",
                found=f"{type(found).__name__} from {type(judge).__name__}.judge",
                expected="a pytest_rageval.Judgement",
            )
        return found


def _checked(found: Judgement, rubric: str, registry: Registry) -> Judgement:
    """Return the judgement of a judge in code; one without a verdict that can be used failed."""
    verdict = None if found.verdict is None else _without_numpy(found.verdict)
    found = replace(found, rubric=rubric, verdict=verdict)
    fault = _fault(verdict, rubric, registry) if found.failure is None else None
    if fault is None:
        if verdict is not None and verdict.key_facts_found:
            facts = tuple(map(bool, verdict.key_facts_found))
            found = replace(found, verdict=replace(verdict, key_facts_found=facts))
        try:  # a record is read by the types of its fields
            convert(to_builtins(_stored(found)), Judgement)
        except (TypeError, ValueError) as error:
            fault = f"{error}"
            found = Judgement(rubric=rubric, rubric_version="", judge=str(found.judge))
    if fault is None:
        return found
    failure = judge_failure("no_score", reason=clean(blot_out_known(fault), 300))
    return replace(found, verdict=None, failure=failure)


def _fault(verdict: Verdict | None, rubric: str, registry: Registry) -> str | None:
    if verdict is None:
        return "neither a verdict nor a failure came"
    if not all(isinstance(fact, int) for fact in verdict.key_facts_found or ()):
        return f"key_facts_found: {verdict.key_facts_found!r} came, expected True and False"
    if rubric == "abstention" and not isinstance(verdict.abstained, bool):
        return f"abstained: {verdict.abstained!r} came, expected True or False"
    if verdict.acknowledges_conflict is not None and not verdict.scores:
        return None  # correctness may be asked about for the conflict alone
    keys = COMPARED.get(rubric) or rubric_keys(rubric) or registry.of(rubric)
    bounds = {key: registry.cases[key].bounds for key in keys}
    for key, scale in bounds.items():
        if key in verdict.not_applicable or valid_score(verdict.scores.get(key), scale) is not None:
            return None  # what is wrong with another metric is an error of that one alone
    expected = ", ".join(f"{key} from {low:g} to {high:g}" for key, (low, high) in bounds.items())
    return f"scores: {dict(verdict.scores)} came, expected {expected}" if keys else None


def _without_numpy(verdict: Verdict) -> Verdict:
    """Return a verdict, whose numbers and truth values may be NumPy's, with those of Python."""
    facts = verdict.key_facts_found
    return replace(
        verdict,
        scores={key: plain(score) for key, score in verdict.scores.items()},
        claims=tuple(replace(c, supported=plain(c.supported)) for c in verdict.claims),
        key_facts_found=None if facts is None else tuple(map(plain, facts)),
        abstained=plain(verdict.abstained),
        acknowledges_conflict=plain(verdict.acknowledges_conflict),
    )


def _needs(rubric: str, case: Case, *, abstained: bool, has_context: bool) -> bool:
    if rubric in _EVERY_ANSWER:
        return True
    if rubric == "abstention" or not case.answerable:
        return False
    if rubric in _GROUNDED:
        return has_context and not abstained
    return rubric != "correctness" or not abstained


async def _ask_needed(
    asker: _Asker, rubrics: Sequence[str], case: Case, *, abstained: bool | None
) -> bool | None:
    """Ask for the verdicts that a case needs, and return whether the answer abstains.

    The judge is asked that first if the target does not report it (None).
    """
    if abstained is None:
        verdict = (await asker.ask("abstention")).verdict
        abstained = None if verdict is None else verdict.abstained
    has_context = bool(asker.request.context)
    for rubric in rubrics:
        if _needs(rubric, case, abstained=abstained is True, has_context=has_context):
            await asker.ask(rubric)
    if asker.request.asks_conflict and not abstained and "correctness" not in asker.found:
        await asker.ask("correctness")
    return abstained


def _verdicts(
    found: Mapping[str, Judgement],
    in_use: frozenset[str],
    rubrics: Sequence[str],
    case: Case,
    *,
    abstained: bool | None,
    textless: bool,
) -> Verdicts:
    scores: dict[str, float | None] = {}
    outside: dict[str, str] = {}
    unsure: set[str] = set()
    conflict = None
    for rubric, judgement in found.items():
        verdict = judgement.verdict
        if verdict is not None and verdict.acknowledges_conflict is not None:
            conflict = verdict.acknowledges_conflict
        if rubric not in rubrics:
            continue
        unsure.update(() if verdict is None else verdict.unsure)
        for key in rubric_keys(rubric):
            if verdict is None:
                scores.setdefault(key, None)
            elif key in verdict.scores:
                share = fact_share(case, verdict.key_facts_found) if key == FACTS else None
                scores[key] = verdict.scores[key] if share is None else share
            elif key in verdict.not_applicable or rubric in verdict.scores:  # a judge in code
                outside[key] = verdict.not_applicable.get(key, NOT_GIVEN)
    if textless:
        outside |= {key: _NO_TEXT for rubric in _GROUNDED for key in rubric_keys(rubric)}
    # A score of one rubric, or its failure, counts even if another one found nothing to score.
    outside = {key: reason for key, reason in outside.items() if key not in scores}
    return Verdicts(
        abstained=abstained,
        acknowledges_conflict=conflict,
        scores=scores,
        judged_keys=in_use,
        not_applicable=outside,
        unsure=frozenset(unsure & outside.keys()),
    )


def _own_scores(
    found: Mapping[str, Judgement], rubrics: Sequence[str], registry: Registry, case: Case
) -> Iterator[tuple[str, Score]]:
    """Yield the scores of custom rubrics; a missing verdict is an error of its metrics."""
    for rubric in rubrics:
        verdict = found[rubric].verdict if rubric in found else None
        for key in () if rubric in RUBRICS else registry.of(rubric):
            if not case.answerable:
                yield key, UNANSWERABLE
            elif verdict is None:
                yield key, FAILED
            else:
                reason = NotApplicable(verdict.not_applicable.get(key, NOT_GIVEN))
                yield key, verdict.scores.get(key, reason)


# --- fields of a record ------------------------------------------------------------------------


_NO_VERDICTS: Final = CaseVerdicts()


def case_verdicts(
    view: CaseView, judged: Judged | None, verdicts: Verdicts | None = None
) -> CaseVerdicts:
    """Return the fields of a record about judging.

    Args:
        view: the case with its response.
        judged: result of judging; None: there is no judge.
        verdicts: with the evidence found in the passages; None: nothing was found.
    """
    evidence = None if verdicts is None else verdicts.evidence
    if judged is None or view.response is None:
        return _NO_VERDICTS if evidence is None else CaseVerdicts(evidence=evidence)
    second = {one.rubric: _stored(one) for one in judged.second}
    return CaseVerdicts(
        judgements={one.rubric: _stored(one) for one in judged.judgements},
        spot_check={rubric: second.get(rubric) for rubric in judged.repeated},
        context_chunk_ids=judged.context_chunk_ids if judged.judgements else (),
        evidence=evidence,
    )


def _stored(judgement: Judgement) -> Judgement:
    """Return a judgement as a record keeps it: without the reply, and with valid numbers alone."""
    verdict, failure = judgement.verdict, judgement.failure
    if failure is not None and failure.raw is not None:
        return replace(judgement, failure=replace(failure, raw=None))
    if verdict is None or all(number(score) is not None for score in verdict.scores.values()):
        return judgement
    scores = {key: score for key, score in verdict.scores.items() if number(score) is not None}
    return replace(judgement, verdict=replace(verdict, scores=scores))


def judge_ms(judgements: Iterable[Judgement]) -> float | None:
    """Return how long judging took in milliseconds; None: nothing was timed."""
    timed = [j.duration_ms for j in judgements if j.duration_ms is not None]
    return math.fsum(timed) if timed else None
