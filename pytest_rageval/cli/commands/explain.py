"""``rageval explain``: the misses of a stored run, and the reasons for the numbers of one case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import click
from msgspec import to_builtins

from pytest_rageval.cli.arguments import (
    complete_case,
    complete_run_or_case,
    report_assumed,
    stored_run,
)
from pytest_rageval.cli.output import (
    CommandError,
    face_option,
    print_result,
    switch,
    terminal_width,
)
from pytest_rageval.support.reading import hint
from pytest_rageval.support.text import counted, first_few, part
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import trace_link
from pytest_rageval.values.run import StoredRun

if TYPE_CHECKING:
    from pytest_rageval.report.explain.values import Explanation

_WIDEST: Final = 100
_NAMED: Final = 5
_PLACE: Final = attrgetter("place")


@click.command("explain")
@click.argument("run", required=False, shell_complete=complete_run_or_case)
@click.argument("case", required=False, shell_complete=complete_case)
@click.option(
    "--repeat",
    type=click.IntRange(min=0),
    help="This repeat (from 0) of a case that was asked several times, not the worst.",
)
@switch("--all", "-v", "every", help="Show all chunks, verdicts and metrics; all misses.")
@face_option
def command(
    run: str | None, case: str | None, repeat: int | None, every: bool, face: str | None
) -> None:
    """Explain one case of a run, or list all misses.

    RUN is an id, a prefix of one, a tag, last, last~N or a path; by default the last run. CASE is a
    case id, file::id if several files have it, or a prefix that only one case has; the id of a
    conversation means the first of its turns that did not pass, and id#2 its second turn. The
    output is the question, the expected and the given answer with their passages, the reason and
    what to try; of several repeats, the worst. --all adds the messages before the question, which
    chunk matched which anchor and why, each verdict and the arithmetic of each metric.
    """
    stored, case = _open(run, case)
    run_id, width = stored.run_id, min(terminal_width(), _WIDEST)
    if case is None:
        if repeat is not None:
            raise click.UsageError("--repeat: expected a CASE beside it")
        _print_misses(stored, run or "last", width=width, every=every, face=face)
        return
    chosen = _choose(stored.records, case, repeat)
    from pytest_rageval.analysis.aggregate.case_groups import CaseGroup, deciding_record
    from pytest_rageval.report.view.explanation import view_of_case

    case_of_all = CaseGroup(records=tuple(chosen))
    repeats = Counter(case_of_all.outcomes) if len(chosen) > 1 else {}
    explained = {record.repeat: _explained(stored, record) for record in chosen}
    view = view_of_case(
        explained[deciding_record(chosen).repeat],
        run_id=run_id,
        repeats=", ".join(f"{n} of {len(chosen)} {outcome}" for outcome, n in repeats.items()),
        flaky=case_of_all.passes if case_of_all.outcome == "flaky" else "",
    )
    document = to_builtins([one.document() for one in explained.values()], str_keys=True)
    print_result(
        {"run_id": run_id, "repeats": document}, view, face=face, verbose=every, width=width
    )


def _explained(stored: StoredRun, record: CaseRecord) -> Explanation:
    from pytest_rageval.metrics.built_in import stored_registry
    from pytest_rageval.report.explain.case import explain_record

    record = stored.whole(record)
    return replace(
        explain_record(record, stored.scoring, registry=stored_registry(stored.config)),
        notes=(*stored.notes, *_people_noted(stored, record)),
        trace_link=trace_link(stored.config.settings.target.trace_url, record.trace_id),
    )


def _people_noted(stored: StoredRun, record: CaseRecord) -> Iterator[str]:
    from pytest_rageval.runs.reviews import readable_notes

    for note in readable_notes(stored.folder):
        if (note.file, note.case_id, note.repeat) == (record.file, record.name, record.repeat):
            by = part(" by {}", note.author)
            yield f"note{by}, {note.time[:10]}: {note.text}"


# --- which run -----------------------------------------------------------------------------


def _open(run: str | None, case: str | None) -> tuple[StoredRun, str | None]:
    """Return the named run and case; a single name may be that of a case of the last run."""
    if case is not None or run is None:
        return stored_run(run, texts=False), case
    try:
        return stored_run(run, texts=False), None
    except StorageError as error:
        try:
            last = stored_run("last", texts=False)
        except StorageError:
            raise error from None
        if not _named(last.records, run):
            raise CommandError.of(
                "",
                "no_run_or_case",
                reason=error,
                **hint(run, (record.name for record in last.records)),
            ) from error
        report_assumed("RUN", f"{last.run_id}, the last run")
        return last, run


def _print_misses(
    stored: StoredRun, name: str, *, width: int, every: bool, face: str | None
) -> None:
    from pytest_rageval.report.view.misses import find_misses, misses_document, render_misses

    found, run_id = stored.records, stored.run_id
    document = {"run_id": run_id, "misses": misses_document(find_misses(found))}
    blocks = render_misses(found, run_id=run_id, run=name, every=every)
    print_result(document, blocks, face=face, width=width)


# --- which case ----------------------------------------------------------------------------


def _choose(records: Sequence[CaseRecord], name: str, repeat: int | None) -> list[CaseRecord]:
    """Return the records of the named case, in the order of their repeats."""
    nodeids = dict.fromkeys(record.nodeid for record in records)
    named = _named(records, name)
    turns = [record for record in records if record.nodeid in {*named}]
    if len(named) > 1 and len({record.item_nodeid for record in turns}) == 1:
        named = [_first_broken(turns)]
    nodeid = _one_of(named, name, nodeids)
    chosen = [record for record in records if record.nodeid == nodeid]
    if repeat is None:
        return chosen
    wanted = [record for record in chosen if record.repeat == repeat]
    if not wanted:
        there = ", ".join(str(record.repeat) for record in chosen)
        raise CommandError.of(
            f"case {name!r}", "value", found=f"--repeat {repeat}", expected=f"one of {there}"
        )
    return wanted


def _first_broken(turns: Iterable[CaseRecord]) -> str:
    """Return the node id of the first turn of a conversation that did not pass, or of the last."""
    from pytest_rageval.analysis.aggregate.case_groups import deciding_record, group_repeats

    worst = sorted((deciding_record(one.records) for one in group_repeats(turns)), key=_PLACE)
    broken = [one for one in worst if one.scores.outcome != "passed"]
    shown = [*broken, worst[-1]][0]
    passed = len(worst) - len(broken)
    report_assumed("CASE", f"{shown.name}; {passed} of {counted(len(worst), 'turn')} passed")
    return shown.nodeid


def _named(records: Sequence[CaseRecord], name: str) -> list[str]:
    """Return the node ids that match a name: exactly, as a conversation, else by prefix."""
    rules: tuple[Callable[[CaseRecord], bool], ...] = (
        lambda record: record.nodeid == name,
        lambda record: record.name == name,
        lambda record: record.case.id == name,
        lambda record: name in {record.item_nodeid, record.item, record.case.item},
        lambda record: "::" in name and record.nodeid.endswith(f"/{name}"),
        lambda record: bool(name) and record.case.id.startswith(name),
        lambda record: bool(name) and record.nodeid.startswith(name),
    )
    for rule in rules:
        found = dict.fromkeys(record.nodeid for record in records if rule(record))
        if found:
            return list(found)
    return []


def _one_of(found: Sequence[str], name: str, nodeids: Iterable[str]) -> str:
    if len(found) == 1:
        return found[0]
    if found:
        shown = first_few(found, _NAMED)
        raise CommandError.of(f"case {name!r}", "ambiguous", n=len(found), names=shown)
    known = {nodeid.split("::", 1)[-1]: nodeid for nodeid in nodeids}
    if not known:
        raise CommandError.of(f"case {name!r}", "not_found")
    raise CommandError.of(
        f"case {name!r}",
        "not_found",
        **(hint(name, [*known, *known.values()]) or {"names": first_few([*known], _NAMED)}),
    )
