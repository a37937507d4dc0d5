"""Lets tests run pytest inside pytest; the plugin itself comes through its entry point."""

from __future__ import annotations

pytest_plugins = ["pytester"]
