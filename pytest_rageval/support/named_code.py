"""Code of a project that its settings name as ``module:name``."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pytest_rageval.values.errors import ConfigError


@contextmanager
def importable(folder: str) -> Iterator[None]:
    """Let the modules of a folder be imported, as ``python -m pytest`` does for the rootdir."""
    added = folder not in sys.path
    if added:
        sys.path.insert(0, folder)
    try:
        yield
    finally:
        if added and folder in sys.path:
            sys.path.remove(folder)


def find_named(setting: str, where: str) -> Any:
    """Import the object that a setting names; a dot after the colon leads to an attribute of it.

    What the module raises while it is imported comes through as it is.

    Args:
        setting: such as ``my_package.rag:make_client``.
        where: place of the setting, for messages.

    Raises:
        ConfigError: the setting has another form, the module or the name does not exist, or it is
            that of a fixture.
    """
    module, colon, name = setting.partition(":")
    if not colon or not module or not name:
        raise ConfigError.of(where, "value", found=repr(setting), expected="module:function")
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not _is_part(error.name, module):
            raise
        raise ConfigError.of(
            where, "not_imported", found=repr(setting), reason=error, module=module
        ) from error
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise ConfigError.of(
                where, "not_imported", found=repr(setting), reason=error
            ) from error
    # pytest before 8.4 wraps the function of a fixture, later ones make an object of it. A proxy of
    # a remote object seems to have every attribute.
    wrapped = "__pytest_wrapped__" in getattr(found, "__dict__", ())
    if wrapped or type(found).__name__ == "FixtureFunctionDefinition":
        raise ConfigError.of(where, "fixture", found=repr(setting))
    return found


def _is_part(missing: str | None, module: str) -> bool:
    """Whether the module that was not found is the named one or a package that it is in."""
    return missing is not None and f"{module}.".startswith(f"{missing}.")
