"""Reading of YAML in documents and templates."""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML


def load_yaml(text: str) -> Any:
    """Return the plain values of a text in YAML 1.2, in which ``on`` is a text."""
    return YAML(typ="safe", pure=True).load(text)
