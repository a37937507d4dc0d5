"""Texts of a ``thresholds.toml``, read for a project with two categories and a tag."""

from __future__ import annotations

from pytest_rageval.project.threshold_keys import KnownNames
from pytest_rageval.project.thresholds import parse_thresholds
from pytest_rageval.values.gate import Thresholds

KNOWN = KnownNames(
    categories=frozenset({"multi_hop", "recency/conflict"}), tags=frozenset({"work"})
)


def parse(text: str, *gates: str) -> Thresholds:
    return parse_thresholds(text, display="thresholds.toml", known=KNOWN, gates=gates)
