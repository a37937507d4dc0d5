"""Definitions of own metrics in ``config.json``, so that a stored run is read without their code.

Built-in metrics are not listed there; ``metric_definitions_version`` is their version.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.support.text import clean
from pytest_rageval.values.config import RunConfig
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.own_metric import MetricDefinition


def own_definitions(registry: Registry) -> dict[str, MetricDefinition]:
    """Return the definitions of own metrics, by key."""
    return {
        key: MetricDefinition(**{f.name: getattr(info, f.name) for f in fields(MetricDefinition)})
        for key, info in registry.own.items()
    }


def stored_registry(*configs: RunConfig, project: Registry = BUILT_IN) -> Registry:
    """Return the registry of stored runs: built-in metrics and those that they define.

    Args:
        configs: of the runs; of two definitions of a key the later one holds. Those of a name that
            the package has taken since are left out.
        project: metrics of the project, which runs may not have yet.
    """
    own = dict(project.own)
    for config in configs:
        own |= {info.key: info for info in _stored(config)}
    return BUILT_IN.with_(own.values()) if own else BUILT_IN


def _stored(config: RunConfig) -> Iterator[MetricInfo]:
    for key, one in config.metric_definitions.items():
        given = {f.name: getattr(one, f.name) for f in fields(MetricDefinition)}
        # The names are of a project's code.
        texts = {name: clean(text) for name, text in given.items() if isinstance(text, str)}
        info = MetricInfo(key=key, **{**given, **texts})
        low, high = info.bounds
        try:
            BUILT_IN.with_([info])
        except ConfigError:
            continue
        if low < high:
            yield info
