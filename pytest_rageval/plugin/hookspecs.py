"""Hooks that a project may implement in its conftest.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_rageval.project.plugins import Extensions


@pytest.hookspec
def pytest_rageval_register(registry: Extensions) -> None:
    """Add metrics of the project's own: ``registry.add(function_or_module, ...)``."""
