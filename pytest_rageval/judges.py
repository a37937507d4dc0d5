"""Opens the judge that the settings name."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_rageval.judgements import Judge
from pytest_rageval.models import Settings

if TYPE_CHECKING:
    from pytest_rageval.judge_cache import JudgeCache

CACHE_FILE = "cache/judge.sqlite"
"""Below the first test path; a git-ignored folder."""


@contextmanager
def open_judge(
    settings: Settings,
    *,
    environ: Mapping[str, str],
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Judge | None]:
    """Yield the judge and close it afterwards; None where answers are not judged.

    Args:
        settings: the run's settings.
        environ: where the judge's key comes from.
        sleep: pauses between a model's attempts, in seconds.

    Raises:
        ConfigError: the judge cannot work as it is set up.
        StorageError: its cache cannot be read.
    """
    if settings.judge == "none" or settings.retrieval_only:
        yield None
    elif settings.judge == "offline":
        from pytest_rageval.offline.judge import OfflineJudge

        yield OfflineJudge()
    else:
        with _open_model(settings, environ, sleep) as judge:
            yield judge


@contextmanager
def _open_model(
    settings: Settings, environ: Mapping[str, str], sleep: Callable[[float], None]
) -> Iterator[Judge]:
    from pytest_rageval.judge_client import OpenAIJudge

    with (
        open_cache(settings) as cache,
        OpenAIJudge(
            settings.judge,
            settings.judging,
            environ=environ,
            cache=cache,
            rubric_root=Path(settings.rootdir),
            sleep=sleep,
        ) as judge,
    ):
        yield judge


@contextmanager
def open_cache(settings: Settings) -> Iterator[JudgeCache | None]:
    """Yield the cache of verdicts and close it afterwards; None where none is wanted.

    Raises:
        ConfigError: its URL is wrong.
        StorageError: it cannot be read.
    """
    if settings.judging.no_cache:
        yield None
        return
    from pytest_rageval.judge_cache import JudgeCache

    default = Path(settings.rootdir) / settings.testpaths[0] / CACHE_FILE
    with JudgeCache(settings.judging.cache_url or default) as cache:
        yield cache
