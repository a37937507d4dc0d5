"""The registry of a project: the built-in metrics and those that its settings name.

A new source of metrics is added to ``_definitions``, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.definitions import stored_registry
from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.project.plugins import Definition, load_plugins
from pytest_rageval.values.config import RunConfig
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.section import Section
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.verdict import RUBRICS


def open_registry(settings: Settings, registered: Iterable[Definition] = ()) -> Registry:
    """Return the registry of a project, with what its code has registered.

    Raises:
        ConfigError: a rubric or a plug-in cannot be read, or a metric has a name that is taken.
    """
    found = tuple(_definitions(settings, registered))
    metrics = [one for one in found if isinstance(one, MetricInfo)]
    sections = tuple(one for one in found if isinstance(one, Section))
    return replace(BUILT_IN.with_(metrics), sections=sections) if found else BUILT_IN


def registry_for_runs(settings: Settings, *configs: RunConfig) -> Registry:
    """Return the registry in which a project reads stored runs.

    It has the metrics that the runs define, then those of the project if they can be read: a
    stored run needs no rubric file.

    Args:
        settings: of the project.
        configs: ``config.json`` of the runs; of two definitions of a key the later one holds.
    """
    return stored_registry(*configs, project=readable_registry(settings))


def readable_registry(settings: Settings) -> Registry:
    """Return the registry of a project; the built-in metrics alone if it cannot be read."""
    try:
        return open_registry(settings)
    except ConfigError:
        return BUILT_IN


def _definitions(settings: Settings, registered: Iterable[Definition] = ()) -> Iterator[Definition]:
    own = [name for name in dict.fromkeys(settings.judging.rubrics) if name not in RUBRICS]
    if own:  # reading a rubric imports heavy libraries
        from pytest_rageval.judges.rubrics.load import load_rubric

        for name in own:
            yield from load_rubric(name, root=settings.rootdir).definitions
    loaded = load_plugins(settings.plugins, settings.rootdir) if settings.plugins else ()
    # Both ways may lead to the same function.
    yield from {id(info): info for info in (*loaded, *registered)}.values()
