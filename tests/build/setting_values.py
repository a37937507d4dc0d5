"""For every setting a value that is not its default, as a user writes it and as it is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_rageval.values.declared import Setting
from pytest_rageval.values.settings import Settings

TEXT = "some-name"
_BY_KIND: Mapping[str, Any] = {
    "text": TEXT,
    "url": "https://host.example/base",
    "judge_url": "https://host.example/base",
    "run_id": "nightly-1",
    "shard": "2/3",
    "integer": 7,
    "number": 0.75,
    "judge": "some-model",
    "texts": ("one", "two"),
    "gates": ("recall_at_k>=0.9", "error_rate<=0"),
    "params": {"tenant": "a", "top": 3},
    "extra_body": {"reasoning_effort": "low", "provider": {"order": ["Groq"]}},
    "headers": {"Authorization": "env:TOKEN"},
    "mapping": {"q": "question"},
    "preset": "dify",
    "vars": {"user": "ann"},
    "markers": ("doc", "path"),
    "marker": r"\[(?P<n>\d+)\]",
    "folders": ("/srv/docs", "docs"),
    "selectors": ("tag:smoke", "category:faq"),
    "below": "evals/limits.toml",
    "repeats": "auto",
    "trace_url": "https://traces.example.com/t/{trace_id}",
}


def value_of(settings: Settings, setting: Setting) -> Any:
    """Return what a setting holds."""
    owner = getattr(settings, setting.section) if setting.section else settings
    return getattr(owner, setting.field)


def another_value(setting: Setting) -> Any:
    """Return a value that the setting may hold and does not hold by default."""
    default = value_of(Settings(rootdir="."), setting)
    if setting.kind == "boolean":
        return not default
    if setting.kind == "choice":
        return next(choice for choice in setting.choices if choice != default)
    return _BY_KIND[setting.kind]


def with_value(settings: Settings, setting: Setting, value: Any) -> Settings:
    """Return settings of which one holds this value."""
    change = {setting.field: value}
    if setting.section:
        change = {setting.section: replace(getattr(settings, setting.section), **change)}
    return replace(settings, **change)


def as_flag(value: Any) -> Any:
    """Return what the parser of the command line makes of the flag that means this value."""
    if isinstance(value, Mapping):
        return [f"{key}={item}" for key, item in value.items()]
    if isinstance(value, tuple):
        gates = any("=" in item for item in value)
        return list(value) if gates else ", ".join(value)
    return value if value is True else str(value)


def as_variable(value: Any) -> str:
    """Return the text of the environment variable that means this value."""
    flag = as_flag(value)
    return "\n".join(flag) if isinstance(flag, list) else str(flag)


def as_toml(value: Any) -> str:
    """Return the value in TOML."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {as_toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)
