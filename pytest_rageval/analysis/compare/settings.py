"""Comparison of the settings of two runs and of their rules of matching. Pure.

Numbers are comparable only if the settings they depend on, the *invariants*, are equal in both
runs. Any other difference is what the comparison measures. The role of each setting is in its row
of ``project.options``.

A case whose evidence was compared by headings in one run and by quotations in the other has two
numbers of different meaning, whatever the settings say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Final

from pytest_rageval.analysis.compare.pairs import place_of
from pytest_rageval.metrics.built_in import (
    BUILT_IN,
    DEFINITIONS_VERSION,
    own_definitions,
    stored_registry,
)
from pytest_rageval.metrics.deciding import UNDECIDED, rules_of_cut
from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.project.options import OPTIONS, VERSIONS
from pytest_rageval.project.settings import compared_settings, stored_settings
from pytest_rageval.support.text import counted, cut, first_few
from pytest_rageval.support.text import shown as shown_value
from pytest_rageval.values.declared import Affects
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import MATCH_RULES
from pytest_rageval.values.run import RunConfig
from pytest_rageval.values.settings import Settings

_MISSING: Final = object()
_INVARIANTS: Final = tuple(
    # Parameters are compared one by one, and verdicts name their judge.
    one
    for one in OPTIONS
    if one.affects is not None and one.kind not in {"params", "judge"}
)
_LISTED: Final = [
    one.name
    for one in OPTIONS
    if one.role in {"subject", "effort"} and one.section != "judging" and one.name not in VERSIONS
]
_COMPARED: Final = (
    "metric_definitions_version",
    "metric_definitions",
    "judges",
    "target_models",
    "asked",
    "concurrency",
    "dataset_hash",
    "versions",
    *VERSIONS,
)
"""Fields of a configuration, beside its settings, that a comparison reads."""
_PACKAGE: Final = "pytest-rageval"
_SHOWN: Final = 5

_ABSTENTION_KEYS: Final = frozenset(
    {"abstention_accuracy", "hallucination_rate_unanswerable", "over_abstention_rate"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigDifference:
    """A setting or version that differs between two runs."""

    name: str
    base: Any
    """A JSON value; None: not set, or unknown."""
    new: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariant(ConfigDifference):
    """A difference that makes numbers not comparable."""

    affects: Affects
    only: str = ""
    """The one metric whose numbers are not comparable; empty: all that ``affects`` names."""

    def concerns(self, info: MetricInfo, judge_dependent: Collection[str]) -> bool:
        """Whether it makes the numbers of a metric of cases not comparable."""
        if self.only:
            return self.only == info.key
        if self.affects == "answers":
            return info.answer_side
        return self.affects == "everything" or info.key in judge_dependent


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparability:
    """Differences that decide whether two runs can be compared."""

    invariants: tuple[Invariant, ...] = ()
    """Those that differ; empty: the runs are comparable."""
    versions: tuple[ConfigDifference, ...] = ()
    """Those of the four versions of an experiment that changed."""
    config: tuple[ConfigDifference, ...] = ()
    """Everything else that differs."""

    @property
    def comparable(self) -> bool:
        """Whether every invariant agrees."""
        return not self.invariants

    @property
    def warning(self) -> str | None:
        """A sentence if several versions changed at once; None: at most one is known to have."""
        both = [one.name for one in self.versions if None not in (one.base, one.new)]
        if len(both) < 2:
            return None
        names = [name.removesuffix("_version").replace("_", " ") for name in both]
        return (
            f"{', '.join(names[:-1])} and {names[-1]} changed at once, so no difference can be put "
            "down to one of them"
        )

    def sentence(self) -> str:
        """Name every invariant that differs with both values."""
        return "; ".join(
            f"{one.name}: {shown(one.base)} in base, {shown(one.new)} in new"
            for one in self.invariants
        )


def shown(value: object) -> str:
    """Show a value of a configuration briefly."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {shown(item)}" for key, item in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(shown, value)) or "none"
    if isinstance(value, str):
        return cut(value)
    return "not set" if value is None else f"{value!r:.60}"


def judge_dependent_keys(
    *, abstention: bool, conflict: bool, registry: Registry = BUILT_IN
) -> frozenset[str]:
    """Return the metrics that depend on a judge.

    Args:
        abstention: whether it decided for any answer if it abstains.
        conflict: whether it decided for any answer if it names a conflict.
        registry: the metrics.
    """
    judged = {key for key, info in registry.cases.items() if info.judged}
    if abstention:
        judged |= _ABSTENTION_KEYS
    if conflict:
        judged |= {"recency_conflict_accuracy"}
    return frozenset(judged)


def unaffected_keys(
    comparability: Comparability, judge_dependent: frozenset[str], registry: Registry = BUILT_IN
) -> frozenset[str] | None:
    """Return the metrics that depend on no differing invariant; None: all of them.

    Args:
        comparability: of the runs.
        judge_dependent: metrics that depend on a judge in either run.
        registry: the metrics of both runs.
    """
    if comparability.comparable:
        return None
    return frozenset(
        key
        for key, info in registry.cases.items()
        if not any(one.concerns(info, judge_dependent) for one in comparability.invariants)
    )


# --- comparing -------------------------------------------------------------------------------


def compared_config(config: RunConfig) -> RunConfig:
    """Return the parts of a ``config.json`` that a comparison reads."""
    kept = {name: getattr(config, name) for name in _COMPARED}
    return RunConfig(**kept, settings=replace(config.settings, origins={}))


def compare_configs(base: RunConfig, new: RunConfig) -> Comparability:
    """Compare two ``config.json``."""
    versions = [{key: getattr(config, key) for key in VERSIONS} for config in (base, new)]
    groups = zip(_other_things(base), _other_things(new), strict=True)
    invariants = tuple(_invariants(base, new))
    named = {one.name for one in invariants}
    return Comparability(
        invariants=invariants,
        versions=tuple(_differing(*versions)),
        config=tuple(d for pair in groups for d in _differing(*pair) if d.name not in named),
    )


def _invariants(base: RunConfig, new: RunConfig) -> Iterator[Invariant]:
    one, other = base.settings, new.settings
    yield from _differing_invariants("", one, other)
    a, b = one.token_budget, other.token_budget
    if a != b and a is not None and b is not None:  # without a budget nothing is scored
        only = "recall_at_tokens"
        yield Invariant(name="token_budget", base=a, new=b, affects="everything", only=only)
    params = [{f"payload.{k}": v for k, v in s.params.items()} for s in (one, other)]
    for found in _differing(*params, absent=_MISSING):
        yield Invariant(name=found.name, base=found.base, new=found.new, affects="everything")
    a, b = base.metric_definitions_version, new.metric_definitions_version
    if a != b:
        yield Invariant(name="metric_definitions_version", base=a, new=b, affects="everything")
    yield from _metric_invariants(base, new)
    yield from _judge_invariants(base, new)
    if not {"none", "offline"} & {one.judge, other.judge}:
        yield from _differing_invariants("judging", one, other)


def _differing_invariants(section: str, base: Settings, new: Settings) -> Iterator[Invariant]:
    for one in _INVARIANTS:
        a, b = attrgetter(one.name)(base), attrgetter(one.name)(new)
        if one.section == section and one.affects is not None and a != b:
            yield Invariant(name=one.alias or one.key, base=a, new=b, affects=one.affects)


def _judge_invariants(base: RunConfig, new: RunConfig) -> Iterator[Invariant]:
    # A run that needed no verdict does not show which model would have given it.
    named = bool(base.judges) and bool(new.judges)
    base_judge, new_judge = _judge(base, named=named), _judge(new, named=named)
    if base_judge != new_judge:
        yield Invariant(name="judge", base=base_judge, new=new_judge, affects="judged")
    one, other = _rubrics(base), _rubrics(new)
    # A rubric that only one run used has no scores to compare.
    changed = [name for name in one if name in other and one[name] != other[name]]
    if changed:  # a rubric of the user has definitions of its metrics, compared one by one
        own = _sources(base) & _sources(new)
        changed = [name for name in changed if name not in own]
    if changed:
        base_prompt, new_prompt = (
            ", ".join(version for name in changed for version in sorted(rubrics[name]))
            for rubrics in (one, other)
        )
        yield Invariant(name="prompt", base=base_prompt, new=new_prompt, affects="judged")


def _judge(config: RunConfig, *, named: bool) -> str:
    """Return the judge, with its models if verdicts of both runs name them, or ``none``."""
    if not config.settings.judged:
        return "none"
    if not named:
        return config.settings.judge
    models: dict[str, set[str]] = {}
    for one in config.judges:
        names = models.setdefault(str(one.judge), set())
        if one.model:  # a failed verdict has none
            names.add(one.model)
    return ", ".join(
        f"{judge} ({', '.join(sorted(names))})" if names - {judge} else judge
        for judge, names in sorted(models.items())
    )


def _rubrics(config: RunConfig) -> dict[str, frozenset[str]]:
    """Return the versions of each rubric that were used."""
    found: dict[str, set[str]] = {}
    for judge in config.judges:
        for name, version in judge.rubrics.items():
            found.setdefault(name, set()).add(str(version))
    return {name: frozenset(versions) for name, versions in found.items()}


def _metric_invariants(base: RunConfig, new: RunConfig) -> Iterator[Invariant]:
    if base.metric_definitions == new.metric_definitions:
        return
    one, other = _definitions(base), _definitions(new)
    for key in one:
        # A metric that only one run defines has no scores to compare.
        if key in other and one[key] != other[key]:
            name = f"metric {key}"
            yield Invariant(name=name, base=one[key], new=other[key], affects="answers", only=key)


def _definitions(config: RunConfig) -> dict[str, str]:
    """Return what the numbers of each own metric of a run depend on, in words."""
    found = {}
    for key, info in stored_registry(config).own.items():
        low, high = info.scale
        link = "or" if info.binary else "to"
        scale = f"from {low:g}" if high is None else f"{low:g} {link} {high:g}"
        way = "neither" if info.direction == "neutral" else info.direction
        found[key] = f"version {info.version}, {way} is better, {scale}"
    return found


def _sources(config: RunConfig) -> frozenset[str]:
    return frozenset(info.source for info in stored_registry(config).own.values())


def _other_things(config: RunConfig) -> Iterator[dict[str, Any]]:
    """Yield by name, in groups, every setting that is neither an invariant nor a version."""
    yield dict(_flat({name: attrgetter(name)(config.settings) for name in _LISTED}))
    judged = config.settings.judge != "none"
    yield {"judge.rubrics": list(config.settings.judging.rubrics) if judged else []}
    yield dict(_flat({"target_models": config.target_models}))
    yield {"asked": list(config.asked)}
    yield {_PACKAGE: config.versions.get(_PACKAGE)}


def _differing(
    base: Mapping[str, Any], new: Mapping[str, Any], *, absent: object = None
) -> Iterator[ConfigDifference]:
    """Yield the differences of two flat documents; ``absent`` stands for a value not stored."""
    for name in dict.fromkeys([*base, *new]):
        if base.get(name, absent) != new.get(name, absent):
            yield ConfigDifference(name=name, base=base.get(name), new=new.get(name))


def _flat(document: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", list(value) if isinstance(value, tuple) else value


# --- parts of one run --------------------------------------------------------------------------


def current_config(settings: Settings, registry: Registry = BUILT_IN) -> RunConfig:
    """Return the parts of a ``config.json`` for these settings that `setting_differences` reads."""
    return RunConfig(
        settings=stored_settings(settings),
        metric_definitions_version=DEFINITIONS_VERSION,
        metric_definitions=own_definitions(registry),
    )


def setting_differences(
    one: RunConfig, other: RunConfig, *, also: tuple[str, ...] = ()
) -> list[ConfigDifference]:
    """Return the settings that keep two runs from being merged, by flag where they have one.

    Args:
        one: a ``config.json``.
        other: another one, or ``current_config``.
        also: settings that must agree too although they change no number, such as ``shard``.
    """
    flags = {option.name: option.flag for option in OPTIONS}
    found = _differing(_of_numbers(one, also), _of_numbers(other, also), absent=_MISSING)
    return [replace(each, name=flags.get(each.name) or each.name) for each in found]


def _of_numbers(config: RunConfig, also: tuple[str, ...]) -> dict[str, Any]:
    return {
        **dict(_flat(compared_settings(config.settings))),
        **{name: getattr(config.settings, name) for name in also},
        "metric_definitions_version": config.metric_definitions_version,
        **{f"metric {key}": text for key, text in _definitions(config).items()},
    }


def listed(found: Sequence[ConfigDifference], one: str, other: str) -> str:
    """Show differences in a sentence, such as ``k: 5 in run a, 10 now``."""
    texts = [f"{d.name}: {_short(d.base)} {one}, {_short(d.new)} {other}" for d in found]
    return first_few(texts, _SHOWN, "; ", "; and ")


def _short(value: object) -> str:
    return "not set" if value is None else shown_value(value)


NAME: Final = "matching.rules"

_Rules = frozenset[str]


def rules_difference(
    base: Iterable[CaseRecord], new: Iterable[CaseRecord]
) -> ConfigDifference | None:
    """Return the rules that decided cases of both runs and have none in common.

    Returns:
        An ``Invariant`` if that is more than one in twenty of the cases with a rule in both runs;
        None: there is no such case.
    """
    ours, theirs = _rules_by_case(base), _rules_by_case(new)
    both = [key for key, rules in ours.items() if rules and theirs.get(key)]
    changed = [key for key in both if ours[key].isdisjoint(theirs[key])]
    if not changed:
        return None
    share = f"({len(changed)} of {counted(len(both), 'case')})"
    one, other = (f"{_named(rules[key] for key in changed)} {share}" for rules in (ours, theirs))
    if len(changed) <= 0.05 * len(both):
        return ConfigDifference(name=NAME, base=one, new=other)
    return Invariant(name=NAME, base=one, new=other, affects="everything")


def _rules_by_case(records: Iterable[CaseRecord]) -> dict[tuple[str, str, str], _Rules]:
    found: dict[tuple[str, str, str], _Rules] = {}
    for record in records:
        key, rules = (*place_of(record), record.case_hash), frozenset[str]()
        if record.reply.retrieved_chunks and record.case.gold_supports:
            undecided = "recall_at_k" in record.scores.not_applicable
            rules = rules.union(*([(UNDECIDED,)] if undecided else rules_of_cut(record)))
        found[key] = found.get(key, frozenset()) | rules
    return found


def _named(sets: Iterable[_Rules]) -> str:
    rules = frozenset[str]().union(*sets)
    return ", ".join(name for name in (*MATCH_RULES, UNDECIDED) if name in rules)
