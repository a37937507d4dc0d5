"""Cases that stored runs show to be wrong or to tell nothing, and what the rest can show. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import record_outcome
from pytest_rageval.analysis.compare.settings import compare_configs
from pytest_rageval.analysis.stats.paired import minimum_detectable_effect
from pytest_rageval.authoring.linting.findings import LintFinding, PlacedCase, Rule, finding
from pytest_rageval.judges.offline.judge import OfflineJudge
from pytest_rageval.metrics.matching import matches_anchor, norm_text
from pytest_rageval.metrics.scoring import below_pass_line
from pytest_rageval.support.text import counted, first_few
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from pytest_rageval.values.reply import RetrievedChunk
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.verdict import JudgeRequest

FEWEST_RUNS: Final = 3
"""Runs of a case below which nothing is said of it."""
BY_CHANCE: Final = 0.25
"""Inverted cases that chance alone may be expected to give in the whole set."""
MOST_SUSPECT: Final = 0.1
"""Share of the cases with grounded answers above which it is not their golds that are wrong, but
the target or the judge; two cases are named in any set."""
_SAME: Final = 2 / 3
"""Share of the answers of a case that must agree."""
_NAMED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAudit:
    """Findings of stored runs about the cases of their set."""

    n_cases: int
    """Reviewed cases with an outcome in enough runs."""
    n_runs: int
    findings: tuple[LintFinding, ...] = ()
    always_pass: tuple[str, ...] = ()
    """Cases that passed in each run: they show a loss, and never a gain."""
    never_pass: tuple[str, ...] = ()
    """Cases that passed in none, for whatever reason."""
    n_effective: float = 0.0
    """Number of equally undecided cases that would tell two runs apart as well as these do."""
    smallest_drop: float | None = None
    """Drop of the pass rate that two runs show with 80 % power; None: no case varies."""
    n_few: int = 0
    """Cases with an outcome in too few runs."""
    n_suspected: int = 0
    """Cases whose gold is not suspected after all, since there are too many of them."""
    judged: bool = True
    """False: no answer was judged, so that no gold can be suspected."""

    @property
    def sentence(self) -> str:
        """The value of the set in one line."""
        if not self.n_cases:
            return f"no case has an outcome in {FEWEST_RUNS} runs: nothing can be said of the set"
        fixed = f"{len(self.always_pass)} always pass, {len(self.never_pass)} never"
        text = f"{counted(self.n_cases, 'case')} in {counted(self.n_runs, 'run')}: {fixed}"
        if self.smallest_drop is None:
            return f"{text}; none varies, so no run can be told from another"
        effective = f"effective n {self.n_effective:.0f}"
        drop = f"a drop of {self.smallest_drop:.2f} in pass_rate can be seen"
        return f"{text}; {effective}: {drop}"


@dataclass(slots=True)
class _History:
    """The records of one case, each with the place of its run."""

    placed: PlacedCase
    records: list[tuple[int, CaseRecord]] = field(default_factory=list)

    @property
    def outcomes(self) -> Iterator[tuple[int, bool]]:
        """Run of each repeat, and whether it passed; errors and unchecked ones do not count."""
        for run, record in self.records:
            outcome = record_outcome(record)
            if outcome not in {"error", "unchecked"}:
                yield run, outcome == "passed"

    @property
    def shares(self) -> dict[int, float]:
        """Share of the repeats that passed, by run."""
        found: dict[int, list[bool]] = defaultdict(list)
        for run, passed in self.outcomes:
            found[run].append(passed)
        return {run: sum(passed) / len(passed) for run, passed in found.items()}


def audit_runs(
    runs: Sequence[StoredRun],
    lost_golds: Callable[[PlacedCase], Iterable[LintFinding]] | None = None,
) -> SetAudit:
    """Look for cases that are wrong or tell nothing.

    Args:
        runs: with their texts, oldest first. Of a case that was changed only the runs of its newest
            content count.
        lost_golds: finds the anchors of a case that the documents lack; None: no documents.
    """
    every = [*_histories(runs).values()]
    histories = [one for one in every if len(one.shares) >= FEWEST_RUNS]
    shares = [one.shares for one in histories]
    if not histories:
        return SetAudit(n_cases=0, n_runs=len(runs), n_few=len(every))
    passed = [math.fsum(one.values()) / len(one) for one in shares]
    seen = _Seen(runs)
    same = _same_settings(runs)
    inverted = _inverted(shares)
    never = [at for at, rate in enumerate(passed) if rate == 0]
    suspects = {at: reason for at in never if (reason := _suspect_gold(histories[at]))}
    grounded = sum(sum(_is_grounded(r) for _, r in h.records) >= FEWEST_RUNS for h in histories)
    too_many = len(suspects) > max(2, MOST_SUSPECT * grounded)
    found = []
    for place, (history, rate) in enumerate(zip(histories, passed, strict=True)):
        reasons = (
            (None if too_many else suspects.get(place))
            or _unwinnable(history, seen, lost_golds)
            or _never(history)
            if rate == 0
            else inverted.get(place) or _unstable(history, same)
        )
        if reasons:
            rule, message = reasons
            found.append(finding(history.placed, "warning", rule, message))
    # Of few runs p(1 - p) is too small on average.
    variances = [
        rate * (1 - rate) * len(one) / (len(one) - 1)
        for rate, one in zip(passed, shares, strict=True)
    ]
    spread, n = math.fsum(variances), len(passed)
    squares = math.fsum(one * one for one in variances)
    names = [one.placed.case.id for one in histories]
    return SetAudit(
        n_cases=n,
        n_runs=len(runs),
        findings=tuple(found),
        always_pass=tuple(name for name, rate in zip(names, passed, strict=True) if rate == 1),
        never_pass=tuple(name for name, rate in zip(names, passed, strict=True) if rate == 0),
        n_effective=spread * spread / squares if squares else 0.0,
        # Two runs differ in a case with twice the variance of one.
        smallest_drop=minimum_detectable_effect(math.sqrt(2 * spread) / n) if spread else None,
        n_few=len(every) - len(histories),
        n_suspected=len(suspects) if too_many else 0,
        judged=any("correctness" in r.verdicts.judgements for h in every for _, r in h.records),
    )


def _histories(runs: Sequence[StoredRun]) -> dict[tuple[str, str], _History]:
    found: dict[tuple[str, str], _History] = {}
    newest: dict[tuple[str, str], str] = {}
    for place in reversed(range(len(runs))):
        for record in runs[place].records:
            key = record.file, record.name
            if not record.counted or newest.setdefault(key, record.case_hash) != record.case_hash:
                continue
            placed = PlacedCase(case=record.case, file=record.file, lineno=record.lineno)
            found.setdefault(key, _History(placed)).records.append((place, record))
    return dict(sorted(found.items(), key=lambda one: (one[0][0], one[1].placed.lineno, one[0])))


_Reason = tuple[Rule, str]


# --- cases that never pass ---------------------------------------------------------------------


def _suspect_gold(history: _History) -> _Reason | None:
    """Suspect a gold: answers that the passages support are incorrect, in most of the runs."""
    judged: dict[int, CaseRecord] = {}
    for run, record in history.records:
        if record.scores.metrics.get("correctness") is not None and not _abstained(record):
            judged.setdefault(run, record)
    grounded = [record for record in judged.values() if _is_grounded(record)]
    wrong = [one for one in grounded if below_pass_line("correctness", one.scores.metrics)]
    n = len(judged)

    def most(some: Sequence[CaseRecord]) -> bool:
        return len(some) >= max(FEWEST_RUNS, _SAME * n)

    if most(found := [one for one in wrong if _cites_gold(one)]):
        text = "are grounded in its gold and incorrect: is the expected answer right?"
    elif most(found := [one for one in grounded if one not in wrong and _missed_gold(one)]):
        text = "are correct and grounded in other passages: is the evidence there, too?"
    elif most(wrong) and most(found := _most_agreeing(wrong)):
        text = "agree on another answer, which their passages support: is the gold right?"
    else:
        return None
    return "suspect-gold", f"{len(found)} of {counted(n, 'answer')} {text}"


def _abstained(record: CaseRecord) -> bool:
    return record.scores.metrics.get("over_abstention_rate") != 0.0


def _is_grounded(record: CaseRecord) -> bool:
    metrics = record.scores.metrics
    known = metrics.get("groundedness") is not None
    return known and not below_pass_line("groundedness", metrics)


def _missed_gold(record: CaseRecord) -> bool:
    return record.scores.metrics.get("hit_at_k") == 0.0


def _cites_gold(record: CaseRecord) -> bool:
    metrics = record.scores.metrics
    return metrics.get("hit_at_k") == 1.0 and metrics.get("attribution_hit_rate") in {None, 1.0}


def _most_agreeing(records: Sequence[CaseRecord]) -> list[CaseRecord]:
    """Return the answers that state the same as one of them, for the one with the most."""
    judge = OfflineJudge()

    def agree(one: CaseRecord, other: CaseRecord) -> bool:
        request = JudgeRequest(
            question=one.case.question, answer=other.answer or "", expected_answer=one.answer
        )
        verdict = judge.judge("correctness", request).verdict
        scores = {} if verdict is None else dict(verdict.scores)
        return "correctness" in scores and not below_pass_line("correctness", scores)

    groups = ([o for o in records if o is one or agree(one, o)] for one in records)
    return max(groups, key=len, default=[])


class _Seen:
    """Every passage that any case of any run retrieved."""

    def __init__(self, runs: Iterable[StoredRun]) -> None:
        self._chunks: dict[tuple[str, str | None, str | None], RetrievedChunk] = {}
        self.settings = ScoreSettings()
        for run in runs:
            self.settings = run.scoring
            for record in run.records:
                for chunk in record.reply.retrieved_chunks or ():
                    key = chunk.rel_path, chunk.heading_path, chunk.text
                    self._chunks.setdefault(key, chunk)
        self._texts: dict[int, str] = {}

    def __bool__(self) -> bool:
        return bool(self._chunks)

    def holds(self, gold: Anchor) -> bool:
        """Return whether a passage is at a gold, or holds one of its snippets."""
        wanted = [norm_text(snippet) for snippet in gold.snippets]
        for place, chunk in enumerate(self._chunks.values()):
            if wanted and chunk.text is not None and not chunk.text_truncated:
                if place not in self._texts:
                    self._texts[place] = norm_text(chunk.text)
                if any(one in self._texts[place] for one in wanted):
                    return True
                if not gold.heading_path:
                    continue
            if matches_anchor(gold, chunk, self.settings):
                return True
        return False


def _unwinnable(
    history: _History,
    seen: _Seen,
    lost_golds: Callable[[PlacedCase], Iterable[LintFinding]] | None,
) -> _Reason | None:
    case = history.placed.case
    if not case.gold_supports or not seen:
        return None
    lost = {n for n, gold in enumerate(case.gold_supports) if not seen.holds(gold)}
    groups = case.required_support_groups or tuple((n,) for n in range(len(case.gold_supports)))
    if not all(lost & set(group) for group in groups):
        return None
    if lost_golds is not None:
        found = (one.field.startswith("gold_supports") for one in lost_golds(history.placed))
        if not any(found):
            return None
    where = "no passage of any run" + (" and no document" if lost_golds is not None else "")
    paths = first_few(sorted({case.gold_supports[n].rel_path for n in lost}), _NAMED)
    return "unwinnable", f"{where} holds its gold in {paths}: it cannot be found"


def _never(history: _History) -> _Reason:
    stages = [r.scores.failure_stage for _, r in history.records if r.scores.failure_stage]
    common = max(dict.fromkeys(stages), key=stages.count, default=None)
    why = f", most often at {common}" if common else ""
    return "never-passes", f"it passed in none of {len(history.shares)} runs{why}"


# --- cases that pass in some runs --------------------------------------------------------------


def _inverted(shares: Sequence[Mapping[int, float]]) -> dict[int, _Reason]:
    """Return the cases that pass in the weaker runs, more surely than chance over all cases."""
    varying = [at for at, one in enumerate(shares) if 0 < sum(one.values()) < len(one)]
    total: dict[int, float] = defaultdict(float)
    counts: dict[int, int] = defaultdict(int)
    for one in shares:
        for run, share in one.items():
            total[run] += share
            counts[run] += 1
    found: dict[int, _Reason] = {}
    for at in varying:
        # A run is as strong as the other cases say; one that asked few of them has no strength.
        rest = {
            run: (total[run] - share) / (counts[run] - 1)
            for run, share in shares[at].items()
            if counts[run] > max(1, len(shares) / 2)
        }
        won = [rest[run] for run, share in shares[at].items() if run in rest and share > 0.5]
        lost = [rest[run] for run, share in shares[at].items() if run in rest and share <= 0.5]
        if won and lost and p_of_weaker(won, lost) * len(varying) <= BY_CHANCE:
            means = [sum(some) / len(some) for some in (won, lost)]
            text = "it passes in weaker runs and fails in stronger ones, which pass"
            message = f"{text} {means[0]:.2f} and {means[1]:.2f} of the other cases"
            found[at] = "inverted", message
    return found


def p_of_weaker(won: Sequence[float], lost: Sequence[float]) -> float:
    """Return the exact one-sided p of a rank sum as small as that of the first values.

    The test of Mann and Whitney (1947), with the mean rank for ties.

    >>> p_of_weaker([0.1, 0.2], [0.3, 0.4])  # one of six ways to choose two of four
    0.16666666666666666
    """
    values = sorted([*won, *lost])
    # Twice the mean rank is an integer.
    ranks = {one: 2 * values.index(one) + values.count(one) + 1 for one in values}
    ways: dict[tuple[int, int], int] = {(0, 0): 1}
    for one in values:
        for (n, total), count in [*ways.items()]:
            if n < len(won):
                key = n + 1, total + ranks[one]
                ways[key] = ways.get(key, 0) + count
    reached = sum(ranks[one] for one in won)
    sums = {total: count for (n, total), count in ways.items() if n == len(won)}
    return sum(n for total, n in sums.items() if total <= reached) / sum(sums.values())


def _same_settings(runs: Sequence[StoredRun]) -> list[int]:
    """Return for each run the first one with the same settings and the same code."""
    found: list[int] = []
    for place, run in enumerate(runs):
        first = next((at for at in dict.fromkeys(found) if _alike(runs[at], run)), place)
        found.append(first)
    return found


def _alike(one: StoredRun, other: StoredRun) -> bool:
    commits = one.config.git, other.config.git
    if one.config.git.commit != other.config.git.commit or any(git.dirty for git in commits):
        return False
    compared = compare_configs(one.config, other.config)
    return not (compared.invariants or compared.config or compared.versions)


def _unstable(history: _History, same: Sequence[int]) -> _Reason | None:
    """Return how often a case passed where nothing differed but the answer of the target."""
    passed: dict[int, list[bool]] = defaultdict(list)
    for run, one in history.outcomes:
        passed[same[run]].append(one)
    mixed = [one for one in passed.values() if 0 < sum(one) < len(one) >= FEWEST_RUNS]
    if not mixed:
        return None
    n, of = sum(map(sum, mixed)), sum(map(len, mixed))
    return "unstable", f"under equal settings it passed {n} of {of} times"
