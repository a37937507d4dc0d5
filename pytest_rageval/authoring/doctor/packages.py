"""Versions of what is installed, and which of them do not go together."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from importlib import metadata
from typing import Final

from pytest_rageval.authoring.doctor.findings import Finding, Findings

_FOUND: Final = Findings("project")
SHOWN: Final = ("pytest", "pytest-xdist", "pytest-recording", "vcrpy", "openai")
_RIVALS: Final = {
    "pytest-vcr": "it and pytest-recording both define the marker vcr and replace cassettes",
    "pytest-parallel": "it runs items in threads, which pytest-xdist and the plugin do not expect",
}
"""Packages that get in the way of cassettes or workers, and why."""


def check_packages() -> Iterator[Finding]:
    """Check the packages of this environment."""
    installed = {
        dist.metadata["Name"].lower().replace("_", "-"): dist.version
        for dist in metadata.distributions()
        if dist.metadata["Name"]
    }
    required = metadata.requires("pytest-rageval") or []
    yield from judge_versions(installed, required)


def judge_versions(installed: Mapping[str, str], required: list[str]) -> Iterator[Finding]:
    """Say of the installed versions what does not fit.

    Args:
        installed: version by normalised name.
        required: requirements of the package, as its metadata hold them.
    """
    shown = ", ".join(f"{name} {installed[name]}" for name in SHOWN if name in installed)
    yield _FOUND.ok("versions", f"Python {platform.python_version()}, {shown}")
    yield from _unmet(installed, required)
    if _older(installed, "vcrpy", 8, 2) and not _older(installed, "openai", 3, 0):
        yield _FOUND.fail(
            "cassettes",
            f"vcrpy {installed['vcrpy']} does not see what openai {installed['openai']} sends, "
            "which then reaches the live API",
            "pip install -U vcrpy",
        )
    if _older(installed, "pytest", 8, 3):
        yield _FOUND.warn(
            "pytest",
            f"pytest {installed['pytest']} knows no -m \"case(category='x')\"",
            "pip install -U pytest",
        )
    for name, why in _RIVALS.items():
        if name in installed:
            yield _FOUND.warn("packages", f"{name} is installed: {why}", f"pip uninstall {name}")


def _unmet(installed: Mapping[str, str], required: list[str]) -> Iterator[Finding]:
    from packaging.requirements import Requirement

    for text in required:
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        version = installed.get(requirement.name.lower().replace("_", "-"))
        fix = f'pip install -U "{requirement.name}{requirement.specifier}"'
        if version is None:
            yield _FOUND.fail("packages", f"{requirement.name} is missing", fix)
        elif not requirement.specifier.contains(version, prereleases=True):
            message = f"{requirement.name} {version}, expected {requirement.specifier}"
            yield _FOUND.fail("packages", message, fix)


def _older(installed: Mapping[str, str], name: str, *than: int) -> bool:
    from packaging.version import Version

    version = installed.get(name)
    return version is not None and Version(version).release < than
