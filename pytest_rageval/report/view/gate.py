"""A decision: its headline, its baseline, a line for every check; and the faults it would catch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from pytest_rageval.report.view.blocks import BAD, Block, Cell, Fact, Line, Row, Status, Table, View
from pytest_rageval.support.text import counted, first_few, part, plural
from pytest_rageval.values.gate import NOT_COMPARABLE, BaselineInfo, CheckResult, GateResult
from pytest_rageval.values.headline import Headline

if TYPE_CHECKING:
    from pytest_rageval.analysis.gate.planted import PlantedFault, TriedGate

VERDICTS: Mapping[str, tuple[str, Status]] = {
    "fail": ("FAIL", "bad"),
    "warn": ("warn", "warn"),
    "skip": ("skipped", "warn"),
    "pass": ("ok", "good"),
}
"""Word and status of each result of a check, those to look at first."""


GATE_STYLES: Final[Mapping[str, Status]] = {
    "pass": "good",
    "fail": "bad",
    "not_evaluated": "warn",
}
"""Colour of each verdict of a gate, whose word says the same."""


def view_of_gate(run_id: str, gate: GateResult) -> View:
    """Return a decision: verdict, run, baseline, then every check."""
    blocks: list[Block] = [Fact("run", run_id)]
    blocks += baseline_facts(gate)
    blocks += headline_facts(gate.headline, public=True)
    title: Line = ((gate.sentence, GATE_STYLES[gate.verdict]),)
    facts = check_facts(gate.checks, gate.baseline)
    return View(title, [*blocks, *facts, *weak_lines(gate.checks)])


def headline_facts(
    headline: Headline, *, public: bool = False, named: bool = True, repeats: bool = True
) -> Iterator[Fact]:
    """Yield what is new since an earlier run, then the causes in common.

    Args:
        headline: of a run or a comparison.
        public: without text of the target.
        named: whether new failures are named.
        repeats: whether it is said that cases vary between repeats.
    """
    since = headline.since
    if since is not None:
        n_new = since.broke.n + since.flaky.n + since.erred.n
        verdict = f"{since.verdict}: " if since.verdict else ""
        said = since.sentence(names=named)
        yield Fact("since", f"{since.name}, {verdict}{said}", status=BAD[n_new > 0])
    head = "pattern"
    for one in headline.patterns:
        if repeats or one.code not in {"repeats", "again"}:
            yield Fact(head, one.public if public else one.sentence)
            head = ""


def check_facts(
    checks: Iterable[CheckResult], baseline: BaselineInfo | None = None
) -> Iterator[Fact]:
    """Yield checks, failed ones first, each with its number of cases.

    Args:
        checks: to be shown.
        baseline: the one that is shown above; what prevents it is not repeated.
    """
    problem = None if baseline is None else baseline.problem
    short = "no baseline" if baseline is None or baseline.run_id is None else "not comparable"
    order = [*VERDICTS]
    for result in sorted(checks, key=lambda one: order.index(one.status)):
        word, status = VERDICTS[result.status]
        message = short if result.message == problem else result.message
        n = "" if result.n is None else f" (n {result.n})"
        text = f"{result.check.name}: {message}{n}"
        yield Fact(word, text, status)


def baseline_facts(gate: GateResult) -> Iterator[Fact]:
    """Yield a baseline, or why it is missing or decides nothing, and what changed since."""
    info = gate.baseline
    if info is None:
        return
    yield Fact("baseline", info.sentence, "strong", "warn" if info.problem else "")
    if gate.exit_code == NOT_COMPARABLE:
        yield Fact("", f"nothing was decided against it: exit code {NOT_COMPARABLE}", "", "warn")
    if info.choice is not None:
        if info.choice.run_id is not None:
            yield Fact("", info.choice.sentence)
        for remark in info.choice.remarks:
            yield Fact("", remark.sentence, "", "warn")


def smallest_seen(cases: str, of: str, least: float) -> str:
    """Say which difference some cases are enough for."""
    return f"{cases} can show a {of} of {least:.2f} or more (80 % power)"


_WEAK_SHOWN: Final = 5


def weak_lines(checks: Iterable[CheckResult]) -> Iterator[Fact]:
    """Yield lines that name the decided checks with fewer cases than their ``min_n``."""
    weak = [r.check.name for r in checks if r.small_n and r.status != "skip"]
    if weak:
        few = f"{counted(len(weak), 'check')} {plural(len(weak), 'has', 'have')} few cases"
        names = first_few(weak, _WEAK_SHOWN)
        yield Fact("", f"weak evidence: {few}: {names}", "", "warn")


_NOTES: Final[Mapping[str, str]] = {
    "judged_offline": "the judge of the run is not asked again: the offline judge read all answers "
    "in its place",
}


def view_of_tried_gate(found: TriedGate) -> Iterator[Block]:
    """Yield a row for each fault, then the lines to add to thresholds.toml."""
    yield Fact(
        "run", f"{found.run_id}: {counted(found.n_cases, 'case')}, the gate: {found.verdict}"
    )
    rows: list[Row] = [_row(one) for one in found.faults]
    yield Table(("fault", "caught from", "by", "a limit would from"), rows)
    if found.limits:
        yield Fact("add", "to [overall] of thresholds.toml; the rest of a row stays as it is:")
        for metric, kind in found.limits.items():
            yield f'  {metric} = {{ {kind} = 0, decide = "prove_fail" }}'
        if not found.has_baseline:
            yield Fact("", 'and baseline = "last" above the first table, or another run')
    for note in found.notes:
        yield Fact("note", _NOTES[note])


def _row(fault: PlantedFault) -> Row:
    caught, warned = fault.caught_from, fault.warned_from
    if not fault.doses:
        return (fault.name, "not possible here", "", "")
    cell, by = Cell(f"not by {fault.doses[-1].text}", status="bad"), ""
    if caught is not None:
        cell = Cell(caught.text, status="good")
        by = first_few(caught.failed, 1) or "the whole gate"
    elif warned is not None:
        cell = Cell(f"{warned.text}, warns", status="warn")
        by = first_few(warned.warned, 1)
    found = None if fault.add is None else fault.found_from(fault.add)
    return (fault.name, cell, by, part(f"{{}}: {fault.add}", found and found.text))
