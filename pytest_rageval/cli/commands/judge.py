"""``rageval judge``: judges the answers of a stored run, and manages the cache of verdicts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import to_builtins

from pytest_rageval.cli.arguments import run_argument, stored_run
from pytest_rageval.cli.output import (
    CommandError,
    ProgressOnStderr,
    UnreachableError,
    face_option,
    print_result,
    switch,
    warn,
)
from pytest_rageval.cli.target import (
    judge_options,
    judge_settings,
    project_settings,
    warn_of_cache,
)
from pytest_rageval.report.view.blocks import Block, Table
from pytest_rageval.support.files import shown_below
from pytest_rageval.support.text import clean, counted, free_name
from pytest_rageval.values.verdict import usage_of

if TYPE_CHECKING:
    from pytest_rageval.engine.judging import Rejudged
    from pytest_rageval.judges.asking import Judges
    from pytest_rageval.judges.cache import JudgeCache
    from pytest_rageval.support.in_flight import Slots
    from pytest_rageval.values.record import CaseRecord
    from pytest_rageval.values.run import StoredRun
    from pytest_rageval.values.settings import Settings


@click.command("judge")
@run_argument
@judge_options
@click.option(
    "--rubric",
    "rubrics",
    multiple=True,
    metavar="NAME",
    help="Rubric to judge by, a name or a file; repeatable.  [default: those of the project]",
)
@click.option(
    "--spot-check",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Number of cases that a second judge also judges.",
)
@click.option(
    "--labels",
    metavar="FILE",
    help="Human labels of some cases, which correct the means.  [default: the project's]",
)
@switch("--dry-run", help="Only estimate calls and cost.")
@switch("--show-cache", help="Only show the contents of the cache; without RUN.")
@click.option(
    "--prune-cache",
    "prune_days",
    type=click.IntRange(min=0, max=36_500),
    metavar="DAYS",
    help="Only remove verdicts from the cache that no run used for this many days, with --judge "
    "those of that model; without RUN.",
)
@face_option
def command(
    run: str | None,
    dry_run: bool,
    show_cache: bool,
    prune_days: int | None,
    face: str | None,
    **flags: Any,
) -> None:
    """Judge the answers of a stored run.

    RUN is an id, a prefix of one, a tag, last, last~N or a path, by default the last run. It holds
    the texts that a judge reads: the answers, and the first k chunks of each. The verdicts are
    stored in the run's folder, in a separate file for each judge and rubric version: nothing is
    overwritten. Cached verdicts cost nothing; --no-judge-cache asks again.
    """
    from pytest_rageval.judges.spot_check import check_second_judge

    rubrics, spot_check, labels = (flags.pop(name) for name in ("rubrics", "spot_check", "labels"))
    if show_cache or prune_days is not None:
        if run is not None:
            raise click.UsageError(f"RUN: got {run!r}, expected none with an option of the cache")
        _manage_cache(prune_days, flags, face=face)
        return
    settings = judge_settings(flags)
    # The spot check of the project is meant for runs.
    judging = replace(settings.judging, spot_check=spot_check)
    if rubrics:
        judging = replace(judging, rubrics=rubrics)
    if labels is not None:
        judging = replace(judging, labels=labels)
    settings = replace(settings, judging=judging)
    check_second_judge(settings)
    _judge(run, settings, dry_run=dry_run, face=face)


def _manage_cache(days: int | None, flags: Mapping[str, object], *, face: str | None) -> None:
    settings = project_settings(flags)
    # Not the project's judge: without --judge, pruning by age applies to all judges.
    judge = settings.judge if settings.origins.get("judge") == "flag" else None
    document = cache_document(settings, days=days, judge=judge)
    print_result(document, cache_lines(document), face=face)
    if document["warning"] is not None and face is None:
        warn(document["warning"])


def _judge(run: str | None, settings: Settings, *, dry_run: bool, face: str | None) -> None:
    from pytest_rageval.analysis.trust.reliability import judge_reliability, reliability_lines
    from pytest_rageval.engine.judging import refuse_cut_texts
    from pytest_rageval.engine.preparing import read_labels_of
    from pytest_rageval.judges.asking import Judges
    from pytest_rageval.judges.opening import judging_slots, open_judge
    from pytest_rageval.report.view.judging import verdict_lines

    stored = stored_run(run)
    refuse_cut_texts(stored.records)
    labels = read_labels_of({(r.file, r.case.id) for r in stored.records}, settings)
    if dry_run:
        from pytest_rageval.judges.plan import plan_verdicts

        plan = plan_verdicts(stored.records, settings, os.environ).splitlines()
        print_result({"run_id": stored.run_id, "plan": plan}, plan, face=face)
        return
    slots = judging_slots(settings)
    with (
        open_judge(settings, environ=os.environ, slots=slots) as judge,
        open_judge(settings, environ=os.environ, second=True, slots=slots) as second,
    ):
        assert judge is not None  # judge_settings refuses "none"
        found = _judged(stored, settings, Judges(judge, second), slots)
        identity = judge.identity
    for one in (judge, second):
        warn_of_cache(one)
    _refuse_nothing(found)
    reliability = judge_reliability([one.record for one in found], labels)
    document = _document(stored, settings, identity, found)
    document["judge_reliability"] = to_builtins(reliability.known)
    document["saved"] = _save(stored, settings, identity, found, document)
    lines = verdict_lines(document, list(reliability_lines(reliability)))
    print_result(document, lines, face=face)


def _judged(stored: StoredRun, settings: Settings, judges: Judges, slots: Slots) -> list[Rejudged]:
    from pytest_rageval.engine.judging import JudgeWatch, rejudge
    from pytest_rageval.engine.own_code import open_registry
    from pytest_rageval.judges.spot_check import choose_cases
    from pytest_rageval.support.in_flight import in_order

    found: list[Rejudged] = []
    watch, registry = JudgeWatch(settings.max_errors), open_registry(settings)
    chosen = choose_cases(((r.file, r.case) for r in stored.records), settings)

    async def judge_again(record: CaseRecord) -> Rejudged:
        twice = (record.file, record.case.id) in chosen
        return await rejudge(
            record,
            judges if twice else replace(judges, second=None),
            rubrics=settings.judging.rubrics,
            scoring=stored.scoring,
            registry=registry,
            slots=slots,
        )

    works = (partial(judge_again, record) for record in stored.records)
    n = len(stored.records)
    with (
        closing(in_order(works, slots)) as every,
        ProgressOnStderr(lambda: f"judged {len(found)} of {n}"),
    ):
        for one in every:
            found.append(one)
            watch.see(one.record)
    return found


def _refuse_nothing(found: Sequence[Rejudged]) -> None:
    """Stop if all verdicts failed: a file that contains only failures is useless.

    Raises:
        UnreachableError: every judgement failed.
    """
    failures = [judgement.failure for one in found for judgement in one.judged.judgements]
    last = failures[-1] if failures else None
    if last is not None and all(failures):
        reason = f"{last.kind}: {clean(last.message, 300)}"
        raise UnreachableError.of("", "nothing_judged", n=len(failures), reason=reason)


def _document(
    stored: StoredRun, settings: Settings, identity: str, found: Sequence[Rejudged]
) -> dict[str, Any]:
    from pytest_rageval.analysis.aggregate.case_groups import CASE_OUTCOMES
    from pytest_rageval.analysis.aggregate.run import aggregate
    from pytest_rageval.engine.judging import judged_keys
    from pytest_rageval.engine.own_code import open_registry

    registry = open_registry(settings)
    before = aggregate(stored.records, registry=registry)
    numbers = aggregate((one.record for one in found), registry=registry)
    keys = judged_keys(settings.judging.rubrics, registry)
    apart = numbers.correctness_by_reference if "correctness" in keys else {}
    names = (*CASE_OUTCOMES.values(), "stages")
    judgements = [judgement for one in found for judgement in one.judged.judgements]
    second = [judgement for one in found for judgement in one.judged.second]
    return {
        "run_id": stored.run_id,
        "judge": identity,
        "rubrics": {j.rubric: j.rubric_version for j in judgements if j.rubric_version},
        "outcomes": {name: getattr(numbers, name) for name in names},
        "verdicts": len(judgements),
        "failures": sum(j.failure is not None for j in judgements),
        "statistics": to_builtins({key: numbers.metrics[key] for key in keys}),
        "correctness_by_reference": to_builtins(apart) or None,
        "before": to_builtins({key: before.metrics[key] for key in keys}),
        "second_judge": second[0].judge if second else None,
        "usage": to_builtins(usage_of([*judgements, *second])),
    }


def _save(
    stored: StoredRun,
    settings: Settings,
    identity: str,
    found: Sequence[Rejudged],
    document: Mapping[str, Any],
) -> str:
    from pytest_rageval.engine.judging import judged_keys, verdict_lines, verdicts_name
    from pytest_rageval.engine.own_code import open_registry
    from pytest_rageval.runs.store import write_text_document, write_versioned

    rubrics = settings.judging.rubrics
    versions, second = dict(document["rubrics"]), document["second_judge"]
    if second:  # verdicts with a spot check get a file of their own
        versions["second judge"] = f"{second} {settings.judging.spot_check}"
    # Verdicts that were paid for are not overwritten.
    taken = {path.stem for path in stored.folder.glob("judged-*.jsonl")}
    name = free_name(verdicts_name(identity, rubrics, versions), taken)
    keys = judged_keys(rubrics, open_registry(settings))
    lines = b"".join(line + b"\n" for line in verdict_lines(found, keys))
    write_text_document(stored.folder, f"{name}.jsonl", lines.decode())
    path = write_versioned(stored.folder, f"{name}.json", document)
    return shown_below(path, Path.cwd())


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
    from pytest_rageval.judges.cache import CacheStats
    from pytest_rageval.judges.opening import cache_place, open_cache

    if settings.judging.no_cache:
        raise CommandError.of(
            "--no-judge-cache", "usage", expected="a cache: leave this option out"
        )
    place, stats, warning = cache_place(settings), CacheStats(), None
    shown, pruned = str(place), None if days is None else 0
    if place.exists():  # showing the cache must not create one
        with open_cache(settings) as cache:
            assert cache is not None  # no_cache was refused
            if days is not None:
                pruned = _prune(cache, days, judge)
            shown, stats, warning = cache.shown, cache.stats(), cache.warning
    return {
        "cache": shown,
        "pruned": pruned,
        "entries": stats.entries,
        "document_bytes": stats.document_bytes,
        "by_judge": dict(stats.by_identity),
        "oldest_use": _date(stats.oldest_use),
        "newest_use": _date(stats.newest_use),
        "warning": warning,
    }


def _prune(cache: JudgeCache, days: int, judge: str | None) -> int:
    age = timedelta(days=days)
    if judge is None:
        return cache.prune(older_than=age)
    held = list(cache.stats().by_identity)
    meant = [name for name in held if name == judge or name.startswith(f"{judge} at ")]
    if held and not meant:
        raise CommandError.of(f"--judge {judge!r}", "not_found", names=", ".join(held))
    return sum(cache.prune(older_than=age, identity=name) for name in meant)


def _date(when: datetime | None) -> str | None:
    return None if when is None else when.date().isoformat()


def cache_lines(document: Mapping[str, Any]) -> Iterator[Block]:
    """Lay out the result of ``cache_document``."""
    yield f"cache    {document['cache']}"
    if document["pruned"] is not None:
        yield f"pruned   {counted(document['pruned'], 'verdict')}"
    size = document["document_bytes"] / 1e6
    yield f"holds    {counted(document['entries'], 'verdict')}, {size:.1f} MB"
    if document["oldest_use"] is not None:
        yield f"used     {document['oldest_use']} to {document['newest_use']}"
    yield Table((">", ""), [(f"{n:>8,}", judge) for judge, n in document["by_judge"].items()])
