"""Lets tests run pytest inside pytest; the plugin itself comes through its entry point."""

from __future__ import annotations

# pytester forgets every module that a run inside it was the first to import. httpx finds its
# exceptions by class, so a second copy of httpcore would no longer be recognised; and importing
# our own rooms anew for every inner run would take most of its time.
import httpcore  # noqa: F401
import httpx  # noqa: F401
import numpy as np  # noqa: F401
import pydantic  # noqa: F401

from pytest_rageval import client, session, thresholds  # noqa: F401

pytest_plugins = ["pytester"]
