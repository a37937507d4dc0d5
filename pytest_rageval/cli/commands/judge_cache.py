"""``rageval judge --show-cache`` and ``--prune-cache``: contents of the cache of verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_rageval.cli.output import CommandError
from pytest_rageval.support.text import clean

if TYPE_CHECKING:
    from pytest_rageval.judges.cache.store import JudgeCache
    from pytest_rageval.values.settings import Settings


def cache_document(settings: Settings, *, days: int | None, judge: str | None) -> dict[str, Any]:
    """Prune the cache if requested, and describe its contents.

    Args:
        settings: settings of the project.
        days: remove verdicts that were not used for this many days; None: remove nothing.
        judge: prune only verdicts of this model, or of ``MODEL at HOST``; None: of all.

    Raises:
        CommandError: the settings have no cache, or it does not contain this judge.
        StorageError: the cache cannot be read or written.
    """
    from pytest_rageval.judges.opening import cache_place, open_cache

    if settings.judging.no_cache:
        raise CommandError("no cache: expected no --no-judge-cache with its own options")
    place = cache_place(settings)
    if isinstance(place, Path) and not place.exists():
        # Showing the cache must not create one.
        return _document(str(place), None if days is None else 0, None)
    with open_cache(settings) as cache:
        assert cache is not None  # no_cache was refused
        pruned = None if days is None else _prune(cache, days, judge)
        return _document(cache.shown, pruned, cache)


def _prune(cache: JudgeCache, days: int, judge: str | None) -> int:
    age = timedelta(days=days)
    if judge is None:
        return cache.prune(older_than=age)
    held = list(cache.stats().by_identity)
    meant = [name for name in held if name == judge or name.startswith(f"{judge} at ")]
    if held and not meant:
        raise CommandError(f"--judge {judge!r}: the cache holds verdicts of {', '.join(held)}")
    return sum(cache.prune(older_than=age, identity=name) for name in meant)


def _document(shown: str, pruned: int | None, cache: JudgeCache | None) -> dict[str, Any]:
    stats = None if cache is None else cache.stats()
    return {
        "cache": shown,
        "pruned": pruned,
        "entries": 0 if stats is None else stats.entries,
        "document_bytes": 0 if stats is None else stats.document_bytes,
        "by_judge": {} if stats is None else dict(stats.by_identity),
        "oldest_use": None if stats is None else _date(stats.oldest_use),
        "newest_use": None if stats is None else _date(stats.newest_use),
        "warning": None if cache is None else cache.warning,
    }


def _date(when: datetime | None) -> str | None:
    return None if when is None else when.date().isoformat()


def cache_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Lay out the result of ``cache_document``."""
    from pytest_rageval.support.text import counted

    yield f"cache    {clean(document['cache'])}"
    if document["pruned"] is not None:
        yield f"pruned   {counted(document['pruned'], 'verdict')}"
    size = document["document_bytes"] / 1e6
    yield f"holds    {counted(document['entries'], 'verdict')}, {size:.1f} MB"
    if document["oldest_use"] is not None:
        yield f"used     {document['oldest_use']} to {document['newest_use']}"
    for judge, entries in document["by_judge"].items():
        yield f"{entries:>8,} {clean(judge)}"
