"""Fit the offline judge on labels of people, and report how far it agrees with them.

Two logistic layers over readable features are fitted: whether an answer is grounded, and whether it
states a reference. Every source and label weighs the same. Weights keep their sign (support never
speaks against a claim), and a contradicted number, name or negation costs at least ``STRICT``. For
long key facts the labels of groundedness are read the other way round: a labelled sentence of 15
words or more is the key fact, and the passage that people compared it with is the answer.

Agreement is reported on rows that the fit has not seen: for groundedness and long key facts each
source is left out in turn, for correctness each fifth of the questions; and once more with all rows
fitted. AUROC of correctness is by what the words say, also where the judge is unsure.

    python benchmarks/fit_offline_judge.py --labels ../shared/data/labels
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate, combinations_with_replacement
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pytest_rageval.analysis.stats.agreement import (
    PrecisionRecall,
    auroc,
    bootstrap_agreement,
    kappa,
    precision_recall_f1,
)
from pytest_rageval.analysis.stats.intervals import wilson
from pytest_rageval.analysis.trust.admission import group_biases, is_dev, judge_rates
from pytest_rageval.judges.offline import comparison, facts, grounding
from pytest_rageval.judges.offline.abstention import read_abstention
from pytest_rageval.judges.offline.claims import plain_text
from pytest_rageval.judges.offline.grounding import PASS
from pytest_rageval.judges.offline.judge import OfflineJudge, rank, split_alternatives
from pytest_rageval.judges.offline.lexicon import language_of, read_words
from pytest_rageval.judges.offline.parameters import Layer, Parameters, parse_parameters
from pytest_rageval.judges.offline.support import AGAINST, FEATURES
from pytest_rageval.judges.offline.vocabulary import CORE_WORDS
from pytest_rageval.values.settings import ADMIT_AT
from pytest_rageval.values.verdict import JudgeRequest, Passage, StoredCalibration

STRICT: Final = 2.0
"""Least cost, in log odds, of a lost number or name, an opposite or a lone negation in a claim
that is found otherwise."""
STRICT_FEATURES: Final = ("numbers", "names", "negated", "not_negated", "rival")
STRICT_NUMBERS: Final = 1.0
"""The same of a number that a reference has and the answer lacks."""
RIDGE: Final = 0.002
STEPS: Final = 20_000
FOLDS: Final = 5
GROUNDED_RATING: Final = 3
"""Median faithfulness of mtrag's raters, 1 to 4, from which its label is grounded."""
LONGEST_ANSWER: Final = 200
"""Words up to which a passage stands for an answer."""
FEWEST: Final = 50
"""Long key facts of a source from which its agreement is reported."""
FEWEST_OF_LENGTH: Final = 25
"""The same of a source and length."""
LENGTHS: Final = ((15, 20), (21, 30), (31, 60))
"""Words of long key facts, both ends included."""
DIGITS: Final = 3
ROOT: Final = Path(__file__).resolve().parents[1]
TARGET: Final = ROOT / "pytest_rageval" / "judges" / "offline" / "parameters.json"
ADMISSION: Final = TARGET.with_name("admission.json")
AGREED: Final = 0.95
"""Share of the verdicts outside a band with which people agree."""
LARGEST: Final = 5.1
"""More than any score."""
RUBRICS: Final = ("correctness", "groundedness")
"""Rubrics with scores."""

Matrix = npt.NDArray[np.float64]
Row = Mapping[str, Any]


class Scored(NamedTuple):
    """Verdict of the judge on one answer."""

    score: float
    passed: bool
    unsure: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Agreement of the judge with people on one source."""

    name: str
    n: int
    unseen: float
    """AUROC by a fit that has not seen the rows."""
    fitted: float
    """AUROC by the stored numbers."""
    kappa: float
    """Pass or not (at least 4 of 5) against the label, by a fit that has not seen the rows."""
    kappa_low: float
    kappa_high: float
    accuracy: float
    """Of the judged ones."""
    unsure: float
    """Share of those of which the judge is not sure."""
    floor: float
    """AUROC of word overlap; for correctness of "a reference is contained"."""


# --- rows ------------------------------------------------------------------------------------


def read_rows(path: Path) -> list[Row]:
    """Read a file of labels."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def grounding_request(row: Row) -> JudgeRequest:
    """Return the request of a groundedness row: the whole context is one passage."""
    context = (Passage(text=row["context"]),) if row["context"] else ()
    return JudgeRequest(question=row["question"] or "", answer=row["answer"], context=context)


def overlap(row: Row) -> float:
    """Share of the answer's words that the context holds, the most common ones left out."""
    answer = re.sub(r"\[[\d, ]+\]", " ", row["answer"]).lower()
    words = [word for word in re.findall(r"\w+", answer) if word not in CORE_WORDS]
    context = set(re.findall(r"\w+", (row["context"] or "").lower()))
    return sum(word in context for word in words) / len(words) if words else 0.0


def contained(row: Row) -> float:
    """1 if a reference stands in the answer letter for letter."""
    return float(any(r.lower() in row["answer"].lower() for r in row["reference"]))


# --- fitting ---------------------------------------------------------------------------------


def balance(groups: Sequence[tuple[str, bool]]) -> Matrix:
    """Return weights that sum to 1 and give every source and label the same share."""
    counts: dict[tuple[str, bool], int] = {}
    for group in groups:
        counts[group] = counts.get(group, 0) + 1
    weights = np.array([1 / counts[group] for group in groups])
    return np.asarray(weights / weights.sum())


def fit_layer(
    names: Sequence[str], x: Matrix, labels: Matrix, weights: Matrix, most: Mapping[str, float]
) -> Layer:
    """Fit a logistic layer by accelerated projected gradients (Beck & Teboulle 2009).

    Args:
        names: features, one per column of ``x``.
        x: one row per answer.
        labels: 1 where people said yes, else 0.
        weights: of the rows, sum 1.
        most: upper bound of each feature that speaks against; the others are at least 0.
    """
    design = np.column_stack([x, np.ones(len(x))])
    low = np.array([-np.inf if name in most else 0.0 for name in names] + [-np.inf])
    high = np.array([most.get(name, np.inf) for name in names] + [np.inf])
    ridge = np.array([2 * RIDGE] * len(names) + [0.0])
    curvature = 0.25 * np.linalg.eigvalsh(design.T @ (design * weights[:, None]))[-1]
    step = 1 / (curvature + 2 * RIDGE)
    at = ahead = np.clip(np.zeros(len(names) + 1), low, high)
    momentum = 1.0
    for _ in range(STEPS):
        error = (1 / (1 + np.exp(-design @ ahead)) - labels) * weights
        found = np.clip(ahead - step * (design.T @ error + ridge * ahead), low, high)
        faster = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = found + (momentum - 1) / faster * (found - at)
        done = bool(np.abs(found - at).max() < 1e-9)
        at, momentum = found, faster
        if done:
            break
    rounded = [round(float(value), DIGITS) + 0.0 for value in at]
    return Layer(intercept=rounded[-1], weights=dict(zip(names, rounded[:-1], strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One labelled answer, read once."""

    row: Row
    good: bool
    group: str
    """Group of rows that is left out together: a source, or a fold of questions."""
    vectors: Matrix
    """One row of features per claim, or per reference; may be empty."""
    request: JudgeRequest


def read_grounding(rows: Iterable[Row]) -> list[Answer]:
    """Look up the claims of every answer."""
    blank = Layer(intercept=0.0, weights={})
    answers = []
    for row in rows:
        request = grounding_request(row)
        found = grounding.find_claims(request, blank)[0]
        vectors = [
            [c.support.weight, *(c.support.features[name] for name in FEATURES)] for c in found
        ]
        answers.append(
            Answer(
                row=row,
                good=row["label"] == "grounded",
                group=row["source"],
                vectors=np.array(vectors).reshape(-1, len(FEATURES) + 1),
                request=request,
            )
        )
    return answers


def fit_grounding(answers: Sequence[Answer]) -> Layer:
    """Fit on the weighted mean over the claims of each answer."""
    known = [a for a in answers if len(a.vectors)]
    x = np.array([np.average(a.vectors[:, 1:], axis=0, weights=a.vectors[:, 0]) for a in known])
    labels = np.array([float(a.good) for a in known])
    weights = balance([(a.group, a.good) for a in known])
    most = {name: -STRICT if name in STRICT_FEATURES else 0.0 for name in AGAINST}
    layer = fit_layer(FEATURES, x, labels, weights, most)
    ranks = np.array([layer.weights[name] for name in FEATURES])
    means = x @ ranks
    worst = np.array([(a.vectors[:, 1:] @ ranks).min() for a in known])
    drawn = (1 - grounding.WORST_SHARE) * means + grounding.WORST_SHARE * worst
    return Layer(intercept=settle_intercept(drawn, labels, weights), weights=layer.weights)


def settle_intercept(log_odds: Matrix, labels: Matrix, weights: Matrix) -> float:
    """Return the intercept at which probabilities and labels have the same weighted mean."""
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        excess = weights @ (1 / (1 + np.exp(-log_odds - middle)) - labels)
        low, high = (low, middle) if excess > 0 else (middle, high)
    return round(low, DIGITS)


def look_up(request: JudgeRequest, layer: Layer) -> list[facts.Stated]:
    """Look the key facts and the alternatives of the expected answer up in an answer."""
    wanted = request.expected_answer or ""
    texts = [
        *request.expected_key_facts,
        *(split_alternatives(wanted) if wanted else ()),
    ]
    language = language_of(" ".join((request.answer, *texts)), request.question)
    question = facts.read_question(request.question, language)
    answer = facts.StatedText.of_answer(request.answer, language)
    return [comparison.look_up(facts.Expected(text, question), answer, layer) for text in texts]


def correctness_features(request: JudgeRequest) -> list[list[float]]:
    """Return the features of each alternative of the expected answer."""
    wanted = split_alternatives(request.expected_answer or "")
    language = language_of(" ".join((request.answer, *wanted)), request.question)
    question = facts.read_question(request.question, language)
    answer = facts.StatedText.of_answer(request.answer, language)
    found = [answer.features(facts.Expected(text, question)) for text in wanted]
    return [[one[name] for name in facts.FEATURES] for one in found if one is not None]


def read_correctness(rows: Iterable[Row]) -> list[Answer]:
    """Look up the references of every answer."""
    answers = []
    for row in rows:
        expected = "\n".join(row["reference"])
        request = JudgeRequest(
            question=row["question"], answer=row["answer"], expected_answer=expected
        )
        vectors = correctness_features(request)
        fold = int(hashlib.sha256(row["question"].encode()).hexdigest(), 16) % FOLDS
        answers.append(
            Answer(
                row=row,
                good=row["label"] == "correct",
                group=str(fold),
                vectors=np.array(vectors).reshape(-1, len(facts.FEATURES)),
                request=request,
            )
        )
    return answers


def read_statements(rows: Iterable[Row]) -> list[Answer]:
    """Look up every long labelled sentence in its passage, as a key fact in an answer."""
    answers = []
    for row in rows:
        passage, fact = row["context"] or "", plain_text(row["answer"])
        if len(read_words(fact)) < facts.LONG or len(passage.split()) > LONGEST_ANSWER:
            continue
        request = JudgeRequest(
            question=row["question"] or "", answer=passage, expected_key_facts=(fact,)
        )
        answers.append(
            Answer(
                row=row,
                good=row["label"] == "grounded",
                group=row["source"],
                vectors=np.array([]),
                request=request,
            )
        )
    return answers


def fit_correctness(answers: Sequence[Answer]) -> Layer:
    """Fit on the best reference of each answer, chosen anew by each fit until it settles."""
    names = facts.FEATURES
    known = [a for a in answers if len(a.vectors)]
    labels = np.array([float(a.good) for a in known])
    weights = np.full(len(known), 1 / len(known))
    layer = Layer(intercept=0.0, weights=dict.fromkeys(names, 1.0) | {"numbers": -1.0})
    for _ in range(5):
        ranks = np.array([layer.weights[name] for name in names])
        x = np.array([a.vectors[int(np.argmax(a.vectors @ ranks))] for a in known])
        layer = fit_layer(names, x, labels, weights, {"numbers": -STRICT_NUMBERS})
    return layer


# --- agreement -------------------------------------------------------------------------------


def score_with(layer: Layer, kind: str, answers: Iterable[Answer]) -> list[Scored]:
    """Return what the judge itself says with these numbers."""
    if kind == "groundedness":
        judge = OfflineJudge(Parameters(grounded=layer, correct=layer))
        verdicts = [judge.judge(kind, answer.request).verdict for answer in answers]
        scores = [verdict.scores[kind] for verdict in verdicts if verdict is not None]
        return [Scored(score, score >= PASS, False) for score in scores]
    found = [max(look_up(answer.request, layer), key=rank) for answer in answers]
    return [Scored(one.score, one.state == "stated", one.state == "unsure") for one in found]


def unseen_scores(
    answers: Sequence[Answer], kind: str, fit: Callable[[Sequence[Answer]], Layer]
) -> dict[int, Scored]:
    """Score every answer by a fit without its group."""
    scores: dict[int, Scored] = {}
    for group in sorted({a.group for a in answers}):
        layer = fit([a for a in answers if a.group != group])
        held = [a for a in answers if a.group == group]
        scores.update(zip(map(id, held), score_with(layer, kind, held), strict=True))
    return scores


def measure(
    name: str, answers: Sequence[Answer], unseen: Sequence[Scored], fitted: Sequence[Scored],
    floor: Callable[[Row], float],
) -> Agreement:  # fmt: skip
    """Compare scores with labels."""
    good = [a.good for a in answers]
    sure = [(a, s) for a, s in zip(answers, unseen, strict=True) if not s.unsure]
    passed, truth = [float(s.passed) for _, s in sure], [float(a.good) for a, _ in sure]

    def agree(a: Sequence[float], b: Sequence[float]) -> float | None:
        return kappa(a, b, categories=(0.0, 1.0))

    interval = bootstrap_agreement(
        passed, truth, agree, clusters=[a.row["question"] or a.row["context"] for a, _ in sure]
    )
    return Agreement(
        name=name,
        n=len(answers),
        unseen=auroc([one.score for one in unseen], good).auroc or 0.0,
        fitted=auroc([one.score for one in fitted], good).auroc or 0.0,
        kappa=agree(passed, truth) or 0.0,
        kappa_low=interval.low or 0.0,
        kappa_high=interval.high or 0.0,
        accuracy=sum(p == t for p, t in zip(passed, truth, strict=True)) / max(len(sure), 1),
        unsure=1 - len(sure) / len(answers),
        floor=auroc([floor(a.row) for a in answers], good).auroc or 0.0,
    )


def source_of(answer: Answer) -> str:
    """Return the source of an answer."""
    return str(answer.row["source"])


def length_of(answer: Answer) -> str | None:
    """Return the source and length of a long key fact; None: it is longer than all of them."""
    n = len(read_words(answer.request.expected_key_facts[0]))
    spans = [f"{low} to {high}" for low, high in LENGTHS if low <= n <= high]
    return f"{source_of(answer)}, {spans[0]} words" if spans else None


def measure_by(
    answers: Sequence[Answer], unseen: Mapping[int, Scored], fitted: Mapping[int, Scored],
    floor: Callable[[Row], float],
    part_of: Callable[[Answer], str | None] = source_of,
) -> list[Agreement]:  # fmt: skip
    """Measure each source, or each other part, by the scores of fits and of the stored numbers."""
    found = []
    names = [part_of(a) for a in answers]
    for name in sorted({one for one in names if one is not None}):
        part = [a for a, its in zip(answers, names, strict=True) if its == name]
        found.append(
            measure(name, part, [unseen[id(a)] for a in part], [fitted[id(a)] for a in part], floor)
        )
    return found


def measure_raters(rows: Sequence[Row]) -> float | None:
    """AUROC of one rater's faithfulness against the label that the others give (mtrag).

    The ceiling: how well one person foretells the median of the others.
    """
    scores, truth = [], []
    for row in rows:
        ratings = (row.get("ratings") or {}).get("faithfulness") or []
        for at, rating in enumerate(ratings):
            others = sorted(ratings[:at] + ratings[at + 1 :])
            if others:
                scores.append(float(rating))
                truth.append(statistics.median(others) >= GROUNDED_RATING)
    return auroc(scores, truth).auroc if scores else None


def measure_abstention(rows: Sequence[Row]) -> dict[str, PrecisionRecall]:
    """Precision and recall of "abstained" by source; partial and clarify are left out."""
    found = {}
    for source in sorted({row["source"] for row in rows}):
        part = [r for r in rows if r["source"] == source and r["label"] in {"answer", "abstain"}]
        said = [read_abstention(row["answer"]).abstained is True for row in part]
        found[source] = precision_recall_f1([r["label"] == "abstain" for r in part], said)
    return found


# --- admission -------------------------------------------------------------------------------


class Side(NamedTuple):
    """The sides of the pass line on which people and the judge put an answer."""

    language: str
    source: str
    cluster: str
    bad: bool
    said: bool


def sides_of(answers: Iterable[Answer], scores: Mapping[int, Scored]) -> list[Side]:
    """Return both sides of the English answers that the judge is sure of."""
    return [
        Side("en", source_of(a), a.row["question"] or a.row["context"], not a.good, not one.passed)
        for a in answers
        if not (one := scores[id(a)]).unsure
    ]


def sides_of_abstentions(rows: Iterable[Row]) -> list[Side]:
    """Return both sides of answers and abstentions; abstaining is the positive class."""
    return [
        Side("en", row["source"], row["id"], row["label"] == "abstain",
            read_abstention(row["answer"]).abstained is True)
        for row in rows
        if row["label"] in {"answer", "abstain"}
    ]  # fmt: skip


def sides_of_short_answers(path: Path) -> Iterator[Side]:
    """Yield both sides of the short answers in other languages than English, where they are."""
    judge = OfflineJudge()
    for row in read_rows(path) if path.is_file() else ():
        request = JudgeRequest(
            question=row["question"],
            answer=row["answer"],
            expected_answer=row.get("expected_answer"),
            expected_key_facts=tuple(row.get("expected_key_facts", ())),
        )
        verdict = judge.judge("correctness", request).verdict
        score = None if verdict is None else verdict.scores.get("correctness")
        if row.get("language") and score is not None:
            yield Side(
                row["language"], path.stem, row["question"], not row["correct"], score < PASS
            )


def admission_of(rubric: str, sides: Sequence[Side]) -> StoredCalibration:
    """Return what the package says of its judge under a rubric, by language."""
    test, bias = {}, {}
    for language in sorted({one.language for one in sides}):
        _, sources, clusters, bad, said = zip(
            *[s for s in sides if s.language == language], strict=True
        )
        test[language] = judge_rates(bad, said, clusters)
        bias[language] = group_biases(sources, bad, said, clusters)
    identity = OfflineJudge.identity
    return StoredCalibration(
        schema_version=1,
        judge=identity,
        rubric=rubric,
        rubric_version=f"{rubric}-{identity}",
        test=test,
        bias=bias,
        bundled=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Scores between which verdicts would go to another judge."""

    name: str
    n: int
    """Answers that it was not chosen by, like the next two."""
    low: float
    """Below it an answer is bad."""
    high: float
    """From it on an answer is good."""
    n_outside: int
    """Those with a verdict outside the band."""
    agreement: float
    """Share of these verdicts that people agree with."""


def find_band(name: str, answers: Sequence[Answer], scores: Mapping[int, Scored]) -> Band:
    """Choose the band on a third of the questions, and measure it on the others.

    The lower bound of the agreement outside it is to be ``AGREED``, with as many verdicts as can
    be; those that the judge is not sure of lie inside any.
    """
    rows = [(a, scores[id(a)]) for a in answers]
    dev, test = list[tuple[Answer, Scored]](), list[tuple[Answer, Scored]]()
    for a, one in rows:
        (dev if is_dev(a.row["question"] or a.row["context"]) else test).append((a, one))
    sure = sorted((one.score, a.good) for a, one in dev if not one.unsure)
    good = [0, *accumulate(is_good for _, is_good in sure)]
    cuts = [0, *(i for i in range(1, len(sure)) if sure[i - 1][0] < sure[i][0]), len(sure)]
    best = (0, 0, len(sure))
    for low, high in combinations_with_replacement(cuts, 2):
        n, right = low + len(sure) - high, low - good[low] + good[-1] - good[high]
        if n > best[0] and (wilson(right, n).low or 0.0) >= AGREED:
            best = n, low, high
    below, above = (sure[at][0] if at < len(sure) else LARGEST for at in best[1:])
    kept = [
        (one.score >= above) == a.good
        for a, one in test
        if not one.unsure and not below <= one.score < above
    ]
    return Band(
        name=name,
        n=len(test),
        low=below,
        high=above,
        n_outside=len(kept),
        agreement=sum(kept) / max(len(kept), 1),
    )


# --- output ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Fitted numbers and what they are worth."""

    parameters: Mapping[str, Any]
    """The content of ``parameters.json``."""
    groundedness: Sequence[Agreement]
    correctness: Sequence[Agreement]
    statements: Sequence[Agreement]
    """Of long key facts."""
    lengths: Sequence[Agreement]
    """Of long key facts by source and length."""
    raters: float | None
    abstention: Mapping[str, PrecisionRecall]
    admission: Sequence[StoredCalibration]
    """The content of ``admission.json``, on unseen sources or questions."""
    bands: Sequence[Band]


def fit_all(labels: Path) -> tuple[Mapping[str, Any], list[Answer], list[Answer], list[Answer]]:
    """Return the content of ``parameters.json`` and the answers each layer was fitted on."""
    rows = read_rows(labels / "groundedness.jsonl")
    grounded = read_grounding(rows)
    correct = read_correctness(read_rows(labels / "correctness.jsonl"))
    stated = read_statements(rows)
    layers = {
        "grounded": fit_grounding(grounded),
        "correct": fit_correctness(correct),
    }
    return {name: asdict(layer) for name, layer in layers.items()}, grounded, correct, stated


def report(labels: Path) -> Report:
    """Fit and measure everything."""
    document, grounded, correct, stated = fit_all(labels)
    enough = {s for s, n in Counter(a.row["source"] for a in stated).items() if n >= FEWEST}
    fitted = parse_parameters(document)

    def scored(kind: str, answers: Sequence[Answer], layer: Layer) -> dict[int, Scored]:
        return dict(zip(map(id, answers), score_with(layer, kind, answers), strict=True))

    of_grounded = unseen_scores(grounded, "groundedness", fit_grounding)
    of_correct = unseen_scores(correct, "correctness", fit_correctness)
    of_stated = scored("correctness", stated, fitted.correct)  # fitted on other answers anyway
    refusals = read_rows(labels / "abstention.jsonl")
    lengths = measure_by(stated, of_stated, of_stated, overlap, length_of)
    short = sides_of_short_answers(labels.parent / "short_answers.jsonl")
    sides = {
        "groundedness": sides_of(grounded, of_grounded),
        "correctness": [*sides_of(correct, of_correct), *short],
        "abstention": sides_of_abstentions(refusals),
    }
    return Report(
        parameters=document,
        groundedness=measure_by(
            grounded, of_grounded, scored("groundedness", grounded, fitted.grounded), overlap
        ),
        correctness=measure_by(
            correct, of_correct, scored("correctness", correct, fitted.correct), contained
        ),
        statements=[
            one for one in measure_by(stated, of_stated, of_stated, overlap) if one.name in enough
        ],
        lengths=[one for one in lengths if one.n >= FEWEST_OF_LENGTH],
        raters=measure_raters([a.row for a in grounded]),
        abstention=measure_abstention(refusals),
        admission=[admission_of(rubric, found) for rubric, found in sides.items()],
        bands=[
            find_band("correctness", correct, of_correct),
            find_band("groundedness", grounded, of_grounded),
            *(
                find_band(name, [a for a in grounded if source_of(a) == name], of_grounded)
                for name in sorted({source_of(a) for a in grounded})
            ),
        ],
    )


def render_tables(found: Report) -> str:
    """Return the tables of ``docs/judges.md``."""
    columns = "source n AUROC_unseen AUROC_fitted baseline kappa_at_4 correct_at_4 unsure".split()
    head = f"| {' | '.join(columns)} |".replace("_", " ")
    lines = [head, "|---|---|---|---|---|---|---|---|"]
    named = [replace(row, name=f"{row.name}, long key facts") for row in found.statements]
    lengths = [
        replace(row, name=row.name.replace(", ", ", long key facts of ")) for row in found.lengths
    ]
    for row in (*found.groundedness, *found.correctness, *named, *lengths):
        interval = f"{row.kappa:.2f} [{row.kappa_low:.2f}, {row.kappa_high:.2f}]"
        numbers = f"{row.unseen:.2f} | {row.fitted:.2f} | {row.floor:.2f}"
        rates = f"{interval} | {row.accuracy:.0%} | {row.unsure:.0%}"
        lines.append(f"| {row.name} | {row.n} | {numbers} | {rates} |")
    means = [
        statistics.fmean(getattr(row, name) for row in found.groundedness)
        for name in ("unseen", "fitted", "floor")
    ]
    lines.append(
        "| groundedness, mean of sources | | " + " | ".join(f"{m:.2f}" for m in means) + " | | | |"
    )
    lines += ["", "| source | precision of abstained | recall |", "|---|---|---|"]
    for source, found_of in found.abstention.items():
        lines.append(f"| {source} | {found_of.precision or 0:.2f} | {found_of.recall or 0:.2f} |")
    lines += ["", render_admission(found.admission), "", render_bands(found.bands)]
    if found.raters is not None:
        lines += ["", f"One rater of mtrag against the median of the others: {found.raters:.2f}."]
    return "\n".join(lines)


def render_admission(found: Sequence[StoredCalibration]) -> str:
    """Return the table of the rates by rubric and language."""
    lines = ["| rubric | language | bad | found (TPR) | good | passed (TNR) | admitted at 0.80 |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for one in found:
        for language, r in one.test.items():
            rates = [
                f"{n} | {rate or 0:.2f} [{low or 0:.2f}, {high or 0:.2f}]"
                for n, rate, low, high in (
                    (r.n_bad, r.tpr, r.tpr_low, r.tpr_high),
                    (r.n_good, r.tnr, r.tnr_low, r.tnr_high),
                )
            ]
            admitted = "yes" if one.admits(language, ADMIT_AT) else "no"
            lines.append(f"| {one.rubric} | {language} | {' | '.join(rates)} | {admitted} |")
    return "\n".join(lines)


def render_bands(found: Sequence[Band]) -> str:
    """Return the table of the verdicts that need no other judge."""
    lines = ["| labels | n | band | outside | of these right |", "|---|---|---|---|---|"]
    for one in found:
        band = f"{one.low:.2f} to {one.high:.2f}" if one.n_outside else "all"
        right = f"{one.agreement:.1%}" if one.n_outside else "-"
        lines.append(f"| {one.name} | {one.n} | {band} | {one.n_outside / one.n:.0%} | {right} |")
    both = [one for one in found if one.name in RUBRICS]
    n, outside = sum(one.n for one in both), sum(one.n_outside for one in both)
    lines.append(f"| {' and '.join(RUBRICS)} | {n} | | {outside / n:.0%} | |")
    return "\n".join(lines)


def write_numbers(document: object, path: Path) -> None:
    """Write fitted or measured numbers."""
    rounded = json.loads(json.dumps(document), parse_float=lambda text: round(float(text), 4))
    path.write_text(json.dumps(rounded, indent=2) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, print and, if asked, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    shared = os.environ.get("RAGEVAL_SHARED", ROOT.parent / "shared")
    default = Path(shared) / "data" / "labels"
    parser.add_argument("--labels", type=Path, default=default, help="folder of the label files")
    parser.add_argument("--write", action="store_true", help="write what the package holds")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    if not options.labels.is_dir():
        parser.error(f"no folder {str(options.labels)!r}, expected the label files (--labels)")
    found = report(options.labels)
    print(json.dumps(asdict(found), indent=2) if options.json else render_tables(found))
    if options.write:
        write_numbers(found.parameters, TARGET)
        write_numbers([asdict(one) for one in found.admission], ADMISSION)
    return 0


if __name__ == "__main__":
    sys.exit(main())
