"""A sweep from its plan to its outcome: indexes built, rungs asked, configurations cut."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, count, takewhile
from math import ceil
from pathlib import Path
from typing import Any, Final

from pytest_rageval.analysis.sweep.concluding import RungResult, close_rung, conclude, objective_row
from pytest_rageval.analysis.sweep.goal import Measures, measure
from pytest_rageval.analysis.sweep.halving import Cut, keep, questions
from pytest_rageval.analysis.sweep.outcome import SweepOutcome
from pytest_rageval.analysis.sweep.plan import Configuration, SweepPlan, with_proposed
from pytest_rageval.engine.sweep.indexes import BuildError, Indexes, index_name
from pytest_rageval.engine.sweep.proposals import BATCH, Proposals
from pytest_rageval.engine.sweep.trials import SweepRuns, Trial, holds
from pytest_rageval.project.option_values import read_value
from pytest_rageval.project.options import OPTIONS
from pytest_rageval.runs.list import documents_of_runs
from pytest_rageval.runs.store import BEGUN, is_run, read_json, write_versioned
from pytest_rageval.runs.tags import prepare_results_dir
from pytest_rageval.support.files import named_errors
from pytest_rageval.support.text import counted
from pytest_rageval.values.errors import ConfigError, RagEvalError, StorageError
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.sweep import SweepFile


def begin_sweep(results: Path, name: str, begun: Mapping[str, Any], *, resume: bool) -> Path:
    """Return the folder of a sweep, a new one or the one to resume.

    Args:
        results: folder of all runs.
        name: of the sweep; a new one whose name is taken becomes ``NAME-2`` and so on.
        begun: what it is asked with, from ``description``.
        resume: whether to resume the last sweep of this name.

    Raises:
        ConfigError: no sweep to resume, or it was begun with other settings.
        StorageError: a file cannot be read or written.
    """
    taken = _taken(results, name)
    if not resume:
        folder = results / (f"{name}-{len(taken) + 1}" if taken else name)
        with named_errors(folder, StorageError):
            prepare_results_dir(results)
            prepare_results_dir(folder)
        write_versioned(folder, BEGUN, begun)
        return folder
    found = [folder for folder in taken if (folder / BEGUN).is_file()]
    if not found:
        raise ConfigError.of("--resume", "no_sweep", folder=results, id=repr(name))
    _refuse_other(found[-1], begun)
    return found[-1]


def _taken(results: Path, name: str) -> list[Path]:
    """Return the folders of the sweeps of a name, oldest first."""
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    taken = list(takewhile(Path.exists, (results / one for one in names)))
    if taken and is_run(taken[0]):
        raise ConfigError.of("--name", "duplicate", found=taken[0], owner="a run")
    return taken


def description(sweep: SweepFile, *, cases: str, n_cases: int) -> dict[str, Any]:
    """Return what a sweep is begun with, as JSON values; of its cases their hash and number."""
    given = {key: value for key, value in asdict(sweep).items() if key != "path"}
    plain: dict[str, Any] = json.loads(json.dumps({"sweep": given}, default=dict))
    return {**plain, "cases": cases, "n_cases": n_cases}


def _refuse_other(folder: Path, begun: Mapping[str, Any]) -> None:
    stored = read_json(folder / BEGUN)
    then, now = stored.get("sweep"), begun["sweep"]
    changed = [key for key in now if not isinstance(then, dict) or then.get(key) != now[key]]
    if changed:
        raise ConfigError.of("--resume", "other_sweep", folder=folder, names=", ".join(changed))
    if stored.get("cases") != begun["cases"]:
        raise ConfigError.of(
            "--resume",
            "other_cases",
            folder=folder,
            found=begun["n_cases"],
            n=stored.get("n_cases"),
        )


_NOT_ASKED = frozenset({"not_attempted", "fixture"})


class NothingToCompareError(RagEvalError):
    """The baseline, or every other configuration, could not be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutGroup:
    """Configurations that are cut among themselves, before the questions of the next group."""

    keys: tuple[str, ...]
    sizes: tuple[int, ...]
    """Number of them that are asked, by rung."""
    finalists: int
    """Number of them that the verdict compares."""


def groups_of(plan: SweepPlan, *, in_place: bool) -> list[CutGroup]:
    """Return the groups of a plan, the baseline's first.

    Args:
        plan: of the sweep.
        in_place: whether an index replaces the one before, so that every question to it comes
            before the next; each index then has its share of the finalists.
    """
    planned = [rung.configurations for rung in plan.rungs]
    if not in_place:
        keys = tuple(plan.by_key)
        return [CutGroup(keys=keys, sizes=tuple(planned), finalists=plan.finalists)]
    by_index: dict[str, list[str]] = {}
    for one in plan.configurations:
        by_index.setdefault(index_name(one.index), []).append(one.key)
    found = sorted(by_index.values(), key=lambda keys: plan.baseline not in keys)
    groups = []
    for of_index in found:
        # Beside the baseline there is one to compare it with.
        least = min(len(of_index), 2) if plan.baseline in of_index else 1
        share = len(of_index) / len(plan.configurations)
        *sizes, last = (max(least, ceil(n * share)) for n in (*planned, plan.finalists))
        groups.append(CutGroup(keys=tuple(of_index), sizes=tuple(sizes), finalists=last))
    return groups


def planned_questions(plan: SweepPlan, groups: Sequence[CutGroup]) -> int:
    """Count the questions of all groups, of one repeat each."""
    return _questions(plan, groups, range(len(plan.rungs)))


def judged_answers(plan: SweepPlan, groups: Sequence[CutGroup]) -> int:
    """Count the answers that are judged, of one repeat each: those of judged rungs."""
    return _questions(plan, groups, list(filter(plan.judged_at, range(len(plan.rungs)))))


def _questions(plan: SweepPlan, groups: Sequence[CutGroup], numbers: Sequence[int]) -> int:
    """Count the questions of some rungs, and those about the cases that are held out."""
    return sum(
        questions([(group.sizes[number], len(plan.rungs[number].cases)) for number in numbers])
        + group.finalists * len(plan.held)
        for group in groups
    )


@dataclass(slots=True, kw_only=True)
class SweepRunner:
    """Runs a sweep; ``stage`` says what it does at the moment."""

    plan: SweepPlan
    runs: SweepRuns
    indexes: Indexes
    say: Callable[[str], object] = lambda text: None
    """Receives sentences for the user while the sweep runs."""
    stage: str = ""
    _spent: dict[str, int] = field(default_factory=dict)
    _broken: dict[str, BuildError] = field(default_factory=dict)
    """Errors of indexes that could not be built, by their names."""
    _failed: dict[str, str] = field(default_factory=dict)
    _results: dict[int, RungResult] = field(default_factory=dict)
    _held: dict[str, Measures] = field(default_factory=dict)

    def search(self, proposals: Proposals) -> None:
        """Ask the cases of the first rung of configurations that are proposed one after the other.

        The plan then has them, and ``run`` goes on from their answers.
        """
        first = self.plan.rungs[0].configurations
        while left := first - len(proposals.configurations):
            batch = proposals.ask(min(left, BATCH))
            if not batch:
                break
            self.plan = with_proposed(self.plan, proposals.configurations.values())
            cases = self.plan.rungs[0].cases
            self.stage = f"configuration {len(proposals.configurations)} of {first}"
            keys, judged = [one.key for one in batch], self.plan.judged_at(0)
            proposals.tell(self._ask(keys, cases, judged=judged, end=False, page=False))

    def run(self) -> SweepOutcome:
        """Ask what the plan says, as far as it has not been asked, and decide.

        Raises:
            ConfigError: the target or a parameter is wrong, or runs were made with other settings.
            NothingToCompareError: nothing can be compared with the baseline.
            StorageError: a run cannot be read or written.
            TargetGoneError: there is no connection to the target.
        """
        for group in groups_of(self.plan, in_place=self.indexes.in_place):
            self._run_group(group)
        results = [self._results[number] for number in sorted(self._results)]
        reached = results[-1].measures
        if set(reached) <= {self.plan.baseline}:
            raise NothingToCompareError.of(
                "",
                "only_baseline",
                reason="; ".join(dict.fromkeys(self._failed.values())) or "no other was asked",
            )
        if self.plan.held and self.plan.baseline not in self._held:
            raise NothingToCompareError.of(
                "",
                "baseline_not_held",
                reason=self._failed.get(self.plan.baseline, "no case was asked"),
            )
        return conclude(
            self.plan,
            results,
            self._spent,
            held=self._held if self.plan.held else None,
            index_builds=self.indexes.n_built,
            notes=[
                f"not measured: {self.plan.by_key[key].name}: {reason}"
                for key, reason in self._failed.items()
            ],
        )

    def _run_group(self, group: CutGroup) -> None:
        plan, keys = self.plan, group.keys
        for number, rung in enumerate(plan.rungs):
            self.stage = f"rung {number + 1} of {len(plan.rungs)}"
            last = number == len(plan.rungs) - 1
            measures = self._ask(
                keys, rung.cases, judged=plan.judged_at(number), end=last, page=not plan.held
            )
            if plan.baseline in keys and plan.baseline not in measures:
                raise NothingToCompareError.of(
                    "",
                    "baseline_unmeasured",
                    reason=self._failed.get(plan.baseline, "no case was asked"),
                )
            base = measures.get(plan.baseline)
            if base is not None and base.n_error and base.objective is None:
                hopeless = all(one.objective is None for one in measures.values())
                if hopeless or not last:  # further questions would be in vain
                    raise NothingToCompareError.of(
                        "",
                        "baseline_unmeasured",
                        reason=f"no answer in {counted(base.n_error, 'case')}: {base.error}",
                    )
            cut = self._cut(group, number, measures)
            self._add(number, measures, cut)
            keys = tuple(key for key in group.keys if key in cut.kept)
            if not last:
                self.runs.finish(measures.keys() - set(keys), page=False)
                self.say(
                    f"{self.stage}: {counted(len(rung.cases), 'case')}, {len(keys)} of "
                    f"{counted(len(measures), 'configuration')} go on"
                )
        if plan.held:
            self.stage = "held-out cases"
            self._held |= self._ask(keys, plan.held, judged=True, end=True, page=True)

    def _ask(
        self, keys: Sequence[str], cases: Sequence[str], *, judged: bool, end: bool, page: bool
    ) -> dict[str, Measures]:
        """Ask configurations some cases, and measure those whose index stands over these.

        Args:
            keys: of the configurations.
            cases: to ask, besides those that were asked before.
            judged: whether answers are judged.
            end: whether the numbers of the runs are written.
            page: whether each run then gets its ``report.html``.
        """
        trials = list(self._trials([self.plan.by_key[key] for key in keys], cases))
        found = self.runs.ask(trials, cases, judged=judged)
        self._spent |= {
            key: sum(one.error is None or one.error.kind not in _NOT_ASKED for one in run.records)
            for key, run in found.items()
        }
        if end:
            found = self.runs.finish(found, page=page)
        return {key: measure(run, self.plan.goal, cases) for key, run in found.items()}

    def _cut(self, group: CutGroup, number: int, measures: Mapping[str, Measures]) -> Cut:
        """Cut a group down to its share of the next rung."""
        plan = self.plan
        if len(group.keys) == len(plan.configurations):
            return close_rung(plan, number, measures).cut
        n = (*group.sizes, group.finalists)[number + 1]
        if len(measures) <= n:
            return Cut(kept=tuple(measures))
        if plan.baseline in measures:
            return keep(measures, n, plan.baseline, plan.goal)
        before = self._results[number].measures
        known = {**measures, plan.baseline: before[plan.baseline]}
        # The baseline has its place in its own group.
        cut = keep(known, n + 1, plan.baseline, plan.goal)
        return Cut(kept=tuple(key for key in cut.kept if key != plan.baseline), dropped=cut.dropped)

    def _add(self, number: int, measures: Mapping[str, Measures], cut: Cut) -> None:
        known = self._results.get(number)
        if known is not None:
            measures = {**known.measures, **measures}
            cut = Cut(
                kept=(*known.cut.kept, *cut.kept),
                dropped=(*known.cut.dropped, *cut.dropped),
                unearned=known.cut.unearned,
            )
        self._results[number] = RungResult(measures=measures, cut=cut)

    # --- one rung

    def _is_asked(self, configuration: Configuration, cases: Sequence[str]) -> bool:
        """Return whether questions are left; looked up only where they may cost a build."""
        folder = self.indexes.folder / configuration.key
        return not self.indexes.in_place or not holds(folder, cases, self.plan.repeats)

    def _trials(
        self, configurations: Sequence[Configuration], cases: Sequence[str]
    ) -> Iterator[Trial]:
        stage = self.stage
        for one in configurations:
            name = index_name(one.index)
            if name:
                self.stage = f"{stage}, building {name}"
            try:
                if name in self._broken:
                    raise self._broken[name]
                index = self.indexes.at(one.index, asked=self._is_asked(one, cases))
            except BuildError as error:
                if name not in self._broken:
                    self.say(f"error: {error}, which ends:\n{error.output}")
                self._broken[name] = error
                self._failed[one.key] = str(error)
                continue
            finally:
                self.stage = stage
            settings = with_query(index.settings, one.query)
            yield Trial(run_id=one.key, settings=settings, client=index.client)


_FIELDS: Final = ("k", "folder_mode", "vector_weight", "lexical_weight")
"""Settings that every request carries; any other parameter is one more field of it."""
_BY_NAME: Final = {one.name: one for one in OPTIONS}


def with_query(settings: Settings, query: Mapping[str, Any]) -> Settings:
    """Return the settings under which a configuration's questions are asked.

    They are those of ``pytest --rag-k ... --rag-param NAME=VALUE ...``.

    Args:
        settings: of the project.
        query: values by parameter; others than ``k``, ``folder_mode``, ``vector_weight`` and
            ``lexical_weight`` are further fields of the request.

    Raises:
        ConfigError: a value is wrong, or a parameter has the name of another field.
    """
    for name, value in query.items():
        own = name in _FIELDS
        given = value if own else {name: value}
        read, faults = read_value(_BY_NAME[name if own else "params"], given)
        for fault in faults:
            raise ConfigError.of_faults([replace(fault, field=f"query.{name}")])
        changed = {name: read} if own else {"params": {**settings.params, **read}}
        settings = replace(settings, **changed)
    return settings


def forecast(settings: Settings, plan: SweepPlan, *, in_place: bool) -> dict[str, Any]:
    """Return what a sweep would ask as JSON values; ``in_place`` as of ``groups_of``."""
    groups = groups_of(plan, in_place=in_place)
    judged = judged_answers(plan, groups) * plan.repeats if settings.judged else 0
    rungs = [
        {"configurations": sum(one.sizes[number] for one in groups), "cases": len(rung.cases)}
        for number, rung in enumerate(plan.rungs)
    ]
    return {
        "configurations": [dict(one.parameters) for one in plan.configurations],
        "objectives": [asdict(objective_row(one)) for one in plan.goal.objectives],
        "baseline": dict(plan.by_key[plan.baseline].parameters),
        "cases": plan.n_cases,
        "holdout": len(plan.held),
        "method": plan.method,
        "rungs": rungs,
        "requests": planned_questions(plan, groups) * plan.repeats,
        "requests_grid": plan.grid_questions,
        "index_builds": plan.n_indexes if any(one.index for one in plan.configurations) else 0,
        "judge": settings.judge,
        "judged_answers": judged,
        "judge_cost_usd": _judge_cost(settings, judged),
        "sensitivity": asdict(plan.sensitivity),
        "notes": list(plan.notes),
    }


def _judge_cost(settings: Settings, judged: int) -> float | None:
    """Estimate the cost of verdicts by what the last run of this judge paid; None: not known."""
    if not judged or settings.judge in {"none", "offline"}:
        return 0.0
    per_answer = None
    for run in documents_of_runs(settings.results_folder):
        found = run.aggregate
        if found is not None and run.config.settings.judge == settings.judge:
            if found.cost_usd_uncached and found.total:
                per_answer = found.cost_usd_uncached / found.total
    return None if per_answer is None else per_answer * judged
