"""Admission of a judge: error rates on labels that nothing was chosen by. Pure.

Defined in docs/statistics.md#admission-of-a-judge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from pytest_rageval.analysis.stats.distributions import binomial_cdf, cluster_sums
from pytest_rageval.analysis.stats.intervals import MetricScale, fmean, mean_interval, wilson
from pytest_rageval.metrics.registry import STAGE_PREFIX
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.settings import JUDGED_ON, Aspect
from pytest_rageval.values.verdict import Admissions, GroupBias, Judgement, JudgeRates

DEV_SHARE: Final = 1 / 3
_SURE: Final = 0.9
"""Chance that so many labels as are asked for leave enough in the part ``test``."""
_MOST: Final = 2_000
"""Labels of a class beyond which none are asked for."""
_SAMPLE: Final = 20
"""Texts by which the language of most is recognised."""
_SAMPLE_CHARS: Final = 100


def is_dev(case: str) -> bool:
    """Return whether the labels of a case are for choosing a threshold or a prompt by.

    A third of all cases, by the hash of the question, so that it never changes and answers of
    several systems to one question are on one side.
    """
    return hashlib.sha256(case.encode("utf-8", "backslashreplace")).digest()[0] < 256 * DEV_SHARE


# --- languages -----------------------------------------------------------------------------------


def languages(declared: Sequence[str | None], texts: Sequence[str]) -> list[str]:
    """Return the language of each text: the declared one, else that of most of the others.

    >>> languages(["de-AT", None, None], ["Hallo", "Where is the key?", "What is this for?"])
    ['de', 'en', 'en']
    """
    # Imported here: its tables are large, and only a judge's verdicts need them.
    from pytest_rageval.judges.offline.lexicon import language_of

    rest = [text for given, text in zip(declared, texts, strict=True) if not given]
    drawn = rest[:: max(1, len(rest) // _SAMPLE)]
    most = language_of(" ".join(text[:_SAMPLE_CHARS] for text in drawn))
    return [given.lower().replace("_", "-").split("-")[0] if given else most for given in declared]


# --- rates ---------------------------------------------------------------------------------------


def judge_rates(
    truth: Sequence[bool], said: Sequence[bool], clusters: Sequence[Hashable]
) -> JudgeRates:
    """Return both rates of a judge, with two-sided 95 % intervals.

    The intervals are those of Wilson, over as many answers as there are questions: a judge may be
    right of all answers to a question or of none, and of few such groups the clustered interval of
    a mean covers too little.

    Args:
        truth: whether people put an answer into the positive class.
        said: whether the judge does.
        clusters: answers that tend to be right or wrong together, such as those to one question.
    """
    found = []
    for kind in (True, False):
        at = [i for i, one in enumerate(truth) if one == kind]
        right = [float(said[i] == kind) for i in at]
        n = len({clusters[i] for i in at})
        found.append((right, wilson(n * (fmean(right) or 0.0), n)))
    (bad, tpr), (good, tnr) = found
    return JudgeRates(
        n_bad=len(bad),
        tpr=fmean(bad),
        tpr_low=tpr.low,
        tpr_high=tpr.high,
        n_good=len(good),
        tnr=fmean(good),
        tnr_low=tnr.low,
        tnr_high=tnr.high,
    )


def group_biases(
    groups: Sequence[str],
    truth: Sequence[bool],
    said: Sequence[bool],
    clusters: Sequence[Hashable],
) -> dict[str, GroupBias]:
    """Return the bias of a judge in each group, with intervals at 95 % for all together.

    Args:
        groups: of the answers; with several, each interval is at 1 - .05 / n (Bonferroni).
        truth: as for ``judge_rates``, like the next two.
        said: of the judge.
        clusters: of the answers.
    """
    found = {}
    for name in dict.fromkeys(groups):
        at = [i for i, one in enumerate(groups) if one == name]
        errors = [float(truth[i]) - float(said[i]) for i in at]
        sample = cluster_sums(errors, [clusters[i] for i in at])
        level = 1 - 0.05 / len(set(groups))
        interval = mean_interval(sample, MetricScale(-1.0, 1.0), confidence=level)
        found[name] = GroupBias(
            n=len(at), bias=fmean(errors) or 0.0, low=interval.low, high=interval.high
        )
    return found


def fewest_labels(bar: float, rate: float = 1.0) -> int | None:
    """Return the number of labels of one class that admit a judge, if it keeps its rate.

    So many that with a chance of 90 % the part ``test`` gets enough of them for a Wilson bound that
    reaches the bar.

    Args:
        bar: 0.5 to 1.
        rate: of the judge in this class; 1 gives the fewest that any judge needs.

    Returns:
        None: it takes more than 2,000.

    >>> fewest_labels(0.8), fewest_labels(0.8, 0.9), fewest_labels(0.8, 0.78)
    (29, 102, None)
    """
    sizes = range(1, _MOST + 1)
    need = next((n for n in sizes if (wilson(rate * n, n).low or 0.0) >= bar), None)
    if need is None:
        return None
    enough = (n for n in sizes if binomial_cdf(need - 1, n, 1 - DEV_SHARE) <= 1 - _SURE)
    return next(enough, None)


def labels_wanted(rates: JudgeRates | None, bar: float) -> tuple[int | None, int | None]:
    """Return the fewest labels in all, bad and good ones, that can admit a judge.

    At the best rates that its labels so far allow, the upper ends of their intervals; None in place
    of a number: it takes more than 2,000, or no number does.

    Args:
        rates: on the labels so far; None: nothing is labelled.
        bar: 0.5 to 1.
    """
    highs = (None, None) if rates is None else (rates.tpr_high, rates.tnr_high)
    bad, good = (fewest_labels(bar, 1.0 if high is None else high) for high in highs)
    return bad, good


# --- the verdicts behind a figure ----------------------------------------------------------------

_OUTCOMES: Final = ("pass_rate", "pass_hat_k", "flaky_rate")
_BEHIND: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(_OUTCOMES, ("groundedness", "correctness")),
    f"{STAGE_PREFIX}ungrounded": ("groundedness",),
    f"{STAGE_PREFIX}incorrect": ("correctness",),
    f"{STAGE_PREFIX}not_used": ("correctness",),
    "context_utilization": ("key_fact_recall",),
}
"""Metrics of verdicts by a figure that is made of them."""
_ABSTAINED: Final = frozenset(
    {
        "abstention_accuracy",
        "hallucination_rate_unanswerable",
        "over_abstention_rate",
        "answered_without_evidence",
        "refused_with_evidence",
    }
)


def _verdicts(metric: str, record: CaseRecord) -> Iterator[tuple[Judgement, str]]:
    """Yield the verdicts on a case that a figure is made of, each with its metric."""
    keys = _BEHIND.get(metric, (metric,))
    for judgement in record.verdicts.judgements.values():
        verdict = judgement.verdict
        if verdict is None:
            continue
        yield from ((judgement, key) for key in keys if key in verdict.scores)
        if metric == "five.composite" and any(key.startswith("five.") for key in verdict.scores):
            yield judgement, metric
        if (
            metric in _ABSTAINED
            and verdict.abstained is not None
            and record.reply.abstained is None
        ):
            yield judgement, "abstention"


class JudgesBehind:
    """Judges behind the figures of a run.

    Args:
        records: of the run.
        admissions: what is known of judges.
        judged_on: aspects that the outcome of a case depends on.
    """

    def __init__(
        self,
        records: Sequence[CaseRecord],
        admissions: Admissions,
        judged_on: Sequence[Aspect] = JUDGED_ON,
    ) -> None:
        self._records = records
        self._admissions = admissions
        self._judged_on = judged_on

    @cached_property
    def _spoken(self) -> dict[str, str]:
        """Language of each case by node id."""
        cases = [record.case for record in self._records]
        found = languages([case.language for case in cases], [case.question for case in cases])
        return {record.nodeid: one for record, one in zip(self._records, found, strict=True)}

    def admitted(self, metric: str, records: Iterable[CaseRecord]) -> bool | None:
        """Return whether every judge of the verdicts behind a figure is admitted.

        Args:
            metric: the figure.
            records: that it is of.

        Returns:
            None: no verdict is behind it.
        """
        found: dict[tuple[str, ...], bool] = {}
        if metric in _OUTCOMES and "answer" not in self._judged_on:
            return None
        for record in records:
            for judgement, key in _verdicts(metric, record):
                language = self._spoken[record.nodeid]
                known = (judgement.judge, judgement.rubric_version, key, language)
                if known not in found:
                    found[known] = self._admissions.admit(judgement, key, language)
        return all(found.values()) if found else None
