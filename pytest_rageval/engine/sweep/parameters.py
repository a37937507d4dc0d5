"""Parameters of a configuration as settings of its questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pytest_rageval.project.option_values import read_value
from pytest_rageval.project.options import OPTIONS
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import Settings

_FIELDS: Final = ("k", "folder_mode", "vector_weight", "lexical_weight")
"""Settings that every request carries; any other parameter is one more field of it."""
_BY_NAME: Final = {one.name: one for one in OPTIONS}


def with_query(settings: Settings, query: Mapping[str, Any]) -> Settings:
    """Return the settings under which a configuration's questions are asked.

    They are those of ``pytest --rag-k ... --rag-param NAME=VALUE ...``.

    Args:
        settings: of the project.
        query: values by parameter; others than ``k``, ``folder_mode``, ``vector_weight`` and
            ``lexical_weight`` are further fields of the request.

    Raises:
        ConfigError: a value is wrong, or a parameter has the name of another field.
    """
    for name, value in query.items():
        own = name in _FIELDS
        given = value if own else {name: value}
        read, faults = read_value(_BY_NAME[name if own else "params"], given)
        for fault in faults:
            raise ConfigError.of_faults([replace(fault, field=f"query.{name}")])
        changed = {name: read} if own else {"params": {**settings.params, **read}}
        settings = replace(settings, **changed)
    return settings
