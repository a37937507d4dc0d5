"""Agreement of a judge with people on labelled answers. Pure.

Defined in docs/statistics.md#agreement-with-people.

A labelled answer becomes a request as a run would make it; the judge's replies come back as
readings, and readings and labels become figures.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple

from pytest_rageval.analysis.stats.agreement import auroc, bootstrap_agreement, precision_recall_f1
from pytest_rageval.analysis.trust.admission import (
    group_biases,
    is_dev,
    judge_rates,
    languages,
)
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.judged import NOT_GIVEN, PASS_SHARE, valid_score
from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.support.text import TOLERANCE
from pytest_rageval.values.case import NotBlank
from pytest_rageval.values.diagnoses.table import JudgeErrorKind
from pytest_rageval.values.verdict import GroupBias, Judgement, JudgeRates, JudgeRequest, Passage

CalibrationRubric = Literal["groundedness", "correctness", "abstention"]
RUBRICS: Final[tuple[CalibrationRubric, ...]] = ("groundedness", "correctness", "abstention")
"""Rubrics with human labels."""

LABELS: Final[Mapping[str, tuple[str, str]]] = {
    "groundedness": ("grounded", "not_grounded"),
    "correctness": ("correct", "incorrect"),
    "abstention": ("answer", "abstain"),
}
"""By rubric: the label of the negative class, then of the positive one."""
OWN_LABELS: Final = ("good", "bad")
"""The same of a metric of a user's rubric."""
LEFT_OUT: Final[Mapping[str, tuple[str, ...]]] = {"abstention": ("partial", "clarify")}
"""Labels of neither class; they are counted and not judged."""

_MARK: Final = re.compile(r"^\[(\d{1,4})\][ \t]*", re.MULTILINE)
_NUMBERS: Final = re.compile(r"\[\s*(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\s*\]")


# --- human labels ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledAnswer:
    """One answer with its human label (one line of a label file)."""

    id: NotBlank
    question: str
    answer: NotBlank
    label: Any = None
    context: str | None = None
    history: tuple[str, ...] | None = None
    """The turns before the question, such as ``user: ...``."""
    reference: tuple[str, ...] | None = None
    """Accepted answers; one of them suffices."""
    source: NotBlank | None = None
    language: NotBlank | None = None
    """Such as ``de``; None: that of most of the others."""

    @property
    def cluster(self) -> tuple[str | None, str]:
        """Key of the answers that tend to be right or wrong together: question, else context."""
        for part in (self.question, self.context):
            if part is not None and part.strip():
                return self.source, part
        return self.source, f"id {self.id}"


def request_of(row: LabelledAnswer, *, answer: str | None = None) -> JudgeRequest:
    """Return the request to a judge about a labelled answer.

    Earlier turns precede the question. Accepted answers become one expected answer, joined by
    ``|``: they are alternatives, while every expected key fact is required. A context whose
    passages begin with ``[n]`` is split there; ``[n]`` in the answer then refers to the position of
    its passage, as in a run, and a number without a passage still has none.

    Args:
        row: the labelled answer.
        answer: judged in place of the row's own.
    """
    numbers, texts = split_context(row.context or "")
    return JudgeRequest(
        question="\n".join(part for part in (*(row.history or ()), row.question) if part.strip()),
        answer=renumber(row.answer if answer is None else answer, numbers),
        context=tuple(Passage(text=text) for text in texts),
        expected_answer=" | ".join(dict.fromkeys(row.reference or ())) or None,
    )


def split_context(context: str) -> tuple[list[int], list[str]]:
    r"""Split a context into its passages.

    Returns:
        The numbers and texts of the passages; a context that does not begin with
        ``[n]``, or whose numbers do not rise, is one passage without number, a blank one none.

    >>> split_context("[2] Beans.\n[5] Peas.")
    ([2, 5], ['Beans.', 'Peas.'])
    """
    text = context.strip()
    marks = list(_MARK.finditer(text))
    numbers = [int(mark[1]) for mark in marks]
    rising = all(one < other for one, other in pairwise(numbers))
    if not marks or marks[0].start() > 0 or not rising:
        return [], [text] if text else []
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    texts = [text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)]
    return numbers, texts


def renumber(answer: str, numbers: Sequence[int]) -> str:
    """Replace the source's numbers in ``[n]`` of an answer by positions, from 1.

    A number without passage becomes one beyond the last position.

    >>> renumber("Peas [5], or beans [2, 5]; lentils [1].", [2, 5])
    'Peas [2], or beans [1, 2]; lentils [3].'
    """
    place = {number: at for at, number in enumerate(numbers, 1)}
    if all(number == at for number, at in place.items()):
        return answer

    def moved(match: re.Match[str]) -> str:
        found = (int(number) for number in re.findall(r"\d+", match[1]))
        return f"[{', '.join(str(place.get(n, len(numbers) + max(n, 1))) for n in found)}]"

    return _NUMBERS.sub(moved, answer)


# --- the judge's readings -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """Result of one judgement of one answer."""

    score: float | None = None
    """0 to 5; under ``abstention`` 1 if the answer abstains, else 0."""
    error: JudgeErrorKind | None = None
    not_applicable: str | None = None
    """Reason for scoring nothing; exactly one of the three is set."""


def read_judgement(
    rubric: str, judgement: Judgement, own: MetricInfo | None = None
) -> JudgedAnswer:
    """Read a rubric's score from a judgement; an invalid one is an error, never 0."""
    if (verdict := judgement.verdict) is None:
        failure = judgement.failure
        return JudgedAnswer(error="unparseable" if failure is None else failure.kind)
    if rubric == "abstention":
        if verdict.abstained is None:
            return JudgedAnswer(error="unparseable")
        return JudgedAnswer(score=float(verdict.abstained))
    if rubric not in verdict.scores:
        # A judge may leave out a metric of a user's rubric, in a run, too.
        reason = verdict.not_applicable.get(rubric, NOT_GIVEN if own else None)
        return (
            JudgedAnswer(error="unparseable")
            if reason is None
            else JudgedAnswer(not_applicable=reason)
        )
    score = valid_score(verdict.scores[rubric], scale_of(rubric, own))
    return JudgedAnswer(error="out_of_range") if score is None else JudgedAnswer(score=score)


def scale_of(rubric: str, own: MetricInfo | None = None) -> tuple[float, float]:
    """Return the ends of the scale of a rubric, or of a metric of a user's rubric."""
    if rubric == "abstention":
        return 0.0, 1.0
    return (own or BUILT_IN.cases[rubric]).bounds


def pass_line(rubric: str, own: MetricInfo | None = None) -> float | None:
    """Return the worst score of a good answer; None: the rubric gives a flag."""
    if rubric == "abstention":
        return None
    low, high = scale_of(rubric, own)
    share = PASS_SHARE * (high - low)
    return high - share if is_lower(own) else low + share


def is_lower(own: MetricInfo | None) -> bool:
    """Return whether lower scores are better, as they may be in a user's rubric."""
    return own is not None and own.direction == "lower"


# --- agreement -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Agreement of a judge with people on some answers; None: undefined (0/0, only one class)."""

    n: int
    """Answers with a valid verdict, the basis of every figure."""
    n_error: int
    n_not_applicable: int
    n_positive: int
    """Of ``n``, answers that people put into the positive class."""
    auroc: float | None
    """Macro mean over the sources with both classes."""
    auroc_pooled: float | None
    kappa: float | None
    """Cohen's kappa of passing and failing scores."""
    kappa_low: float | None
    kappa_high: float | None
    clusters: int
    """Groups of answers to one question; the interval of kappa resamples these."""
    accuracy: float | None
    precision: float | None
    """Of the positive class, like the next; with Wilson intervals."""
    precision_low: float | None
    precision_high: float | None
    recall: float | None
    recall_low: float | None
    recall_high: float | None
    f1: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BestThreshold:
    """The pass line with the largest kappa on the part ``dev``."""

    threshold: float
    kappa: float
    """On that part, so optimistic."""
    kappa_test: float | None
    """On the part ``test``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Agreement of a judge with people under one rubric."""

    rubric: str
    """A rubric, or the key of a metric of a user's rubric."""
    threshold: float | None
    test: Mapping[str, JudgeRates]
    """By language, on the labels by which nothing may be chosen."""
    dev: Mapping[str, JudgeRates]
    """The same of the labels to choose a threshold or a prompt by."""
    bias: Mapping[str, Mapping[str, GroupBias]]
    """By language and source, on those labels."""
    overall: Agreement
    """On all labels, like the next."""
    by_source: Mapping[str, Agreement]
    """In order of first appearance."""
    best_threshold: BestThreshold | None
    left_out: Mapping[str, int]
    """By label of neither class."""
    errors: Mapping[str, int]
    """By kind of failure."""
    disagreements: tuple[tuple[LabelledAnswer, float], ...] = ()
    """Answers of ``dev`` on whose side people and judge disagree, with their scores, the clearest
    first."""


def calibrate(
    rows: Sequence[LabelledAnswer],
    readings: Mapping[str, JudgedAnswer],
    *,
    rubric: str,
    own: MetricInfo | None = None,
    threshold: float | None = None,
) -> Calibration:
    """Compare a judge's readings with people's labels.

    Args:
        rows: labelled answers with distinct ids; those of neither class are only counted.
        readings: by row id, one for every row of a class.
        rubric: rubric of the readings, or the key of a metric of a user's rubric.
        own: definition of that metric; None: the rubric is one of the package.
        threshold: an answer is good from this score on; None: the pass line.

    Raises:
        KeyError: a row has no reading.
    """
    line = pass_line(rubric, own) if threshold is None else threshold
    # Turned around, so that below only low scores are bad.
    sign = -1.0 if is_lower(own) else 1.0
    limit = None if line is None else sign * line
    scores = {row_id: s * sign for row_id, r in readings.items() if (s := r.score) is not None}
    judged = [row for row in rows if row.label not in LEFT_OUT.get(rubric, ())]
    by_source: dict[str, list[LabelledAnswer]] = {}
    for row in judged:
        by_source.setdefault(row.source or "", []).append(row)

    def measure(part: Sequence[LabelledAnswer]) -> Agreement:
        return _measure(part, readings, scores, rubric, limit)

    dev, test = _parts(judged)
    overall = measure(judged)
    best = None if limit is None else _best_threshold(dev, test, scores, rubric)
    spoken = languages(
        [row.language for row in judged], [row.question or row.answer for row in judged]
    )
    in_test = {row.id for row in test}
    sides: dict[tuple[bool, str], list[_Side]] = {}
    for row, language in zip(judged, spoken, strict=True):
        if row.id in scores:
            side = _Side(row, _matters(rubric, row.label), _is_positive(scores[row.id], limit))
            sides.setdefault((row.id in in_test, language), []).append(side)
    return Calibration(
        rubric=rubric,
        threshold=line,
        test={name: _rates(part) for (tested, name), part in sides.items() if tested},
        dev={name: _rates(part) for (tested, name), part in sides.items() if not tested},
        bias={name: _biases(part) for (tested, name), part in sides.items() if tested},
        overall=overall,
        # A single source equals the whole; its bootstrap need not run twice.
        by_source={
            name: overall if len(by_source) == 1 else measure(part)
            for name, part in by_source.items()
        },
        best_threshold=best and replace(best, threshold=sign * best.threshold),
        left_out=dict(Counter(row.label for row in rows if row.label in LEFT_OUT.get(rubric, ()))),
        errors=dict(Counter(e for row in judged if (e := readings[row.id].error) is not None)),
        disagreements=tuple(
            (row, sign * scores[row.id]) for row in _disagreements(dev, scores, rubric, limit)
        ),
    )


class _Side(NamedTuple):
    """The sides of the pass line on which people and the judge put an answer."""

    row: LabelledAnswer
    truth: bool
    said: bool


def _rates(part: Iterable[_Side]) -> JudgeRates:
    rows, truth, said = zip(*part, strict=True)
    return judge_rates(truth, said, [row.cluster for row in rows])


def _biases(part: Iterable[_Side]) -> dict[str, GroupBias]:
    rows, truth, said = zip(*part, strict=True)
    groups = [row.source or "" for row in rows]
    return group_biases(groups, truth, said, [row.cluster for row in rows])


def _parts(rows: Iterable[LabelledAnswer]) -> tuple[list[LabelledAnswer], list[LabelledAnswer]]:
    """Split labels into those to choose by, and those to test by."""
    dev, test = list[LabelledAnswer](), list[LabelledAnswer]()
    for row in rows:
        (dev if is_dev(row.cluster[1]) else test).append(row)
    return dev, test


def _disagreements(
    rows: Iterable[LabelledAnswer], scores: Mapping[str, float], rubric: str, line: float | None
) -> list[LabelledAnswer]:
    """Return the answers on the other side than people put them, furthest from the line first."""
    found = [
        row
        for row in rows
        if row.id in scores and _is_positive(scores[row.id], line) != _matters(rubric, row.label)
    ]
    return sorted(found, key=lambda row: -abs(scores[row.id] - (line or 0.0)))


def _is_positive(score: float, line: float | None) -> bool:
    """Whether a judge puts an answer into the positive class; no line: by its flag."""
    return score > 0 if line is None else score < line - TOLERANCE


def _matters(rubric: str, label: str) -> bool:
    return label == LABELS.get(rubric, OWN_LABELS)[1]


def _measure(
    rows: Sequence[LabelledAnswer],
    readings: Mapping[str, JudgedAnswer],
    found_scores: Mapping[str, float],
    rubric: str,
    line: float | None,
) -> Agreement:
    scored = [(row, found_scores[row.id]) for row in rows if row.id in found_scores]
    scores, clusters = [score for _, score in scored], [row.cluster for row, _ in scored]
    truth = [_matters(rubric, row.label) for row, _ in scored]
    said = [_is_positive(score, line) for score in scores]
    # A high score is good, but the flag of abstention is 1 for the positive class.
    up = truth if line is None else [not one for one in truth]
    discrimination = auroc(scores, up, sources=[row.source for row, _ in scored])
    interval = bootstrap_agreement(truth, said, kappa_of_flags, clusters=clusters)
    found = precision_recall_f1(truth, said)
    right = sum(one == other for one, other in zip(truth, said, strict=True))
    return Agreement(
        n=len(scored),
        n_error=sum(readings[row.id].error is not None for row in rows),
        n_not_applicable=sum(readings[row.id].not_applicable is not None for row in rows),
        n_positive=sum(truth),
        auroc=discrimination.auroc,
        auroc_pooled=discrimination.auroc_pooled,
        kappa=kappa_of_flags(truth, said),
        kappa_low=interval.low,
        kappa_high=interval.high,
        clusters=len(set(clusters)),
        accuracy=right / len(scored) if scored else None,
        precision=found.precision,
        precision_low=found.precision_interval.low,
        precision_high=found.precision_interval.high,
        recall=found.recall,
        recall_low=found.recall_interval.low,
        recall_high=found.recall_interval.high,
        f1=found.f1,
    )


def kappa_of_flags(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Cohen's kappa of two binary raters: ``agreement.kappa``, fast enough to resample.

    >>> kappa_of_flags([1, 1, 0, 0], [1, 0, 0, 0])
    0.5
    """
    n, yes_a, yes_b = len(a), sum(a), sum(b)
    both = sum(x * y for x, y in zip(a, b, strict=True))
    return _kappa(n, yes_a, yes_b, both)


def _kappa(n: int, yes_a: float, yes_b: float, both: float) -> float | None:
    chance = yes_a * (n - yes_b) + yes_b * (n - yes_a)
    return 1 - n * (yes_a + yes_b - 2 * both) / chance if chance else None


def _best_threshold(
    dev: Iterable[LabelledAnswer],
    test: Iterable[LabelledAnswer],
    scores: Mapping[str, float],
    rubric: str,
) -> BestThreshold | None:
    bad = Counter[float]()
    total = Counter[float]()
    for row in dev:
        if (score := scores.get(row.id)) is not None:
            total[score] += 1
            bad[score] += _matters(rubric, row.label)
    n, n_bad = total.total(), bad.total()
    best: tuple[float, float] | None = None
    below, bad_below = 0, 0
    for score in sorted(total):
        # Every answer below this score counts as bad.
        found = _kappa(n, n_bad, below, bad_below)
        if found is not None and below and (best is None or found > best[1] + TOLERANCE):
            best = score, found
        below += total[score]
        bad_below += bad[score]
    if best is None:
        return None
    line, kappa = best
    rest = [(row, scores[row.id]) for row in test if row.id in scores]
    truth = [_matters(rubric, row.label) for row, _ in rest]
    said = [_is_positive(score, line) for _, score in rest]
    return BestThreshold(threshold=line, kappa=kappa, kappa_test=kappa_of_flags(truth, said))


# --- as a document -------------------------------------------------------------------------------


def calibration_document(found: Calibration) -> dict[str, Any]:
    """Return a calibration as JSON values, without answer texts and NaN."""
    return {
        "rubric": found.rubric,
        **{
            part: {name: asdict(one) for name, one in rates.items()}
            for part, rates in (("test", found.test), ("dev", found.dev))
        },
        "bias": {
            language: {name: asdict(one) for name, one in groups.items()}
            for language, groups in found.bias.items()
        },
        **asdict(found.overall),
        "threshold": found.threshold,
        "best_threshold": None if found.best_threshold is None else asdict(found.best_threshold),
        "by_source": {name: asdict(one) for name, one in found.by_source.items()},
        "left_out": dict(found.left_out),
        "errors": dict(found.errors),
        "disagreements": [
            {"id": row.id, "label": row.label, "score": score} for row, score in found.disagreements
        ],
    }


def answer_hash(row: LabelledAnswer) -> str:
    """Return a hash of the request about a row, without its label: 16 hex digits."""
    request = request_of(row)
    parts = [request.question, request.answer, request.expected_answer]
    parts += [passage.text for passage in request.context]
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()[:16]
