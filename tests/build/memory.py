"""Memory that a call needs."""

from __future__ import annotations
