"""Metrics in a project's own code: modules that the settings name, and what they define."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.support.http.address import blot_out_known
from pytest_rageval.support.project_code import error_text, user_traceback
from pytest_rageval.support.text import clean, shown
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.own_code import MARK, Section

Definition = MetricInfo | Section
"""Definition that a decorator puts on a function."""
GROUP: Final = "pytest_rageval"
"""Entry points of installed packages; they are loaded only if the settings name them."""
WHERE: Final = "[tool.rageval] plugins"
HOOK: Final = "pytest_rageval_register"


class Extensions:
    """Metrics and sections of a project's own code, in the order in which they were added."""

    def __init__(self) -> None:
        self._found: dict[int, Definition] = {}

    def __iter__(self) -> Iterator[Definition]:
        return iter(self._found.values())

    def add(self, *found: object) -> None:
        """Add decorated functions, or modules with all that they define.

        Raises:
            ConfigError: one is neither.
        """
        for one in found:
            marked = list(_marked(one))
            if not marked:
                raise ConfigError.of(
                    "",
                    "type",
                    found=clean(shown(one)),
                    expected="a function below @metric, @run_metric or @section, or a module "
                    "that defines one",
                )
            # A module may import what another defines.
            self._found.update({id(info): info for info in marked})


def _marked(found: object) -> Iterator[Definition]:
    things = [*vars(found).values()] if isinstance(found, ModuleType) else [found]
    for thing in things:
        yield from (info for info in _marks(thing) if isinstance(info, Definition))


def _marks(thing: object) -> tuple[object, ...]:
    try:
        marks = getattr(thing, MARK, ()) if callable(thing) else ()
    except Exception:  # of a proxy, such as flask's current_app outside an application
        return ()
    # A mock or proxy has every attribute.
    return marks if isinstance(marks, tuple) else ()


def load_plugins(names: Iterable[str], rootdir: str) -> Extensions:
    """Import the modules that the settings name, as seen from the rootdir.

    A name is that of a module, of an entry point or of an installed package with entry points, in
    this order.

    Raises:
        ConfigError: one cannot be imported, or defines nothing; with its traceback.
    """
    extensions = Extensions()
    if rootdir not in sys.path:  # it stays, as a metric may import more when it is called
        sys.path.insert(0, rootdir)
    for name in names:
        where = f"{WHERE}: {name!r}"
        modules = named_code(partial(_modules, name), where, Path(rootdir))
        if not modules:
            raise ConfigError.of(where, "no_module", group=GROUP)
        for module in modules:
            try:
                extensions.add(module)
            except ConfigError as error:
                raise error.within(where) from error
    return extensions


def named_code(run: Callable[[], Any], where: str, rootdir: Path) -> Any:
    """Run code of the project before the first case, such as that of a module.

    Raises:
        ConfigError: it raised; with the lines of the project that did.
    """
    try:
        return run()
    except (Exception, SystemExit) as error:
        text = clean(blot_out_known(error_text(error)), 500)
        lines = user_traceback(error, rootdir, hide=blot_out_known).splitlines()
        found = ConfigError.of(where, "raised", error=type(error).__name__, said=text)
        shown_lines = [str(found), *(f"  {line}" for line in lines)]
        raise ConfigError("\n".join(shown_lines), faults=found.faults) from error


def _modules(name: str) -> list[object]:
    module = _module(name)
    if module is not None and any(_marked(module)):
        return [module]
    points = [
        point
        for point in metadata.entry_points(group=GROUP)
        if point.name == name or (point.dist and _normal(point.dist.name) == _normal(name))
    ]
    return [point.load() for point in points] or ([] if module is None else [module])


def _module(name: str) -> ModuleType | None:
    if not all(part.isidentifier() for part in name.split(".")):
        return None
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            return None
        raise


def _normal(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()
