"""Opens the judge that the settings name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pytest_rageval.errors import ConfigError
from pytest_rageval.judgements import Judge
from pytest_rageval.models import Settings


@contextmanager
def open_judge(settings: Settings, *, environ: Mapping[str, str]) -> Iterator[Judge | None]:
    """Yield the judge and close it afterwards; None where answers are not judged.

    Args:
        settings: the run's settings.
        environ: where the judge's key comes from.

    Raises:
        ConfigError: the judge cannot work as it is set up.
    """
    if settings.judge == "none" or settings.retrieval_only:
        yield None
    else:
        raise ConfigError(f"judge: got {settings.judge!r}, expected none")
