"""Judges for tests: one counts words, one gives prepared verdicts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from pytest_rageval.support.in_flight import Slots
from pytest_rageval.values.diagnoses.table import JudgeErrorKind
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.verdict import Judge, JudgeFailure, Judgement, JudgeRequest, Verdict


@dataclass
class ScriptedJudge:
    """Says what ``say`` returns: a verdict, or the kind of a failure."""

    say: Callable[[str, JudgeRequest], Verdict | JudgeErrorKind]
    identity: str = "fake/1"
    version: str = "v1"
    asked: list[tuple[str, JudgeRequest]] = field(default_factory=list)

    def judge(self, rubric: str, request: JudgeRequest, *, repeat: int = 0) -> Judgement:
        self.asked.append((rubric, request))
        said = self.say(rubric, request)
        version = f"{rubric}-{self.version}"
        if isinstance(said, Verdict):
            return Judgement(
                rubric=rubric, rubric_version=version, judge=self.identity, verdict=said
            )
        failure = JudgeFailure(kind=said, message="no luck")
        return Judgement(
            rubric=rubric, rubric_version=version, judge=self.identity, failure=failure
        )


def scores(by_answer: Mapping[str, float | JudgeErrorKind]) -> ScriptedJudge:
    """A judge who knows the score (or failure) of every answer."""

    def say(rubric: str, request: JudgeRequest) -> Verdict | JudgeErrorKind:
        found = by_answer[request.answer]
        if isinstance(found, str):
            return found
        return Verdict(scores={rubric: found})

    return ScriptedJudge(say)


def word_overlap() -> ScriptedJudge:
    """A judge who counts the words of the answer that its evidence holds."""

    def say(rubric: str, request: JudgeRequest) -> Verdict:
        if rubric == "abstention":
            return Verdict(abstained=bool(re.search(r"\b(sorry|not have)\b", request.answer)))
        evidence = _words(" ".join(passage.text for passage in request.context))
        evidence |= _words(request.expected_answer or "")
        words = _words(request.answer)
        share = len(words & evidence) / len(words) if words else 0.0
        return Verdict(scores={rubric: 5 * share})

    return ScriptedJudge(say, identity="words/1")


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 3}


@dataclass
class Opened:
    """Stands in for ``judges.open_judge`` and remembers with which settings."""

    judge: Judge
    settings: Settings | None = None

    @contextmanager
    def __call__(
        self, settings: Settings, *, environ: Mapping[str, str], slots: Slots
    ) -> Iterator[Judge]:
        self.settings = settings
        yield self.judge
