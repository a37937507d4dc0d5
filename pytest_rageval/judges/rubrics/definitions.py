"""The metrics of a user's rubric, as its schema defines them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_rageval.judges.rubrics.schema import DIRECTION, Schema, scales
from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.support.text import clean

_ANSWERED = "answerable cases that were answered"
_OPTIONAL = f"{_ANSWERED}, if the judge gives this score"
_TITLE_CHARS = 80


def define_metrics(
    schema: Schema, keys: Mapping[str, str], *, version: str, source: str
) -> Iterator[MetricInfo]:
    """Yield the definition of each score of a rubric.

    Args:
        schema: of the rubric.
        keys: property of the reply to the metric key of its score.
        version: of the rubric.
        source: path of the rubric as the settings name it.
    """
    found = scales(schema, own=True)
    for name, key in keys.items():
        inner = schema["properties"][name]
        binary = inner["type"] == "boolean" or set(inner.get("enum", ())) == {0, 1}
        plain = key.replace("_", " ").replace(".", ": ", 1)
        yield MetricInfo(
            key=key,
            title=clean(inner.get("title", ""), _TITLE_CHARS) or plain[:1].upper() + plain[1:],
            direction=inner.get(DIRECTION, "higher"),
            scale=found[name],
            binary=binary,
            population=_ANSWERED if name in schema.get("required", ()) else _OPTIONAL,
            level="judged",
            version=version,
            source=source,
        )
