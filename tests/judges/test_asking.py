"""Which rubrics an answer needs, and what comes of the verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.engine.case import Before, CaseRepeat, record_of
from pytest_rageval.judges.asking import Judges
from pytest_rageval.judges.spot_check import second_scores
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.project.case_reader import LocatedCase
from pytest_rageval.runs.documents import record_line, record_of_line
from pytest_rageval.support.threads import session_loop
from pytest_rageval.target.calling import answered
from pytest_rageval.values.case import Case, Message
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import AskResponse, AskResult, ErrorInfo, RetrievedChunk
from pytest_rageval.values.settings import JudgeSettings, Settings
from pytest_rageval.values.verdict import (
    Claim,
    Judge,
    JudgeFailure,
    Judgement,
    JudgeRequest,
    JudgeUsage,
    Verdict,
)
from tests.build.scores import case, chunk, cite, response

GROUNDED = Verdict(
    scores={"groundedness": 4.0, "claim_support_rate": 0.5},
    reasoning="half of it",
    claims=(Claim(text="one", supported=True, passage=1), Claim(text="two", supported=False)),
)
CORRECT = Verdict(
    scores={"correctness": 5.0, "key_fact_recall": 1.0}, key_facts_found=(True,), reasoning="all"
)


RUBRICS = ("groundedness", "correctness")


class FakeJudge:
    """Gives the verdicts that it was made with, and remembers what it was asked."""

    identity = "fake/1"

    def __init__(self, verdicts: Mapping[str, Verdict | JudgeFailure] | None = None) -> None:
        self.verdicts = {"groundedness": GROUNDED, "correctness": CORRECT, **(verdicts or {})}
        self.asked: list[tuple[str, JudgeRequest]] = []

    def judge(self, rubric: str, request: JudgeRequest, *, repeat: int = 0) -> Judgement:
        self.asked.append((rubric, request))
        found = self.verdicts[rubric]
        return Judgement(
            rubric=rubric,
            rubric_version=f"{rubric}-1",
            judge=self.identity,
            verdict=found if isinstance(found, Verdict) else None,
            failure=found if isinstance(found, JudgeFailure) else None,
            usage=JudgeUsage(prompt_tokens=100, completion_tokens=10, calls=1, cost_usd=0.5,
                             cost_usd_uncached=0.5),
            level="json_schema",
            prompt_hash="ab" * 32,
            duration_ms=7.0,
        )  # fmt: skip

    @property
    def rubrics(self) -> list[str]:
        return [rubric for rubric, _ in self.asked]


CONTEXT = (chunk("a.md | # S", text="the passage"), chunk("b.md", text="another"))
FAILED = JudgeFailure(kind="unparseable", message="no JSON")


def judged(
    of: Case,
    reply: AskResponse | None,
    judge: object,
    *,
    rubrics: tuple[str, ...] = RUBRICS,
    second: Judge | None = None,
    registry: Registry = BUILT_IN,
    **settings: Any,
) -> CaseRecord:
    given = Settings(rootdir="", judge="fake", judging=JudgeSettings(rubrics=rubrics), **settings)
    result = (
        AskResult(response=None, error=ErrorInfo(kind="timeout", message="late"), total_ms=None)
        if reply is None
        else answered(reply, total_ms=1.0)
    )
    located = LocatedCase(case=of, lineno=1)
    judges = Judges(judge, second)  # type: ignore[arg-type]
    trial = CaseRepeat(located, "evals/s.jsonl", given, judges=judges, registry=registry)
    return session_loop().run(record_of(trial, result))


def reply(**fields: Any) -> AskResponse:
    return response(**{"retrieved_chunks": CONTEXT, "abstained": False, "answer": "Yes.", **fields})


GOLD = case("a.md | # S", expected_key_facts=("yes",))


def test_an_answer_is_judged_under_each_rubric_in_use() -> None:
    judge = FakeJudge()
    record = judged(GOLD, reply(), judge)
    assert judge.rubrics == ["groundedness", "correctness"]
    assert record.scores.metrics["groundedness"] == 4.0
    assert record.scores.metrics["claim_support_rate"] == 0.5
    assert record.scores.metrics["correctness"] == 5.0
    assert record.scores.metrics["key_fact_recall"] == 1.0


def test_a_judge_sees_the_cut_and_what_is_known_of_the_answer() -> None:
    judge = FakeJudge()
    judged(GOLD, reply(references=(cite("a.md"),)), judge, k=1)
    _, request = judge.asked[0]
    assert [(p.text, p.rel_path, p.heading_path) for p in request.context] == [
        ("the passage", "a.md", "# S")
    ]
    assert request.expected_key_facts == ("yes",)
    assert [c.rel_path for c in request.citations] == ["a.md"]
    assert request.asks_conflict is False


@pytest.mark.parametrize("supports", [False, True])
def test_a_judge_sees_the_conversation_which_supports_claims_only_where_that_is_set(
    supports: bool,
) -> None:
    judge, said = FakeJudge(), (Message(role="assistant", content="As I said."),)
    given = Settings(
        rootdir="", judge="fake", judging=JudgeSettings(rubrics=RUBRICS, history_supports=supports)
    )
    located, before = LocatedCase(case=GOLD, lineno=1), Before(answered=said)
    trial = CaseRepeat(located, "evals/s.jsonl", given, judges=Judges(judge), before=before)
    session_loop().run(record_of(trial, answered(reply(), total_ms=1.0)))
    _, request = judge.asked[0]
    assert request.history == ("assistant: As I said.",)
    assert ("As I said." in [passage.text for passage in request.context]) is supports


def test_the_record_keeps_verdicts_their_cost_and_what_was_judged() -> None:
    record = judged(GOLD, reply(), FakeJudge())
    verdicts = record.verdicts
    assert verdicts.of("groundedness") == GROUNDED
    assert verdicts.of("correctness") == CORRECT
    assert verdicts.of("abstention") is None
    assert verdicts.usage is not None
    assert (verdicts.usage.prompt_tokens, verdicts.usage.cost_usd) == (200, 1.0)
    assert record.latency["judge_ms"] == 14.0
    assert verdicts.context_chunk_ids == (None, None)
    found = verdicts.judgements["correctness"]
    assert (found.judge, found.rubric_version) == ("fake/1", "correctness-1")
    assert found.prompt_hash == "ab" * 32


def test_a_score_that_is_no_number_is_an_error_and_not_stored() -> None:
    odd = Verdict(scores={"correctness": 5.0, "key_fact_recall": float("nan")})
    record = judged(GOLD, reply(), FakeJudge({"correctness": odd}))
    assert record.scores.metrics["key_fact_recall"] is None
    assert "key_fact_recall" not in record.scores.not_applicable
    again = record_of_line(record_line(record))
    assert again.verdicts.judgements["correctness"].verdict == Verdict(scores={"correctness": 5.0})


def test_what_a_judge_in_code_does_not_rate_is_not_applicable() -> None:
    score_alone = {
        rubric: Verdict(scores={rubric: 4.0}) for rubric in ("groundedness", "correctness")
    }
    record = judged(GOLD, reply(), FakeJudge(score_alone))
    for key in ("claim_support_rate", "key_fact_recall"):
        assert record.scores.metrics[key] is None
        assert record.scores.not_applicable[key] == "The judge gave no such score."

    record = judged(GOLD, reply(), FakeJudge({"groundedness": Verdict(scores={"grounded": 4.0})}))
    assert record.scores.metrics["groundedness"] is None
    assert not {"groundedness", "claim_support_rate"} & record.scores.not_applicable.keys()


@pytest.mark.parametrize("rubrics", [("groundedness", "claims"), ("claims", "groundedness")])
def test_what_a_failed_verdict_would_give_is_an_error_if_another_leaves_it_out(
    rubrics: tuple[str, ...],
) -> None:
    score_alone = Verdict(scores={"groundedness": 4.0})
    judge = FakeJudge({"groundedness": score_alone, "claims": FAILED})
    record = judged(GOLD, reply(), judge, rubrics=rubrics)
    assert record.scores.metrics["claim_support_rate"] is None
    assert "claim_support_rate" not in record.scores.not_applicable


def test_a_failed_verdict_is_an_error_of_its_metrics_and_no_zero() -> None:
    record = judged(GOLD, reply(), FakeJudge({"groundedness": FAILED}))
    assert (record.status, record.scores.outcome) == ("ok", "passed")
    for key in ("groundedness", "claim_support_rate"):
        assert record.scores.metrics[key] is None
        assert key not in record.scores.not_applicable
    assert record.verdicts.judgements["groundedness"].failure == FAILED
    assert record.scores.metrics["correctness"] == 5.0
    assert aggregate([record]).rates["judge_error_rate"] == 0.5


def test_an_abstention_is_not_judged_and_is_incorrect_where_there_is_an_answer() -> None:
    judge = FakeJudge()
    record = judged(GOLD, reply(abstained=True), judge)
    assert judge.rubrics == []
    assert record.scores.metrics["correctness"] == 0.0
    assert "groundedness" in record.scores.not_applicable


@pytest.mark.parametrize(("said", "accuracy"), [(True, 1.0), (False, 0.0)])
def test_the_judge_says_whether_an_answer_abstains_where_the_target_does_not(
    said: bool, accuracy: float
) -> None:
    judge = FakeJudge({"abstention": Verdict(abstained=said)})
    record = judged(case(answerable=False), reply(abstained=None), judge)
    assert judge.rubrics == ["abstention"]
    assert record.scores.metrics["abstention_accuracy"] == accuracy
    assert record.verdicts.of("abstention") == Verdict(abstained=said)


def test_a_failed_case_is_not_judged_and_its_judged_metrics_are_errors() -> None:
    judge = FakeJudge()
    record = judged(GOLD, None, judge)
    assert judge.rubrics == []
    assert record.scores.metrics["groundedness"] is None
    assert "groundedness" not in record.scores.not_applicable


@pytest.mark.parametrize(
    ("chunks", "reason"),
    [
        ((), "There is no retrieved context to be grounded in."),
        ((RetrievedChunk(rel_path="a.md"),), "The target reports chunks without their text."),
    ],
)
def test_without_context_there_is_no_groundedness(
    chunks: tuple[RetrievedChunk, ...], reason: str
) -> None:
    judge = FakeJudge()
    record = judged(GOLD, reply(retrieved_chunks=chunks), judge)
    assert judge.rubrics == ["correctness"]
    assert record.scores.not_applicable["groundedness"] == reason


@pytest.mark.parametrize("scores", [{"correctness": 4.0}, {}])
def test_a_conflict_is_asked_about_where_the_case_has_the_rule(scores: dict[str, float]) -> None:
    of = case("a.md | # S", "b.md", recency_conflict_rule="acknowledge_both")
    verdict = Verdict(scores=scores, acknowledges_conflict=True)
    judge = FakeJudge({"correctness": verdict})
    cited = reply(references=(cite("a.md"), cite("b.md")))
    record = judged(of, cited, judge, rubrics=("groundedness",))
    assert judge.rubrics == ["groundedness", "correctness"]
    assert all(request.asks_conflict for _, request in judge.asked)
    assert record.scores.metrics["recency_conflict_accuracy"] == 1.0
    # It was asked for the conflict alone: its score belongs to a rubric that is not in use.
    assert "correctness" in record.scores.not_applicable


TONE = ("tone.warmth", "tone.plainness")
REGISTRY = BUILT_IN.with_(
    MetricInfo(
        key=key, title=key, population="answers", level="judged", version="1", source="tone.jinja"
    )
    for key in TONE
)


def toned(of: Case, answer: AskResponse | None, judge: object, **more: Any) -> CaseRecord:
    return judged(of, answer, judge, rubrics=("tone.jinja",), registry=REGISTRY, **more)


def test_a_rubric_of_ones_own_gives_metrics_of_its_own() -> None:
    found = Verdict(scores={"tone.warmth": 0.5, "tone.plainness": 1.0, "tone.other": 1, "mrr": 0})
    record = toned(GOLD, reply(), FakeJudge({"tone.jinja": found}))
    assert [*record.scores.metrics] == [*BUILT_IN.cases, *TONE]
    assert record.scores.metrics["tone.warmth"] == 0.5
    assert record.scores.metrics["mrr"] == judged(GOLD, reply(), FakeJudge()).scores.metrics["mrr"]
    summary = aggregate([record], registry=REGISTRY).metrics["tone.warmth"]
    assert (summary.mean, summary.low) == (0.5, None)


@pytest.mark.parametrize("score", [1.5, -0.1, float("nan"), None])
def test_a_score_outside_the_scale_of_an_own_metric_is_an_error(score: Any) -> None:
    found = Verdict(scores={"tone.warmth": score, "tone.plainness": 1.0})
    record = toned(GOLD, reply(), FakeJudge({"tone.jinja": found}))
    assert record.scores.metrics["tone.warmth"] is None
    assert "tone.warmth" not in record.scores.not_applicable
    assert record.scores.metrics["tone.plainness"] == 1.0


def test_what_a_rubric_of_ones_own_lets_a_judge_leave_out_is_not_applicable() -> None:
    judge = FakeJudge({"tone.jinja": Verdict(scores={"tone.warmth": 0.5})})
    records = [toned(GOLD, reply(), judge)]
    assert records[0].scores.not_applicable["tone.plainness"] == "The judge gave no such score."
    judge = FakeJudge({"tone.jinja": FAILED})
    records.append(toned(replace(GOLD, id="b"), reply(), judge))
    found = aggregate(records)
    warmth, plainness = (found.metrics[key] for key in TONE)
    assert (warmth.mean, warmth.n, warmth.n_error, warmth.n_not_applicable) == (0.5, 1, 1, 0)
    assert (plainness.n, plainness.n_error, plainness.n_not_applicable) == (0, 1, 1)
    assert found.rates["judge_error_rate"] == 0.5


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (OSError("the line is\ndead"), "OSError: the line is"),
        (SystemExit(3), "SystemExit: 3"),
        (pytest.skip.Exception("no"), "Skipped: no"),
    ],
)
def test_a_judge_that_raises_fails_its_verdict_alone(raised: BaseException, message: str) -> None:
    class Raising(FakeJudge):
        def judge(self, rubric: str, request: JudgeRequest, *, repeat: int = 0) -> Judgement:
            raise raised

    record = judged(GOLD, reply(), Raising())
    failure = record.verdicts.judgements["groundedness"].failure
    assert failure is not None
    assert (failure.kind, failure.code, failure.message) == ("unreachable", "raised", message)


def test_an_interrupt_within_a_judge_ends_the_run() -> None:
    class Interrupted(FakeJudge):
        def judge(self, rubric: str, request: JudgeRequest, *, repeat: int = 0) -> Judgement:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judged(GOLD, reply(), Interrupted())


def test_a_verdict_may_hold_numbers_and_truth_values_of_numpy() -> None:
    import numpy as np

    true: Any = np.bool_(True)
    grounded = Verdict(
        scores={"groundedness": np.float32(4.5), "claim_support_rate": np.float64(1)},  # type: ignore[dict-item]
        claims=(Claim(text="yes", supported=true),),
    )
    correct = Verdict(scores={"correctness": np.int64(3)}, key_facts_found=(true,))  # type: ignore[dict-item]
    judge = FakeJudge({"groundedness": grounded, "correctness": correct})
    record = judged(GOLD, reply(), judge)
    assert (record.scores.metrics["groundedness"], record.scores.metrics["correctness"]) == (
        4.5,
        3.0,
    )
    assert record_of_line(record_line(record)).scores.metrics == record.scores.metrics

    silent = FakeJudge({"abstention": Verdict(abstained=true)})
    record = judged(GOLD, reply(abstained=None), silent, rubrics=("groundedness",))
    assert (silent.rubrics, record.reply.abstained) == (["abstention"], None)
    found = record.verdicts.of("abstention")
    assert found is not None
    assert found.abstained is True


def test_a_verdict_of_wrong_types_is_a_failure_of_its_own() -> None:
    claims: Any = None
    wrong = Verdict(scores={"groundedness": 4.0}, claims=claims)
    record = judged(GOLD, reply(), FakeJudge({"groundedness": wrong}))
    assert (record.scores.metrics["groundedness"], record.scores.metrics["correctness"]) == (
        None,
        5.0,
    )
    failure = record.verdicts.judgements["groundedness"].failure
    assert str(failure) == "unreachable: TypeError: 'NoneType' object is not iterable"


FACTS: Any = ("yes", "no")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (None, "neither a verdict nor a failure came"),
        (
            Verdict(scores={"correctness": 90.0}),
            "scores: {'correctness': 90.0} came, expected correctness from 0 to 5",
        ),
        (
            Verdict(scores={"score": 4.0, "key_fact_recall": 1.0}),
            "scores: {'score': 4.0, 'key_fact_recall': 1.0} came, expected correctness from 0 to 5",
        ),
        (
            Verdict(scores={"correctness": 4.0}, key_facts_found=FACTS),
            "key_facts_found: ('yes', 'no') came, expected True and False",
        ),
    ],
)
def test_a_verdict_of_a_judge_in_code_without_a_valid_score_failed(
    said: Verdict | None, message: str
) -> None:
    record = judged(GOLD, reply(), FakeJudge({"correctness": said}))  # type: ignore[dict-item]
    failure = record.verdicts.judgements["correctness"].failure
    assert failure is not None
    assert (failure.kind, failure.code, failure.message) == ("out_of_range", "no_score", message)
    assert (record.scores.metrics["groundedness"], record.scores.metrics["correctness"]) == (
        4.0,
        None,
    )
    assert aggregate([record]).rates["judge_error_rate"] == 0.5


@pytest.mark.parametrize("said", [None, "no"])
def test_a_verdict_on_abstention_that_does_not_say_whether_the_answer_abstains_failed(
    said: Any,
) -> None:
    verdict = Verdict(scores={"abstention": 5.0}, abstained=said)
    record = judged(
        case(answerable=False), reply(abstained=None), FakeJudge({"abstention": verdict})
    )
    failure = record.verdicts.judgements["abstention"].failure
    assert str(failure) == f"out_of_range: abstained: {said!r} came, expected True or False"
    assert "abstention_accuracy" not in record.scores.not_applicable
    assert aggregate([record]).rates["judge_error_rate"] == 1.0


def test_a_judge_that_is_set_up_wrongly_is_a_configuration_error() -> None:
    class Wrong(FakeJudge):
        def judge(self, rubric: str, request: JudgeRequest, *, repeat: int = 0) -> Judgement:
            return {"score": 5}  # type: ignore[return-value]

    with pytest.raises(ConfigError, match=r"dict.*Wrong\.judge.*Judgement"):
        judged(GOLD, reply(), Wrong())


class Second(FakeJudge):
    identity = "m2 at h"


def test_the_verdicts_of_a_second_judge_survive_json() -> None:
    half = Verdict(scores={"groundedness": 2.0, "claim_support_rate": 0.5}, reasoning="half")
    refused = JudgeFailure(kind="refused", message="no")
    first = FakeJudge({"quality": FAILED})
    second = Second({"groundedness": half, "correctness": refused})
    record = judged(GOLD, reply(), first, second=second, rubrics=(*RUBRICS, "quality"))
    kept = record_of_line(record_line(record)).verdicts
    assert kept == record.verdicts
    assert second_scores(kept) == {"groundedness": 2.0}
    assert [(one.judge, one.verdict, one.failure) for one in kept.second] == [
        ("m2 at h", half, None),
        ("m2 at h", None, refused),
    ]
    assert [*kept.spot_check] == ["groundedness", "correctness", "quality"]
    assert kept.spot_check["quality"] is None  # there is no first verdict to repeat


NO_KIND: Any = "odd"
ODD: list[dict[str, Any]] = [
    {"level": "mine"},
    {"parameters": {"a": object()}},
    {"duration_ms": "3"},
    {"verdict": None, "failure": JudgeFailure(kind=NO_KIND, message="")},
]
