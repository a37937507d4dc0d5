"""Configurations of a sweep: the points of its grid."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import product

from pytest_rageval.values.sweep import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One point: values sent with each question, and values that an index is built with."""

    query: Mapping[str, Value] = field(default_factory=dict)
    index: Mapping[str, Value] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Hash of both, in 12 hex digits, whatever the order of the names."""
        text = json.dumps([dict(self.query), dict(self.index)], sort_keys=True)
        return sha256(text.encode()).hexdigest()[:12]

    @property
    def name(self) -> str:
        """The values as a user reads them: ``k=5 chunk_tokens=400``."""
        return " ".join(f"{name}={value_text(value)}" for name, value in self.parameters.items())

    @property
    def parameters(self) -> dict[str, Value]:
        """All values; no parameter of an index has the name of another."""
        return {**self.query, **self.index}


def value_text(value: Value) -> str:
    """Return a value as users and commands read it: a text as it is, anything else as JSON.

    >>> value_text(True), value_text(0.2), value_text("rrf")
    ('true', '0.2', 'rrf')
    """
    return value if isinstance(value, str) else json.dumps(value)


def expand_grid(
    query: Mapping[str, Sequence[Value]], index: Mapping[str, Sequence[Value]]
) -> tuple[Configuration, ...]:
    """Return every combination; those of one index are neighbours, so that it is built once.

    Args:
        query: values by parameter of the questions; the last one varies fastest.
        index: values by parameter of the index.
    """
    return tuple(
        Configuration(query=asked, index=built)
        for built in _points(index)
        for asked in _points(query)
    )


def _points(axes: Mapping[str, Sequence[Value]]) -> Iterable[dict[str, Value]]:
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
