"""The settings of a run in the order of their declaration, with their sources and their meaning.

Only the standard library is imported, because pytest loads this module in every project that has
the plugin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any, Final

from pytest_rageval.values.declared import Setting
from pytest_rageval.values.settings import JudgeSettings, Settings, TargetSettings

_SECTIONS: Final = {"target": TargetSettings, "judging": JudgeSettings}


def _declared(owner: Any, prefix: str = "") -> Iterator[Setting]:
    for one in fields(owner):
        default = {} if one.default is MISSING else one.default
        for mark in getattr(one.type, "__metadata__", ()):
            if isinstance(mark, Setting):
                mark.declare(prefix + one.name, one.type, default)
                yield mark
        if one.name in _SECTIONS:
            yield from _declared(_SECTIONS[one.name], f"{one.name}.")


OPTIONS: Final = tuple(_declared(Settings))
"""Every setting that a user can set; flags in the order of ``--help``, invariants in that of a
comparison. ``rootdir``, ``origins`` and ``judged_on`` cannot be set."""

VERSIONS: Final = tuple(one.name for one in OPTIONS if one.key.startswith("versions."))
"""Versions of an experiment; ideally one of them differs between two compared runs."""
