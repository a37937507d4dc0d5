"""Definitions of own metrics in ``config.json``, so that a stored run is read without their code.

Built-in metrics are not listed there; ``metric_definitions_version`` is their version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, Final, get_args

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import BUILT_IN_SOURCE, Direction, Level, MetricInfo, Registry
from pytest_rageval.support.text import clean
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.json_documents import items, number, part, text

METRIC_DEFINITIONS: Final = "metric_definitions"
"""Key of ``config.json``."""
_DIRECTIONS: Final[Mapping[str, Direction]] = {one: one for one in get_args(Direction)}
_STORED: Final = [one.name for one in fields(MetricInfo) if one.name not in {"key", "compute"}]
_LEVELS: Final[Mapping[str, Level]] = {one: one for one in ("judged", "own", "run")}


def definitions_document(registry: Registry) -> dict[str, dict[str, Any]]:
    """Return the definitions of own metrics as JSON values, by key."""
    return {
        key: {name: getattr(info, name) for name in _STORED} | {"scale": list(info.scale)}
        for key, info in registry.own.items()
    }


def stored_registry(*configs: Mapping[str, Any], project: Registry = BUILT_IN) -> Registry:
    """Return the registry of stored runs: built-in metrics and those that they define.

    Args:
        configs: their ``config.json``; of two definitions of a key the later one holds. Invalid
            ones, and those of a name that the package has taken since, are left out.
        project: metrics of the project, which runs may not have yet.
    """
    own = dict(project.own)
    for config in configs:
        own |= {info.key: info for info in _stored(part(config, METRIC_DEFINITIONS))}
    return BUILT_IN.with_(own.values()) if own else BUILT_IN


def _stored(document: Mapping[str, Any]) -> Iterator[MetricInfo]:
    for key, found in document.items():
        direction = _DIRECTIONS.get(text(found, "direction"))
        level = _LEVELS.get(text(found, "level"))
        ends = [number({"end": end}, "end") for end in items(found, "scale")]
        if direction is None or level is None or len(ends) != 2:
            continue
        low, high = ends
        if low is None or (high is not None and high <= low):
            continue
        source = clean(text(found, "source"))
        info = MetricInfo(
            key=str(key),
            title=clean(text(found, "title")) or str(key),
            direction=direction,
            scale=(low, high),
            binary=part(found).get("binary") is True,
            population=clean(text(found, "population")),
            level=level,
            version=clean(text(found, "version")),
            source=source if source not in {"", BUILT_IN_SOURCE} else "unknown",
        )
        try:
            BUILT_IN.with_([info])
        except ConfigError:
            continue
        yield info
