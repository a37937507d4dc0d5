"""The reference of metrics: declarations of the package, with the texts of ``metrics.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from docs.site.links import slug
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import STAGE_PREFIX, MetricInfo
from pytest_rageval.values.own_code import Direction

TEXTS = Path(__file__).with_name("metrics.toml")
BETTER: dict[Direction, str] = {
    "higher": "higher is better",
    "lower": "lower is better",
    "neutral": "neither way is better",
}
_INFOS = {**BUILT_IN.cases, **BUILT_IN.runs}
_FIELDS = {"formula": "Formula", "empty": "Empty case", "source": "Source"}


class Entry(NamedTuple):
    """A metric with its page."""

    key: str
    name: str
    """Name of its page: the key without dots."""
    row: str
    """Its row in the overview."""
    text: str
    """The page, which starts with the key as its heading."""


class Group(NamedTuple):
    """Metrics that share a section of the overview."""

    title: str
    text: str
    entries: list[Entry]


def metric_groups() -> tuple[str, list[Group]]:
    """Return the introduction of the reference, and all metrics in groups."""
    texts = tomllib.loads(TEXTS.read_text(encoding="utf-8"))
    groups = [
        Group(one["title"], one.get("text", ""), [_entry(m) for m in one.get("metric", ())])
        for one in texts["group"]
    ]
    return texts["head"], groups


def overview(head: str, groups: list[Group]) -> str:
    """Return the page that explains the groups and lists their metrics."""
    return "\n".join([head, *(line for group in groups for line in _section(group))])


def range_text(info: MetricInfo) -> str:
    """Return the scale of a metric as it is read."""
    low, high = info.scale
    if high is None:
        return f"{low:g} and up"
    return f"{low:g} {'or' if info.binary else 'to'} {high:g}"


def _section(group: Group) -> Iterator[str]:
    yield f"## {group.title}\n\n{group.text.strip()}\n"
    if group.entries:
        yield "| key | question | range | better |\n|---|---|---|---|"
        yield from (entry.row for entry in group.entries)
    yield ""


def _entry(texts: dict[str, Any]) -> Entry:
    key = texts["key"]
    info = _declared(key)
    question, scale = texts["question"], range_text(info)
    fields = {
        "Range": f"{scale}, {BETTER[info.direction]}",
        "Population": texts.get("population", info.population),
        **{label: _line(texts[name]) for name, label in _FIELDS.items()},
    }
    lines = [f"# `{key}`", "", f"**{texts.get('title', info.title)}.** {question}"]
    if "note" in texts:
        lines.append(_line(texts["note"]))
    lines += ["", *(f"- **{label}:** {text}" for label, text in fields.items())]
    name = re.sub(r"[^\w-]+", "-", key.lower()).strip("-")
    row = f"| [`{key}`](#{slug(key)}) | {question} | {scale} | {info.direction} |"
    return Entry(key, name, row, "\n".join([*lines, "", texts["example"]]))


def _declared(key: str) -> MetricInfo:
    if key == f"{STAGE_PREFIX}STAGE":
        return next(info for name, info in _INFOS.items() if name.startswith(STAGE_PREFIX))
    if key == "embedding_silhouette":  # no run has it, so no registry does
        return MetricInfo(key=key, title="", population="", level="embedding", scale=(-1.0, 1.0))
    return _INFOS[key]


def _line(text: str) -> str:
    return " ".join(text.split())
