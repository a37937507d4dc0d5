"""Whether two runs may be compared, from what their ``config.json`` say. Pure.

A setting that numbers depend on must be the same in both (an *invariant*), or the numbers that
depend on it are not comparable; anything else that differs is what the comparison is about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from pytest_rageval.metrics.registry import METRICS
from pytest_rageval.support.text import counted, cut
from pytest_rageval.values.settings import NUMBERLESS_SETTINGS, Settings

Affects = Literal["everything", "answers", "judged"]
"""Which metrics an invariant stands behind: all, those of the answer, or those a judge had a part
in."""

VERSIONS: Final = (
    "dataset_version",
    "index_build_version",
    "retriever_version",
    "answerer_version",
)
"""What names an experiment; a comparison says most where one of them changed."""

_MISSING: Final = object()
_DEFAULTS: Final[Mapping[str, Any]] = asdict(Settings(rootdir="."))

_SETTINGS: Final[Mapping[str, tuple[str, Affects]]] = {
    "k": ("k", "everything"),
    "path_case": ("matching.path_case", "everything"),
    "snippets": ("matching.snippets", "everything"),
    "coarse_chunks": ("matching.coarse_chunks", "everything"),
    "folder_mode": ("payload.folder_mode", "everything"),
    "vector_weight": ("payload.vector_weight", "everything"),
    "lexical_weight": ("payload.lexical_weight", "everything"),
    "retrieval_only": ("retrieval_only", "answers"),
}
"""Invariants among the settings, under the names that they are reported by."""

_JUDGING: Final[Mapping[str, str]] = {
    "base_url": "judge.base_url",
    "temperature": "temperature",
    "seed": "judge.seed",
    "max_tokens": "judge.max_tokens",
    "structured_output": "judge.structured_output",
}
"""Invariants among the settings of a judge that is asked over an API."""

_NOT_LISTED: Final = frozenset(
    {*_SETTINGS, "params", "judge", "judging", *VERSIONS, *NUMBERLESS_SETTINGS}
)
"""Settings that are an invariant, stand among the versions, or change no number."""

_ABSTENTION_KEYS: Final = frozenset(
    {"abstention_accuracy", "hallucination_rate_unanswerable", "over_abstention_rate"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigDifference:
    """One thing that two runs do not have in common."""

    name: str
    base: Any
    """A JSON value; None: not set, or not told."""
    new: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariant(ConfigDifference):
    """A difference that makes numbers not comparable."""

    affects: Affects


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparability:
    """How far two runs can be compared."""

    invariants: tuple[Invariant, ...] = ()
    """Those that differ; empty: the runs are comparable."""
    versions: tuple[ConfigDifference, ...] = ()
    """Which of the four versions of an experiment changed."""
    config: tuple[ConfigDifference, ...] = ()
    """Everything else that differs."""

    @property
    def comparable(self) -> bool:
        """Whether every invariant agrees."""
        return not self.invariants

    @property
    def warning(self) -> str | None:
        """What to say where more than one thing was changed at once; None: nothing."""
        if len(self.versions) < 2:
            return None
        names = [one.name.removesuffix("_version").replace("_", " ") for one in self.versions]
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
    """Show a value of a configuration in one short piece."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {shown(item)}" for key, item in value.items()) or "none"
    if isinstance(value, str):
        return cut(value)
    return "not set" if value is None else f"{value!r:.60}"


def judge_dependent_keys(*, abstention: bool, conflict: bool) -> frozenset[str]:
    """Return the metrics that a judge had a part in.

    Args:
        abstention: whether it said of any answer that it abstains.
        conflict: whether it said of any answer that it names a conflict.
    """
    judged = {key for key, info in METRICS.items() if info.judged}
    if abstention:
        judged |= _ABSTENTION_KEYS
    if conflict:
        judged |= {"recency_conflict_accuracy"}
    return frozenset(judged)


def unaffected_keys(
    comparability: Comparability, judge_dependent: frozenset[str]
) -> frozenset[str] | None:
    """Return the metrics that no differing invariant stands behind; None: all of them.

    Args:
        comparability: of the runs.
        judge_dependent: metrics that a judge had a part in, in either run.
    """
    if comparability.comparable:
        return None
    left = set(METRICS)
    for one in comparability.invariants:
        if one.affects == "everything":
            return frozenset()
        if one.affects == "answers":
            left -= {key for key in left if METRICS[key].answer_side}
        else:
            left -= judge_dependent
    return frozenset(left)


# --- comparing -------------------------------------------------------------------------------


def compare_configs(base: Mapping[str, Any], new: Mapping[str, Any]) -> Comparability:
    """Compare two ``config.json``; that of a run of foreign origin may be empty.

    What one of them does not say was made under its default.
    """
    versions = tuple(_listed(base, new, VERSIONS))
    return Comparability(
        invariants=tuple(_invariants(base, new)),
        versions=versions,
        config=tuple(_config(base, new)),
    )


def no_common_cases(
    base: Mapping[str, Any], new: Mapping[str, Any], *, n_base: int, n_new: int
) -> Invariant:
    """Return the invariant of two runs that have no case of the same content in common."""
    return Invariant(
        name="dataset",
        base=f"{_hash(base)} ({counted(n_base, 'case')})",
        new=f"{_hash(new)} ({counted(n_new, 'case')})",
        affects="everything",
    )


def _hash(config: Mapping[str, Any]) -> str:
    return str(config.get("dataset_hash") or "no hash")


def _invariants(base: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Invariant]:
    one, other = _settings(base), _settings(new)
    for key, (name, affects) in _SETTINGS.items():
        if one[key] != other[key]:
            yield Invariant(name=name, base=one[key], new=other[key], affects=affects)
    params, others = _mapping(one["params"]), _mapping(other["params"])
    for key in dict.fromkeys([*params, *others]):
        if params.get(key, _MISSING) != others.get(key, _MISSING):
            yield Invariant(
                name=f"payload.{key}",
                base=params.get(key),
                new=others.get(key),
                affects="everything",
            )
    definitions = "metric_definitions_version"
    if base.get(definitions, 1) != new.get(definitions, 1):
        yield Invariant(
            name=definitions,
            base=base.get(definitions),
            new=new.get(definitions),
            affects="everything",
        )
    yield from _judge_invariants(base, new)


def _judge_invariants(base: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Invariant]:
    # A run in which no verdict was needed does not tell which model would have given them.
    told = bool(_judges(base)) and bool(_judges(new))
    who, whom = _judge(base, told=told), _judge(new, told=told)
    if who != whom:
        yield Invariant(name="judge", base=who, new=whom, affects="judged")
    one, other = _rubrics(base), _rubrics(new)
    for name in one:
        # A rubric that only one run used has no scores to compare.
        if name in other and one[name] != other[name]:
            yield Invariant(
                name="prompt",
                base=_listed_versions(one[name]),
                new=_listed_versions(other[name]),
                affects="judged",
            )
    before, after = _settings(base), _settings(new)
    if {"none", "offline"} & {before["judge"], after["judge"]}:
        return
    for key, name in _JUDGING.items():
        a, b = before["judging"].get(key), after["judging"].get(key)
        if a != b:
            yield Invariant(name=name, base=a, new=b, affects="judged")


def _listed_versions(versions: frozenset[str]) -> str:
    return ", ".join(sorted(versions))


def _judge(config: Mapping[str, Any], *, told: bool) -> str:
    """Return who judged; ``none``: nobody.

    Args:
        config: of the run.
        told: whether verdicts tell it, by the names of the judge and of the model that answered.
    """
    settings = _settings(config)
    if settings["judge"] == "none" or settings["retrieval_only"]:
        return "none"
    if not told:
        return str(settings["judge"])
    models: dict[str, set[str]] = {}
    for one in _judges(config):
        named = models.setdefault(str(one.get("judge")), set())
        if one.get("model"):  # a verdict that failed names none
            named.add(str(one["model"]))
    return ", ".join(
        f"{judge} ({', '.join(sorted(named))})" if named - {judge} else judge
        for judge, named in sorted(models.items())
    )


def _judges(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = config.get("judges")
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _rubrics(config: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Return by rubric the versions that it was judged by."""
    found: dict[str, set[str]] = {}
    for judge in _judges(config):
        for name, version in _mapping(judge.get("rubrics")).items():
            found.setdefault(str(name), set()).add(str(version))
    return {name: frozenset(versions) for name, versions in found.items()}


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a run, those that it does not tell at their defaults."""
    stored = _mapping(config.get("settings"))
    # Who judged a run of foreign origin is not known by a default.
    whole = {**_DEFAULTS, "judge": config.get("judge") or "none", **stored}
    for section in ("target", "judging"):
        whole[section] = {**_DEFAULTS[section], **_mapping(stored.get(section))}
    return whole


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# --- what else differs -------------------------------------------------------------------------


def _config(base: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[ConfigDifference]:
    one = dict(_flat({k: v for k, v in _settings(base).items() if k not in _NOT_LISTED}, ""))
    other = dict(_flat({k: v for k, v in _settings(new).items() if k not in _NOT_LISTED}, ""))
    yield from _listed(one, other, dict.fromkeys([*one, *other]))
    one, other = (_rubric_setting(config) for config in (base, new))
    yield from _listed(one, other, one)
    told = ("target_models", "asked")
    for key in told:
        one = dict(_flat({key: base.get(key)}, ""))
        other = dict(_flat({key: new.get(key)}, ""))
        yield from _listed(one, other, dict.fromkeys([*one, *other]))
    package = "pytest-rageval"
    versions = [_mapping(config.get("versions")).get(package) for config in (base, new)]
    yield from _listed({package: versions[0]}, {package: versions[1]}, (package,))


def _rubric_setting(config: Mapping[str, Any]) -> dict[str, Any]:
    settings = _settings(config)
    rubrics = [] if settings["judge"] == "none" else list(settings["judging"].get("rubrics") or ())
    return {"judge.rubrics": rubrics}


def _listed(
    base: Mapping[str, Any], new: Mapping[str, Any], names: Any
) -> Iterator[ConfigDifference]:
    for name in names:
        if base.get(name) != new.get(name):
            yield ConfigDifference(name=name, base=base.get(name), new=new.get(name))


def _flat(document: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", list(value) if isinstance(value, tuple) else value
