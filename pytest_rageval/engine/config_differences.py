"""What keeps two runs from being one: the settings in which they differ, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_rageval.metrics.registry import DEFINITIONS_VERSION
from pytest_rageval.project.options import OPTIONS
from pytest_rageval.project.settings import compared_settings, settings_document
from pytest_rageval.support.text import shorten
from pytest_rageval.values.settings import Settings

_MISSING: Final = object()
_SHOWN: Final = 5


def current_config(settings: Settings) -> dict[str, Any]:
    """Return what ``config.json`` would hold of the things that are compared."""
    return {
        "settings": settings_document(settings),
        "metric_definitions_version": DEFINITIONS_VERSION,
    }


def differences(
    one: Mapping[str, Any], other: Mapping[str, Any], *, also: tuple[str, ...] = ()
) -> list[tuple[str, str, str]]:
    """Return the name, and both values as shown, of what makes two runs not comparable.

    Args:
        one: a ``config.json``.
        other: another one, or ``current_config``.
        also: settings that must agree too although they change no number, such as ``shard``.
    """
    found = []
    left, right = dict(_comparable(one, also)), dict(_comparable(other, also))
    for name in dict.fromkeys([*left, *right]):
        a, b = left.get(name, _MISSING), right.get(name, _MISSING)
        if a != b:
            found.append((_shown_name(name), _shown(a), _shown(b)))
    return found


def listed(found: list[tuple[str, str, str]], one: str, other: str) -> str:
    """Put differences into words, such as ``k: 5 in run a, 10 now``."""
    shown = [f"{name}: {a} {one}, {b} {other}" for name, a, b in found[:_SHOWN]]
    more = len(found) - _SHOWN
    return "; ".join([*shown, *([f"and {more} more"] if more > 0 else [])])


def _comparable(config: Mapping[str, Any], also: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    # A run that was stored before a setting existed was made under its default.
    default = settings_document(Settings(rootdir="."))
    stored = config.get("settings")
    given = stored if isinstance(stored, Mapping) else {}
    whole = {**default, **given}
    for section in ("target", "judging"):
        part = given.get(section)
        whole[section] = {**default[section], **(part if isinstance(part, Mapping) else {})}
    yield from _flat(compared_settings(whole), "")
    for name in also:
        yield name, whole.get(name)
    yield "metric_definitions_version", config.get("metric_definitions_version")


def _flat(document: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", list(value) if isinstance(value, tuple) else value


def _shown_name(name: str) -> str:
    """Return the flag of a setting, or its own name where it has none."""
    flags = {option.setting: option.flag for option in OPTIONS}
    return flags.get(name) or name


def _shown(value: object) -> str:
    return "not set" if value is None or value is _MISSING else shorten(value)
