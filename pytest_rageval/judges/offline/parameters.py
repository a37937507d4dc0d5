"""The fitted numbers of the offline judge, read from ``parameters.json`` beside this file.

``benchmarks/fit_offline_judge.py`` fits and writes them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A logistic layer over named features."""

    intercept: float
    weights: Mapping[str, float]
    """Weight in log odds by feature; other features have weight 0."""

    def log_odds(self, features: Mapping[str, float]) -> float:
        """Return intercept + Σ weight · feature."""
        parts = [weight * features[name] for name, weight in self.weights.items()]
        return self.intercept + math.fsum(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The fitted layers."""

    grounded: Layer
    """Whether a claim is supported by the context."""
    correct: Layer
    """Whether an answer states an expected answer or a key fact."""


@cache
def load_parameters() -> Parameters:
    """Return the bundled numbers."""
    text = files(__package__).joinpath("parameters.json").read_text(encoding="utf-8")
    return parse_parameters(json.loads(text))


def parse_parameters(document: Mapping[str, Any]) -> Parameters:
    """Return the values of a ``parameters.json``."""
    return Parameters(**{one.name: Layer(**document[one.name]) for one in fields(Parameters)})


def probability(log_odds: float) -> float:
    """Return the logistic function, 0 to 1, without overflow."""
    if log_odds >= 0:
        return 1 / (1 + math.exp(-log_odds))
    odds = math.exp(max(log_odds, -700.0))
    return odds / (1 + odds)
