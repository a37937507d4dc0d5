"""Fit the offline judge on labels of people, and report how far it agrees with them.

Two logistic layers over readable features are fitted: whether an answer is grounded, whether it
holds a reference. Every source and label weighs the same. Weights keep their sign (support never
speaks against a claim), and a contradicted number, name or negation costs at least ``STRICT``.

Agreement is reported on rows that the fit has not seen: for groundedness each source is left out
in turn, for correctness each fifth of the questions; and once more with all rows fitted.

    python benchmarks/fit_offline_judge.py --labels ../shared/data/labels
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pytest_rageval.judgements import JudgeRequest, Passage
from pytest_rageval.offline import correctness, grounding
from pytest_rageval.offline.judge import OfflineJudge
from pytest_rageval.offline.lexicon import CORE_WORDS
from pytest_rageval.offline.parameters import Layer, Parameters
from pytest_rageval.offline.passages import read_context
from pytest_rageval.offline.support import AGAINST, FEATURES
from pytest_rageval.stats.agreement import (
    auroc,
    bootstrap_agreement,
    kappa,
)

STRICT: Final = 0.75
"""Least cost, in log odds, of a lost number, an opposite or a negation on one side only."""
STRICT_FEATURES: Final = ("numbers", "negated", "not_negated", "rival")
RIDGE: Final = 0.002
STEPS: Final = 20_000
FOLDS: Final = 5
DIGITS: Final = 3
ROOT: Final = Path(__file__).resolve().parents[1]
TARGET: Final = ROOT / "pytest_rageval" / "offline" / "parameters.json"

Matrix = npt.NDArray[np.float64]
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far the judge agrees with people on one source."""

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
    return weights / weights.sum()


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
    """What is left out together: source, or fold of questions."""
    vectors: Matrix
    """One row of features per claim, or per reference; may be empty."""
    request: JudgeRequest


def read_grounding(rows: Iterable[Row]) -> list[Answer]:
    """Look up the claims of every answer."""
    blank = Layer(intercept=0.0, weights={})
    answers = []
    for row in rows:
        request = grounding_request(row)
        found = grounding.find_claims(request, read_context(request.context), blank)
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
    most = {name: -STRICT if name in STRICT_FEATURES else 0.0 for name in AGAINST}
    return fit_layer(FEATURES, x, labels, balance([(a.group, a.good) for a in known]), most)


def read_correctness(rows: Iterable[Row]) -> list[Answer]:
    """Look up the references of every answer."""
    answers = []
    for row in rows:
        expected = "\n".join(row["reference"])
        request = JudgeRequest(
            question=row["question"], answer=row["answer"], expected_answer=expected
        )
        vectors = []
        for reference in correctness.split_alternatives(expected):
            found = correctness.reference_features(row["question"], row["answer"], reference)
            if found is not None:
                vectors.append([found[name] for name in correctness.FEATURES])
        fold = int(hashlib.sha256(row["question"].encode()).hexdigest(), 16) % FOLDS
        answers.append(
            Answer(
                row=row,
                good=row["label"] == "correct",
                group=str(fold),
                vectors=np.array(vectors).reshape(-1, len(correctness.FEATURES)),
                request=request,
            )
        )
    return answers


def fit_correctness(answers: Sequence[Answer]) -> Layer:
    """Fit on the best reference of each answer, chosen anew by each fit until it settles."""
    names = correctness.FEATURES
    known = [a for a in answers if len(a.vectors)]
    labels = np.array([float(a.good) for a in known])
    weights = np.full(len(known), 1 / len(known))
    layer = Layer(intercept=0.0, weights=dict.fromkeys(names, 1.0) | {"numbers": -1.0})
    for _ in range(5):
        ranks = np.array([layer.weights[name] for name in names])
        x = np.array([a.vectors[int(np.argmax(a.vectors @ ranks))] for a in known])
        layer = fit_layer(names, x, labels, weights, {"numbers": 0.0})
    return layer


# --- agreement -------------------------------------------------------------------------------


def score_with(layer: Layer, kind: str, answers: Iterable[Answer]) -> list[float]:
    """Return what the judge itself says with these numbers."""
    judge = OfflineJudge(Parameters(grounded=layer, correct=layer))
    verdicts = [judge.judge(kind, answer.request).verdict for answer in answers]
    return [verdict.scores[kind] for verdict in verdicts if verdict is not None]


def unseen_scores(
    answers: Sequence[Answer], kind: str, fit: Callable[[Sequence[Answer]], Layer]
) -> dict[int, float]:
    """Score every answer by a fit without its group."""
    scores: dict[int, float] = {}
    for group in sorted({a.group for a in answers}):
        layer = fit([a for a in answers if a.group != group])
        held = [a for a in answers if a.group == group]
        scores.update(zip(map(id, held), score_with(layer, kind, held), strict=True))
    return scores


def measure(
    name: str, answers: Sequence[Answer], unseen: Sequence[float], fitted: Sequence[float],
    floor: Callable[[Row], float],
) -> Agreement:  # fmt: skip
    """Compare scores with labels."""
    good = [a.good for a in answers]
    passed, truth = [float(s >= 4) for s in unseen], [float(g) for g in good]

    def agree(a: Sequence[float], b: Sequence[float]) -> float | None:
        return kappa(a, b, categories=(0.0, 1.0))

    interval = bootstrap_agreement(
        passed, truth, agree, clusters=[a.row["question"] or a.row["context"] for a in answers]
    )
    return Agreement(
        name=name,
        n=len(answers),
        unseen=auroc(unseen, good).auroc or 0.0,
        fitted=auroc(fitted, good).auroc or 0.0,
        kappa=agree(passed, truth) or 0.0,
        kappa_low=interval.low or 0.0,
        kappa_high=interval.high or 0.0,
        accuracy=sum(p == t for p, t in zip(passed, truth, strict=True)) / len(good),
        floor=auroc([floor(a.row) for a in answers], good).auroc or 0.0,
    )


def measure_by(
    answers: Sequence[Answer], kind: str, fit: Callable[[Sequence[Answer]], Layer],
    layer: Layer, floor: Callable[[Row], float],
) -> list[Agreement]:  # fmt: skip
    """Measure each source."""
    unseen = unseen_scores(answers, kind, fit)
    fitted = dict(zip(map(id, answers), score_with(layer, kind, answers), strict=True))
    found = []
    for source in sorted({a.row["source"] for a in answers}):
        part = [a for a in answers if a.row["source"] == source]
        found.append(
            measure(
                source, part, [unseen[id(a)] for a in part], [fitted[id(a)] for a in part], floor
            )
        )
    return found
