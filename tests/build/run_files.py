"""The files of a run without what is of it alone, to compare runs made in different ways."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

OWN = {
    "run_id",
    "timestamp",
    "latency",
    "latency_by_phase",
    "sessions",
    "wall_s",
    "trace_id",
    "span_id",
    "asked",
    "asked_at",
    "cores_needed",
    "headline",
}
"""Keys of documents that name the run, its times, the way to its target or an earlier run."""


def comparable(value: Any) -> Any:
    """Return a document without what is of one run alone."""
    if isinstance(value, Mapping):
        return {k: comparable(v) for k, v in value.items() if k not in OWN}
    return [comparable(item) for item in value] if isinstance(value, list) else value


def documents(folder: Path) -> dict[str, Any]:
    """Return the content of the files of a run, without what is of it alone."""
    lines = (folder / "results.jsonl").read_text("utf-8").splitlines()
    records = [comparable(json.loads(line)) for line in lines]
    # They are written as their answers come.
    records.sort(key=lambda one: (one["file"], one["lineno"], one["repeat"]))
    found: dict[str, Any] = {"results": records}
    for name in ("metrics.json", "groups.json", "gate.json", "config.json"):
        found[name] = comparable(json.loads((folder / name).read_text("utf-8")))
    return found
