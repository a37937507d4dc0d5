"""The judge that ``[tool.rageval.judge] client`` names."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, cast

from pytest_rageval.project.plugins import named_code
from pytest_rageval.support.http.address import blot_out_known
from pytest_rageval.support.named_code import find_named, importable
from pytest_rageval.support.text import clean, shown
from pytest_rageval.support.threads import waited_for
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.verdict import Judge

_WHERE: Final = "[tool.rageval.judge] client"


def is_named(settings: Settings) -> bool:
    """Return whether the judge of a run is one in the project's code."""
    return settings.judging.client is not None and settings.judge == settings.judging.client


@contextmanager
def open_named_judge(settings: Settings) -> Iterator[Judge]:
    """Yield the judge, and call its ``close`` afterwards if a factory has made it.

    Raises:
        ConfigError: it does not exist, cannot be made, or is no judge.
    """
    with importable(settings.rootdir):
        where, rootdir = f"{_WHERE}: {settings.judge}", Path(settings.rootdir)
        found = named_code(partial(find_named, settings.judge, _WHERE), where, rootdir)
        made = isinstance(found, type) or not hasattr(found, "judge")
        judge = named_code(found, where, rootdir) if made and callable(found) else found
        identity = getattr(judge, "identity", None)
        if not callable(getattr(judge, "judge", None)) or not isinstance(identity, str):
            raise ConfigError.of(
                where,
                "type",
                found=shown(judge),
                expected="an object with an identity and judge(rubric, request, repeat=0), or a "
                "function or class that makes one",
            )
        try:
            yield cast(Judge, judge)
        finally:
            close = getattr(judge, "close", None)
            if judge is not found and callable(close):
                try:
                    waited_for(close())
                except Exception as error:
                    # What it said is kept: verdicts may have been paid for.
                    said = clean(blot_out_known(str(error)), 300)
                    message = f"{where}: close: {type(error).__name__}: {said}"
                    warnings.warn(message, stacklevel=1)
